"""Pieces of source as libcst nodes: what a rewrite leaves alone keeps its formatting and comments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import libcst as cst
from libcst.helpers import parse_template_expression

_ATOMS = (
    cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString,
    cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp,
)  # fmt: skip

_CONFIG = cst.PartialParserConfig()

Change = Callable[[cst.BaseExpression], "cst.BaseExpression | None"]


def expression(text: str) -> cst.BaseExpression:
    """Parse an expression; one that goes over several lines without parentheses gets them."""
    try:
        return cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return cst.parse_expression(f"({text})")


def code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)


def atom(node: cst.BaseExpression) -> cst.BaseExpression:
    """The expression in parentheses, unless it needs none wherever it stands."""
    if isinstance(node, _ATOMS) or node.lpar:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def template(pattern: str, **parts: cst.BaseExpression) -> cst.BaseExpression:
    return parse_template_expression(pattern, _CONFIG, **parts)


def joined(parts: Sequence[cst.BaseExpression], operator: cst.BaseBinaryOp) -> cst.BaseExpression:
    """``a | b | c``, each part in parentheses where it needs them."""
    first, *rest = map(atom, parts)
    return functools.reduce(lambda left, right: cst.BinaryOperation(left, operator, right), rest, first)


def changed(text: str, change: Change) -> str | None:
    """The text of an expression after ``change``; None where there is nothing to change."""
    new = change(expression(text))
    return None if new is None else code(new)


def arguments(call: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """The values of a call with positional arguments only; None for other calls and for what is no call."""
    if not isinstance(call, cst.Call) or any(argument.keyword or argument.star for argument in call.args):
        return None
    return [argument.value for argument in call.args]
