"""Whether an instruction is the one that a finding is about, by the syntax of the source around both.

To lie on the same line, or inside the same statement, is not enough: in ``y[0] = np.sin(a * b)`` the product may be
rejected before ``np.sin`` is ever called, and the instruction that iterates over ``xs`` in ``for x in xs: ...`` spans
the whole loop.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import takewhile

from fxlint.findings import Location

from .kinds import Tree
from .traces import Place

_TRANSPARENT = (
    ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.NamedExpr, ast.JoinedStr, ast.FormattedValue, ast.Starred,
    ast.keyword, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Slice, ast.Expr, ast.Return, ast.Assign, ast.AnnAssign,
    ast.Delete, ast.Assert, ast.comprehension, ast.withitem,
)  # fmt: skip
"""Nodes that only pass on what their parts do: an instruction of such a node may be about a part, and the reverse."""

_OPERATIONS = (
    ast.Call, ast.BinOp, ast.Subscript, ast.Compare, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.Await, ast.Lambda,
)  # fmt: skip
"""Nodes with an instruction of their own, which runs before that of the node around them."""

_DECISIONS = (ast.BoolOp, ast.IfExp)
"""Nodes that ask a part for its truth: what is met there is the answer, and not what is done with the result."""


def is_about(location: Location, place: Place, source: str) -> bool:
    """Whether what happened at ``place`` happened to the construct at ``location`` of a file with this source.

    Without columns (before Python 3.11) the lines have to do.
    """
    if location.path != place.path:
        return False
    if place.column is None or place.end_column is None:
        return location.line <= place.line <= location.end_line
    if span_of(location) == span_of(place):
        return True
    place = head(place, source)
    if span_of(location) == span_of(place):
        return True
    if not overlap(location, place):
        return False
    tree = Tree.of(source)
    if tree is None:
        return True
    said, around_said = tree.at(Place(*_fields(location)))
    ran, around_ran = tree.at(place)
    if said is None or ran is None:
        # a place of a signature; or an instruction with a span of its own, such as that of a method's call (3.12)
        return said is None or _ends_like(location, place)
    return _passes(said, ran, around_ran) or _passes(ran, said, around_said)


def head(place: Place, source: str) -> Place:
    """The expression that an instruction of a compound statement, which spans its whole body, is about."""
    tree = Tree.of(source)
    node, _ = tree.at(place) if tree is not None else (None, ())
    if tree is None or node is None:
        return place
    first, last = _head_of(node)
    if first is None or last is None:
        return place
    start, end = tree.location(first, place.path), tree.location(last, place.path)
    return Place(place.path, start.line, start.column, end.end_line, end.end_column)


def _head_of(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return node.test, node.test
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter, node.iter
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return node.generators[0].iter, node.generators[0].iter
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return node.items[0].context_expr, node.items[-1].context_expr
    if isinstance(node, ast.Match):
        return node.subject, node.subject
    return None, None


def _passes(outer: ast.AST, inner: ast.AST, around: Sequence[ast.AST]) -> bool:
    """Whether ``inner``, with these nodes around it, lies in ``outer`` and nothing between the two runs by itself."""
    if not any(node is outer for node in around):
        return False
    if isinstance(outer, ast.AugAssign):
        return inner is outer.target
    if isinstance(inner, _OPERATIONS) and not isinstance(outer, _TRANSPARENT):
        return False
    if isinstance(outer, ast.Assign) and isinstance(inner, _OPERATIONS):
        return inner in outer.targets
    between = list(takewhile(lambda node: node is not outer, around))
    if isinstance(outer, _OPERATIONS) and any(isinstance(node, _DECISIONS) for node in (inner, *between)):
        return False
    return all(isinstance(node, _TRANSPARENT) for node in between)


def _ends_like(location: Location, place: Place) -> bool:
    return (location.end_line, location.end_column) == (place.last_line, place.end_column)


def _fields(location: Location) -> tuple[str, int, int, int, int]:
    return location.path, location.line, location.column, location.end_line, location.end_column


def span_of(at: Location | Place) -> tuple[int, int | None, int | None, int | None]:
    return (at.line, at.column, at.end_line, at.end_column)


def overlap(location: Location, place: Place) -> bool:
    """Whether two spans of one file share anything; a place without columns is taken by its lines."""
    if place.column is None or place.end_column is None:
        return location.line <= place.line <= location.end_line
    start, end = (place.line, place.column), (place.last_line, place.end_column)
    return start < (location.end_line, location.end_column) and (location.line, location.column) < end
