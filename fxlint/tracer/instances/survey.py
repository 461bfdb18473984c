"""Looks for an instance of every module class of some files: builds what can be built, and looks what is in it.

In order: the classes that need no arguments; what the project builds itself (``builders.py``, ``calls.py``);
constructors with made-up arguments (``synthesis.py``). Every submodule of what was built is an instance of its own
class, whatever file that is defined in. A class that was found is not looked for again; one whose findings depend on
its configuration is looked for in up to ``MAX_CONFIGURATIONS`` that differ in that.

A batch is a JSON object like those of ``jobs.py`` with "task": "survey" and three more parts: "wanted", a list of
{"file": real path, "qualname", "conditions": [expression, ...]}, also for classes of other files; "sources", paths of
texts that may show how to make instances; "budget" in seconds of processor time, so that other load does not change
what is found.

Answers are messages {"file", "kind": "found", "class": [real path, qualname], "text", "how", "rank", "device",
"seconds", "answers": truth values of the conditions}, {"file", "kind": "none", "class", "reason"}, {"file", "kind":
"unimported", "reason"}, one {"file", "kind": "loads", "files"} with all that was loaded, and "done" per file.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

import torch

from ..failures import message_of
from ..frames import UserCode, real_path
from ..loads import Loads
from ..messages import INHERITED, Message
from ..process import CAN_FORK, Limits, Send, supervised
from .builders import arguments_without_weights, builders, used_in_functions
from .building import DEVICES, evaluate, on_device, seeded, told_in_a_line
from .calls import calls_in
from .guesses import Context, options, signature_of
from .naming import name_of
from .synthesis import Made, synthesise
from .targets import find, load_module
from .usage import usages

Key = tuple[str, str]
"""(real path, qualified name) of a class."""

MAX_CONFIGURATIONS = 3
MAX_RESTARTS = 8
BUILD_SECONDS = 4.0
"""A model that takes longer is dropped: seconds of processor time, so that other load does not change what is found."""
GUESS_SECONDS = 2.0
IDLE_FACTOR = 4
"""So many times as long it may take by the clock, where it waits for something."""
SILENT_SECONDS = 30.0
"""A build that cannot be interrupted costs its process after these."""
GRACE = 5.0
CHEAP_SECONDS = 0.3
"""Only what is built within these becomes an argument of something else."""
FRUITLESS_BUILDERS = 6
"""So many builders of a module in a row that gave nothing new: the others are likely the same in other sizes."""
MAX_CALLS_PER_CLASS = 4

RANKS = {"no arguments": 0, "harvested": 1, "synthesised": 2}


class TooSlowError(BaseException):
    """Raised in the middle of a build; a BaseException, so that no ``except Exception`` of the user's swallows it."""


class CannotUseError(Exception):
    """A build gave nothing that can be used."""


@dataclass
class _State:
    """What a survey knows; it outlives the process that it runs in. ``found`` are the answers seen, by class."""

    tried: set[str] = field(default_factory=set)
    found: dict[Key, dict[tuple[bool | None, ...], tuple[int, float]]] = field(default_factory=dict)
    told: set[Key] = field(default_factory=set)
    importing: str | None = None
    """The id of the file that is being imported."""
    torch: list[str] = field(default_factory=list)
    """The modules of torch that importing the files loads."""
    spent: float = 0.0
    """Processor time of the processes that have ended, in seconds."""
    spends: float = 0.0
    """That of the running one, when it last said so."""
    heard: float = 0.0
    """When the parent was last told that all is well."""


def run_survey(batch: Mapping[str, Any], send: Send, orphaned: Callable[[], bool]) -> None:
    """Do a batch. What takes the process down is not tried again in the next one."""
    user = UserCode(batch["interest"])
    state = _State()
    files = batch["files"]

    def on_message(message: Message) -> None:
        kind = message.get("kind")
        if kind == "loaded":
            state.torch = message["modules"]
        elif kind == "trying":
            state.tried.add(message["text"])
            state.spends = message["spent"]
            state.importing = message.get("file")
            if time.monotonic() > state.heard + 1:
                state.heard = time.monotonic()
                send({"file": files[0]["id"], "kind": "stage", "allow": message["allow"] + GRACE})
        elif kind == "found":
            known = state.found.setdefault(tuple(message["class"]), {})
            known[tuple(message["answers"])] = (message["rank"], message["seconds"])
            send({"file": files[0]["id"], **message})
        elif kind == "imported":
            state.tried.discard(message["text"])
            state.importing = None
        elif kind == "unimported":
            state.importing = None
            send(message)
        elif kind == "loads":
            send({"file": files[0]["id"], **message})
        elif kind == "none":
            state.told.add(tuple(message["class"]))
            send({"file": files[0]["id"], **message})

    work = partial(_survey, batch, user, state)
    if not CAN_FORK:
        work(on_message)
    for _ in range(MAX_RESTARTS if CAN_FORK else 0):
        limits = Limits(max(batch["seconds"], batch["budget"]), batch["memory"])
        ending = supervised(work, on_message, limits, user.is_user, orphaned)
        if ending.kind != "done":
            send({"file": files[0]["id"], "kind": "stage", "cut": True})
        if state.importing is not None and ending.kind != "done":
            send({"file": state.importing, "kind": "unimported", "reason": f"importing it {ending.what}"})
        state.spent += state.spends
        if ending.kind == "done" or state.spent > batch["budget"]:
            break
    for name in state.torch:  # once here, and not again in every process that traces some of these files
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for spec in files:
        send({"file": spec["id"], "kind": "done"})


def _survey(batch: Mapping[str, Any], user: UserCode, state: _State, send: Send) -> None:
    loads = Loads([folder for spec in batch["files"] for folder in spec["sys_path"]], batch["interest"])
    _Survey(batch, user, state, send).run()
    send({"kind": "loads", "files": loads.all()})


class _Survey:
    def __init__(self, batch: Mapping[str, Any], user: UserCode, state: _State, send: Send) -> None:
        self._batch = batch
        self._user = user
        self._state = state
        self._started = time.process_time()
        self._send = send
        self._conditions: dict[Key, list[Any]] = {
            (one["file"], one["qualname"]): [_compiled(text) for text in one["conditions"]] for one in batch["wanted"]
        }
        self._attributes: dict[Key, set[str]] = {
            (one["file"], one["qualname"]): _attributes(one["conditions"]) for one in batch["wanted"]
        }
        self._built: dict[type, tuple[str, frozenset[str]]] = {}
        self._keys: dict[type, Key | None] = {}
        self._errors: dict[Key, str] = {}
        self._context = Context(self._known, self._guessed)

    def run(self) -> None:
        modules = list(self._modules())
        self._send({"kind": "loaded", "modules": sorted(name for name in sys.modules if name.startswith("torch."))})
        classes = [cls for module in modules for cls in self._classes(module)]
        self._without_arguments(classes)
        for module in modules:
            own = [one for one in _module_classes(module) if one.__module__ == module.__name__]
            self._by_builders(module, own, FRUITLESS_BUILDERS)
        for module in [*modules, *self._others_of_the_package(modules)]:
            self._by_builders(module, used_in_functions(module), FRUITLESS_BUILDERS // 2)
        self._by_calls(modules)
        self._by_synthesis(classes)
        self._other_configurations(classes)
        for cls in classes:
            self._tell_none(cls)

    # ---- the classes

    def _modules(self) -> Iterator[ModuleType]:
        for spec in self._batch["files"]:
            text = f"import {spec['file']}"
            if text in self._state.tried:
                continue
            self._say_trying(text, self._batch["seconds"], spec["id"])
            sys.argv = [spec["file"]]
            try:
                module = load_module(spec["file"], spec["module"], spec["sys_path"], spec["package"])
            except BaseException as error:
                reason = f"importing it raised {told_in_a_line(error, self._user)}"
                self._send({"kind": "unimported", "file": spec["id"], "reason": reason})
                continue
            self._send({"kind": "imported", "text": text})
            yield module

    def _classes(self, module: ModuleType) -> list[type]:
        """The wanted classes of a module, last definitions first: they are often made of the ones before."""
        file = real_path(getattr(module, "__file__", "") or "")
        found = []
        for path, qualname in self._conditions:
            if path == file:
                with contextlib.suppress(Exception):
                    cls = find(module, qualname)
                    if isinstance(cls, type):
                        self._keys[cls] = (path, qualname)
                        found.append(cls)
        return found[::-1]

    def _key(self, cls: type) -> Key | None:
        if cls not in self._keys:
            module = sys.modules.get(cls.__module__)
            file = getattr(module, "__file__", None)
            key = (real_path(file), cls.__qualname__) if file else None
            self._keys[cls] = key if key in self._conditions else None
        return self._keys[cls]

    def _is_missing(self, cls: type) -> bool:
        key = self._key(cls)
        return key is not None and key not in self._state.found

    def _is_over(self) -> bool:
        return bool(self._state.spent + self._spent() > self._batch["budget"])

    def _spent(self) -> float:
        return time.process_time() - self._started

    def _say_trying(self, text: str, allow: float, file: Any = None) -> None:
        """Whoever reads this knows what took the process down."""
        self._send({"kind": "trying", "text": text, "allow": allow, "file": file, "spent": self._spent()})

    # ---- the strategies

    def _without_arguments(self, classes: list[type]) -> None:
        for cls in classes:
            arguments = arguments_without_weights(cls)
            name = name_of(cls)
            if arguments is not None and name is not None and self._is_missing(cls):
                self._offer(f"{name}({arguments})", "no arguments")

    def _by_builders(self, module: ModuleType, classes: list[type], patience: int) -> None:
        """Run a module's builders while one of the classes is missing, and so many in a row that gave nothing new."""
        missing = [one for one in classes if self._is_missing(one)]
        fruitless = 0
        for builder in builders(module) if missing else ():
            if fruitless >= patience or not any(map(self._is_missing, missing)):
                return
            if builder.text in self._state.tried:
                continue
            before = len(self._state.found)
            self._offer(builder.text, "harvested")
            fruitless = 0 if len(self._state.found) > before else fruitless + 1

    def _others_of_the_package(self, modules: list[ModuleType]) -> Iterator[ModuleType]:
        """The modules of the same packages that were imported by the way, and that no other survey looks at."""
        tops = {module.__name__.partition(".")[0] for module in modules if "." in module.__name__}
        surveyed = {file for file, _ in self._conditions}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name.partition(".")[0] in tops and file and real_path(file) not in surveyed:
                yield module

    def _by_calls(self, modules: list[ModuleType]) -> None:
        wanted = {}
        for cls in [cls for module in modules for cls in self._classes(module) if self._is_missing(cls)]:
            name = name_of(cls)
            if name is not None:
                wanted[cls.__name__] = (name, cls)
        packages = {module.__name__.partition(".")[0] for module in modules}
        names = {name: dotted for name, (dotted, _) in wanted.items()}
        sources = {real_path(module.__file__): module.__name__ for module in modules if module.__file__}
        count: dict[str, int] = {}
        for path in [*sources, *self._batch["sources"]]:
            if not names or self._is_over():
                return
            text = _read(path)
            for name, call in calls_in(text, path.endswith(".py"), sources.get(path), names, packages):
                count[name] = count.get(name, 0) + 1
                if name in names and count[name] <= MAX_CALLS_PER_CLASS and self._is_missing(wanted[name][1]):
                    self._offer(call, "harvested")
            names = {name: dotted for name, dotted in names.items() if self._is_missing(wanted[name][1])}

    def _by_synthesis(self, classes: list[type]) -> None:
        for cls in classes:
            if self._is_missing(cls) and not self._is_over():
                self._synthesise(cls, {})

    def _synthesise(self, cls: type, fixed: dict[str, str]) -> None:
        key = self._key(cls)
        mark = f"synthesise {name_of(cls)} {fixed}"
        if key is None or mark in self._state.tried:
            return
        self._say_trying(mark, SILENT_SECONDS)
        try:
            made = synthesise(cls, self._context, fixed)
        except Exception as error:  # what a class of the user's does when it is looked at costs that class only
            self._errors[key] = f"looking at it raised {told_in_a_line(error, self._user)}"
            return
        if isinstance(made, Made):
            self._take(made.value, made.text, "synthesised", self._last_device, self._last_seconds)
        elif made.error is not None:
            self._errors[key] = f"{made.attempts} tries, the best one raised {told_in_a_line(made.error, self._user)}"

    def _other_configurations(self, classes: list[type]) -> None:
        """The other values of what the findings of a class depend on, where its constructor sets that."""
        for cls in classes:
            key = self._key(cls)
            if key is None or key not in self._state.found or not self._attributes[key]:
                continue
            for name, text in self._flips(cls, self._attributes[key]):
                if len(self._state.found[key]) >= MAX_CONFIGURATIONS or self._is_over():
                    break
                self._synthesise(cls, {name: text})

    def _flips(self, cls: type, attributes: set[str]) -> Iterator[tuple[str, str]]:
        """Arguments that may change what a condition reads."""
        parameters = signature_of(cls)
        for name, usage in usages(cls).items():
            parameter = parameters.get(name)
            if parameter is None or not usage.stored & attributes:
                continue
            if isinstance(parameter.default, bool):
                yield name, repr(not parameter.default)
            elif parameter.default is None or parameter.default is parameter.empty:
                for text in options(cls, parameter, None, usage, self._context)[:2]:
                    yield name, text
            else:
                yield name, "None"
                for string in usage.strings[:2]:
                    if string != parameter.default:
                        yield name, repr(string)

    def _tell_none(self, cls: type) -> None:
        key = self._key(cls)
        if key is not None and key not in self._state.found and key not in self._state.told:
            self._send({"kind": "none", "class": list(key), "reason": self._errors.get(key)})

    # ---- building, and what is in it

    _last_device = DEVICES[0]
    _last_seconds = 0.0

    def _offer(self, text: str, how: str) -> None:
        """Build an expression that is not a guess, and take what is in it."""
        if text in self._state.tried or self._is_over():
            return
        try:
            made = self._build(text, BUILD_SECONDS, guess=False)
        except Exception:
            return
        self._take(made, text, how, self._last_device, self._last_seconds)

    def _guessed(self, text: str) -> Any:
        return self._build(text, GUESS_SECONDS, guess=True)

    def _build(self, text: str, seconds: float, guess: bool) -> Any:
        """The value of an expression. Raises what it raises; CannotUseError for what is no Exception."""
        self._say_trying(text, SILENT_SECONDS)
        for device in DEVICES:
            started = time.process_time()
            try:
                with alarm(seconds), on_device(device), seeded():
                    made = evaluate(text)
            except Exception as error:
                other_device_may_do = "meta" in message_of(error).lower() or not (guess or isinstance(error, TypeError))
                if device == DEVICES[-1] or not other_device_may_do:
                    raise
                continue
            except BaseException as error:
                raise CannotUseError(f"{type(error).__name__} while it was built") from error
            self._last_device, self._last_seconds = device, time.process_time() - started
            return made
        raise CannotUseError(text)

    def _take(self, made: Any, text: str, how: str, device: str, seconds: float) -> None:
        if not isinstance(made, torch.nn.Module):
            return
        seen: set[Key] = set()
        try:
            inside = list(made.named_modules())
        except Exception:  # a module without a proper __init__
            inside = [("", made)]
        for path, module in inside:
            found = text if not path else f"{text}.get_submodule({path!r})"
            own = self._key(type(module))
            if own is not None:
                mine = "harvested" if path and how == "no arguments" else how
                self._note(own, module, found, mine, RANKS[mine], device, seconds)
                if own in seen:
                    continue
                seen.add(own)
                if type(module) not in self._built and seconds < CHEAP_SECONDS:
                    self._built[type(module)] = (found, _names(module))
            for base in type(module).__mro__[1:]:
                inherited = self._key(base) if base is not torch.nn.Module else None
                if inherited is not None and inherited not in seen and _same_forward(type(module), base):
                    seen.add(inherited)
                    rank = RANKS[how] + INHERITED
                    self._note(inherited, module, found, f"{how}, of a subclass", rank, device, seconds)

    def _note(
        self, key: Key, module: torch.nn.Module, text: str, how: str, rank: int, device: str, seconds: float
    ) -> None:
        known = self._state.found.get(key, {})
        if known and not self._conditions[key] and (rank, seconds) >= min(known.values()):
            return
        answers = tuple(_answer(condition, module) for condition in self._conditions[key])
        better = answers in known and known[answers] <= (rank, seconds)
        if better or (answers not in known and len(known) >= MAX_CONFIGURATIONS):
            return
        if answers in known and known[answers][0] == rank and known[answers][1] < 2 * seconds + 0.02:
            return  # hardly cheaper
        self._state.found.setdefault(key, {})[answers] = (rank, seconds)
        self._send(
            {
                "kind": "found",
                "class": list(key),
                "text": text,
                "how": how,
                "rank": rank,
                "device": device,
                "seconds": seconds,
                "answers": list(answers),
            }
        )

    def _known(self, cls: type, attributes: frozenset[str]) -> list[str]:
        """Expressions of built modules of a class that have these attributes."""
        return [text for built, (text, names) in self._built.items() if issubclass(built, cls) and attributes <= names]


def _names(module: torch.nn.Module) -> frozenset[str]:
    """The attributes of a module, also of one whose ``__init__`` never called that of nn.Module."""
    own = vars(module)
    return frozenset((*own, *own.get("_modules", ()), *own.get("_parameters", ()), *dir(type(module))))


def _module_classes(module: ModuleType) -> list[type]:
    """The module classes in a module's scope."""
    return [one for one in list(vars(module).values()) if isinstance(one, type) and issubclass(one, torch.nn.Module)]


def _same_forward(cls: type, base: type) -> bool:
    return getattr(cls, "forward", None) is getattr(base, "forward", None)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


_HARMLESS = (ast.Expression, ast.Attribute, ast.Name, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant, ast.Subscript,
             ast.Tuple, ast.List, ast.expr_context, ast.cmpop, ast.boolop, ast.unaryop)  # fmt: skip


def _compiled(text: str) -> Any:
    """A condition that only reads ``self``, ready to be evaluated; None for any other."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return None
    harmless = all(isinstance(node, _HARMLESS) for node in ast.walk(tree))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return compile(tree, "<condition>", "eval") if harmless and names == {"self"} else None


def _attributes(conditions: list[str]) -> set[str]:
    """The attributes of self that conditions read."""
    found = set()
    for text in conditions:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.walk(ast.parse(text, mode="eval")):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                    found.add(node.attr)
    return found - {"training"}


def _answer(condition: Any, module: torch.nn.Module) -> bool | None:
    if condition is None:
        return None
    try:
        return bool(eval(condition, {"__builtins__": {}}, {"self": module}))
    except Exception:
        return None


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raises TooSlowError in the code under it after so many seconds, where the system has alarms."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: Any) -> None:
        raise TooSlowError(f"took longer than {seconds:g} s")

    alarms = {
        (signal.SIGPROF, signal.ITIMER_PROF): seconds,
        (signal.SIGALRM, signal.ITIMER_REAL): seconds * IDLE_FACTOR,
    }
    before = {number: signal.signal(number, ring) for number, _ in alarms}
    for (_, timer), after in alarms.items():
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for number, timer in alarms:
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])
