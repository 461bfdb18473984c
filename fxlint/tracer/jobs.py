"""What the worker does with a batch of files: imports each, and traces its roots, each in a process of its own.

A batch is a JSON object:

    {"files": [file, ...], "interest": [path, ...], "texts": {real path: text},
     "seconds": per root and per import, "memory": bytes or 0, "tracing": {"settings", "bind_defaults"} or null}

with file = {"id", "file": path, "module": dotted name, "package": whether the name is importable, "sys_path": [...],
"roots": [root, ...]}, texts as in ``held.py``, and root = {"id", "kind", "qualname", "instances": [expr, ...], "found":
[{"text": expr, "device"}, ...], "why_none": why nothing was found or null, "inputs": expr or null, "concrete_args":
expr or null, "suggestions": [...],
"watch": {path: [[first line, last line], ...]} of all that is predicted for it, "goals": [[path, first line, last
line], ...] of what the recording looks for, "silent": [[event, path, line, column], ...] of what traces and is wrong}.
What was found comes from a survey, see ``instances/survey.py``. A suggestion has an "id" and at least one of "edits":
{path: [edit, ...]} of its source (see ``edits.py``), "wraps": [[path, name], ...], "expr": the concrete_args, and
"tracer": {"leaf": [path, class]} or {"param_shapes_constant": true}; with "at": [[path, first line, last line], ...] it
is of use only if tracing comes to one of these lines.

With "task": "show" nothing is recorded and nothing tried: each root gets one message "shown", see ``show.py``.

Answers are messages {"file", "kind", ...}: "stage" as it goes on; "failed" where the file could not be imported;
"tracer", a "problem" with the settings of the Tracer; per root "stock" (with "instance"), "refused" (a declared "what",
"instance", "inputs" or "concrete_args", whose "text" cannot be used), "recording", "modes" and "beside" of what is
silent (see ``beside.py``), "suggestion" (with "suggestion": id) and "ended" when all is said, with "reason" where the
root could not be traced; "loads", the "files" that all this depends on, see ``loads.py``; "done" after the last root of
a file. A message may "allow" so many seconds to the next one. By "cut" it says that what it tells is due to a limit or
a crash, and may be otherwise another time.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import torch.fx

from .beside import beside, modes
from .classify import of_exception
from .executed import Executed
from .explore import Goal, Recording, caught, record
from .failures import failed, message_of
from .frames import Frame, UserCode, frames_of
from .held import hold
from .instances import (
    Builder,
    Candidate,
    CannotBuildError,
    Target,
    candidates,
    find,
    load_module,
    prebuild,
    told_in_a_line,
)
from .instances.survey import run_survey
from .loads import Loads
from .messages import Message
from .process import CAN_FORK, Ending, Limits, Send, supervised
from .recorder import Key
from .show import show
from .sites import note_functions
from .stock import Stock
from .suggestions import about_meta, try_inputs, try_suggestion
from .tracing import STOCK, Tracing, evaluated, told, unknown_parameters
from .untouched import State, changed_since, state

Spec = Mapping[str, Any]
Silence = tuple[Any, ...]
"""(event, path, line, column) of a finding that stops no trace."""

TRAINING = "silent.training"

RECORDING_SHARE = 0.4
RECORDING_SECONDS = 5.0
"""The recordings of a root may take this share of its seconds, and no more than these, of processor time."""
ROOTS_PER_GOAL = 2
"""What so many roots before have looked for in vain is not looked for any more."""
ROOTS_PER_SILENCE = 2
"""What made no difference in so many roots before is not run side by side any more, nor what has made one."""
MAX_TRIES = 64
TRY_SECONDS = 20.0
"""Suggestions tried on one root, and the seconds after which no other try is begun."""
COMPARING_SECONDS = 20.0
"""A module and its graph are run side by side for no longer."""
GRACE = 5.0
"""Seconds beyond those of a root that its host may be silent: the host kills the root first and says so."""


@dataclass(frozen=True)
class Settings:
    user: UserCode
    limits: Limits
    linted: Sequence[str] = ()
    """Real paths."""
    told: Spec | None = None
    shows: bool = False
    tracing: Tracing = STOCK
    untouched: State = field(default_factory=dict)
    """What torch.fx was before anything of the user's ran."""
    met: set[Key] = field(default_factory=set)
    """What the roots before in the same file met in the recordings: see ``explore.record``."""
    missed: dict[Goal, set[Any]] = field(default_factory=dict)
    """What they looked for and did not come to, with their ids."""
    compared: dict[Silence, int] = field(default_factory=dict)
    """In how many of them what traces and is wrong was run side by side."""


def run_batch(batch: Spec, send: Send, orphaned: Callable[[], bool]) -> None:
    """Do a batch. A file that takes its process down costs that file: the others go on in a new process."""
    hold(batch.get("texts", {}))
    if batch.get("task") == "survey":
        run_survey(batch, send, orphaned)
        return
    settings = Settings(
        UserCode(batch["interest"]),
        Limits(batch["seconds"], batch["memory"]),
        batch["interest"],
        batch.get("tracing"),
        shows=batch.get("task") == "show",
    )
    todo = list(batch["files"])
    if not CAN_FORK:
        _host(todo, settings, send)
        return
    while todo:
        done: set[Any] = set()
        current: list[Any] = []

        def on_message(message: Message, done: set[Any] = done, current: list[Any] = current) -> None:
            current[:] = [message["file"]]
            if message.get("kind") in ("done", "failed"):
                done.add(message["file"])
            send(message)

        work = partial(_host, list(todo), settings)
        ending = supervised(work, on_message, settings.limits, settings.user.is_user, orphaned)
        todo = [spec for spec in todo if spec["id"] not in done]
        if todo and (ending.kind != "done" or not done):  # one that ends well must have done a file at least
            hit = next((spec for spec in todo if [spec["id"]] == current), todo[0])
            send({"file": hit["id"], "kind": "failed", **_import_failure(ending)})
            todo.remove(hit)


def _import_failure(ending: Ending) -> Message:
    what = ending.what or "ended the process"
    return {"reason": f"importing it {what}", "place": _place(ending.file, ending.line), "cut": True}


def _place(file: str | None, line: int | None) -> Message | None:
    return None if file is None else {"file": os.path.realpath(file), "line": line}


def _host(files: list[Spec], settings: Settings, send: Send) -> None:
    """Import files one after the other in this process and trace their roots."""
    untouched = state()
    loads = Loads([folder for spec in files for folder in spec["sys_path"]], settings.linted)
    for spec in files:
        loads.begin(spec["file"])
        say = partial(_tagged, send, spec["id"])
        say({"kind": "stage"})
        outcome = _file(spec, replace(settings, met=set(), missed={}, compared={}), say, untouched)
        say({"kind": "loads", "files": loads.of_file(spec["file"])})
        say(outcome)
        if changed_since(untouched) is not None or _poisoned():
            return  # the rest of the batch goes on in a new process


def _file(spec: Spec, settings: Settings, say: Send, untouched: State) -> Message:
    """Import a file and trace its roots. Returns how that ended."""
    try:
        module = _imported(spec, settings)
        changed = changed_since(untouched)
        if changed is not None:
            raise CannotBuildError(_touched("importing", changed))
        prebuild(
            [one["text"] for root in spec["roots"] for one in root.get("found", ()) if one["device"] == "meta"],
            settings.limits.seconds / 4,
        )
        note_functions()
        tracing, problems = (STOCK, []) if settings.told is None else told(**settings.told)
    except _ImportFailedError as error:
        return {"kind": "failed", **error.told}
    except CannotBuildError as error:
        return {"kind": "failed", "reason": str(error), "place": None}
    for problem in problems:
        say({"kind": "tracer", "problem": problem})
    for root in spec["roots"]:
        _root(root, module, say, replace(settings, tracing=tracing, untouched=untouched))
    return {"kind": "done"}


def _touched(doing: str, changed: str) -> str:
    return f"{doing} it changes {changed}, and a trace would not tell what torch.fx itself does"


def _tagged(send: Send, file: Any, message: Message) -> None:
    send({"file": file, **message})


class _ImportFailedError(Exception):
    """Importing a file raised something: ``told`` is what a message says of it."""

    def __init__(self, told: Message) -> None:
        super().__init__()
        self.told = told


def _imported(spec: Spec, settings: Settings) -> ModuleType:
    """Raises CannotBuildError and _ImportFailedError."""
    sys.argv = [spec["file"]]
    try:
        return _loaded(spec)
    except CannotBuildError:
        raise
    except BaseException as error:
        raise _ImportFailedError(_import_error(error, settings.user)) from error


def _loaded(spec: Spec) -> ModuleType:
    try:
        return load_module(spec["file"], spec["module"], spec["sys_path"], spec["package"])
    except ImportError as error:
        name = _name_from_root(spec["file"], spec["sys_path"][1:])
        if name is None or "no known parent package" not in str(error):
            raise
    return load_module(spec["file"], name, spec["sys_path"], package=True)


def _name_from_root(file: str, roots: Sequence[str]) -> str | None:
    """The name of a file in a package without ``__init__.py``, dotted from a root; None where it cannot have one."""
    for root in roots:
        parts = os.path.relpath(file, root).removesuffix(".py").split(os.sep)
        if len(parts) > 1 and all(map(str.isidentifier, parts)):
            return ".".join(parts)
    return None


def _import_error(error: BaseException, user: UserCode) -> Message:
    told = failed(error, user)
    frames = frames_of(user.own(user.of_traceback(error.__traceback__)))
    if isinstance(error, SystemExit):
        reason = f"importing it called sys.exit({'' if error.code is None else repr(error.code)})"
    else:
        message = " ".join(message_of(error).split())
        reason = f"importing it raised {told.type}: {message[:300]}" if message else f"importing it raised {told.type}"
    place = _place(frames[-1].file, frames[-1].line) if frames else None
    if isinstance(error, SyntaxError) and error.filename:
        place = _place(error.filename, error.lineno)
    return {"reason": reason, "place": place, "error": told.to_json(), "family": of_exception(error, user)}


def _poisoned() -> bool:
    """Whether a misused torch.fx.wrap makes every later trace of this process fail with KeyError."""
    wrapped = torch.fx._symbolic_trace._wrapped_fns_to_patch
    return any(name not in scope and not hasattr(builtins, name) for (_, name), scope in list(wrapped.items()))


def _root(root: Spec, module: ModuleType, send: Send, settings: Settings) -> None:
    def say(message: Message) -> None:
        send({"root": root["id"], **message})

    if not CAN_FORK:
        _trace_root(root, module, say, settings)
        return
    stage = ["building"]

    def on_message(message: Message) -> None:
        stage[:] = [message.get("next", stage[0])]
        if message["kind"] == "recording":
            settings.met.update(_key_of(event) for event in message["events"])
            for file, first, last in message["missed"]:
                settings.missed.setdefault((file, first, last), set()).add(root["id"])
        if message["kind"] == "beside" and message["reason"] is None:
            for one in _silent(root):
                enough = ROOTS_PER_SILENCE if message["differences"] else 1
                settings.compared[one] = settings.compared.get(one, 0) + enough
        say({**message, "allow": message.get("allow", settings.limits.seconds) + GRACE})

    say({"kind": "stage", "allow": settings.limits.seconds + GRACE})
    ending = supervised(
        lambda out: _trace_root(root, module, out, settings),
        on_message,
        settings.limits,
        settings.user.is_user,
    )
    if ending.kind != "done":
        place = _place(ending.file, ending.line)
        say({"kind": "ended", "reason": f"{stage[0]} it {ending.what}", "place": place, "cut": True})


def _silent(root: Spec) -> list[Silence]:
    """What is predicted to be wrong in a graph of a root, but for what is proved by the graphs of both modes."""
    return [tuple(one) for one in root.get("silent", ()) if one[0] != TRAINING]


def _key_of(event: Message) -> Key:
    """``Event.key`` of an event in a message."""
    frames = [Frame(**frame) for frame in event["frames"][-1:]]
    return (event["family"], frames[0].place if frames else None)


def _trace_root(root: Spec, module: ModuleType, send: Send, settings: Settings) -> None:
    """Everything about one root, each part sent as soon as it is known."""
    try:
        obj = find(module, root["qualname"])
        settings = _bound(root, module, send, settings)
        declared, surveyed = tuple(root["instances"]), tuple(root.get("found", ()))
        found = candidates(Target(module, root["qualname"], obj, declared, surveyed, root.get("why_none")))
    except CannotBuildError as error:
        send({"kind": "ended", "reason": str(error), "place": None})
        return
    if settings.shows:
        _show_root(found, root, module, send, settings)
        return
    reason: str | None = None
    usable: tuple[Candidate, _Way] | None = None
    tracing: Candidate | None = None
    seconds = min(settings.limits.seconds * RECORDING_SHARE, RECORDING_SECONDS) / len(found)
    for candidate in found:
        try:
            way = _trace_candidate(candidate, root, send, settings, seconds)
            usable = usable or (candidate, way)
            tracing = tracing or (candidate if way.traces else None)
        except CannotBuildError as error:
            reason = reason or str(error)
            if candidate.text in root["instances"]:
                send({"kind": "refused", "what": "instance", "text": candidate.text, "reason": str(error)})
    if usable is None:
        send({"kind": "ended", "reason": reason, "place": None})
        return
    root = _with_usable_inputs(root, usable[0], module, send, settings)
    open_ones = [one for one in _silent(root) if settings.compared.get(one, 0) < ROOTS_PER_SILENCE]
    if open_ones and tracing is not None:
        _compare(tracing, root, module, send, settings)
    _try_all(root, *usable, module, send, settings)
    send({"kind": "ended", "reason": None, "place": None})


def _compare(candidate: Candidate, root: Spec, module: ModuleType, send: Send, settings: Settings) -> None:
    """Run the module and its graph side by side."""
    limits = replace(settings.limits, seconds=min(settings.limits.seconds, COMPARING_SECONDS))
    send({"kind": "stage", "next": "comparing", "allow": limits.seconds + GRACE})
    answer = _isolated(
        lambda: beside(candidate, root, module, settings.user, settings.tracing), replace(settings, limits=limits)
    )
    send({"inputs": [], "differences": [], **answer, "kind": "beside"})


def _show_root(found: Sequence[Candidate], root: Spec, module: ModuleType, send: Send, settings: Settings) -> None:
    """The trace of the first candidate that can be built, in full."""
    reason: str | None = None
    for candidate in found:
        try:
            send(show(candidate, root, module, settings.user, settings.tracing))
        except CannotBuildError as error:
            reason = reason or str(error)
        else:
            break
    else:
        send({"kind": "ended", "reason": reason, "place": None})


def _bound(root: Spec, module: ModuleType, send: Send, settings: Settings) -> Settings:
    """The settings with the concrete_args of the root, where they can be had."""
    expression = root.get("concrete_args")
    if expression is None:
        return settings
    try:
        concrete_args = evaluated(expression, module)
        unknown = unknown_parameters(find(module, root["qualname"]), concrete_args)
        if unknown:
            raise CannotBuildError(f"forward has no parameter {', '.join(unknown)}")
    except CannotBuildError as error:
        reason = str(error)
    except Exception as error:
        reason = told_in_a_line(error, settings.user)
    else:
        return replace(settings, tracing=settings.tracing.with_concrete_args(concrete_args))
    send({"kind": "refused", "what": "concrete_args", "text": expression, "reason": reason})
    return settings


def _with_usable_inputs(root: Spec, candidate: Candidate, module: ModuleType, send: Send, settings: Settings) -> Spec:
    """The root without example inputs on which the module as it stands cannot be run."""
    if root["inputs"] is None:
        return root
    send({"kind": "stage", "next": "checking", "allow": settings.limits.seconds + GRACE})
    answer = _isolated(lambda: try_inputs(root["inputs"], candidate, module, settings.user), settings)
    if answer["reason"] is None:
        return root
    send({**answer, "kind": "refused", "what": "inputs", "text": root["inputs"]})
    return {**root, "inputs": None}


@dataclass(frozen=True)
class _Way:
    """The way of the stock trace: the lines it ran, of those watched, and the functions in which it failed."""

    lines: frozenset[tuple[str, int]]
    failed_in: frozenset[tuple[str, str]]
    traces: bool

    def comes_to(self, suggestion: Spec) -> bool:
        """Whether a suggestion can make a difference: else the trace goes the same way, to the same end."""
        if suggestion.get("at") is None:
            return True
        return any(
            (os.path.realpath(file), line) in self.lines
            for file, first, last in suggestion["at"]
            for line in range(first, last + 1)
        ) or any((os.path.realpath(file), name) in self.failed_in for file, name in suggestion.get("wraps", ()))


def _try_all(root: Spec, candidate: Candidate, way: _Way, module: ModuleType, send: Send, settings: Settings) -> None:
    """Try the suggestions for a root, in their order, as far as the bounds go."""
    seconds = min(settings.limits.seconds, TRY_SECONDS)
    deadline = time.monotonic() + seconds
    room = MAX_TRIES
    for suggestion in root["suggestions"]:
        if not way.comes_to(suggestion):
            reason = "tracing fails before it comes here" if way.failed_in else "tracing does not come here"
            outcome: Message = {"verdict": "not-run", "reason": reason}
        elif not room:
            outcome = {"verdict": "not-run", "reason": f"{MAX_TRIES} other ways out were tried on this module"}
        elif time.monotonic() > deadline:
            reason = f"the {seconds:g} s for ways out of this module were over"
            outcome = {"verdict": "not-run", "reason": reason, "cut": True}
        else:
            room -= 1
            send({"kind": "stage", "allow": settings.limits.seconds + GRACE})
            outcome = _tried(suggestion, candidate, module, root, settings)
        send({**outcome, "kind": "suggestion", "suggestion": suggestion["id"]})


def _trace_candidate(candidate: Candidate, root: Spec, send: Send, settings: Settings, seconds: float) -> _Way:
    """``seconds`` are for the recording."""
    build, done, executed = _stock(candidate, root, settings, send)
    way = _Way(
        frozenset((frame.file, frame.line) for frame in executed.frames()),
        frozenset((frame.file, frame.function) for frame in (done.error.frames if done.error is not None else ())),
        done.traced is not None,
    )
    head = {"kind": "stock", "instance": build.text, "device": build.device, "next": "recording"}
    send({**head, **done.to_json()})
    swallowed = caught(executed, done.error, settings.user)
    recording = Recording()
    if done.error is not None or swallowed or _does_math(done):  # else a recording goes the very same way
        recording = _recorded(candidate, build, executed, root, settings, seconds)
        settings.met.update(event.key for event in recording.events)  # the next instance need not come to it again
    recording.caught = list(dict.fromkeys([*swallowed, *recording.caught]))
    ran = [frame.to_json() for frame in executed.frames()]
    send({"kind": "recording", "executed": ran, "next": "checking", **recording.to_json()})
    if way.traces and any(event == TRAINING for event, *_ in root.get("silent", ())):
        send({"kind": "modes", **modes(build, settings.tracing, settings.user)})
    return way


def _does_math(done: Stock) -> bool:
    nodes = done.traced.graph.nodes if done.traced is not None else ()
    return any(getattr(node.target, "__module__", None) == "math" for node in nodes)


def _recorded(
    candidate: Candidate, build: Builder, executed: Executed, root: Spec, settings: Settings, seconds: float
) -> Recording:
    listed = [(os.path.realpath(file), first, last) for file, first, last in root["goals"]]
    goals = [goal for goal in listed if len(settings.missed.get(goal, ())) < ROOTS_PER_GOAL]
    bounds: dict[str, Any] = {"known": settings.met, "goals": goals, "tracing": settings.tracing}
    started = time.process_time()
    recording = record(build, settings.user, executed, seconds, **bounds)
    left = seconds - (time.process_time() - started)
    was_meta = build.device != "cpu" and any(about_meta(end.message) for end in recording.ended)
    if was_meta and recording.missed and left > seconds / 2:  # enough to come as far again
        with contextlib.suppress(CannotBuildError):
            return record(Builder(candidate, settings.user, "cpu"), settings.user, executed, left, **bounds)
    return recording


def _stock(candidate: Candidate, root: Spec, settings: Settings, send: Send) -> tuple[Builder, Stock, Executed]:
    """The stock verdict, on the meta device unless the instance cannot be made there or fails because of it."""
    for device in candidate.devices:
        build = Builder(candidate, settings.user, device)
        try:
            instance = build()
        except CannotBuildError:
            if device == candidate.devices[-1]:
                raise
            continue
        send({"kind": "stage", "next": "tracing"})
        executed = Executed(root["watch"])
        with executed.collecting():
            done = settings.tracing.trace(instance, settings.user)
        if device == candidate.devices[-1] or done.error is None or not about_meta(done.error.message):
            break
    changed = changed_since(settings.untouched)
    if changed is not None:
        raise CannotBuildError(_touched("building or tracing", changed))
    return build, done, executed


def _tried(suggestion: Spec, candidate: Candidate, module: ModuleType, root: Spec, settings: Settings) -> Message:
    """The outcome of a suggestion, which may change the process that it is tried in for good."""
    if not CAN_FORK and not set(suggestion) <= {"id", "expr", "at"}:
        return {"verdict": "not-run", "reason": "it needs a process of its own, and this system cannot fork one"}
    user, tracing = settings.user, settings.tracing
    return _isolated(lambda: try_suggestion(suggestion, candidate, module, root, user, tracing), settings)


def _isolated(job: Callable[[], Message], settings: Settings) -> Message:
    """The answer of a job in a process of its own, where one can be forked."""
    if not CAN_FORK:
        return job()
    answers: list[Message] = []
    ending = supervised(lambda out: out(job()), answers.append, settings.limits, settings.user.is_user)
    if answers:
        return answers[0]
    return {"verdict": "not-run", "reason": f"trying it {ending.what or 'ended without an answer'}", "cut": True}
