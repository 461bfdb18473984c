"""Kinds of expressions by flow-insensitive inference: all that a name is ever bound to must agree.

What is not certain has no kind, so a rule that asks for one is silent there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from fxlint.project.index import Project
from fxlint.transforms.code import Bound, File, Function
from fxlint.transforms.kinds import ATTRIBUTES, COPIES, ITERABLE, MAKERS, METHODS, TRACING, Kind
from fxlint.transforms.names import class_kind, definition, qualified

_SEQUENCES: Final = frozenset({"list", "tuple", "sorted"})
_WRAPPERS: Final = frozenset({"Optional", "Final", "Annotated"})
MAX_BASES: Final = 8


@dataclass(eq=False, slots=True)
class Classes:
    """What the instances of classes are, by full name; each is looked up once."""

    project: Project
    _known: dict[str, Kind | None] = field(default_factory=dict)

    def kind(self, name: str, depth: int = 0) -> Kind | None:
        """The kind of a class of torch.fx, or of one in a linted file that derives from it."""
        if name not in self._known:
            self._known[name] = class_kind(name) or (self._by_bases(name, depth) if depth < MAX_BASES else None)
        return self._known[name]

    def _by_bases(self, name: str, depth: int) -> Kind | None:
        found = definition(self.project, name) if name.rpartition(".")[2][:1].isupper() else None
        if found is None:
            return None
        index, node = found
        for base in node.bases:
            inner = qualified(base, index, self.project)
            if not inner and isinstance(base, ast.Name):
                inner = f"{index.name}.{base.id}"
            if (kind := self.kind(inner, depth + 1)) is not None:
                return kind
        return None


@dataclass(eq=False, slots=True)
class Kinds:
    """The inference for one file; results and what is being asked for are kept."""

    file: File
    classes: Classes
    _names: dict[tuple[Function, str], Kind | None] = field(default_factory=dict)
    _classes: dict[ast.ClassDef, Kind | None] = field(default_factory=dict)
    _calls: dict[tuple[ast.Call, Function], Kind | None] = field(default_factory=dict)
    _asked: int = 0  # names whose kind is being found: what is said about calls meanwhile is not final

    def of(self, node: ast.expr | None, function: Function) -> Kind | None:
        """The kind of an expression inside a function."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id, function)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, function)
        if isinstance(node, ast.Call):
            if (node, function) in self._calls:
                return self._calls[node, function]
            kind = self._of_call(node, function)
            if not self._asked:
                self._calls[node, function] = kind
            return kind
        if isinstance(node, ast.Subscript):
            base = self.of(node.value, function)
            if base in (Kind.LIST, Kind.ARGS, Kind.KWARGS) and isinstance(node.slice, ast.Slice):
                return base
            return Kind.NODE if base is Kind.LIST else None
        if isinstance(node, ast.IfExp):
            return _agreed([self.of(node.body, function), self.of(node.orelse, function)])
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return Kind.LIST if self.of(node.elt, function) is Kind.NODE else None
        if isinstance(node, (ast.Set, ast.SetComp)):
            return Kind.SET
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value, function)
        return None

    @contextmanager
    def _asking(self, key: tuple[Function, str]) -> Iterator[None]:
        """While the kind of a name is being found: what depends on itself says nothing."""
        self._names[key] = None
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1

    def class_kind(self, node: ast.ClassDef, function: Function) -> Kind | None:
        """What the instances of a class are, by its bases."""
        if node not in self._classes:
            self._classes[node] = None
            found = [self.of_class(base, function) for base in node.bases]
            self._classes[node] = next((kind for kind in found if kind is not None), None)
        return self._classes[node]

    def of_class(self, node: ast.expr, function: Function) -> Kind | None:
        """What the instances of the class that an expression names are."""
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.file.classes and not function.qualified(node):
            return self.class_kind(self.file.classes[node.id], function)
        return self.classes.kind(function.qualified(node))

    def annotated(self, node: ast.expr | None, function: Function) -> Kind | None:
        """The kind that an annotation promises; None where it allows more than that and None."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [side for side in (node.left, node.right) if not _is_none(side)]
            return self.annotated(sides[0], function) if len(sides) == 1 else None
        if isinstance(node, ast.Subscript):
            head = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            if head in _WRAPPERS:
                return self.annotated(inner, function)
            if head.lower() in {"list", "sequence", "iterable", "tuple"}:
                return Kind.LIST if self.annotated(inner, function) is Kind.NODE else None
            return Kind.SET if head.lower() in {"set", "frozenset"} else None
        return None if node is None else self.of_class(node, function)

    def _of_name(self, name: str, function: Function) -> Kind | None:
        scope = next((scope for scope in function.scopes() if name in scope.bound), None)
        if scope is None:
            return None
        key = (scope, name)
        if key not in self._names:
            bindings = [bound for bound in scope.bound[name] if not _is_none(bound.value)]
            with self._asking(key):
                self._names[key] = _agreed([self._of_binding(bound, scope) for bound in bindings])
        return self._names[key]

    def _of_binding(self, bound: Bound, function: Function) -> Kind | None:
        if bound.how == "parameter":
            assert isinstance(bound.node, ast.arg)
            return self._of_parameter(bound.node, function)
        if bound.how in {"item", "part"}:
            return Kind.NODE if self.of(bound.value, function) in ITERABLE else None
        if isinstance(bound.node, ast.AnnAssign):
            return self.annotated(bound.node.annotation, function) or self.of(bound.node.value, function)
        return self.of(bound.value, function) if bound.how == "value" else None

    def _of_parameter(self, argument: ast.arg, function: Function) -> Kind | None:
        parameters = function.parameters
        if argument in parameters and function.owner is not None:
            place = parameters.index(argument)
            kind = self.class_kind(function.owner, function)
            if place == 0 and not function.node.decorator_list:  # type: ignore[union-attr]  # a method is no Module
                return kind
            if place == 1 and function.name == "run_node" and kind in (Kind.INTERPRETER, Kind.TRANSFORMER):
                return Kind.NODE
        if argument.annotation is not None:
            is_star = isinstance(function.node, ast.Module) or argument in (
                function.node.args.vararg,
                function.node.args.kwarg,
            )
            return None if is_star else self.annotated(argument.annotation, function)
        return self._from_calls(argument, function)

    def _from_calls(self, argument: ast.arg, function: Function) -> Kind | None:
        """What the calls in this file give for a parameter that has no annotation."""
        given = list(arguments_for(self.file, function, argument))
        return _agreed([self.of(value, caller) for value, caller in given]) if given else None

    def _of_attribute(self, node: ast.Attribute, function: Function) -> Kind | None:
        base = self.of(node.value, function)
        if base is not None and (base, node.attr) in ATTRIBUTES:
            return ATTRIBUTES[base, node.attr]
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._of_own_attribute(node.attr, function)
        if node.attr == "graph_module":
            return Kind.MODULE if function.qualified(node.value).startswith("torch.export") else None
        return None

    def _of_own_attribute(self, name: str, function: Function) -> Kind | None:
        owner = next((scope.owner for scope in function.scopes() if scope.owner is not None), None)
        if owner is None:
            return None
        key = (function.file.functions[0], f"{owner.name}@{owner.lineno}.{name}")
        if key not in self._names:
            found: list[Kind | None] = []
            with self._asking(key):
                for node, method in self.file.assigned(owner, name):
                    if isinstance(node, ast.AnnAssign):
                        found.append(self.annotated(node.annotation, method))
                    elif not _is_none(node.value):
                        found.append(self.of(node.value, method))
            self._names[key] = _agreed(found)
        return self._names[key]

    def _of_call(self, node: ast.Call, function: Function) -> Kind | None:
        name = function.qualified(node.func)
        if name in TRACING:
            return Kind.MODULE
        if name in COPIES and node.args:
            return self.of(node.args[0], function)
        if name and (kind := self.classes.kind(name)) is not None:
            return kind
        if isinstance(node.func, ast.Call) and function.qualified(node.func.func) in MAKERS:
            return Kind.MODULE
        if isinstance(node.func, ast.Attribute):
            base = self.of(node.func.value, function)
            return METHODS.get((base, node.func.attr)) if base is not None else None
        if isinstance(node.func, ast.Name):
            return self._of_named_call(node, node.func.id, function)
        return None

    def _of_named_call(self, node: ast.Call, name: str, function: Function) -> Kind | None:
        first = self.of(node.args[0], function) if node.args else None
        if name in _SEQUENCES:
            return Kind.LIST if first in ITERABLE else None
        if name == "reversed":
            return first if first in (Kind.NODES, Kind.LIST) else None
        if name == "iter":
            return Kind.LIST if first in ITERABLE else None
        if name == "next":
            return Kind.NODE if first in ITERABLE else None
        if name in {"set", "frozenset"}:
            return Kind.SET
        if name in self.file.classes:
            return self.class_kind(self.file.classes[name], function)
        called = self.file.function(name, function)
        if called is not None and isinstance(called.node, ast.FunctionDef) and called.node.returns is not None:
            return self.annotated(called.node.returns, called)
        return None


def arguments_for(file: File, function: Function, argument: ast.arg) -> Iterable[tuple[ast.expr, Function]]:
    """What the calls in this file pass for a parameter of a function that is not a method, and where."""
    if function.owner is not None or argument not in function.parameters:
        return
    place = function.parameters.index(argument)
    for call, caller in file.calls_of(function):
        if len(call.args) > place and not any(isinstance(given, ast.Starred) for given in call.args):
            yield call.args[place], caller
        for keyword in call.keywords:
            if keyword.arg == argument.arg:
                yield keyword.value, caller


def _agreed(kinds: list[Kind | None]) -> Kind | None:
    return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
