"""Sizes and numbers: lengths, conversions, tensors of a traced size, slices of constant tensors, starred sizes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

import libcst as cst
import libcst.matchers as m

from fxlint.findings import Suggestion
from fxlint.fix.lengths import is_sequence
from fxlint.fix.site import Site
from fxlint.fix.snippet import Change, arguments, atom, changed, code, expression, joined, template

_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_SHAPED = frozenset(
    {"view", "reshape", "expand", "permute", "repeat", "tile", "flip", "new_zeros", "new_ones", "new_empty"}
)
_SHAPE = m.Attribute(attr=m.Name("shape")) | m.Call(func=m.Attribute(attr=m.Name("size")), args=[])
_SIZE = (
    m.Subscript(value=m.Attribute(attr=m.Name("shape")))
    | m.Call(func=m.Attribute(attr=m.OneOf(m.Name("size"), m.Name("dim"), m.Name("numel"))))
    | m.Attribute(attr=m.Name("ndim"))
)

_DATA = ("tensor", "as_tensor")


def length(site: Site) -> Iterator[Suggestion]:
    """`len(x)` is `x.size(0)`, and `len(x.shape)` is `x.dim()`; a list has no size."""
    parameter = site.parameter
    if parameter is None or not is_sequence(parameter) or len(site.finding.provenance) != 1:
        yield from _rewritten(site, _length, "take the size instead")


def _length(call: cst.BaseExpression) -> cst.BaseExpression | None:
    given = arguments(call)
    if given is None or len(given) != 1:
        return None
    (value,) = given
    if m.matches(value, _SHAPE):
        owner = value.value if isinstance(value, cst.Attribute) else cst.ensure_type(value, cst.Call).func
        if isinstance(owner, cst.Attribute) and isinstance(value, cst.Call):
            owner = owner.value
        return template("{x}.dim()", x=owner)
    return template("{x}.size(0)", x=atom(value))


def number(site: Site) -> Iterator[Suggestion]:
    """Leave a conversion out where it changes nothing, and use `//` for `int(a / b)`."""
    yield from _rewritten(site, _number, "leave the conversion out")


def _number(call: cst.BaseExpression) -> cst.BaseExpression | None:
    given = arguments(call)
    if given is None or len(given) != 1 or not isinstance(call, cst.Call):
        return None
    (value,) = given
    is_int = m.matches(call.func, m.Name("int"))
    is_integer = m.matches(value, _SIZE) or (is_int and m.matches(value, m.BinaryOperation(operator=m.FloorDivide())))
    if is_integer and not m.matches(call.func, m.Name("float")):
        return value
    if is_int and isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Divide):
        return value.with_changes(operator=cst.FloorDivide(), lpar=[], rpar=[])
    if m.matches(call.func, m.Name("float")):
        quotient = m.matches(value, m.BinaryOperation(operator=m.Divide()))
        return value if quotient else template("{x} * 1.0", x=atom(value))
    return None


def made(site: Site) -> Iterator[Suggestion]:
    """Sizes of a new tensor as one tuple; data of a new tensor through `torch.full`."""
    yield from _rewritten(site, _made, "give the sizes as one tuple")
    yield from _rewritten(site, _full, "make it with `torch.full`, which is recorded")
    yield from _new_tensor(site)


def _made(call: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(call, cst.Call) or _name(call.func) not in _SIZED:
        return None
    sizes = [argument for argument in call.args if not argument.keyword]
    if not sizes or any(argument.star for argument in call.args):
        return None
    return call.with_changes(args=[cst.Arg(_tuple([argument.value for argument in sizes])), *_keywords(call)])


def _full(call: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(call.args) != 1:
        return None
    given = call.args[0]
    is_number = not given.keyword and not given.star and not isinstance(given.value, (cst.List, cst.Tuple))
    if call.func.attr.value not in _DATA or not is_number:
        return None
    return template("{torch}.full((), {value})", torch=call.func.value, value=given.value)


def _new_tensor(site: Site) -> Iterator[Suggestion]:
    """`x.new_tensor([n, m])`, where a parameter of the function is a tensor to take it from."""
    node, parameter = site.node, site.parameter
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _DATA:
        return
    if parameter is None or site.function is not parameter.function or len(node.args) != 1 or node.keywords:
        return
    if isinstance(node.args[0], (ast.List, ast.Tuple)):
        new = f"{parameter.name}.new_tensor({site.text(node.args[0])})"
        yield site.replacement(f"make it from `{parameter.name}`, with its dtype and device", node, new)


def constant(site: Site) -> Iterator[Suggestion]:
    """`torch.narrow` for the slice of a real tensor; its sizes as one tuple."""
    if isinstance(site.node, ast.Subscript):
        new = _narrowed(site, site.node)
        if new is not None:
            yield site.replacement("take the part with `torch.narrow`", site.node, new)
    else:
        yield from _rewritten(site, _shaped, "give the sizes as one tuple")


def _narrowed(site: Site, node: ast.Subscript) -> str | None:
    """`torch.narrow(x, dim, start, length)` for one bounded slice among full ones."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    bounded = [
        (dim, part)
        for dim, part in enumerate(parts)
        if not (isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None)
    ]
    if len(bounded) != 1:
        return None
    ((dim, part),) = bounded
    if not isinstance(part, ast.Slice) or part.step is not None or part.upper is None:
        return None
    base, upper = site.text(node.value), code(expression(site.text(part.upper)))
    if part.lower is None or (isinstance(part.lower, ast.Constant) and part.lower.value == 0):
        return f"torch.narrow({base}, {dim}, 0, {upper})"
    lower = expression(site.text(part.lower))
    span = f"{code(atom(expression(upper)))} - {code(atom(lower))}"
    if ast.unparse(part.upper).startswith(f"{ast.unparse(part.lower)} + "):
        span = ast.unparse(part.upper).removeprefix(f"{ast.unparse(part.lower)} + ")
    return f"torch.narrow({base}, {dim}, {code(lower)}, {span})"


def _shaped(call: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(call, cst.Call) or _name(call.func) not in _SHAPED:
        return None
    if not call.args or any(argument.keyword or argument.star for argument in call.args):
        return None
    return call.with_changes(args=[cst.Arg(_tuple([argument.value for argument in call.args]))])


def starred(site: Site) -> Iterator[Suggestion]:
    """The tuple itself for a starred one: `x.view(shape)`; parts of a shape joined with `+`."""
    node = site.node
    if isinstance(node, ast.Call):
        yield from _rewritten(site, _unstarred_call, "give the sizes as they are, in one tuple")
    elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        yield from _rewritten(site, _sum_of_parts, "join the parts with `+`")
    elif isinstance(node, ast.Tuple):
        yield from _starred_target(site, node)


def _unstarred_call(call: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(call, cst.Call) or _name(call.func) not in _SHAPED | _SIZED:
        return None
    sizes = [argument for argument in call.args if not argument.keyword and argument.star != "**"]
    if len(sizes) == 1 and sizes[0].star:
        return call.with_changes(args=[cst.Arg(sizes[0].value), *_keywords(call)])
    joined = _parts([(argument.value, bool(argument.star)) for argument in sizes])
    return None if joined is None else call.with_changes(args=[cst.Arg(joined), *_keywords(call)])


def _sum_of_parts(display: cst.BaseExpression) -> cst.BaseExpression | None:
    if not isinstance(display, (cst.Tuple, cst.List)):
        return None
    return _parts([(element.value, isinstance(element, cst.StarredElement)) for element in display.elements])


def _parts(items: Sequence[tuple[cst.BaseExpression, bool]]) -> cst.BaseExpression | None:
    """``shape[:-1] + (2, 4)`` for ``*shape[:-1], 2, 4``; None where nothing is starred."""
    groups = itertools.groupby(items, key=lambda item: item[1])
    parts: list[cst.BaseExpression] = []
    for is_starred, group in groups:
        values = [value for value, _ in group]
        parts += values if is_starred else [_tuple(values)]
    if not any(is_starred for _, is_starred in items):
        return None
    return joined(parts, cst.Add())


def _starred_target(site: Site, node: ast.Tuple) -> Iterator[Suggestion]:
    """`a, *rest = shape` as one assignment of an item or a slice for each name."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or not site.source.indent(statement):
        return
    position = next((index for index, one in enumerate(node.elts) if isinstance(one, ast.Starred)), None)
    if position is None:
        return
    value = code(atom(expression(site.text(statement.value))))
    after = len(node.elts) - position - 1
    items = []
    for index, one in enumerate(node.elts):
        if isinstance(one, ast.Starred):
            end = f"-{after}" if after else ""
            items.append(f"{value}[{position or ''}:{end}]")
        else:
            items.append(f"{value}[{index if index < position else index - len(node.elts)}]")
    names = ", ".join(site.text(one.value if isinstance(one, ast.Starred) else one) for one in node.elts)
    new = f"{names} = {', '.join(items)}"
    yield site.rewrite("take the items and the slice one by one", site.source.replace(statement, new))


def root(site: Site) -> Iterator[Suggestion]:
    """`n ** 0.5` for `sqrt(n)`."""
    if "math.sqrt" in site.names:
        yield from _rewritten(site, _power, "write it as a power, which every Tracer records")


def _power(call: cst.BaseExpression) -> cst.BaseExpression | None:
    given = arguments(call)
    return template("{n} ** 0.5", n=atom(given[0])) if given is not None and len(given) == 1 else None


def _rewritten(site: Site, change: Change, text: str) -> Iterator[Suggestion]:
    if not isinstance(site.node, ast.expr):
        return
    old = site.text(site.node)
    new = changed(old, change)
    if new is not None and new != old:
        yield site.replacement(text, site.node, new)


def _name(function: cst.BaseExpression) -> str:
    return function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")


def _keywords(call: cst.Call) -> list[cst.Arg]:
    return [argument for argument in call.args if argument.keyword]


def _tuple(values: Sequence[cst.BaseExpression]) -> cst.Tuple:
    elements = [cst.Element(value) for value in values]
    return cst.Tuple([elements[0].with_changes(comma=cst.Comma())] if len(elements) == 1 else elements)
