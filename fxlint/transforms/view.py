"""What the checks ask about a function: kinds, which graph something belongs to, tests on a node, and events."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fxlint.findings import Edit, Location
from fxlint.transforms.code import Bound, File, Function, mentions
from fxlint.transforms.infer import Kinds, arguments_for
from fxlint.transforms.kinds import CREATIONS, OPS, TRACING, Kind

MAX_ALIASES: int = 12


@dataclass(frozen=True, slots=True)
class Event:
    """A mistake at ``node``. ``help`` says what to do, and ``edits`` does it where the source can tell."""

    kind: str
    node: ast.AST
    text: str = ""
    origin: str = ""
    callee: str = ""
    help: str = ""
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """One function, with the inference for its file."""

    function: Function
    kinds: Kinds

    @property
    def file(self) -> File:
        return self.function.file

    def elsewhere(self, function: Function) -> View:
        return View(function, self.kinds)

    def kind(self, node: ast.expr | None) -> Kind | None:
        return self.kinds.of(node, self.function)

    def qualified(self, node: ast.expr) -> str:
        return self.function.qualified(node)

    def text(self, node: ast.AST) -> str:
        return self.file.index.source.segment(node)

    def source(self, node: ast.AST) -> str:
        """The source of a node, as it stands."""
        return ast.get_source_segment(self.file.index.source.text, node) or ast.unparse(node)

    def replaced(self, node: ast.AST, text: str) -> tuple[Edit, ...]:
        return (Edit(self.file.index.source.location(node), text),)

    def inserted_before(self, statement: ast.stmt, text: str) -> tuple[Edit, ...]:
        """``text`` on a line of its own above a statement, indented like it."""
        lines = self.file.index.source.lines
        row = lines[statement.lineno - 1]
        indent = row[: len(row) - len(row.lstrip())]
        place = Location(self.file.index.source.path, statement.lineno, 1, statement.lineno, 1)
        return (Edit(place, f"{indent}{text}\n"),)

    def methods(self, *kinds: Kind) -> Iterator[tuple[ast.Call, ast.expr, str]]:
        """(call, object, name) of the method calls on objects of these kinds."""
        for call in self.function.calls():
            if isinstance(call.func, ast.Attribute) and self.kind(call.func.value) in kinds:
                yield call, call.func.value, call.func.attr

    def creations(self) -> Iterator[tuple[ast.Call, ast.expr, str]]:
        """(call, graph, method) of the calls that make a node."""
        return (found for found in self.methods(Kind.GRAPH) if found[2] in CREATIONS)

    def created(self, node: ast.expr | None) -> ast.Call | None:
        """The call that made the node which a name is bound to, and nothing else is it ever bound to."""
        value = self.function.only_value(node.id) if isinstance(node, ast.Name) else None
        is_made = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in CREATIONS
        return value if isinstance(value, ast.Call) and is_made and self.kind(value) is Kind.NODE else None

    def graph_of(self, node: ast.expr | None, depth: int = 0) -> str:
        """A key for the graph that a graph, a module, nodes or a node belong to; empty where that is not certain."""
        if node is None or depth > MAX_ALIASES:
            return ""
        kind = self.kind(node)
        if isinstance(node, ast.Name):
            bindings = self.function.bindings(node.id)
            keys = {self._graph_of_binding(node.id, bound, depth) for bound in bindings}
            if keys == {""} or len(keys) != 1:
                return f"{node.id}" if kind in (Kind.MODULE, Kind.GRAPH) and len(bindings) == 1 else ""
            return keys.pop()
        if isinstance(node, ast.Attribute):
            if (node.attr in {"graph", "nodes"}) and self.kind(node.value) is not None:
                return self.graph_of(node.value, depth + 1)
            return ast.unparse(node) if kind in (Kind.MODULE, Kind.GRAPH) else ""
        if isinstance(node, ast.Call):
            return self._graph_of_call(node, depth)
        if isinstance(node, ast.Subscript):
            return self.graph_of(node.value, depth + 1)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self.graph_of(node.generators[0].iter, depth + 1)
        return ""

    def _graph_of_binding(self, name: str, bound: Bound, depth: int) -> str:
        if bound.how in {"value", "item", "part"} and bound.value is not None:
            found = self.graph_of(bound.value, depth + 1)
            return found or (name if self.kind(bound.value) in (Kind.MODULE, Kind.GRAPH) else "")
        return ""

    def _graph_of_call(self, node: ast.Call, depth: int) -> str:
        if isinstance(node.func, ast.Attribute) and self.kind(node.func.value) is Kind.GRAPH:
            return self.graph_of(node.func.value, depth + 1)
        if isinstance(node.func, ast.Name) and node.func.id in {"list", "tuple", "reversed", "iter", "next", "sorted"}:
            return self.graph_of(node.args[0], depth + 1) if node.args else ""
        name = self.qualified(node.func)
        if name.startswith("torch.fx.") and name.endswith(".GraphModule") and len(node.args) > 1:
            return self.graph_of(node.args[1], depth + 1)
        return ""

    def is_traced(self, node: ast.expr | None, depth: int = 0) -> bool:
        """Whether a GraphModule comes straight from the stock tracer, here or where this file calls the function."""
        if isinstance(node, ast.Call):
            return self.qualified(node.func) in TRACING
        if not isinstance(node, ast.Name) or depth > MAX_ALIASES:
            return False
        bindings = self.function.bindings(node.id)
        if len(bindings) != 1:
            return False
        bound = bindings[0]
        if bound.how == "value":
            return self.is_traced(bound.value, depth + 1)
        if bound.how != "parameter" or not isinstance(bound.node, ast.arg):
            return False
        given = arguments_for(self.file, self.function, bound.node)
        return any(self.elsewhere(caller).is_traced(value, depth + 1) for value, caller in given)

    def ops(self, node: ast.expr, at: ast.AST) -> frozenset[str]:
        """The ops that ``node`` may have where ``at`` is reached, as far as the tests there say; else all."""
        possible = frozenset(OPS)
        for test in self.function.tests(at):
            named = self.named_ops(test.expression, node)
            if named is not None:
                equal, names = named
                possible = possible & names if equal == test.positive else possible - names
        return possible

    def named_ops(self, test: ast.expr, node: ast.expr) -> tuple[bool, frozenset[str]] | None:
        """(whether it must be one of them, ops) of a test such as ``node.op == "output"``."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.Constant):
            left, right = right, left
        if not (isinstance(left, ast.Attribute) and left.attr == "op" and same(left.value, node)):
            return None
        items = right.elts if isinstance(right, (ast.Tuple, ast.List, ast.Set)) else [right]
        if not all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in items):
            return None
        names = frozenset(str(item.value) for item in items if isinstance(item, ast.Constant))
        equal = isinstance(test.ops[0], (ast.Eq, ast.In, ast.Is))
        return equal, names

    def is_tested(self, node: ast.expr, at: ast.AST) -> bool:
        """Whether anything is asked of a node before ``at`` is reached, or failure is expected there."""
        names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        asked = any(mentions(test.expression, name) for test in self.function.tests(at) for name in names)
        return asked or any(isinstance(parent, ast.Try) for parent in self.function.around(at))


Check = Callable[[View], Iterator[Event]]


def same(one: ast.AST, other: ast.AST) -> bool:
    """Whether two expressions are written alike."""
    return ast.unparse(one) == ast.unparse(other)


def is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
