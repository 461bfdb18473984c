"""Measure the modules of torch.nn and torch.ao.nn: what their own forward does under the tracer, what __init__ leaves.

    python measure/modules.py --out fxlint/predict/data/modules.json [--jobs 2]

Each class is built with small values that a search finds, and called with tensors that it accepts. Then its forward is
traced as the root of ``torch.fx.symbolic_trace`` (all parameters are placeholders) and through ``super().forward`` of a
subclass (only the required parameters are), in training and in evaluation mode. Each of its other methods is called
with traced arguments by the forward of a subclass; each that its own forward calls is replaced in a subclass, to see
with what it is called and whether the rest of forward traces. ``by_mode``: its graph is another one in each mode.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import names as listing
import probe
import signatures
import table
import torch
from calls import PREFIX
from forks import in_forks
from probe import Context, Fresh
from search import search
from signatures import Param
from targets import resolve
from values import candidates

SECONDS = 4.0
MOST = 12

OWNERS = ("torch.nn.", "torch.ao.nn.")

Cls = type[torch.nn.Module]


def classes() -> dict[str, Cls]:
    """Canonical name -> class, for all Module classes of torch.nn and torch.ao.nn."""
    found: dict[int, tuple[str, Cls]] = {}
    known = listing.modules()
    for name in sorted((n for n in known if f"{n}.".startswith(OWNERS)), key=lambda n: (n.count("."), len(n), n)):
        for attribute, value in sorted(vars(known[name]).items()):
            if isinstance(value, type) and issubclass(value, torch.nn.Module) and value.__module__.startswith(OWNERS):
                found.setdefault(id(value), (f"{name}.{attribute}", value))
    return dict(sorted(found.values()))


def aliases() -> dict[int, list[str]]:
    paths: dict[int, list[str]] = {}
    for name, module in listing.modules().items():
        for attribute, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, torch.nn.Module):
                paths.setdefault(id(value), []).append(f"{name}.{attribute}")
    return paths


# ---------------------------------------------------------------------------------------------- building


_CONSTRUCTOR: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"^(kernel_size|stride|groups|num_layers|upscale_factor|downscale_factor|num_encoder_layers)$", (1, 2)),
    (r"^(nhead|num_heads)$", (2, 1)),
    (r"shape|^unflattened_size$", ((4,), (4, 4), (2, 2), 4)),
    (r"^(output_size|size)$", (4, 2, (4, 4), (4, 4, 4))),
    (r"padding", (1, (1, 1))),
    (
        r"layer",
        (
            Fresh(lambda: torch.nn.TransformerEncoderLayer(4, 2, 4)),
            Fresh(lambda: torch.nn.TransformerDecoderLayer(4, 2, 4)),
            1,
            Fresh(lambda: torch.nn.Linear(4, 4)),
        ),
    ),
    (r"^(cutoffs|dims)$", ([2, 3], (0, 1))),
    (
        r"module|^(conv|relu|bn|linear)$",
        (
            Fresh(lambda: torch.nn.Conv2d(4, 4, 1)),
            Fresh(lambda: torch.nn.BatchNorm2d(4)),
            Fresh(torch.nn.ReLU),
            Fresh(lambda: torch.nn.Linear(4, 4)),
        ),
    ),
)


def constructor_values(param: Param) -> tuple[Any, ...]:
    """Small sizes that fit the tensors of ``values``: four channels, images of four by four."""
    for pattern, found in _CONSTRUCTOR:
        if re.search(pattern, param.name):
            return found
    if "int" in param.type or not param.type or "size" in param.type:
        return (4, 1, 2, 0.5, (4,))
    return candidates(param, "torch")[:6]


def _build(cls: Cls, known: Mapping[str, Any]) -> torch.nn.Module:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**probe.fill(dict(known), ()))


def constructions(cls: Cls, params: Sequence[Param]) -> Iterator[dict[str, Any]]:
    """Sets of constructor arguments that are accepted, the plainest first; then some with one optional argument too.

    Last comes one with all optional sizes: those of a Transformer fit each other, but no small tensors.
    """
    required = [p for p in params if p.required]
    plain = list(itertools.islice(_accepted(cls, required), MOST))
    yield from plain
    for p in [p for p in params if p.kind in ("b", "k") and not p.required][:3]:
        for value in constructor_values(p) if plain else ():
            known = {**plain[0], p.name: value}
            if _is_accepted(cls, known):
                yield known
    sizes = [p for p in params if type(p.default) is int]
    small = {p.name: next(value for value in constructor_values(p) if type(value) is int) for p in sizes}
    if plain and len(small) > 1 and _is_accepted(cls, {**plain[0], **small}):
        yield {**plain[0], **small}


def _accepted(cls: Cls, required: Sequence[Param]) -> Iterator[dict[str, Any]]:
    choices = [constructor_values(p) for p in required]
    orders = sorted(itertools.product(*(range(len(c)) for c in choices)), key=lambda o: (len(set(o)) > 1, sum(o)))
    deadline = time.monotonic() + SECONDS
    for picks in orders[:600]:
        known = {p.name: c[i] for p, c, i in zip(required, choices, picks, strict=True)}
        if _is_accepted(cls, known):
            yield known
        if time.monotonic() > deadline:
            return


def _is_accepted(cls: Cls, known: Mapping[str, Any]) -> bool:
    try:
        _build(cls, known)
    except Exception:
        return False
    return True


def accepts_tensors(instance: torch.nn.Module, required: Sequence[Param]) -> bool:
    """Whether the module's forward runs on some tensors in evaluation mode."""

    def call(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        with torch.no_grad():
            return instance.eval()(*probe.fill(list(args), ()), **probe.fill(dict(kwargs), ()))

    return search(call, required, "torch") is not None


# ---------------------------------------------------------------------------------------------- facts


def facts(name: str) -> dict[str, Any]:
    cls: Cls = resolve(name)
    params = _init_parameters(cls)
    forward = signatures.inspected(cls.forward)[1:]
    required = [p for p in forward if p.required]
    result: dict[str, Any] = {
        "parameters": [_shown(p) for p in params],
        "forward": [_shown(p) for p in forward],
        "required": len(required),
    }
    built = list(constructions(cls, params))
    if not built:
        return result
    runs = next((known for known in built if _runs(cls, known, required)), None)
    known = built[0] if runs is None else runs
    result["leaf"] = torch.fx.Tracer().is_leaf_module(_build(cls, known), "child")
    result["attributes"] = attributes(cls, params, known)
    result |= {name: found for name, found in methods(cls, known, required).items() if found}
    if runs is not None:
        result["traces"] = traces(cls, known, required)
        if goes_by_mode(cls, known, required):
            result["by_mode"] = True
    return result


def _runs(cls: Cls, known: Mapping[str, Any], required: Sequence[Param]) -> bool:
    if cls.forward is torch.nn.Module.forward or any(p.kind == "*" for p in signatures.inspected(cls.forward)):
        return False
    return accepts_tensors(_build(cls, known), required)


def _shown(p: Param) -> str:
    default = "" if p.default is signatures.EMPTY else "=" + re.sub(r" at 0x[0-9a-f]+", "", repr(p.default))
    return PREFIX[p.kind] + p.name + default


def _init_parameters(cls: Cls) -> tuple[Param, ...]:
    """The constructor's parameters; where it hands on all it gets, what it leaves open of the next class's."""
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        params = signatures.inspected(vars(base)["__init__"])[1:]
        if [p.kind for p in params] != ["*", "**"] or base is torch.nn.Module:
            inherited = base is not cls and "__init__" in vars(cls)
            return _left_open(cls, params) if inherited else params
    return ()


def _left_open(cls: Cls, params: tuple[Param, ...]) -> tuple[Param, ...]:
    """Without the leading parameters that the subclass fills in itself, such as the mode of an RNN."""
    for skipped in range(3):
        if next(_accepted(cls, [p for p in params[skipped:] if p.required]), None) is not None:
            return params[skipped:]
    return params


def traces(cls: Cls, known: Mapping[str, Any], required: Sequence[Param]) -> dict[str, list[str | None] | None]:
    """``root`` and ``super`` x ``train`` and ``eval``: None when the forward traces, else event, exception, message."""
    outcomes: dict[str, list[str | None] | None] = {}
    for mode in ("train", "eval"):
        instance = _build(cls, known).train(mode == "train")
        outcomes[f"root.{mode}"] = _trace(instance, cls)
        instance = _as_subclass(cls, known, _forward(cls, [p.name for p in required])).train(mode == "train")
        outcomes[f"super.{mode}"] = _trace(instance, cls)
    return outcomes


def goes_by_mode(cls: Cls, known: Mapping[str, Any], required: Sequence[Param]) -> bool:
    """Whether a subclass, which is no leaf, has another graph in training than in evaluation mode."""
    graphs = []
    for training in (True, False):
        instance = _as_subclass(cls, known, _forward(cls, [p.name for p in required])).train(training)
        try:
            graphs.append(str(torch.fx.symbolic_trace(instance).graph))
        except Exception:
            return False
    return graphs[0] != graphs[1]


def _forward(cls: Cls, names: Sequence[str]) -> dict[str, Any]:
    """A forward that takes the required parameters only and hands them to the library's forward."""
    shown = ", ".join(names)
    scope: dict[str, Any] = {"library": cls}
    exec(f"def forward(self, {shown}):\n    return library.forward(self, {shown})", scope)
    return {"forward": scope["forward"]}


def _trace(instance: torch.nn.Module, cls: Cls) -> list[str | None] | None:
    about = Context(cls.__name__, library="torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.fx.symbolic_trace(instance)
    except Exception as error:
        return list(probe.failure(error, about)[1:4])
    return None


def methods(cls: Cls, known: Mapping[str, Any], required: Sequence[Param]) -> dict[str, dict[str, Any]]:
    """``methods``: name -> outcome of a call with Proxies. ``calls``: name -> what forward gives it, how it goes on."""
    measured: dict[str, dict[str, Any]] = {"methods": {}, "calls": {}}
    names = [p.name for p in required]
    for name, params in _methods(cls):
        outcomes: list[probe.Outcome] = []
        _trace(_as_subclass(cls, known, _caller(cls, name, [p.name for p in params], outcomes)), cls)
        measured["methods"][name] = table.shortened(outcomes[0])
        given: list[list[str]] = []
        failure = _trace(_as_subclass(cls, known, _forward(cls, names) | {name: _stand_in(cls, name, given)}), cls)
        if given:
            measured["calls"][name] = [given[0], failure]
    return measured


def _methods(cls: Cls) -> Iterator[tuple[str, list[Param]]]:
    """The methods beside forward that need arguments, with those; not what every Module has."""
    found = {name for base in cls.__mro__[: cls.__mro__.index(torch.nn.Module)] for name in vars(base)}
    for name in sorted(found - {"forward", *vars(torch.nn.Module)}):
        if inspect.isfunction(inspect.getattr_static(cls, name)) and not name.startswith("__"):
            required = [p for p in signatures.inspected(getattr(cls, name))[1:] if p.required]
            if required:
                yield name, required


def _as_subclass(cls: Cls, known: Mapping[str, Any], members: Mapping[str, Any]) -> torch.nn.Module:
    instance = _build(cls, known)
    instance.__class__ = type("Subclass", (cls,), {**members, "__module__": "user"})
    return instance


def _caller(cls: Cls, name: str, names: Sequence[str], outcomes: list[probe.Outcome]) -> dict[str, Any]:
    """A forward that calls one method with a Proxy for each of its required parameters."""
    shown, about = ", ".join(names), Context(name, library="torch")

    def call(self: torch.nn.Module, *proxies: torch.fx.Proxy) -> None:
        try:
            outcomes.append(probe.success(getattr(cls, name)(self, *proxies), about))
        except Exception as error:
            outcomes.append(probe.failure(error, about))

    scope: dict[str, Any] = {"call": call}
    exec(f"def forward(self, {shown}):\n    call(self, {shown})", scope)
    return {"forward": scope["forward"]}


def _stand_in(cls: Cls, name: str, given: list[list[str]]) -> Callable[..., Any]:
    """A method that takes whatever it gets, notes it, and returns a Proxy."""
    signature = inspect.signature(getattr(cls, name))

    def method(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        values = signature.bind(self, *args, **kwargs).args[1:]
        given.append([_source(value) for value in values])
        return next((value + 0 for value in values if isinstance(value, torch.fx.Proxy)), None)

    return method


def _source(value: Any) -> str:
    """Where an argument comes from: ``.name`` a parameter, ``*`` another Proxy; else the constant, or ``?``."""
    if isinstance(value, torch.fx.Proxy):
        return f".{value.node.target}" if value.node.op == "get_attr" else "*"
    try:
        return repr(ast.literal_eval(repr(value)))
    except (SyntaxError, ValueError):
        return "?"


class State(NamedTuple):
    """An attribute: its kind, its value where that is plain, and whether it follows the argument of its name.

    ``follows`` is ``=`` where it equals the argument, ``=x2`` where it is the number repeated in a tuple.
    """

    kind: str
    value: Any = None
    follows: str = ""


def attributes(cls: Cls, params: Sequence[Param], known: Mapping[str, Any]) -> dict[str, str]:
    """Attribute -> its kind, then ``=`` or ``=x2`` where it follows its argument, or ``:value`` where it is constant.

    After ``|`` stands how it differs when one argument does: ``parameter|bias=False:none``.
    """
    base = _state(_build(cls, known), known, params)
    changed = list(_changes(cls, params, known))
    names = sorted({name for state in (base, *(state for _, state in changed)) for name in state})
    absent = State("absent")
    return {n: _text(base.get(n, absent), [(c, state.get(n, absent)) for c, state in changed]) for n in names}


def _changes(cls: Cls, params: Sequence[Param], known: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, State]]]:
    """For each argument: the first other value that is accepted, and the attributes with it."""
    for p in params:
        for value in _other_values(p):
            other = {**known, p.name: value}
            if _is_accepted(cls, other):
                yield f"{p.name}={probe.fill(value, ())!r}", _state(_build(cls, other), other, params)
                break


def _text(own: State, others: Sequence[tuple[str, State]]) -> str:
    same = [state for _, state in others if state.kind == own.kind]
    text = own.kind
    if own.follows and all(state.follows == own.follows for state in same):
        text += own.follows
    elif own.value is not None and all(state.value == own.value for state in same):
        text += f":{own.value!r}"
    return "|".join([text, *(f"{condition}:{state.kind}" for condition, state in others if state.kind != own.kind)])


def _other_values(p: Param) -> tuple[Any, ...]:
    default = p.default
    if p.kind in ("*", "**") or p.name in ("device", "dtype"):
        return ()
    if isinstance(default, bool):
        return (not default,)
    if isinstance(default, int):
        return (default + 1, 2, 4)
    if isinstance(default, float):
        return (default / 2 if default else 0.25,)
    if isinstance(default, str):
        return tuple(v for v in ("sum", "reflect", "gelu", "tanh", "zeros", "bilinear") if v != default)
    if p.required:
        return (8, 2)
    return (2, 0.25, True)


def _state(instance: torch.nn.Module, known: Mapping[str, Any], params: Sequence[Param]) -> dict[str, State]:
    bound = {p.name: p.default for p in params if p.default is not signatures.EMPTY} | dict(known)
    own = {n: v for n, v in vars(instance).items() if not n.startswith("_") and n != "training"}
    states = {name: _described(name, value, bound) for name, value in own.items()}
    for name, parameter in instance._parameters.items():
        states[name] = State("none" if parameter is None else "parameter")
    for name, buffer in instance._buffers.items():
        states[name] = State("none" if buffer is None else "buffer")
    for name, child in instance._modules.items():
        states[name] = State("none" if child is None else f"module {type(child).__module__}.{type(child).__qualname__}")
    return states


def _described(name: str, value: Any, bound: Mapping[str, Any]) -> State:
    kind = probe.kind(value)
    if kind not in ("bool", "int", "float", "str", "none", "tuple"):
        return State(kind)
    argument = bound.get(name)
    follows = ""
    if name in bound and type(value) is type(argument) and value == argument:
        follows = "="
    elif kind == "tuple" and isinstance(argument, int) and value == (argument,) * len(value):
        follows = f"=x{len(value)}"
    return State(kind, value, follows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = classes()
    paths = aliases()
    results = in_forks(facts, list(found), options.jobs)
    for name, entry in results.items():
        entry["aliases"] = sorted(set(paths.get(id(found[name]), [])) - {name})
    release = torch.__version__.partition("+")[0]
    everything: dict[str, dict[str, Any]] = {}
    if options.out.exists():
        old = json.loads(options.out.read_text(encoding="utf-8"))
        everything = {r: {"modules": table.expand(old, "modules", r)} for r in old["releases"]}
    everything[release] = {"modules": results}
    options.out.write_text(table.compose(everything), encoding="utf-8")
    print(f"{len(results)} classes, {sum('traces' in e for e in results.values())} traced")


if __name__ == "__main__":
    main()
