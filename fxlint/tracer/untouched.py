"""Whether torch.fx is still what it was: a verdict is about the stock tracer, and code under lint may change it."""

from __future__ import annotations

from types import FunctionType, ModuleType

import torch.fx

_SCOPES: tuple[type | ModuleType, ...] = (
    torch.fx,
    torch.fx._symbolic_trace,
    torch.fx.proxy,
    torch.fx.graph,
    torch.fx.graph_module,
    torch.fx.node,
    torch.fx.Tracer,
    torch.fx.proxy.TracerBase,
    torch.fx.Proxy,
    torch.fx.proxy.Attribute,
    torch.fx.Graph,
    torch.fx.GraphModule,
    torch.fx.Node,
)

_CLASSES = {f"torch.fx.{scope.__name__}" for scope in _SCOPES if isinstance(scope, type)}

State = dict[tuple[str, str], object]


def state() -> State:
    """The functions and classes that tracing is made of, by scope and name."""
    return {
        (scope.__name__ if isinstance(scope, ModuleType) else f"torch.fx.{scope.__name__}", name): value
        for scope in _SCOPES
        for name, value in vars(scope).items()
        if isinstance(value, (FunctionType, type, staticmethod, classmethod, property))
    }


def changed_since(before: State) -> str | None:
    """The first name that now stands for something else, or that a class has in addition: with an ``__index__`` of its
    own a Proxy is another one.
    """
    now = state()
    changed = [key for key, value in before.items() if now.get(key) is not value]
    added = [key for key in now if before and key not in before and key[0] in _CLASSES]
    return next((".".join(key) for key in (*changed, *added)), None)
