"""Conditions: which way a test goes while tracing, and what taking one side of it tells about the values in it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from fxlint.predict import calls, classes, containers, escapes, evaluate, library, silent
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    ANSWERED_FALSE,
    FALSE,
    MAYBE,
    NONE,
    TRUE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Decorated,
    External,
    Function,
    Globals,
    Instance,
    Mapping,
    Namespace,
    Partial,
    Sequence,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    answer,
    const,
    is_answer,
    is_of_tracing,
    join,
    join_all,
    key_of,
    likely_of,
    may_be_traced,
    same,
    shallow_none,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``truth`` is None where both ways are possible; ``traced`` where a Proxy had to decide, which is an event.

    ``answered``: what a Proxy says of itself has a part in it, so that eager code may well go the other way; where that
    holds for one outcome alone, ``outcome`` is it.
    """

    truth: bool | None
    likely: bool | None = None
    traced: bool = False
    answered: bool = False
    outcome: bool | None = None

    def is_answered(self, positive: bool) -> bool:
        """Whether a Proxy has a part in this outcome."""
        return self.answered and self.outcome in (None, positive)


YES: Final = Verdict(True, True)
NO: Final = Verdict(False, False)
EITHER: Final = Verdict(None)
BY_TRACED: Final = Verdict(None, None, traced=True)


def _known(truth: bool) -> Verdict:
    return YES if truth else NO


def condition(vm: Machine, frame: Frame, test: ast.expr, kind: str, whole: ast.AST | None = None) -> Verdict:
    """Evaluate a test for its truth. Events of kind ``kind`` stand at the operand whose truth was needed."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = condition(vm, frame, test.operand, kind)
        return Verdict(
            None if inner.truth is None else not inner.truth,
            None if inner.likely is None else not inner.likely,
            inner.traced,
            inner.answered,
            None if inner.outcome is None else not inner.outcome,
        )
    if isinstance(test, ast.BoolOp):
        return _connective(vm, frame, test, test.values, kind)
    value = evaluate.expression(vm, frame, test)
    silent.switch(vm, frame, test, value)
    return truth(vm, frame, value, test, kind)


def _connective(vm: Machine, frame: Frame, test: ast.BoolOp, operands: list[ast.expr], kind: str) -> Verdict:
    """``a and b``: the second operand is evaluated only under the first one's truth."""
    conjunction = isinstance(test.op, ast.And)
    head = condition(vm, frame, operands[0], kind)
    if len(operands) == 1:
        return head
    if head.truth is not None:
        if head.truth != conjunction:
            return head
        others = _connective(vm, frame, test, operands[1:], kind)
        return replace(others, answered=head.answered or others.answered)
    tail: list[Verdict] = []

    def go_on() -> bool:
        refine(vm, frame, operands[0], conjunction)
        tail.append(_connective(vm, frame, test, operands[1:], kind))
        return True

    branches: tuple[Callable[[], bool], Callable[[], bool]] = (go_on, lambda: True)
    if not conjunction:
        branches = (branches[1], branches[0])
    vm.fork(operands[0], *branches, likely=head.likely, traced=head.traced)
    rest = tail[0] if tail else EITHER
    truth_value = rest.truth if rest.truth is not None and rest.truth != conjunction else None
    likely = None if head.likely is None else rest.likely if head.likely == conjunction else head.likely
    return Verdict(truth_value, likely, head.traced or rest.traced, head.answered or rest.answered)


def truth(vm: Machine, frame: Frame, value: Value, node: ast.AST, kind: str) -> Verdict:
    """``bool(value)``: an event for a Proxy, an answer for what is known, either for the rest."""
    if isinstance(value, Traced):
        vm.event(_bool_kind(value, kind), node, origin=value.origin)
        return BY_TRACED
    if isinstance(value, Const):
        known = _known(bool(value.value))
        return replace(known, answered=True) if is_answer(value) else known
    if isinstance(value, Sequence):
        if value.items:
            return YES
        return NO if value.rest is None else EITHER
    if isinstance(value, Mapping):
        if value.items:
            return YES
        return NO if value.rest is None else EITHER
    if isinstance(value, Instance):
        return _instance_truth(vm, frame, value, node)
    if isinstance(value, (Function, Class, Bound, Partial, Decorated, Namespace)):
        return YES
    if isinstance(value, External):
        return YES if vm.facts.is_object(value.name) else EITHER
    if isinstance(value, Union):
        return _union_truth(vm, frame, value, node, kind)
    if isinstance(value, Unknown):
        if value.truth is not None:
            return _known(value.truth)
        if value.is_none:
            return NO
        likely = None if value.likely is None else truth(vm, frame, value.likely, node, kind).truth
        return Verdict(None, likely, answered=value.answered)
    silent.read(vm, value, node)
    return EITHER


def _union_truth(vm: Machine, frame: Frame, value: Union, node: ast.AST, kind: str) -> Verdict:
    """A Proxy that is only one of several possible values makes a conditional event."""
    traced = [option for option in value.options if isinstance(option, Traced)]
    others = [option for option in value.options if not isinstance(option, Traced)]

    def as_traced() -> bool:
        truth(vm, frame, traced[0], node, kind)
        return True

    if traced:
        vm.fork(node, as_traced, lambda: True)
        return EITHER
    verdicts = [truth(vm, frame, option, node, kind) for option in others]
    answers = {verdict.truth for verdict in verdicts}
    if len(answers) == 1:
        return verdicts[0]
    by_proxy = answers - {verdict.truth for verdict in verdicts if not verdict.answered}
    return Verdict(None, verdicts[0].truth, answered=bool(by_proxy), outcome=next(iter(by_proxy), None))


def _bool_kind(value: Traced, kind: str) -> str:
    if value.origin is not None and value.origin.first().kind == "parameter":
        return "bool.param_shape"
    if value.default is not None and kind in {"bool.if", "bool.while", "bool.ternary", "bool.not", "bool.and_or"}:
        return "bool.flag"
    return kind


def _instance_truth(vm: Machine, frame: Frame, value: Instance, node: ast.AST) -> Verdict:
    if value.children is not None:
        return truth(vm, frame, value.children, node, "bool.if")
    for name in ("__bool__", "__len__"):
        method = classes.find(vm, value.cls, name)
        if isinstance(method, Function):
            result = calls.invoke(vm, frame, method, [value], node)
            return truth(vm, frame, result, node, "bool.if") if isinstance(result, (Const, Unknown)) else EITHER
    return EITHER if value.open and not classes.is_module(vm, value) else YES


# -- and / or as values -----------------------------------------------------------------------------------------------


def boolean_value(vm: Machine, frame: Frame, node: ast.BoolOp) -> Value:
    """``a or b`` is one of its operands; the truth of all but the last one is needed."""
    return _boolean_value(vm, frame, node, node.values)


def _boolean_value(vm: Machine, frame: Frame, node: ast.BoolOp, operands: list[ast.expr]) -> Value:
    value = evaluate.expression(vm, frame, operands[0])
    if len(operands) == 1:
        return value
    conjunction = isinstance(node.op, ast.And)
    verdict = truth(vm, frame, value, operands[0], "bool.and_or")
    if verdict.truth is not None:
        return value if verdict.truth != conjunction else _boolean_value(vm, frame, node, operands[1:])

    def go_on() -> Value:
        refine(vm, frame, operands[0], conjunction)
        return _boolean_value(vm, frame, node, operands[1:])

    def stop() -> Value:
        return narrowed(value, not conjunction)

    sides = (go_on, stop) if conjunction else (stop, go_on)
    return vm.choose(operands[0], *sides, likely=verdict.likely, traced=verdict.traced)


# -- comparisons ------------------------------------------------------------------------------------------------------

_ORDER: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def comparison(vm: Machine, frame: Frame, node: ast.Compare) -> Value:
    """``a < b < c``: in a chain the truth of every result but the last one is needed."""
    left = evaluate.expression(vm, frame, node.left)
    result: Value = TRUE
    for position, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = evaluate.expression(vm, frame, right_node)
        result = compare(vm, frame, op, left, right, node)
        if position < len(node.ops) - 1:
            verdict = truth(vm, frame, result, node, "bool.compare")
            if verdict.truth is False:
                return FALSE
        left = right
    return result


def compare(vm: Machine, frame: Frame, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    """``left op right`` for every operator that compares."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        return negated_if(isinstance(op, ast.IsNot), identical(vm, left, right, node))
    if isinstance(op, (ast.In, ast.NotIn)):
        return negated_if(isinstance(op, ast.NotIn), member(vm, frame, left, right, node))
    return equal(vm, frame, op, left, right, node)


def negated_if(negate: bool, value: Value) -> Value:
    if not negate:
        return value
    if is_answer(value) and isinstance(value, Const):
        return answer(not value.value)
    if isinstance(value, Const):
        return FALSE if value.value else TRUE
    if isinstance(value, Unknown) and isinstance(value.likely, Const):
        return replace(value, likely=FALSE if value.likely.value else TRUE)
    return value


def identical(vm: Machine, left: Value, right: Value, node: ast.AST) -> Value:
    """``left is right``. A Proxy is an object of its own: it is never None and never another value."""
    if isinstance(left, Union) or isinstance(right, Union):
        answers = [
            identical(vm, one, other, node)
            for one in (left.options if isinstance(left, Union) else [left])
            for other in (right.options if isinstance(right, Union) else [right])
        ]
        return _agree(answers)
    none = left if _is_none(right) else right if _is_none(left) else None
    if none is not None:
        if isinstance(none, Traced):
            silent.asked_for_none(vm, none, node)
            return ANSWERED_FALSE
        is_none = shallow_none(none)
        if is_none is None:
            likely = likely_of(none)
            return Unknown(likely=const(shallow_none(likely)) if likely is not None else None)
        return const(is_none)
    if left is right and not isinstance(left, Unknown):
        return TRUE
    if isinstance(left, Traced) or isinstance(right, Traced):
        other = right if isinstance(left, Traced) else left
        traced = left if isinstance(left, Traced) else right
        if isinstance(other, Const) or not may_be_traced(other):
            return FALSE
        if isinstance(traced, Traced) and isinstance(other, Traced):
            vm.note("silent.identity", node, origin=traced.origin)
            return FALSE
        return UNKNOWN
    if isinstance(left, Const) and isinstance(right, Const):
        return const(type(left.value) is type(right.value) and left.value == right.value)
    if isinstance(left, External) and isinstance(right, External):
        identical_names = vm.facts.canonical(left.name) == vm.facts.canonical(right.name)
        silent.compared(vm, left, right, node)
        return answer(identical_names) if is_of_tracing(left) or is_of_tracing(right) else const(identical_names)
    if isinstance(left, (Unknown, Tensor)) or isinstance(right, (Unknown, Tensor)):
        return _likely_equal(left, right)
    if isinstance(left, Instance) and isinstance(right, Instance):
        equality = _equality(vm, left, right)
        return UNKNOWN if equality is None else const(equality)
    return const(same(left, right))


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _agree(answers: list[Value]) -> Value:
    joined = answers[0]
    if any(isinstance(one, Traced) for one in answers):
        return join_all(answers)
    for other in answers[1:]:
        if not same(joined, other):
            likely = likely_of(answers[0])
            return Unknown(likely=likely if isinstance(likely, Const) else None)
        joined = join(joined, other)
    return joined


def _compared_item(left: Value, right: Value) -> Traced | None:
    """The element whose comparison two tuples or lists need the truth of, if it is a Proxy.

    Elements are compared in order up to the first that differs; against an unknown value the first one is.
    """
    one = left.items if isinstance(left, Sequence) else None
    other = right.items if isinstance(right, Sequence) else None
    if one is None or other is None:
        known, unknown = (one, right) if one is not None else (other or [], left)
        return known[0] if known and isinstance(known[0], Traced) and isinstance(unknown, Unknown) else None
    for first, second in zip(one, other, strict=False):
        if first is second:
            continue
        if isinstance(first, Traced) or isinstance(second, Traced):
            return first if isinstance(first, Traced) else second  # type: ignore[return-value]
        if not (isinstance(first, Const) and isinstance(second, Const) and first.value == second.value):
            return None
    return None


def _likely_equal(left: Value, right: Value) -> Unknown:
    one, other = likely_of(left), likely_of(right)
    if isinstance(one, Const) and isinstance(other, Const):
        return Unknown(likely=const(one.value == other.value))
    return UNKNOWN


def equal(vm: Machine, frame: Frame, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    """``==`` and the order operators; with a Proxy they are recorded."""
    if library.is_numpy(left) and isinstance(right, Traced):
        return library.with_numpy(vm, _ORDER[type(op)].__name__, left, right, node)
    own = classes.find(vm, left.cls, f"__{_ORDER[type(op)].__name__}__") if isinstance(left, Instance) else None
    if isinstance(own, Function):
        return calls.invoke(vm, frame, own, [left, right], node)
    if isinstance(left, Traced) or isinstance(right, Traced):
        traced, other = evaluate.source_of(left, right)
        result = vm.traced(node, traced)
        result.default = traced.default if isinstance(other, Const) else None
        return result
    if isinstance(left, Union) or isinstance(right, Union):
        return _agree(
            [
                equal(vm, frame, op, one, other, node)
                for one in (left.options if isinstance(left, Union) else [left])
                for other in (right.options if isinstance(right, Union) else [right])
            ]
        )
    if may_be_traced(left) or may_be_traced(right):
        return MAYBE
    if isinstance(left, Const) and isinstance(right, Const):
        return evaluate.fold(_ORDER[type(op)], left, right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return silent.compared_tensors((left, right))
    if isinstance(left, Sequence) or isinstance(right, Sequence):
        traced_item = _compared_item(left, right)
        if traced_item is not None:
            vm.event("bool.compare", node, origin=traced_item.origin)
            return UNKNOWN
    if isinstance(op, (ast.Eq, ast.NotEq)):
        equality = _equality(vm, left, right)
        if equality is not None:
            outcome = equality == isinstance(op, ast.Eq)
            silent.compared(vm, left, right, node)
            return answer(outcome) if is_of_tracing(left) or is_of_tracing(right) else const(outcome)
    else:
        for operand in (left, right):
            calls.refuse_default_none(vm, operand, node)
    answered = is_answer(left) or is_answer(right)
    likely_left, likely_right = likely_of(left), likely_of(right)
    if isinstance(likely_left, Const) and isinstance(likely_right, Const):
        guess = evaluate.fold(_ORDER[type(op)], likely_left, likely_right)
        return Unknown(likely=guess if isinstance(guess, Const) else None, answered=answered)
    return Unknown(answered=True) if answered else UNKNOWN


_PLAIN: Final = frozenset({"builtins.str", "builtins.int", "enum.StrEnum", "enum.IntEnum"})


def _equality(vm: Machine, left: Value, right: Value) -> bool | None:
    """Whether two values without Proxies are equal, where that is certain."""
    if isinstance(left, Instance) and isinstance(right, Instance):
        both = classes.is_enum(vm, left.cls) and classes.is_enum(vm, right.cls)
        return left is right if both and "value" in left.attributes and "value" in right.attributes else None
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Instance) and isinstance(other, Const) and classes.is_enum(vm, one.cls):
            value = one.attributes.get("value")
            if classes.derives_from(vm, one.cls, _PLAIN) and isinstance(value, Const):
                return bool(value.value == other.value)
    if isinstance(left, External) and isinstance(right, External):
        return vm.facts.canonical(left.name) == vm.facts.canonical(right.name)
    if isinstance(left, Sequence) and isinstance(right, Sequence) and left.rest is None and right.rest is None:
        if len(left.items) != len(right.items):
            return False
        answers = [
            one.value == other.value if isinstance(one, Const) and isinstance(other, Const) else None
            for one, other in zip(left.items, right.items, strict=True)
        ]
        return False if False in answers else None if None in answers else True
    kinds = (Const, Sequence, Mapping, Function, Class, External, Instance)
    if isinstance(left, kinds) and isinstance(right, kinds) and type(left) is not type(right):
        opaque = (Instance, External)
        return None if isinstance(left, opaque) or isinstance(right, opaque) else False
    if isinstance(left, (Class, Function)):
        return left is right if type(left) is type(right) else None
    return None


@dataclass(frozen=True, slots=True)
class Search:
    """How far ``in``, ``index``, ``remove`` and ``count`` get in a list.

    ``position`` is where the object is found. ``compared`` is the Proxy whose comparison they need the truth of;
    ``certain``: they get as far as that.
    """

    position: int | None = None
    compared: Traced | None = None
    certain: bool = True

    def tell(self, vm: Machine, kind: str, node: ast.AST, callee: str = "") -> None:
        """The event, if there is a Proxy to compare."""
        compared = self.compared
        if compared is None:
            return

        def happens() -> bool:
            vm.event(kind, node, origin=compared.origin, callee=callee)
            return True

        if self.certain:
            happens()
        else:
            vm.fork(node, happens, lambda: True)


def search(vm: Machine, items: list[Value], wanted: Value, through: bool = False) -> Search:
    """Elements are compared up to the one that is searched: the same object, or an equal one.

    ``through``: all are looked at, as ``count`` does.
    """
    certain = True
    for position, item in enumerate(items):
        traced = next((value for value in (item, wanted) if isinstance(value, Traced)), None)
        if item is not wanted and traced is not None:
            return Search(None, traced, certain)
        equal = item is wanted or (False if classes.is_module(vm, item) else _const_equal(vm, wanted, item))
        if equal and not through:
            return Search(position if certain else None)
        certain = certain and (through or equal is not None)
    return Search()


def member(vm: Machine, frame: Frame, left: Value, right: Value, node: ast.AST) -> Value:
    """``left in right``: a Proxy on the right is iterated, one on the left is compared with every element."""
    if isinstance(right, Traced):
        vm.event("iter.in", node, origin=right.origin)
        return UNKNOWN
    if isinstance(right, Union):
        return _agree([member(vm, frame, left, option, node) for option in right.options])
    escapes.implicitly(vm, left, "__hash__", "__eq__")
    if isinstance(right, Sequence) and right.kind == "iterator":
        right = containers.taken(vm, right, lazily=True)
    if isinstance(right, Unknown) and isinstance(left, Traced):
        return _member_of_unknown(vm, frame, left, right, node)
    if isinstance(right, Instance) and right.children is not None:
        right = right.children
    if isinstance(right, Sequence):
        searched = search(vm, right.items, left) if right.kind != "set" else Search()
        compared = searched.compared
        if compared is None and any(item is left for item in right.items):
            return TRUE
        if right.kind == "set" or not isinstance(left, Traced):
            silent.looked_up(vm, left, node)
        if isinstance(left, Traced) and right.kind != "set":
            if compared is None:
                return FALSE if right.rest is None else UNKNOWN
            searched.tell(vm, "bool.in", node)
            return UNKNOWN
        if compared is not None:
            searched.tell(vm, "bool.in", node)
            return UNKNOWN
        return _among(vm, left, right.items, right.rest is not None)
    if isinstance(right, Mapping):
        silent.looked_up(vm, left, node)
        if is_of_tracing(left) and (right.rest is None or not may_be_traced(right.rest)):
            return const(key_of(left) in right.items)
        return _among(vm, left, [pair[0] for pair in right.items.values()], right.rest is not None)
    if isinstance(left, Const) and isinstance(right, Const):
        return evaluate.fold(operator.contains, right, left)
    if isinstance(right, Globals):
        found = containers.global_item(vm, right, left)
        return Unknown(likely=const(found is not None)) if not isinstance(left, Const) else const(found is not None)
    if isinstance(right, External) and right.name == "os.environ":
        return FALSE  # environment variables are taken not to be set
    if isinstance(right, Class) and classes.is_enum(vm, right):
        members = list(classes.enum_members(vm, right))
        return TRUE if any(left is one for one in members) else UNKNOWN
    if isinstance(right, Instance):
        method = classes.find(vm, right.cls, "__contains__")
        if isinstance(method, Function):
            return calls.invoke(vm, frame, method, [right, left], node)
    calls.refuse_default_none(vm, right, node)
    return UNKNOWN


def _member_of_unknown(vm: Machine, frame: Frame, left: Traced, right: Unknown, node: ast.AST) -> Value:
    """A list and a tuple compare the Proxy with what they hold; a set and a dictionary only hash it."""
    container = node.comparators[-1] if isinstance(node, ast.Compare) else node
    usual = Sequence("tuple", [UNKNOWN]) if right.likely is None else right.likely
    return vm.choose(
        container,
        lambda: member(vm, frame, left, usual, node),
        lambda: UNKNOWN,
        likely=None if right.likely is None else True,
    )


def _among(vm: Machine, value: Value, items: list[Value], more: bool) -> Value:
    answers = [_const_equal(vm, value, item) for item in items]
    if True in answers:
        return TRUE
    if None not in answers and not more and not (items and isinstance(value, Unknown)):
        return FALSE
    likely = likely_of(value)
    if likely is not None and likely is not value and not more:
        return Unknown(likely=_among(vm, likely, items, more))
    return UNKNOWN


def _const_equal(vm: Machine, value: Value, item: Value) -> bool | None:
    if isinstance(value, Const) and isinstance(item, Const):
        return bool(value.value == item.value)
    return _equality(vm, value, item)


# -- what a taken branch tells ----------------------------------------------------------------------------------------


def refine(vm: Machine, frame: Frame, test: ast.expr, positive: bool) -> None:
    """Narrow the names and attributes in ``test``, now that it came out ``positive``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        refine(vm, frame, test.operand, not positive)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == positive:
            for operand in test.values:
                refine(vm, frame, operand, positive)
    elif isinstance(test, ast.NamedExpr):
        refine(vm, frame, test.target, positive)
    elif isinstance(test, (ast.Name, ast.Attribute)):
        _narrow(vm, frame, test, lambda value: narrowed(value, positive))
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _refine_comparison(vm, frame, test, positive)
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2:
        if test.func.id != "isinstance":
            return
        wanted = evaluate.expression(vm, frame, test.args[1])
        _narrow(vm, frame, test.args[0], lambda value: _by_class(vm, value, wanted, positive))


def _refine_comparison(vm: Machine, frame: Frame, test: ast.Compare, positive: bool) -> None:
    op, right = test.ops[0], test.comparators[0]
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):  # None has no order
        for operand in (test.left, right):
            _narrow(vm, frame, operand, lambda value: _by_none(value, False))
    if isinstance(op, (ast.NotEq, ast.IsNot, ast.NotIn)):
        positive = not positive
    if isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant):
        if right.value is None:
            _narrow(vm, frame, test.left, lambda value: _by_none(value, positive))
        elif positive:
            known = const(right.value)
            _narrow(vm, frame, test.left, lambda value: known if isinstance(value, Unknown) else value)
        elif isinstance(right.value, (str, int)):
            _narrow(vm, frame, test.left, lambda value: _without(value, right.value))
    elif isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) and isinstance(right, (ast.Name, ast.Attribute)):
        wanted = evaluate.expression(vm, frame, right)
        if isinstance(wanted, (Class, External)):
            _narrow(vm, frame, test.left, lambda value: _by_identity(vm, value, wanted, positive))


def _narrow(vm: Machine, frame: Frame, place: ast.expr, change: Callable[[Value], Value]) -> None:
    if isinstance(place, ast.NamedExpr):
        place = place.target
    slot = containers.slot(vm, frame, place)
    if slot is None:
        return
    target, key = slot
    old = target.get(key)
    if isinstance(old, (Unknown, Union)):
        new = change(old)
        if new is not old:
            vm.heap.put(target, key, new)


def narrowed(value: Value, positive: bool) -> Value:
    """The value, known to be true or false."""
    if isinstance(value, Unknown):
        if value.truth is None:
            none = False if positive else value.is_none
            likely = value.likely if value.likely is not None and _could_be(value.likely, positive) else None
            return Unknown(value.maybe, truth=positive, is_none=none, likely=likely)
        return value
    if isinstance(value, Union):
        kept = [option for option in value.options if _could_be(option, positive)]
        return _union(kept, value)
    return value


def _could_be(value: Value, positive: bool) -> bool:
    if isinstance(value, Const):
        return bool(value.value) == positive
    if isinstance(value, (Function, Class, Bound, Instance, Partial)):
        return positive or (isinstance(value, Instance) and value.children is not None)
    return True


def _union(kept: list[Value], original: Union) -> Value:
    if not kept or len(kept) == len(original.options):
        return original
    return kept[0] if len(kept) == 1 else Union(kept)


def _by_none(value: Value, positive: bool) -> Value:
    if isinstance(value, Unknown):
        if value.is_none is not None:
            return value
        if positive:
            return NONE
        likely = None if value.likely is not None and _is_none(value.likely) else value.likely
        return Unknown(value.maybe, truth=value.truth, is_none=False, likely=likely)
    if isinstance(value, Union):
        return _union([option for option in value.options if shallow_none(option) in (None, positive)], value)
    return value


def _without(value: Value, excluded: object) -> Value:
    if isinstance(value, Union):
        kept = [o for o in value.options if not (isinstance(o, Const) and o.value == excluded)]
        return _union(kept, value)
    return value


def _by_identity(vm: Machine, value: Value, wanted: Class | External, positive: bool) -> Value:
    """The value, known to be that class or not."""
    if isinstance(value, Union):
        return _union([o for o in value.options if _equality(vm, o, wanted) in (None, positive)], value)
    return wanted if positive else value


def _by_class(vm: Machine, value: Value, wanted: Value, positive: bool) -> Value:
    if isinstance(value, Union):
        kept = [o for o in value.options if classes.is_instance(vm, o, wanted) in (None, positive)]
        return _union(kept, value)
    if isinstance(value, Unknown) and positive:
        return classes.stand_in(vm, wanted, value)
    return value
