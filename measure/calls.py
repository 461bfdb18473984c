"""Measure what the stock tracer does with calls whose arguments are traced, and write the table.

    python measure/calls.py --out fxlint/predict/data/calls.json [--only PREFIX ...] [--jobs 2]

Every callable is measured in a process of its own with a time limit. The release of the torch that runs this script is
replaced in the table; the other releases stay. README.md in this folder documents the method and the format.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import itertools
import json
import os
import pickle
import re
import select
import signal
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))

import operations  # noqa: E402
import probe  # noqa: E402
import signatures  # noqa: E402
import table  # noqa: E402
import torch  # noqa: E402
from probe import Context, Fresh, Job, Outcome, Traced  # noqa: E402
from signatures import Param  # noqa: E402

SECONDS_PER_CALLABLE = 20
SEARCH_SECONDS = 2.0
SEARCH_TRIES = 1500

STANDARD = (
    "builtins math cmath operator itertools functools copy random collections statistics heapq bisect numbers fractions "
    "decimal string re json textwrap typing types contextlib dataclasses inspect time warnings logging os.path weakref enum"
).split()
NUMPY = "numpy numpy.linalg numpy.random numpy.fft".split()
TORCH = (
    "torch torch.functional torch.nn.functional torch.linalg torch.fft torch.special torch.nn.init torch.nn.utils torch.nn.utils.rnn "
    "torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.nn.utils.stateless torch.utils.checkpoint torch.jit "
    "torch.compiler torch.fx torch.amp torch.autograd torch.autograd.functional torch.autograd.profiler torch.autograd.graph "
    "torch.cuda torch.cuda.amp torch.cpu torch.cpu.amp torch.backends torch.backends.cuda torch.backends.cudnn torch.backends.mps "
    "torch.distributed torch.mps torch.xpu torch.sparse torch.nested torch.signal.windows torch.func torch.masked torch.random "
    "torch.overrides torch.testing torch.nn torch.nn.attention torch.nn.attention.flex_attention torch.nn.attention.bias "
    "torch.nn.parameter torch.onnx torch.profiler torch._C._nn torch.utils._pytree torch.utils.dlpack torch.distributions "
    "torch.distributions.utils torch._dynamo torch.accelerator torch._higher_order_ops torch.fx.experimental torch.ops.aten torch.version "
    "torch._assert_names torch.utils.hooks torch.nn.grad torch.serialization"
).split()

# calls that end the process, wait for a peer or a person, or reach outside
REFUSED = re.compile(
    r"^builtins\.(exit|quit|input|help|breakpoint|copyright|credits|license)$|^torch\.distributed\.(?!is_|get_rank|get_world|get_backend)"
    r"|^torch\._dynamo\.(?!is_|disable|graph_break|allow|mark|assume|disallow|forbid|run|maybe)|^torch\.cuda\.(?!is_|amp|device|stream|current|get_|synchronize|empty|nvtx)"
    r"|^numpy\.(test|show_config|show_runtime|get_include|save|load|memmap|fromfile|info)|^torch\.(import_ir_module|set_vital|hub|_import)"
    r"|^time\.sleep$|^torch\.testing\.(?!assert)|^torch\.onnx\.(?!is_)|^torch\.(mps|xpu|accelerator)\.(?!is_|current|device)"
)


def resolve(name: str) -> Any:
    """The object behind a dotted name, looked up through the modules as code does."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


# ---------------------------------------------------------------------------------------------- what is measured


def callables() -> list[str]:
    """Names of everything to measure: each callable once, under its shortest public name; then the variants.

    ``NAME@const`` is a Tensor method called on a real tensor, ``NAME@unpatched`` a math function that the tracer did not
    patch (imported by name in a helper's file), ``NAME()`` what a callable returned by NAME does.
    """
    names: list[str] = []
    for group in (*STANDARD, *NUMPY, *TORCH):
        names += _members(group)
    for cls in ("list", "dict", "str", "tuple", "set", "int", "float", "bytes", "frozenset", "slice"):
        names += [f"builtins.{cls}.{n}" for n in dir(getattr(__import__("builtins"), cls)) if not n.startswith("_")]
    for n in dir(torch.Tensor):
        if callable(getattr(torch.Tensor, n, None)) and (not n.startswith("_") or _is_operator(n)):
            names += [f"torch.Tensor.{n}", f"torch.Tensor.{n}@const"]
    names += [f"math.{n}@unpatched" for n in dir(__import__("math")) if not n.startswith("_") and callable(getattr(__import__("math"), n))]
    seen: dict[int, str] = {}
    unique = []
    for name in names:
        if REFUSED.search(name):
            continue
        if "@" not in name:
            try:
                found = resolve(name)
            except Exception:
                continue
            if inspect.isroutine(found) or isinstance(found, type):
                if id(found) in seen and not name.startswith("builtins."):
                    continue
                seen[id(found)] = name
        unique.append(name)
    return list(dict.fromkeys(unique))


def _is_operator(name: str) -> bool:
    return name.startswith("__") and name.strip("_") in (
        "getitem setitem add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv pow rpow mod rmod matmul rmatmul and or xor "
        "invert neg pos abs lshift rshift lt le gt ge eq ne len iter bool int float index contains iadd isub imul itruediv"
    ).split()


def _members(group: str) -> list[str]:
    try:
        module = importlib.import_module(group)
    except Exception:
        if group != "torch.ops.aten":
            return []
        module = torch.ops.aten
    if group == "torch.ops.aten":
        operators = {s.name.partition("::")[2] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
        return sorted(f"torch.ops.aten.{n}" for n in operators if n.isidentifier() and not n.startswith("_"))
    overridable = {getattr(f, "__name__", "") for f in torch.overrides.get_overridable_functions().get(module, ())}
    found = []
    for name in sorted(dir(module)):
        value = getattr(module, name, None)
        if not callable(value) or (name.startswith("__") and group != "operator"):
            continue
        if name.startswith("_") and name not in overridable and not name.startswith(("_check", "_assert", "_shape")):
            if group not in ("torch._C._nn", "torch.utils._pytree") or name.startswith("__"):
                continue
        home = getattr(value, "__module__", None) or group
        if home.partition(".")[0] != group.partition(".")[0] and group != "builtins" and not inspect.isbuiltin(value):
            if not home.startswith("_") and home != "numpy":  # typing.Any in torch.nn.functional and the like
                continue
        if isinstance(value, type) and issubclass(value, BaseException) and group != "builtins":
            continue
        found.append(f"{group}.{name}")
    return found


# ---------------------------------------------------------------------------------------------- one callable


@dataclass
class Variant:
    """The outcomes for one signature. Items are ``(index of the parameter, mode)``, mode t traced or c contains."""

    params: tuple[Param, ...]
    plain: Outcome | None = None
    single: dict[tuple[int, str], Outcome] = field(default_factory=dict)
    keyword: dict[int, Outcome] = field(default_factory=dict)
    pairs: dict[tuple[int, str, int, str], Outcome] = field(default_factory=dict)
    sizes: tuple[int, Outcome, Outcome, Outcome] | None = None


def measure(name: str) -> list[Variant]:
    """All variants of one callable; empty when nothing could be measured."""
    base, _, mode = name.partition("@")
    returned = base.endswith("()")
    base = base.removesuffix("()")
    function = resolve(base)
    variants = []
    for params in signatures.signatures(base, function):
        variant = _measure_signature(name, base, function, params, mode, returned)
        if variant is not None and (variant.single or variant.plain):
            variants.append(variant)
    return _merge(variants)


def library_of(name: str) -> str:
    root = name.partition(".")[0]
    return root if root in ("torch", "numpy") else "standard"


def _measure_signature(
    name: str, base: str, function: Any, params: tuple[Param, ...], mode: str, returned: bool
) -> Variant | None:
    library = library_of(base)
    constant = mode == "const"
    params = params[:8]
    own: Fresh | None = None
    if constant:
        if not params:
            return None
        choices = [v for v in signatures.TENSORS]
    if returned:
        return _measure_returned(name, base, function, params, library)

    short = base.rpartition(".")[2]

    def call(args: Sequence[Any], kwargs: dict[str, Any], holder: Any = None) -> Any:
        target = function if not constant else getattr(probe.fill(holder, ()), short)
        return target(*probe.fill(list(args), ()), **probe.fill(kwargs, ()))

    required, optional, star = _partition(params[1:] if constant else params)
    if constant:
        found: dict[str, Any] | None = None
        for own in choices:
            found = _search(lambda a, k: call(a, k, own), required, optional, star, library)
            if found is not None:
                break
        own = own if found is not None else signatures.TENSOR
    else:
        found = _search(call, required, optional, star, library)
    works = found is not None
    chosen = found if found is not None else {p.name: signatures.values(p, library)[0] for p in required}
    holder = own

    def target() -> Any:
        return getattr(probe.fill(holder, ()), short) if constant else _late(base, function, mode)

    shown = params[1:] if constant else params
    variant = Variant(shown)
    jobs: list[Job] = []
    about: list[Context] = []
    store: list[Callable[[Outcome], None]] = []
    factory = library == "torch" and not any("tensor" in p.type or p.name in ("input", "self") for p in params)

    def add(args: Sequence[Any], kwargs: dict[str, Any], keep: Callable[[Outcome], None], who: Param | None) -> None:
        jobs.append(Job(target, tuple(args), tuple(kwargs.items())))
        role = "other" if who is None else _role(who, chosen.get(who.name), short)
        about.append(Context(base, constant, factory, role, who.name if who else "", library))
        store.append(keep)

    def guarded(put: Callable[[Outcome], None]) -> Callable[[Outcome], None]:
        """Without a call that works for real, a failure may be the fault of the other arguments."""
        return lambda outcome: put(outcome) if works or outcome[0] == "node" else None

    values = {p.name: chosen[p.name] for p in shown if p.name in chosen}
    if works:
        args, kwargs = _arguments(shown, values, {}, star)
        add(args, kwargs, lambda o: setattr(variant, "plain", o), None)
    extended = {
        p.name: _optional_value(lambda a, k: call(a, k, own), shown, values, p, star, library) if works else _MISSING
        for p in optional
    }
    sequences = {
        p.name: _sequence_value(lambda a, k: call(a, k, own), shown, values, extended, p, star, library, works)
        for p in shown
        if p.kind != "**"
    }
    items: list[tuple[int, str]] = []
    for index, p in enumerate(shown):
        if p.kind == "**":
            continue
        present = p.name in values or p.kind == "*"
        if not present and extended.get(p.name, _MISSING) is _MISSING:
            if p.required or p.name == "out":
                continue
            if p.default is EMPTY_DEFAULT:
                continue
        for how in "tc":
            held = sequences.get(p.name, _MISSING)
            if how == "c" and held is _MISSING:
                continue
            items.append((index, how))
            template = Traced(0) if how == "t" else _hold(held, Traced(0))
            args, kwargs = _arguments(shown, values, {p.name: template}, star)
            # an optional parameter for which no real value worked may still be recorded
            trusted = present or extended.get(p.name, _MISSING) is not _MISSING
            keep = guarded(lambda o, i=index, h=how: variant.single.__setitem__((i, h), o))
            if not trusted:
                keep = lambda o, i=index, h=how: variant.single.__setitem__((i, h), o) if o[0] == "node" else None  # noqa: E731
            add(args, kwargs, keep, p)
        if p.kind == "b" and p.name in values:
            named = {q.name: values[q.name] for q in shown if q.name in values and q.name != p.name}
            ahead, rest = _arguments(shown[:index], named, {}, None)
            later = {k: v for k, v in named.items() if k not in {q.name for q in shown[:index]}}
            if not works or _accepts(lambda a, k: call(a, k, own), ahead, {**rest, **later, p.name: values[p.name]}):
                add(
                    ahead,
                    {**rest, **later, p.name: Traced(0)},
                    guarded(lambda o, i=index: variant.keyword.__setitem__(i, o)),
                    p,
                )
    for (i, how), (j, other) in itertools.combinations(items, 2):
        if i == j or (i > 2 and len(items) > 6):
            continue
        held = {
            shown[i].name: Traced(0) if how == "t" else _hold(sequences[shown[i].name], Traced(0)),
            shown[j].name: Traced(1) if other == "t" else _hold(sequences[shown[j].name], Traced(1)),
        }
        args, kwargs = _arguments(shown, values, held, star)
        add(args, kwargs, guarded(lambda o, k=(i, how, j, other): variant.pairs.__setitem__(k, o)), shown[j])
    _add_sizes(variant, shown, values, lambda a, k: call(a, k, own), add)
    with _quiet():
        outcomes = probe.run(jobs, about, autowrap=mode != "unpatched")
    for keep, outcome in zip(store, outcomes):
        keep(outcome)
    return variant


_MISSING = object()
EMPTY_DEFAULT = inspect.Parameter.empty


def _late(base: str, function: Any, mode: str) -> Any:
    """The callable as code sees it while tracing: through its module, or bound before the tracer patched anything."""
    return function if mode == "unpatched" else resolve(base)


def _role(param: Param, value: Any, short: str) -> str:
    if callable(value) and not isinstance(value, Fresh):
        return "callable"
    if re.search(r"int\d?\[", param.type) or param.name in ("size", "shape", "sizes"):
        return "sizes"
    if re.match(r"^(n|m|steps|end|start|rows?|cols?|row|col|window_length|M|d|length|input|size)$", param.name):
        return "sizes"
    if param.name in ("data", "obj", "ndarray", "object", "values", "indices", "buffer", "args", "real", "imag"):
        return "data"
    return "other"


def _partition(params: Sequence[Param]) -> tuple[list[Param], list[Param], Param | None]:
    required = [p for p in params if p.required]
    optional = [p for p in params if not p.required and p.kind not in ("*", "**")]
    star = next((p for p in params if p.kind == "*"), None)
    return required, optional, star


def _arguments(
    params: Sequence[Param], values: dict[str, Any], extra: dict[str, Any], star: Param | None
) -> tuple[list[Any], dict[str, Any]]:
    """Lay the values out as a call; parameters behind a gap go by keyword, the variadic one takes two values."""
    merged = {**values, **extra}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    gap = False
    for p in params:
        if p.kind == "**":
            continue
        if p.kind == "*":
            if not gap and p.name in values:
                args += list(values[p.name])
                if p.name in extra:
                    # one of the variadic arguments: the first, or the only one
                    args[len(args) - len(values[p.name])] = extra[p.name] if values[p.name] else None
                    if not values[p.name]:
                        args.pop()
                        args.append(extra[p.name])
            elif p.name in extra:
                args.append(extra[p.name])
            gap = True
            continue
        if p.name not in merged:
            gap = True
            continue
        if p.kind == "k" or (gap and p.kind == "b"):
            kwargs[p.name] = merged[p.name]
        elif gap:
            args += [q.default for q in params if q.name not in merged and q.kind == "p" and q.default is not EMPTY_DEFAULT]
            args.append(merged[p.name])
            gap = False
        else:
            args.append(merged[p.name])
    return args, kwargs


def _accepts(call: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    try:
        with _quiet():
            call(args, kwargs)
    except BaseException:
        return False
    return True


def _search(
    call: Callable[..., Any], required: list[Param], optional: list[Param], star: Param | None, library: str
) -> dict[str, Any] | None:
    """Values for the required parameters (and the variadic one) that a real call accepts."""
    deadline = time.monotonic() + SEARCH_SECONDS
    lists = [signatures.values(p, library)[: 16 if len(required) < 3 else 9 if len(required) < 4 else 5] for p in required]
    stars: list[tuple[Any, ...] | None] = [None]
    if star is not None:
        offered = signatures.values(star, library)
        stars = [(v, v) for v in offered[:8]] + [(v,) for v in offered[:8]] + [()]
        if library == "torch":
            stars = [("ij,jk->ik", signatures.TENSOR, signatures.TENSOR), *stars] if star.name in ("args", "operands") else stars
    orders = sorted(
        itertools.islice(itertools.product(*(range(len(choice)) for choice in lists)), 20000),
        key=lambda picks: (len(set(picks)) > 1, sum(picks), max(picks, default=0)),
    )
    shown = [*required] if star is None else [*[p for p in required if p.kind != "k"], star, *[p for p in required if p.kind == "k"]]
    tries = 0
    for picks in orders:
        for extra in stars:
            tries += 1
            if tries > SEARCH_TRIES or time.monotonic() > deadline:
                return None
            values = {p.name: choice[pick] for p, choice, pick in zip(required, lists, picks)}
            if star is not None:
                values[star.name] = extra
            args, kwargs = _arguments(shown, values, {}, star)
            if _accepts(call, args, kwargs):
                return values
    return None


def _optional_value(
    call: Callable[..., Any], params: Sequence[Param], values: dict[str, Any], p: Param, star: Param | None, library: str
) -> Any:
    for candidate in signatures.values(p, library)[:24]:
        args, kwargs = _arguments(params, values, {p.name: candidate}, star)
        if candidate is not None and _accepts(call, args, kwargs):
            return candidate
    return _MISSING


def _sequence_value(
    call: Callable[..., Any],
    params: Sequence[Param],
    values: dict[str, Any],
    extended: dict[str, Any],
    p: Param,
    star: Param | None,
    library: str,
    works: bool,
) -> Any:
    """A list or tuple that the parameter accepts, to put a traced element into."""
    T, R = signatures.TENSOR, signatures.ROW
    current = values.get(p.name, extended.get(p.name, _MISSING))
    if p.kind == "*":
        current = _MISSING
    offered = [v for v in (current, *signatures.values(p, library)) if type(v) in (list, tuple) and len(v) > 0]
    offered += [(1, 0), (0, 1), [T, T], (1, 1), (2, 2), [R, R], [1, 2, 3], (4, 4)]
    if library == "numpy":
        offered += [[1.0, 2.0], [signatures.ARRAY, signatures.ARRAY]]
    for candidate in offered[:28]:
        if p.kind == "*":
            template = {p.name: (candidate, *(values.get(p.name) or ())[1:])}
            args, kwargs = _arguments(params, {**values, **template}, {}, star)
        else:
            args, kwargs = _arguments(params, values, {p.name: candidate}, star)
        if works and _accepts(call, args, kwargs):
            return candidate
    return _MISSING if works or "[" not in p.type else (T, T)


def _hold(sequence: Any, traced: Any) -> Any:
    """The sequence with its first element traced, one level deeper where that element is a sequence itself."""
    head, *tail = sequence
    if type(head) in (list, tuple) and head:
        return type(sequence)([_hold(head, traced), *tail])
    return type(sequence)([traced, *tail])


def _add_sizes(variant: Variant, params: Sequence[Param], values: dict[str, Any], call: Any, add: Any) -> None:
    """Sizes as separate arguments, ``view(2, n)``: where the last required positional parameter takes a sequence of ints."""
    positional = [p for p in params if p.kind in ("p", "b") and p.name in values]
    if not positional or not re.search(r"int\d?\[|size|shape|dims", positional[-1].type + positional[-1].name):
        return
    start = params.index(positional[-1])
    before = [values[p.name] for p in positional[:-1]]
    for pair in ((4, 4), (2, 8), (1, 0), (1, 1), (2, 2), (1, 4)):
        if _accepts(call, [*before, *pair], {}):
            got: dict[int, Outcome] = {}

            def keep(which: int) -> Callable[[Outcome], None]:
                def put(outcome: Outcome) -> None:
                    got[which] = outcome
                    if len(got) == 3:
                        variant.sizes = (start, got[0], got[1], got[2])

                return put

            add([*before, Traced(0), pair[1]], {}, keep(0), positional[-1])
            add([*before, pair[0], Traced(0)], {}, keep(1), positional[-1])
            add([*before, Traced(0), Traced(1)], {}, keep(2), positional[-1])
            return


def _measure_returned(name: str, base: str, function: Any, params: tuple[Param, ...], library: str) -> Variant | None:
    """What NAME returns is itself callable with one tensor: call that with a traced value."""

    def call(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        result = function(*probe.fill(list(args), ()), **probe.fill(kwargs, ()))
        if not callable(result) or isinstance(result, (type, torch.Tensor)):
            raise TypeError("not a function")
        result(_square_for_call())
        return result

    required, optional, star = _partition(params)
    found = _search(call, required, optional, star, library)
    if found is None:
        return None
    shown = [p for p in params if p.name in found]
    args, kwargs = _arguments(shown, found, {}, star)

    def target() -> Any:
        return function(*probe.fill(args, ()), **probe.fill(kwargs, ()))

    with _quiet():
        example = target()
        scripted = isinstance(example, (torch.jit.ScriptFunction, torch.jit.ScriptModule))
        about = Context(base, role="other" if scripted else "callable", library="standard" if scripted else library)
        plain, traced = probe.run([Job(target, (signatures.TENSOR,)), Job(target, (Traced(0),))], [about, about])
    return Variant((Param("args", "*"),), plain, {(0, "t"): traced})


def _square_for_call() -> torch.Tensor:
    result: torch.Tensor = signatures.TENSOR.make()
    return result


def _merge(variants: list[Variant]) -> list[Variant]:
    """Drop a variant whose knowledge another one has already."""
    kept: list[Variant] = []
    for variant in variants:
        key = _key(variant)
        if not any(_key(other)[1:] == key[1:] and set(key[0]) <= set(_key(other)[0]) for other in kept):
            kept.append(variant)
    return kept


def _key(variant: Variant) -> tuple[Any, ...]:
    names = tuple((p.name, p.kind) for p in variant.params)
    return (
        names,
        variant.plain,
        tuple(sorted((variant.params[i].name, h, o) for (i, h), o in variant.single.items())),
        tuple(sorted((i, o) for i, o in variant.keyword.items())),
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------------------------------------- rows

PREFIX = {"b": "", "p": "/", "k": "=", "*": "*", "**": "**"}


def rule(left: Outcome, right: Outcome) -> Outcome:
    """What two traced arguments do together, unless measured otherwise: a failure wins, then a node, then a value."""
    for wanted in ("fails", "node"):
        for outcome in (left, right):
            if outcome[0] == wanted:
                return outcome
    return left


def row(variant: Variant) -> dict[str, Any]:
    """The variant in the words of the file, with outcomes still in full; ``table.py`` numbers them."""
    shown = [PREFIX[p.kind] + p.name for p in variant.params]
    pairs = {
        f"{i}{a}{j}{b}": outcome
        for (i, a, j, b), outcome in sorted(variant.pairs.items())
        if (i, a) in variant.single
        and (j, b) in variant.single
        and outcome[0] != rule(variant.single[i, a], variant.single[j, b])[0]
    }
    return {
        "params": shown,
        "plain": variant.plain,
        "single": {f"{i}{how}": o for (i, how), o in sorted(variant.single.items())},
        "keyword": {str(i): o for i, o in variant.keyword.items() if o != variant.single.get((i, "t"))},
        "pairs": pairs,
        "sizes": variant.sizes,
    }


# ---------------------------------------------------------------------------------------------- processes


def in_forks(work: Callable[[str], Any], names: Sequence[str], jobs: int) -> dict[str, Any]:
    """The true results of ``work(name)``, each in a fork of this process: a crash or a hang costs one name."""
    results: dict[str, Any] = {}
    waiting = list(reversed(names))
    running: dict[int, tuple[int, str, float, bytearray]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop()
            pid, fd = _fork(work, name)
            running[fd] = (pid, name, time.monotonic() + SECONDS_PER_CALLABLE, bytearray())
        ready, _, _ = select.select(list(running), [], [], 0.5)
        for fd in ready:
            pid, name, _, buffer = running[fd]
            chunk = os.read(fd, 1 << 20)
            if chunk:
                buffer += chunk
                continue
            os.close(fd)
            os.waitpid(pid, 0)
            del running[fd]
            result = pickle.loads(bytes(buffer)) if buffer else None
            if result:
                results[name] = result
        for fd, (pid, _, deadline, _) in list(running.items()):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    return results


def _fork(work: Callable[[str], Any], name: str) -> tuple[int, int]:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    os.close(read)
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        torch.manual_seed(0)
        result = work(name)
        with os.fdopen(write, "wb") as out:
            out.write(pickle.dumps(result))
    except BaseException:
        os._exit(1)
    os._exit(0)


def rows(name: str) -> list[dict[str, Any]]:
    return [row(variant) for variant in measure(name)]


def returned_names(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Names whose ordinary result is a function, or an object that may be called: a second round measures those."""
    words = ("function", "other", "context")
    return [
        f"{name}()"
        for name, found in results.items()
        if "@" not in name and any(r["plain"] and r["plain"][4] in words for r in found)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="measure the names with these prefixes, leave the rest of the table")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    out = options.out.resolve()
    names = [n for n in callables() if not options.only or n.startswith(tuple(options.only))]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        results = in_forks(rows, names, options.jobs)
        results.update(in_forks(rows, returned_names(results), options.jobs))
        special = operations.measure_operations() if not options.only else None
        os.chdir(out.parent)
    table.update(out, torch.__version__.partition("+")[0], results, special, partial=bool(options.only))
    print(f"{len(results)} of {len(names)} callables in {time.monotonic() - started:.0f} s -> {out.name}")


if __name__ == "__main__":
    main()
