"""Layers that a constructor is given where linted code uses it: what an argument without a default probably is, and
what one that is None by default may be.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.predict import classes, evaluate, names
from fxlint.predict.machine import Machine, OutOfBudget, PathEnd, Unwind
from fxlint.predict.scopes import Around, Frame, ModuleScope, Scope, Sites
from fxlint.predict.values import (
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Instance,
    Sequence,
    Unknown,
    Value,
    join_all,
    same,
)
from fxlint.project.tree import children, kept

MAX_LAYERS: Final = 3
MAX_FILES: Final = 8
"""Files beside its own in which the calls of a class are looked at."""
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Layer = Instance | Class | External


def layers_given(vm: Machine, cls: Class, init: Function) -> dict[str, Value]:
    """By parameter name, the modules and their classes that calls of the class give for parameters without a default,
    and for those that are None by default.
    """
    wanted = _without_default(init) | _none_by_default(init)
    found: dict[str, list[Layer]] = {}
    for module, place, name, node in _given(vm, cls, init, wanted):
        kinds = found.setdefault(name, [])
        for layer in _layers(vm, module, place, node) if len(kinds) < MAX_LAYERS else ():
            if not any(_is_same(layer, other) for other in kinds):
                kinds.append(layer)
    return {name: _together(kinds) for name, kinds in found.items() if kinds}


def _given(
    vm: Machine, cls: Class, init: Function, wanted: frozenset[str]
) -> Iterator[tuple[ModuleScope, ast.expr, str, ast.expr]]:
    """The arguments of calls of the class for some parameters, and the entries of that name in dictionaries."""
    if not wanted:
        return
    for module, call in calls_of(vm, cls):
        yield from ((module, call, name, node) for name, node in bound(call, init.node) if name in wanted)
    for name in sorted(wanted):
        for place, node in of(cls.module).entries.get(name, ()):
            yield cls.module, place, name, node


def _layers(vm: Machine, module: ModuleScope, place: ast.expr, node: ast.expr) -> Iterator[Layer]:
    """The modules that an argument of a call may be, and the classes of modules."""
    if isinstance(node, ast.IfExp):
        yield from _layers(vm, module, place, node.body)
        yield from _layers(vm, module, place, node.orelse)
    made = [_layer(vm, module, one) for one in _made(module, node)]
    yield from (layer for layer in made if layer is not None)
    if isinstance(node, (ast.Name, ast.Attribute)) and not made and not _is_local(module, place, node):
        value = evaluated(vm, module, node, {})
        if isinstance(value, (Class, External)) and classes.is_module_class(vm, value):
            yield value


def _is_local(module: ModuleScope, place: ast.expr, node: ast.expr) -> bool:
    """Whether a dotted name starts with a variable of the function around a place."""
    while isinstance(node, ast.Attribute):
        node = node.value
    function = of(module).around[place].function
    if function is None or not isinstance(node, ast.Name):
        return not isinstance(node, ast.Name)
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return node.id in names.assigned(function) or any(parameter.arg == node.id for parameter in named)


def calls_of(vm: Machine, cls: Class) -> Iterator[tuple[ModuleScope, ast.Call]]:
    """The calls of a class by its name, those in its own file first."""
    for module in (cls.module, *importing(vm, cls)):
        yield from ((module, call) for call in of(module).calls.get(cls.name, ()))


def importing(vm: Machine, cls: Class) -> list[ModuleScope]:
    """The first of the other modules that call the class by its name."""
    found: list[ModuleScope] = []
    for name in vm.project.callers(cls.name):
        if len(found) == MAX_FILES:
            break
        module = names.module_scope(vm, name)
        if module is not None and module is not cls.module:
            value = names.global_name(vm, module, cls.name)
            if isinstance(value, Class) and value.node is cls.node:
                found.append(module)
    return found


def any_given(vm: Machine, cls: Class) -> Value:
    """Any of the modules that calls of the class in its file give by position."""
    kinds: list[Layer] = []
    for call in of(cls.module).calls.get(cls.name, ()):
        for made in (made for node in call.args for made in _made(cls.module, node)):
            layer = _layer(vm, cls.module, made) if len(kinds) < MAX_LAYERS else None
            if layer is not None and not any(_is_same(layer, other) for other in kinds):
                kinds.append(layer)
    return Unknown(likely=_together(kinds)) if kinds else UNKNOWN


def _without_default(init: Function) -> frozenset[str]:
    parameters = init.node.args
    named = [*parameters.posonlyargs, *parameters.args]
    required = named[1 : len(named) - len(parameters.defaults)]
    keywords = [p for p, d in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True) if d is None]
    star = [parameters.vararg] if parameters.vararg is not None else []
    return frozenset(parameter.arg for parameter in (*required, *keywords, *star))


def _none_by_default(init: Function) -> frozenset[str]:
    named = [*init.node.args.posonlyargs, *init.node.args.args]
    optional = [parameter.arg for parameter in named[len(named) - len(init.defaults) :]]
    own = {**dict(zip(optional, init.defaults, strict=True)), **init.keyword_defaults}
    return frozenset(name for name, default in own.items() if isinstance(default, Const) and default.value is None)


def of(module: ModuleScope) -> Sites:
    """The calls in a file."""
    return _sites(module.source.tree)


@kept
def _sites(tree: ast.Module) -> Sites:
    found = Sites()
    pending: list[tuple[ast.AST, Around]] = [(tree, Around())]
    for node, around in pending:
        if isinstance(node, ast.FunctionDef):
            inner = Around(node, around.owner if around.function is None else None)
        else:
            inner = Around(None, node) if isinstance(node, ast.ClassDef) else around
        pending += [(child, inner) for child in children(node)]
        if isinstance(node, ast.Call):
            _note(found, node, around)
        elif isinstance(node, ast.Dict):
            found.around[node] = around
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found.entries.setdefault(key.value, []).append((node, value))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _add(found.assigned, target, [node.value])
                _add(found.held, target, _elements(node.value))
    return found


def _note(found: Sites, call: ast.Call, around: Around) -> None:
    found.around[call] = around
    if isinstance(call.func, ast.Name):
        found.calls.setdefault(call.func.id, []).append(call)
    elif isinstance(call.func, ast.Attribute):
        found.attributes.setdefault(call.func.attr, []).append(call)
        if call.func.attr == "append":
            _add(found.held, call.func.value, call.args)
    for keyword in call.keywords:
        if keyword.arg is not None:
            found.keywords.setdefault(keyword.arg, []).append((call, keyword.value))
            if isinstance(call.func, ast.Name) and call.func.id == "dict":
                found.entries.setdefault(keyword.arg, []).append((call, keyword.value))


def _add(found: dict[str, list[ast.Call]], target: ast.expr, values: list[ast.expr]) -> None:
    calls = [value for value in values if isinstance(value, ast.Call)]
    if calls and _place(target):
        found.setdefault(_place(target), []).extend(calls)


def _place(node: ast.expr) -> str:
    """A name, or the attribute of what has one; nothing for other expressions."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List) else [node.elt] if isinstance(node, ast.ListComp) else []


def _made(module: ModuleScope, node: ast.expr) -> list[ast.Call]:
    """The calls that make an argument: itself, what is assigned to the name or attribute of an object that it is, or
    what a list holds.
    """
    if isinstance(node, ast.Call):
        return [node]
    if isinstance(node, ast.Starred):
        return of(module).held.get(node.value.id, [])[-MAX_LAYERS:] if isinstance(node.value, ast.Name) else []
    return of(module).assigned.get(_place(node), [])[:MAX_LAYERS]


def bound(call: ast.Call, node: FunctionNode, skip: int = 1) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of the call by the names of the function's parameters, as far as the call spells them out.

    ``skip`` are the parameters that the call does not give, such as ``self``.
    """
    parameters = node.args
    names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)][skip:]
    for position, given in enumerate(call.args):
        if isinstance(given, ast.Starred):
            if parameters.vararg is not None and position >= len(names):
                yield parameters.vararg.arg, given
            break
        if position < len(names):
            yield names[position], given
        elif parameters.vararg is not None:
            yield parameters.vararg.arg, given
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, keyword.value


def evaluated(vm: Machine, module: ModuleScope, node: ast.expr, variables: dict[str, Value]) -> Value:
    """The value of an expression in a file, with these local names, before anything runs."""
    with vm.detached(), vm.uncharged():
        frame = Frame(Scope(module, vars=variables), None, None)
        vm.frames.append(frame)
        try:
            return evaluate.expression(vm, frame, node)
        except (PathEnd, Unwind, OutOfBudget):
            return UNKNOWN


def _layer(vm: Machine, module: ModuleScope, node: ast.Call, lists: bool = True) -> Instance | None:
    """The module that the argument makes; of the local names in it only lists of modules are known."""
    value = evaluated(vm, module, node, _lists(vm, module, node) if lists else {})
    return value if isinstance(value, Instance) and classes.is_module(vm, value) else None


def _lists(vm: Machine, module: ModuleScope, node: ast.Call) -> dict[str, Value]:
    """The lists of modules among the arguments, by name."""
    given = [part.value if isinstance(part, ast.Starred) else part for part in node.args]
    found: dict[str, Value] = {}
    for name in (part.id for part in given if isinstance(part, ast.Name)):
        made = [_layer(vm, module, call, lists=False) for call in of(module).held.get(name, [])[-MAX_LAYERS:]]
        layers = [layer for layer in made if layer is not None]
        if layers:
            found[name] = Sequence("list", [], join_all(layers))
    return found


def _is_same(one: Layer, other: Layer) -> bool:
    """Whether two layers are of one class; lists of layers differ by what they hold."""
    if not (isinstance(one, Instance) and isinstance(other, Instance)):
        return same(one, other)
    if one.children is not None:
        return one is other
    if isinstance(one.cls, External) and isinstance(other.cls, External):
        return one.cls.name == other.cls.name
    return one.cls is other.cls


def _together(kinds: list[Layer]) -> Value:
    """One of several layers; where all are lists of one class, a list that holds what any of them does."""
    found = [kind for kind in kinds if isinstance(kind, Instance)]
    if len(found) < len(kinds):
        return join_all(kinds)
    first, *others = found
    members = [member for kind in found if isinstance(kind.children, Sequence) for member in kind.children.members()]
    if others and members and all(same(first.cls, other.cls) for other in others):
        return Instance(first.cls, children=Sequence("list", [], join_all(members)), expression=first.expression)
    return join_all(kinds)
