"""One traced graph, in the formats of ``fxlint trace``: each a pure function of a Shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from fxlint.confirm.shown import Node, Shown
from fxlint.report.text import printable

GraphFormat = Literal["text", "tabular", "code", "json", "svg"]

_COLORS: Final[Mapping[str, str]] = {
    "placeholder": "lightyellow",
    "get_attr": "lavender",
    "call_module": "lightblue",
    "output": "lightyellow",
}


class CannotDrawError(Exception):
    """Says in one line what is missing to draw."""


def text(shown: Shown) -> str:
    """Every node as torch.fx prints it, with its results and the line that made it."""
    rows = [(printable(node.text), "  ".join(filter(None, [_results(node), _place(node)]))) for node in shown.nodes]
    return "".join(f"{row}  # {told}\n" if told else f"{row}\n" for row, told in rows)


def tabular(shown: Shown) -> str:
    """A table as of ``Graph.print_tabular``, with results and lines."""
    heads = ("opcode", "name", "target", "args", "kwargs", "result", "line")
    rows = [
        (node.op, node.name, node.target, node.args, node.kwargs, _results(node), _place(node)) for node in shown.nodes
    ]
    cells = [heads, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "".join(f"{line}\n" for line in lines)


def code(shown: Shown) -> str:
    """The code that torch.fx generates."""
    return shown.code.strip("\n") + "\n"


def as_json(shown: Shown) -> str:
    nodes: list[dict[str, Any]] = [
        {
            "name": node.name,
            "op": node.op,
            "target": node.target,
            "args": node.args,
            "kwargs": node.kwargs,
            "inputs": list(node.inputs),
            "tensors": [{"shape": list(tensor.shape), "dtype": tensor.dtype} for tensor in node.tensors],
            "path": None if node.place is None else node.place.path,
            "line": None if node.place is None else node.place.line,
        }
        for node in shown.nodes
    ]
    told = {"module": shown.root.id, "instance": shown.instance, "nodes": nodes, "code": shown.code}
    return json.dumps(told, indent=2) + "\n"


def svg(shown: Shown) -> str:
    """A drawing, by Graphviz. Raises CannotDrawError."""
    try:
        import graphviz
    except ImportError as error:
        raise CannotDrawError("svg needs the package graphviz: pip install 'fxlint[svg]'") from error
    drawing = graphviz.Digraph(
        shown.root.qualname, node_attr={"shape": "box", "style": "filled", "fontname": "monospace"}
    )
    for node in shown.nodes:
        label = "\n".join(filter(None, [f"{node.name}: {node.op}", node.target, _results(node), _place(node)]))
        drawing.node(node.name, graphviz.escape(label), fillcolor=_COLORS.get(node.op, "white"))
        for used in node.inputs:
            drawing.edge(used, node.name)
    try:
        return str(drawing.pipe(format="svg", encoding="utf-8"))
    except graphviz.ExecutableNotFound as error:
        raise CannotDrawError("svg needs the program `dot` of Graphviz, which is not installed") from error


FORMATS: Final[Mapping[str, Callable[[Shown], str]]] = {
    "text": text,
    "tabular": tabular,
    "code": code,
    "json": as_json,
    "svg": svg,
}


def _results(node: Node) -> str:
    return ", ".join(map(str, node.tensors))


def _place(node: Node) -> str:
    return "" if node.place is None else f"{node.place.path}:{node.place.line}"
