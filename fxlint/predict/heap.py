"""Mutable state during abstract interpretation: every write leaves a trail, so that a branch can be taken back.

A fork runs one branch, takes back what it wrote, runs the other one, and joins the two sets of changes. The cost is
that of the writes, not of the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator
from typing import TYPE_CHECKING, Any, Final

from fxlint.predict.values import (
    GLOBAL,
    UNKNOWN,
    Attributes,
    Const,
    Mapping,
    Part,
    Sequence,
    Union,
    Unknown,
    Value,
    extended,
    join,
    may_be_traced,
    parts_of,
    same,
    stands_for,
    together,
)

if TYPE_CHECKING:
    from fxlint.predict.machine import Guard

MISSING: Final = object()
_STATE: Final = "<state>"

Changes = dict[tuple[int, Hashable], tuple[Any, Hashable, Any]]


class Heap:
    """Writes to dictionaries (scopes, attributes) and to containers, with undo.

    ``_objects`` are the positions in the trail of writes to objects, as opposed to local variables. ``written`` are the
    objects that the trail has writes to, with the number of them.
    """

    __slots__ = ("_objects", "_trail", "written")

    def __init__(self) -> None:
        self._trail: list[tuple[Any, Hashable, Any]] = []
        self._objects: list[int] = []
        self.written: dict[int, tuple[Any, int]] = {}

    def mark(self) -> int:
        return len(self._trail)

    def put(self, target: dict[Any, Any], key: Hashable, value: Any) -> None:
        if type(target) is Attributes:
            self._note(target)
        self._trail.append((target, key, target.get(key, MISSING)))
        target[key] = value

    def drop(self, target: dict[Any, Any], key: Hashable) -> None:
        if key in target:
            if type(target) is Attributes:
                self._note(target)
            self._trail.append((target, key, target[key]))
            del target[key]

    def refill(self, target: Sequence | Mapping, items: Any, rest: Value | None) -> None:
        """Replace the whole content of a sequence or mapping; that of a ``__dict__`` is the attributes of its owner."""
        if isinstance(target, Mapping) and target.owner is not None:
            self._own(target, target.owner, items)
        self._note(target)
        self._trail.append((target, _STATE, (target.items, target.rest)))
        target.items, target.rest = items, rest

    def _own(self, target: Mapping, owner: Attributes, items: dict[Hashable, tuple[Value, Value]]) -> None:
        for key, (name, value) in items.items():
            if isinstance(name, Const) and (key not in target.items or target.items[key][1] is not value):
                self.put(owner, name.value, value)
        for key, (name, _) in target.items.items():
            if isinstance(name, Const) and key not in items:
                self.drop(owner, name.value)

    def _note(self, target: Any) -> None:
        self._objects.append(len(self._trail))
        known = self.written.get(id(target))
        self.written[id(target)] = (target, 1 if known is None else known[1] + 1)

    def changes(self, mark: int) -> Changes:
        """The current values of all that was written since ``mark``."""
        found: Changes = {}
        for target, key, _ in self._trail[mark:]:
            place = (id(target), key)
            if place not in found:
                found[place] = (target, key, _current(target, key))
        return found

    def rollback(self, mark: int) -> None:
        while self._objects and self._objects[-1] >= mark:
            target = self._trail[self._objects.pop()][0]
            writes = self.written[id(target)][1]
            if writes > 1:
                self.written[id(target)] = (target, writes - 1)
            else:
                del self.written[id(target)]
        while len(self._trail) > mark:
            target, key, old = self._trail.pop()
            _restore(target, key, old)

    def settle(self) -> None:
        """Take the present state as the one that differences are told from, except for objects that roots share."""
        self._objects = [position for position in self._objects if self._trail[position][0].born <= GLOBAL]
        self.written = {place: entry for place, entry in self.written.items() if entry[0].born <= GLOBAL}

    def apply(self, changes: Changes) -> None:
        for target, key, value in changes.values():
            self._write(target, key, value)

    def merge(
        self, first: Changes, second: Changes, likely_first: bool | None, sides: tuple[Guard, Guard] | None = None
    ) -> None:
        """Write the join of two sets of changes, both relative to the present state; ``sides`` are their conditions,
        where layers that only one of them has put into a list are to be there under its condition.

        What conditions had narrowed and the join has made whole again was not written to.
        """
        for place in first | second:
            target, key, _ = first.get(place) or second[place]
            base = _current(target, key)
            one = first[place][2] if place in first else base
            two = second[place][2] if place in second else base
            joined = _join_states(one, two, likely_first, sides)
            if not _is_whole_again(joined, base):
                self._write(target, key, joined)

    def differences(self, targets: Container[int]) -> tuple[tuple[Any, Hashable, Any], ...]:
        """What differs, of these objects (by identity), from the state before the trail: (object, key, value).

        Writes that a join has undone do not count.
        """
        return tuple(self._differences(0, lambda target: id(target) in targets))

    def changed_since(self, mark: int, born: int) -> bool:
        """Whether an object older than ``born`` differs from the state at ``mark``."""
        return any(True for _ in self._differences(mark, lambda target: bool(target.born < born)))

    def _differences(self, mark: int, concerned: Callable[[Any], bool]) -> Iterator[tuple[Any, Hashable, Any]]:
        before: dict[tuple[int, Hashable], tuple[Any, Any]] = {}
        for position in reversed(self._objects):
            if position < mark:
                break
            target, key, old = self._trail[position]
            if concerned(target):
                before[id(target), key] = (target, old)
        for (_, key), (target, old) in before.items():
            now = _current(target, key)
            if now is not old and not _alike(now, old):
                yield target, key, now

    def widen(self, mark: int) -> None:
        """Join what was written since ``mark`` with the state before, for a loop of unknown length.

        A constant that changed from one pass to the next is unknown: counters must not decide conditions.
        """
        before: dict[tuple[int, Hashable], Any] = {}
        for target, key, old in self._trail[mark:]:
            before.setdefault((id(target), key), old)
        for place, (target, key, now) in self.changes(mark).items():
            old = before[place]
            if old is MISSING or now is MISSING or old is now:
                continue
            if isinstance(old, Const) and isinstance(now, Const) and old.value is not None and now.value is not None:
                self._write(target, key, UNKNOWN)
            else:
                self._write(target, key, _join_states(now, old, None))

    def _write(self, target: Any, key: Hashable, value: Any) -> None:
        if key == _STATE and not isinstance(target, dict):
            self.refill(target, *value)
        elif value is MISSING:
            self.drop(target, key)
        else:
            self.put(target, key, value)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Value) and isinstance(other, Value):
        return same(one, other)
    return isinstance(one, tuple) and isinstance(other, tuple) and one[0] is other[0] and one[1] is other[1]


def _is_whole_again(joined: Any, base: Any) -> bool:
    """Whether a join has the options that were there before, in an order that agrees with what is likely."""
    if isinstance(joined, Unknown) and isinstance(base, Unknown):
        return same(joined, base)
    if not (isinstance(joined, Union) and isinstance(base, Union)) or may_be_traced(base):
        return False  # a Proxy has come by another way since
    return (
        len(joined.options) == len(base.options)
        and base.likely in (0, joined.likely)
        and _covers(base.options[: joined.likely], joined.options[: joined.likely])
        and _covers(base.options, joined.options)
    )


def _covers(values: list[Value], others: list[Value]) -> bool:
    return all(any(same(value, other) for value in values) for other in others)


def _current(target: Any, key: Hashable) -> Any:
    if isinstance(target, dict):
        return target.get(key, MISSING)
    return (target.items, target.rest)


def _restore(target: Any, key: Hashable, old: Any) -> None:
    if not isinstance(target, dict):
        target.items, target.rest = old
    elif old is MISSING:
        target.pop(key, None)
    else:
        target[key] = old


def _join_states(one: Any, two: Any, likely_first: bool | None, sides: tuple[Guard, Guard] | None = None) -> Any:
    if one is two or two is MISSING:
        return one
    if one is MISSING:
        return two
    if isinstance(one, tuple):
        if isinstance(one[0], dict):
            return _join_mappings(one, two)
        return _join_sequences(one, two, likely_first, sides)
    return join(one, two, None if likely_first is None else one if likely_first else two)


def _join_sequences(
    one: Any, two: Any, likely_first: bool | None, sides: tuple[Guard, Guard] | None
) -> tuple[list[Value], Value | None]:
    shorter = min(len(one[0]), len(two[0]))
    items = [join(a, b) for a, b in zip(one[0][:shorter], two[0][:shorter], strict=True)]
    first, second = (extended(None, [*map(Part, content[shorter:]), *parts_of(rest)]) for content, rest in (one, two))
    if sides is None or first is second:
        return items, extended(first, parts_of(second))
    return items, _alternatives(parts_of(first), parts_of(second), likely_first, sides)


def _alternatives(
    first: tuple[Part, ...], second: tuple[Part, ...], likely_first: bool | None, sides: tuple[Guard, Guard]
) -> Value | None:
    """What a list has beyond its known items after a condition: what only one side has put there is conditional."""
    conditions = ((sides[0], likely_first is False), (sides[1], likely_first is True))
    found: list[Part] = []
    for part in first:
        other = next((one for one in second if stands_for(one, part)), None)
        known = Part(part.value, (conditions[0], *part.conditions)) if other is None else max(part, other, key=_depth)
        found.append(known)
    found += [
        Part(part.value, (conditions[1], *part.conditions))
        for part in second
        if not any(stands_for(one, part) for one in first)
    ]
    return together(found) if found else None


def _depth(part: Part) -> int:
    return len(part.conditions)


def _join_mappings(one: Any, two: Any) -> tuple[dict[Hashable, tuple[Value, Value]], Value | None]:
    items = dict(one[0])
    for key, (name, value) in two[0].items():
        items[key] = (name, join(items[key][1], value)) if key in items else (name, value)
    rest = one[1] if two[1] is None else two[1] if one[1] is None else join(one[1], two[1])
    return items, rest
