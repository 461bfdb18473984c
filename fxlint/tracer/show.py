"""One trace in full: every node with the place that made it, and its shape and dtype on example inputs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
import torch.fx
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata
from torch.utils import _pytree as pytree

from .frames import Frame, UserCode, frames_of
from .instances import Builder, Candidate, CannotBuildError, evaluate, told_in_a_line
from .messages import Message
from .stock import Root, Stock
from .suggestions import about_meta, bound_inputs
from .tracing import Tracing

Places = dict[str, Frame]
"""The innermost instruction of the user's that made a node, by the node's name."""


def show(
    candidate: Candidate, root: Mapping[str, Any], module: ModuleType, user: UserCode, tracing: Tracing
) -> Message:
    """The message on a trace; raises CannotBuildError where there is no instance.

    It is made on the CPU where there are example inputs, else where it can be.
    """
    inputs = root["inputs"]
    for device in ("cpu",) if inputs is not None else candidate.devices:
        with contextlib.suppress(CannotBuildError):
            instance = Builder(candidate, user, device)()
            places: Places = {}
            noting = noting_class(tracing.tracer_class(), user, places)
            done = replace(tracing, base=noting, leaves=()).trace(instance, user)
            if device == "cpu" or done.error is None or not about_meta(done.error.message):
                break
    else:
        Builder(candidate, user, candidate.devices[-1])()
    problem = None
    if done.traced is not None and inputs is not None:
        problem = _propagated(done.traced, instance, inputs, module, user, tracing)
    return {
        "kind": "shown",
        "instance": candidate.text,
        **done.to_json(),
        "rows": _rows(done, places),
        "no_shapes": problem,
    }


def _propagated(
    traced: torch.fx.GraphModule, instance: Root, inputs: str, module: ModuleType, user: UserCode, tracing: Tracing
) -> str | None:
    """Have every node know its shape. Returns why they do not, or None."""
    try:
        given = evaluate(inputs, module)
        if not isinstance(given, tuple):
            return f"{inputs} is a {type(given).__name__}, not a tuple"
        with torch.no_grad():
            ShapeProp(traced).propagate(*bound_inputs(instance, given, tracing.bound(instance)).values())
    except BaseException as error:
        # ShapeProp raises a text of its own, which is long and does not say what went wrong; that is in the cause.
        return told_in_a_line(error.__cause__ or error, user)
    return None


def _rows(done: Stock, places: Places) -> list[Message]:
    return [_row(node, places.get(node.name)) for node in done.traced.graph.nodes] if done.traced is not None else []


def _row(node: torch.fx.Node, place: Frame | None) -> Message:
    tensors = [
        {"shape": list(leaf.shape), "dtype": str(leaf.dtype).removeprefix("torch.")}
        for leaf in pytree.tree_flatten(node.meta.get("tensor_meta"), is_leaf=_is_metadata)[0]
        if isinstance(leaf, TensorMetadata)
    ]
    return {
        "name": node.name,
        "op": node.op,
        "target": node._pretty_print_target(node.target),
        "args": str(node.args),
        "kwargs": str(node.kwargs),
        "inputs": [known.name for known in node.all_input_nodes],
        "text": node.format_node() or f"return {node.args[0]}",
        "tensors": tensors,
        "place": None if place is None else place.to_json(),
    }


def _is_metadata(value: Any) -> bool:
    return isinstance(value, TensorMetadata)


def noting_class(base: type[torch.fx.Tracer], user: UserCode, places: Places) -> type[torch.fx.Tracer]:
    """The tracer, which notes the place that made each node."""
    tracer: Any = base

    class Tracer(tracer):  # type: ignore[misc]
        def create_node(self, *args: Any, **kwargs: Any) -> torch.fx.Node:
            node: torch.fx.Node = super().create_node(*args, **kwargs)
            frames = frames_of(user.own(user.of_stack(sys._getframe(1))))
            if frames and node.op not in ("placeholder", "output"):
                places[node.name] = frames[-1]
            return node

    return Tracer
