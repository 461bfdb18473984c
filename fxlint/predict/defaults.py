"""Which defaults of a constructor stand: those that nothing in the linted code departs from.

A call of the class departs from a default where it gives another value, or one that cannot be known. Its arguments are
looked up through the function that the call stands in: a parameter there is its own default, where that stands. So
does a keyword of that name, with another value, in a call of the file that may reach the class in ways that are not
seen: ``dict(padding="same")``, ``block(padding="same")``, ``_create("name", padding="same", **kwargs)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fxlint.predict import names, sites
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Around, ModuleScope
from fxlint.predict.sites import FunctionNode
from fxlint.predict.values import UNKNOWN, Class, Const, External, Function, Union, Unknown, Value, same
from fxlint.project.tree import walk

_CARRIERS: Final = frozenset({"builtins.dict", "functools.partial"})


@dataclass(frozen=True, slots=True)
class _Callee:
    """A constructor, or a function around a call, with the name by which it is called; ``cls`` where other files can
    call it. ``skip`` are the parameters that its calls do not give.
    """

    module: ModuleScope
    name: str
    node: FunctionNode
    skip: int
    cls: Class | None = None


def stands(vm: Machine, cls: Class, init: Function, parameter: str, default: Value) -> bool:
    """Whether a parameter of the class's constructor has its default wherever the linted code makes an object."""
    return _stands(vm, _Callee(cls.module, cls.name, init.node, 1, cls), parameter, default)


def _stands(vm: Machine, callee: _Callee, parameter: str, default: Value) -> bool:
    if isinstance(default, Const) and isinstance(default.value, bool):
        return False  # a flag is there to be set either way
    key = (id(callee.module), callee.name, id(callee.node), parameter)
    if key not in vm.standing:
        vm.standing[key] = True  # what its own body gives on says nothing more
        vm.standing[key] = all(
            _leaves(vm, module, call, callee, parameter, default) for module, call in _calls(vm, callee)
        ) and not any(
            _departs(vm, callee, call, node, parameter, default)
            for call, node in sites.of(callee.module).keywords.get(parameter, ())
        )
    return vm.standing[key]


def _calls(vm: Machine, callee: _Callee) -> Iterator[tuple[ModuleScope, ast.Call]]:
    if callee.cls is not None:
        yield from sites.calls_of(vm, callee.cls)
        return
    found = sites.of(callee.module)
    for call in found.calls.get(callee.name, []) + found.attributes.get(callee.name, []):
        yield callee.module, call


def _leaves(
    vm: Machine, module: ModuleScope, call: ast.Call, callee: _Callee, parameter: str, default: Value
) -> bool:
    """Whether a call leaves a parameter at its default; one that spreads what is not known may give anything."""
    for name, node in sites.bound(call, callee.node, callee.skip):
        if name == parameter:
            return _equal(_value(vm, module, call, node), default)
    function = sites.of(module).around[call].function
    passed_on = function.args.kwarg.arg if function is not None and function.args.kwarg is not None else None
    return not any(isinstance(given, ast.Starred) for given in call.args) and all(
        isinstance(keyword.value, ast.Name) and keyword.value.id == passed_on
        for keyword in call.keywords
        if keyword.arg is None
    )


def _departs(vm: Machine, callee: _Callee, call: ast.Call, node: ast.expr, parameter: str, default: Value) -> bool:
    """Whether a keyword of another call, which may reach the callee, is surely another value."""
    value = _value(vm, callee.module, call, node)
    if isinstance(value, (Unknown, Union)) or _equal(value, default):
        return False
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
        return False  # such as super().__init__(...)
    called = _value(vm, callee.module, call, call.func)
    if isinstance(called, External):
        return called.name in _CARRIERS
    if isinstance(called, Function):
        signature = called.node.args
        own = (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
        return signature.kwarg is not None and all(given.arg != parameter for given in own)
    return not isinstance(called, Class)


def _value(vm: Machine, module: ModuleScope, call: ast.Call, node: ast.expr) -> Value:
    """What an expression in a call is, as far as the defaults that stand say it."""
    around = sites.of(module).around[call]
    if around.function is None:
        return sites.evaluated(vm, module, node, {})
    variables: dict[str, Value] = {}
    for name in sorted({part.id for part in walk(node) if isinstance(part, ast.Name)}):
        value = _local(vm, module, around, around.function, name)
        if value is not None:
            variables[name] = value
    return sites.evaluated(vm, module, node, variables)


def _local(vm: Machine, module: ModuleScope, around: Around, function: ast.FunctionDef, name: str) -> Value | None:
    """A local name of a function: a parameter whose default stands, or not known. None where it is not local."""
    if name in names.assigned(vm, function):
        return UNKNOWN
    parameters = function.args
    named = [*parameters.posonlyargs, *parameters.args]
    given = [None] * (len(named) - len(parameters.defaults)) + parameters.defaults
    for parameter, node in zip((*named, *parameters.kwonlyargs), (*given, *parameters.kw_defaults), strict=True):
        if parameter.arg == name:
            default = UNKNOWN if node is None else sites.evaluated(vm, module, node, {})
            return default if _stands(vm, _around(vm, module, around, function), name, default) else UNKNOWN
    return UNKNOWN if name in {star.arg for star in (parameters.vararg, parameters.kwarg) if star} else None


def _around(vm: Machine, module: ModuleScope, around: Around, function: ast.FunctionDef) -> _Callee:
    if around.owner is None:
        return _Callee(module, function.name, function, 0)
    if function.name != "__init__":
        return _Callee(module, function.name, function, 1)
    cls = names.global_name(vm, module, around.owner.name)
    known = cls if isinstance(cls, Class) and cls.node is around.owner else None
    return _Callee(module, around.owner.name, function, 1, known)


def _equal(value: Value, default: Value) -> bool:
    if isinstance(value, Const) and isinstance(default, Const):
        return bool(value.value == default.value)
    return not isinstance(value, Unknown) and same(value, default)
