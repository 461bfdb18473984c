"""Makes up the arguments of a constructor, and learns from what it says about them.

A bounded search: an attempt gives every required argument its best guess; where the constructor raises, what it says
and the frame in which it says so tell which argument to change, and how. Attempts that came further go first.
"""

from __future__ import annotations

import ast
import heapq
import inspect
import itertools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

from ..failures import message_of
from .guesses import Context, an_int, hints_of, options, required, signature_of
from .naming import name_of
from .usage import Usage, usages

MAX_ATTEMPTS = 30
MAX_SECONDS = 5.0
"""Of processor time, so that other load does not change what is found."""
MAX_CHANGES = 5
_QUOTED = re.compile(r"['\"`]([\w\-./]+)['\"`]")
_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (.+)")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_NO_ATTRIBUTE = re.compile(r"(?:'?[\w.]+'? object|type object '\w+') has no attribute '(\w+)'")
_UNPACK = re.compile(r"(?:not enough|too many) values to unpack \(expected (?:at least )?(\d+)")
_GROUPS = re.compile(r"head|group|window|patch|reduction|ratio|stride|num_|factor")

Attempt = Mapping[str, str]
"""Parameter -> text of its argument."""


@dataclass(frozen=True)
class Made:
    """``text`` makes an instance; ``value`` is the one it made."""

    text: str
    value: Any


@dataclass(frozen=True)
class Failed:
    """Why no arguments were found: how many attempts, and what the one that came furthest raised."""

    attempts: int
    error: BaseException | None


def synthesise(
    cls: Any,
    context: Context,
    fixed: Attempt | None = None,
    depth: int = 0,
    max_attempts: int = MAX_ATTEMPTS,
    seconds: float = MAX_SECONDS,
) -> Made | Failed:
    """An instance of ``cls`` with made-up arguments, those of ``fixed`` as given there."""
    return _Search(cls, context, dict(fixed or {}), depth).run(max_attempts, time.process_time() + seconds)


def assembled(cls: type, context: Context, depth: int) -> str | None:
    """The text of an object that is an argument of another one's constructor."""
    made = synthesise(cls, context, depth=depth, max_attempts=12, seconds=2.0)
    return made.text if isinstance(made, Made) else None


@dataclass(order=True)
class _Entry:
    """An attempt in the queue: those whose cause came further in the constructor first, then the newer findings."""

    rank: tuple[int, int, int]
    attempt: dict[str, str] = field(compare=False)
    steps: int = field(compare=False, default=0)


class _Search:
    def __init__(self, cls: Any, context: Context, fixed: dict[str, str], depth: int) -> None:
        self._cls = cls
        self._name = name_of(cls)
        self._context = context
        self._fixed = fixed
        self._depth = depth
        self._parameters = signature_of(cls)
        self._hints = hints_of(cls)
        self._usages = usages(cls) if isinstance(cls, type) else {}
        self._options: dict[str, list[str]] = {}
        self._order = itertools.count()
        self._queue: list[_Entry] = []
        self._seen: set[tuple[tuple[str, str], ...]] = set()
        self._errors: set[tuple[str, str]] = set()
        self._accepts_more = any(one.kind == one.VAR_KEYWORD for one in self._parameters.values())
        self._code = getattr(getattr(cls, "__init__", None), "__code__", None)

    def run(self, max_attempts: int, deadline: float) -> Made | Failed:
        if self._name is None or inspect.isabstract(self._cls):
            return Failed(0, None)
        start = {one.name: self._of(one.name)[0] for one in required(self._cls) if self._of(one.name)}
        self._push({**start, **self._fixed}, (0, 0), 0)
        attempts, best, furthest = 0, (1, 0), None
        while self._queue and attempts < max_attempts and time.process_time() < deadline:
            entry = heapq.heappop(self._queue)
            attempts += 1
            text = self._text(entry.attempt)
            try:
                return Made(text, self._context.build(text))
            except Exception as error:
                rank, steps = self._rank(error, entry.steps)
                if rank < best:
                    best, furthest = rank, error
                for changed in itertools.islice(self._changes(error, entry.attempt), MAX_CHANGES):
                    self._push(changed, rank, steps)
        return Failed(attempts, furthest)

    def _text(self, attempt: Attempt) -> str:
        positional = [
            attempt[one.name]
            for one in self._parameters.values()
            if one.kind == one.POSITIONAL_ONLY and one.name in attempt
        ]
        named = [
            f"{name}={value}"
            for name, value in attempt.items()
            if name not in self._parameters or self._parameters[name].kind != inspect.Parameter.POSITIONAL_ONLY
        ]
        return f"{self._name}({', '.join([*positional, *named])})"

    def _push(self, attempt: dict[str, str], rank: tuple[int, int], steps: int) -> None:
        key = tuple(sorted(attempt.items()))
        if key not in self._seen:
            self._seen.add(key)
            heapq.heappush(self._queue, _Entry((*rank, next(self._order)), attempt, steps))

    def _of(self, name: str) -> list[str]:
        """The guesses for a parameter."""
        if name not in self._options:
            parameter = self._parameters.get(name) or inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            self._options[name] = options(
                self._cls, parameter, self._hints.get(name), self._usages.get(name, Usage()), self._context, self._depth
            ) or [an_int(name)]
        return self._options[name]

    # ---- what an error says

    def _rank(self, error: BaseException, steps: int) -> tuple[tuple[int, int], int]:
        line = 0
        for frame, number in _frames(error.__traceback__):
            if frame.f_code is self._code:
                line = number
        said = (type(error).__name__, message_of(error))
        if said not in self._errors:
            self._errors.add(said)
            steps += 1
        return (-line, -steps), steps

    def _changes(self, error: BaseException, attempt: dict[str, str]) -> Iterator[dict[str, str]]:
        """Other attempts, the most promising first."""
        message = message_of(error)
        yield from self._about_signature(message, attempt)
        suspects = self._suspects(error, message, attempt)
        for name in suspects:
            for text in self._answers(error, message, name, attempt.get(name)):
                if text != attempt.get(name):
                    yield {**attempt, name: text}
        if "divisible" in message or "divide" in message or "multiple of" in message:
            yield from self._dividing(attempt)
        for name in [*suspects, *attempt]:
            if name not in self._fixed:
                yield from self._next_option(name, attempt)

    def _about_signature(self, message: str, attempt: dict[str, str]) -> Iterator[dict[str, str]]:
        unexpected = _UNEXPECTED.search(message)
        if unexpected and unexpected[1] in attempt and unexpected[1] not in self._fixed:
            yield {name: text for name, text in attempt.items() if name != unexpected[1]}
        missing = _MISSING.search(message)
        if missing:
            names = [name for name in re.findall(r"'(\w+)'", missing[1]) if name not in attempt]
            if self._accepts_more or all(name in self._parameters for name in names):
                yield {**attempt, **{name: self._of(name)[0] for name in names}}

    def _suspects(self, error: BaseException, message: str, attempt: dict[str, str]) -> list[str]:
        """The arguments that an error is about: named in it, or what stands in the frame where it was raised."""
        found: dict[str, None] = {}
        for frame, line in reversed(list(_frames(error.__traceback__))):
            own = frame.f_code is self._code
            used = _names_at(frame, line)
            for name in used:
                if own and (name in attempt or name in self._parameters):
                    found[name] = None
                elif not own:
                    value = frame.f_locals.get(name, _NOTHING)
                    found.update(dict.fromkeys(self._same(value, attempt, name, error)))
        found.update({name: None for name in self._parameters if re.search(rf"\b{re.escape(name)}\b", message)})
        optional = [name for name in found if name in attempt or _may_be_none(error, self._parameters.get(name))]
        return [name for name in optional if name not in self._fixed and name not in ("self", "args", "kwargs")]

    def _same(self, value: Any, attempt: dict[str, str], name: str, error: BaseException) -> Iterator[str]:
        """Our arguments that became a local variable of a frame further in."""
        frames = [frame for frame, _ in _frames(error.__traceback__) if frame.f_code is self._code]
        if not frames or value is _NOTHING:
            return
        for ours in attempt:
            mine = frames[-1].f_locals.get(ours, _NOTHING)
            if mine is value and (ours == name or type(value) not in (int, bool, type(None))):
                yield ours

    def _answers(self, error: BaseException, message: str, name: str, text: str | None) -> Iterator[str]:
        """What an argument may be instead, by what is wrong with it."""
        text = text or self._of(name)[0]
        attribute = _NO_ATTRIBUTE.search(message)
        if attribute:
            wanted = attribute[1]
            if "types.SimpleNamespace(" in text:
                yield _with_field(text, f"{wanted}={self._field(wanted)}")
            yield from self._context.known(_module_class(), frozenset({wanted}))[:2]
        if isinstance(error, KeyError) and text.startswith("{") and error.args and isinstance(error.args[0], str):
            inner = text[1:-1].strip()
            yield "{" + (f"{inner}, " if inner else "") + f"{error.args[0]!r}: {self._field(error.args[0])}" + "}"
        unpack = _UNPACK.search(message)
        if unpack:
            one = _first_element(text)
            yield f"({', '.join([one] * int(unpack[1]))},)"
        if re.search(r"not iterable|no len\(\)|not subscriptable|must be (an iterable|a (list|tuple|seq))", message):
            yield f"({text}, {text})"
            yield f"[{text}, {text}, {text}, {text}]"
        if "index out of range" in message or "same length" in message or "len" in message.split():
            one = _first_element(text)
            for length in (4, 3, 5, 2, 1):
                yield f"[{', '.join([one] * length)}]"
        if "not callable" in message:
            yield "torch.nn.Identity"
            yield "torch.nn.Identity()"
        if "is not a Module subclass" in message or "not a module" in message.lower():
            yield "torch.nn.Identity()"
        if isinstance(error, (ValueError, KeyError, NotImplementedError, AssertionError, RuntimeError)):
            for one in _QUOTED.findall(message):
                if re.match(r"^['\"]", text) or text == "None":
                    yield repr(one)
        if re.search(r"unsupported operand|must be real number|integer is required|as an integer|an int", message):
            yield an_int(name)
        if "at least" in message or "greater" in message or "positive" in message:
            yield "2"
            yield "64"
        if "less" in message or "between" in message or "range" in message or "[0" in message:
            yield "0.5"
            yield "1"
            yield "0"

    def _field(self, name: str) -> str:
        """A value for a field of an object that the constructor reads."""
        return self._of(name)[0]

    def _dividing(self, attempt: dict[str, str]) -> Iterator[dict[str, str]]:
        """Numbers that divide each other in another way."""
        numbers = {name: text for name, text in attempt.items() if re.fullmatch(r"\d+", text)}
        small = {name for name in numbers if _GROUPS.search(name)}
        yield {**attempt, **dict.fromkeys(small, "1")}
        yield {**attempt, **dict.fromkeys(set(numbers) - small, "64")}
        yield {**attempt, **dict.fromkeys(small, "2"), **dict.fromkeys(set(numbers) - small, "48")}
        yield {**attempt, **dict.fromkeys(numbers, "8")}

    def _next_option(self, name: str, attempt: dict[str, str]) -> Iterator[dict[str, str]]:
        known = self._of(name)
        at = attempt.get(name)
        position = known.index(at) + 1 if at in known else 0
        for text in known[position : position + 2]:
            if text != at:
                yield {**attempt, name: text}


_NOTHING = object()


def _module_class() -> type:
    import torch

    return torch.nn.Module


def _may_be_none(error: BaseException, parameter: inspect.Parameter | None) -> bool:
    """Whether an argument that was left out is None, which the error may be about."""
    return parameter is not None and parameter.default is None and "None" in f"{error}"


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _names_at(frame: FrameType, line: int) -> Sequence[str]:
    """The names that stand on a line, those of variables of its frame."""
    import linecache

    text = linecache.getline(frame.f_code.co_filename, line)
    return [name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)) if name in frame.f_locals]


def _with_field(text: str, said: str) -> str:
    """The namespace in an expression with one more field."""
    before, _, after = text.partition("types.SimpleNamespace(")
    name = said.partition("=")[0]
    if re.search(rf"\b{name}=", after):
        return text
    return f"{before}types.SimpleNamespace({said}{', ' if after[:1] != ')' else ''}{after}"


def _first_element(text: str) -> str:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    if isinstance(tree, (ast.Tuple, ast.List)) and tree.elts:
        return ast.unparse(tree.elts[0])
    return text
