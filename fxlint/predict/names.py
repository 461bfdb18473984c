"""What a name means: module globals, imports across files and packages, builtins. Values are found on first use."""

from __future__ import annotations

import ast
import builtins
import contextlib
import sys
from typing import Final

from fxlint.predict import evaluate
from fxlint.predict.machine import Machine, OutOfBudget, PathEnd, Unwind
from fxlint.predict.scopes import Frame, ModuleScope, Scope
from fxlint.predict.values import (
    GLOBAL,
    TRUE,
    UNKNOWN,
    Class,
    Const,
    External,
    Instance,
    Mapping,
    Namespace,
    Sequence,
    Value,
    is_empty_display,
    join_all,
    outlives,
)
from fxlint.project.index import Binding, Import, imports
from fxlint.project.tree import children, kept

BUILTINS: Final = {name: External(f"builtins.{name}") for name in dir(builtins)}
COLLECTIONS_ABC: Final = "_collections_abc"
"""The one module of the standard library whose source is interpreted."""
MEASURED: Final = frozenset({"torch", "numpy"})
LIBRARIES: Final = frozenset(sys.stdlib_module_names) | MEASURED


def lookup(vm: Machine, frame: Frame, name: str) -> Value:
    """The value of a name read in a frame: locals, enclosing functions, globals, builtins."""
    if name not in frame.outer_names:
        value = frame.scope.find(name)
        if value is not None:
            return value
    elif (outer := frame.outer_names[name]) is not None:
        value = outer.find(name)
        if value is not None:
            return value
    return global_name(vm, frame.scope.module, name) or builtin(name)


def unbound(vm: Machine, frame: Frame, name: str) -> str | None:
    """The exception that reading the name raises: of a local variable that nothing on this path has assigned, or of a
    global that is the import of what its own package has not got, such as an extension that was not compiled.
    """
    if name in frame.outer_names or frame.scope.find(name) is not None:
        return None
    if frame.function is not None and name in assigned(frame.function.node):
        return "UnboundLocalError"
    bindings = frame.scope.module.index.bindings.get(name, ())
    lacking = bool(bindings) and all(b.needs and _lacks(vm, b, frame.scope.module) for b in bindings)
    return "NameError" if lacking else None


@kept
def assigned(function: ast.AST) -> frozenset[str]:
    """The local variables of a function that its body binds by assignments and loops alone."""
    plain: set[str] = set()
    other: set[str] = set()
    pending = children(function)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            plain.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            other.update(node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            other.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            other.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
            other.add(node.target.id)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name is not None:
            other.add(node.name)
        if not isinstance(node, _SCOPES):
            pending.extend(children(node))
    return frozenset(plain - other)


_SCOPES: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def _lacks(vm: Machine, binding: Binding, module: ModuleScope) -> bool:
    """Whether the import that makes the binding asks a package of the project for a name that is not there."""
    found = binding.imported
    if found is None or found.name is None:
        return False
    scope = module_scope(vm, found.module)
    if scope is None or not scope.index.is_package or scope.index.stars:
        return False
    name = f"{found.module}.{found.name}"
    return found.name not in scope.index.bindings and module_scope(vm, name) is None and not vm.project.exists(name)


def builtin(name: str) -> Value:
    if name == "__debug__":
        return TRUE  # without -O
    return BUILTINS.get(name, UNKNOWN)


def module_scope(vm: Machine, name: str) -> ModuleScope | None:
    """The scope of a module whose source can be had; torch, numpy and the standard library stay external."""
    if name in vm.scopes:
        return vm.scopes[name]
    package = name.partition(".")[0]
    own = vm.project.is_linted(name) or name == COLLECTIONS_ABC
    if package in MEASURED or (package in LIBRARIES and not own):
        return None
    index = vm.project.module(name)
    if index is None:
        return None
    scope = vm.scopes.setdefault(index.name, ModuleScope(index))
    if scope.index is not index:  # another file of that name
        scope = ModuleScope(index)
    vm.scopes[name] = scope
    return scope


def import_module(vm: Machine, name: str) -> Value:
    scope = module_scope(vm, name)
    return Namespace(scope) if scope is not None else External(name)


def global_name(vm: Machine, module: ModuleScope, name: str) -> Value | None:
    """A global of a module, or None where it binds no such name."""
    if name in module.values:
        return module.values[name]
    if name in module.pending:
        return UNKNOWN
    module.pending.add(name)
    try:
        value = _global(vm, module, name)
    finally:
        module.pending.discard(name)
    module.values[name] = value
    if value is not None:
        outlives(value, GLOBAL)
    if value is not None and is_registry(value):
        run_registrations(vm, module)
    return value


def is_registry(value: Value) -> bool:
    """Whether a container, or one in an object, is empty where it is made, so that other code must fill it."""
    if isinstance(value, Instance):
        return any(is_registry(part) for part in value.attributes.values() if not isinstance(part, Instance))
    return isinstance(value, (Mapping, Sequence)) and not value.items and value.rest is UNKNOWN


def run_registrations(vm: Machine, module: ModuleScope) -> None:
    """Evaluate what may fill a registry of the module: decorated definitions, and calls of what the module binds."""
    if module.registered:
        return
    module.registered = True
    with vm.uncharged():
        for name, bindings in module.index.bindings.items():
            node = bindings[-1].node
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and any(
                isinstance(decorator, ast.Call) for decorator in node.decorator_list
            ):
                global_name(vm, module, name)
        for statement in module.index.source.tree.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                _register(vm, module, statement.value)


def _register(vm: Machine, module: ModuleScope, call: ast.Call) -> None:
    """``REGISTRY.add("name", thing)`` at the top level."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and any(b.imported is None for b in module.index.bindings.get(owner.id, ())):
        with vm.detached(), contextlib.suppress(PathEnd, Unwind):
            vm.frames.append(Frame(Scope(module), None, None))
            vm.aside(call, lambda: evaluate.expression(vm, vm.frame, call))


def member(vm: Machine, module: ModuleScope, name: str) -> Value | None:
    """``module.name``: what the module binds itself, else a submodule, else what its star imports bring."""
    if name not in module.index.bindings and module.index.is_package:
        submodule = module_scope(vm, f"{module.index.name}.{name}")
        if submodule is not None:
            return Namespace(submodule)
    return global_name(vm, module, name)


def imported(vm: Machine, found: Import, module: ModuleScope) -> Value:
    """What an import statement binds."""
    if found.name is None:
        return import_module(vm, found.module)
    scope = module_scope(vm, found.module)
    if scope is None:
        if found.module == "__future__":
            return UNKNOWN
        return External(f"{found.module}.{found.name}")
    if scope is module and found.name in module.pending:
        submodule = module_scope(vm, f"{found.module}.{found.name}")
        return Namespace(submodule) if submodule is not None else UNKNOWN
    value = member(vm, scope, found.name)
    return value if value is not None else UNKNOWN


def missing_import(vm: Machine, binding: Binding, module: ModuleScope) -> bool:
    """Whether an import would fail that makes the binding or stands beside it: nothing of that name is installed."""
    modules = (*binding.needs, binding.imported.module) if binding.imported is not None else binding.needs
    return any(name.partition(".")[0] not in LIBRARIES and not vm.project.exists(name) for name in modules)


def _global(vm: Machine, module: ModuleScope, name: str) -> Value | None:
    bindings = module.index.bindings.get(name, ())
    strong = [b for b in bindings if not b.weak and not missing_import(vm, b, module)]
    chosen = strong or [b for b in bindings if not missing_import(vm, b, module)] or list(bindings)
    if chosen:
        with vm.detached(), vm.uncharged():
            values = [_bound(vm, module, b) for b in (chosen[-1:] if strong else chosen)]
        return _mutable_globals(module, name, join_all(values))
    for star in reversed(module.index.stars):
        if star.partition(".")[0] not in LIBRARIES and not vm.project.may_bind(star, name):
            continue
        scope = module_scope(vm, star)
        value = global_name(vm, scope, name) if scope is not None and not name.startswith("_") else None
        if value is not None:
            return value
        if scope is None and star.partition(".")[0] in LIBRARIES and name not in BUILTINS:
            return External(f"{star}.{name}")
    if name in {"__name__", "__file__", "__doc__", "__package__"}:
        return Const(module.index.name) if name == "__name__" else UNKNOWN
    return None


def _called_owners(module: ModuleScope) -> set[str]:
    """Names of which the top level calls methods, or uses them as decorators: that is how registries are filled."""
    calls_ = [
        *(n.value for n in module.index.source.tree.body if isinstance(n, ast.Expr)),
        *(d for n in module.index.source.tree.body for d in getattr(n, "decorator_list", ())),
    ]
    owners = [c.func.value for c in calls_ if isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)]
    return {owner.id for owner in owners if isinstance(owner, ast.Name)}


def _mutable_globals(module: ModuleScope, name: str, value: Value) -> Value:
    """A container that other statements of the module change holds more than its display shows."""
    filled = isinstance(value, Instance) and name in _called_owners(module)
    parts = value.attributes.values() if isinstance(value, Instance) and filled else [value]
    for part in parts:
        if is_empty_display(part):
            part.rest = UNKNOWN  # filled elsewhere
    if name in module.index.mutated and isinstance(value, (Mapping, Sequence)) and value.rest is None:
        value.rest = UNKNOWN
    return value


def _bound(vm: Machine, module: ModuleScope, binding: Binding) -> Value:
    if binding.imported is not None:
        return imported(vm, binding.imported, module)
    scope = Scope(module)
    frame = Frame(scope, None, None)
    vm.frames.append(frame)
    try:
        if isinstance(binding.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            definition = binding.node
            return evaluate.definition(vm, frame, definition, None)
        expression = binding.value
        if expression is None:
            return UNKNOWN
        value = vm.aside(expression, lambda: evaluate.expression(vm, frame, expression))
        for position in binding.element:
            value = evaluate.element(vm, frame, value, position, binding.node)
        return value
    except (PathEnd, Unwind, OutOfBudget):
        return UNKNOWN
    finally:
        vm.frames.pop()


def local_import(vm: Machine, frame: Frame, node: ast.Import | ast.ImportFrom) -> list[tuple[str, Value]]:
    """The names that an import statement inside a function binds."""
    index = frame.scope.module.index
    return [
        (name, imported(vm, found, frame.scope.module))
        for name, found in imports(node, index.name, index.is_package)
        if name != "*"
    ]


def class_name(value: Value) -> str:
    return value.qualname if isinstance(value, Class) else value.name if isinstance(value, External) else "?"
