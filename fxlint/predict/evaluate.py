"""Expressions: one function per kind of node, from syntax to an abstract value."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fxlint.predict import attributes, calls, classes, containers, decide, escapes, library, names, silent, told
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame, Scope
from fxlint.predict.values import (
    FALSE,
    MAYBE,
    NONE,
    PROXY_TEXT,
    TRUE,
    UNKNOWN,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Part,
    Sequence,
    Slice,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    answer,
    const,
    extended,
    holds_traced,
    is_answer,
    join,
    likely_of,
    may_be_traced,
    options,
    parts_of,
)

MAX_FOLDED: Final = 4096
"""The largest number that may say how much is made, and the longest text that more is made of."""
MAX_SIZE: Final = 2**16
"""Characters of a text and bits of a number that are kept."""
_LONG_NUMBER: Final = re.compile(r"[0-9]{5}")
_CONVERSIONS: Final = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])")

Evaluator = Callable[[Machine, Frame, Any], Value]


def expression(vm: Machine, frame: Frame, node: ast.expr) -> Value:
    """The value of an expression. Kinds of syntax that are not known give Unknown, never an error."""
    vm.tick()
    handler = _EVALUATORS.get(type(node))
    return handler(vm, frame, node) if handler is not None else MAYBE


def definition(
    vm: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, owner: Value | None
) -> Value:
    """The value that a def or class statement binds, its decorators applied."""
    if isinstance(node, ast.ClassDef):
        value: Value = classes.define(vm, frame, node)
    else:
        value = function(vm, frame, node, owner)
    for decorator in reversed(node.decorator_list):
        value = calls.decorate(vm, frame, decorator, value)
    return value


def function(
    vm: Machine, frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, owner: Value | None = None
) -> Function:
    """A function object: default values are evaluated now, in the defining frame."""
    defaults = [expression(vm, frame, default) for default in node.args.defaults]
    keyword_defaults = {
        argument.arg: expression(vm, frame, default)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if default is not None
    }
    return Function(node, frame.scope, defaults, keyword_defaults, owner)  # type: ignore[arg-type]


# -- names and constants ----------------------------------------------------------------------------------------------


def _name(vm: Machine, frame: Frame, node: ast.Name) -> Value:
    value = names.lookup(vm, frame, node.id)
    if value is UNKNOWN and vm.tracing and (exception := names.unbound(vm, frame, node.id)) is not None:
        vm.event("raise.name", node, exception=exception)
        return MAYBE
    if (
        isinstance(value, External)
        and value.name.startswith("math.")
        and frame.scope.module is vm.root_module
        and not node.id.startswith("_")
        and vm.tracing
        and frame.scope.find(node.id) is None
    ):
        vm.local_reads += 1
        return External(value.name, patched=True)
    return value


def _constant(vm: Machine, frame: Frame, node: ast.Constant) -> Value:
    value = node.value
    return NONE if value is None else TRUE if value is True else FALSE if value is False else Const(value)


def _formatted(vm: Machine, frame: Frame, node: ast.JoinedStr) -> Value:
    parts: list[Const] | None = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            if parts is not None:
                parts.append(Const(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = expression(vm, frame, part.value)
        if part.format_spec is not None:
            expression(vm, frame, part.format_spec)
        escapes.implicitly(vm, value, "__format__", "__str__", "__repr__")
        if isinstance(value, Traced):
            if part.format_spec is not None and part.conversion == -1:
                vm.event("format.spec", part.value, origin=value.origin, exception="TypeError")
            else:
                vm.note("silent.text", part.value, origin=value.origin)
            value = Const(PROXY_TEXT)
        if parts is not None and isinstance(value, Const) and part.format_spec is None and part.conversion in (-1, 115):
            parts.append(value)
        else:
            parts = None
    shown = fold(text, *parts) if parts is not None else UNKNOWN
    return shown if isinstance(shown, Const) else Unknown(truth=True)


# -- attributes, subscripts, calls ------------------------------------------------------------------------------------


def _attribute(vm: Machine, frame: Frame, node: ast.Attribute) -> Value:
    return attributes.load(vm, frame, expression(vm, frame, node.value), node.attr, node)


def _subscript(vm: Machine, frame: Frame, node: ast.Subscript) -> Value:
    container = expression(vm, frame, node.value)
    return containers.item(vm, frame, container, expression(vm, frame, node.slice), node)


def _slice(vm: Machine, frame: Frame, node: ast.Slice) -> Value:
    parts = [NONE if part is None else expression(vm, frame, part) for part in (node.lower, node.upper, node.step)]
    return Slice(*parts)


def _call(vm: Machine, frame: Frame, node: ast.Call) -> Value:
    callee = expression(vm, frame, node.func)
    if isinstance(callee, External) and callee.name == "builtins.super" and not node.args:
        return classes.super_of(vm, frame)
    args = calls.arguments(vm, frame, node)
    if (
        vm.tracing
        and args.holds_traced()
        and (library.is_wrapped(vm, frame, node) or told.is_autowrapped(vm, frame, node, callee))
    ):
        return library.recorded(vm, args, node)
    return calls.call(vm, frame, callee, args, node)


def _lambda(vm: Machine, frame: Frame, node: ast.Lambda) -> Value:
    return function(vm, frame, node)


def _named(vm: Machine, frame: Frame, node: ast.NamedExpr) -> Value:
    value = expression(vm, frame, node.value)
    containers.assign(vm, frame, node.target, value)
    return value


# -- operators --------------------------------------------------------------------------------------------------------


def total(*numbers: Any) -> Any:
    return sum(numbers)


def text(*parts: object) -> str:
    return "".join(map(str, parts))


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, (str, bytes)):
        raise TypeError("formats, which may take any width")
    return left % right


_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_PLAIN: Final = frozenset({
    operator.add, operator.sub, operator.truediv, operator.floordiv, _remainder, operator.and_, operator.or_,
    operator.xor, operator.rshift, operator.neg, operator.pos, operator.invert, operator.eq, operator.ne, operator.lt,
    operator.le, operator.gt, operator.ge, operator.contains, operator.getitem, int, float, bool, str, abs, divmod, min,
    max, total, text,
})  # fmt: skip
"""Functions that make no more than they are given."""
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_DUNDER: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip


OPERATORS: Final = {op: {"and": "and_", "or": "or_"}.get(name, name) for op, name in _DUNDER.items()}
"""The functions of the module ``operator`` that stand for them."""


def _binary(vm: Machine, frame: Frame, node: ast.BinOp) -> Value:
    left = expression(vm, frame, node.left)
    right = expression(vm, frame, node.right)
    return binary(vm, frame, node.op, left, right, node)


def binary(vm: Machine, frame: Frame, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """``left op right``: a Proxy on either side makes a node, whatever stands on the other."""
    if library.is_numpy(left) or (library.is_numpy(right) and not may_be_traced(left)):
        return library.with_numpy(vm, OPERATORS[type(op)], left, right, node)
    if isinstance(left, Traced) or isinstance(right, Traced):
        if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
            return _percent(vm, left.value, right, node)
        library.refuse_unsupported(vm, Arguments([left, right]), node, OPERATORS[type(op)])
        return vm.traced(node, source_of(left, right)[0])
    if isinstance(left, Union) or isinstance(right, Union):
        results = [binary(vm, frame, op, one, other, node) for one in _operands(left) for other in _operands(right)]
        joined = results[0]
        for result in results[1:]:
            joined = join(joined, result)
        return joined
    if isinstance(left, Instance) or isinstance(right, Instance):
        return _operator_method(vm, frame, op, left, right, node)
    if may_be_traced(left) or may_be_traced(right):
        return MAYBE
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return silent.derived(vm, (left, right), node)
    if isinstance(left, Const) and isinstance(right, Const):
        if (left.value is None) != (right.value is None):
            vm.event("raise.type", node, exception="TypeError")
            return UNKNOWN
        if isinstance(op, ast.Mod) and isinstance(left.value, (str, bytes)):
            return Unknown(truth=True)
        return fold(_BINARY.get(type(op)), left, right)
    if isinstance(op, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        return _percent(vm, left.value, right, node)
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        return containers.combine(op, left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping) and isinstance(op, ast.BitOr):
        return Mapping({**left.items, **right.items}, left.rest if left.rest is not None else right.rest)
    for operand in (left, right):
        calls.refuse_default_none(vm, operand, node)
    answered = is_answer(left) or is_answer(right)
    likely_left, likely_right = likely_of(left), likely_of(right)
    if isinstance(likely_left, Const) and isinstance(likely_right, Const):
        guess = fold(_BINARY.get(type(op)), likely_left, likely_right)
        return Unknown(likely=guess if isinstance(guess, Const) else None, answered=answered)
    return Unknown(answered=True) if answered else UNKNOWN


def _operands(value: Value) -> list[Value]:
    """What one of several possible values can be as an operand: not None, where there are others."""
    return [option for option in options(value) if option is not NONE] or [value]


def source_of(left: Value, right: Value) -> tuple[Traced, Value]:
    """The operand that a result is said to come from, and the other one: an input rather than a parameter."""
    if isinstance(left, Traced) and isinstance(right, Traced):
        from_parameter = left.origin is not None and left.origin.first().kind == "parameter"
        return (right, left) if from_parameter else (left, right)
    if isinstance(left, Traced):
        return left, right
    assert isinstance(right, Traced)
    return right, left


def _percent(vm: Machine, template: str, right: Value, node: ast.AST) -> Value:
    """``"%d" % x``: a conversion to a number fails, ``%s`` and ``%r`` show the Proxy."""
    values = right.items if isinstance(right, Sequence) else [right]
    for kind, value in zip(_CONVERSIONS.findall(template), values, strict=False):
        if isinstance(value, Traced):
            if kind in "sra":
                vm.note("silent.text", node, origin=value.origin)
            else:
                vm.event("format.spec", node, origin=value.origin, exception="TypeError")
    return Unknown(truth=True)


def fold(function: Callable[..., Any] | None, *operands: Const) -> Value:
    """Compute on constants, unless it fails or grows."""
    values = [operand.value for operand in operands]
    if function is None or (function not in _PLAIN and _may_grow(values)):
        return UNKNOWN
    try:
        result = function(*values)
    except Exception:  # whatever the operands raise, the program would too: the value is not known
        return UNKNOWN
    return UNKNOWN if _size(result) > MAX_SIZE else const(result)


def _may_grow(values: list[object]) -> bool:
    """Whether a number, which may be written in a text, says that much is made: a power, a width, how often to repeat.

    Where there is no text, a result that is not whole is of one size.
    """
    texts = any(isinstance(value, (str, bytes)) for value in values)
    whole = all(isinstance(value, int) for value in values)
    return (texts or whole) and any(_is_large(value) for value in values)


def _is_large(value: object) -> bool:
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return len(text) > MAX_FOLDED or _LONG_NUMBER.search(text) is not None
    return isinstance(value, (int, float)) and abs(value) > MAX_FOLDED


def _size(value: object) -> int:
    if isinstance(value, (str, bytes)):
        return len(value)
    return value.bit_length() if isinstance(value, int) else 0


def _operator_method(vm: Machine, frame: Frame, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    name = _DUNDER[type(op)]
    for receiver, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        if isinstance(receiver, Instance):
            found = classes.find(vm, receiver.cls, method)
            if isinstance(found, Function):
                return calls.invoke(vm, frame, found, [receiver, other], node)
    return MAYBE if may_be_traced(left) or may_be_traced(right) else UNKNOWN


def _unary(vm: Machine, frame: Frame, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        verdict = decide.condition(vm, frame, node.operand, "bool.not")
        if verdict.truth is None:
            likely = None if verdict.likely is None else const(not verdict.likely)
            return Unknown(likely=likely, answered=verdict.answered)
        if verdict.answered:
            return answer(not verdict.truth)
        return FALSE if verdict.truth else TRUE
    return unary(vm, node.op, expression(vm, frame, node.operand), node)


def unary(vm: Machine, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
    """``-value`` and the like."""
    if isinstance(value, Traced):
        return vm.traced(node, value)
    if isinstance(value, Const):
        return fold(_UNARY[type(op)], value)
    if isinstance(value, Tensor):
        return silent.derived(vm, (value,), node)
    if may_be_traced(value):
        return MAYBE
    likely = likely_of(value)
    return Unknown(likely=fold(_UNARY[type(op)], likely)) if isinstance(likely, Const) else UNKNOWN


def _boolean(vm: Machine, frame: Frame, node: ast.BoolOp) -> Value:
    return decide.boolean_value(vm, frame, node)


def _compare(vm: Machine, frame: Frame, node: ast.Compare) -> Value:
    return decide.comparison(vm, frame, node)


def _conditional(vm: Machine, frame: Frame, node: ast.IfExp) -> Value:
    verdict = decide.condition(vm, frame, node.test, "bool.ternary", whole=node)
    if verdict.truth is not None:
        return expression(vm, frame, node.body if verdict.truth else node.orelse)

    def side(positive: bool) -> Callable[[], Value]:
        def run() -> Value:
            decide.refine(vm, frame, node.test, positive)
            return expression(vm, frame, node.body if positive else node.orelse)

        return run

    return vm.choose(node.test, side(True), side(False), likely=verdict.likely, traced=verdict.traced)


# -- displays and comprehensions --------------------------------------------------------------------------------------


def _display(vm: Machine, frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list" if isinstance(node, ast.List) else "set"
    result = Sequence(kind, [])  # type: ignore[arg-type]
    for element_node in node.elts:
        if isinstance(element_node, ast.Starred):
            value = expression(vm, frame, element_node.value)
            spread = containers.iterate(vm, frame, value, element_node.value, "iter.star", whole=node)
            _extend(result, spread)
        else:
            value = expression(vm, frame, element_node)
            _extend(result, Sequence("tuple", [value]))
    return result


def _extend(result: Sequence, more: Sequence) -> None:
    """Append in place to a sequence that nobody else has seen yet."""
    for value in more.items:
        if result.rest is None and len(result.items) < containers.MOST_ITEMS:
            result.items.append(value)
        elif result.rest is None:
            result.rest, result.certain = value, value if holds_traced(value) else None
        else:
            result.rest = extended(result.rest, [Part(value)])
            result.certain = result.certain or (value if holds_traced(value) else None)
    if more.rest is not None:
        result.rest = extended(result.rest, parts_of(more.rest))
    result.certain = result.certain or more.certain


def _dictionary(vm: Machine, frame: Frame, node: ast.Dict) -> Value:
    result = Mapping({})
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            calls.spread_mapping(vm, frame, expression(vm, frame, value_node), node, result)
            continue
        key, value = expression(vm, frame, key_node), expression(vm, frame, value_node)
        escapes.implicitly(vm, key, "__hash__", "__eq__")
        containers.store(result, key, value)
    return result


def _comprehension(vm: Machine, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    kind = "list" if isinstance(node, ast.ListComp) else "set" if isinstance(node, ast.SetComp) else "iterator"
    result = Sequence(kind, [])  # type: ignore[arg-type]

    def body(inner: Frame, exact: bool) -> None:
        value = expression(vm, inner, node.elt)
        if exact and result.rest is None:
            result.items.append(value)
        else:
            result.rest = value if result.rest is None else join(result.rest, value)

    _generate(vm, frame, node, body)
    return result


def _dict_comprehension(vm: Machine, frame: Frame, node: ast.DictComp) -> Value:
    result = Mapping({})

    def body(inner: Frame, exact: bool) -> None:
        # An entry that a filter may leave out is taken to be there: its key is what the program asks for.
        containers.store(result, expression(vm, inner, node.key), expression(vm, inner, node.value))

    _generate(vm, frame, node, body)
    return result


def _generate(
    vm: Machine,
    frame: Frame,
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    body: Callable[[Frame, bool], None],
) -> None:
    outer = frame.scope
    frame.scope = Scope(outer.module, outer)
    try:
        _generate_level(vm, frame, node.generators, body, exact=True, whole=node)
    finally:
        frame.scope = outer


def _generate_level(
    vm: Machine,
    frame: Frame,
    generators: list[ast.comprehension],
    body: Callable[[Frame, bool], None],
    exact: bool,
    whole: ast.AST | None = None,
) -> None:
    if not generators:
        body(frame, exact)
        return
    generator, *inner = generators
    iterable = expression(vm, frame, generator.iter)
    spread = containers.iterate(vm, frame, iterable, generator.iter, "iter.comprehension", whole=whole)
    for value in spread.items:
        containers.assign(vm, frame, generator.target, value)
        _filtered(vm, frame, generator.ifs, inner, body, exact)
    if spread.rest is None:
        return
    rest = spread.rest

    def run() -> bool:
        for part in parts_of(rest):
            vm.where(part.conditions, partial(one, part.value))
        return True

    def one(value: Value) -> bool:
        containers.assign(vm, frame, generator.target, value)
        _filtered(vm, frame, generator.ifs, inner, body, False)
        return True

    if spread.optional and not spread.items:
        vm.fork(generator.iter, run, lambda: True)
    else:
        run()


def _filtered(
    vm: Machine,
    frame: Frame,
    tests: list[ast.expr],
    inner: list[ast.comprehension],
    body: Callable[[Frame, bool], None],
    exact: bool,
) -> None:
    if not tests:
        _generate_level(vm, frame, inner, body, exact)
        return
    verdict = decide.condition(vm, frame, tests[0], "bool.if")
    if verdict.truth is True:
        _filtered(vm, frame, tests[1:], inner, body, exact)
    elif verdict.truth is None:

        def then() -> bool:
            decide.refine(vm, frame, tests[0], True)
            _filtered(vm, frame, tests[1:], inner, body, False)
            return True

        vm.fork(tests[0], then, lambda: True, likely=verdict.likely, traced=verdict.traced)


def element(vm: Machine, frame: Frame, value: Value, position: int, node: ast.AST) -> Value:
    """The element at a position of an unpacked value."""
    spread = containers.unpack(vm, frame, value, position + 1, node, exact=False)
    return spread[position]


# -- the rest ---------------------------------------------------------------------------------------------------------


def _starred(vm: Machine, frame: Frame, node: ast.Starred) -> Value:
    return expression(vm, frame, node.value)


def _await(vm: Machine, frame: Frame, node: ast.Await) -> Value:
    expression(vm, frame, node.value)
    return MAYBE


def _yield(vm: Machine, frame: Frame, node: ast.Yield) -> Value:
    value = NONE if node.value is None else expression(vm, frame, node.value)
    if frame.yields is not None:
        frame.yields.append(value)
    return UNKNOWN


def _yield_from(vm: Machine, frame: Frame, node: ast.YieldFrom) -> Value:
    spread = containers.iterate(vm, frame, expression(vm, frame, node.value), node.value, "iter.for")
    if frame.yields is not None:
        frame.yields.extend(spread.members())
    return UNKNOWN


_EVALUATORS: Final[dict[type[ast.expr], Evaluator]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Subscript: _subscript,
    ast.Tuple: _display,
    ast.List: _display,
    ast.Set: _display,
    ast.Dict: _dictionary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.Slice: _slice,
    ast.JoinedStr: _formatted,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Starred: _starred,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield_from,
}
