"""Results as JSON and back. A dataclass is the list of its fields: their names are known to both sides."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Read = Callable[[Any], Any]

_PLAIN = frozenset({str, int, float, bool, type(None)})


def encoded(value: Any) -> Any:
    """Lists, dictionaries, texts, numbers and None for a dataclass of these, of tuples, sets and other dataclasses."""
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    if kind in (tuple, list):
        return [encoded(one) for one in value]
    if is_dataclass(value):
        return [encoded(getattr(value, name)) for name in _names(kind)]
    if isinstance(value, AbstractSet):
        return sorted(encoded(one) for one in value)
    return {name: encoded(one) for name, one in value.items()} if isinstance(value, Mapping) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


@cache
def reader(kind: Any) -> Read | None:
    """What makes a value of the type of what ``encoded`` made of it; None where that is the value itself.

    The function raises TypeError or ValueError for what cannot be one. What may be anything is JSON already.
    """
    origin = get_origin(kind)
    if origin is tuple:
        return _tuple(get_args(kind))
    if origin is dict:
        return _dictionary(get_args(kind)[1])
    if origin in (Union, types.UnionType):
        return _optional(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _fields(kind)
    if origin is Literal or kind in (str, int, float, bool, Any):
        return None
    raise TypeError(f"{kind} has no JSON form")


def _tuple(kinds: tuple[Any, ...]) -> Read:
    if kinds[1:] == (...,):
        one = reader(kinds[0])
        return tuple if one is None else lambda rows: tuple([one(row) for row in rows])
    readers = [reader(kind) or _as_it_is for kind in kinds]
    return lambda rows: tuple(read(row) for read, row in zip(readers, rows, strict=True))


def _dictionary(kind: Any) -> Read | None:
    one = reader(kind)
    return None if one is None else lambda table: {name: one(value) for name, value in table.items()}


def _optional(kind: Any) -> Read | None:
    (inner,) = (one for one in get_args(kind) if one is not type(None))
    one = reader(inner)
    return None if one is None else lambda value: None if value is None else one(value)


def _fields(kind: type) -> Read:
    hints = get_type_hints(kind)
    readers = [(number, reader(hints[one.name])) for number, one in enumerate(fields(kind))]
    deep = [(number, read) for number, read in readers if read is not None]
    if not deep:
        return lambda row: kind(*row)

    def made(row: Any) -> Any:
        values = [*row]
        for number, read in deep:
            values[number] = read(values[number])
        return kind(*values)

    return made


def _as_it_is(value: Any) -> Any:
    return value
