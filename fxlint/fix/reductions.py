"""Python's own functions that compare, test or convert: the torch operators that do the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from fxlint.findings import Suggestion
from fxlint.fix.site import Site
from fxlint.fix.snippet import arguments, changed, joined


def tested(site: Site) -> Iterator[Suggestion]:
    """`a | b` for `any([a, b])`, `a & b` for `all([a, b])`, and the tensor itself for `bool(tensor)`."""
    if not isinstance(site.node, ast.Call):
        return
    old = site.text(site.node)
    new = changed(old, _tested)
    if new is not None:
        yield site.replacement("use what is recorded", site.node, new)


def _tested(call: cst.BaseExpression) -> cst.BaseExpression | None:
    given = arguments(call)
    if given is None or len(given) != 1 or not isinstance(call, cst.Call):
        return None
    (value,) = given
    if m.matches(call.func, m.Name("bool")):
        return value
    if not m.matches(call.func, m.OneOf(m.Name("any"), m.Name("all"))) or not isinstance(value, (cst.List, cst.Tuple)):
        return None
    parts = [element.value for element in value.elements if isinstance(element, cst.Element)]
    if len(parts) < 2 or len(parts) != len(value.elements):
        return None
    return joined(parts, cst.BitOr() if m.matches(call.func, m.Name("any")) else cst.BitAnd())
