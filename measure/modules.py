"""Measure the modules of torch.nn and torch.ao.nn: what their own forward does under the tracer, what __init__ leaves.

    python measure/modules.py --out fxlint/predict/data/modules.json [--jobs 2]

Each class is built with small values that a search finds, and called with tensors that it accepts. Then its forward is
traced as the root of ``torch.fx.symbolic_trace`` (all parameters are placeholders) and through ``super().forward`` of a
subclass (only the required parameters are), in training and in evaluation mode.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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


def constructions(cls: Cls, params: Sequence[Param]) -> list[dict[str, Any]]:
    """Sets of constructor arguments that are accepted, the plainest first."""
    required = [p for p in params if p.required]
    accepted = []
    choices = [constructor_values(p) for p in required]
    orders = sorted(itertools.product(*(range(len(c)) for c in choices)), key=lambda o: (len(set(o)) > 1, sum(o)))
    deadline = time.monotonic() + SECONDS
    for picks in orders[:600]:
        known = {p.name: c[i] for p, c, i in zip(required, choices, picks, strict=True)}
        try:
            _build(cls, known)
        except Exception:
            continue
        accepted.append(known)
        if len(accepted) >= 12 or time.monotonic() > deadline:
            break
    return accepted


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
    built = constructions(cls, params)
    if not built:
        return result
    runs = [known for known in built if accepts_tensors(_build(cls, known), required)] if _has_forward(cls) else []
    known = (runs or built)[0]
    result["leaf"] = torch.fx.Tracer().is_leaf_module(_build(cls, known), "child")
    result["attributes"] = attributes(cls, params, known)
    if runs:
        result["traces"] = traces(cls, known, required)
    return result


def _has_forward(cls: Cls) -> bool:
    return cls.forward is not torch.nn.Module.forward and all(p.kind != "*" for p in signatures.inspected(cls.forward))


def _shown(p: Param) -> str:
    return PREFIX[p.kind] + p.name + ("" if p.default is signatures.EMPTY else f"={p.default!r}")


def _init_parameters(cls: Cls) -> tuple[Param, ...]:
    try:
        return signatures.inspected(cls.__init__)[1:]
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
    exec(f"def forward(self, {shown}):\n    return library.forward(self, {shown})", scope)
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
    """Attribute -> ``kind``, ``kind=`` (it is the constructor's argument of that name) or ``kind:value`` (a constant).

    After ``|`` stands how it differs when one argument does: ``parameter|bias=False:none``.
    """
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


def _state(
    instance: torch.nn.Module, known: Mapping[str, Any], params: Sequence[Param]
) -> dict[str, tuple[str, Any, bool]]:
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
        kinds[name] = (
            "none" if child is None else f"module {type(child).__module__}.{type(child).__qualname__}",
            None,
            False,
        )
    return kinds


def _described(name: str, value: Any, bound: Mapping[str, Any]) -> tuple[str, Any, bool]:
    kind = probe.kind(value)
    plain = value if isinstance(value, (bool, int, float, str)) else None
    try:
        follows = name in bound and type(value) is type(bound[name]) and bool(value == bound[name])
    except Exception:
        follows = False
    return kind, plain, follows and kind in ("bool", "int", "float", "str", "none", "tuple")


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
