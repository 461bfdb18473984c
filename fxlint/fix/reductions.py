"""Python's own functions that compare, test or convert: the torch operators that do the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.site import Site
from fxlint.fix.snippet import BIT_AND, BIT_OR, Code, joined


def tested(site: Site) -> Iterator[Suggestion]:
    """`a | b` for `any([a, b])`, `a & b` for `all([a, b])`, and the tensor itself for `bool(tensor)`."""
    call = site.node
    value = sole_argument(call)
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and value is not None:
        new = _tested(site, call.func.id, value)
        if new is not None:
            yield site.replacement("use what is recorded", call, new)


def sole_argument(call: ast.AST) -> ast.expr | None:
    """The argument of a call that has one, by position and without a star."""
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None
    return None if isinstance(call.args[0], ast.Starred) else call.args[0]


def _tested(site: Site, function: str, value: ast.expr) -> Code | None:
    if function == "bool":
        return site.code(value)
    if function not in ("any", "all") or not isinstance(value, (ast.List, ast.Tuple)):
        return None
    if len(value.elts) < 2 or any(isinstance(one, ast.Starred) for one in value.elts):
        return None
    parts = [site.code(one) for one in value.elts]
    return joined(parts, "|", BIT_OR) if function == "any" else joined(parts, "&", BIT_AND)
