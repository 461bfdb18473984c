"""Summaries of calls, so that twelve equal blocks, or a helper that fifty models use, are interpreted once.

A summary may be used again where the function would see the same: equal arguments, the same state of the objects
around it, and no handler of a try statement that could catch what it throws. It holds the result and the events, with
guards, call chain and provenance relative to the call; using it puts them into the place of the new call.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fxlint.predict.values import (
    Bound,
    Class,
    Const,
    Decorated,
    Descriptor,
    External,
    Function,
    Instance,
    Mapping,
    Namespace,
    Origin,
    Partial,
    Sequence,
    Slice,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from fxlint.predict.machine import Event, Machine

MAX_KEYED_DEPTH: Final = 4
MAX_KEYED_ITEMS: Final = 40


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call did. ``inputs`` are the origins of its traced arguments; ``kept`` keeps keyed objects alive."""

    result: Value
    events: tuple[Event, ...]
    failed: bool
    inputs: tuple[Origin | None, ...]
    kept: tuple[Value, ...]


class Unkeyable(Exception):
    """A value that is not known well enough to tell whether another one equals it."""


def key(values: Iterable[Value]) -> Hashable | None:
    """Equal for values that the interpreter cannot tell apart, None where that cannot be said."""
    try:
        return tuple(_key(value, MAX_KEYED_DEPTH) for value in values)
    except Unkeyable:
        return None


def _key(value: Value, depth: int) -> Hashable:
    if isinstance(value, Traced):
        origin = value.origin
        kind = origin.first().kind if origin is not None else ""
        return ("T", value.default is not None, kind == "parameter", value.assumed)
    if isinstance(value, Const):
        return (type(value.value).__name__, value.value)
    if isinstance(value, Unknown):
        likely = value.likely
        return ("U", value.maybe, value.truth, value.is_none, None if likely is None else _likely_key(likely, depth))
    if isinstance(value, Tensor):
        return ("X", value.parameter)
    if isinstance(value, External):
        return ("E", value.name, value.patched)
    if isinstance(value, (Instance, Function, Class, Namespace, Descriptor, Decorated)):
        return id(value)
    if depth == 0:
        raise Unkeyable
    if isinstance(value, Sequence):
        return _sequence_key(value, depth)
    if isinstance(value, Mapping):
        if len(value.items) > MAX_KEYED_ITEMS:
            raise Unkeyable
        items = tuple((name, _key(pair[1], depth - 1)) for name, pair in value.items.items())
        return ("M", items, None if value.rest is None else _key(value.rest, depth - 1))
    if isinstance(value, Slice):
        return ("S", *(_key(part, depth - 1) for part in value.parts()))
    if isinstance(value, Union):
        return ("|", *(_key(option, depth - 1) for option in value.options))
    if isinstance(value, Bound):
        return ("B", _key(value.function, depth - 1), _key(value.receiver, depth - 1))
    if isinstance(value, Partial):
        words = tuple((name, _key(item, depth - 1)) for name, item in value.keywords.items())
        return ("P", _key(value.function, depth - 1), *(_key(item, depth - 1) for item in value.args), words)
    if isinstance(value, Super):
        return ("super", id(value.after), _key(value.receiver, depth - 1))
    raise Unkeyable


def _likely_key(value: Value, depth: int) -> Hashable:
    return _key(value, depth - 1) if depth else id(value)


def _sequence_key(value: Sequence, depth: int) -> Hashable:
    if len(value.items) > MAX_KEYED_ITEMS:
        raise Unkeyable
    items = tuple(_key(item, depth - 1) for item in value.items)
    rest = None if value.rest is None else _key(value.rest, depth - 1)
    return (value.kind, items, rest, value.certain is not None)


def origins(values: Iterable[Value], depth: int = MAX_KEYED_DEPTH) -> tuple[Origin | None, ...]:
    """The origins of the traced values in arguments, in an order that equal keys share."""
    found: list[Origin | None] = []
    for value in values:
        if isinstance(value, Traced):
            found.append(value.origin)
        elif depth and isinstance(value, Sequence):
            found.extend(origins(value.members(), depth - 1))
        elif depth and isinstance(value, Mapping):
            found.extend(origins((pair[1] for pair in value.items.values()), depth - 1))
        elif depth and isinstance(value, Slice):
            found.extend(origins(value.parts(), depth - 1))
    return tuple(found)


class Relocation:
    """Provenance chains of a summary, attached to the arguments of another call."""

    def __init__(self, old: tuple[Origin | None, ...], new: tuple[Origin | None, ...]) -> None:
        self._known: dict[int, Origin | None] = {
            id(one): other for one, other in zip(old, new, strict=False) if one is not None
        }

    def origin(self, origin: Origin | None) -> Origin | None:
        if origin is None:
            return None
        place = id(origin)
        if place not in self._known:
            parent = self.origin(origin.parent)
            if parent is origin.parent:
                self._known[place] = origin
            else:
                moved = Origin(origin.source, origin.node, parent, origin.kind, origin.name, origin.assumed)
                self._known[place] = moved
        return self._known[place]

    def value(self, value: Value, depth: int = MAX_KEYED_DEPTH) -> Value:
        """A copy whose mutable parts belong to the new call alone."""
        if isinstance(value, Traced):
            origin = self.origin(value.origin)
            return value if origin is value.origin else Traced(origin, value.default)
        if isinstance(value, Sequence) and depth:
            items = [self.value(item, depth - 1) for item in value.items]
            rest = None if value.rest is None else self.value(value.rest, depth - 1)
            return Sequence(value.kind, items, rest, value.fields, value.certain)
        if isinstance(value, Mapping) and depth:
            entries = {name: (pair[0], self.value(pair[1], depth - 1)) for name, pair in value.items.items()}
            return Mapping(entries, None if value.rest is None else self.value(value.rest, depth - 1))
        return value


def replay(vm: Machine, summary: Summary, call: ast.AST, values: list[Value]) -> Value:
    """The effect of the summarised call at ``call`` with these arguments."""
    vm.steps += 1
    relocation = Relocation(summary.inputs, origins(values))
    chain, guards = vm.chain(call), tuple(vm.guards)
    for event in summary.events:
        vm.record(
            replace(
                event,
                frames=(*chain, *event.frames),
                guards=(*guards, *event.guards),
                origin=relocation.origin(event.origin),
                first=event.first and not vm.failed,
                likely=event.likely and not vm.unlikely,
            )
        )
    vm.failed = vm.failed or summary.failed
    return relocation.value(summary.result)
