"""The stock verdict: ``torch.fx.symbolic_trace``, untouched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from .failures import Failed, failed
from .frames import UserCode

MAX_GRAPH_TEXT = 1_000_000

Root = torch.nn.Module | Callable[..., Any]


@dataclass(frozen=True)
class Stock:
    """What the stock tracer did: exactly one of ``traced`` and ``error`` is set. ``graph`` is ``str(graph)``."""

    traced: torch.fx.GraphModule | None = None
    nodes: int = 0
    graph: str = ""
    code: str = ""
    error: Failed | None = None

    def to_json(self) -> dict[str, Any]:
        if self.error is not None:
            return {"verdict": "fails", "error": self.error.to_json(), "graph": None}
        graph = {"nodes": self.nodes, "text": self.graph, "code": self.code}
        return {"verdict": "traces", "error": None, "graph": graph}


def stock(root: Root, user: UserCode, concrete_args: dict[str, Any] | None = None) -> Stock:
    """Trace ``root`` as users do. Every exception counts: 20 of 54 measured failures raise no TraceError."""
    return _done(lambda: torch.fx.symbolic_trace(root, concrete_args), user)


def traced_by(
    tracer: torch.fx.Tracer, root: Root, user: UserCode, concrete_args: dict[str, Any] | None = None
) -> Stock:
    """As ``stock``, by a Tracer with other settings."""
    return _done(lambda: _graph_module(tracer, root, concrete_args), user)


def _graph_module(tracer: torch.fx.Tracer, root: Root, concrete_args: dict[str, Any] | None) -> torch.fx.GraphModule:
    graph = tracer.trace(root, concrete_args)
    return torch.fx.GraphModule(tracer.root, graph)


def _done(trace: Callable[[], torch.fx.GraphModule], user: UserCode) -> Stock:
    try:
        traced = trace()
        return Stock(traced, len(traced.graph.nodes), str(traced.graph)[:MAX_GRAPH_TEXT], traced.code[:MAX_GRAPH_TEXT])
    except BaseException as error:
        return Stock(error=failed(error, user))
