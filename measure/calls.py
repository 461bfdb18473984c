"""Measure what the stock tracer does with calls whose arguments are traced, and write the table.

    python measure/calls.py --out fxlint/predict/data/calls.json [--only PREFIX ...] [--jobs 2]

Every callable is measured in a process of its own with a time limit. The release of the torch that runs this script is
replaced in the table; the other releases stay. README.md in this folder documents the method and the format.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import operations
import probe
import signatures
import table
import torch
from forks import in_forks
from probe import Context, Fresh, Job, Outcome, Traced
from search import MISSING, Values, accepts, arrange, hold, optional_value, quiet, search, sequence_value
from signatures import Param
from targets import callables, library_of, resolve
from values import TENSOR, TENSORS, candidates

MOST_PARAMETERS = 16
PREFIX = {"b": "", "p": "/", "k": "=", "*": "*", "**": "**"}
RETURNED_CALLABLES = ("function", "other", "context")

Slot = tuple[Any, ...]


@dataclass
class Variant:
    """The outcomes for one signature. Items are ``(index of the parameter, mode)``, mode t traced or c contains."""

    params: tuple[Param, ...]
    plain: Outcome | None = None
    single: dict[tuple[int, str], Outcome] = field(default_factory=dict)
    keyword: dict[int, Outcome] = field(default_factory=dict)
    pairs: dict[tuple[int, str, int, str], Outcome] = field(default_factory=dict)
    sizes: dict[int, Outcome] = field(default_factory=dict)
    sizes_start: int = 0


@dataclass(frozen=True)
class Callee:
    """A callable under measurement: how it is called for real, and how it is found while tracing.

    ``owner`` is the real tensor whose method it is, in the mode ``const``; ``params`` leave self out then.
    """

    name: str
    mode: str
    function: Any
    params: tuple[Param, ...]
    owner: Fresh | None = None

    @property
    def library(self) -> str:
        return library_of(self.name)

    def bound(self) -> Any:
        if self.owner is None:
            return self.function
        return getattr(self.owner.make(), self.name.rpartition(".")[2])

    def real(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.bound()(*probe.fill(list(args), ()), **probe.fill(dict(kwargs), ()))

    def late(self) -> Any:
        """As code sees it while tracing: through its module, or bound before the tracer patched anything."""
        return self.bound() if self.mode in ("const", "unpatched") else resolve(self.name)


@dataclass(frozen=True)
class Sound:
    """Values with which the call works for real; ``works`` is False when there are only guesses."""

    works: bool
    values: Values
    optional: Values
    sequences: Values


@dataclass(frozen=True)
class Attempt:
    """One call to make, the place of its outcome in the Variant, and the parameter that is traced."""

    slot: Slot
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    param: Param | None
    trusted: bool


def measure(name: str) -> list[Variant]:
    """All variants of one callable; empty when nothing could be measured."""
    base, _, mode = name.partition("@")
    if base.endswith("()"):
        base = base.removesuffix("()")
        found = [
            _measure_returned(base, resolve(base), params) for params in signatures.signatures(base, resolve(base))
        ]
    else:
        function = resolve(base)
        found = [_measure_signature(base, mode, function, params) for params in signatures.signatures(base, function)]
    return _distinct([variant for variant in found if variant is not None and (variant.single or variant.plain)])


def _measure_signature(name: str, mode: str, function: Any, params: tuple[Param, ...]) -> Variant | None:
    shown = (*params[:MOST_PARAMETERS], *(p for p in params[MOST_PARAMETERS:] if p.kind == "**"))
    callee = Callee(name, mode, function, shown)
    if mode == "const":
        if not shown:
            return None
        owners = [Callee(name, mode, function, shown[1:], tensor) for tensor in TENSORS]
        callee = next((c for c in owners if search(c.real, c.params, c.library) is not None), owners[0])
    sound = _sound(callee)
    attempts = list(_attempts(callee, sound))
    factory = sound.works and _is_factory(callee, sound)
    about = [_context(callee, sound, factory, attempt) for attempt in attempts]
    with quiet():
        jobs = [Job(callee.late, attempt.args, attempt.kwargs) for attempt in attempts]
        outcomes = probe.run(jobs, about, autowrap=mode != "unpatched")
    variant = Variant(callee.params)
    for attempt, outcome in zip(attempts, outcomes, strict=True):
        # without a call that works for real, a failure may be the fault of the other arguments
        if attempt.trusted or outcome[0] == "node":
            _keep(variant, attempt.slot, outcome)
    return variant


def _sound(callee: Callee) -> Sound:
    found = search(callee.real, callee.params, callee.library)
    if found is None:
        guesses = {p.name: candidates(p, callee.library)[0] for p in callee.params if p.required}
        sequences = {p.name: (TENSOR, TENSOR) for p in callee.params if "[" in p.type}
        return Sound(False, guesses, {}, sequences)
    optional = {
        p.name: optional_value(callee.real, callee.params, found, p, callee.library)
        for p in callee.params
        if p.kind not in ("*", "**") and not p.required and p.name not in found
    }
    known = {**optional, **found}
    sequences = {
        p.name: sequence_value(
            callee.real,
            callee.params,
            found,
            known.get(p.name, () if p.kind == "*" else MISSING),
            p,
            callee.library,
        )
        for p in callee.params
        if p.kind != "**"
    }
    return Sound(True, found, _present(optional), _present(sequences))


def _present(values: Values) -> Values:
    return {name: value for name, value in values.items() if value is not MISSING}


def _attempts(callee: Callee, sound: Sound) -> Iterator[Attempt]:
    """Every call to make: nothing traced, each item alone, by keyword, two items together, sizes given separately."""
    params, values = callee.params, sound.values
    if sound.works:
        yield _attempt(("plain",), params, values, {}, None, True)
    items = list(_items(params, sound))
    for index, how in items:
        p = params[index]
        trusted = sound.works and (p.name in values or p.name in sound.optional or p.kind == "*")
        yield _attempt(("single", index, how), params, values, {p.name: _traced(sound, p, how, 0)}, p, trusted)
    yield from _by_keyword(callee, sound)
    for (i, how), (j, other) in itertools.combinations(items, 2):
        if i == j or (i > 2 and len(items) > 6):
            continue
        both = {
            params[i].name: _traced(sound, params[i], how, 0),
            params[j].name: _traced(sound, params[j], other, 1),
        }
        yield _attempt(("pair", i, how, j, other), params, values, both, params[j], sound.works)
    yield from _separate_sizes(callee, sound)


def _attempt(
    slot: Slot, params: Sequence[Param], values: Values, replaced: Values, param: Param | None, trusted: bool
) -> Attempt:
    args, kwargs = arrange(params, values, replaced)
    return Attempt(slot, tuple(args), tuple(kwargs.items()), param, trusted)


def _traced(sound: Sound, p: Param, how: str, n: int) -> Any:
    return Traced(n) if how == "t" else hold(sound.sequences[p.name], Traced(n))


def _items(params: Sequence[Param], sound: Sound) -> Iterator[tuple[int, str]]:
    for index, p in enumerate(params):
        if p.kind == "**" or p.name == "out":
            continue
        yield index, "t"
        if p.name in sound.sequences:
            yield index, "c"


def _by_keyword(callee: Callee, sound: Sound) -> Iterator[Attempt]:
    """Parameters that the sound call passes by position, traced and by keyword; those after them by keyword too."""
    for index, p in enumerate(callee.params):
        if p.kind != "b" or p.name not in sound.values:
            continue
        ahead = {q.name: sound.values[q.name] for q in callee.params[:index] if q.name in sound.values}
        args, kwargs = arrange(callee.params[:index], ahead, {})
        later = {q.name: sound.values[q.name] for q in callee.params[index + 1 :] if q.name in sound.values}
        if any(q.kind in ("p", "*") for q in callee.params[index + 1 :] if q.name in later):
            continue
        kwargs = {**kwargs, **later}
        if not sound.works or accepts(callee.real, args, {**kwargs, p.name: sound.values[p.name]}):
            traced = {**kwargs, p.name: Traced(0)}
            yield Attempt(("keyword", index), tuple(args), tuple(traced.items()), p, sound.works)


def _separate_sizes(callee: Callee, sound: Sound) -> Iterator[Attempt]:
    """``view(2, n)``: where the last required positional parameter takes a sequence of ints, they may stand alone."""
    positional = [p for p in callee.params if p.kind in ("p", "b") and p.name in sound.values]
    if not positional or not re.search(r"int\d?\[|size|shape|dims", positional[-1].type + positional[-1].name):
        return
    last = positional[-1]
    before = [sound.values[p.name] for p in positional[:-1]]
    for pair in ((4, 4), (2, 8), (1, 0), (1, 1), (2, 2), (1, 4)):
        if accepts(callee.real, [*before, *pair], {}):
            tails = ((Traced(0), pair[1]), (pair[0], Traced(0)), (Traced(0), Traced(1)))
            for which, tail in enumerate(tails):
                yield Attempt(("sizes", which, callee.params.index(last)), (*before, *tail), (), last, True)
            return


def _keep(variant: Variant, slot: Slot, outcome: Outcome) -> None:
    match slot:
        case ("plain",):
            variant.plain = outcome
        case ("single", index, how):
            variant.single[index, how] = outcome
        case ("keyword", index):
            variant.keyword[index] = outcome
        case ("pair", i, how, j, other):
            variant.pairs[i, how, j, other] = outcome
        case ("sizes", which, start):
            variant.sizes[which], variant.sizes_start = outcome, start


def _context(callee: Callee, sound: Sound, factory: bool, attempt: Attempt) -> Context:
    role = "other" if attempt.param is None else _role(attempt.param, sound.values.get(attempt.param.name))
    return Context(callee.name, callee.mode == "const", factory, role, callee.library)


def _role(param: Param, value: Any) -> str:
    """The part that an argument plays, by its type, its name and the value that works."""
    if callable(value) and not isinstance(value, (Fresh, type)):
        return "callable"
    if re.search(r"int\d?\[", param.type) or param.name in (
        "size",
        "shape",
        "sizes",
        "n",
        "m",
        "steps",
        "start",
        "end",
    ):
        return "sizes"
    if param.name in ("data", "obj", "ndarray", "object", "values", "indices", "buffer", "real", "imag", "args"):
        return "data"
    return "other"


def _is_factory(callee: Callee, sound: Sound) -> bool:
    """Whether it makes a tensor out of something that is none."""
    for p in callee.params:
        if ("tensor" in p.type or p.name in ("input", "self")) and p.name != "data":
            return False
    try:
        with quiet():
            return isinstance(callee.real(*arrange(callee.params, sound.values, {})), torch.Tensor)
    except Exception:
        return False


def _measure_returned(name: str, function: Any, params: tuple[Param, ...]) -> Variant | None:
    """What ``name`` returns is itself callable with one tensor: call that with a traced value."""
    callee = Callee(name, "", function, params)

    def call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        result = callee.real(args, kwargs)
        if not callable(result) or isinstance(result, (type, torch.Tensor)):
            raise TypeError("not a function")
        if callable(result(TENSOR.make())):
            raise TypeError("a decorator")
        return result

    found = search(call, params, callee.library)
    if found is None:
        return None
    args, kwargs = arrange(params, found, {})

    def target() -> Any:
        return callee.real(args, kwargs)

    with quiet():
        scripted = isinstance(target(), (torch.jit.ScriptFunction, torch.jit.ScriptModule))
        role, library = ("other", "standard") if scripted else ("callable", callee.library)
        about = Context(name, role=role, library=library)
        plain, traced = probe.run([Job(target, (TENSOR,)), Job(target, (Traced(0),))], [about, about])
    return Variant((Param("args", "*"),), plain, {(0, "t"): traced})


def _distinct(variants: list[Variant]) -> list[Variant]:
    """Drop a variant whose knowledge another one has already."""
    kept: list[Variant] = []
    for variant in variants:
        if not any(_covers(other, variant) for other in kept):
            kept.append(variant)
    return kept


def _covers(wide: Variant, narrow: Variant) -> bool:
    fits = [(p.name, p.kind) for p in narrow.params] == [(p.name, p.kind) for p in wide.params[: len(narrow.params)]]
    known = narrow.single.items() <= wide.single.items() and narrow.keyword.items() <= wide.keyword.items()
    return fits and narrow.plain == wide.plain and known


# ---------------------------------------------------------------------------------------------- rows


def rule(left: Outcome, right: Outcome) -> Outcome:
    """What two traced arguments do together, unless measured otherwise: a failure wins, then a node, then a value."""
    for wanted in ("fails", "node"):
        for outcome in (left, right):
            if outcome[0] == wanted:
                return outcome
    return left


def row(variant: Variant) -> dict[str, Any]:
    """The variant in the words of the file, with outcomes still in full; ``table.py`` numbers them."""
    pairs = {
        f"{i}{how}{j}{other}": outcome
        for (i, how, j, other), outcome in sorted(variant.pairs.items())
        if (i, how) in variant.single
        and (j, other) in variant.single
        and outcome[0] != rule(variant.single[i, how], variant.single[j, other])[0]
    }
    sizes = variant.sizes
    chosen = any(p.required or p.kind == "*" for p in variant.params)
    return {
        "params": [PREFIX[p.kind] + p.name for p in variant.params],
        "plain": _without_constant(variant.plain) if chosen else variant.plain,
        "single": {f"{i}{how}": outcome for (i, how), outcome in sorted(variant.single.items())},
        "keyword": {str(i): o for i, o in variant.keyword.items() if o != variant.single.get((i, "t"))},
        "pairs": pairs,
        "sizes": (variant.sizes_start, sizes[0], sizes[1], sizes[2]) if len(sizes) == 3 else None,
    }


def _without_constant(outcome: Outcome | None) -> Outcome | None:
    """With arguments that somebody chose for the measurement, a constant answer says nothing about other arguments."""
    return None if outcome is None else (*outcome[:5], None)


def rows(name: str) -> list[dict[str, Any]]:
    return [row(variant) for variant in measure(name)]


def returned_names(results: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Names whose ordinary result is a function, or an object that may be called: a second round measures those."""
    return [
        f"{name}()"
        for name, found in results.items()
        if "@" not in name and any(r["plain"] and r["plain"][4] in RETURNED_CALLABLES for r in found)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure calls with traced arguments under the stock tracer.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="names with these prefixes, or: operations")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    out = options.out.resolve()
    names = [n for n in callables() if not options.only or n.startswith(tuple(options.only))]
    started = time.monotonic()
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)  # some callables write files
        results = in_forks(rows, names, options.jobs)
        results.update(in_forks(rows, returned_names(results), options.jobs))
        special = operations.measure_operations() if not options.only or "operations" in options.only else None
        os.chdir(here)
    table.update(out, torch.__version__.partition("+")[0], results, special, tuple(options.only))
    print(f"{len(results)} of {len(names)} callables in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
