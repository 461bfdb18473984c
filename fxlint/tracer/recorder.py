"""The recording tracer: a symbolic tracer that notes what the stock one would stop at, answers, and goes on.

Proxies here differ from the stock ones only where Python code of torch.fx itself raises (truth value, iteration, len,
``**``) or where no hook exists at all (item assignment, formats, ``with``). They define no ``__index__``, ``__int__``,
``__float__``: torch's argument parser and numpy try those on the way to a correctly recorded call, so proxies that had
them would be traced differently. What C code rejects is dealt with by ``sites.py``.
"""

from __future__ import annotations

import dis
import operator
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, GeneratorType
from typing import Any

import torch
import torch.fx
from torch.fx.proxy import Attribute, Proxy

from .failures import message_of
from .frames import Frame, Instruction, UserCode, frames_of, real_path

STAND_IN_LENGTH = 2
SAME_ANSWER = 20
"""A condition met again in one run gets the same answer this often, then the other one: loops end."""
MAX_ANSWERS = 2000

Site = tuple[Any, ...]
Key = tuple[Any, ...]


class EndOfRun(BaseException):
    """Ends a run; a BaseException so that no ``except Exception`` of the user keeps it."""


@dataclass(frozen=True)
class Event:
    """Something the stock tracer cannot capture, met at ``frames`` (the user's stack, outermost first, maybe empty).

    ``origin`` names the placeholder that the value came from. ``decisions`` counts the conditions answered before,
    ``answers`` all stand-ins given before: with none, this is where the stock tracer stops. ``collateral`` is a raise
    of the user's own that a stand-in may be to blame for, and all that was met after going on past such a failure.
    """

    family: str
    frames: tuple[Frame, ...]
    origin: str | None = None
    decisions: int = 0
    answers: int = 0
    error: tuple[str, str] | None = None
    collateral: bool = False

    @property
    def key(self) -> Key:
        """What is the same when another root meets it."""
        return (self.family, self.frames[-1].place if self.frames else None)

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "frames": [frame.to_json() for frame in self.frames],
            "origin": self.origin,
            "decisions": self.decisions,
            "answers": self.answers,
            "error": None if self.error is None else {"type": self.error[0], "message": self.error[1]},
            "collateral": self.collateral,
        }


@dataclass(frozen=True)
class Plan:
    """How a run answers: the first conditions as in ``prefix``, an iteration with ``length`` elements.

    ``unwrap`` traces the decorated function itself where the stock tracer cannot call its decorator's wrapper.
    """

    prefix: tuple[bool, ...] = ()
    length: int = STAND_IN_LENGTH
    unwrap: bool = False


@dataclass
class Run:
    """What one run met and how it answered.

    ``asked`` are the places of all frames that a condition was asked in: (file, function, line). ``passed`` are the
    exceptions that a stand-in may be to blame for, which the run went on after.
    """

    events: list[Event] = field(default_factory=list)
    decisions: list[tuple[Site, bool]] = field(default_factory=list)
    answers: int = 0
    asked: set[tuple[str, str, int]] = field(default_factory=set)
    passed: list[BaseException] = field(default_factory=list)


@dataclass
class Learned:
    """What the runs of a recording have told so far.

    ``covered`` are the (site, answer) pairs given: the other answer is preferred. ``quiet`` are the calls of submodules
    in which nothing was met and which made a proxy of proxies, as (path, number of arguments, keywords). Another run
    need not trace them again.
    """

    covered: set[tuple[Site, bool]] = field(default_factory=set)
    quiet: set[tuple[Any, ...]] = field(default_factory=set)


class RecordingTracer(torch.fx.Tracer):
    """Notes into ``run``."""

    def __init__(
        self,
        user: UserCode,
        plan: Plan,
        learned: Learned,
        base: FrameType,
        deadline: float,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.run = Run()
        self._user = user
        self._plan = plan
        self._covered = learned.covered
        self._quiet = learned.quiet
        self._base = base
        self._deadline = deadline
        self._given: dict[Site, int] = {}
        self._iterated: tuple[Proxy, int] | None = None

    # What the tracer itself can answer

    def proxy(self, node: torch.fx.Node) -> Proxy:
        return RecordingProxy(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        self.record("bool", obj)
        return self.decide(sys._getframe(2))  # the frame whose instruction asks: to_bool <- __bool__ <- here

    def iter(self, obj: Proxy) -> Iterator[Any]:
        self.record("iter", obj)
        self.answered()
        self._iterated = (obj, len(self.run.events))
        return iter([_element(obj, index) for index in range(self._plan.length)])

    def is_being_iterated(self, obj: Proxy) -> bool:
        """Whether ``obj`` was iterated over last: then it is list(x) that asks for its length, to make room."""
        return self._iterated is not None and self._iterated[0] is obj and self._iterated[1] == len(self.run.events)

    def keys(self, obj: Proxy) -> Any:
        if not _unpacks_mapping(sys._getframe(2)):
            return super().keys(obj)
        self.record("kwargs", obj)
        self.answered()
        return []

    def path_of_module(self, mod: torch.nn.Module) -> str:
        try:
            return super().path_of_module(mod)
        except NameError as error:
            self.record("module", None, error)
            self.answered()
            return f"unregistered_{type(mod).__name__}"

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        path = self.submodule_paths.get(m) if self.submodule_paths else None
        given = (*args, *kwargs.values())
        if path is None or not all(isinstance(value, Proxy) for value in given):
            return super().call_module(m, forward, args, kwargs)
        call = (path, len(args), *kwargs)
        if call in self._quiet:
            return self.create_proxy("call_module", path, args, kwargs)
        before = self._so_far()
        result = super().call_module(m, forward, args, kwargs)
        if self._so_far() == before and isinstance(result, Proxy) and not _keeps_proxy(m):
            self._quiet.add(call)
        return result

    def _so_far(self) -> tuple[int, int, int]:
        return len(self.run.events), self.run.answers, len(self.run.passed)

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, GeneratorType):
            self.record("output", None, NotImplementedError(f"argument of type: {type(a)}"))
            self.answered()
            return super().create_arg(tuple(islice(a, MAX_ANSWERS)))  # its body runs only now
        try:
            return super().create_arg(a)
        except NameError as error:
            if not isinstance(a, torch.nn.Parameter):
                raise
            if not self.run.answers:  # else it belongs to a module that is itself not registered
                self.record("module", None, error)
                self.answered()
            return self.create_node("get_attr", "unregistered_parameter", (), {})

    def create_node(self, kind: str, target: Any, *args: Any, **kwargs: Any) -> torch.fx.Node:
        if kind == "call_function" and getattr(target, "__module__", None) == "math":
            self.record("math", None)
        return super().create_node(kind, target, *args, **kwargs)

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        root_fn = _unwrapped(root_fn) if self._plan.unwrap else root_fn
        return super().create_args_for_root(root_fn, is_module, concrete_args)

    # Notes

    def record(self, family: str, proxy: Any, error: BaseException | None = None, collateral: bool = False) -> None:
        """Note an event at the user's frames that are running now."""
        stack = self._user.of_stack(sys._getframe(1), self._base)
        told = None if error is None else (type(error).__name__, message_of(error))
        run = self.run
        run.events.append(
            Event(
                family,
                frames_of(stack),
                origin_of(proxy),
                len(run.decisions),
                run.answers,
                told,
                collateral or bool(run.passed),
            )
        )

    def answered(self) -> None:
        """Count a stand-in: what goes wrong from here on may be its fault."""
        self.run.answers += 1
        if self.run.answers > MAX_ANSWERS or time.process_time() > self._deadline:
            raise EndOfRun

    def decide(self, frame: FrameType) -> bool:
        """The answer to a condition that ``frame`` asks."""
        self.answered()
        run = self.run
        site = self._site(frame)
        index = len(run.decisions)
        answer = self._plan.prefix[index] if index < len(self._plan.prefix) else self._choose(site, frame)
        run.decisions.append((site, answer))
        return answer

    def _choose(self, site: Site, frame: FrameType) -> bool:
        asked = self._given[site] = self._given.get(site, 0) + 1
        earlier = next((answer for known, answer in self.run.decisions if known == site), None)
        if earlier is not None:
            return earlier if asked % SAME_ANSWER else not earlier
        default = _answer_that_jumps(frame)
        if (site, default) in self._covered and (site, not default) not in self._covered:
            return not default
        return default

    def _site(self, frame: FrameType) -> Site:
        """The asking instruction and the user's instruction that it serves, each as told by ``_place``.

        So a helper's test counts once per call of it.
        """
        user = self._user.of_stack(frame, self._base)
        self.run.asked.update((found.code.co_filename, found.code.co_name, found.line) for found in user)
        return tuple(_place(found) for found in (Instruction(frame.f_code, frame.f_lasti, frame.f_lineno), *user[-1:]))


def recording_class(base: type[torch.fx.Tracer]) -> type[RecordingTracer]:
    """The recording tracer on top of the project's."""
    return RecordingTracer if base is torch.fx.Tracer else type("Tracer", (RecordingTracer, base), {})


class RecordingProxy(Proxy):
    tracer: RecordingTracer

    def __getattr__(self, k: str) -> Attribute:
        return RecordingAttribute(self, k)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction = _instruction(frame)
        if instruction is None:
            return self.tracer.iter(self)
        if instruction.opname == "UNPACK_SEQUENCE":  # as in the stock tracer, the count comes from the bytecode
            return iter([_element(self, index) for index in range(instruction.argval)])
        if instruction.opname == "UNPACK_EX":
            self.tracer.record("iter", self)
            self.tracer.answered()
            count = (instruction.argval & 0xFF) + (instruction.argval >> 8) + 1  # before and after the star, and one
            return iter([_element(self, index) for index in range(count)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        # an int would decide what follows; as in the stock tracer the call fails, and its guard answers with a proxy
        return STAND_IN_LENGTH if self.tracer.is_being_iterated(self) else super().__len__()

    def __contains__(self, item: Any) -> bool:
        self.tracer.record("iter", self)
        return self.tracer.decide(sys._getframe(1))

    def __round__(self, digits: int | None = None) -> Any:
        self.tracer.record("round", self)
        self.tracer.answered()
        return self

    def __format__(self, spec: str) -> str:
        if spec:
            self.tracer.record("format", self)
            self.tracer.answered()
        return str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.record("setitem", self)
        self.tracer.answered()

    def __delitem__(self, key: Any) -> None:
        self.tracer.record("setitem", self)
        self.tracer.answered()

    def __enter__(self) -> Any:
        self.tracer.record("context", self)
        self.tracer.answered()
        return self

    def __exit__(self, *raised: object) -> None:
        return None


class RecordingAttribute(RecordingProxy, Attribute):
    """``x.shape``: torch.fx makes these without asking the tracer for a proxy."""


for _recording, _stock in ((RecordingProxy, Proxy), (RecordingAttribute, Attribute)):
    # messages such as "must be real number, not Proxy" name the class, and users' code may too
    _recording.__name__, _recording.__qualname__ = _stock.__name__, _stock.__qualname__
    _recording.__module__ = _stock.__module__


def origin_of(proxy: Any) -> str | None:
    """The placeholder or attribute that a proxy was computed from, by its first arguments."""
    while isinstance(proxy, Attribute):
        proxy = proxy.root
    if not isinstance(proxy, Proxy):
        return None
    node: torch.fx.Node = proxy.node
    while node.op not in ("placeholder", "get_attr") and node.all_input_nodes:
        node = node.all_input_nodes[0]
    if node.op == "placeholder":
        return str(node.target).lstrip("*")
    return f"self.{node.target}" if node.op == "get_attr" else None


def holds_proxy(value: Any, depth: int = 6) -> bool:
    """Whether a proxy is among plain containers of arguments."""
    if isinstance(value, Proxy):
        return True
    if depth == 0:
        return False
    if isinstance(value, (list, tuple, set)):
        return any(holds_proxy(item, depth - 1) for item in value)
    if isinstance(value, dict):
        return any(holds_proxy(item, depth - 1) for pair in value.items() for item in pair)
    if isinstance(value, slice):
        return any(holds_proxy(item, depth - 1) for item in (value.start, value.stop, value.step))
    return False


def _keeps_proxy(module: torch.nn.Module) -> bool:
    """Whether a call has left a proxy in a module, where others may look for it."""
    return any(holds_proxy(vars(inner)) for inner in module.modules())


def first_proxy(value: Any) -> Any:
    """A proxy among arguments, to say where they came from."""
    if isinstance(value, Proxy):
        return value
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    elif isinstance(value, dict):
        value = [item for pair in value.items() for item in pair]
    if isinstance(value, (list, tuple)):
        return next((item for item in map(first_proxy, value) if item is not None), None)
    return None


def _element(proxy: Any, index: int) -> Any:
    return proxy[index]


def stand_in(tracer: RecordingTracer, operands: Any) -> Proxy:
    """A fresh traced value for a result that cannot be had; it comes from where its operands came from."""
    return tracer.create_proxy("call_function", operator.pos, (first_proxy(operands),), {})


def _instruction(frame: FrameType) -> dis.Instruction | None:
    # an EXTENDED_ARG prefix has an offset of its own, so f_lasti is that of the instruction proper
    return _instructions(frame.f_code).get(frame.f_lasti)


@lru_cache(maxsize=256)
def _instructions(code: CodeType) -> dict[int, dis.Instruction]:
    return {found.offset: found for found in dis.get_instructions(code)}


def _place(found: Instruction) -> tuple[Any, ...]:
    """(file, function, line, last line of the function, position): the same for an instrumented twin (``sites.py``)."""
    lines = [line for _, _, line in found.code.co_lines() if line is not None and line >= found.line]
    where = found.span or (found.line, found.offset)
    return (real_path(found.code.co_filename), found.code.co_name, found.line, max(lines, default=found.line), where)


def _unpacks_mapping(frame: FrameType) -> bool:
    """Whether ``frame`` is doing ``f(**x)`` or ``{**x}`` rather than calling ``x.keys()``."""
    opname = Instruction(frame.f_code, frame.f_lasti, frame.f_lineno).opname
    return opname in ("DICT_MERGE", "DICT_UPDATE", "CALL_FUNCTION_EX")


def _answer_that_jumps(frame: FrameType) -> bool:
    """The answer that skips the conditional code: past a raise, past a loop's body, past a failing assert."""
    return "IF_TRUE" in Instruction(frame.f_code, frame.f_lasti, frame.f_lineno).opname


def _unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    seen = 0
    while hasattr(function, "__wrapped__") and seen < 50:
        function, seen = function.__wrapped__, seen + 1
    return function
