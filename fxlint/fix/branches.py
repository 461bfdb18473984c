"""Branches and checks: `torch.where` for a choice between values, `torch._assert` for what only checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.conditions import negated, recorded
from fxlint.fix.messages import plain_message
from fxlint.fix.site import Site
from fxlint.fix.snippet import Code
from fxlint.project.tree import walk

MAX_CONDITION = 2000
"""Characters of a condition that is written anew, once for each finding in it."""
_SETTLE = "decide it in `__init__`, or before the traced part: what never changes belongs to the configuration"


def choice(site: Site) -> Iterator[Suggestion]:
    """`torch.where(condition, a, b)` where both sides are values; only for tensors: it takes no Python bool."""
    owner = _owner(site)
    if not isinstance(owner, (ast.If, ast.IfExp)) or _is_long(site, owner.test):
        return
    if site.is_number or site.is_plain(owner.test):
        return
    if isinstance(owner, ast.IfExp) and owner.test is _test(site, owner) and _are_values(owner.body, owner.orelse):
        new = _where(site, owner.test, owner.body, owner.orelse)
        yield site.replacement("compute both sides and choose", owner, new)
    elif isinstance(owner, ast.If):
        yield from _two_ways(site, owner)


def checked(site: Site) -> Iterator[Suggestion]:
    """`torch._assert` for an assert, and for an `if` that does nothing but raise."""
    statement = site.statement
    if isinstance(statement, (ast.Assert, ast.If)) and _is_long(site, statement.test):
        return
    if isinstance(statement, ast.Assert):
        condition = recorded(site, statement.test).text
        message = plain_message(statement.msg, site.text(statement.test))
        yield _assertion(site, statement, condition, message)
    elif isinstance(statement, ast.If) and _only_raises(statement) and site.source.indent(statement):
        condition = negated(site, statement.test).text
        message = _message(statement.body[-1], condition)
        yield _assertion(site, statement, condition, message, _otherwise(site, statement))


def settled(site: Site) -> Iterator[Suggestion]:
    """What is left where a branch is on a size."""
    if site.is_number:
        yield site.advice(_SETTLE)


def dropped(site: Site) -> Iterator[Suggestion]:
    """Drop a check of types, which fails for a Proxy whatever the input is."""
    statement = site.statement
    if isinstance(statement, ast.Assert) and _is_about_types(site, statement.test):
        yield site.rewrite("drop the check, or do it where forward is called", site.source.drop(statement))
    elif isinstance(statement, ast.Raise):
        owner = site.source.parent(statement)
        alone = isinstance(owner, ast.If) and owner.body == [statement] and not owner.orelse
        if isinstance(owner, ast.If) and alone and site.source.indent(owner) and _is_about_types(site, owner.test):
            yield site.rewrite("drop the check, or do it where forward is called", site.source.drop(owner))


def other_mode(site: Site) -> Iterator[Suggestion]:
    """Trace in the mode in which a construct that stands under `self.training` is not reached."""
    guards = {text.replace("not (not self.training)", "self.training") for text in site.finding.depends_on}
    guards = {"not self.training" if text == "not (self.training)" else text for text in guards}
    for guard, mode, call in (("self.training", "eval", "eval"), ("not self.training", "training", "train")):
        if guard in guards:
            text = f"trace in {mode} mode, with `module.{call}()` before the trace: this is not reached then"
            yield Suggestion("config", text)


def operators(site: Site) -> Iterator[Suggestion]:
    """The operators that tensors overload, for `not`, `and`, `or`, chains and `in`."""
    node = _outermost_condition(site)
    if node is None or _is_long(site, node):
        return
    new = recorded(site, node)
    if new.text != site.code(node).text:
        yield site.replacement("use operators that are recorded", node, new)


def _is_long(site: Site, condition: ast.expr) -> bool:
    start, end = site.source.span(condition)
    return end - start > MAX_CONDITION


def _only_raises(statement: ast.If) -> bool:
    """Whether the body always raises, and what follows ``else`` is no further test."""
    has_test = len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If)
    if has_test or not isinstance(statement.body[-1], ast.Raise):
        return False
    inside = (node for one in statement.body for node in walk(one))
    return not any(isinstance(node, (ast.Return, ast.Break, ast.Continue)) for node in inside)


def _otherwise(site: Site, statement: ast.If) -> str:
    """What stands after ``else``, each line after a line end, as it follows the statement."""
    if not statement.orelse:
        return ""
    first, last = statement.orelse[0], statement.orelse[-1]
    rows = (*site.source.comments_above(first), *site.source.rows(first, last))
    indent = site.source.indent(statement)
    return "".join(f"\n{indent}{row}" if row else "\n" for row in rows)


def _is_about_types(site: Site, test: ast.expr) -> bool:
    names = {node.func for node in walk(test) if isinstance(node, ast.Call)}
    return any(
        site.text(name).rpartition(".")[2] in ("isinstance", "is_tensor", "type", "issubclass") for name in names
    )


def _owner(site: Site) -> ast.AST | None:
    kinds = (ast.If, ast.IfExp, ast.While, ast.stmt)
    return next((node for node in site.source.around(site.node) if isinstance(node, kinds)), None)


def _test(site: Site, owner: ast.IfExp) -> ast.AST | None:
    inside = (site.node, *site.source.around(site.node))
    return next((node for node in inside if node is not site.source.tree and site.source.parent(node) is owner), None)


def _where(site: Site, test: ast.expr, a: ast.expr, b: ast.expr) -> Code:
    return Code(f"torch.where({recorded(site, test).text}, {site.text(a)}, {site.text(b)})")


def _two_ways(site: Site, owner: ast.If) -> Iterator[Suggestion]:
    """`if` that returns one of two values, or binds one name to one of two."""
    if not site.source.indent(owner) or len(owner.body) != 1 or len(owner.orelse) > 1:
        return
    taken = owner.body[0]
    siblings = site.source.block(owner)
    after = siblings[siblings.index(owner) + 1 :]
    other = owner.orelse[0] if owner.orelse else after[0] if after and isinstance(taken, ast.Return) else None
    if isinstance(taken, ast.Return) and isinstance(other, ast.Return):
        if not taken.value or not other.value or not _are_values(taken.value, other.value):
            return
        text = f"return {_where(site, owner.test, taken.value, other.value).text}"
        last = owner if owner.orelse else other
        yield site.rewrite("compute both sides and choose", site.source.replace_range(owner, last, text))
    elif isinstance(taken, ast.Assign) and _single_name(taken) is not None:
        target = taken.targets[0]
        if isinstance(other, ast.Assign) and _single_name(other) == _single_name(taken):
            otherwise: ast.expr = other.value
        elif not owner.orelse:
            otherwise = target
        else:
            return
        if not _are_values(taken.value, otherwise):
            return
        text = f"{site.text(target)} = {_where(site, owner.test, taken.value, otherwise).text}"
        yield site.rewrite("compute both sides and choose", site.source.replace(owner, text))


def _are_values(*sides: ast.expr) -> bool:
    """Whether `torch.where` may take both sides: no None, text or collection."""
    displays = (ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.JoinedStr)
    return not any(
        isinstance(one, displays) or (isinstance(one, ast.Constant) and not isinstance(one.value, (int, float)))
        for one in sides
    )


def _single_name(statement: ast.Assign) -> str | None:
    target = statement.targets[0]
    return target.id if len(statement.targets) == 1 and isinstance(target, ast.Name) else None


def _assertion(site: Site, statement: ast.stmt, condition: str, message: str, rest: str = "") -> Suggestion:
    new = f"torch._assert({condition}, {message}){rest}"
    return site.rewrite("say it with `torch._assert`, which becomes a node", site.source.replace(statement, new))


def _message(statement: ast.stmt, condition: str) -> str:
    """The text of an exception; the condition that has to hold where it has none."""
    thrown = statement.exc if isinstance(statement, ast.Raise) else None
    first = thrown.args[0] if isinstance(thrown, ast.Call) and thrown.args else None
    return plain_message(first, condition)


def _outermost_condition(site: Site) -> ast.expr | None:
    """The whole condition that the finding is a part of."""
    best: ast.expr | None = site.node if isinstance(site.node, ast.Compare) else None
    for node in site.source.around(site.node):
        is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        if not is_not and not isinstance(node, ast.BoolOp):
            break
        best = node if isinstance(node, ast.expr) else best
    return best
