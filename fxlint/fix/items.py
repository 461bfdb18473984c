"""Item assignment: a graph has values, not memory, so the new tensor is built instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.memory import shared
from fxlint.fix.site import Site

_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}


def assigned(site: Site) -> Iterator[Suggestion]:
    """`torch.select_scatter` or `torch.slice_scatter` for one index among full slices, `torch.where` for a mask."""
    statement = site.statement
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], site.text(statement.value)
        is_number = isinstance(_unsigned(statement.value), ast.Constant)
    elif isinstance(statement, ast.AugAssign) and type(statement.op) in _OPERATORS:
        target = statement.target
        value = f"{site.text(target)} {_OPERATORS[type(statement.op)]} {site.code(statement.value).atom}"
        is_number = False
    else:
        return
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name) or site.function is None:
        return
    if shared(site.source, site.function, statement, target.value.id) is not None:
        return
    new = _scattered(site, target, value, is_number)
    if new is None and is_number and isinstance(target.slice, ast.Name):
        base, index = target.value.id, target.slice.id
        new = f"torch.index_put({base}, ({index},), {base}.new_tensor({value}))"
    if new is not None:
        text = f"{target.value.id} = {new}"
        yield site.rewrite("build the new tensor", site.source.replace(statement, text))


def advised(site: Site) -> Iterator[Suggestion]:
    """What the writer has to know; where the memory is shared, why no new tensor can do the work of the write."""
    name = _base(site)
    why = shared(site.source, site.function, site.statement, name) if name is not None and site.function else None
    if why is not None:
        yield site.advice(
            f"`{name}` {why}, and the write is seen there too; a new tensor in its place would not be: write in a "
            "function that torch.fx.wrap makes one node, or compute what was to be seen there from the new tensor"
        )
        return
    yield site.advice("build the new tensor: `torch.where`, `torch.cat`, `torch.stack`, `masked_fill` or `scatter`")


def _scattered(site: Site, target: ast.Subscript, value: str, is_number: bool) -> str | None:
    base, index = site.text(target.value), target.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if isinstance(parts[0], ast.Constant) and parts[0].value is ...:
        numbered = [(dim - len(parts), part) for dim, part in enumerate(parts)][1:]  # from the last dimension back
    else:
        numbered = list(enumerate(parts))
    bounded = [(dim, part) for dim, part in numbered if not _is_full(part)]
    if len(bounded) != 1 or any(isinstance(part, ast.Constant) and part.value in (None, ...) for _, part in numbered):
        return None
    ((dim, part),) = bounded
    part_of_base = site.text(target)
    source = f"torch.full_like({part_of_base}, {value})" if is_number else value
    if isinstance(part, ast.Slice):
        names = {"start": part.lower, "end": part.upper, "step": part.step}
        bounds = "".join(f", {name}={site.text(bound)}" for name, bound in names.items() if bound is not None)
        return f"torch.slice_scatter({base}, {source}, {dim}{bounds})"
    number = _unsigned(part)
    if isinstance(number, ast.Constant) and isinstance(number.value, int):
        return f"torch.select_scatter({base}, {source}, {dim}, {site.text(part)})"
    return (
        f"torch.where({site.text(part)}, {value}, {base})"
        if len(parts) == 1 and isinstance(part, ast.Compare)
        else None
    )


def _base(site: Site) -> str | None:
    """The name whose item is written."""
    statement = site.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    base = targets[0].value if isinstance(targets[0], ast.Subscript) else None
    return base.id if isinstance(base, ast.Name) else None


def _unsigned(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node


def _is_full(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None
