"""Example inputs for a module that traces, found by trying what its first layers accept."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

MAX_TRIES = 96
"""Calls of the module in the search for inputs that it accepts."""
BATCH, SMALL, LARGER = 2, 16, (32, 64, 224)
_WITHOUT_A_LAYER = (3, 4)
"""Numbers of channels to try where no layer tells one."""
_MAX_LAYERS = 4
_SCALARS: dict[Any, Any] = {int: 1, float: 0.5, bool: False, str: ""}
_FIRST_TO_ASK = ("in_channels", "in_features", "num_features", "num_channels", "input_size", "embed_dim", "d_model")
"""What torch.nn calls the size of the dimension that a layer insists on."""

Given = tuple[Any, ...]


@dataclass(frozen=True)
class Shape:
    """A shape in which the sizes that a layer insists on are fixed, and the others can be chosen."""

    dims: tuple[int | str, ...]
    indices_below: int | None = None
    """Where it holds indices, whole numbers below this one."""

    def tensor(self, batch: int, size: int) -> torch.Tensor:
        dims = [batch if dim == "batch" else size if dim == "size" else int(dim) for dim in self.dims]
        if self.indices_below is not None:
            return torch.randint(self.indices_below, dims)
        return torch.randn(dims)


@dataclass(frozen=True)
class Kind:
    """What one input is made of: a shape, a list of tensors of one shape, or a plain value."""

    shape: Shape | None = None
    copies: int | None = None
    value: Any = None

    @property
    def dims(self) -> tuple[int | str, ...]:
        return self.shape.dims if self.shape is not None else ()

    def make(self, batch: int, size: int) -> Any:
        if self.shape is None:
            return self.value
        if self.copies is None:
            return self.shape.tensor(batch, size)
        return [self.shape.tensor(batch, size) for _ in range(self.copies)]


def samples(traced: torch.fx.GraphModule, accepts: Callable[[Given], bool]) -> list[Given]:
    """Inputs of different sizes that the module takes, at most two; none where nothing fits.

    They are for the parameters without a default, in their order. ``accepts`` runs the module.
    """
    required = [node for node in traced.graph.nodes if node.op == "placeholder" and not node.args]
    if any(str(node.target).startswith("*") for node in required):
        return []
    kinds = [list(_kinds(node, traced)) for node in required]
    tries = 0
    for size in (SMALL, *LARGER):
        for chosen in _together(kinds):
            tries += 1
            if tries > MAX_TRIES:
                return []
            first = _made(chosen, BATCH, size)
            if accepts(first):
                return [first, *itertools.islice(filter(accepts, _of_other_sizes(chosen, size)), 1)]
        if not any("size" in kind.dims for found in kinds for kind in found):
            break
    return []


def _of_other_sizes(chosen: Sequence[Kind], size: int) -> Iterator[Given]:
    """The same inputs in other sizes, as far as they can be chosen."""
    dims = {dim for kind in chosen for dim in kind.dims}
    if {"batch", "size"} <= dims:
        yield _made(chosen, BATCH + 1, 2 * size)
    if "batch" in dims:
        yield _made(chosen, BATCH + 1, size)
    if "size" in dims:
        yield _made(chosen, BATCH, 2 * size)


def _made(chosen: Sequence[Kind], batch: int, size: int) -> Given:
    torch.manual_seed(batch * size)
    return tuple(kind.make(batch, size) for kind in chosen)


def _together(kinds: Sequence[Sequence[Kind]]) -> Iterator[tuple[Kind, ...]]:
    """Choices for all inputs: first those of equal rank in each list, for inputs are mostly alike."""
    most = max((len(one) for one in kinds), default=1)
    alike = [tuple(one[min(number, len(one) - 1)] for one in kinds) for number in range(most)]
    return iter(dict.fromkeys((*alike, *itertools.product(*kinds))))


def _kinds(placeholder: torch.fx.Node, traced: torch.fx.GraphModule) -> Iterator[Kind]:
    said = placeholder.type
    if said in _SCALARS:
        yield Kind(value=_SCALARS[said])
        return
    origin = typing.get_origin(said)
    copies = 2 if origin in (list, tuple) and torch.Tensor in typing.get_args(said) else None
    for shape in _shapes(list(_layers(placeholder, traced))):
        yield Kind(shape, copies)


def _layers(placeholder: torch.fx.Node, traced: torch.fx.GraphModule) -> Iterator[torch.nn.Module | torch.Tensor]:
    """What the value meets first: leaf modules, and tensors of the module."""
    seen, waiting = {placeholder}, [placeholder]
    found = 0
    while waiting and found < _MAX_LAYERS:
        node = waiting.pop(0)
        for user in node.users:
            if user in seen:
                continue
            seen.add(user)
            if user.op == "call_module" and any(True for _ in traced.get_submodule(str(user.target)).parameters()):
                found += 1
                yield traced.get_submodule(str(user.target))
            else:
                for argument in user.all_input_nodes:
                    if argument.op == "get_attr":
                        found += 1
                        yield _attribute(traced, str(argument.target))
                waiting.append(user)


def _attribute(traced: torch.fx.GraphModule, target: str) -> Any:
    owner, _, name = target.rpartition(".")
    return getattr(traced.get_submodule(owner), name)


def _shapes(layers: Sequence[torch.nn.Module | torch.Tensor]) -> Iterator[Shape]:
    """The likely ones first: what the first layer takes."""
    found: dict[Shape, None] = {}
    for layer in layers:
        if isinstance(layer, torch.nn.Embedding):
            found[Shape(("batch", "size"), layer.num_embeddings)] = None
            continue
        shapes = [shape for size in _sizes(layer) for shape in _around(size)]
        if isinstance(layer, torch.nn.Module):
            taken = [shape for shape in shapes if _takes(layer, shape)]
            shapes = taken or shapes
        found.update(dict.fromkeys(shapes))
    return iter(list(found) or [*(shape for size in _WITHOUT_A_LAYER for shape in _around(size)), *_PLAIN])


_PLAIN = (Shape(("batch",)), Shape(()))


def _sizes(layer: torch.nn.Module | torch.Tensor) -> list[int]:
    """Numbers that one dimension of the input may have to have."""
    if isinstance(layer, torch.Tensor):
        sizes = (*layer.shape[1:2], *layer.shape[-1:], *layer.shape[:1])
        return list(dict.fromkeys(size for size in sizes if size > 1))
    told = [getattr(layer, name, None) for name in _FIRST_TO_ASK]
    normalized = getattr(layer, "normalized_shape", ())
    said = [one for one in (*told, *normalized[-1:]) if isinstance(one, int) and not isinstance(one, bool)]
    weights = [size for weight in itertools.islice(layer.parameters(), 2) for size in weight.shape[1:2] or weight.shape]
    return list(dict.fromkeys(said or weights))


def _around(size: int) -> list[Shape]:
    """Shapes with a dimension of that size: images first, then what is last in vectors and sequences."""
    return [
        Shape(("batch", size, "size", "size")),
        Shape(("batch", size)),
        Shape(("batch", "size", size)),
        Shape(("batch", size, "size")),
        Shape(("batch", size, "size", "size", "size")),
        Shape(("batch", "size", "size", size)),
    ]


def _takes(layer: torch.nn.Module, shape: Shape) -> bool:
    training = layer.training
    layer.eval()
    try:
        with torch.no_grad():
            layer(shape.tensor(BATCH, SMALL))
    except Exception:
        return False
    else:
        return True
    finally:
        layer.train(training)
