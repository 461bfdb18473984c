"""Going on after C code rejected a proxy: the expression that failed is asked again with a stand-in for its result.

``torch.zeros(n, 3)`` or ``[1, 2][n]`` with a traced ``n`` raises inside C code, where a proxy has no say. So when a run
ends that way, the function around the failing expression is compiled again with that one expression guarded (same
positions, same closure), its ``__code__`` is replaced, and the run is repeated: the guard notes the event and answers.
All this happens in a process of its own; the user's files are only read.
"""

from __future__ import annotations

import ast
import gc
import linecache
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType, TracebackType
from typing import Any

import torch
from torch.fx.proxy import Proxy

from . import classify
from .frames import Instruction, UserCode, real_path
from .recorder import STAND_IN_LENGTH, EndOfRun, RecordingTracer, Run, first_proxy, holds_proxy, stand_in

GUARD = "__fxlint_guard__"
_FRAME_SENSITIVE = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec", GUARD})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Expr, ast.Raise, ast.Assert, ast.Return)
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip

_FUTURE: int = annotations.compiler_flag
"""What a ``from __future__ import`` at the top of a file changes in all its code, in this Python or a later one."""

Span = tuple[int, int, int, int]  # line, end line, UTF-8 column, UTF-8 end column
Key = tuple[str, Span]


class Guard:
    """What guarded expressions call. ``tracer`` is that of the running run."""

    slice = slice

    def __init__(self, user: UserCode, sites: Sites) -> None:
        self.tracer: RecordingTracer | None = None
        self._user = user
        self._sites = sites

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        before = self._answers()
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            tracer = self._noted(error, classify.of_call(function), (function, args, kwargs), before)
            # a proxy, so that all that follows from the result is met too: conditions on it have both sides
            return range(STAND_IN_LENGTH) if function is range else stand_in(tracer, (function, args, kwargs))

    def subscript(self, base: Any, index: Any) -> Any:
        before = self._answers()
        try:
            return base[index]
        except BaseException as error:
            tracer = self._noted(error, classify.of_subscript(base), (base, index), before)
            return _result_of_subscript(tracer, base, index)

    def attribute(self, base: Any, name: str) -> Any:
        before = self._answers()
        try:
            return getattr(base, name)
        except BaseException as error:
            return stand_in(self._noted(error, "raise", (base,), before), base)

    def binary(self, name: str, left: Any, right: Any) -> Any:
        before = self._answers()
        try:
            return _BINARY_BY_NAME[name](left, right)
        except BaseException as error:
            return stand_in(self._noted(error, "call", (left, right), before), (left, right))

    def assign(self, value: Any, base: Any, index: Any) -> None:
        before = self._answers()
        try:
            base[index] = value
        except BaseException as error:
            self._noted(error, classify.of_subscript(base), (base, index, value), before)

    def statement(self) -> Proxy | None:
        """Called in the handler around a guarded statement, for the value that it has failed to assign or return."""
        error = sys.exc_info()[1]
        if error is None or error.__traceback__ is None:
            return None
        if self._is_deeper(error.__traceback__.tb_next):
            raise error
        tracer = self._noted(error, classify.of_exception(error, self._user), (), self._answers())
        return stand_in(tracer, ())

    def _answers(self) -> int:
        return self.tracer.run.answers if self.tracer is not None else 0

    def _is_deeper(self, traceback: TracebackType | None) -> bool:
        """Whether the error came out of other code of the user's, which has a place of its own to be guarded."""
        users = self._user.of_traceback(traceback)
        return any(self._user.is_own(found.code.co_filename) for found in users)

    def _noted(self, error: BaseException, family: str, operands: Any, before: int) -> RecordingTracer:
        """Note the event and go on; raises ``error`` on where it is not this expression's.

        ``before`` is the number of stand-ins given before the expression was evaluated: one given inside it, to a check
        of a library's for example, makes what follows its fault. So does one given anywhere, where no operand is
        traced. Then nothing is noted but that the run went on, and the user's own raises as collateral.
        """
        tracer = self.tracer
        if tracer is None or isinstance(error, EndOfRun):
            raise error
        statement = not operands
        if not statement and self._is_deeper(error.__traceback__):
            raise error
        explicit = statement and classify.raised_explicitly(error, self._user)
        if explicit and before and self._sites.is_chosen(error, tracer.run):
            raise error
        traced = first_proxy(operands) if holds_proxy(operands) else None
        blamed = self._answers() != before or (traced is None and before > 0)
        if blamed and not (explicit and self._sites.is_type_test(error)):
            if explicit:
                tracer.record("raise", None, error, collateral=True)
            tracer.run.passed.append(error)
            tracer.answered()
            return tracer
        said = classify.of_exception(error, self._user)
        if said in ("module", "wrap", "bool", "iter", "len", "raise") and (said != "raise" or traced is None):
            family = said  # torch.fx itself, or the user's own raise
        tracer.record(family, traced, error)
        tracer.answered()
        return tracer


_BINARY_BY_NAME = {kind.__name__: function for kind, function in _BINARY.items()}


def _result_of_subscript(tracer: RecordingTracer, base: Any, index: Any) -> Any:
    try:
        if isinstance(base, (list, tuple, str, range, torch.nn.ModuleList, torch.nn.Sequential)) and len(base):
            return base[0]
        if isinstance(base, (dict, torch.nn.ModuleDict, torch.nn.ParameterDict)) and len(base):
            return next(iter(base.values()))
    except Exception:
        return stand_in(tracer, index)
    return stand_in(tracer, index)


_functions: dict[str, list[FunctionType]] = {}
"""The functions of each file that were in memory when ``note_functions`` was last called."""


def note_functions() -> None:
    """Remember the functions of what was imported, and keep it all out of collections.

    To be called before a fork: looking for them there would touch, and so copy, every object.
    """
    for found in gc.get_objects():
        if type(found) is FunctionType:
            _functions.setdefault(found.__code__.co_filename, []).append(found)
    gc.freeze()


class Sites:
    """The guarded expressions of one root."""

    def __init__(self, user: UserCode) -> None:
        self.guard = Guard(user, self)
        self._user = user
        self._guarded: dict[str, set[Span]] = {}

    def add(self, at: Instruction) -> bool:
        """Guard the expression or statement at an instruction. False where that is impossible or already done."""
        filename = at.code.co_filename
        tree = _tree(filename)
        if tree is None:
            return False
        guarded = self._guarded.setdefault(filename, set())
        fresh = [_span(node) for node in _nodes_at(tree, at) if _span(node) not in guarded]
        if not fresh:
            return False
        guarded.update(fresh)
        try:
            part = ast.parse(_source_around(tree, filename, at.line))  # a good deal faster than copying the tree
            transformed = _Guarding(guarded).visit(part)
            module = compile(transformed, filename, "exec", at.code.co_flags & _FUTURE, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return False
        return self._install(filename, module, at.line)

    def is_type_test(self, error: BaseException) -> bool:
        """Whether a raise or assert depends on what a value is, as in ``assert isinstance(x, Tensor)``.

        Then no stand-in given before is to blame for it.
        """
        return any(_is_type_test(test) for test in self._conditions(error))

    def is_chosen(self, error: BaseException, run: Run) -> bool:
        """Whether a run came to a raise or assert by the answer to a condition: the other answer avoids it."""
        at = self._raising(error)
        if at is None:
            return False
        lines = {line for test in self._conditions(error) for line in range(test.lineno, (test.end_lineno or 0) + 1)}
        return any((at.code.co_filename, at.code.co_name, line) in run.asked for line in lines)

    def _raising(self, error: BaseException) -> Instruction | None:
        users = self._user.of_traceback(error.__traceback__)
        return users[-1] if users and classify.raised_explicitly(error, self._user) else None

    def _conditions(self, error: BaseException) -> list[ast.expr]:
        """The conditions that lead to a raise or assert in its function: around it, or with another way out before."""
        at = self._raising(error)
        tree = _tree(at.code.co_filename) if at is not None else None
        return list(_conditions_of(tree, at.line)) if tree is not None and at is not None else []

    def _install(self, filename: str, module: CodeType, line: int) -> bool:
        """Give every function of the file whose body holds ``line`` its new code."""
        fresh = {_identity(code): code for code in _codes(module)}
        done = False
        for function in (*_functions.get(filename, ()), *gc.get_objects()):  # the latter: those made since the fork
            if type(function) is not FunctionType or function.__code__.co_filename != filename:
                continue
            old = function.__code__
            new = fresh.get(_identity(old))
            if new is None or not _holds(old, line) or new.co_freevars != old.co_freevars:
                continue
            if new.co_argcount != old.co_argcount or new.co_flags != old.co_flags:
                continue  # torch.fx made this function out of one with *args; it makes another one for the next run
            function.__globals__[GUARD] = self.guard
            function.__code__ = new
            done = True
        return done


@lru_cache(maxsize=256)
def _tree(filename: str) -> ast.Module | None:
    try:
        return ast.parse(_source(filename))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _source_around(tree: ast.Module, filename: str, line: int) -> str:
    """The top-level statement of a line, at its place in an otherwise empty file."""
    for node in tree.body:
        first: int = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        if first <= line <= (node.end_lineno or node.lineno):
            rows: list[str] = linecache.getlines(filename)[first - 1 : node.end_lineno]
            return "\n" * (first - 1) + "".join(rows)
    return _source(filename)


def _conditions_of(tree: ast.Module, line: int) -> Iterator[ast.expr]:
    """The tests around a line, in its function, and those before it in the same blocks that may leave the function."""
    around = [node for node in _walk_to(tree, line) if isinstance(node, (ast.stmt, ast.ExceptHandler))]
    functions = [number for number, node in enumerate(around) if isinstance(node, _FUNCTIONS)]
    for node in around[functions[-1] if functions else 0 :]:
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            yield node.test
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and any(_holds_line(one, line) for one in block):
                before = [one for one in block if (one.end_lineno or one.lineno) < line]
                for inner in (inner for one in before for inner in ast.walk(one)):
                    if isinstance(inner, (ast.If, ast.While)) and _leaves(inner):
                        yield inner.test


def _leaves(node: ast.AST) -> bool:
    return any(isinstance(inner, (ast.Return, ast.Raise, ast.Break, ast.Continue)) for inner in ast.walk(node))


class _Guarding(ast.NodeTransformer):
    """Wraps the expressions and statements at ``spans``."""

    def __init__(self, spans: set[Span]) -> None:
        self._spans = spans

    def visit(self, node: ast.AST) -> Any:
        if hasattr(node, "lineno") and not any(_holds_line(node, span[0]) for span in self._spans):
            return node
        wanted = hasattr(node, "lineno") and _span(node) in self._spans
        node = super().generic_visit(node)
        return ast.fix_missing_locations(self._guarded(node)) if wanted else node

    @staticmethod
    def _guarded(node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Call):
            return _guarded(node, "call", [node.func, *node.args], node.keywords)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return _guarded(node, "subscript", [node.value, _index(node.slice)])
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            return _guarded(node, "attribute", [node.value, ast.Constant(node.attr)])
        if isinstance(node, ast.BinOp):
            return _guarded(node, "binary", [ast.Constant(type(node.op).__name__), node.left, node.right])
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            call = ast.Expr(_guarded(target, "assign", [node.value, target.value, _index(target.slice)]))
            return ast.copy_location(call, node)
        if isinstance(node, _SIMPLE):
            instead = _with_value(node, _guarded(node, "statement", []))
            body = ast.Try(
                body=[node],
                handlers=[ast.ExceptHandler(type=ast.Name("BaseException", ast.Load()), name=None, body=[instead])],
                orelse=[],
                finalbody=[],
            )
            return ast.copy_location(body, node)
        return node


def _guarded(node: ast.AST, method: str, args: list[ast.expr], keywords: list[ast.keyword] | None = None) -> ast.Call:
    function = ast.Attribute(ast.Name(GUARD, ast.Load()), method, ast.Load())
    call = ast.copy_location(ast.Call(function, args, keywords or []), node)
    # on one line: of a method's call whose name ends on another one, the compiler takes the name's place
    function.lineno, function.col_offset = function.end_lineno, function.end_col_offset = call.lineno, call.col_offset
    return call


def _with_value(node: ast.AST, value: ast.expr) -> ast.stmt:
    """A statement that gives what ``node`` has failed to compute: names without a value would fail all that follows."""
    if isinstance(node, ast.Return):
        return ast.Return(value)
    if isinstance(node, ast.Assign) and all(map(_is_of_names, node.targets)):
        return ast.Assign(node.targets, value)
    return ast.Expr(value)


def _is_of_names(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_of_names, target.elts))
    return isinstance(target, ast.Name)


def _is_type_test(test: ast.expr) -> bool:
    """``isinstance(x, T)``, ``x is None``, also with ``not``, or as a part of ``and`` and ``or``."""
    if isinstance(test, ast.UnaryOp):
        return _is_type_test(test.operand)
    if isinstance(test, ast.BoolOp):
        return any(map(_is_type_test, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in test.ops)
    name = getattr(getattr(test, "func", None), "id", getattr(getattr(test, "func", None), "attr", None))
    return name in ("isinstance", "issubclass", "is_tensor")


def _index(node: ast.expr) -> ast.expr:
    """An index as an ordinary expression: slices become calls of ``slice``."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return _guarded(node, "slice", parts)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_index(item) for item in node.elts], ast.Load()), node)
    return node


def _nodes_at(tree: ast.Module, at: Instruction) -> Sequence[ast.AST]:
    """The guardable nodes that an instruction belongs to, the innermost expression else the statement around it."""
    span = at.span
    nodes = list(_walk_to(tree, at.line))
    guardable = [node for node in nodes if _is_guardable(node)]
    exact: list[ast.AST]
    if at.opname == "RAISE_VARARGS":
        exact = []
    elif span is None:  # Python 3.10 knows lines only: everything there is a candidate
        exact = list(guardable)
    else:
        exact = [node for node in guardable if _span(node) == span][:1]
        if not exact:  # since Python 3.12 the call of a method begins at the method's name
            calls = [node for node in guardable if isinstance(node, ast.Call)]
            exact.extend([node for node in calls if _end(node) == (span[1], span[3])][:1])
    if exact:
        return exact
    statements = [node for node in nodes if isinstance(node, _SIMPLE)]
    return [node for node in statements if span is None or _contains(node, span)][-1:]


def _walk_to(tree: ast.Module, line: int) -> Iterator[ast.AST]:
    """The nodes whose lines include ``line``, outer ones first."""
    level: list[ast.AST] = [tree]
    while level:
        yield from level
        children = [child for node in level for child in ast.iter_child_nodes(node)]
        level = [child for child in children if not hasattr(child, "lineno") or _holds_line(child, line)]


def _source(filename: str) -> str:
    return "".join(linecache.getlines(filename))


def _is_guardable(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in _FRAME_SENSITIVE)
    if isinstance(node, ast.Attribute):
        mangled = node.attr.startswith("__") and not node.attr.endswith("__")
        return isinstance(node.ctx, ast.Load) and not mangled
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    return isinstance(node, ast.BinOp)


def _span(node: Any) -> Span:
    return (node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset or 0)


def _end(node: Any) -> tuple[int, int]:
    return (node.end_lineno, node.end_col_offset)


def _contains(node: ast.AST, span: Span) -> bool:
    line, end_line, column, end_column = _span(node)
    return (line, column) <= (span[0], span[2]) and (span[1], span[3]) <= (end_line, end_column)


def _holds_line(node: ast.AST, line: int) -> bool:
    first, last, _, _ = _span(node)
    return first <= line <= last


def _codes(code: CodeType) -> list[CodeType]:
    nested = [const for const in code.co_consts if isinstance(const, CodeType)]
    return [code, *(inner for const in nested for inner in _codes(const))]


def _identity(code: CodeType) -> tuple[Any, ...]:
    return (getattr(code, "co_qualname", code.co_name), code.co_firstlineno, real_path(code.co_filename))


def _holds(code: CodeType, line: int) -> bool:
    last = max((number for inner in _codes(code) for _, _, number in inner.co_lines() if number), default=0)
    return code.co_firstlineno <= line <= last
