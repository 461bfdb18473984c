"""Conditions in a form that is recorded: `&` and `|` for `and` and `or`, comparisons one by one."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from fxlint.fix.site import Site
from fxlint.fix.sizes import rank
from fxlint.fix.snippet import BIT_AND, BIT_OR, COMPARISON, NOT, Code, dotted, joined

_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_OPPOSITES: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CHECKS: Final = ("isinstance", "is_tensor")


def recorded(site: Site, condition: ast.expr) -> Code:
    """The condition without `and`, `or`, `not`, chained comparisons, and `in` with a list of choices.

    Checks with ``isinstance`` fall out of conjunctions: a Proxy has no type that they could find. Where the length of a
    shape is compared, the rank takes its place: no edit of its own can change what stands in the rewritten condition.
    """
    if isinstance(condition, ast.BoolOp):
        is_and = isinstance(condition.op, ast.And)
        values = _without_checks(condition.values) if is_and else condition.values
        return _joined([recorded(site, value) for value in values], is_and=is_and)
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return negated(site, condition.operand)
    if isinstance(condition, ast.Compare):
        return _comparison(site, condition)
    return site.code(condition)


def negated(site: Site, condition: ast.expr) -> Code:
    """The opposite of a condition, in recorded form."""
    if isinstance(condition, ast.BoolOp):
        is_and = isinstance(condition.op, ast.Or)
        values = _without_checks(condition.values) if is_and else condition.values
        return _joined([negated(site, value) for value in values], is_and=is_and)
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return recorded(site, condition.operand)
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and type(condition.ops[0]) in _OPPOSITES:
        opposite = _OPPOSITES[type(condition.ops[0])]
        return _single(site, condition.left, opposite, condition.comparators[0])
    if isinstance(condition, ast.Attribute) and condition.attr == "training":  # the mode: a real bool while tracing
        return Code(f"not {site.text(condition)}", NOT)
    new = recorded(site, condition)
    if site.is_plain(condition):  # `torch.logical_not` takes none
        return Code(f"{new.atom} == 0", COMPARISON)
    return Code(f"torch.logical_not({new.text})")


def _without_checks(values: Sequence[ast.expr]) -> Sequence[ast.expr]:
    """The parts of a condition that are no checks of types, negated or not; the last one where all are."""
    return [value for value in values if not _is_check(value)] or values[-1:]


def _is_check(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        value = value.operand
    return isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _CHECKS


def _comparison(site: Site, condition: ast.Compare) -> Code:
    if len(condition.ops) == 1:
        operator, right = condition.ops[0], condition.comparators[0]
        is_recorded = not _choices(operator, right) and not any(rank(site, one) for one in (condition.left, right))
        return site.code(condition) if is_recorded else _single(site, condition.left, type(operator), right)
    lefts = [condition.left, *condition.comparators]
    parts = zip(lefts, condition.ops, condition.comparators, strict=False)
    return _joined([_single(site, left, type(operator), right) for left, operator, right in parts], is_and=True)


def _single(site: Site, left: ast.expr, operator: type[ast.cmpop], right: ast.expr) -> Code:
    choices = _choices(operator(), right)
    if not choices:
        return _compared(site, left, operator, right)
    each = ast.Eq if operator is ast.In else ast.NotEq
    return _joined([_compared(site, left, each, choice) for choice in choices], is_and=operator is ast.NotIn)


def _choices(operator: ast.cmpop, choices: ast.expr) -> list[ast.expr]:
    """The items of a display that something is looked up in; none for any other comparison."""
    if not isinstance(operator, (ast.In, ast.NotIn)) or not isinstance(choices, (ast.Tuple, ast.List, ast.Set)):
        return []
    return [] if any(isinstance(one, ast.Starred) for one in choices.elts) else choices.elts


def _compared(site: Site, left: ast.expr, operator: type[ast.cmpop], right: ast.expr) -> Code:
    sides = [(rank(site, one) or site.code(one)).within(BIT_OR) for one in (left, right)]
    return Code(f"{sides[0]} {_SIGNS[operator]} {sides[1]}", COMPARISON)


def _joined(parts: Sequence[Code], *, is_and: bool) -> Code:
    return joined(parts, "&", BIT_AND) if is_and else joined(parts, "|", BIT_OR)
