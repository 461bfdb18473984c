"""A file as fixes see it: its text, its tree, and which node stands at a place."""

from __future__ import annotations

import ast
import bisect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from fxlint.findings import Edit, Location
from fxlint.fix.facts import ClassFacts, FunctionFacts
from fxlint.fix.snippet import OPERATIONS, Code, slot
from fxlint.project.source import SourceFile
from fxlint.project.tree import children

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody")
_PLACED = (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.alias, ast.ExceptHandler, ast.pattern)
_Span = tuple[int, int, int | None, int | None]
_Known = dict[ast.AST, ast.AST | None]


@dataclass(eq=False)
class Source:
    """One parsed file. Its statements are gone through one by one, when something in them is first asked for."""

    file: SourceFile
    _parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    _by_span: dict[_Span, ast.AST] = field(default_factory=dict)
    _known: set[ast.AST] = field(default_factory=set)
    _functions: _Known = field(default_factory=dict)
    _classes: _Known = field(default_factory=dict)
    _function_facts: dict[ast.FunctionDef, FunctionFacts] = field(default_factory=dict)
    _class_facts: dict[ast.ClassDef | ast.Module, ClassFacts] = field(default_factory=dict)
    _given: dict[str, int] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def tree(self) -> ast.Module:
        return self.file.tree

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def at(self, place: Location) -> ast.AST | None:
        """The node with exactly this span, the outermost one; of an expression statement, the expression."""
        self._learn(place.line)
        start, end = self._byte(place.line, place.column), self._byte(place.end_line, place.end_column)
        return self._by_span.get((place.line, start, place.end_line, end))

    def parent(self, node: ast.AST) -> ast.AST:
        """What a node stands in; the module itself stands in nothing."""
        if node not in self._parents:
            self._learn(getattr(node, "lineno", 0))
        return self._parents[node]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, from the inside out."""
        while node is not self.tree:
            node = self.parent(node)
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds the node, or the node itself; of a condition, what it controls."""
        return next(found for found in (node, *self.around(node)) if isinstance(found, ast.stmt))

    def function(self, node: ast.AST) -> Function | None:
        found = self._nearest(node, _FUNCTIONS, self._functions)
        return found if isinstance(found, _FUNCTIONS) else None

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        found = self._nearest(node, (ast.ClassDef,), self._classes)
        return found if isinstance(found, ast.ClassDef) else None

    def top_level(self, node: ast.AST) -> ast.stmt:
        """The statement of the module that holds the node."""
        return next(on_line(self.tree.body, getattr(node, "lineno", 0)))

    def facts(self, function: ast.FunctionDef) -> FunctionFacts:
        """What is known of a function, found out once."""
        if function not in self._function_facts:
            self._function_facts[function] = FunctionFacts(function)
        return self._function_facts[function]

    def class_facts(self, scope: ast.ClassDef | ast.Module) -> ClassFacts:
        """What is known of a class, or of the file as a whole, found out once."""
        if scope not in self._class_facts:
            self._class_facts[scope] = ClassFacts(scope, self.text)
        return self._class_facts[scope]

    def _learn(self, line: int) -> None:
        """Go through what stands on a line: a statement of the module, or a class without its body and a method."""
        holder: ast.Module | ast.ClassDef | None = self.tree
        while holder is not None:
            inner: ast.ClassDef | None = None
            for statement in on_line(holder.body, line):
                self._go_through(statement, holder)
                inner = statement if isinstance(statement, ast.ClassDef) else inner
            holder = inner

    def _go_through(self, statement: ast.stmt, holder: ast.AST) -> None:
        if statement in self._known:
            return
        self._known.add(statement)
        parents, by_span = self._parents, self._by_span
        parents[statement] = holder
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            if isinstance(node, _PLACED) and not isinstance(node, (ast.Expr, ast.MatchValue)):
                span = (node.lineno, node.col_offset, *self._end(node))
                by_span.setdefault(span, node)  # outer nodes come first
            inside = children(node)
            parents.update(dict.fromkeys(inside, node))
            if node is statement and isinstance(node, ast.ClassDef):
                inside = [*node.bases, *node.keywords, *node.decorator_list]
            stack += inside

    def _end(self, node: ast.AST) -> tuple[int | None, int | None]:
        """Where a finding on the node ends: one on a definition covers its head."""
        if not isinstance(node, _DEFINITIONS):
            return getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        place = self.file.location(node)
        return place.end_line, self._byte(place.end_line, place.end_column)

    def _nearest(self, node: ast.AST, kinds: tuple[type[ast.AST], ...], known: _Known) -> ast.AST | None:
        """The innermost of a kind around a node; what is found is noted for all that was passed on the way."""
        passed: list[ast.AST] = []
        found: ast.AST | None = None
        while node is not self.tree:
            if node in known:
                found = known[node]
                break
            passed.append(node)
            node = self.parent(node)
            if isinstance(node, kinds):
                found = node
                break
        known.update(dict.fromkeys(passed, found))
        return found

    # -- text ----------------------------------------------------------------------------------------------------------

    def location(self, node: ast.AST) -> Location:
        """All that a node spans, also of a definition, of which findings cover the head only."""
        return self.between(*self.span(node))

    def text(self, node: ast.AST) -> str:
        """The source of a node as it was written, comments and line ends included."""
        start, end = self.span(node)
        return self.file.text[start:end]

    def code(self, node: ast.expr) -> Code:
        """The source of an expression for use in another one; an operand keeps the parentheses around it."""
        start, end = self.span(node)
        text = self.file.text
        if isinstance(self.parent(node), OPERATIONS):
            before, after = _around(text, start, end)
            if (text[before], text[after : after + 1]) == ("(", ")"):
                return Code.held(text[before : after + 1])
        return Code.of(node, text[start:end])

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node starts and ends in the text of the file."""
        if not isinstance(node, _PLACED):
            raise TypeError(f"{type(node).__name__} has no place")
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def _offset(self, line: int, byte: int) -> int:
        row = self.file.lines[line - 1]
        return self._starts[line - 1] + (byte if row.isascii() else len(row.encode()[:byte].decode(errors="replace")))

    def offset(self, line: int, column: int) -> int:
        """Where a line and column, both counted from 1, are in the text of the file."""
        return self._starts[line - 1] + column - 1

    def is_misplaced(self, node: ast.AST) -> bool:
        """Whether the place of a node is not its own: before Python 3.12, those in f-strings may be anywhere."""
        inside = itertools.takewhile(lambda one: isinstance(one, ast.expr), self.around(node))
        if not isinstance(node, ast.expr) or not any(isinstance(one, ast.JoinedStr) for one in inside):
            return False
        try:
            return ast.dump(ast.parse(f"({self.text(node)})", mode="eval").body) != ast.dump(node)
        except SyntaxError:
            return True

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements among which this one stands."""
        parent = self.parent(statement)
        for name in _BLOCKS:
            found = getattr(parent, name, None)
            if isinstance(found, list) and statement in found:
                return found
        return [statement]

    def indent(self, statement: ast.stmt) -> str:
        """The white space before a statement; empty where it does not stand by itself on its line, and for ``elif``."""
        row = self.file.lines[statement.lineno - 1]
        column = self.location(statement).column - 1
        return "" if row[:column].strip() or row.startswith("elif", column) else row[:column]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(len(row) + 1 for row in self.file.lines)]

    def _byte(self, line: int, column: int) -> int:
        """The column as ``ast`` counts it; -1 where the file has no such line."""
        if not 1 <= line <= len(self.file.lines):
            return -1
        row = self.file.lines[line - 1]
        return column - 1 if row.isascii() else len(row[: column - 1].encode())

    # -- edits ---------------------------------------------------------------------------------------------------------

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Put ``text`` in place of a node. Raises ValueError where it is not known what the source of the node is."""
        if self.is_misplaced(node):
            raise ValueError("the node is not where it says")
        if isinstance(node, ast.GeneratorExp):  # one that is the only argument takes the parentheses of the call along
            parent = self.parent(node)
            if isinstance(parent, ast.Call) and self.span(parent.func)[1] == self.span(node)[0]:
                text = f"({text})"
        return Edit(self.location(node), text)

    def replace_fitting(self, node: ast.expr, code: Code) -> Edit:
        """As ``replace`` with an expression, in parentheses where the operators around it ask for them."""
        return self.replace(node, code.within(slot(self.parent(node), node)))

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

    def rows(self, first: ast.stmt, last: ast.stmt) -> list[str]:
        """The lines of statements without their indentation, up to the comment on the last line.

        A statement that does not stand by itself gives what is its own of its line.
        """
        indent = self.indent(first)
        line, end = self.end_of(last)
        rows = self.file.lines[first_line(first) - 1 : line]
        rows[-1] = rows[-1][: end - 1]
        if not indent:
            rows[0] = rows[0][self.location(first).column - 1 :]
        return [row[unindented(row, indent) :] for row in rows]

    def comments_above(self, statement: ast.stmt) -> list[str]:
        """The lines of comments that stand directly above a statement, in its block."""
        line = first_line(statement)
        first = line
        while first > 1 and self.file.lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return [row.strip() for row in self.file.lines[first - 1 : line - 1]]

    def replace_variadic(self, parameter: ast.arg, text: str) -> Edit:
        """Put ``text`` in place of a parameter with its stars."""
        start, end = self.span(parameter)
        return Edit(self.between(self._before_stars(start), end), text)

    def replace_parameters(self, function: ast.FunctionDef, other: ast.FunctionDef) -> Edit:
        """Give a function the parameters of another one."""
        start, end = self._parameters(other)
        return Edit(self.between(*self._parameters(function)), self.file.text[start:end])

    def _parameters(self, function: ast.FunctionDef) -> tuple[int, int]:
        inside = [node for node in ast.walk(function.args) if isinstance(node, (ast.arg, ast.expr))]
        places = [self.span(node) for node in inside]
        return self._before_stars(min(start for start, _ in places)), max(end for _, end in places)

    def _before_stars(self, offset: int) -> int:
        while self.file.text[offset - 1] == "*":
            offset -= 1
        return offset

    def between(self, start: int, end: int) -> Location:
        """The place of a part of the text."""
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

    # -- the head of the file ------------------------------------------------------------------------------------------

    @cached_property
    def after_imports(self) -> int:
        """The line after the imports at the head of the file, where top-level calls may stand."""
        line = 1
        for statement in self.tree.body:
            if first_line(statement) < line:  # after a semicolon
                return 1
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if isinstance(statement, (ast.Import, ast.ImportFrom)) or is_text:
                line = (statement.end_lineno or statement.lineno) + 1
            elif not isinstance(statement, (ast.Try, ast.If)) or not _only_imports(statement):
                break
        return line

    def imports(self, name: str) -> bool:
        """Whether ``import name`` stands at the top level."""
        return name in self._imported

    @cached_property
    def _imported(self) -> frozenset[str]:
        names = [alias for node in self.tree.body if isinstance(node, ast.Import) for alias in node.names]
        return frozenset(alias.name for alias in names if not alias.asname)

    def binding(self, name: str) -> ast.stmt | None:
        """The first statement of the top level that binds a name."""
        return self._bindings.get(name)

    @cached_property
    def _bindings(self) -> dict[str, ast.stmt]:
        found: dict[str, ast.stmt] = {}
        for statement in self.tree.body:
            for name in _bound(statement):
                found.setdefault(name, statement)
        return found

    def new_name(self, wanted: str) -> str:
        """The name, with a number where the file has it or was given it before: no two suggestions take the same."""
        number = self._given.get(wanted, 0) + 1
        while (new := wanted if number == 1 else f"{wanted}_{number}") in self._words:
            number += 1
        self._given[wanted] = number
        return new

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(re.findall(r"\w+", self.file.text))


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement starts with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return decorators[0].lineno if decorators else statement.lineno


def unindented(row: str, indent: str) -> int:
    """How many characters go where a row loses an indentation; all white space of one that has not that much."""
    return len(indent) if row.startswith(indent) else len(row) - len(row.lstrip())


def on_line(block: list[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements of a block on a line, the last one first: several where semicolons are between them."""
    number = bisect.bisect_right(block, line, key=first_line) - 1
    while number >= 0 and (block[number].end_lineno or 0) >= line:
        yield block[number]
        number -= 1


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the next characters before and after a part of the text are that are no white space."""
    start -= 1
    while start > 0 and text[start].isspace():
        start -= 1
    while end < len(text) and text[end].isspace():
        end += 1
    return start, end


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.Assign):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _only_imports(statement: ast.Try | ast.If) -> bool:
    return all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in statement.body)
