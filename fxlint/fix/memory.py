"""Whether a name holds memory of its own: only then may a new tensor take the place of a write into it."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence
from typing import Final

from fxlint.fix.facts import FunctionFacts
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
    facts = source.facts(function)
    is_argument = name in facts.parameters
    stores = _stores(source, facts, write, name, may_be_skipped=not is_argument)
    if not stores:
        return "belongs to whoever calls the function" if is_argument else "is not made in this function"
    for statement in stores:
        value = _value_of(statement)
        if value is None:
            return "may share its memory with another tensor"
        if not _is_new(value):
            return f"may share its memory with what `{' '.join(source.text(value).split())}` is made from"
    if _is_kept(source, facts, write, stores[0], name):
        return "is known under another name by then"
    return None


def _stores(
    source: Source, facts: FunctionFacts, write: ast.stmt, name: str, *, may_be_skipped: bool
) -> list[ast.stmt]:
    """The statements that may have bound the name when the write is reached, from the last that is certainly reached.

    A name that is no argument was bound by one of them, even where each of them may be skipped.
    """
    loops = _loops(source, write)
    chain = [one for one in (write, *source.around(write)) if isinstance(one, ast.stmt)]
    blocks = {id(source.block(one)): one for one in chain}
    last = max([write.lineno, *(loop.end_lineno or 0 for loop in loops)])
    names = facts.stores.get(name, [])
    found: list[ast.stmt] = []
    for number in range(bisect.bisect_right(names, last, key=lambda one: one.lineno) - 1, -1, -1):
        statement = source.statement(names[number])
        if isinstance(statement, ast.AugAssign) or not _is_before(source, statement, write, loops):
            continue  # `z += 1` keeps its memory
        found.append(statement)
        on_the_way = blocks.get(id(source.block(statement)), statement)
        if statement.lineno < write.lineno and on_the_way is not statement:
            return found[::-1]
    return found[::-1] if may_be_skipped else []


def _is_kept(source: Source, facts: FunctionFacts, write: ast.stmt, made: ast.stmt, name: str) -> bool:
    """Whether the name is read between its making and the write in a way that keeps its memory."""
    if name not in facts.kept:
        facts.kept[name] = [use for use in facts.loads.get(name, ()) if _stays_known(source, use)]
    loops = _loops(source, write)
    uses = (source.statement(use) for use in facts.kept[name])
    return any(
        use not in (write, made) and use.lineno >= made.lineno and _is_before(source, use, write, loops) for use in uses
    )


def _loops(source: Source, write: ast.stmt) -> list[ast.For | ast.While]:
    return [node for node in source.around(write) if isinstance(node, (ast.For, ast.While))]


def _is_before(source: Source, statement: ast.stmt, write: ast.stmt, loops: Sequence[ast.stmt]) -> bool:
    """Whether a statement may run before the write: it stands above, or both stand in one loop."""
    return statement.lineno < write.lineno or (bool(loops) and any(node in loops for node in source.around(statement)))


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
    name, owner = value.func.attr, value.func.value
    of_module = _starts_with_self(owner) and (isinstance(owner, ast.Name) or name != "clone")
    writes = any(word.arg in ("out", "inplace") for word in value.keywords)
    return not of_module and not writes and (name in _MAKERS or name.startswith("new_") or name.endswith("_like"))


def _starts_with_self(node: ast.AST) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id == "self"


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
