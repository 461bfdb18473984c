"""What the linted code gives for the options of a constructor: the default, and what calls of the class say otherwise.

The arguments of a call are looked up through the function that it stands in: a parameter there is what the code gives
for it in turn. A keyword of that name counts too in a call of the file that may reach the class in a way that is not
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
from fxlint.predict.values import (
    MAX_OPTIONS,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Union,
    Unknown,
    Value,
    options,
    same,
)
from fxlint.project.tree import walk

_CARRIERS: Final = frozenset({"builtins.dict", "functools.partial"})


@dataclass(frozen=True, slots=True)
class _Callee:
    """A constructor, or a function around a call, with the name by which it is called; ``cls`` where other files can
    call it. ``skip`` are the parameters that its calls do not give. ``around``: it is not asked for for its own sake.
    """

    module: ModuleScope
    name: str
    node: FunctionNode
    skip: int
    cls: Class | None = None
    around: bool = False


def given(vm: Machine, cls: Class, init: Function, parameter: str, default: Value) -> Value | None:
    """What a parameter of the class's constructor is where the linted code makes an object, with its default first.

    None where a value is not known. A flag is there to be set either way.
    """
    return _given(vm, _Callee(cls.module, cls.name, init.node, 1, cls), parameter, default)


def _given(vm: Machine, callee: _Callee, parameter: str, default: Value | None) -> Value | None:
    if isinstance(default, Const) and isinstance(default.value, bool):
        return None
    key = (id(callee.module), callee.name, id(callee.node), parameter, callee.around)
    if key not in vm.given:
        vm.given[key] = default  # what its own body gives on adds nothing
        values: list[Value] = []
        for value in _values(vm, callee, parameter, default):
            values += [option for option in options(value) if not any(_equal(option, other) for other in values)]
        known = 0 < len(values) <= MAX_OPTIONS and not any(isinstance(value, Unknown) for value in values)
        vm.given[key] = (values[0] if len(values) == 1 else Union(values, likely=1)) if known else None
    return vm.given[key]


def _values(vm: Machine, callee: _Callee, parameter: str, default: Value | None) -> Iterator[Value]:
    if default is not None:
        yield default
    for module, call in _calls(vm, callee):
        yield _argument(vm, module, call, callee, parameter, default or UNKNOWN)
    for call, node in sites.of(callee.module).keywords.get(parameter, ()):
        value = _value(vm, callee.module, call, node)
        if not isinstance(value, Unknown) and _may_reach(vm, callee, call, parameter):
            yield value


def _calls(vm: Machine, callee: _Callee) -> Iterator[tuple[ModuleScope, ast.Call]]:
    if callee.cls is not None:
        yield from sites.calls_of(vm, callee.cls)
        return
    found = sites.of(callee.module)
    for call in found.calls.get(callee.name, []) + found.attributes.get(callee.name, []):
        yield callee.module, call


def _argument(
    vm: Machine, module: ModuleScope, call: ast.Call, callee: _Callee, parameter: str, default: Value
) -> Value:
    """What a call gives. One that spreads what is not known may give anything; of a function around another call, whose
    options are those of a whole model, it is taken to leave the defaults.
    """
    for name, node in sites.bound(call, callee.node, callee.skip):
        if name == parameter:
            return _value(vm, module, call, node)
    function = sites.of(module).around[call].function
    passed_on = function.args.kwarg.arg if function is not None and function.args.kwarg is not None else None
    spread = [given for given in call.args if isinstance(given, ast.Starred)] + [
        keyword.value
        for keyword in call.keywords
        if keyword.arg is None and not (isinstance(keyword.value, ast.Name) and keyword.value.id == passed_on)
    ]
    return UNKNOWN if spread and not callee.around else default


def _may_reach(vm: Machine, callee: _Callee, call: ast.Call, parameter: str) -> bool:
    """Whether a keyword of another call may be meant for the callee."""
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
    """What an expression in a call is, as far as what is given to the function around it says so."""
    around = sites.of(module).around[call]
    if around.function is None or isinstance(node, ast.Constant):
        return sites.evaluated(vm, module, node, {})
    variables: dict[str, Value] = {}
    for name in sorted({part.id for part in walk(node) if isinstance(part, ast.Name)}):
        value = _local(vm, module, around, around.function, name)
        if value is not None:
            variables[name] = value
    return sites.evaluated(vm, module, node, variables)


def _local(vm: Machine, module: ModuleScope, around: Around, function: ast.FunctionDef, name: str) -> Value | None:
    """A local name of a function: what is given for a parameter, or not known. None where it is not local."""
    if name in names.assigned(function):
        return UNKNOWN
    parameters = function.args
    named = [*parameters.posonlyargs, *parameters.args]
    given = [None] * (len(named) - len(parameters.defaults)) + parameters.defaults
    for parameter, node in zip((*named, *parameters.kwonlyargs), (*given, *parameters.kw_defaults), strict=True):
        if parameter.arg == name:
            default = None if node is None else sites.evaluated(vm, module, node, {})
            return _given(vm, _around(vm, module, around, function), name, default) or UNKNOWN
    return UNKNOWN if name in {star.arg for star in (parameters.vararg, parameters.kwarg) if star} else None


def _around(vm: Machine, module: ModuleScope, around: Around, function: ast.FunctionDef) -> _Callee:
    if around.owner is None:
        return _Callee(module, function.name, function, 0, None, True)
    if function.name != "__init__":
        return _Callee(module, function.name, function, 1, None, True)
    cls = names.global_name(vm, module, around.owner.name)
    known = cls if isinstance(cls, Class) and cls.node is around.owner else None
    return _Callee(module, around.owner.name, function, 1, known, True)


def _equal(value: Value, other: Value) -> bool:
    if isinstance(value, Const) and isinstance(other, Const):
        return bool(value.value == other.value)
    return same(value, other)
