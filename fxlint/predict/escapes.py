"""What code that is not interpreted gets hold of: what it may have changed is not known from then on.

That is what lists and dictionaries hold, and what functions assign: variables around them, attributes, globals.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Final

from fxlint.predict import classes, memo, names
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Scope
from fxlint.predict.values import (
    MAYBE,
    UNKNOWN,
    Bound,
    Class,
    Decorated,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Union,
    Value,
    holds_traced,
    join_all,
)
from fxlint.project.tree import kept, walk

_READERS: Final = frozenset(
    "torch numpy math builtins itertools collections functools copy json logging warnings inspect typing".split()
)
"""Libraries whose functions leave the containers that they are given as they are; functions they call all the same."""


def given(vm: Machine, values: Iterable[Value], library: str = "") -> None:
    """These are the arguments of a callable that is not interpreted, of a function of this library."""
    if vm.tracing:
        reads = library.partition(".")[0] in _READERS
        for value in values:
            _escape(vm, value, reads)


def called(vm: Machine, function: Value) -> None:
    """It is called in a way that is not interpreted: any number of times, with any arguments."""
    if vm.tracing:
        _call(vm, function, [], set())


def implicitly(vm: Machine, value: Value, *methods: str) -> None:
    """Python itself calls these special methods of an object, where its class has them."""
    for name in methods if isinstance(value, Instance) else ():
        assert isinstance(value, Instance)
        called(vm, Bound(classes.find(vm, value.cls, name) or UNKNOWN, value))


def _escape(vm: Machine, value: Value, reads: bool, depth: int = 3) -> None:
    """``reads``: it is only looked at, but functions in it are called."""
    if isinstance(value, Bound) and not isinstance(value.function, (Function, Decorated)):
        _escape(vm, value.receiver, False, depth)
    elif isinstance(value, (Bound, Function, Decorated)):
        called(vm, value)
    elif isinstance(value, Instance):
        if (method := classes.find(vm, value.cls, "__call__")) is not None:
            called(vm, Bound(method, value))
    elif isinstance(value, Partial):
        given(vm, (value.function, *value.args, *value.keywords.values()))
    elif isinstance(value, Union):
        for option in value.options:
            _escape(vm, option, reads, depth)
    elif isinstance(value, Sequence):
        for member in value.members() if depth else ():
            _escape(vm, member, reads, depth - 1)
        if value.kind in {"list", "set"} and not reads:
            vm.heap.refill(value, [], _anything(value, value.members()))
    elif isinstance(value, Mapping):
        for entry in value.entries() if depth else ():
            _escape(vm, entry, reads, depth - 1)
        if not reads:
            vm.heap.refill(value, {}, _anything(value, value.entries()))


def _anything(old: Value, members: Iterable[Value]) -> Value:
    return join_all([*members, UNKNOWN if holds_traced(old) else MAYBE])


# -- what functions assign --------------------------------------------------------------------------------------------


def _call(vm: Machine, function: Value, receivers: list[Value], seen: set[tuple[int, ...]]) -> None:
    """What a function, and those it may call, may change; ``receivers`` are its first arguments."""
    if isinstance(function, Bound):
        _call(vm, function.function, [function.receiver, *receivers], seen)
    elif isinstance(function, Decorated):
        _call(vm, function.function, receivers, seen)
    elif isinstance(function, Function):
        place = (id(function.node), id(function.scope), *map(id, receivers))
        if place not in seen:
            seen.add(place)
            _change(vm, function, receivers, seen)


def _change(vm: Machine, function: Function, receivers: list[Value], seen: set[tuple[int, ...]]) -> None:
    for captured in memo.captured(function):
        if isinstance(captured, (Function, Bound)):
            _call(vm, captured, [], seen)
        else:
            _escape(vm, captured, False, 0)
    for node in _changes(function.node):
        if isinstance(node, ast.Nonlocal):
            for name in node.names:
                _forget_variable(vm, function.scope, name)
        elif isinstance(node, ast.Global):
            for name in node.names:
                old = names.global_name(vm, function.module, name) or UNKNOWN
                vm.set_global(function.module, name, _anything(old, [old]))
        elif isinstance(node, ast.Call):
            owner = _named(vm, function, receivers, node.args[0])
            if owner is not None and isinstance(node.args[1], ast.Constant):
                _forget(vm, owner, str(node.args[1].value))
        elif isinstance(node, ast.Attribute) and (owner := _named(vm, function, receivers, node.value)) is not None:
            if isinstance(node.ctx, ast.Load):
                _use(vm, owner, node.attr, seen)
            else:
                _forget(vm, owner, node.attr)


@kept
def _changes(function: ast.AST) -> tuple[ast.AST, ...]:
    """The parts of a function that may change what lies outside of it."""
    return tuple(
        node for node in walk(function) if isinstance(node, (ast.Nonlocal, ast.Global, ast.Attribute)) or _sets(node)
    )


def _sets(node: ast.AST) -> bool:
    """``setattr(owner, name, value)``."""
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr"
    return named and isinstance(node, ast.Call) and len(node.args) == 3


def _named(vm: Machine, function: Function, receivers: list[Value], place: ast.expr) -> Value | None:
    """The object or class that a name in a function stands for, where it is known."""
    if not isinstance(place, ast.Name):
        return None
    parameters = function.node.args
    own = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    if place.id in own:
        position = own.index(place.id)
        return receivers[position] if position < len(receivers) else None
    if place.id in names.assigned(function.node):
        return None
    return function.scope.find(place.id) or names.global_name(vm, function.module, place.id)


def _use(vm: Machine, owner: Value, name: str, seen: set[tuple[int, ...]]) -> None:
    """It reads an attribute: it may call that, or change what it holds."""
    if not isinstance(owner, Instance):
        return
    held = owner.attributes.get(name)
    if held is not None:
        _escape(vm, held, False, 0)
    else:
        _call(vm, classes.find(vm, owner.cls, name) or UNKNOWN, [owner], seen)


def _forget_variable(vm: Machine, scope: Scope | None, name: str) -> None:
    while scope is not None and name not in scope.vars:
        scope = scope.parent
    if scope is not None:
        vm.local_reads += 1  # no summary tells of it
        vm.heap.put(scope.vars, name, _anything(scope.vars[name], [scope.vars[name]]))


def _forget(vm: Machine, owner: Value, name: str) -> None:
    if isinstance(owner, Class):
        old = classes.find(vm, owner, name) or UNKNOWN
        classes.set_member(vm, owner, name, _anything(old, [old]))
    elif isinstance(owner, Instance):
        old = owner.attributes.get(name) or UNKNOWN
        vm.heap.put(owner.attributes, name, _anything(old, [old]))
