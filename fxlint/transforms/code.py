"""One file as functions: what belongs to each, how its names get their values, and under which tests a node stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from fxlint.project.index import Import, ModuleIndex, Project, imports
from fxlint.transforms.names import dotted, qualified

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
How = Literal["value", "item", "part", "parameter", "unknown"]

_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_BINDING = (
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension, ast.AugAssign, ast.withitem,
    ast.ExceptHandler, ast.Lambda, ast.MatchAs, ast.MatchStar,
)  # fmt: skip
_LEAVES = (ast.Continue, ast.Break, ast.Return, ast.Raise)


@dataclass(frozen=True, slots=True)
class Bound:
    """One way in which a name gets a value: ``value`` is the expression, or the iterable whose items it takes.

    An "item" goes through all of them, as in a loop; a "part" is one of them, as in ``a, b = nodes``.
    """

    how: How
    value: ast.expr | None
    node: ast.AST


@dataclass(frozen=True, slots=True)
class Test:
    """A condition that holds (``positive``), or does not, wherever a node is reached."""

    expression: ast.expr
    positive: bool


@dataclass(eq=False, slots=True)
class Function:
    """A function, or the top level of the file (``node`` is its Module). ``own`` are its nodes in source order.

    ``owner`` is the class whose method it is. Lambdas and comprehensions belong to the function around them.
    """

    file: File
    node: FunctionNode | ast.Module
    outer: Function | None = None
    owner: ast.ClassDef | None = None
    own: list[ast.AST] = field(default_factory=list)
    bound: dict[str, list[Bound]] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "" if isinstance(self.node, ast.Module) else self.node.name

    _calls: list[ast.Call] | None = None

    @property
    def parameters(self) -> list[ast.arg]:
        """The positional ones, in order."""
        return [] if isinstance(self.node, ast.Module) else [*self.node.args.posonlyargs, *self.node.args.args]

    def scopes(self) -> Iterator[Function]:
        """This function and those around it, innermost first."""
        scope: Function | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def bindings(self, name: str) -> list[Bound]:
        """All ways in which the innermost scope that binds ``name`` binds it."""
        return next((scope.bound[name] for scope in self.scopes() if name in scope.bound), [])

    def only_value(self, name: str) -> ast.expr | None:
        """The expression of a name that is bound once, by an assignment."""
        bindings = self.bindings(name)
        return bindings[0].value if len(bindings) == 1 and bindings[0].how == "value" else None

    def qualified(self, node: ast.expr) -> str:
        """The full name of what an expression names, or nothing where no import says so."""
        head = node
        while isinstance(head, ast.Attribute):
            head = head.value
        if not isinstance(head, ast.Name):
            return ""
        name = head.id
        found = next((scope.imports[name] for scope in self.scopes() if name in scope.imports), None)
        return qualified(node, self.file.index, self.file.project, found)

    def calls(self) -> list[ast.Call]:
        if self._calls is None:
            self._calls = [node for node in self.own if isinstance(node, ast.Call)]
        return self._calls

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement around a node."""
        around: ast.AST | None = node
        while around is not None and not isinstance(around, ast.stmt):
            around = self.file.parents.get(around)
        return around

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node`` inside this function, innermost first."""
        while (parent := self.file.parents.get(node)) is not None and parent is not self.node:
            yield parent
            node = parent

    def tests(self, node: ast.AST) -> list[Test]:
        """The conditions under which ``node`` is reached, split at ``and``, ``or`` and ``not``."""
        found: list[Test] = []
        child = node
        for parent in (*self.around(node), self.node):
            found.extend(_tests_between(parent, child))
            child = parent
        return found


Assigned = tuple[ast.Assign | ast.AnnAssign, Function]


@dataclass(eq=False, slots=True)
class File:
    """A linted file. ``parents`` gives the node around each node."""

    index: ModuleIndex
    project: Project
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    has_patterns: bool = False
    _assigned: dict[ast.ClassDef, dict[str, list[Assigned]]] = field(default_factory=dict)
    _by_node: dict[ast.AST, Function] = field(default_factory=dict)
    _calls: dict[Function, list[tuple[ast.Call, Function]]] | None = None

    def __post_init__(self) -> None:
        text = self.index.source.text
        self.has_patterns = "replace_pattern" in text or "pattern_matcher" in text
        self._add(self.index.source.tree, None, None)

    def _add(self, node: FunctionNode | ast.Module, outer: Function | None, owner: ast.ClassDef | None) -> None:
        function = Function(self, node, outer, owner)
        self.functions.append(function)
        self._by_node[node] = function
        if not isinstance(node, ast.Module):
            for argument in _arguments(node.args):
                function.bound.setdefault(argument.arg, []).append(Bound("parameter", None, argument))
        for statement in node.body:
            self.parents[statement] = node
            self._visit(statement, function)

    def _visit(self, node: ast.AST, function: Function) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function.bound.setdefault(node.name, []).append(Bound("unknown", None, node))
            for decorator in node.decorator_list:
                self._visit(decorator, function)
            self._add(node, function, None)
            return
        if isinstance(node, ast.ClassDef):
            self._visit_class(node, function)
            return
        function.own.append(node)
        for name, bound in _bindings(node) if isinstance(node, _BINDING) else ():
            function.bound.setdefault(name, []).append(bound)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            function.imports.update(imports(node, self.index.name, self.index.is_package))
        for child in ast.iter_child_nodes(node):
            self.parents[child] = node
            self._visit(child, function)

    def _visit_class(self, node: ast.ClassDef, function: Function) -> None:
        self.classes.setdefault(node.name, node)
        function.bound.setdefault(node.name, []).append(Bound("unknown", None, node))
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._add(statement, function, node)
            elif isinstance(statement, ast.ClassDef):
                self._visit_class(statement, function)

    def methods(self, owner: ast.ClassDef) -> list[Function]:
        return [function for function in self.functions if function.owner is owner]

    def assigned(self, owner: ast.ClassDef, name: str) -> list[Assigned]:
        """The assignments to ``self.name`` in the methods of a class."""
        if owner not in self._assigned:
            found = self._assigned[owner] = {}
            for method in self.methods(owner):
                for node in method.own:
                    if isinstance(node, (ast.Assign, ast.AnnAssign)):
                        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                            if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                                found.setdefault(target.attr, []).append((node, method))
        return self._assigned[owner].get(name, [])

    def function(self, name: str, seen_from: Function) -> Function | None:
        """The only function of that name that ``seen_from`` can call by it."""
        bindings = seen_from.bindings(name)
        return self._by_node.get(bindings[0].node) if len(bindings) == 1 else None

    def calls_of(self, function: Function) -> list[tuple[ast.Call, Function]]:
        """The calls of a function by its name, and the functions that they stand in."""
        if self._calls is None:
            self._calls = {}
            for caller in self.functions:
                for call in caller.calls():
                    called = self.function(call.func.id, caller) if isinstance(call.func, ast.Name) else None
                    if called is not None:
                        self._calls.setdefault(called, []).append((call, caller))
        return self._calls.get(function, [])


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    extra = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def _bindings(node: ast.AST) -> Iterator[tuple[str, Bound]]:
    """The names that one node binds, without those that nodes below it bind."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, "value", node.value, node)
    elif isinstance(node, ast.AnnAssign):
        yield from _targets(node.target, "value", node.value or node.annotation, node)
    elif isinstance(node, ast.NamedExpr):
        yield from _targets(node.target, "value", node.value, node)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield from _targets(node.target, "item", node.iter, node)
    elif isinstance(node, ast.AugAssign):
        yield from _targets(node.target, "unknown", None, node)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars, "unknown", None, node)
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, Bound("unknown", None, node)
    elif isinstance(node, ast.Lambda):
        yield from ((argument.arg, Bound("unknown", None, argument)) for argument in _arguments(node.args))
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name, Bound("unknown", None, node)


def _targets(target: ast.expr, how: How, value: ast.expr | None, node: ast.AST) -> Iterator[tuple[str, Bound]]:
    if isinstance(target, ast.Name):
        yield target.id, Bound(how, value, node)
    elif isinstance(target, ast.Starred):
        yield from _targets(target.value, "unknown", None, node)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, part in enumerate(target.elts):
            if how == "item" and _is_call_of(value, "enumerate") and position == 1 and len(target.elts) == 2:
                assert isinstance(value, ast.Call)
                yield from _targets(part, "item", value.args[0] if value.args else None, node)
            elif how == "value" and isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                yield from _targets(part, "value", value.elts[position], node)
            elif how == "value" and not isinstance(part, ast.Starred):
                yield from _targets(part, "part", value, node)
            else:
                yield from _targets(part, "unknown", None, node)


def _is_call_of(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _tests_between(parent: ast.AST, child: ast.AST) -> Iterator[Test]:
    """What holds at ``child`` because of the place that it has in ``parent``."""
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        body = parent.body if isinstance(parent.body, list) else [parent.body]
        if child in body:
            yield from split(parent.test, positive=True)
        elif child is not parent.test and isinstance(parent, (ast.If, ast.IfExp)):
            yield from split(parent.test, positive=False)
    elif isinstance(parent, ast.BoolOp) and isinstance(child, ast.expr):
        for earlier in parent.values[: parent.values.index(child)]:
            yield from split(earlier, positive=isinstance(parent.op, ast.And))
    elif isinstance(parent, _COMPREHENSION):
        for generator in parent.generators:
            if generator is not child:
                for condition in generator.ifs:
                    yield from split(condition, positive=True)
    elif isinstance(parent, ast.comprehension) and child in parent.ifs:
        assert isinstance(child, ast.expr)
        for condition in parent.ifs[: parent.ifs.index(child)]:
            yield from split(condition, positive=True)
    elif isinstance(parent, ast.Match):
        yield Test(parent.subject, positive=True)
    for block in blocks(parent):
        if child in block:
            assert isinstance(child, ast.stmt)
            yield from _earlier(block[: block.index(child)])


def _earlier(statements: list[ast.stmt]) -> Iterator[Test]:
    """What the statements before one make sure of."""
    for statement in statements:
        if isinstance(statement, ast.Assert):
            yield from split(statement.test, positive=True)
        elif isinstance(statement, ast.If):
            if _leaves(statement.body):
                yield from split(statement.test, positive=False)
            elif statement.orelse and _leaves(statement.orelse):
                yield from split(statement.test, positive=True)


def _leaves(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, _LEAVES)


def split(test: ast.expr, *, positive: bool) -> Iterator[Test]:
    """The parts of a condition that each hold, or each do not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from split(test.operand, positive=not positive)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if positive else ast.Or):
        for part in test.values:
            yield from split(part, positive=positive)
    else:
        yield Test(test, positive)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly inside a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node))


def position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
