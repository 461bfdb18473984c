"""What suggestions ask of a function or a class again and again, found out by going through it once."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property

from fxlint.project.tree import walk

Assignment = ast.Assign | ast.AnnAssign
_Names = dict[str, list[ast.Name]]


class FunctionFacts:
    """The parameters of a function and where its names are bound, read and called."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        self._arguments = [one for one in named if one is not None]
        self.parameters = frozenset(one.arg for one in self._arguments)
        self.kept: dict[str, list[ast.Name]] = {}
        """The uses of a name that may keep its memory, for those names that ``memory`` was asked about."""

    @property
    def stores(self) -> dict[str, list[ast.Name]]:
        """Where each name is bound, in the order of the source."""
        return self._names[0]

    @property
    def loads(self) -> dict[str, list[ast.Name]]:
        """Where each name is read, in the order of the source."""
        return self._names[1]

    @property
    def called(self) -> dict[str, list[ast.Call]]:
        """The calls of each name."""
        return self._names[2]

    @cached_property
    def _names(self) -> tuple[_Names, _Names, dict[str, list[ast.Call]]]:
        stores: _Names = {}
        loads: _Names = {}
        called: dict[str, list[ast.Call]] = {}
        for node in walk(self.function):
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    stores.setdefault(node.id, []).append(node)
                elif isinstance(node.ctx, ast.Load):
                    loads.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called.setdefault(node.func.id, []).append(node)
        for found in (*stores.values(), *loads.values()):
            found.sort(key=_position)
        return stores, loads, called

    @cached_property
    def annotations(self) -> dict[str, ast.expr]:
        """The parameters that are annotated."""
        return {one.arg: one.annotation for one in self._arguments if one.annotation is not None}

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        """The parameters that have a default, in the order of the signature."""
        arguments = self.function.args
        positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        found = dict(zip(positional[::-1], arguments.defaults[::-1], strict=False))
        given = zip((one.arg for one in arguments.kwonlyargs), arguments.kw_defaults, strict=True)
        return {
            **{name: found[name] for name in positional if name in found},
            **{name: value for name, value in given if value},
        }

    def is_local(self, name: str) -> bool:
        return name in self.parameters or name in self.stores

    def is_bound_before(self, name: str, line: int) -> bool:
        """Whether a name is a parameter, or bound above a line."""
        return name in self.parameters or (name in self.stores and self.stores[name][0].lineno < line)


class ClassFacts:
    """The assignments and attributes in a class, or in a file as a whole."""

    def __init__(self, scope: ast.ClassDef | ast.Module, text: Callable[[ast.AST], str]) -> None:
        self.assigned: dict[str, list[Assignment]] = {}
        """The assignments by the source of their targets."""
        self.attributes: set[str] = set()
        """The names of all attributes that are read or written."""
        for node in walk(scope):
            if isinstance(node, ast.Attribute):
                self.attributes.add(node.attr)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.assigned.setdefault(text(target), []).append(node)


def _position(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
