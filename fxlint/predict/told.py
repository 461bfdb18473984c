"""What the project tells its Tracer, looked up in the code: which classes are leaves, which calls become one node; and
what rules of its own say of a call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.predict import classes, evaluate, library, names
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Machine, PathEnd, Unwind
from fxlint.predict.scopes import Frame, ModuleScope, Scope
from fxlint.predict.values import (
    Bound,
    Class,
    Decorated,
    External,
    Function,
    Instance,
    Mapping,
    Namespace,
    Sequence,
    Traced,
    Value,
)

_ADDING: Final = frozenset({"add", "append"})


def is_leaf(vm: Machine, cls: Class | External) -> bool:
    """Whether the class, or one that it derives from, is named as a leaf module."""
    told = vm.told.tracer.leaf_modules
    return bool(told) and any(_is_named(vm, name, base) for base in _bases(vm, cls) for name in told)


def _bases(vm: Machine, cls: Class | External) -> Iterator[Class | External]:
    if isinstance(cls, External):
        yield cls
        return
    classes.resolve_bases(vm, cls)
    yield from cls.mro or [cls]


def is_autowrapped(vm: Machine, frame: Frame, node: ast.Call, callee: Value) -> bool:
    """Whether the call goes through a name that the Tracer patches: a global of a module of which a forward runs, or a
    member of a module that is named itself.
    """
    told = vm.told.tracer
    if isinstance(callee, Decorated):
        callee = callee.function
    if not (told.autowrap_functions or told.autowrap_modules) or not isinstance(callee, (Function, External, Class)):
        return False
    named = any(_is_named(vm, name, callee) for name in told.autowrap_functions) or any(
        _is_member(vm, name, callee) for name in told.autowrap_modules
    )
    return named and _is_patched(vm, frame, node)


def judged(vm: Machine, callee: Value, args: Arguments, node: ast.AST) -> Value | None:
    """Tell what rules of the project say of a call; its result where it cannot be traced, and is not looked into."""
    thing = _meant(vm, callee)
    if thing is None:
        return None
    for rule in vm.own_rules:
        name = next((name for name in rule.calls if _is_named(vm, name, thing)), None)
        if name is None:
            continue
        (event,), spelled = rule.events, name.replace(":", ".")
        given = library.first_traced(args)
        if rule.discouraged:
            vm.note(event, node, origin=given.origin if isinstance(given, Traced) else None, callee=spelled)
        elif isinstance(given, Traced):
            vm.event(event, node, origin=given.origin, callee=spelled)
            return library.recorded(vm, args, node)
    return None


def _meant(vm: Machine, callee: Value) -> Function | Class | External | None:
    """What a name for a callable would mean: a module by its class, whose constructor is no such thing."""
    if isinstance(callee, Bound):
        callee = callee.function
    if isinstance(callee, Instance):
        return callee.cls if classes.is_module(vm, callee) else None
    if isinstance(callee, (Class, External)):
        return None if classes.is_module_class(vm, callee) else callee
    return callee if isinstance(callee, Function) else None


def _is_patched(vm: Machine, frame: Frame, node: ast.Call) -> bool:
    vm.local_reads += 1
    if isinstance(node.func, ast.Name):
        module: Value | ModuleScope = frame.scope.module
        if frame.scope.find(node.func.id) is not None:
            return False
    elif isinstance(node.func, ast.Attribute):
        owner = evaluate.expression(vm, frame, node.func.value)
        module = owner.module if isinstance(owner, Namespace) else owner
    else:
        return False
    if isinstance(module, External):
        return module.name in vm.told.tracer.autowrap_modules
    if not isinstance(module, ModuleScope):
        return False
    running = (f.scope.module for f in vm.frames if f.function is not None and f.function.name == "forward")
    return (
        module is vm.root_module
        or module in running
        or any(names.module_scope(vm, name) is module for name in vm.told.tracer.autowrap_modules)
    )


def _is_named(vm: Machine, name: str, thing: Function | Class | External) -> bool:
    """Whether a name of the settings means the class or function."""
    module, _, qualname = name.partition(":")
    if not qualname:
        return _is_member(vm, module, thing)
    scope = names.module_scope(vm, module)
    if scope is None:
        named = vm.facts.canonical(f"{module}.{qualname}")
        return isinstance(thing, External) and vm.facts.canonical(thing.name) == named
    head, *rest = qualname.split(".")
    value = names.global_name(vm, scope, head)
    for part in rest:
        value = classes.own_member(vm, value, part) if isinstance(value, Class) else None
    if isinstance(value, (Sequence, Mapping)):
        members = value.entries() if isinstance(value, Mapping) else value.members()
        return any(_same(member, thing) for member in members) or _registers(vm, scope, qualname, thing)
    return value is not None and _same(value, thing)


def _is_member(vm: Machine, module: str, thing: Function | Class | External) -> bool:
    """Whether a module holds the class or function under its own name."""
    if isinstance(thing, External):
        return vm.facts.canonical(thing.name) == vm.facts.canonical(f"{module}.{thing.name.rpartition('.')[2]}")
    scope = names.module_scope(vm, module)
    value = names.member(vm, scope, thing.name) if scope is not None and thing.name.isidentifier() else None
    return value is not None and _same(value, thing)


def _same(value: Value, thing: Function | Class | External) -> bool:
    while isinstance(value, Decorated):
        value = value.function
    if isinstance(value, (Function, Class)) and isinstance(thing, (Function, Class)):
        return value.node is thing.node
    return isinstance(value, External) and isinstance(thing, External) and value.name == thing.name


def _registers(vm: Machine, registry: ModuleScope, name: str, thing: Function | Class | External) -> bool:
    """Whether the class or function is given to a function beside the registry that adds its argument to it: as a
    decorator, or by a call at the top level.
    """
    if isinstance(thing, External) or isinstance(thing.node, ast.Lambda):
        return False
    module = thing.scope.module
    calls = [
        statement.value.func
        for statement in module.source.tree.body
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and any(isinstance(given, ast.Name) and given.id == thing.name for given in statement.value.args)
    ]
    frame = Frame(Scope(module), None, None)
    for used in (*thing.node.decorator_list, *calls):
        if not isinstance(used, (ast.Name, ast.Attribute)):
            continue
        try:
            with vm.untraced():
                function = evaluate.expression(vm, frame, used)
        except (PathEnd, Unwind):
            continue
        if isinstance(function, Function) and function.scope.module is registry and _adds_to(function, name):
            return True
    return False


def _adds_to(function: Function, registry: str) -> bool:
    """Whether the body has ``registry.add(parameter)``."""
    parameters = {parameter.arg for parameter in function.node.args.args}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ADDING
        and ast.unparse(node.func.value) == registry
        and any(isinstance(given, ast.Name) and given.id in parameters for given in node.args)
        for node in ast.walk(function.node)
    )
