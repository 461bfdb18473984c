"""Statements. Each returns whether control can fall through to the next one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

from fxlint.predict import aliases, attributes, calls, classes, containers, decide, evaluate, library, names, silent
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Handler, Machine, PathEnd, Unwind
from fxlint.predict.scopes import Exit, Frame, Loop
from fxlint.predict.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Traced,
    Unknown,
    Value,
    holds_traced,
    may_be_traced,
    parts_of,
)
from fxlint.project.source import SourceFile
from fxlint.project.tree import children, kept

MAX_WHILE: Final = 40

Executor = Callable[[Machine, Frame, Any], bool]


def block(vm: Machine, frame: Frame, body: Iterable[ast.stmt]) -> bool:
    """Run statements in order until one does not fall through."""
    for node in body:
        vm.tick()
        handler = _EXECUTORS.get(type(node))
        if handler is not None and not handler(vm, frame, node):
            return False
    return True


def exit_now(vm: Machine, value: Value) -> Exit:
    return Exit(value, vm.failed, vm.unlikely)


@kept
def is_generator(function: ast.AST, source: SourceFile) -> bool:
    """Whether the function's own body yields (bodies of functions inside it do not count)."""
    if "yield" not in source.text:
        return False
    pending = children(function)
    while pending:
        inner = pending.pop()
        if isinstance(inner, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            pending += children(inner)
    return False


# -- simple statements ------------------------------------------------------------------------------------------------


def _expression(vm: Machine, frame: Frame, node: ast.Expr) -> bool:
    frame.discarded = node.value
    silent.discarded(vm, frame, node.value, evaluate.expression(vm, frame, node.value))
    return True


def _assign(vm: Machine, frame: Frame, node: ast.Assign) -> bool:
    value = evaluate.expression(vm, frame, node.value)
    for target in node.targets:
        silent.assigned(vm, frame, target, value, node)
        containers.assign(vm, frame, target, value)
    return True


def _annotated(vm: Machine, frame: Frame, node: ast.AnnAssign) -> bool:
    if node.value is not None:
        containers.assign(vm, frame, node.target, evaluate.expression(vm, frame, node.value))
    return True


def _augmented(vm: Machine, frame: Frame, node: ast.AugAssign) -> bool:
    if isinstance(node.target, ast.Subscript):
        container = evaluate.expression(vm, frame, node.target.value)
        key = evaluate.expression(vm, frame, node.target.slice)
        right = evaluate.expression(vm, frame, node.value)
        if isinstance(container, Traced):
            vm.event("setitem.augmented", node, origin=container.origin, exception="TypeError")
            return True
        old = containers.item(vm, frame, container, key, node.target)
        aliases.in_place(vm, frame, node, old)
        value = evaluate.binary(vm, frame, node.op, old, right, node)
        if isinstance(container, (Sequence, Mapping)) and not holds_traced(value):
            silent.put(vm, container, value, node)
        containers.set_item(vm, frame, container, key, value, node.target)
        return True
    old = evaluate.expression(vm, frame, node.target)
    right = evaluate.expression(vm, frame, node.value)
    if isinstance(old, (Sequence, Mapping)) and _is_changed(old, node.op, right):
        name = evaluate.OPERATORS[type(node.op)].strip("_")
        library.method(vm, frame, old, f"__i{name}__", Arguments([right]), node)
        return True
    if isinstance(old, Instance) and _in_place(vm, frame, old, right, node):
        return True
    silent.augmented(vm, frame, node.target, old, right, node)
    aliases.in_place(vm, frame, node, old)
    containers.assign(vm, frame, node.target, evaluate.binary(vm, frame, node.op, old, right, node))
    return True


_CHANGED: Final[dict[str, tuple[type[ast.operator], ...]]] = {
    "list": (ast.Add, ast.Mult),
    "set": (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor),
    "dict": (ast.BitOr,),
}


def _is_changed(old: Sequence | Mapping, op: ast.operator, right: Value) -> bool:
    """Whether the augmented assignment changes the container: the operator of a Proxy or a tensor comes first."""
    if isinstance(op, ast.Mult) and not isinstance(right, (Const, Unknown)):
        return False
    if isinstance(right, Traced) or (may_be_traced(right) and not isinstance(op, ast.Add)):
        return False
    return isinstance(op, _CHANGED.get("dict" if isinstance(old, Mapping) else old.kind, ()))


def _in_place(vm: Machine, frame: Frame, old: Instance, right: Value, node: ast.AugAssign) -> bool:
    """``+=`` on an object that holds a list, such as a ModuleList: it is extended, and stays the same object."""
    if not (isinstance(old.children, Sequence) and isinstance(node.op, ast.Add)):
        return False
    calls.invoke(vm, frame, attributes.load(vm, frame, old, "extend", node), [right], node)
    return True


def _delete(vm: Machine, frame: Frame, node: ast.Delete) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            container = evaluate.expression(vm, frame, target.value)
            containers.delete_item(vm, frame, container, evaluate.expression(vm, frame, target.slice), target)
        elif isinstance(target, ast.Attribute):
            attributes.delete(vm, evaluate.expression(vm, frame, target.value), target.attr)
        elif isinstance(target, ast.Name) and target.id in frame.outer_names:
            containers.bind(vm, frame, target.id, UNKNOWN)
        elif isinstance(target, ast.Name) and target.id in frame.scope.vars:
            vm.heap.drop(frame.scope.vars, target.id)
    return True


def _return(vm: Machine, frame: Frame, node: ast.Return) -> bool:
    value = NONE if node.value is None else evaluate.expression(vm, frame, node.value)
    frame.exits.append(exit_now(vm, value))
    frame.divided = False
    return False


def _raise(vm: Machine, frame: Frame, node: ast.Raise) -> bool:
    thrown: Value = UNKNOWN if node.exc is None else evaluate.expression(vm, frame, node.exc)
    if isinstance(thrown, Instance):
        thrown = thrown.cls
    if not vm.tracing or node.exc is None:
        vm.throw(thrown, node)
    if _is_abstract(node) and not vm.is_caught("NotImplementedError"):
        vm.note("abstract", node)
        raise PathEnd
    if vm.guards and not _is_due_to_tracing(vm, frame):
        vm.refuse(node, _exception_name(thrown), thrown)
    vm.event("raise.reached", node, exception=_exception_name(thrown), thrown=thrown)
    frame.exits.append(exit_now(vm, UNKNOWN))
    frame.divided = False
    return False


def _is_due_to_tracing(vm: Machine, frame: Frame) -> bool:
    """Whether the program raises because it meets a Proxy, instead of refusing a configuration.

    It does so right under a condition that a Proxy has answered, and in a function that raises for no other reason
    than the Proxy that it was given.
    """
    if frame.answered == len(vm.guards):
        return True
    if len(vm.guards) > frame.guards or frame.function is None or len(vm.frames) < 3:
        return False
    arguments = frame.function.node.args
    given = (frame.scope.vars.get(a.arg) for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    return any(value is not None and holds_traced(value) for value in given)


def _is_abstract(node: ast.Raise) -> bool:
    raised = node.exc.func if isinstance(node.exc, ast.Call) and not node.exc.args else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _exception_name(thrown: Value) -> str:
    return names.class_name(thrown).rpartition(".")[2] if isinstance(thrown, (Class, External)) else "Exception"


def _assert(vm: Machine, frame: Frame, node: ast.Assert) -> bool:
    verdict = decide.condition(vm, frame, node.test, "bool.assert")
    if verdict.truth is False:
        if vm.guards and not (verdict.answered or _is_due_to_tracing(vm, frame)):
            vm.refuse(node, "AssertionError", "AssertionError")
        vm.event("raise.reached", node, exception="AssertionError")
    elif verdict.truth is None:
        if verdict.is_answered(False) and vm.tracing:
            vm.fork(node.test, lambda: True, lambda: _assertion_fails(vm, node), likely=verdict.likely)
        decide.refine(vm, frame, node.test, True)
    return True


def _assertion_fails(vm: Machine, node: ast.Assert) -> bool:
    vm.event("raise.reached", node, exception="AssertionError")
    return True


def _define(vm: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    containers.bind(vm, frame, node.name, evaluate.definition(vm, frame, node, None))
    return True


def _import(vm: Machine, frame: Frame, node: ast.Import | ast.ImportFrom) -> bool:
    for name, value in names.local_import(vm, frame, node):
        containers.bind(vm, frame, name, value)
    return True


def _global(vm: Machine, frame: Frame, node: ast.Global) -> bool:
    for name in node.names:
        frame.outer_names[name] = None
    return True


def _nonlocal(vm: Machine, frame: Frame, node: ast.Nonlocal) -> bool:
    for name in node.names:
        scope = frame.scope.parent
        while scope is not None and name not in scope.vars:
            scope = scope.parent
        if scope is not None:
            frame.outer_names[name] = scope
    return True


# -- branches ---------------------------------------------------------------------------------------------------------


def _if(vm: Machine, frame: Frame, node: ast.If) -> bool:
    verdict = decide.condition(vm, frame, node.test, "bool.if")
    if verdict.truth is not None:
        return _side(vm, frame, node, verdict.truth, verdict.is_answered(verdict.truth))

    def side(positive: bool) -> Callable[[], bool]:
        def run() -> bool:
            decide.refine(vm, frame, node.test, positive)
            return _side(vm, frame, node, positive, verdict.is_answered(positive))

        return run

    return vm.fork(node.test, side(True), side(False), likely=verdict.likely, traced=verdict.traced)


def _side(vm: Machine, frame: Frame, node: ast.If, positive: bool, answered: bool) -> bool:
    around, frame.answered = frame.answered, len(vm.guards) if answered else None
    try:
        return block(vm, frame, node.body if positive else node.orelse)
    finally:
        frame.answered = around


def _match(vm: Machine, frame: Frame, node: ast.Match) -> bool:
    subject = evaluate.expression(vm, frame, node.subject)
    return _cases(vm, frame, node, subject, node.cases)


def _cases(vm: Machine, frame: Frame, node: ast.Match, subject: Value, cases: list[ast.match_case]) -> bool:
    if not cases:
        return True
    case, *others = cases
    verdict = _matches(vm, frame, subject, case.pattern)
    if case.guard is not None and verdict.truth is not False:
        guarded = decide.condition(vm, frame, case.guard, "bool.match")
        verdict = guarded if verdict.truth else decide.EITHER
    if verdict.truth is not None:
        if verdict.truth:
            return block(vm, frame, case.body)
        return _cases(vm, frame, node, subject, others)
    return vm.fork(
        case.pattern,
        lambda: block(vm, frame, case.body),
        lambda: _cases(vm, frame, node, subject, others),
        likely=verdict.likely,
        traced=verdict.traced,
    )


def _matches(vm: Machine, frame: Frame, subject: Value, pattern: ast.pattern) -> decide.Verdict:
    if isinstance(pattern, ast.MatchAs):
        verdict = decide.YES if pattern.pattern is None else _matches(vm, frame, subject, pattern.pattern)
        if pattern.name is not None:
            containers.bind(vm, frame, pattern.name, subject)
        return verdict
    if isinstance(pattern, ast.MatchValue):
        wanted = evaluate.expression(vm, frame, pattern.value)
        answer = decide.equal(vm, frame, ast.Eq(), subject, wanted, pattern)
        return decide.truth(vm, frame, answer, pattern, "bool.match")
    if isinstance(pattern, ast.MatchSingleton):
        answer = decide.identical(vm, subject, Const(pattern.value), pattern)
        return decide.truth(vm, frame, answer, pattern, "bool.match")
    if isinstance(pattern, ast.MatchOr):
        verdicts = [_matches(vm, frame, subject, option) for option in pattern.patterns]
        if any(verdict.truth for verdict in verdicts):
            return decide.YES
        if all(verdict.truth is False for verdict in verdicts):
            return decide.NO
        return decide.Verdict(None, traced=any(verdict.traced for verdict in verdicts))
    if isinstance(pattern, ast.MatchClass):
        wanted = evaluate.expression(vm, frame, pattern.cls)
        silent.matched(vm, subject, pattern)
        answer_by_class = classes.is_instance(vm, subject, wanted)
        if answer_by_class is False:
            return decide.NO
        return decide.YES if answer_by_class and not pattern.patterns and not pattern.kwd_patterns else decide.EITHER
    if isinstance(subject, Traced) and isinstance(pattern, (ast.MatchSequence, ast.MatchMapping)):
        return decide.NO  # a Proxy is neither a registered Sequence nor a Mapping
    return decide.EITHER


# -- loops ------------------------------------------------------------------------------------------------------------


def _for(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor) -> bool:
    iterable = evaluate.expression(vm, frame, node.iter)
    if isinstance(iterable, Sequence) and iterable.kind == "iterator":
        spread = iterable
    else:
        spread = containers.iterate(vm, frame, iterable, node.iter, "iter.for")
    loop = Loop()
    frame.loops.append(loop)
    depth = len(frame.loops)
    try:
        falls = _iterations(vm, frame, node, loop, spread)
    finally:
        del frame.loops[depth - 1 :]
    return _after_loop(vm, frame, node, loop, falls)


def _iterations(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, spread: Sequence) -> bool:
    for value in _elements(vm, node, spread):
        if not _iteration(vm, frame, node, loop, value):
            return False
    if spread.rest is None:
        return True
    rest = spread.rest
    if spread.optional and not spread.items:
        return vm.fork(node.iter, lambda: _rest_iterations(vm, frame, node, loop, rest), lambda: True)
    return _rest_iterations(vm, frame, node, loop, rest)


def _elements(vm: Machine, node: ast.For | ast.AsyncFor, spread: Sequence) -> Iterator[Value]:
    """The known elements; an iterator with a name is asked one by one: the body may leave some, or ask as well."""
    if spread.kind != "iterator" or not isinstance(node.iter, (ast.Name, ast.Attribute)):
        yield from spread.items
        return
    while spread.items:
        first, *others = spread.items
        vm.heap.refill(spread, others, spread.rest)
        yield first


def _rest_iterations(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, rest: Value) -> bool:
    """A loop over an unknown number of elements: once, then once more on the joined state."""
    mark = vm.heap.mark()
    if not _pass(vm, frame, node, loop, rest):
        return False
    vm.heap.widen(mark)
    _pass(vm, frame, node, loop, rest)
    return True


def _pass(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, rest: Value) -> bool:
    """Whether the loop goes on after one pass for each of the parts."""
    return all(
        vm.where(part.conditions, partial(_iteration, vm, frame, node, loop, part.value)) for part in parts_of(rest)
    )


def _iteration(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor, loop: Loop, value: Value) -> bool:
    """Whether the loop goes on after this pass on some path."""
    guards, unlikely = len(vm.guards), vm.unlikely
    containers.assign(vm, frame, node.target, value)
    loop.continued = False
    falls = block(vm, frame, node.body)
    del vm.guards[guards:]
    vm.unlikely = unlikely
    if loop.continued:
        _merge_left(vm, loop)
    return falls or loop.continued


def _merge_left(vm: Machine, loop: Loop) -> None:
    for changes in loop.breaks:
        vm.heap.merge({}, changes, None)
    loop.breaks.clear()


def _after_loop(vm: Machine, frame: Frame, node: ast.For | ast.AsyncFor | ast.While, loop: Loop, falls: bool) -> bool:
    if falls and node.orelse:
        falls = block(vm, frame, node.orelse)
    _merge_left(vm, loop)
    return falls or loop.broken


def _while(vm: Machine, frame: Frame, node: ast.While) -> bool:
    loop = Loop()
    frame.loops.append(loop)
    depth = len(frame.loops)
    guards, unlikely = len(vm.guards), vm.unlikely
    falls, endless = True, False
    try:
        passes = 0
        while True:
            verdict = decide.condition(vm, frame, node.test, "bool.while")
            if verdict.truth is False:
                break
            mark = vm.heap.mark()
            loop.continued = False
            falls = block(vm, frame, node.body) or loop.continued
            del vm.guards[guards:]
            vm.unlikely = unlikely
            passes += 1
            if not falls:
                break
            if verdict.truth is None or passes > MAX_WHILE or loop.broken:
                vm.heap.widen(mark)
                if verdict.truth is None and passes == 1:
                    continue
                endless = verdict.truth is True and isinstance(node.test, ast.Constant)
                break
    finally:
        del frame.loops[depth - 1 :]
    return _after_loop(vm, frame, node, loop, falls and not endless)


def _break(vm: Machine, frame: Frame, node: ast.Break) -> bool:
    if frame.loops:
        frame.loops[-1].broken = True
    return False


def _continue(vm: Machine, frame: Frame, node: ast.Continue) -> bool:
    if frame.loops:
        frame.loops[-1].continued = True
    return False


# -- with, try --------------------------------------------------------------------------------------------------------


def _with(vm: Machine, frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    managers: list[Value] = []
    for position, entry in enumerate(node.items):
        manager = evaluate.expression(vm, frame, entry.context_expr)
        if _is_suppress(manager) and isinstance(entry.context_expr, ast.Call) and entry.context_expr.args:
            return _try(vm, frame, _suppressing(node, position, entry.context_expr))
        value = _entered(vm, frame, manager, entry.context_expr)
        managers.append(manager)
        if entry.optional_vars is not None:
            containers.assign(vm, frame, entry.optional_vars, value)
    falls = block(vm, frame, node.body)
    for manager in reversed(managers):
        leave = classes.find(vm, manager.cls, "__exit__") if isinstance(manager, Instance) else None
        if isinstance(leave, Function):
            calls.invoke(vm, frame, leave, [manager, NONE, NONE, NONE], node)
    return falls


_SUPPRESS: Final = "contextlib.suppress"


def _is_suppress(manager: Value) -> bool:
    return isinstance(manager, Instance) and isinstance(manager.cls, External) and manager.cls.name == _SUPPRESS


@kept
def _suppressing(node: ast.With | ast.AsyncWith, position: int, call: ast.Call) -> ast.Try:
    """``with suppress(A, B): body`` as the try statement that it stands for."""
    types = ast.copy_location(ast.Tuple(call.args, ast.Load()), call.args[0])
    types.end_lineno, types.end_col_offset = call.args[-1].end_lineno, call.args[-1].end_col_offset
    handler = ast.ExceptHandler(types, None, [ast.copy_location(ast.Pass(), call)])
    inner = node.items[position + 1 :]
    body: list[ast.stmt] = [ast.copy_location(ast.With(inner, node.body), node)] if inner else node.body
    return ast.copy_location(ast.Try(body, [ast.copy_location(handler, call)], [], []), node)


def _entered(vm: Machine, frame: Frame, manager: Value, node: ast.AST) -> Value:
    if isinstance(manager, Traced):
        vm.event("context.proxy", node, origin=manager.origin, exception="TypeError")
        return UNKNOWN
    if isinstance(manager, Instance):
        silent.entered(vm, manager, node)
        enter = classes.find(vm, manager.cls, "__enter__")
        return calls.invoke(vm, frame, enter, [manager], node) if isinstance(enter, Function) else manager
    if isinstance(manager, Sequence) and manager.kind == "iterator":
        silent.entered(vm, manager, node)
        return manager.items[0] if manager.items else UNKNOWN
    return UNKNOWN


def _try(vm: Machine, frame: Frame, node: ast.Try) -> bool:
    handler = Handler(_catcher(vm, frame, node))
    frames, handlers = len(vm.frames), len(vm.handlers)
    guards = len(vm.guards)
    vm.handlers.append(handler)
    falls = unwound = False
    try:
        falls = block(vm, frame, node.body)
    except Unwind as unwind:
        if unwind.handler is not handler:
            raise
        unwound = True
    except PathEnd:
        if not handler.entries:
            raise
        unwound = True
    finally:
        del vm.frames[frames:]
        del vm.handlers[handlers:]
    ends = next((one for one in node.handlers if not isinstance(one.body[-1], ast.Raise)), None)
    if handler.swallows and ends is not None:
        vm.note("silent.swallowed", ends.type or ends)
    if unwound:
        del vm.guards[guards:]
        falls = _handlers(vm, frame, node)
    elif handler.entries:
        normal = falls

        def caught() -> bool:
            for changes in handler.entries:
                vm.heap.merge({}, changes, None)
            return _handlers(vm, frame, node)

        falls = vm.fork(node, caught, lambda: normal and block(vm, frame, node.orelse))
    elif falls and node.orelse:
        falls = block(vm, frame, node.orelse)
    if node.finalbody:
        falls = block(vm, frame, node.finalbody) and falls
    return falls


def _handlers(vm: Machine, frame: Frame, node: ast.Try) -> bool:
    """The handlers that may run, as alternatives; which one catches is not told apart."""
    if not node.handlers:
        return True
    return _one_handler(vm, frame, node.handlers)


def _one_handler(vm: Machine, frame: Frame, handlers: list[ast.ExceptHandler]) -> bool:
    first, *others = handlers
    if first.name is not None:
        containers.bind(vm, frame, first.name, UNKNOWN)
    if not others:
        return block(vm, frame, first.body)
    return vm.fork(first, lambda: block(vm, frame, first.body), lambda: _one_handler(vm, frame, others))


def _catcher(vm: Machine, frame: Frame, node: ast.Try) -> Callable[[Value | str], bool]:
    wanted: list[Value] = []
    if _leaves(node.finalbody):
        return lambda thrown: True
    for handler in node.handlers:
        if handler.type is None:
            return lambda thrown: True
        types = evaluate.expression(vm, frame, handler.type)
        wanted.extend(types.items if isinstance(types, Sequence) else [types])
    return lambda thrown: any(_catches(vm, one, thrown) for one in wanted)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a ``finally`` surely leaves in its own way, so that what was raised before is forgotten."""
    last = body[-1] if body else None
    return isinstance(last, ast.Return) or (isinstance(last, ast.Raise) and last.exc is not None)


_TRACER_ERRORS: Final[dict[str, type[Exception]]] = {"TraceError": ValueError}


def _catches(vm: Machine, wanted: Value, thrown: Value | str) -> bool:
    if isinstance(thrown, Class):
        classes.resolve_bases(vm, thrown)
        if isinstance(wanted, Class):
            return wanted in thrown.mro
        return any(isinstance(base, External) and _catches(vm, wanted, base) for base in thrown.mro) or (
            isinstance(wanted, External) and wanted.name in {"builtins.Exception", "builtins.BaseException"}
        )
    if not isinstance(wanted, External):
        return False
    if isinstance(thrown, External):
        thrown = thrown.name.rpartition(".")[2]
    if not isinstance(thrown, str):
        return wanted.name in {"builtins.Exception", "builtins.BaseException"}
    if wanted.name.rpartition(".")[2] == thrown:
        return True
    catching = getattr(builtins, wanted.name.removeprefix("builtins."), None)
    raised = _TRACER_ERRORS[thrown] if thrown in _TRACER_ERRORS else getattr(builtins, thrown, Exception)
    return isinstance(catching, type) and isinstance(raised, type) and issubclass(raised, catching)


def _nothing(vm: Machine, frame: Frame, node: ast.stmt) -> bool:
    return True


_EXECUTORS: Final[dict[type[ast.stmt], Executor]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _define,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.If: _if,
    ast.Match: _match,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Pass: _nothing,
}
if hasattr(ast, "TryStar"):
    _EXECUTORS[ast.TryStar] = _try
