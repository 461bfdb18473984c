"""Conditions in a form that is recorded: `&` and `|` for `and` and `or`, comparisons one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst
import libcst.matchers as m

from fxlint.fix.snippet import atom, code, joined, template

_OPPOSITES: tuple[tuple[type[cst.BaseCompOp], type[cst.BaseCompOp]], ...] = (
    (cst.Equal, cst.NotEqual),
    (cst.LessThan, cst.GreaterThanEqual),
    (cst.GreaterThan, cst.LessThanEqual),
)
IsPlain = Callable[[str], bool]
"""Whether an expression is a plain Python value when the graph runs: `torch.logical_not` takes none."""
_MODE = m.Attribute(attr=m.Name("training"))
"""The mode of a module: a real bool while tracing."""
_ISINSTANCE = m.Call(func=m.Name("isinstance") | m.Attribute(attr=m.Name("is_tensor")))


def recorded(condition: cst.BaseExpression, is_plain: IsPlain) -> cst.BaseExpression:
    """The condition without `and`, `or`, `not`, chained comparisons, and `in` with a list of choices.

    Checks with ``isinstance`` fall out of conjunctions: a Proxy has no type that they could find.
    """
    if isinstance(condition, cst.BooleanOperation):
        is_and = isinstance(condition.operator, cst.And)
        if is_and and m.matches(condition.left, _ISINSTANCE):
            return recorded(condition.right, is_plain)
        if is_and and m.matches(condition.right, _ISINSTANCE):
            return recorded(condition.left, is_plain)
        return _joined([condition.left, condition.right], is_and, is_plain)
    if isinstance(condition, cst.UnaryOperation) and isinstance(condition.operator, cst.Not):
        return negated(condition.expression, is_plain)
    if isinstance(condition, cst.Comparison):
        return _comparison(condition, is_plain)
    return condition


def negated(condition: cst.BaseExpression, is_plain: IsPlain) -> cst.BaseExpression:
    """The opposite of a condition, in recorded form."""
    if isinstance(condition, cst.BooleanOperation):
        parts = [negated(condition.left, is_plain), negated(condition.right, is_plain)]
        return _joined(parts, isinstance(condition.operator, cst.Or), is_plain)
    if isinstance(condition, cst.UnaryOperation) and isinstance(condition.operator, cst.Not):
        return recorded(condition.expression, is_plain)
    if isinstance(condition, cst.Comparison) and len(condition.comparisons) == 1:
        (target,) = condition.comparisons
        opposite = _opposite(target.operator)
        if opposite is not None:
            return recorded(condition.with_changes(comparisons=[target.with_changes(operator=opposite)]), is_plain)
    if m.matches(condition, _MODE):
        return cst.UnaryOperation(cst.Not(), condition)
    new = recorded(condition, is_plain)
    if is_plain(code(condition)):
        return template("{condition} == 0", condition=atom(new))
    return template("torch.logical_not({condition})", condition=_unwrapped(new))


def _opposite(operator: cst.BaseCompOp) -> cst.BaseCompOp | None:
    if isinstance(operator, cst.In):
        return cst.NotIn()
    if isinstance(operator, cst.NotIn):
        return cst.In()
    for one, other in (*_OPPOSITES, *((b, a) for a, b in _OPPOSITES)):
        if isinstance(operator, one):
            return other()
    return None


def _comparison(condition: cst.Comparison, is_plain: IsPlain) -> cst.BaseExpression:
    left = condition.left
    parts: list[cst.BaseExpression] = []
    for target in condition.comparisons:
        parts.append(_single(left, target, is_plain))
        left = target.comparator
    if len(parts) == 1:
        return parts[0].with_changes(lpar=condition.lpar, rpar=condition.rpar) if _is_plain(parts[0]) else parts[0]
    return _joined(parts, True, is_plain)


def _is_plain(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Comparison)


def _single(left: cst.BaseExpression, target: cst.ComparisonTarget, is_plain: IsPlain) -> cst.BaseExpression:
    choices = target.comparator
    if isinstance(target.operator, (cst.In, cst.NotIn)) and isinstance(choices, (cst.Tuple, cst.List, cst.Set)):
        wanted = isinstance(target.operator, cst.In)
        operator = cst.Equal() if wanted else cst.NotEqual()
        parts = [
            cst.Comparison(left, [cst.ComparisonTarget(operator, element.value)])
            for element in choices.elements
            if isinstance(element, cst.Element)
        ]
        if parts and len(parts) == len(choices.elements):
            return parts[0] if len(parts) == 1 else _joined(parts, not wanted, is_plain)
    return cst.Comparison(left, [target])


def _joined(parts: Sequence[cst.BaseExpression], is_and: bool, is_plain: IsPlain) -> cst.BaseExpression:
    return joined([recorded(part, is_plain) for part in parts], cst.BitAnd() if is_and else cst.BitOr())


def _unwrapped(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[], rpar=[]) if isinstance(node, cst.Comparison) else node
