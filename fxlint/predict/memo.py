"""Summaries of calls, so that twelve equal blocks, or a helper that fifty models use, are interpreted once.

A summary may be used again where the function would see the same: equal arguments, the same state of the objects
around it, and where it throws anything no handler of a try statement. It holds the result and the events, with
guards, call chain and provenance relative to the call; using it puts them into the place of the new call.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fxlint.predict.values import (
    GLOBAL,
    Attributes,
    Bound,
    Class,
    Const,
    Decorated,
    Descriptor,
    External,
    Function,
    Globals,
    Instance,
    Mapping,
    Namespace,
    Origin,
    Partial,
    Sequence,
    Several,
    Slice,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    clock,
    is_answer,
    together,
)
from fxlint.project.tree import kept, walk

if TYPE_CHECKING:
    from fxlint.predict.machine import Event, Machine
    from fxlint.predict.scopes import Scope

MAX_KEYED_DEPTH: Final = 4
MAX_KEYED_ITEMS: Final = 40


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call did. ``inputs`` are the origins of its traced arguments; what it made is younger than ``born``.

    ``throws``: where a handler of a try statement is around the call, it may do something else. ``kept`` keeps objects
    alive whose identity stands in the key.
    """

    result: Value
    events: tuple[Event, ...]
    failed: bool
    throws: bool
    inputs: tuple[Origin | None, ...]
    born: int
    kept: tuple[object, ...]


_BY_IDENTITY: Final = frozenset({Instance, Function, Class, Namespace, Descriptor, Decorated})


class Unkeyable(Exception):
    """A value that is not known well enough to tell whether another one equals it."""


def key(values: Iterable[Value]) -> Hashable | None:
    """Equal for values that the interpreter cannot tell apart, None where that cannot be said."""
    try:
        return tuple([_key(value, MAX_KEYED_DEPTH) for value in values])
    except Unkeyable:
        return None


def _key(value: Value, depth: int) -> Hashable:
    kind = type(value)
    if kind is Const:
        return (type(value.value).__name__, value.value, is_answer(value))  # type: ignore[attr-defined]
    if kind in _BY_IDENTITY:
        return id(value)
    if isinstance(value, Unknown):
        likely = value.likely
        told = (value.maybe, value.truth, value.is_none, value.answered)
        return ("U", *told, None if likely is None else _likely_key(likely, depth))
    if isinstance(value, Traced):
        origin = value.origin
        first = origin.first().kind if origin is not None else ""
        return ("T", value.default is not None, first == "parameter", value.is_parameter, value.assumed)
    if isinstance(value, Tensor):
        return ("X", value.parameter, value.held, value.taken)
    if isinstance(value, External):
        return ("E", value.name, value.patched)
    if isinstance(value, Globals):
        return ("G", id(value.module))
    if depth == 0:
        raise Unkeyable
    if isinstance(value, Sequence):
        return _sequence_key(value, depth)
    if isinstance(value, Mapping):
        if len(value.items) > MAX_KEYED_ITEMS:
            raise Unkeyable
        items = tuple([(name, _key(pair[1], depth - 1)) for name, pair in value.items.items()])
        return ("M", items, None if value.rest is None else _key(value.rest, depth - 1))
    if isinstance(value, Slice):
        return ("S", *(_key(part, depth - 1) for part in value.parts()))
    if isinstance(value, Several):
        conditions = (tuple((id(g.node), g.positive) for g, _ in part.conditions) for part in value.parts)
        return ("+", *conditions, *(_key(part.value, depth - 1) for part in value.parts))
    if isinstance(value, Union):
        return ("|", value.likely, *(_key(option, depth - 1) for option in value.options))
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
    return (value.kind, items, rest, value.fields, value.certain is not None, value.optional)


# -- the state around a call ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """The variables around a function, and how the objects that it can reach differ from what the root started with.

    ``kept`` as in Summary.
    """

    key: Hashable
    kept: tuple[object, ...]


_UNCHANGED: Final = State(((), ()), ())


def visible(vm: Machine, function: Function, values: list[Value]) -> State:
    """The state of the objects that were written to and that the function can reach.

    Objects are reached through arguments, the scopes around the function, and what is global.
    """
    around = tuple(captured(function))
    if not vm.heap.written:
        return State((tuple(map(id, around)), ()), around) if around else _UNCHANGED
    reached = _Reached(vm.heap.written)
    for target, _ in vm.heap.written.values():
        if target.born == GLOBAL:
            reached.object(target)
    for value in values:
        reached.value(value, keyed=True)
    reached.scopes(function.scope)
    changes = vm.heap.differences(reached.found) if reached.found else ()
    written = tuple((id(target), name, _identity(now)) for target, name, now in changes)
    return State((tuple(map(id, around)), written), (*around, *changes))


def captured(function: Function) -> Iterator[Value]:
    """The values of the variables around a function that it reads."""
    scope: Scope | None = function.scope
    while scope is not None:
        if scope.vars:
            names = _names(function.node)
            yield from (value for name, value in scope.vars.items() if name in names)
        scope = scope.parent


@kept
def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(part.id for part in walk(node) if isinstance(part, ast.Name))


def _identity(now: object) -> Hashable:
    if isinstance(now, Const):
        return (type(now.value).__name__, now.value)
    return id(now[0]) if isinstance(now, tuple) else id(now)  # of a container: its items, which are never changed


class _Reached:
    """Walks from values to the objects behind them, until all that were written to are found."""

    def __init__(self, written: dict[int, tuple[Any, int]]) -> None:
        self.found: set[int] = set()
        self._written = written
        self._seen: set[int] = set()

    def value(self, value: Value, keyed: bool = False) -> None:
        """``keyed`` values are told apart by their content anyway."""
        if isinstance(value, (Const, Traced, External, Tensor)):
            return
        if isinstance(value, Unknown):
            if value.likely is not None:
                self.value(value.likely, keyed)
        elif isinstance(value, Instance):
            self.object(value.attributes)
            if value.children is not None:
                self.object(value.children)
        elif isinstance(value, (Sequence, Mapping)):
            if keyed:
                self.content(value, keyed)
            else:
                self.object(value)
        elif isinstance(value, Function):
            self.scopes(value.scope)
        else:
            for part in _parts(value):
                self.value(part, keyed)

    def scopes(self, scope: Scope | None) -> None:
        while scope is not None and id(scope) not in self._seen:
            self._seen.add(id(scope))
            for value in scope.vars.values():
                self.value(value)
            scope = scope.parent

    def content(self, target: Attributes | Sequence | Mapping, keyed: bool = False) -> None:
        if isinstance(target, Attributes):
            values: Iterable[Value] = target.values()
        else:
            values = target.members() if isinstance(target, Sequence) else target.entries()
        for value in values:
            self.value(value, keyed)

    def object(self, target: Attributes | Sequence | Mapping) -> None:
        if id(target) in self._seen or len(self.found) == len(self._written):
            return
        self._seen.add(id(target))
        if id(target) in self._written:
            self.found.add(id(target))
        self.content(target)


def _parts(value: Value) -> Iterable[Value]:
    if isinstance(value, Union):
        return value.options
    if isinstance(value, Bound):
        return (value.function, value.receiver)
    if isinstance(value, Partial):
        return (value.function, *value.args, *value.keywords.values())
    if isinstance(value, Slice):
        return value.parts()
    if isinstance(value, Super):
        return (value.receiver,)
    if isinstance(value, (Decorated, Descriptor)):
        return (value.function,)
    return ()


# -- using a summary --------------------------------------------------------------------------------------------------


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


_UNMOVED: Final = (Const, Unknown, Tensor, External)
"""Values that hold nothing that a call could have made, and no provenance."""


class Relocation:
    """What a call made and where it came from, put into the place of another call with equal arguments."""

    def __init__(self, born: int, old: tuple[Origin | None, ...], new: tuple[Origin | None, ...]) -> None:
        self._born = born
        self._copies: dict[int, Value] = {}
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

    def value(self, value: Value) -> Value:
        """A copy whose mutable parts belong to the new call alone. Objects that the call did not make are the same."""
        if isinstance(value, Traced):
            origin = self.origin(value.origin)
            return value if origin is value.origin else Traced(origin, value.default)
        if isinstance(value, Several):
            return together(replace(part, value=self.value(part.value)) for part in value.parts)
        if isinstance(value, Union):
            return Union([self.value(option) for option in value.options], likely=value.likely)
        if isinstance(value, (Sequence, Mapping)) or (
            isinstance(value, Instance) and value.attributes.born > self._born
        ):
            if id(value) not in self._copies:
                self._copy(value)
            return self._copies[id(value)]
        return value

    def _copy(self, value: Sequence | Mapping | Instance) -> None:
        """Copies refer to each other as what they are copies of does."""
        if isinstance(value, Instance):
            made = self._copies[id(value)] = replace(value, attributes=Attributes())
            made.attributes.update((name, self.value(held)) for name, held in value.attributes.items())
            children = None if value.children is None else self.value(value.children)
            assert children is None or isinstance(children, (Sequence, Mapping))
            made.children = children
        elif isinstance(value, Sequence):
            copy = self._copies[id(value)] = replace(value, items=[], born=clock())
            copy.items.extend(self.value(item) for item in value.items)
            copy.rest = None if value.rest is None else self.value(value.rest)
        else:
            entries = self._copies[id(value)] = replace(value, items={}, born=clock())
            entries.items.update((name, (key, self.value(item))) for name, (key, item) in value.items.items())
            entries.rest = None if value.rest is None else self.value(value.rest)


def snapshot(value: Value, born: int) -> Value:
    """The value of a call as it is now: what the caller does to it, or takes back, does not change the copy."""
    return value if isinstance(value, _UNMOVED) else Relocation(born, (), ()).value(value)


def replay(vm: Machine, summary: Summary, call: ast.AST, values: list[Value]) -> Value:
    """The effect of the summarised call at ``call`` with these arguments."""
    vm.steps += 1
    vm.thrown += summary.throws
    vm.failed, failed = vm.failed or summary.failed, vm.failed
    if not summary.events and isinstance(summary.result, _UNMOVED):
        return summary.result
    relocation = Relocation(summary.born, summary.inputs, origins(values))
    chain, guards = vm.chain(call), tuple(vm.guards)
    for event in summary.events:
        vm.record(
            replace(
                event,
                frames=(*chain, *event.frames),
                guards=(*guards, *event.guards),
                origin=relocation.origin(event.origin),
                first=event.first and not failed,
                likely=event.likely and not vm.unlikely,
            )
        )
    return relocation.value(summary.result)
