"""Sizes and numbers: lengths, conversions, tensors of a traced size, slices of constant tensors, starred sizes."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence

from fxlint.findings import Suggestion
from fxlint.fix.reductions import sole_argument
from fxlint.fix.site import Site
from fxlint.fix.snippet import POWER, PRODUCT, SUM, Code, dotted, joined, tuple_of

_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_SHAPED = frozenset(
    {"view", "reshape", "expand", "permute", "repeat", "tile", "flip", "new_zeros", "new_ones", "new_empty"}
)
_DATA = ("tensor", "as_tensor")
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp)


def length(site: Site) -> Iterator[Suggestion]:
    """`len(x)` is `x.size(0)`, and `len(x.shape)` is `x.dim()`; a list has no size."""
    parameter = site.parameter
    if parameter is None or not parameter.is_sequence or len(site.finding.provenance) != 1:
        yield from _rewritten(site, _length, "take the size instead")


def _length(site: Site, call: ast.Call) -> Code | None:
    value = sole_argument(call)
    return None if value is None else _rank(site, value) or Code(f"{site.code(value).atom}.size(0)")


def rank(site: Site, node: ast.expr) -> Code | None:
    """`x.dim()` for `len(x.shape)` and `len(x.size())`."""
    value = sole_argument(node)
    is_length = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    return _rank(site, value) if is_length and value is not None else None


def _rank(site: Site, shape: ast.expr) -> Code | None:
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return Code(f"{site.code(shape.value).atom}.dim()")
    if isinstance(shape, ast.Call) and _method(shape) == "size" and not shape.args and not shape.keywords:
        return Code(f"{_owner(site, shape)}.dim()")
    return None


def number(site: Site) -> Iterator[Suggestion]:
    """Leave a conversion out where it changes nothing, and use `//` for `int(a / b)`."""
    yield from _rewritten(site, _number, "leave the conversion out")


def _number(site: Site, call: ast.Call) -> Code | None:
    value = sole_argument(call)
    if value is None or not isinstance(call.func, ast.Name):
        return None
    is_quotient = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
    if call.func.id == "float":
        return site.code(value) if is_quotient else Code(f"{site.code(value).atom} * 1.0", PRODUCT)
    if _is_size(value):
        return site.code(value)
    if call.func.id != "int" or not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Div, ast.FloorDiv)):
        return None
    if not _is_integer(site, value.left) or not _is_integer(site, value.right):
        return None  # of a float, `//` makes a float
    return Code(f"{site.code(value.left).within(PRODUCT)} // {site.code(value.right).within(PRODUCT + 1)}", PRODUCT)


def _is_size(value: ast.expr) -> bool:
    """Whether an expression is an integer, read from a tensor."""
    if isinstance(value, ast.Call):
        return _method(value) in ("size", "dim", "numel")
    read = value.value if isinstance(value, ast.Subscript) else value
    return isinstance(read, ast.Attribute) and read.attr == ("ndim" if read is value else "shape")


def made(site: Site) -> Iterator[Suggestion]:
    """Sizes of a new tensor as one tuple; data of a new tensor through `torch.full`."""
    yield from _rewritten(site, _made, "give the sizes as one tuple")
    yield from _rewritten(site, _full, "make it with `torch.full`, which is recorded")
    yield from _new_tensor(site)


def _made(site: Site, call: ast.Call) -> Code | None:
    if _name(call.func) not in _SIZED or not call.args or _is_starred(call):
        return None
    return _called(site, call, tuple_of([site.text(size) for size in call.args]))


def _full(site: Site, call: ast.Call) -> Code | None:
    value = sole_argument(call)
    if value is None or _method(call) not in _DATA or _is_several(site, value):
        return None
    return Code(f"{_owner(site, call)}.full((), {site.text(value)})")


def _is_several(site: Site, value: ast.expr) -> bool:
    """Whether an expression is a list or a tuple, or a name that the function binds to one: no number to fill with."""
    if isinstance(value, ast.Name) and site.function is not None:
        bound = [node for node in ast.walk(site.function) if isinstance(node, ast.Assign)]
        return any(
            isinstance(node.value, _DISPLAYS)
            and any(isinstance(target, ast.Name) and target.id == value.id for target in node.targets)
            for node in bound
        )
    return isinstance(value, _DISPLAYS)


def _new_tensor(site: Site) -> Iterator[Suggestion]:
    """`x.new_tensor([n, m])`, where a parameter of the function is a tensor to take it from."""
    node, parameter = site.node, site.parameter
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _DATA:
        return
    if parameter is None or site.function is not parameter.function or len(node.args) != 1 or node.keywords:
        return
    data = node.args[0]
    if isinstance(data, (ast.List, ast.Tuple)) and all(_is_integer(site, value) for value in data.elts):
        new = Code(f"{parameter.name}.new_tensor({site.text(data)}, dtype=torch.int64)")
        yield site.replacement(f"make it from `{parameter.name}`, on its device", node, new)


def _is_integer(site: Site, value: ast.expr) -> bool:
    """Whether an expression is an integer: a size, a name for one, or computed from such without division.

    Of other numbers it is not known which dtype a tensor of them gets.
    """
    if isinstance(value, ast.Constant):
        return type(value.value) is int
    if isinstance(value, ast.BinOp):
        computed = isinstance(value.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod))
        return computed and _is_integer(site, value.left) and _is_integer(site, value.right)
    return _is_size(value) or (isinstance(value, ast.Name) and _names_a_size(site, value.id))


def _names_a_size(site: Site, name: str) -> bool:
    """Whether all that the function binds to a name are sizes of tensors."""
    stores = site.source.facts(site.function).stores.get(name, []) if site.function is not None else []
    bound = [(one, site.source.statement(one)) for one in stores]
    return bool(bound) and all(isinstance(found, ast.Assign) and _binds_size(found, one) for one, found in bound)


def _binds_size(statement: ast.Assign, name: ast.Name) -> bool:
    """`h = x.shape[0]`, or one of several as in `h, w = x.shape[-2:]`."""
    value = statement.value
    if any(target is name for target in statement.targets):
        return _is_size(value)
    read = value.value if isinstance(value, ast.Subscript) else value
    of_size = isinstance(read, ast.Attribute) and read.attr == "shape"
    return of_size or (isinstance(read, ast.Call) and _method(read) == "size" and not read.args)


def constant(site: Site) -> Iterator[Suggestion]:
    """`torch.narrow` for the slice of a real tensor; its sizes as one tuple."""
    if isinstance(site.node, ast.Subscript):
        new = _narrowed(site, site.node)
        if new is not None:
            yield site.replacement("take the part with `torch.narrow`", site.node, new)
    else:
        yield from _rewritten(site, _shaped, "give the sizes as one tuple")


def _narrowed(site: Site, node: ast.Subscript) -> Code | None:
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
    base, upper = site.text(node.value), site.code(part.upper)
    if part.lower is None or (isinstance(part.lower, ast.Constant) and part.lower.value == 0):
        return Code(f"torch.narrow({base}, {dim}, 0, {upper.text})")
    lower = site.code(part.lower)
    span = f"{upper.within(SUM)} - {lower.within(SUM + 1)}"
    end = part.upper
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add) and ast.dump(end.left) == ast.dump(part.lower):
        span = site.code(end.right).text
    return Code(f"torch.narrow({base}, {dim}, {lower.text}, {span})")


def _shaped(site: Site, call: ast.Call) -> Code | None:
    if _name(call.func) not in _SHAPED or not call.args or call.keywords or _is_starred(call):
        return None
    return _called(site, call, tuple_of([site.text(size) for size in call.args]))


def starred(site: Site) -> Iterator[Suggestion]:
    """The tuple itself for a starred one: `x.view(shape)`; parts of a shape joined with `+`."""
    node = site.node
    if isinstance(node, ast.Call):
        yield from _rewritten(site, _unstarred, "give the sizes as they are, in one tuple")
    elif isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        new = _parts(site, node.elts)
        if new is not None:
            yield site.replacement("join the parts with `+`", node, new)
    elif isinstance(node, ast.Tuple):
        yield from _starred_target(site, node)


def _unstarred(site: Site, call: ast.Call) -> Code | None:
    if _name(call.func) not in _SHAPED | _SIZED:
        return None
    sizes = _parts(site, call.args)
    return None if sizes is None else _called(site, call, sizes)


def _parts(site: Site, items: Sequence[ast.expr]) -> Code | None:
    """``shape[:-1] + (2, 4)`` for ``*shape[:-1], 2, 4``; None where nothing is starred."""
    parts: list[Code] = []
    for is_starred, group in itertools.groupby(items, key=lambda item: isinstance(item, ast.Starred)):
        if is_starred:
            parts += [site.code(one.value) for one in group if isinstance(one, ast.Starred)]
        else:
            parts.append(tuple_of([site.text(one) for one in group]))
    return joined(parts, "+", SUM) if any(isinstance(one, ast.Starred) for one in items) else None


def _starred_target(site: Site, node: ast.Tuple) -> Iterator[Suggestion]:
    """`a, *rest = shape` as one assignment of an item or a slice for each name."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or not site.source.indent(statement):
        return
    position = next((index for index, one in enumerate(node.elts) if isinstance(one, ast.Starred)), None)
    if position is None:
        return
    value = site.code(statement.value).atom
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


def _power(site: Site, call: ast.Call) -> Code | None:
    value = sole_argument(call)
    return None if value is None else Code(f"{site.code(value).atom} ** 0.5", POWER)


def _rewritten(site: Site, change: Callable[[Site, ast.Call], Code | None], text: str) -> Iterator[Suggestion]:
    if isinstance(site.node, ast.Call):
        new = change(site, site.node)
        if new is not None and new.text != site.text(site.node):
            yield site.replacement(text, site.node, new)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else dotted(function)


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _owner(site: Site, call: ast.Call) -> str:
    """What a method is called on."""
    return site.code(call.func.value).atom if isinstance(call.func, ast.Attribute) else ""


def _is_starred(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords)


def _called(site: Site, call: ast.Call, sizes: Code) -> Code:
    """The call with its sizes as one argument; the rest keeps its form where nothing else stands in between."""
    text = site.source.file.text
    (start, end), (_, function), (first, _), (_, last) = map(
        site.source.span, (call, call.func, call.args[0], call.args[-1])
    )
    before, after = text[function:first], text[last:end]
    is_plain = after.lstrip().startswith(",") if call.keywords else "".join(after.split()).lstrip(",") == ")"
    if before.strip() == "(" and is_plain:
        return Code(f"{text[start:first]}{sizes.text}{after}")
    words = [f"{word.arg}=" if word.arg else "**" for word in call.keywords]
    words = [f"{name}{site.text(word.value)}" for name, word in zip(words, call.keywords, strict=True)]
    return Code(f"{site.text(call.func)}({', '.join([sizes.text, *words])})")
