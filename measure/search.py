"""Find values with which a call works for real, and lay arguments out as a call."""

from __future__ import annotations

import contextlib
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from signatures import EMPTY, Param
from values import ARRAY, ROW, TENSOR, VARIADIC, candidates

Values = dict[str, Any]
Call = Callable[[Sequence[Any], Mapping[str, Any]], Any]

TRIES = 1500
SECONDS = 6.0  # for calls that compile something; all others end by the number of tries
MISSING: Final = object()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def accepts(call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        with quiet():
            call(args, kwargs)
    except BaseException:
        return False
    return True


def arrange(
    params: Sequence[Param], values: Mapping[str, Any], replaced: Mapping[str, Any]
) -> tuple[list[Any], Values]:
    """Lay values out as a call, ``replaced`` in place of some: positionally as far as possible, the rest by keyword.

    The value of a variadic parameter is the tuple of its arguments; another value replaces the first of them.
    """
    merged = {**values, **replaced}
    args: list[Any] = []
    kwargs: Values = {}
    gap = False
    for p in params:
        if p.kind == "*":
            given = list(values.get(p.name) or ())
            if p.name in replaced:
                value = replaced[p.name]
                given = list(value) if isinstance(value, tuple) else [value, *given[1:]]
            args += [] if gap else given
            gap = True
        elif p.kind == "**":
            continue
        elif p.name not in merged:
            gap = True
        elif p.kind == "k" or (gap and p.kind == "b"):
            kwargs[p.name] = merged[p.name]
        else:
            skipped = [
                q.default for q in params if gap and q.name not in merged and q.kind == "p" and q.default is not EMPTY
            ]
            args += [*skipped, merged[p.name]]
            gap = False
    return args, kwargs


def search(call: Call, params: Sequence[Param], library: str) -> Values | None:
    """Values for the required parameters, the variadic one and, where the call needs one, an optional one."""
    variadic = next((i for i, p in enumerate(params) if p.kind == "*"), 0)  # what stands before it cannot be left out
    needed = [p for i, p in enumerate(params) if p.required or p.kind == "*" or i < variadic]
    found = _search(call, needed, library, TRIES)
    for p in [p for p in params if p.kind in ("b", "p", "k") and p not in needed][:4] if found is None else ():
        found = _search(call, [q for q in params if q is p or q in needed], library, 200)
        if found is not None:
            break
    return found


def _search(call: Call, params: Sequence[Param], library: str, tries: int) -> Values | None:
    deadline = time.monotonic() + SECONDS
    longest = {0: 1, 1: 16, 2: 16, 3: 9}.get(len(params), 5)
    choices = [_variadic(p, library) if p.kind == "*" else candidates(p, library)[:longest] for p in params]
    orders = itertools.islice(itertools.product(*(range(len(choice)) for choice in choices)), 20000)
    # first the same place of every list, since those values are made to fit each other
    picks = sorted(orders, key=lambda order: (len(set(order)) > 1, sum(order), max(order, default=0)))
    for order in picks[:tries]:
        values = {p.name: choice[place] for p, choice, place in zip(params, choices, order, strict=True)}
        if accepts(call, *arrange(params, values, {})):
            return values
        if time.monotonic() > deadline:
            return None
    return None


def _variadic(p: Param, library: str) -> list[tuple[Any, ...]]:
    offered = candidates(p, library)[:8]
    return [*((v, v) for v in offered), *((v,) for v in offered), (), *VARIADIC[library]]


def optional_value(call: Call, params: Sequence[Param], values: Values, p: Param, library: str) -> Any:
    """A value that an optional parameter accepts, or MISSING."""
    for candidate in candidates(p, library)[:24]:
        if candidate is not None and accepts(call, *arrange(params, values, {p.name: candidate})):
            return candidate
    return MISSING


def sequence_value(call: Call, params: Sequence[Param], values: Values, current: Any, p: Param, library: str) -> Any:
    """A list or tuple that a parameter accepts, to put a traced element into; or MISSING.

    For a variadic parameter it is all the arguments, with a sequence in the place of the first or of all others:
    ``einsum("ij,jk", [x, y])``.
    """
    variadic = p.kind == "*"
    known = [v for v in (MISSING if variadic else current, *candidates(p, library)) if type(v) in (list, tuple) and v]
    known += [(1, 0), (0, 1), [TENSOR, TENSOR], (1, 1), (2, 2), [ROW, ROW], [1, 2, 3], (4, 4)]
    known += [[1.0, 2.0], [ARRAY, ARRAY]] if library == "numpy" else []
    tried = known[:28]
    if variadic and current:
        first, *others = current
        tried = [*((v, *others) for v in tried), (first, others)]
    return next((v for v in tried if accepts(call, *arrange(params, values, {p.name: v}))), MISSING)


def hold(sequence: Any, traced: Any) -> Any:
    """The sequence with its first element traced, one level deeper where an element is a sequence itself."""
    nested = next((place for place, value in enumerate(sequence) if type(value) in (list, tuple) and value), None)
    place = nested or 0
    inner = traced if nested is None else hold(sequence[place], traced)
    return type(sequence)([*sequence[:place], inner, *sequence[place + 1 :]])
