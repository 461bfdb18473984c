"""Names: scopes of functions and modules, and frames of the abstract call stack."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from fxlint.predict.heap import Changes
from fxlint.predict.values import Function, Value
from fxlint.project.index import ModuleIndex
from fxlint.project.source import SourceFile


@dataclass(frozen=True, slots=True)
class Around:
    """The function that a call stands in, and the class that this is a method of."""

    function: ast.FunctionDef | None = None
    owner: ast.ClassDef | None = None


@dataclass(eq=False, slots=True)
class Sites:
    """Calls in a file: by the name that is called, by that of the attribute that is, by the name that their result is
    assigned to, by that of the list that holds it; and what they give, by the names of their keywords. ``entries`` are
    what dictionaries hold, by its name.
    """

    calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    attributes: dict[str, list[ast.Call]] = field(default_factory=dict)
    assigned: dict[str, list[ast.Call]] = field(default_factory=dict)
    held: dict[str, list[ast.Call]] = field(default_factory=dict)
    keywords: dict[str, list[tuple[ast.Call, ast.expr]]] = field(default_factory=dict)
    entries: dict[str, list[tuple[ast.expr, ast.expr]]] = field(default_factory=dict)
    around: dict[ast.expr, Around] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class ModuleScope:
    """The globals of one module; values are found on first use. ``pending`` guards against circular definitions."""

    index: ModuleIndex
    values: dict[str, Value | None] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    methods: dict[str, list[Function]] = field(default_factory=dict)  # by name, of all classes
    registered: bool = False  # the decorated definitions of the module have been looked at

    @property
    def source(self) -> SourceFile:
        return self.index.source


@dataclass(eq=False, slots=True)
class Scope:
    """Local names. ``parent`` is the enclosing function's scope; module globals come last."""

    module: ModuleScope
    parent: Scope | None = None
    vars: dict[str, Value] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            value = scope.vars.get(name)
            if value is not None:
                return value
            scope = scope.parent
        return None


@dataclass(eq=False, slots=True)
class Exit:
    """A way out of a function. ``unlikely``: conditions on it that the default configuration does not meet."""

    value: Value
    failed: bool
    unlikely: int


@dataclass(eq=False, slots=True)
class Loop:
    """A loop being run: what the paths that left an iteration early had changed."""

    breaks: list[Changes] = field(default_factory=list)
    broken: bool = False
    continued: bool = False


@dataclass(eq=False, slots=True)
class Frame:
    """One call. ``call`` is the node in the caller's source that made it.

    ``divided`` says that the body's last way out lies in the branches of a fork, so that ``pending`` has the states of
    all ways out; otherwise the present state is that of the last one.
    """

    scope: Scope
    function: Function | None
    call: ast.AST | None
    exits: list[Exit] = field(default_factory=list)
    pending: list[Changes] = field(default_factory=list)
    divided: bool = False
    yields: list[Value] | None = None
    loops: list[Loop] = field(default_factory=list)
    outer_names: dict[str, Scope | None] = field(default_factory=dict)  # nonlocal and global names
    guards: int = 0  # of the path that led to the call
    discarded: ast.AST | None = None  # the expression that is a statement: nobody asks for its value
    answered: int | None = None  # guards where the condition around the statement is one that a Proxy has answered

    @property
    def source(self) -> SourceFile:
        return self.scope.module.source
