"""What can be traced: module classes with a forward, and functions that the code hands to the tracer."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fxlint.findings import Root
from fxlint.predict import classes, evaluate, names
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame, ModuleScope, Scope
from fxlint.predict.values import Class, Function, Instance
from fxlint.project.index import ModuleIndex

_TRACERS: Final = frozenset({"symbolic_trace", "trace", "replace_pattern", "replace_pattern_with_filters"})
_STUB: Final = ".pyi"
Directives = Mapping[int, Sequence[tuple[str, str | None]]]
"""What comments say to fxlint, by line."""
_WORDS: Final = ("symbolic_trace", "replace_pattern", ".trace(", "fxlint:")


@dataclass(frozen=True, slots=True)
class RootValue:
    """A root with the class, function or module object that it is."""

    root: Root
    value: Class | Function | Instance
    scope: ModuleScope


def find_roots(vm: Machine, scope: ModuleScope) -> Iterator[RootValue]:
    """The roots of one linted file, in the order of their lines; none in a stub, where nothing has a body."""
    index = scope.index
    if index.source.path.endswith(_STUB):
        return
    directives = index.source.directives()
    for qualname, node in index.classes():
        cls = _class_value(vm, scope, qualname, node)
        if cls is not None and _is_traceable(vm, cls):
            lines = _head(node, directives)
            instances, inputs = _said("instance", lines, directives), _said("inputs", lines, directives)
            root = Root(index.source.path, qualname, node.lineno, "class", instances, next(iter(inputs), None))
            yield RootValue(root, cls, scope)
    if any(word in index.source.text for word in _WORDS):
        yield from _functions(vm, scope, directives)


def _head(node: ast.ClassDef | ast.FunctionDef, directives: Directives) -> range:
    """The lines of a definition up to its body, and the one above with those above it that speak to fxlint too."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    while first in directives and first - 1 in directives:
        first -= 1
    return range(first, node.body[0].lineno)


def _said(word: str, lines: range, directives: Directives) -> tuple[str, ...]:
    """The values that comments on these lines give to a word."""
    return tuple(value for line in lines for name, value in directives.get(line, ()) if name == word and value)


def _class_value(vm: Machine, scope: ModuleScope, qualname: str, node: ast.ClassDef) -> Class | None:
    outer, _, name = qualname.rpartition(".")
    if outer:
        owner = _class_value_by_name(vm, scope, outer)
        value = classes.own_member(vm, owner, name) if owner is not None else None
    else:
        value = names.global_name(vm, scope, name)
    if isinstance(value, Class) and value.node is node:
        return value
    # Another definition of that name wins, or a decorator replaced it: the class is still there to be traced.
    return Class(node.name, qualname, node, Scope(scope))


def _class_value_by_name(vm: Machine, scope: ModuleScope, qualname: str) -> Class | None:
    head, *rest = qualname.split(".")
    value = names.global_name(vm, scope, head)
    for name in rest:
        value = classes.own_member(vm, value, name) if isinstance(value, Class) else None
    return value if isinstance(value, Class) else None


def _is_traceable(vm: Machine, cls: Class) -> bool:
    classes.resolve_bases(vm, cls)
    owner = classes.owner_of(vm, cls, "forward")
    if owner is None:
        return False
    if classes.is_module_class(vm, cls):
        return isinstance(owner, Class) or vm.facts.canonical(owner.name) != classes.MODULE
    return not cls.complete and isinstance(owner, Class) and isinstance(classes.find(vm, cls, "__init__"), Function)


def _functions(vm: Machine, scope: ModuleScope, directives: Directives) -> Iterator[RootValue]:
    """Functions, and module objects made at the top level, that are handed to the tracer or marked."""
    index = scope.index
    handed = _handed_to_tracer(index)
    for node in index.source.tree.body:
        if isinstance(node, ast.FunctionDef):
            name = node.name
            lines = _head(node, directives)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            lines = range(node.lineno - 1, (node.end_lineno or node.lineno) + 1)
        else:
            continue
        if name in handed or any(word == "trace" for line in lines for word, _ in directives.get(line, ())):
            value = names.global_name(vm, scope, name)
            if isinstance(value, Function) or (isinstance(value, Instance) and classes.is_module(vm, value)):
                inputs = next(iter(_said("inputs", lines, directives)), None)
                yield RootValue(Root(index.source.path, name, node.lineno, "function", inputs=inputs), value, scope)
    yield from _local_functions(vm, scope, handed)


def _local_functions(vm: Machine, scope: ModuleScope, handed: set[str]) -> Iterator[RootValue]:
    """Functions that are handed to the tracer by the very function that defines them, as patterns often are, and that
    need nothing else of it.
    """
    for path, outer in _outermost(scope.index.source.tree):
        given = {name for name in handed if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(outer))}
        inner = [node for node in outer.body if isinstance(node, ast.FunctionDef) and node.name in given]
        known = _bound_in(outer)
        for node in inner:
            if node.decorator_list or _read_in(node) & (known - _bound_in(node)):
                continue
            frame = Frame(Scope(scope), None, None)
            value = evaluate.function(vm, frame, node)
            root = Root(scope.index.source.path, f"{path}.<locals>.{node.name}", node.lineno, "function")
            yield RootValue(root, value, scope)


def _outermost(tree: ast.AST, path: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a file and the methods of its classes, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield f"{path}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _outermost(node, f"{path}{node.name}.")


def _bound_in(function: ast.FunctionDef) -> set[str]:
    """The names that a function gives a value to, its parameters among them."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {
        *(one.arg for one in named if one is not None),
        *(one.id for one in ast.walk(function) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)),
        *(one.name for one in function.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))),
        *(
            alias.asname or alias.name.partition(".")[0]
            for one in function.body
            if isinstance(one, (ast.Import, ast.ImportFrom))
            for alias in one.names
        ),
    }


def _read_in(function: ast.FunctionDef) -> set[str]:
    return {one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _handed_to_tracer(index: ModuleIndex) -> set[str]:
    """Names of functions that stand as arguments of ``symbolic_trace``, ``Tracer().trace``, ``replace_pattern``."""
    found: set[str] = set()
    for node in ast.walk(index.source.tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called not in _TRACERS or (called == "trace" and not _is_fx_tracer(node.func)):
            continue
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        found.update(argument.id for argument in arguments if isinstance(argument, ast.Name))
    return found


def _is_fx_tracer(function: ast.expr) -> bool:
    """``Tracer().trace`` and names that say tracer, but not ``torch.jit.trace``."""
    owner = ast.unparse(function.value).lower() if isinstance(function, ast.Attribute) else ""
    return "tracer" in owner
