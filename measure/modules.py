"""Measure the modules of torch.nn and torch.ao.nn: what their own forward does under the tracer, what __init__ leaves.

    python measure/modules.py --out fxlint/predict/data/modules.json [--jobs 2]

Each class is built with small values that a search finds, and called with tensors that it accepts. Then its forward is
traced as the root of ``torch.fx.symbolic_trace`` (all parameters are placeholders) and through ``super().forward`` of a
subclass (only the required parameters are), in training and in evaluation mode.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import calls  # noqa: E402
import names as listing  # noqa: E402
import probe  # noqa: E402
import signatures  # noqa: E402
import table  # noqa: E402
import torch  # noqa: E402
from probe import Context, Fresh  # noqa: E402
from signatures import Param  # noqa: E402

SECONDS = 4.0
RANK = {"1d": 1, "2d": 2, "3d": 3}

Cls = type[torch.nn.Module]


def classes() -> dict[str, Cls]:
    """Canonical name -> class, for all Module classes of torch.nn and torch.ao.nn."""
    found: dict[str, Cls] = {}
    known = listing.modules()
    for name in sorted(known, key=lambda n: (n.count("."), len(n), n)):
        if not name.startswith(("torch.nn", "torch.ao.nn")):
            continue
        for attribute, value in sorted(vars(known[name]).items()):
            if isinstance(value, type) and issubclass(value, torch.nn.Module) and not any(value is c for c in found.values()):
                if value.__module__.startswith(("torch.nn.", "torch.ao.nn.")):
                    found[f"{name}.{attribute}"] = value
    return dict(sorted(found.items()))


def aliases() -> dict[int, list[str]]:
    paths: dict[int, list[str]] = {}
    for name, module in listing.modules().items():
        for attribute, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, torch.nn.Module):
                paths.setdefault(id(value), []).append(f"{name}.{attribute}")
    return paths


# ---------------------------------------------------------------------------------------------- building


def constructor_values(param: Param) -> tuple[Any, ...]:
    """Small sizes that fit the tensors of ``signatures``: four channels, images of four by four."""
    name, hint = param.name, param.type
    if name in ("kernel_size", "stride", "groups", "num_layers", "upscale_factor", "downscale_factor", "num_encoder_layers"):
        return (1, 2)
    if name in ("nhead", "num_heads"):
        return (2, 1)
    if "shape" in name or name == "unflattened_size":
        return ((4,), (4, 4), (2, 2), 4)
    if name in ("output_size", "size"):
        return (4, 2, (4, 4), (4, 4, 4))
    if "padding" in name:
        return (1, (1, 1))
    if "layer" in name:
        return (
            Fresh(lambda: torch.nn.TransformerEncoderLayer(4, 2, 4)),
            Fresh(lambda: torch.nn.TransformerDecoderLayer(4, 2, 4)),
            1,
            Fresh(lambda: torch.nn.Linear(4, 4)),
        )
    if name in ("cutoffs", "dims"):
        return ([2, 3], (0, 1))
    if "module" in name or "module" in hint or name in ("conv", "relu", "bn", "linear"):
        return tuple(Fresh(lambda c=c: c(4, 4, 1) if c is torch.nn.Conv2d else c(4)) for c in (torch.nn.Conv2d, torch.nn.BatchNorm2d)) + (
            Fresh(lambda: torch.nn.ReLU()),
            Fresh(lambda: torch.nn.Linear(4, 4)),
        )
    if "int" in hint or not hint or "size" in hint:
        return (4, 1, 2, 0.5, (4,))
    return signatures.values(param, "torch")[:6]


def _build(cls: Cls, known: Mapping[str, Any]) -> torch.nn.Module:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**probe.fill(dict(known), ()))


def constructions(cls: Cls, params: Sequence[Param]) -> list[dict[str, Any]]:
    """Sets of constructor arguments that are accepted, the plainest first."""
    required = [p for p in params if p.required]
    accepted = []
    choices = [constructor_values(p) for p in required]
    orders = sorted(itertools.product(*(range(len(c)) for c in choices)), key=lambda o: (len(set(o)) > 1, sum(o)))
    deadline = time.monotonic() + SECONDS
    for picks in orders[:600]:
        known = {p.name: c[i] for p, c, i in zip(required, choices, picks)}
        try:
            _build(cls, known)
        except Exception:
            continue
        accepted.append(known)
        if len(accepted) >= 12 or time.monotonic() > deadline:
            break
    return accepted


def forward_arguments(instance: torch.nn.Module, required: list[Param]) -> dict[str, Any] | None:
    """Values that the module's forward accepts in evaluation mode."""

    def call(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return instance.eval()(*probe.fill(list(args), ()), **probe.fill(kwargs, ()))

    return calls._search(call, required, [], None, "torch")


# ---------------------------------------------------------------------------------------------- facts


def facts(name: str) -> dict[str, Any] | None:
    cls: Cls = calls.resolve(name)
    params = _init_parameters(cls)
    forward = signatures._inspected(cls.forward)[1:]
    required = [p for p in forward if p.required]
    result: dict[str, Any] = {
        "mro": [f"{b.__module__}.{b.__qualname__}" for b in cls.__mro__[1:-1]],
        "parameters": [calls.PREFIX[p.kind] + p.name + ("" if p.required or p.kind in "**" else f"={p.default!r}") for p in params],
        "forward": [calls.PREFIX[p.kind] + p.name + ("" if p.required or p.kind in "**" else f"={p.default!r}") for p in forward],
        "required": len(required),
        "overrides_forward": cls.forward is not torch.nn.Module.forward,
    }
    built = constructions(cls, params)
    if not built:
        return result
    known = built[0]
    if not any(p.kind == "*" for p in forward):
        for candidate in built:
            if forward_arguments(_build(cls, candidate), required) is not None:
                known = candidate
                result["called"] = True
                break
    instance = _build(cls, known)
    result["leaf"] = torch.fx.Tracer().is_leaf_module(instance, "child")
    result["attributes"] = attributes(cls, params, known)
    if result["overrides_forward"]:
        result["traces"] = traces(cls, known, required)
    return result


def _init_parameters(cls: Cls) -> tuple[Param, ...]:
    try:
        return signatures._inspected(cls.__init__)[1:]
    except (TypeError, ValueError):
        return ()


def traces(cls: Cls, known: Mapping[str, Any], required: Sequence[Param]) -> dict[str, list[str | None] | None]:
    """``root`` and ``super`` x ``train`` and ``eval``: None when the forward traces, else event, exception, message."""
    outcomes: dict[str, list[str | None] | None] = {}
    for mode in ("train", "eval"):
        instance = _build(cls, known).train(mode == "train")
        outcomes[f"root.{mode}"] = _trace(instance, cls)
        instance = _build(cls, known).train(mode == "train")
        instance.__class__ = _subclass(cls, [p.name for p in required])
        outcomes[f"super.{mode}"] = _trace(instance, cls)
    return outcomes


def _subclass(cls: Cls, names: Sequence[str]) -> Cls:
    """A subclass whose forward takes the required parameters only and hands them to the library's forward."""
    shown = ", ".join(names)
    scope: dict[str, Any] = {"library": cls}
    exec(f"def forward(self, {shown}):\n    return library.forward(self, {shown})", scope)  # noqa: S102
    return type("Subclass", (cls,), {"forward": scope["forward"], "__module__": "user"})


def _trace(instance: torch.nn.Module, cls: Cls) -> list[str | None] | None:
    about = Context(cls.__name__, library="torch")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.fx.symbolic_trace(instance)
    except Exception as error:
        return list(probe.failure(error, about)[1:4])
    return None


def attributes(cls: Cls, params: Sequence[Param], known: Mapping[str, Any]) -> dict[str, str]:
    """Attribute -> ``kind``, ``kind=`` (it is the constructor's argument of that name), ``kind:value`` (a constant), and
    after ``|`` how it differs when an optional argument does: ``parameter|bias=False:none``."""
    base = _state(_build(cls, known), known, params)
    changed: list[tuple[str, dict[str, tuple[str, Any, bool]]]] = []
    for p in params:
        for value in _other_values(p):
            try:
                state = _state(_build(cls, {**known, p.name: value}), {**known, p.name: value}, params)
            except Exception:
                continue
            changed.append((f"{p.name}={probe.fill(value, ())!r}", state))
            break
    found: dict[str, str] = {}
    for name, (kind, value, follows) in base.items():
        others = [state[name] for _, state in changed if name in state]
        text = kind
        if follows and all(other[2] for other in others):
            text += "="
        elif kind in ("bool", "int", "float", "str") and all(other[:2] == (kind, value) for other in others):
            text += f":{value!r}"
        for condition, state in changed:
            other = state.get(name, ("absent", None, False))
            if other[0] != kind:
                text += f"|{condition}:{other[0]}"
        found[name] = text
    for condition, state in changed:
        for name, (kind, _, _) in state.items():
            if name not in base:
                found[name] = f"{found.get(name, 'absent')}|{condition}:{kind}"
    return dict(sorted(found.items()))


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


def _state(instance: torch.nn.Module, known: Mapping[str, Any], params: Sequence[Param]) -> dict[str, tuple[str, Any, bool]]:
    """Attribute -> kind, value where it is plain, whether it equals the constructor's argument of the same name."""
    bound = {p.name: p.default for p in params if p.default is not signatures.EMPTY} | dict(known)
    kinds: dict[str, tuple[str, Any, bool]] = {}
    for name, value in instance.__dict__.items():
        if not name.startswith("_") and name != "training":
            kinds[name] = _described(name, value, bound)
    for name, parameter in instance._parameters.items():
        kinds[name] = ("none" if parameter is None else "parameter", None, False)
    for name, buffer in instance._buffers.items():
        kinds[name] = ("none" if buffer is None else "buffer", None, False)
    for name, child in instance._modules.items():
        kinds[name] = ("none" if child is None else f"module {type(child).__module__}.{type(child).__qualname__}", None, False)
    return kinds


def _described(name: str, value: Any, bound: Mapping[str, Any]) -> tuple[str, Any, bool]:
    kind = probe.kind(value)
    plain = value if isinstance(value, (bool, int, float, str)) else None
    try:
        follows = name in bound and type(value) is type(bound[name]) and bool(value == bound[name])
    except Exception:
        follows = False
    return kind, plain, follows and kind in ("bool", "int", "float", "str", "none", "tuple")


def work(name: str) -> dict[str, Any] | None:
    return facts(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = classes()
    paths = aliases()
    runner: Callable[[str], Any] = work
    results = calls.in_forks(runner, list(found), options.jobs)
    for name, entry in results.items():
        entry["aliases"] = sorted(set(paths.get(id(found[name]), [])) - {name})
    release = torch.__version__.partition("+")[0]
    everything: dict[str, dict[str, Any]] = {}
    if options.out.exists():
        old = json.loads(options.out.read_text(encoding="utf-8"))
        everything = {r: {"modules": table.expand(old, "modules", r)} for r in old["releases"]}
    everything[release] = {"modules": results}
    options.out.write_text(table.compose(everything), encoding="utf-8")
    built = sum("attributes" in e for e in results.values())
    print(f"{len(results)} classes, {built} built, {sum('called' in e for e in results.values())} called -> {options.out.name}")


if __name__ == "__main__":
    main()
