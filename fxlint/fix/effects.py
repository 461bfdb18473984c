"""Which objects code changes that it has not made itself.

What stands for such an object in a graph is a copy, where it is a list, a dictionary or the like: what a function that
is one node does to it would be lost.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Final

from fxlint.project.tree import walk

_CHANGING: Final = frozenset(
    {
        "append", "extend", "insert", "remove", "pop", "popitem", "clear", "sort", "reverse", "update", "setdefault",
        "discard", "appendleft", "extendleft", "popleft", "rotate", "move_to_end", "subtract", "difference_update",
        "intersection_update", "symmetric_difference_update", "__setitem__", "__delitem__", "__setattr__",
    }
)  # fmt: skip
"""Methods of containers that change them, also where their result is used; no tensor has methods of these names."""
CONTAINERS: Final = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def changed(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that objects which the nodes change are reached by, but for those that the nodes make.

    In-place methods of tensors do not count: a node has the tensor itself.
    """
    inside = [node for root in nodes for node in walk(root)]
    roots = {name.id for node in inside for one in _changed(node) if (name := _root(one)) is not None}
    return roots - _made(inside)


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    """The objects that a node changes by itself."""
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        yield node.func.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # called for what it does
        function = node.value.func
        if isinstance(function, ast.Attribute) and not function.attr.endswith("_"):
            yield function.value
        elif isinstance(function, ast.Name) and not hasattr(builtins, function.id):
            yield from node.value.args


def _root(node: ast.expr) -> ast.Name | None:
    """The name that a chain of attributes, items and calls starts at."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node if isinstance(node, ast.Name) else None


def _made(inside: Sequence[ast.AST]) -> set[str]:
    """The names that are bound to new objects only."""
    bound = [node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    new = [
        target.id
        for node in inside
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _is_new(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    ]
    return {name for name in new if new.count(name) == bound.count(name)}


def _is_new(value: ast.expr) -> bool:
    """Whether an expression makes an object, rather than naming one, or an item of one."""
    if isinstance(value, ast.Call):
        return not (isinstance(value.func, ast.Attribute) and value.func.attr in {"get", *_CHANGING})
    return isinstance(value, (*CONTAINERS, ast.BinOp))
