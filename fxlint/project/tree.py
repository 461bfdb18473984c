"""Going through a syntax tree, several times as fast as ``ast`` does it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Final, TypeVar

_SHARED: Final = frozenset({"ctx", "op", "ops", "kind", "type_comment", "type_ignores"})
"""Fields without nodes of their own: all trees share one `Load`."""
_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}


_Node = TypeVar("_Node", bound=ast.AST)
_Result = TypeVar("_Result")


def kept(function: Callable[[_Node], _Result]) -> Callable[[_Node], _Result]:
    """For functions of the syntax alone: the result is kept on the node, and lives as long as the tree."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def recalled(node: _Node) -> Any:
        known = node.__dict__
        if name not in known:
            known[name] = function(node)
        return known[name]

    return recalled


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes in a node, in the order of the source with few exceptions."""
    found: list[ast.AST] = []
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(name for name in kind._fields if name not in _SHARED)
    for name in _FIELDS[kind]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it, each before what is in it, in the order of the source with few exceptions."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)[::-1]
