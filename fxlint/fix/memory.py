"""Whether a name holds memory of its own: only then may a new tensor take the place of a write into it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.fix.plain import is_plain
from fxlint.fix.source import Source

_MAKERS: Final = frozenset(
    {
        "clone", "empty", "zeros", "ones", "full", "eye", "arange", "linspace", "rand", "randn", "randint", "tensor",
        "cat", "concat", "stack", "where", "masked_fill", "index_select", "gather", "repeat", "select_scatter",
        "slice_scatter", "scatter", "index_put", "add", "sub", "mul", "div", "matmul", "bmm", "mm", "relu", "sigmoid",
        "tanh", "exp", "log", "sqrt", "abs", "clamp", "softmax", "log_softmax", "sum", "mean", "cumsum", "any", "all",
        "copy", "deepcopy",
    }
)  # fmt: skip
"""Functions and methods that always return new memory, besides `new_...` and `..._like`. Everything else may be a view
of its argument, or the argument itself."""


def shared(source: Source, function: ast.FunctionDef, write: ast.stmt, name: str) -> str | None:
    """Why writing into ``name`` can be seen under another name; None where the memory is its own."""
    is_argument = name in [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    stores = _stores(source, function, write, name, may_be_skipped=not is_argument)
    if not stores:
        return "belongs to whoever calls the function" if is_argument else "is not made in this function"
    for statement in stores:
        value = _value_of(statement)
        if value is None:
            return "may share its memory with another tensor"
        if not _is_new(value):
            return f"may share its memory with what `{' '.join(source.text(value).split())}` is made from"
    for use in _uses(source, function, write, stores[0], name):
        if _stays_known(source, use):
            return "is known under another name by then"
    return None


def _stores(
    source: Source, function: ast.FunctionDef, write: ast.stmt, name: str, *, may_be_skipped: bool
) -> list[ast.stmt]:
    """The statements that may have bound the name when the write is reached, from the last that is certainly reached.

    A name that is no argument was bound by one of them, even where each of them may be skipped.
    """
    found: dict[ast.stmt, None] = {}
    for node in _named(function, name, ast.Store):
        statement = source.statement(node)
        if not isinstance(statement, ast.AugAssign) and _is_before(
            source, statement, write
        ):  # `z += 1` keeps its memory
            found[statement] = None
    stores = sorted(found, key=lambda one: one.lineno)
    chain = (write, *source.around(write))
    certain = [
        index
        for index, one in enumerate(stores)
        if one.lineno < write.lineno and any(other in chain for other in source.block(one) if other is not one)
    ]
    if certain:
        return stores[certain[-1] :]
    return stores if may_be_skipped else []


def _uses(source: Source, function: ast.FunctionDef, write: ast.stmt, made: ast.stmt, name: str) -> Iterator[ast.Name]:
    """Where the name is read between its making and the write."""
    for node in _named(function, name, ast.Load):
        statement = source.statement(node)
        between = statement not in (write, made) and statement.lineno >= made.lineno
        if between and _is_before(source, statement, write):
            yield node


def _is_before(source: Source, statement: ast.stmt, write: ast.stmt) -> bool:
    """Whether a statement may run before the write: it stands above, or both stand in one loop."""
    loops = [node for node in source.around(write) if isinstance(node, (ast.For, ast.While))]
    return statement.lineno < write.lineno or any(node in loops for node in source.around(statement))


def _named(function: ast.FunctionDef, name: str, context: type[ast.expr_context]) -> Iterator[ast.Name]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, context):
            yield node


def _value_of(statement: ast.stmt) -> ast.expr | None:
    """What an assignment to one name binds it to."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.value if isinstance(statement.targets[0], ast.Name) else None
    return statement.value if isinstance(statement, ast.AnnAssign) else None


def _is_new(value: ast.AST) -> bool:
    """Whether an expression makes a tensor in memory of its own."""
    if isinstance(value, (ast.BinOp, ast.Compare)):
        return True
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, (ast.USub, ast.Invert))
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, owner = value.func.attr, ast.unparse(value.func.value)
    of_module = owner == "self" or (owner.startswith("self.") and name != "clone")
    writes = any(word.arg in ("out", "inplace") for word in value.keywords)
    return not of_module and not writes and (name in _MAKERS or name.startswith("new_") or name.endswith("_like"))


def _stays_known(source: Source, use: ast.Name) -> bool:
    """Whether what reads the name may keep its memory: a view of it, a container, a module that returns it."""
    node: ast.AST = use
    for parent in source.around(use):
        if _is_new(parent) or is_plain(parent, {}) is True:
            return False
        written = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store) and parent.value is node
        if written or isinstance(parent, ast.AugAssign):
            return False
        if isinstance(parent, ast.stmt):
            return True
        node = parent
    return True
