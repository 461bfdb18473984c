"""Going through a syntax tree, several times as fast as ``ast`` does it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

_SHARED: Final = frozenset({"ctx", "op", "ops", "kind", "type_comment", "type_ignores"})
"""Fields without nodes of their own: all trees share one `Load`."""
_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}


_Node = TypeVar("_Node", bound=ast.AST)
_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")


def kept(function: Callable[Concatenate[_Node, _Given], _Result]) -> Callable[Concatenate[_Node, _Given], _Result]:
    """For functions of a node, and of the source that it stands in: the result is kept on the node, for as long as the
    tree lives.
    """
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def recalled(node: _Node, /, *args: _Given.args, **keywords: _Given.kwargs) -> _Result:
        known = node.__dict__
        if name not in known:
            known[name] = function(node, *args, **keywords)
        found: _Result = known[name]
        return found

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
