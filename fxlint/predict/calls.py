"""Calls: what is called, how arguments meet parameters, and running a function's body."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Final

from fxlint.predict import classes, containers, escapes, evaluate, library, memo, modules, silent, statements, told
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import MAX_DEPTH, MAX_STEPS_ASIDE, MAX_STEPS_ASIDE_LINTED, Machine, PathEnd, Stopped, Unwind
from fxlint.predict.scopes import Exit, Frame, Scope
from fxlint.predict.values import (
    MAYBE,
    NONE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Decorated,
    Descriptor,
    External,
    Function,
    Instance,
    Mapping,
    Namespace,
    Part,
    Partial,
    Sequence,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    Wraps,
    clock,
    extended,
    join,
    join_all,
    key_of,
    may_be_traced,
    may_hold_traced,
    parts_of,
    same,
)

MAX_RECURSION: Final = 2


def arguments(vm: Machine, frame: Frame, node: ast.Call) -> Arguments:
    """Evaluate the arguments of a call, star expressions spread."""
    result = Arguments()
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = evaluate.expression(vm, frame, argument.value)
            spread = containers.iterate(vm, frame, value, argument.value, "iter.star", whole=node)
            _add(result, spread)
        elif result.extra is None:
            result.positional.append(evaluate.expression(vm, frame, argument))
        else:
            result.extra = extended(result.extra, [Part(evaluate.expression(vm, frame, argument))])
    for keyword in node.keywords:
        value = evaluate.expression(vm, frame, keyword.value)
        if keyword.arg is not None:
            result.keywords[keyword.arg] = value
            continue
        spread_into = Mapping({})
        spread_mapping(vm, frame, value, node, spread_into)
        for name, item in spread_into.items.values():
            if isinstance(name, Const) and isinstance(name.value, str):
                result.keywords[name.value] = item
        if spread_into.rest is not None:
            result.extra_keywords = spread_into.rest
    return result


def _add(result: Arguments, spread: Sequence) -> None:
    if result.extra is None:
        result.positional.extend(spread.items)
        result.extra = spread.rest
    else:
        result.extra = extended(result.extra, [*map(Part, spread.items), *parts_of(spread.rest)])


def spread_mapping(vm: Machine, frame: Frame, value: Value, node: ast.AST, result: Mapping) -> None:
    """``**value`` into a mapping that nobody else has seen yet. A Proxy cannot be spread."""
    if isinstance(value, Traced):
        vm.event("kwargs.unpack", node, origin=value.origin)
        result.rest = MAYBE
    elif isinstance(value, Mapping):
        result.items.update(value.items)
        if value.rest is not None:
            result.rest = value.rest if result.rest is None else join(result.rest, value.rest)
    elif isinstance(value, Union):
        for option in value.options:
            spread_mapping(vm, frame, option, node, result)
    else:
        rest: Value = MAYBE if may_be_traced(value) else UNKNOWN
        result.rest = rest if result.rest is None else join(result.rest, rest)


def each(vm: Machine, values: list[Value], run: Callable[[Value], Value], node: ast.AST, likely: int = 0) -> Value:
    """Apply ``run`` to one of several possible values: a fork with one branch per value.

    In the default configuration it is one of the first ``likely``, where that is known.
    """
    if len(values) == 1:
        return run(values[0])
    if 0 < likely < len(values):
        first, others = values[:likely], values[likely:]
        return vm.choose(node, lambda: each(vm, first, run, node), lambda: each(vm, others, run, node), likely=True)
    return vm.choose(node, lambda: run(values[0]), lambda: each(vm, values[1:], run, node))


# -- what is called ---------------------------------------------------------------------------------------------------


def call(vm: Machine, frame: Frame, callee: Value, args: Arguments, node: ast.AST) -> Value:
    """``callee(...)``."""
    vm.tick()
    if vm.own_rules and vm.tracing:
        refused = told.judged(vm, callee, args, node)
        if refused is not None:
            return refused
    if isinstance(callee, Function):
        return call_function(vm, frame, callee, args, node)
    if isinstance(callee, Bound):
        if isinstance(callee.function, External):
            return library.method_of(vm, frame, callee, args, node)
        return call(vm, frame, callee.function, args.after(callee.receiver), node)
    if isinstance(callee, External):
        return library.call(vm, frame, callee, args, node)
    if isinstance(callee, Instance):
        return _call_instance(vm, frame, callee, args, node)
    if isinstance(callee, Class):
        return classes.instantiate(vm, frame, callee, args, node)
    if isinstance(callee, Traced):
        return library.recorded(vm, args.after(callee), node, "the call of a Proxy")
    if isinstance(callee, Partial):
        merged = Arguments(
            [*callee.args, *args.positional], {**callee.keywords, **args.keywords}, args.extra, args.extra_keywords
        )
        return call(vm, frame, callee.function, merged, node)
    if isinstance(callee, Decorated):
        result = call(vm, frame, callee.function, args, node)
        if args.may_hold_traced() or may_hold_traced(result):  # else nothing is recorded in it
            silent.context(vm, callee.decorator, node)
        return result
    if isinstance(callee, Wraps):
        return _wrapped(callee, args)
    if isinstance(callee, Descriptor):
        return call(vm, frame, callee.function, args, node)
    if isinstance(callee, Union):
        kept = [option for option in callee.options if not (isinstance(option, Const) and option.value is None)]
        if len(kept) < len(callee.options) and kept and callee.options[0] not in kept and not vm.unlikely:
            vm.fork(node, lambda: _call_none(vm, node), lambda: True)
        usual = callee.options[: callee.likely]
        meant = [option for option in kept if option in usual or _accepts(vm, option, args)] or kept or callee.options
        *known, last = meant
        if isinstance(last, Unknown) and known:
            probably = known[0] if len(known) == 1 else Union(known)
            return _call_unknown(vm, frame, Unknown(last.maybe, likely=probably), args, node)
        likely = sum(option in meant for option in usual)
        return each(vm, meant, lambda option: call(vm, frame, option, args, node), node, likely)
    if isinstance(callee, Unknown):
        return _call_unknown(vm, frame, callee, args, node)
    if isinstance(callee, (Const, Sequence, Mapping)):
        vm.event("raise.type", node, exception="TypeError")
    return MAYBE if args.may_hold_traced() else UNKNOWN


def refuse_default_none(vm: Machine, value: Value, node: ast.AST) -> None:
    """A value that must not be None here is None in the default configuration, and no condition has ruled that out."""
    if isinstance(value, Unknown) and value.is_none is None and value.truth is None and not value.maybe:
        likely = value.likely
        if isinstance(likely, Const) and likely.value is None and vm.tracing and not vm.unlikely:
            vm.fork(node, lambda: _call_none(vm, node), lambda: True)


def _call_none(vm: Machine, node: ast.AST) -> bool:
    vm.event("raise.type", node, exception="TypeError")
    return True


def _call_unknown(vm: Machine, frame: Frame, callee: Unknown, args: Arguments, node: ast.AST) -> Value:
    likely = callee.likely
    refuse_default_none(vm, callee, node)
    if likely is not None and not isinstance(likely, (Unknown, Const, Sequence, Mapping, Tensor, Super, Namespace)):
        return vm.choose(
            node.func if isinstance(node, ast.Call) else node,
            lambda: call(vm, frame, likely, args, node),
            lambda: _call_opaque(vm, args, node),
            likely=True,
        )
    return _call_opaque(vm, args, node)


def _call_opaque(vm: Machine, args: Arguments, node: ast.AST) -> Value:
    """A callable that is not known, such as a layer given as an argument: Proxies in, a Proxy out."""
    if args.holds_traced() and vm.tracing:
        result: Value = _answer_of_all(vm, args, node) or vm.assumed(node, library.first_traced(args))
    else:
        result = MAYBE if args.may_hold_traced() else UNKNOWN
    escapes.given(vm, args.values())
    return result


def _answer_of_all(vm: Machine, args: Arguments, node: ast.AST) -> Const | None:
    """What a method of an object that is not known answers, where the methods of that name in the file agree.

    One that only may answer something else, and one that never returns, do not count where most are sure.
    """
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    methods = classes.methods_named(vm, vm.frame.scope.module, node.func.attr)
    answers = [
        vm.trial(method.node, partial(call_function, vm, vm.frame, method, args.after(UNKNOWN), node))
        for method in methods
    ]
    sure = [answer for answer in answers if isinstance(answer, Const)]
    if not sure or any(not same(sure[0], other) for other in sure):
        return None
    known = [answer for answer in answers if answer is not None]
    assumed = [answer for answer in known if isinstance(answer, Traced) and answer.assumed]
    return sure[0] if len(sure) + len(assumed) == len(known) and len(sure) > len(assumed) else None


def _wrapped(wraps: Wraps, args: Arguments) -> Value:
    inner = args.positional[0] if args.positional else UNKNOWN
    if isinstance(inner, Function):
        return Function(
            inner.node, inner.scope, inner.defaults, inner.keyword_defaults, inner.owner, wrapped=wraps.function
        )
    return inner


def _call_instance(vm: Machine, frame: Frame, callee: Instance, args: Arguments, node: ast.AST) -> Value:
    method = classes.find(vm, callee.cls, "__call__")
    if isinstance(method, (Function, Decorated)):
        return call(vm, frame, method, args.after(callee), node)
    if classes.is_module(vm, callee):
        return modules.call_module(vm, frame, callee, args, node)
    if isinstance(callee.cls, External):
        return library.call_object(vm, frame, callee, args, node)
    return _call_opaque(vm, args, node)


def invoke(vm: Machine, frame: Frame, function: Value, positional: list[Value], node: ast.AST) -> Value:
    return call(vm, frame, function, Arguments(positional), node)


# -- functions --------------------------------------------------------------------------------------------------------


def call_function(vm: Machine, frame: Frame, function: Function, args: Arguments, node: ast.AST) -> Value:
    """Run a function's body on abstract arguments; what goes too deep is not known, and the root says so."""
    if node is frame.discarded and statements.is_generator(function.node, function.module.source):
        return Sequence("iterator", [])  # its body runs for whoever asks for elements
    same_code = sum(1 for active in vm.frames if active.function is not None and active.function.node is function.node)
    if same_code > MAX_RECURSION and (vm.guards or not vm.tracing):
        return MAYBE if args.may_hold_traced() else UNKNOWN  # no condition ends it: the rest is more of the same
    if len(vm.frames) > MAX_DEPTH:
        if not args.may_hold_traced():
            return UNKNOWN
        vm.unresolvable(f"{function.name}, where calls nest too deeply,", node)
        return MAYBE
    born = clock()  # what binding makes of stars belongs to the call
    variables = bind_arguments(vm, function, args, node)
    run = partial(_run_or_recall, vm, function, variables, node, same_code, born)
    if vm.tracing and args.may_hold_traced():
        return run()
    linted = function.module.index.linted
    if not (linted and _is_of_module(vm, function)):
        most = MAX_STEPS_ASIDE_LINTED if linted else MAX_STEPS_ASIDE
        return vm.aside(function.node, run, lambda: _declared(vm, function, variables), most)
    if function.name != "__init__":
        return run()
    with vm.building():
        return run()


def _is_of_module(vm: Machine, function: Function) -> bool:
    return function.owner is not None and classes.is_module_class(vm, function.owner)


_DECLARED: Final[dict[str, Callable[[], Value]]] = {
    "builtins.dict": lambda: Mapping({}, UNKNOWN),
    "typing.Dict": lambda: Mapping({}, UNKNOWN),
    "builtins.list": lambda: Sequence("list", [], UNKNOWN),
    "typing.List": lambda: Sequence("list", [], UNKNOWN),
}


def _declared(vm: Machine, function: Function, variables: dict[str, Value]) -> Value:
    """What a function that was not run to its end returns: a container, where its annotation says so."""
    annotation = None if isinstance(function.node, ast.Lambda) else function.node.returns
    while isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    undetermined = _undetermined(function, variables)
    if annotation is None:
        return undetermined
    declared = evaluate.expression(vm, Frame(function.scope, None, None), annotation)
    make = _DECLARED.get(declared.name) if isinstance(declared, External) else None
    return make() if make is not None else undetermined


def _only_raises(function: Function) -> bool:
    body = [] if isinstance(function.node, ast.Lambda) else function.node.body
    statements_ = [node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    return bool(statements_) and isinstance(statements_[0], ast.Raise)


def _undetermined(function: Function, variables: dict[str, Value]) -> Value:
    """The result of a function of which it is not known what it does."""
    created = next(iter(variables.values()), None)
    if function.name == "__init__" and isinstance(created, Instance):
        created.open = True  # attributes that were not seen being set
        return NONE
    return UNKNOWN


def _run_or_recall(
    vm: Machine, function: Function, variables: dict[str, Value], node: ast.AST, same_code: int, born: int
) -> Value:
    """Run the function, or use the summary of a call that saw the same."""
    if function.name == "__init__" and not vm.tracing:  # its object is a new one, so nothing has seen the same
        return _run(vm, function, variables, node)
    values = list(variables.values())
    known = memo.key(values)
    if known is None:
        return _run(vm, function, variables, node)
    state = memo.visible(vm, function, values)
    # A function's own scope tells closures apart; what a raise does depends on whether the path is guarded, what the
    # default configuration cannot do on whether the path is its own, and where tracing stops in a package that is not
    # linted, on who has called into it. The usual object is in training mode.
    unlikely, usual = vm.tracing and vm.unlikely > 0, vm.tracing and vm.usual
    path = (vm.tracing, bool(vm.guards), unlikely, usual, vm.foreign is None or function.module.index.linted, same_code)
    place = (id(function.node), id(function.scope), known, path, state.key)
    summary = vm.summaries.get(place)
    if summary is not None and not (vm.handlers and summary.throws):
        return memo.replay(vm, summary, node, values)
    return _summarise(vm, function, variables, node, born, place, (*values, function, *state.kept))


def _summarise(
    vm: Machine,
    function: Function,
    variables: dict[str, Value],
    node: ast.AST,
    born: int,
    place: Hashable,
    kept: tuple[object, ...],
) -> Value:
    """Run the function as if nothing had happened before, and keep what it did if it changed nothing outside."""
    values = list(variables.values())
    failed, unlikely, depth = vm.failed, vm.unlikely, vm.depth
    outer, vm.events, vm.seen = (vm.events, vm.seen), [], {}
    guards, mark, reads, unresolved = len(vm.guards), vm.heap.mark(), vm.local_reads, len(vm.unresolved)
    thrown = vm.thrown
    vm.failed = False
    try:
        result = _run(vm, function, variables, node)
    finally:
        inner_failed = vm.failed
        vm.failed, vm.unlikely = failed or inner_failed, unlikely
        happened = vm.events
        vm.events, vm.seen = outer
        for event in happened:
            if (failed and event.first) or (unlikely and event.likely):
                event = replace(event, first=event.first and not failed, likely=event.likely and not unlikely)
            vm.record(event)
    same_for_all = vm.local_reads == reads and len(vm.unresolved) == unresolved
    throws = vm.thrown > thrown
    if same_for_all and not (vm.handlers and throws) and not vm.heap.changed_since(mark, born):
        vm.summaries[place] = memo.Summary(
            memo.snapshot(result, born),
            tuple(replace(e, frames=e.frames[depth:], guards=e.guards[guards:]) for e in happened),
            inner_failed,
            throws,
            memo.origins(values),
            born,
            kept,
        )
    return result


def _run(vm: Machine, function: Function, variables: dict[str, Value], node: ast.AST) -> Value:
    """Run the body; one of a package that is not linted is left where tracing stops for certain."""
    outer, linted = vm.foreign, function.module.index.linted
    if linted:
        vm.foreign = None
    elif outer is None:
        vm.foreign = len(vm.guards)
    try:
        return run_function(vm, function, variables, node)
    except Stopped:
        if linted or outer is not None:
            raise
        return vm.traced(node, library.first_traced(Arguments(list(variables.values()))))
    except PathEnd:
        if vm.tracing or vm.handlers or _only_raises(function):
            raise
        return _undetermined(function, variables)  # the object is there, so it has been built: not in this way
    finally:
        vm.foreign = outer


def run_function(vm: Machine, function: Function, variables: dict[str, Value], node: ast.AST | None) -> Value:
    """The result of the body with these local variables."""
    scope = Scope(function.module, function.scope, variables)
    inner = Frame(scope, function, node, guards=len(vm.guards))
    depth, handlers = len(vm.frames), len(vm.handlers)
    guards, unlikely, entries = len(vm.guards), vm.unlikely, [len(h.entries) for h in vm.handlers]
    vm.frames.append(inner)
    try:
        if isinstance(function.node, ast.Lambda):
            return evaluate.expression(vm, inner, function.node.body)
        if statements.is_generator(function.node, inner.source):
            inner.yields = []
        try:
            falls = statements.block(vm, inner, function.node.body)
        except PathEnd:
            if not inner.exits:
                raise
            falls = False  # the program refuses what does not leave before
            del vm.frames[depth + 1 :], vm.handlers[handlers:]
        return _result(vm, inner, falls, entries)
    finally:
        del vm.frames[depth:]
        del vm.handlers[handlers:]
        del vm.guards[guards:]
        vm.unlikely = unlikely


def _result(vm: Machine, frame: Frame, falls: bool, entries: list[int]) -> Value:
    if falls:
        frame.exits.append(statements.exit_now(vm, NONE))
    if frame.yields is not None:
        _settle(vm, frame, falls)
        return Sequence("iterator", list(frame.yields))
    if not frame.exits:
        for handler, before in zip(vm.handlers, entries, strict=False):
            if len(handler.entries) > before:
                raise Unwind(handler)
        raise PathEnd
    _settle(vm, frame, falls)
    alive = [leaving for leaving in frame.exits if not leaving.failed]
    vm.failed = not alive
    return _joined(alive or frame.exits)


def _joined(exits: list[Exit]) -> Value:
    """What is returned: in the default configuration what the likeliest ways out return."""
    least = min(leaving.unlikely for leaving in exits)
    likely = join_all(leaving.value for leaving in exits if leaving.unlikely == least)
    others = [leaving.value for leaving in exits if leaving.unlikely > least]
    return join(likely, join_all(others), likely) if others else likely


def _settle(vm: Machine, frame: Frame, falls: bool) -> None:
    """Join the states of all ways out."""
    own = id(frame.scope.vars)
    for position, changes in enumerate(frame.pending):
        outer = {place: change for place, change in changes.items() if place[0] != own}
        if not outer:
            continue
        if position == 0 and not falls and frame.divided:
            vm.heap.apply(outer)
        else:
            vm.heap.merge({}, outer, None)


def bind_arguments(
    vm: Machine, function: Function, args: Arguments, node: ast.AST, quiet: bool = False
) -> dict[str, Value]:
    """Local variables for a call; an event where the arguments do not fit."""
    parameters = function.node.args
    named = [*parameters.posonlyargs, *parameters.args]
    variables: dict[str, Value] = {}
    positional = args.positional
    keywords = dict(args.keywords)
    for position, parameter in enumerate(named):
        name = parameter.arg
        if position < len(positional):
            variables[name] = positional[position]
            if parameter in parameters.args:
                keywords.pop(name, None)
        elif name in keywords:
            variables[name] = keywords.pop(name)
        else:
            default = position - (len(named) - len(function.defaults))
            given = _from_rest(args, name)
            if default >= 0:
                fallback = function.defaults[default]
                variables[name] = fallback if given is None else join(Unknown(given.maybe, likely=fallback), given)
            elif given is not None:
                variables[name] = given
            else:
                variables[name] = Unknown(maybe=args.may_hold_traced())
    surplus = positional[len(named) :]
    if parameters.vararg is not None:
        variables[parameters.vararg.arg] = Sequence("tuple", list(surplus), args.extra)
    for parameter in parameters.kwonlyargs:
        name = parameter.arg
        given = _from_rest(args, name, keyword_only=True)
        if name in keywords:
            variables[name] = keywords.pop(name)
        elif name in function.keyword_defaults:
            fallback = function.keyword_defaults[name]
            variables[name] = fallback if given is None else Unknown(given.maybe, likely=fallback)
        elif given is not None:
            variables[name] = given
        else:
            variables[name] = Unknown(maybe=args.may_hold_traced())
    if parameters.kwarg is not None:
        items = {key_of(Const(name)): (Const(name), value) for name, value in keywords.items()}
        variables[parameters.kwarg.arg] = Mapping(items, args.extra_keywords)  # type: ignore[arg-type]
    if not quiet and not takes(function, args):
        vm.event("raise.type", node, exception="TypeError", callee=function.name)
    return variables


def takes(function: Function, args: Arguments) -> bool:
    """Whether the arguments fit the signature; those that stars of unknown content give may fit anything."""
    if args.extra is not None or args.extra_keywords is not None:
        return True
    parameters = function.node.args
    if not args.keywords and not parameters.kwonlyargs and not parameters.vararg:
        most = len(parameters.posonlyargs) + len(parameters.args)
        return most - len(function.defaults) <= len(args.positional) <= most
    named = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    by_position = set(named[: len(args.positional)])
    by_keyword = {*named[len(parameters.posonlyargs) :], *(parameter.arg for parameter in parameters.kwonlyargs)}
    required = {*named[: len(named) - len(function.defaults)]}
    required |= {p.arg for p in parameters.kwonlyargs if p.arg not in function.keyword_defaults}
    surplus = len(args.positional) > len(named) and parameters.vararg is None
    strange = args.keywords.keys() - by_keyword and parameters.kwarg is None
    twice = args.keywords.keys() & by_position & by_keyword
    return not (surplus or strange or twice or required - by_position - args.keywords.keys())


def _accepts(vm: Machine, callee: Value, args: Arguments) -> bool:
    """Whether one of several possible callables can be the one that is meant: not where its signature says no."""
    if isinstance(callee, Bound):
        return _accepts(vm, callee.function, args.after(callee.receiver))
    if isinstance(callee, Instance):
        name = "forward" if classes.is_module(vm, callee) else "__call__"
        return _accepts(vm, classes.find(vm, callee.cls, name) or UNKNOWN, args.after(callee))
    return not isinstance(callee, Function) or takes(callee, args)


def _from_rest(args: Arguments, name: str, keyword_only: bool = False) -> Unknown | None:
    """What an argument may be that star expressions of unknown content could give."""
    sources = [args.extra_keywords] if keyword_only else [args.extra, args.extra_keywords]
    present = [source for source in sources if source is not None]
    if not present:
        return None
    return Unknown(maybe=any(may_hold_traced(source) for source in present))


# -- decorators -------------------------------------------------------------------------------------------------------

_DESCRIPTORS: Final = {
    "builtins.property": "property",
    "functools.cached_property": "property",
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
}


def decorate(vm: Machine, frame: Frame, node: ast.expr, value: Value) -> Value:
    """What a decorator makes of a function or class. One that is not known is taken to keep it as it is."""
    decorator = evaluate.expression(vm, frame, node)
    if isinstance(decorator, External) and decorator.name in _DESCRIPTORS:
        return Descriptor(_DESCRIPTORS[decorator.name], value)  # type: ignore[arg-type]
    if isinstance(decorator, External) and decorator.name.startswith("fxlint.property."):
        return value
    library_method = isinstance(decorator, Bound) and not isinstance(decorator.function, Function)
    if isinstance(decorator, (External, Instance)) or library_method:
        return library.decorate(vm, decorator, value, node)
    if isinstance(value, Class) or isinstance(decorator, Unknown):
        if isinstance(decorator, Function) and isinstance(value, Class):
            result = _decorated(vm, frame, decorator, value, node)
            return result if isinstance(result, Class) else value
        return value
    result = _decorated(vm, frame, decorator, value, node)
    return value if isinstance(result, (Unknown, Const)) else result


def _decorated(vm: Machine, frame: Frame, decorator: Value, value: Value, node: ast.AST) -> Value:
    """One that takes many steps, as those do that write documentation, is not known."""
    body = decorator.node if isinstance(decorator, Function) else node
    try:
        return vm.aside(body, lambda: call(vm, frame, decorator, Arguments([value]), node))
    except (PathEnd, Unwind):
        return value
