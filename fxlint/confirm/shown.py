"""One trace in full, as ``fxlint trace`` shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fxlint.findings import Failure, Problem, Root

from .traces import Place


@dataclass(frozen=True, slots=True)
class Tensor:
    """Shape and dtype of a result on the example inputs."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph. ``text`` is how torch.fx prints it, ``inputs`` are the names of the nodes that it uses.

    ``tensors`` are its results where example inputs are known; ``place`` made it, where that is in the user's code.
    """

    name: str
    op: str
    target: str
    args: str
    kwargs: str
    inputs: tuple[str, ...]
    text: str
    tensors: tuple[Tensor, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The trace of a root: ``nodes`` and ``code``, or the ``error`` that stopped it, or the ``reason`` it was not run.

    ``instance`` is the expression that made what was traced; ``no_shapes`` says why shapes are not known although
    there are example inputs.
    """

    root: Root
    instance: str | None = None
    nodes: tuple[Node, ...] = ()
    code: str = ""
    error: Failure | None = None
    reason: str | None = None
    no_shapes: str | None = None
    problems: tuple[Problem, ...] = ()


def nodes_of(rows: list[Mapping[str, Any]], place: Callable[[Mapping[str, Any]], Place]) -> tuple[Node, ...]:
    """The nodes in a message of the worker."""
    return tuple(
        Node(
            row["name"],
            row["op"],
            row["target"],
            row["args"],
            row["kwargs"],
            tuple(row["inputs"]),
            row["text"],
            tuple(Tensor(tuple(tensor["shape"]), tensor["dtype"]) for tensor in row["tensors"]),
            None if row["place"] is None else place(row["place"]),
        )
        for row in rows
    )
