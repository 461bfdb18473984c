"""A file as fixes see it: its text, its tree, and which node stands at a place."""

from __future__ import annotations

import ast
import bisect
import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fxlint.findings import Edit, Location
from fxlint.project.source import SourceFile, UnreadableSource, decode, parse

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

Read = Callable[[str], str]
"""The text of a file by its path as findings spell it; raises OSError or UnreadableSource where there is none."""


def read_text(path: str) -> str:
    """The text of a file on disk."""
    return decode(Path(path).read_bytes())


@dataclass(eq=False)
class Source:
    """One parsed file. ``parents`` holds every node but the module."""

    file: SourceFile
    parents: dict[ast.AST, ast.AST] = field(init=False)
    names: set[str] = field(default_factory=set)
    """Names that suggestions bring to the file: no two of them may take the same one."""
    _by_line: dict[int, list[ast.AST]] = field(init=False)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.parents = {child: node for node in ast.walk(self.file.tree) for child in ast.iter_child_nodes(node)}
        self._starts = [0, *itertools.accumulate(len(row) + 1 for row in self.file.lines)]
        self._by_line = {}
        for node in self.parents:  # outer nodes come first
            self._by_line.setdefault(getattr(node, "lineno", 0), []).append(node)

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def tree(self) -> ast.Module:
        return self.file.tree

    def at(self, place: Location) -> ast.AST | None:
        """The node with exactly this span; of an expression statement, the expression."""
        for node in self._by_line.get(place.line, ()):
            if not isinstance(node, (ast.Expr, ast.MatchValue)) and self.location(node) == place:
                return node
        return None

    def location(self, node: ast.AST) -> Location:
        return self.file.location(node)

    def text(self, node: ast.AST) -> str:
        """The source of a node as it was written, comments and line ends included."""
        start, end = self._offset(node)
        return self.file.text[start:end]

    def _offset(self, node: ast.AST) -> tuple[int, int]:
        place = self.location(node)
        start, end = (self._starts[line - 1] for line in (place.line, place.end_line))
        return start + place.column - 1, end + place.end_column - 1

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds the node, or the node itself; of a condition, what it controls."""
        return next(found for found in (node, *self.around(node)) if isinstance(found, ast.stmt))

    def function(self, node: ast.AST) -> Function | None:
        return next((found for found in self.around(node) if isinstance(found, _FUNCTIONS)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        return next((found for found in self.around(node) if isinstance(found, ast.ClassDef)), None)

    def top_level(self, node: ast.AST) -> ast.stmt:
        """The statement of the module that holds the node."""
        statements = (found for found in (node, *self.around(node)) if isinstance(found, ast.stmt))
        return next(found for found in statements if self.parents[found] is self.tree)

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which this one stands."""
        parent = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            found = getattr(parent, name, None)
            if isinstance(found, list) and statement in found:
                return found
        return [statement]

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement; empty where it does not stand by itself on its line, and for ``elif``."""
        row = self.file.lines[statement.lineno - 1]
        column = self.location(statement).column - 1
        return "" if row[:column].strip() or row.startswith("elif", column) else row[:column]

    # -- edits ---------------------------------------------------------------------------------------------------------

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(self.location(node), text)

    def replace_fitting(self, node: ast.expr, text: str) -> Edit:
        """As ``replace`` with an expression, in parentheses where the operators around it ask for them."""
        parent = self.parents[node]
        if not isinstance(parent, ast.expr):
            return self.replace(node, text)
        outer, inner = self._offset(parent), self._offset(node)
        whole = self.file.text[outer[0] : outer[1]]
        before, after = whole[: inner[0] - outer[0]], whole[inner[1] - outer[0] :]
        with contextlib.suppress(SyntaxError):  # a slice, say, is no expression by itself
            plain, held = (ast.dump(ast.parse(f"({before}{new}{after})")) for new in (text, f"({text})"))
            return self.replace(node, text if plain == held else f"({text})")
        return self.replace(node, text)

    def replace_range(self, first: ast.AST, last: ast.AST, text: str) -> Edit:
        start, end = self.location(first), self.location(last)
        return Edit(Location(self.path, start.line, start.column, end.end_line, end.end_column), text)

    def replace_statements(self, first: ast.stmt, last: ast.stmt, text: str) -> Edit:
        """Put ``text`` in place of statements, and of the comment that may end their last line."""
        start = self.location(first)
        line, column = self.end_of(last)
        return Edit(Location(self.path, start.line, start.column, line, column), text)

    def end_of(self, statement: ast.stmt) -> tuple[int, int]:
        """(line, column) after a statement and the comment on its last line."""
        place = self.location(statement)
        row = self.file.lines[place.end_line - 1]
        has_comment = row[place.end_column - 1 :].lstrip().startswith("#")
        return place.end_line, len(row) + 1 if has_comment else place.end_column

    def moved_out(self, block: list[ast.stmt], indent: str) -> str:
        """The lines of a block at another indentation, each after a line end."""
        deeper = self.indent(block[0])
        rows = self.file.lines[block[0].lineno - 1 : self.end_of(block[-1])[0]]
        return "".join(f"\n{indent}{row.removeprefix(deeper)}" if row.strip() else "\n" for row in rows)

    def replace_variadic(self, parameter: ast.arg, text: str) -> Edit:
        """Put ``text`` in place of a parameter with its stars."""
        start, end = self._offset(parameter)
        return Edit(self._between(self._before_stars(start), end), text)

    def replace_parameters(self, function: ast.FunctionDef, other: ast.FunctionDef) -> Edit:
        """Give a function the parameters of another one."""
        start, end = self._parameters(other)
        return Edit(self._between(*self._parameters(function)), self.file.text[start:end])

    def _parameters(self, function: ast.FunctionDef) -> tuple[int, int]:
        inside = [node for node in ast.walk(function.args) if isinstance(node, (ast.arg, ast.expr))]
        places = [self._offset(node) for node in inside]
        return self._before_stars(min(start for start, _ in places)), max(end for _, end in places)

    def _before_stars(self, offset: int) -> int:
        while self.file.text[offset - 1] == "*":
            offset -= 1
        return offset

    def _between(self, start: int, end: int) -> Location:
        first, last = (bisect.bisect_right(self._starts, offset) - 1 for offset in (start, end))
        return Location(self.path, first + 1, start - self._starts[first] + 1, last + 1, end - self._starts[last] + 1)

    def insert(self, line: int, text: str) -> Edit:
        """Whole lines of text before line ``line``."""
        if line > len(self.file.lines):
            last = len(self.file.lines)
            column = len(self.file.lines[-1]) + 1
            return Edit(Location(self.path, last, column, last, column), "\n" + text)
        return Edit(Location(self.path, line, 1, line, 1), text)

    def drop(self, statement: ast.stmt) -> Edit:
        """Take a statement out with its line; ``pass`` stays where its block would be empty."""
        if len(self.block(statement)) == 1 or not self._owns_its_lines(statement):
            return self.replace(statement, "pass")
        return Edit(Location(self.path, statement.lineno, 1, (statement.end_lineno or statement.lineno) + 1, 1), "")

    def _owns_its_lines(self, statement: ast.stmt) -> bool:
        place = self.location(statement)
        before = self.file.lines[place.line - 1][: place.column - 1]
        after = self.file.lines[place.end_line - 1][place.end_column - 1 :].strip()
        last = place.end_line == len(self.file.lines)
        return not before.strip() and (not after or after.startswith("#")) and not last

    def after_imports(self) -> int:
        """The line after the imports at the head of the file, where top-level calls may stand."""
        line = 1
        for statement in self.tree.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if isinstance(statement, (ast.Import, ast.ImportFrom)) or is_text:
                line = (statement.end_lineno or statement.lineno) + 1
            elif not isinstance(statement, (ast.Try, ast.If)) or not _only_imports(statement):
                break
        return line

    def imports(self, name: str) -> bool:
        """Whether ``import name`` stands at the top level."""
        return any(
            isinstance(node, ast.Import) and any(alias.name == name and not alias.asname for alias in node.names)
            for node in self.tree.body
        )


def _only_imports(statement: ast.Try | ast.If) -> bool:
    return all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in statement.body)


class Sources:
    """Parsed files by path, each read once; None for a file that cannot be read any more."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, Source | None] = {}

    def get(self, path: str) -> Source | None:
        if path not in self._known:
            try:
                self._known[path] = Source(parse(path, self._read(path)))
            except (OSError, KeyError, UnreadableSource):
                self._known[path] = None
        return self._known[path]
