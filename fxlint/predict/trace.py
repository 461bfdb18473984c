"""Running one root abstractly: the instance, its placeholders, forward, and the verdict."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Final

from fxlint.predict import calls, classes, defaults, evaluate, library, modules, silent, sites
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Event, Guard, Machine, OutOfBudget, PathEnd, Unwind
from fxlint.predict.roots import RootValue
from fxlint.predict.scopes import Frame, ModuleScope, Scope
from fxlint.predict.signatures import local_names
from fxlint.predict.values import (
    MAYBE,
    UNKNOWN,
    Class,
    Const,
    Decorated,
    External,
    Function,
    Instance,
    Mapping,
    Origin,
    Sequence,
    Traced,
    Union,
    Unknown,
    Value,
    options,
)
from fxlint.project.source import SourceFile

_PLACEHOLDER: Final = "torch.fx.PH"
FAULT: Final = "the analysis failed, which is a bug in fxlint"


@dataclass(frozen=True, slots=True)
class Run:
    """What happened to one root: all events in order, whether every way out had failed, and what stayed unknown."""

    root: RootValue
    events: tuple[Event, ...]
    failed: bool
    unknown: str | None


def trace_root(vm: Machine, root: RootValue, usual: bool = False) -> Run:
    """Trace a root abstractly. Never raises: what the interpreter cannot do makes the verdict unknown.

    ``usual``: with the options of its constructor as the linted code gives them, and in training mode, as a new object.
    """
    vm.reset()
    vm.usual = usual
    reason: str | None = None
    try:
        if isinstance(root.value, Class):
            reason = _trace_class(vm, root.value, vm.told.concrete_args_of(root.root))
        elif isinstance(root.value, Instance):
            reason = _trace_object(vm, root.value, root)
        else:
            reason = _trace_function(vm, root.value, root.value, None, vm.told.concrete_args_of(root.root))
    except OutOfBudget:
        vm.failed = _fails_for_certain(vm)
        reason = None if vm.failed else "the analysis took more steps than its budget allows"
    except PathEnd as end:
        for event in end.raises:
            vm.record(event)
        vm.failed = bool(end.raises) or _fails_for_certain(vm)
        reason = None if vm.failed else _no_way_out(vm)
    except Unwind:
        reason = _no_way_out(vm)
    except RecursionError:
        reason = "the calls nest too deeply to be followed"
    except Exception as error:
        reason = f"{FAULT}: {type(error).__name__}: {error}"
    if reason is None and vm.unresolved and not vm.failed:
        reason = f"it is not known what {next(iter(vm.unresolved))} does with a traced value"
    if any(event.kind == modules.TAKEN for event in vm.events):
        _settle_taken(vm, made=reason is None and not vm.failed)
    return Run(root, tuple(vm.events), vm.failed and reason is None, reason)


def _settle_taken(vm: Machine, *, made: bool) -> None:
    """Names that a graph's module has itself stop the tracer when it makes that, after everything else."""
    vm.events[:] = [
        replace(event, first=True) if event.kind == modules.TAKEN else event
        for event in vm.events
        if made or event.kind != modules.TAKEN
    ]
    vm.failed = vm.failed or (made and any(event.kind == modules.TAKEN and not event.guards for event in vm.events))


def _fails_for_certain(vm: Machine) -> bool:
    """Whether what has been seen so far suffices: every path leads through a failure without conditions."""
    return any(event.first and not event.guards for event in vm.events)


def _no_way_out(vm: Machine) -> str:
    if any(event.kind == "abstract" for event in vm.events):
        return "forward is abstract"
    return "every path ends in a raise"


def _trace_object(vm: Machine, instance: Instance, root: RootValue) -> str | None:
    """A module object of the file's top level; the place of what its library class does is the object's own line."""
    if isinstance(instance.cls, Class):
        return _trace_class(vm, instance.cls, vm.told.concrete_args_of(root.root))
    vm.root = instance
    scope = root.scope
    node = scope.index.bindings[root.root.qualname][-1].node
    vm.frames.append(Frame(Scope(scope), None, None))
    vm.begin()
    placeholder = Traced(Origin(scope.source, node, None, "input", "input"))
    modules.library_forward(vm, vm.frame, instance, instance.cls.name, Arguments([placeholder]), node)
    return None


# -- the instance -----------------------------------------------------------------------------------------------------


def _trace_class(vm: Machine, cls: Class, concrete_args: str | None) -> str | None:
    classes.resolve_bases(vm, cls)
    if classes.leaves_out_module(vm, cls):
        with vm.at(Frame(Scope(cls.module), None, None)):
            vm.begin()
            vm.event("root.uninitialised", cls.node, exception="AttributeError")
        return None
    vm.root = instance = _instance(vm, cls)
    instance.registered = True
    vm.root_module = None
    forward = classes.find(vm, cls, "forward")
    if forward is None:
        return _trace_library_forward(vm, instance)
    function = forward
    while isinstance(function, (Decorated,)):
        function = function.function
    if not isinstance(function, Function):
        return "forward is not a function whose source is known"
    with vm.at(Frame(Scope(cls.module), None, None)):
        vm.begin()
        silent.lost(vm, cls)
    return _trace_function(vm, forward, function, instance, concrete_args)


def _instance(vm: Machine, cls: Class) -> Instance:
    """An object of the class, built with arguments that are not known; defaults are what they probably are.

    Options of the usual object are what the linted code gives.
    """
    instance = Instance(cls, open=not cls.complete, expression=cls.name)
    frame = Frame(Scope(cls.module), None, None)
    vm.frames.append(frame)
    init = classes.find(vm, cls, "__init__")
    with vm.untraced():
        try:
            if isinstance(init, Function):
                calls.run_function(vm, init, _unknown_arguments(vm, init, instance), cls.node)
                inner = init.wrapped
                if isinstance(inner, Function) and not instance.attributes:  # it is called in a way that is not seen
                    calls.run_function(vm, inner, _unknown_arguments(vm, inner, instance), cls.node)
            elif init is not None:
                calls.call(vm, frame, init, Arguments([instance], extra=UNKNOWN), cls.node)
            else:
                classes.initialise(vm, frame, instance, Arguments(extra=sites.any_given(vm, cls)), cls.node)
        except (PathEnd, Unwind):
            instance.open = True
    vm.frames.clear()
    vm.guards.clear()
    vm.unlikely = 0
    vm.heap.settle()  # the state that tracing starts from
    return instance


def _unknown_arguments(vm: Machine, function: Function, receiver: Instance) -> dict[str, Value]:
    assert isinstance(receiver.cls, Class)
    given = sites.layers_given(vm, receiver.cls, function)
    parameters = function.node.args
    named = [*parameters.posonlyargs, *parameters.args]
    optional = (parameter.arg for parameter in named[len(named) - len(function.defaults) :])
    own = {**dict(zip(optional, function.defaults, strict=True)), **function.keyword_defaults}
    known = {n: defaults.given(vm, receiver.cls, function, n, v) for n, v in own.items() if vm.usual}
    variables: dict[str, Value] = {named[0].arg: receiver} if named else {}
    for name in (parameter.arg for parameter in (*named[1:], *parameters.kwonlyargs)):
        variables[name] = known.get(name) or _probably(own.get(name), given.get(name))
    if parameters.vararg is not None:
        name = parameters.vararg.arg
        rest = Unknown(likely=given[name]) if name in given else UNKNOWN
        variables[name] = Sequence("tuple", [], rest, optional=True)
    if parameters.kwarg is not None:
        variables[parameters.kwarg.arg] = Mapping({}, UNKNOWN)
    return variables


def _probably(default: Value | None, layer: Value | None) -> Value:
    """An argument that is not known: its default, or the layer that calls give; where that is None, either."""
    if default is None or layer is None:
        return Unknown(likely=default or layer)
    return Union([default, *options(layer), UNKNOWN], likely=1)


# -- forward ----------------------------------------------------------------------------------------------------------


def _trace_function(
    vm: Machine, outer: Value, function: Function, instance: Instance | None, concrete_args: str | None
) -> str | None:
    """Run the root function with a Proxy for every parameter, as ``Tracer.create_args_for_root`` does."""
    analysed = _unwrapped(function)
    bound = _evaluated(vm, function.module, concrete_args)
    vm.root_module = function.module
    vm.frames.append(Frame(Scope(function.module), None, None))
    vm.begin()
    _report_wrap_misuse(vm, function.module)
    parameters = analysed.node.args
    variadic = bool(parameters.kwonlyargs or parameters.vararg or parameters.kwarg)
    placeholders = _bound(vm, _placeholders(analysed, instance), bound)
    if instance is not None and not (parameters.posonlyargs or parameters.args or parameters.kwonlyargs):
        _signature_fails(vm, analysed, "RuntimeError", analysed.name)
        placeholders = {}
    if isinstance(outer, Decorated):
        with vm.at(Frame(Scope(function.module), None, None)):
            silent.context(vm, outer.decorator, function.node, "silent.decorator")
    if isinstance(outer, Decorated) and variadic:
        _signature_fails(vm, function, "ValueError", outer.decorator)
    if analysed is function:
        variables = placeholders
        if instance is not None and function.owner is None:  # what a decorator has put in the place of forward
            _mark_decorated(function, variables)
    elif variadic:
        names = local_names(function)
        if len(placeholders) > len(names):
            _signature_fails(vm, analysed, "ValueError", function.name)
            variables = _patched_variables(function, names, placeholders)
        else:
            variables = dict(zip(names, placeholders.values(), strict=False))
            _mark_decorated(function, variables)
    else:
        variables = calls.bind_arguments(vm, function, Arguments(list(placeholders.values())), analysed.node)
    _run_root(vm, function, variables)
    return None


def _signature_fails(vm: Machine, function: Function, exception: str, wrapper: str) -> None:
    """The tracer cannot even call forward: that is said at the head of the function whose signature it read."""
    with vm.at(Frame(Scope(function.module), None, None)):
        vm.event("signature.decorated", function.node, exception=exception, callee=wrapper)


def _report_wrap_misuse(vm: Machine, module: ModuleScope) -> None:
    """A wrap that cannot work stops the import of the file, or every later trace of the process."""
    for node in module.index.wrap_misuses:
        vm.event("wrap.misuse", node, exception="NotImplementedError", callee="torch.fx.wrap")


def _run_root(vm: Machine, function: Function, variables: dict[str, Value]) -> None:
    result = calls.run_function(vm, function, variables, None)
    _check_output(vm, function, result)


def _patched_variables(function: Function, names: tuple[str, ...], placeholders: dict[str, Value]) -> dict[str, Value]:
    """What the wrapper would see if it could be called: so that the rest is looked at all the same."""
    parameters = function.node.args
    values = list(placeholders.values())
    named = [*parameters.posonlyargs, *parameters.args]
    variables: dict[str, Value] = {}
    for parameter, value in zip(named, values, strict=False):
        variables[parameter.arg] = value
    if parameters.vararg is not None:
        variables[parameters.vararg.arg] = Sequence("tuple", values[len(named) :], MAYBE)
    if parameters.kwarg is not None:
        variables[parameters.kwarg.arg] = Mapping({}, MAYBE)
    return variables


def _mark_decorated(function: Function, variables: dict[str, Value]) -> None:
    """The wrapper's own ``*args`` and ``**kwargs`` are plain names now, each holding one placeholder."""
    for star in (function.node.args.vararg, function.node.args.kwarg):
        value = variables.get(star.arg) if star is not None else None
        if star is not None and isinstance(value, Traced):
            variables[star.arg] = Traced(Origin(function.module.source, star, None, "decorated", star.arg))


def _unwrapped(function: Function) -> Function:
    """The function whose signature ``inspect.unwrap`` finds."""
    seen = function
    while seen.wrapped is not None:
        inner = seen.wrapped
        while isinstance(inner, Decorated):
            inner = inner.function
        if not isinstance(inner, Function):
            break
        seen = inner
    return seen


def _placeholders(function: Function, instance: Instance | None) -> dict[str, Value]:
    parameters = function.node.args
    source = function.module.source
    named = [*parameters.posonlyargs, *parameters.args]
    result: dict[str, Value] = {}
    offset = len(named) - len(function.defaults)
    for position, parameter in enumerate(named):
        if position == 0 and instance is not None:
            result[parameter.arg] = instance
            continue
        default = function.defaults[position - offset] if position >= offset else None
        result[parameter.arg] = _placeholder(source, parameter, default)
    for parameter in parameters.kwonlyargs:
        result[parameter.arg] = _placeholder(source, parameter, function.keyword_defaults.get(parameter.arg))
    for star in (parameters.vararg, parameters.kwarg):
        if star is not None:
            result[star.arg] = Traced(Origin(source, star, None, "variadic", star.arg))
    return result


def _bound(vm: Machine, placeholders: dict[str, Value], bound: dict[str, Value]) -> dict[str, Value]:
    """The placeholders with the values that ``concrete_args`` has in place of them; ``fx.PH`` stands for a Proxy."""
    found = dict(placeholders)
    for name, placeholder in placeholders.items():
        default = placeholder.default if isinstance(placeholder, Traced) and vm.told.bind_defaults else None
        value = bound.get(name, default)
        if value is not None and not (isinstance(value, External) and value.name == _PLACEHOLDER):
            found[name] = value
    return found


def _evaluated(vm: Machine, module: ModuleScope, concrete_args: str | None) -> dict[str, Value]:
    """The values of a dictionary by their names; what is no expression is told elsewhere."""
    if concrete_args is None:
        return {}
    try:
        tree = ast.parse(concrete_args.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return {}
    with vm.detached():
        vm.frames.append(Frame(Scope(module), None, None))
        given = evaluate.expression(vm, vm.frame, tree)
    pairs = given.items.values() if isinstance(given, Mapping) else ()
    return {str(key.value): value for key, value in pairs if isinstance(key, Const)}


def _placeholder(source: SourceFile, parameter: ast.arg, default: Value | None) -> Traced:
    return Traced(Origin(source, parameter, None, "input", parameter.arg), default)


def _trace_library_forward(vm: Machine, instance: Instance) -> str | None:
    """A class without a forward of its own, below a torch module that has one."""
    assert isinstance(instance.cls, Class)
    base = classes.library_base_with(vm, instance.cls, "forward")
    if base is None:
        return "no forward was found"
    vm.root_module = instance.cls.module
    vm.frames.append(Frame(Scope(instance.cls.module), None, None))
    vm.begin()
    node = instance.cls.node
    placeholder = Traced(Origin(instance.cls.module.source, node, None, "input", "input"))
    modules.library_forward(vm, vm.frame, instance, base, Arguments([placeholder]), node)
    return None


# -- output -----------------------------------------------------------------------------------------------------------


def _check_output(vm: Machine, function: Function, result: Value) -> None:
    """Forward returns what becomes the argument of the output node."""
    iterates = isinstance(result, Sequence) and result.kind in {"set", "iterator"}
    bad = result if iterates else library.unsupported(vm, result)
    if bad is not None:
        returns = [node for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.value is not None]
        kind = "output.generator" if isinstance(bad, Sequence) and bad.kind == "iterator" else "output.type"
        with vm.at(Frame(function.scope, function, None)):
            vm.event(kind, returns[-1] if returns else function.node, exception="NotImplementedError")


def guard_text(guard: Guard) -> str:
    text = guard.source.segment(guard.node)
    return text if guard.positive else f"not ({text})"
