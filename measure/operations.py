"""Operators, subscripts, isinstance and attributes of a Proxy: what depends on the kinds of the operands.

Kinds of operands: ``traced`` is a Proxy, a word with a star holds one (``slice*`` is ``slice(None, proxy)``,
``tuple_slice*`` is ``(slice(None), slice(None, proxy))``), every other word is an ordinary value.
"""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import itertools
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import probe
import torch
from probe import Context, Fresh, Job, Outcome, Traced
from values import TENSOR, first

STATIC: dict[str, Any] = {
    "int": 1,
    "float": 0.5,
    "complex": 1j,
    "bool": True,
    "str": "a",
    "bytes": b"a",
    "none": None,
    "list": [1, 2, 3],
    "tuple": (1, 2, 3),
    "dict": {1: 2, "a": 3},
    "set": {1, 2},
    "range": range(3),
    "size": Fresh(lambda: torch.Size((2, 3))),
    "tensor": TENSOR,
    "parameter": Fresh(lambda: torch.nn.Parameter(torch.ones(4, 4))),
    "dtype": torch.float32,
    "device": torch.device("cpu"),
    "numpy": Fresh(lambda: np.ones(4)),
    "function": first,
    "module_list": Fresh(lambda: torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU()])),
    "module_dict": Fresh(lambda: torch.nn.ModuleDict({"a": torch.nn.ReLU()})),
    "sequential": Fresh(lambda: torch.nn.Sequential(torch.nn.ReLU(), torch.nn.ReLU())),
    "parameter_list": Fresh(lambda: torch.nn.ParameterList([torch.ones(1), torch.ones(1)])),
}
CONTAINERS = (
    "list tuple dict set range size tensor str bytes numpy module_list module_dict sequential parameter_list".split()
)


MUTABLE = "list dict tensor parameter numpy module_list module_dict sequential parameter_list".split()


def holding(traced: Any) -> dict[str, Any]:
    return {
        "traced": traced,
        "list*": [traced, 1],
        "tuple*": (traced, 1),
        "dict*": {"a": traced, 1: traced},
        "slice*": slice(None, traced),
        "tuple_slice*": (slice(None), slice(None, traced)),
    }


BINARY = (
    "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge is_ is_not "
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor concat"
).split()
UNARY = "not_ truth neg pos abs invert inv index length_hint".split()

Table = dict[str, dict[str, Outcome]]


def measure_operations() -> dict[str, Any]:
    """The tables that are not about named callables: operations, classes a Proxy is an instance of, its attributes."""
    return {"operations": _operations(), "instance": _instances(), "attributes": _attributes()}


def _operations() -> Table:
    left, right = holding(Traced(0)), holding(Traced(1))
    found: Table = {}
    held = ("traced", "list*", "tuple*", "dict*")
    for name in BINARY:
        cases = {f"traced {k}": (Traced(0), v) for k, v in STATIC.items()}
        cases |= {f"{k} traced": (v, Traced(0)) for k, v in STATIC.items()}
        cases |= {f"{a} {b}": (left[a], right[b]) for a, b in itertools.product(held, held)}
        cases |= {
            f"{a} {k}": (left[a], STATIC[k]) for a in held[1:] for k in ("list", "tuple", "int", "none", "tensor")
        }
        cases |= {
            f"{k} {a}": (STATIC[k], right[a])
            for a in held[1:]
            for k in ("list", "tuple", "int", "none", "tensor", "str")
        }
        found[name] = _run(f"operator.{name}", getattr(operator, name), cases)
    for name in UNARY:
        found[name] = _run(f"operator.{name}", getattr(operator, name), {k: (v,) for k, v in left.items()})
    statics = {k: STATIC[k] for k in CONTAINERS}
    indices = {**left, "none": None, "int": 0, "str": "a", "slice": slice(0, 1)}
    found["getitem"] = _run("operator.getitem", operator.getitem, _cases(statics, left, holding(Traced(1)), indices))
    found["contains"] = _run(
        "operator.contains",
        operator.contains,
        _cases(statics, left, holding(Traced(1)), {"int": 1, "str": "a", "none": None}),
    )
    found["delitem"] = _run(
        "operator.delitem", operator.delitem, _cases(statics, left, holding(Traced(1)), {"int": 0, "str": "a"})
    )
    triples = {
        f"{c} {i} {v}": (cv, iv, vv)
        for (c, cv), (i, iv), (v, vv) in itertools.product(
            {
                **{k: STATIC[k] for k in MUTABLE},
                "traced": Traced(0),
                "list*": left["list*"],
                "dict*": left["dict*"],
            }.items(),
            {**holding(Traced(1)), "int": 0, "str": "a", "slice": slice(0, 1)}.items(),
            {"traced": Traced(2), "tensor": TENSOR, "int": 1, "list*": [Traced(2)]}.items(),
        )
        if "traced" in (c, i, v) or "*" in c + i + v
    }
    found["setitem"] = _run("operator.setitem", operator.setitem, triples)
    found["format"] = _run(
        "builtins.format",
        format,
        {
            "traced": (Traced(0), ""),
            "traced str": (Traced(0), ".2f"),
            "list*": (left["list*"], ""),
            "tuple*": (left["tuple*"], ""),
        },
    )
    found["autograd_function"] = _run("torch.autograd.Function.apply", lambda apply, *args: apply(*args), _functions())
    return found


def _functions() -> dict[str, tuple[Any, ...]]:
    """``apply`` of an autograd.Function: what its forward does with the context decides. The case names say what."""

    def make(use: Callable[[Any, Any], Any]) -> Any:
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                use(ctx, x)
                return x * 2

        return Scale.apply

    uses: dict[str, Callable[[Any, Any], Any]] = {
        "nothing": lambda ctx, x: None,
        "attribute": lambda ctx, x: setattr(ctx, "kept", x),
        "save_for_backward": lambda ctx, x: ctx.save_for_backward(x),
        "mark_dirty": lambda ctx, x: ctx.mark_dirty(x),
        "mark_non_differentiable": lambda ctx, x: ctx.mark_non_differentiable(x),
        "needs_input_grad": lambda ctx, x: ctx.needs_input_grad[0],
    }
    return {f"traced {name}": (make(use), Traced(0)) for name, use in uses.items()}


def _cases(
    statics: Mapping[str, Any], held: Mapping[str, Any], indices: Mapping[str, Any], plain: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    cases = {f"{c} {i}": (cv, iv) for (c, cv), (i, iv) in itertools.product(statics.items(), indices.items())}
    cases |= {
        f"{c} {i}": (cv, iv)
        for (c, cv), (i, iv) in itertools.product(
            {k: held[k] for k in ("traced", "list*", "tuple*", "dict*")}.items(), {**plain, **indices}.items()
        )
    }
    return cases


def _run(name: str, function: Callable[..., Any], cases: Mapping[str, tuple[Any, ...]]) -> dict[str, Outcome]:
    cases = {case: args for case, args in cases.items() if "traced" in case.split() or _sound(function, args)}
    jobs = [Job(lambda: function, args) for args in cases.values()]
    about = [
        Context(name, constant_self=key.partition(" ")[0] in ("tensor", "parameter"), library="standard")
        for key in cases
    ]
    return dict(zip(cases, probe.run(jobs, about), strict=True))


def _sound(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether the operation works with 1 in place of the traced values; else its failure is not about tracing."""
    try:
        function(*probe.fill(list(args), [1] * probe.PLACEHOLDERS))
    except Exception:
        return False
    return True


def _traced_once(look: Callable[[Any, Any], Any]) -> Any:
    """Call ``look(proxy, attribute)`` inside a trace and hand back what it returns."""
    kept: list[Any] = []

    def forward(x: Any) -> None:
        kept.append(look(x, x.shape))

    torch.fx.Tracer().trace(forward)
    return kept[0]


def _instances() -> dict[str, str]:
    """Classes for which ``isinstance(proxy, cls)`` is True, or raises; for all others it is False."""
    classes: dict[str, Any] = {}
    for module in (builtins, collections.abc, typing, types, np, torch, torch.fx, torch.nn, inspect):
        for name, value in vars(module).items():
            if not name.startswith("_") and (isinstance(value, type) or module is typing):
                classes.setdefault(f"{module.__name__}.{name}", value)

    def look(proxy: Any, attribute: Any) -> dict[str, str]:
        found = {}
        for name, cls in classes.items():
            try:
                answer = isinstance(proxy, cls), isinstance(attribute, cls)
            except TypeError:
                if isinstance(cls, type):
                    found[name] = "raises"
                continue
            if answer[0]:
                found[name] = "true"
            elif answer[1]:
                found[name] = "attribute"
        return found

    result: dict[str, str] = _traced_once(look)
    return result


def _attributes() -> dict[str, str]:
    """Attributes that a Proxy really has, so that reading them records nothing; all others give an Attribute proxy."""
    names = set()
    for cls in (
        torch.Tensor,
        torch.fx.Proxy,
        torch.fx.proxy.Attribute,
        list,
        dict,
        str,
        type,
        np.ndarray,
        torch.nn.Module,
        torch.Size,
        int,
    ):
        names |= set(dir(cls))
    names |= {
        "node",
        "tracer",
        "root",
        "attr",
        "__name__",
        "__dict__",
        "__qualname__",
        "__origin__",
        "__len__",
        "__index__",
        "__array__",
    }

    def look(proxy: Any, attribute: Any) -> dict[str, str]:
        found = {}
        for name in sorted(names):
            try:
                value = getattr(proxy, name)
                of_attribute = getattr(attribute, name)
            except Exception as error:
                found[name] = type(error).__name__
                continue
            if not isinstance(value, torch.fx.Proxy):
                found[name] = probe.kind(value)
            elif not isinstance(of_attribute, torch.fx.Proxy):
                found[name] = "of attribute only"
        return found

    result: dict[str, str] = _traced_once(look)
    return result
