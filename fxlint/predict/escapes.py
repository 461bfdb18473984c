"""Lists and dictionaries that code gets hold of which is not interpreted: what they hold from then on is not known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fxlint.predict import memo
from fxlint.predict.machine import Machine
from fxlint.predict.values import (
    MAYBE,
    UNKNOWN,
    Bound,
    Function,
    Mapping,
    Partial,
    Sequence,
    Union,
    Value,
    holds_traced,
    join_all,
)

_READERS: Final = frozenset(
    "torch numpy math builtins itertools collections functools copy json logging warnings inspect typing".split()
)
"""Libraries whose functions leave the containers that they are given as they are; functions they call all the same."""


def given(vm: Machine, values: Iterable[Value], library: str = "") -> None:
    """These are the arguments of a callable that is not interpreted, of a function of this library."""
    if vm.tracing:
        reads = library.partition(".")[0] in _READERS
        for value in values:
            _escape(vm, value, reads)


def _escape(vm: Machine, value: Value, reads: bool, depth: int = 3) -> None:
    """``reads``: it is only looked at, but functions in it are called."""
    if isinstance(value, Bound):
        _escape(vm, value.receiver, False, depth)
    elif isinstance(value, Function):
        for captured in memo.captured(value):
            if not isinstance(captured, Function):
                _escape(vm, captured, False, 0)
    elif isinstance(value, Partial):
        given(vm, (value.function, *value.args, *value.keywords.values()))
    elif isinstance(value, Union):
        for option in value.options:
            _escape(vm, option, reads, depth)
    elif isinstance(value, Sequence):
        for member in value.members() if depth else ():
            _escape(vm, member, reads, depth - 1)
        if value.kind in {"list", "set"} and not reads:
            vm.heap.refill(value, [], _anything(value, value.members()))
    elif isinstance(value, Mapping):
        for entry in value.entries() if depth else ():
            _escape(vm, entry, reads, depth - 1)
        if not reads:
            vm.heap.refill(value, {}, _anything(value, value.entries()))


def _anything(container: Sequence | Mapping, members: Iterable[Value]) -> Value:
    return join_all([*members, UNKNOWN if holds_traced(container) else MAYBE])
