"""Calls into code that is not interpreted: torch, the standard library, C extensions.

What a call does when a Proxy is among its arguments comes from the measured table. Models exist only for callables
whose *result* the interpreter must know the structure of: containers, iterators, attribute access by name, and the
few functions that call back into the code under lint.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import string
from collections.abc import Callable
from collections.abc import Mapping as Mappings
from functools import partial
from typing import Any, Final, Literal

from fxlint.predict import (
    attributes,
    calls,
    calltable,
    classes,
    containers,
    decide,
    escapes,
    evaluate,
    hooks,
    modules,
    names,
    silent,
)
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    ANSWERED_TRUE,
    FALSE,
    MAYBE,
    NONE,
    PROXY,
    PROXY_TEXT,
    REAL_TENSOR,
    TRUE,
    UNKNOWN,
    Attributes,
    Bound,
    Class,
    Const,
    Decorated,
    Descriptor,
    External,
    Function,
    Globals,
    Instance,
    Mapping,
    Namespace,
    Partial,
    Sequence,
    Slice,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    Wraps,
    answer,
    const,
    holds_proxy_text,
    holds_traced,
    is_of_tracing,
    join,
    join_all,
    key_of,
    likely_of,
    may_be_traced,
    may_hold_traced,
    over_parts,
)

Model = Callable[[Machine, Frame, Arguments, ast.AST], Value]
MAX_RANGE: Final = 64
ARRAY: Final = "numpy.ndarray"  # or a number of numpy that is made from one
NUMPY: Final = "fxlint.numpy"  # an array or a number that a function of numpy has returned
_EXCEPTIONS: Final = frozenset(
    f"builtins.{name}"
    for name, found in vars(builtins).items()
    if isinstance(found, type) and issubclass(found, BaseException)
)
_GENERATORS: Final = {
    "random.Random": "random.Random",
    "numpy.random.RandomState": "numpy.random.RandomState",
    "numpy.random.default_rng": "numpy.random.Generator",
}
"""What makes an object that draws random numbers, and its class."""
_CONTAINERS: Final = frozenset(
    "builtins.list builtins.tuple builtins.set builtins.dict collections.deque collections.OrderedDict "
    "collections.defaultdict collections.UserList collections.UserDict".split()
)
_READERS: Final = frozenset(name for kind in (tuple, frozenset, Mappings) for name in dir(kind) if name != "__init__")
"""The methods that leave a container as it is: those that containers have which nothing changes."""
RETURNED: Final = "fxlint.returned"  # a function that a library function has returned; its expression says which
INNER: Final = "function"  # what that one was made from, and calls


# -- dispatch ---------------------------------------------------------------------------------------------------------


def call(vm: Machine, frame: Frame, callee: External, args: Arguments, node: ast.AST) -> Value:
    """Call a library object by name."""
    name = vm.facts.canonical(callee.name)
    split = _split_union(args) if vm.tracing else None
    if split is not None:
        return calls.each(vm, split[0], lambda option: call(vm, frame, callee, split[1](option), node), node)
    model = _MODELS.get(name)
    if model is not None:
        return model(vm, frame, args, node)
    if name in _EXCEPTIONS:
        return Instance(External(name), open=True)
    if vm.facts.kind(name) == "class" and classes.is_module_class(vm, External(name)):
        return modules.create(vm, frame, External(name), args, node)
    drawing = name if name.startswith("torch.distributions.") and not args.holds_traced() else _GENERATORS.get(name)
    if drawing is not None:
        return Instance(External(drawing), open=True, expression=name)
    if name.startswith("math.") and args.holds_traced() and callee.patched:
        vm.note("math.recorded", node, origin=_origin(args), callee=name)
        return vm.traced(node, first_traced(args))
    owner, _, method_name = name.rpartition(".")
    receiver = args.positional[0] if args.positional and owner in _CONTAINERS else None
    if isinstance(receiver, (Sequence, Mapping)):
        return method(vm, frame, receiver, method_name, args.without_first(), node)
    if isinstance(receiver, Instance) and receiver.children is not None:
        return _object_method(vm, frame, receiver, owner, method_name, args.without_first(), node)
    result = measured(vm, name, args, node, patched=callee.patched)
    escapes.given(vm, args.values(), name)
    return result


def _split_union(args: Arguments) -> tuple[list[Value], Callable[[Value], Arguments]] | None:
    """An argument that is a Proxy in one case and not in another, and a way to put each case in its place."""
    for position, value in enumerate(args.positional):
        if isinstance(value, Union) and any(isinstance(option, Traced) for option in value.options):

            def at(option: Value, position: int = position) -> Arguments:
                positional = [*args.positional[:position], option, *args.positional[position + 1 :]]
                return Arguments(positional, args.keywords, args.extra, args.extra_keywords)

            return value.options, at
    for name, value in args.keywords.items():
        if isinstance(value, Union) and any(isinstance(option, Traced) for option in value.options):

            def named(option: Value, name: str = name) -> Arguments:
                return Arguments(args.positional, {**args.keywords, name: option}, args.extra, args.extra_keywords)

            return value.options, named
    return None


def is_wrapped(vm: Machine, frame: Frame, node: ast.Call) -> bool:
    """Whether the call goes through a global name that ``torch.fx.wrap`` has been given in the file that holds it."""
    if isinstance(node.func, ast.Name):
        return node.func.id in frame.scope.module.index.wraps and frame.scope.find(node.func.id) is None
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        owner = names.lookup(vm, frame, node.func.value.id)
        return isinstance(owner, Namespace) and node.func.attr in owner.module.index.wraps
    return False


def recorded(vm: Machine, args: Arguments, node: ast.AST, callee: str = "") -> Value:
    """A call that becomes one node, if that can hold its arguments."""
    refuse_unsupported(vm, args, node, callee)
    return vm.traced(node, first_traced(args))


def refuse_unsupported(vm: Machine, args: Arguments, node: ast.AST, callee: str) -> None:
    """An event where the node of a call cannot hold an argument, in one case of several or in all.

    It holds a buffer by its name, which the graph's module may have taken.
    """

    def refuse(value: Value) -> bool:
        bad = unsupported(vm, value)
        if bad is not None:
            kind = "call.numpy" if is_numpy(bad) else "call.torch"
            vm.event(kind, node, origin=_origin(args), exception="NotImplementedError", callee=callee)
        return True

    for value in args.values():
        if isinstance(value, Tensor) and value.taken:
            modules.note_taken(vm, value.taken, node)
        elif isinstance(value, Union):
            for option in value.options:
                if unsupported(vm, option) is not None:
                    vm.fork(node, partial(refuse, option), lambda: True)
        else:
            refuse(value)


def unsupported(vm: Machine, value: Value, depth: int = 3) -> Value | None:
    """The part of a value that the argument of a node cannot hold.

    It holds Proxies, tensors, numbers, strings and their containers, members of enumerations and data classes.
    """
    if isinstance(value, Instance):
        return value if _is_unsupported(vm, value) else None
    if isinstance(value, (Function, Class)) or (isinstance(value, External) and vm.facts.kind(value.name) == "class"):
        return value
    if isinstance(value, Mapping) and any(isinstance(pair[0], Traced) for pair in value.items.values()):
        return value
    if depth and isinstance(value, Sequence):
        return next((bad for item in value.items if (bad := unsupported(vm, item, depth - 1)) is not None), None)
    if depth and isinstance(value, Mapping):
        entries = (item for _, item in value.items.values())
        return next((bad for item in entries if (bad := unsupported(vm, item, depth - 1)) is not None), None)
    return None


def _is_unsupported(vm: Machine, value: Instance) -> bool:
    if classes.is_module(vm, value):
        return True
    if isinstance(value.cls, External):
        return _is_array(value)
    classes.resolve_bases(vm, value.cls)
    plain = value.cls.complete and not value.open and not any(isinstance(base, External) for base in value.cls.mro)
    return plain and not (classes.is_enum(vm, value.cls) or classes.dataclass_fields(vm, value.cls))


def operation(vm: Machine, name: str, operands: list[Value], node: ast.AST) -> Value:
    """An operator on a real tensor, with Proxies among the other operands or not."""
    args = Arguments(operands)
    if not args.holds_traced():
        return MAYBE if args.may_hold_traced() else REAL_TENSOR
    outcome = calltable.operation(name, *(_operand_kind(value) for value in operands), release=vm.facts.release)
    if outcome.result == "unknown" and not holds_traced(operands[1]):
        return NONE  # storing a Proxy under an ordinary index: the real tensor ignores it
    return outcome_of(vm, name, outcome, args, node)


def draws(value: Instance) -> bool:
    """Whether it is an object that draws random numbers, as ``random.Random()`` is, or a distribution."""
    name = value.cls.name
    return isinstance(value.cls, External) and (name in _GENERATORS.values() or name.startswith("torch.distributions."))


def is_numpy(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.name in {ARRAY, NUMPY}


def _is_array(value: Value) -> bool:
    return is_numpy(value) and isinstance(value, Instance) and value.cls.name == ARRAY


def with_numpy(vm: Machine, name: str, left: Value, right: Value, node: ast.AST) -> Value:
    """``left op right`` where one is of numpy: on the left of a Proxy numpy tries to make an array of that."""
    if not isinstance(right, Traced):
        return left if is_numpy(left) else right
    outcome = calltable.operation(name, "numpy", "traced", release=vm.facts.release)
    return outcome_of(vm, name, outcome, Arguments([left, right]), node)


def _operand_kind(value: Value) -> str:
    """The word that the measured table has for an operand."""
    if isinstance(value, Traced):
        return "traced"
    if isinstance(value, Slice):
        return "slice*" if holds_traced(value) else "slice"
    if isinstance(value, Sequence):
        sliced = "_slice" if value.kind == "tuple" and any(isinstance(item, Slice) for item in value.members()) else ""
        return f"{value.kind}{sliced}{'*' if holds_traced(value) else ''}"
    if isinstance(value, Const):
        return type(value.value).__name__.replace("NoneType", "none")
    return "tensor" if isinstance(value, Tensor) else "other"


def measured(
    vm: Machine,
    name: str,
    args: Arguments,
    node: ast.AST,
    *,
    constant_self: bool = False,
    patched: bool = True,
) -> Value:
    """Apply what the tracer was measured to do with this call."""
    traced: list[int | str] = []
    contains: list[int | str] = []
    places: list[tuple[int | str, Value]] = [*enumerate(args.positional), *args.keywords.items()]
    for place, value in places:
        if isinstance(value, Traced):
            traced.append(place)
        elif holds_traced(value):
            contains.append(place)
    if traced != ["out"]:  # where the result goes makes no difference, unless it is all that is traced
        traced = [place for place in traced if place != "out"]
    ask = partial(
        calltable.call,
        name,
        constant_self=constant_self,
        release=vm.facts.release,
        positional=len(args.positional),
        keywords=[name for name in args.keywords if name != "out" or "out" in traced],
        patched=patched,
    )
    outcome = ask(traced, contains)
    if outcome.result == "fails":
        perhaps = [place for place, value in places if not holds_traced(value) and may_hold_traced(value)]
        if perhaps and ask([*traced, *perhaps], contains).result != "fails":
            outcome = calltable.UNKNOWN  # with a Proxy there, the call is recorded
    if not traced and not contains:
        if args.may_hold_traced():
            return MAYBE
        silent.called(vm, name, node)
        made = _made_from(name, outcome, args)
        if made is not None:
            return made
        result = _plain(vm, name, outcome, constant_self)
        return silent.derived(vm, args.values(), node) if result is REAL_TENSOR else result
    if name.startswith("logging."):
        vm.note("silent.text", node, origin=_origin(args))
    if isinstance(args.keywords.get("out"), Tensor):
        vm.note("silent.constant", node)
    return outcome_of(vm, name, outcome, args, node, constant_self)


def outcome_of(
    vm: Machine, name: str, outcome: calltable.Outcome, args: Arguments, node: ast.AST, constant_self: bool = False
) -> Value:
    """The value of a call with Proxies among its arguments, and the event where it fails."""
    if outcome.result == "node":
        return recorded(vm, args, node, name)
    if outcome.result == "fails":
        vm.event(
            outcome.event or "call.foreign",
            node,
            origin=_origin(args),
            exception=outcome.exception or "TypeError",
            callee=name,
        )
        return vm.traced(node, first_traced(args))
    if outcome.result == "value":
        if outcome.constant is not None and not outcome.varies:
            return answer(outcome.constant) if isinstance(outcome.constant, bool) else const(outcome.constant)
        return _plain(vm, name, outcome, constant_self)
    vm.unresolvable(name, node)
    return vm.assumed(node, first_traced(args))


def _made_from(name: str, outcome: calltable.Outcome, args: Arguments) -> Instance | None:
    """The result where it is of a kind that the arguments decide: an array of numpy, a function around another one."""
    if outcome.value == "numpy" and any(isinstance(value, Sequence) or _is_array(value) for value in args.positional):
        return Instance(External(ARRAY), open=True, expression=name)
    if outcome.value == "function" and args.positional and isinstance(args.positional[0], (Function, Bound, Decorated)):
        return Instance(External(RETURNED), arguments={INNER: args.positional[0]}, expression=f"{name}()")
    return None


def _plain(vm: Machine, name: str, outcome: calltable.Outcome, constant_self: bool) -> Value:
    """The result of a call that runs for real while tracing; usually no process group has been set up then."""
    if outcome.constant is not None and (not outcome.varies or (vm.usual and name.startswith("torch.distributed."))):
        return const(outcome.constant)
    kind = outcome.value
    if kind == "tensor" or (kind is None and (constant_self or name.startswith("torch.nn.functional."))):
        return REAL_TENSOR
    if kind == "numpy":
        return Instance(External(NUMPY), open=True, expression=name)
    if kind == "none":
        return NONE
    if kind == "function":
        return Instance(External(RETURNED), expression=f"{name}()")
    if kind in {"list", "tuple"}:
        return Sequence(kind, [], REAL_TENSOR if constant_self else UNKNOWN)  # type: ignore[arg-type]
    if kind in {"list*", "tuple*", "set*"}:
        return Sequence(kind[:-1], [], MAYBE)  # type: ignore[arg-type]
    if kind == "dict*":
        return Mapping({}, MAYBE)
    return UNKNOWN


def first_traced(args: Arguments) -> Value | None:
    return next((found for value in args.values() if (found := _find_traced(value)) is not None), None)


def _find_traced(value: Value, depth: int = 3) -> Traced | None:
    if isinstance(value, Traced):
        return value
    if depth and isinstance(value, Sequence):
        return next((found for item in value.members() if (found := _find_traced(item, depth - 1)) is not None), None)
    if depth and isinstance(value, Slice):
        return next((found for part in value.parts() if (found := _find_traced(part, depth - 1)) is not None), None)
    return None


def _origin(args: Arguments) -> Any:
    found = first_traced(args)
    return found.origin if isinstance(found, Traced) else None


def method_of(vm: Machine, frame: Frame, callee: Bound, args: Arguments, node: ast.AST) -> Value:
    """Call a method whose definition lies in a library."""
    assert isinstance(callee.function, External)
    base, _, name = callee.function.name.rpartition(".")
    receiver = callee.receiver
    if isinstance(receiver, Traced):
        return recorded(vm, args.after(receiver), node, name)
    if isinstance(receiver, Instance):
        if name == "__setattr__":
            return _set_attribute(vm, frame, receiver, args, node)
        if name == "__delattr__":
            return _delattr(vm, frame, args.after(receiver), node)
        if classes.is_module(vm, receiver):
            return modules.method(vm, frame, receiver, base, name, args, node)
        return _object_method(vm, frame, receiver, base, name, args, node)
    if isinstance(receiver, Class):
        if name == "apply":
            return _autograd_apply(vm, frame, receiver, args, node)
        return UNKNOWN
    return method(vm, frame, receiver, name, args, node)


def _set_attribute(vm: Machine, frame: Frame, receiver: Instance, args: Arguments, node: ast.AST) -> Value:
    """``super().__setattr__(name, value)``; under a name that is not known it may be any attribute."""
    attribute, value = args.get(0, "name"), args.get(1, "value")
    if isinstance(attribute, Const) and value is not None:
        attributes.store(vm, frame, receiver, str(attribute.value), value, node)
    else:
        receiver.open = True
    return NONE


def _object_method(
    vm: Machine, frame: Frame, receiver: Instance, base: str, name: str, args: Arguments, node: ast.AST
) -> Value:
    """A method that a class of the code under lint inherits from the standard library."""
    contents = receiver.children
    if contents is not None and base.startswith(("builtins.", "collections.")):
        if name != "__init__":
            return method(vm, frame, contents, name, args, node)
        fill = _dict if isinstance(contents, Mapping) else _copy_to("list")
        filled = fill(vm, frame, args, node)
        if isinstance(filled, (Sequence, Mapping)):
            vm.heap.refill(contents, filled.items, filled.rest)
        return NONE
    if name == "__init__":
        return NONE
    if f"{base}.{name}" == f"{hooks.HANDLE}.remove":
        hooks.remove(vm, receiver)
        return NONE
    if not args.holds_traced():
        silent.called(vm, f"{base}.{name}", node)
    for given in args.positional if name == "enter_context" else ():
        if isinstance(given, Instance):
            silent.entered(vm, given, node)
    result = MAYBE if args.may_hold_traced() else UNKNOWN
    escapes.given(vm, args.values())
    return result


def _autograd_apply(vm: Machine, frame: Frame, cls: Class, args: Arguments, node: ast.AST) -> Value:
    """``Function.apply``: forward is traced through, backward is lost."""
    forward = classes.find(vm, cls, "forward")
    function = forward.function if isinstance(forward, Descriptor) else forward
    if not isinstance(function, Function):
        return MAYBE
    vm.note("silent.gradient", node)
    takes_context = classes.find(vm, cls, "setup_context") is None
    return calls.call(vm, frame, function, args.after(UNKNOWN) if takes_context else args, node)


def call_object(vm: Machine, frame: Frame, callee: Instance, args: Arguments, node: ast.AST) -> Value:
    """Call an object of a library class."""
    assert isinstance(callee.cls, External)
    if callee.cls.name == "torch.jit.ScriptFunction":
        if args.holds_traced():
            vm.event("call.foreign", node, origin=_origin(args), exception="RuntimeError", callee=callee.expression)
            return vm.traced(node, first_traced(args))
        return REAL_TENSOR
    if callee.cls.name == RETURNED:
        inner = callee.arguments.get(INNER)
        if inner is not None and calltable.call(callee.expression, [0], release=vm.facts.release).result == "node":
            return calls.call(vm, frame, inner, args, node)
        return measured(vm, callee.expression, args, node)
    return MAYBE if args.may_hold_traced() else UNKNOWN


# -- methods of built-in containers and tensors -----------------------------------------------------------------------


def method(vm: Machine, frame: Frame, receiver: Value, name: str, args: Arguments, node: ast.AST) -> Value:
    """A method of a list, tuple, dict, string, number or real tensor."""
    if isinstance(receiver, (Sequence, Mapping, Globals)):
        if name == "__setitem__" and len(args.positional) == 2:
            containers.set_item(vm, frame, receiver, args.positional[0], args.positional[1], node)
            return NONE
        if name == "__delitem__" and args.positional:
            containers.delete_item(vm, frame, receiver, args.positional[0], node)
            return NONE
    if isinstance(receiver, Sequence):
        return _sequence_method(vm, frame, receiver, name, args, node)
    if isinstance(receiver, Mapping):
        return _mapping_method(vm, frame, receiver, name, args, node)
    if isinstance(receiver, Tensor):
        return _tensor_method(vm, receiver, name, args, node)
    if isinstance(receiver, Globals):
        return _globals_method(vm, frame, receiver, name, args, node)
    if isinstance(receiver, Const):
        return _constant_method(vm, frame, receiver, name, args, node)
    if isinstance(receiver, Union):
        return calls.each(vm, receiver.options, lambda option: method(vm, frame, option, name, args, node), node)
    return MAYBE if args.may_hold_traced() else UNKNOWN


def _tensor_method(vm: Machine, receiver: Tensor, name: str, args: Arguments, node: ast.AST) -> Value:
    silent.tensor_method(vm, receiver, name, args.holds_traced(), node)
    if not args.holds_traced():
        if args.may_hold_traced():
            return MAYBE
        plain = calltable.call(f"torch.Tensor.{name}", [], constant_self=True, release=vm.facts.release)
        result = REAL_TENSOR if plain.result == "unknown" else _plain(vm, name, plain, constant_self=True)
        if result is REAL_TENSOR and not name.endswith("_"):
            return silent.derived(vm, (receiver,), node)
        return result
    return measured(vm, f"torch.Tensor.{name}", args, node, constant_self=True)


def _constant_method(vm: Machine, frame: Frame, receiver: Const, name: str, args: Arguments, node: ast.AST) -> Value:
    values = args.positional
    if all(isinstance(value, Const) for value in values) and not args.keywords and args.extra is None:
        return evaluate.fold(lambda own, *rest: getattr(own, name)(*rest), receiver, *values)  # type: ignore[arg-type]
    if name == "join" and values:
        spread = containers.iterate(vm, frame, values[0], node, "iter.call")
        if all(isinstance(item, Const) for item in spread.items) and spread.rest is None:
            return evaluate.fold(lambda own, *parts: own.join(parts), receiver, *spread.items)  # type: ignore[arg-type]
    if name == "format" and isinstance(receiver.value, str):
        _format_method(vm, receiver.value, args, node)
    return UNKNOWN


def _format_method(vm: Machine, template: str, args: Arguments, node: ast.AST) -> None:
    """A Proxy has no format specification of its own: ``"{:03d}".format(x)`` fails, ``"{}"`` shows the Proxy."""
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(template) if name is not None]
    except ValueError:
        return
    for position, (name, spec) in enumerate(fields):
        index = int(name) if name.isdigit() else position if not name else None
        value = args.keywords.get(name) if index is None else args.get(index, name)
        if isinstance(value, Traced):
            if spec:
                vm.event("format.spec", node, origin=value.origin, exception="TypeError")
            else:
                vm.note("silent.text", node, origin=value.origin)


def extend(vm: Machine, frame: Frame, target: Sequence, more: Value, node: ast.AST) -> None:
    spread = containers.iterate(vm, frame, more, node, "iter.call")
    for value in spread.members():
        silent.put(vm, target, value, node)
    whole = containers.concatenated(target, spread)
    vm.heap.refill(target, whole.items, whole.rest)


def _sequence_method(vm: Machine, frame: Frame, receiver: Sequence, name: str, args: Arguments, node: ast.AST) -> Value:
    first = args.get(0, "")
    if name in {"append", "add", "appendleft"} and first is not None:
        silent.put(vm, receiver, first, node)
        containers.append(vm, receiver, first)
        return NONE
    if name in {"extend", "update"} and first is not None:
        extend(vm, frame, receiver, first, node)
        return NONE
    if name == "insert" and len(args.positional) == 2:
        position, value = args.positional
        silent.put(vm, receiver, value, node)
        if isinstance(position, Const) and isinstance(position.value, int) and receiver.rest is None:
            items = list(receiver.items)
            items.insert(position.value, value)
            vm.heap.refill(receiver, items, None)
        else:
            vm.heap.refill(receiver, [], join_all([*receiver.members(), value]))
        return NONE
    if name in {"pop", "popleft"}:
        return _pop(vm, receiver, first if first is not None else Const(0 if name == "popleft" else -1), node)
    if name == "reverse":
        if receiver.rest is None:
            vm.heap.refill(receiver, receiver.items[::-1], None)
        else:
            vm.heap.refill(receiver, [], join_all(receiver.members()))
        return NONE
    if name == "copy":
        return Sequence(receiver.kind, list(receiver.items), receiver.rest)
    if name == "clear":
        vm.heap.refill(receiver, [], None)
        return NONE
    if name == "sort":
        ordered = _ordered(vm, frame, args, receiver, node)
        vm.heap.refill(receiver, ordered.items, ordered.rest)
        return NONE
    if name in {"index", "count", "remove"} and receiver.kind != "set" and first is not None:
        return _search(vm, receiver, name, first, args, node)
    if name in {"remove", "discard"}:
        vm.heap.refill(receiver, [], join_all(receiver.members()) if receiver.items or receiver.rest else UNKNOWN)
        return NONE
    if name == "_asdict" or name == "_replace":
        return UNKNOWN
    if name in {"__iter__", "__reversed__"}:
        return receiver
    if name == "__len__":
        return containers.length(receiver)
    if name == "__getitem__" and first is not None:
        return containers.sequence_item(vm, receiver, first, node)
    if name in {"union", "intersection", "difference"}:
        return Sequence("set", [], UNKNOWN)
    return _operator_method(vm, frame, receiver, name, args, node)


def _operator_method(vm: Machine, frame: Frame, receiver: Sequence, name: str, args: Arguments, node: ast.AST) -> Value:
    """The methods that statements call. After others that change the sequence it may hold anything."""
    first = args.get(0, "")
    if name in {"__iadd__", "__ior__"} and first is not None:
        extend(vm, frame, receiver, first, node)
        return receiver
    if name == "__imul__" and first is not None:
        repeated = containers.combine(ast.Mult(), receiver, first)
        if isinstance(repeated, Sequence):
            vm.heap.refill(receiver, repeated.items, repeated.rest)
        return receiver
    result = MAYBE if args.may_hold_traced() else UNKNOWN
    if receiver.kind != "tuple" and name not in _READERS:
        vm.heap.refill(receiver, [], join_all([*receiver.members(), result]))
    return result


def _search(vm: Machine, receiver: Sequence, name: str, wanted: Value, args: Arguments, node: ast.AST) -> Value:
    """``index``, ``count`` and ``remove``."""
    found = decide.search(vm, receiver.items, wanted, through=name == "count")
    there = found.position
    among_rest = receiver.rest is not None and not receiver.optional and not may_be_traced(receiver.rest)
    if found.compared is None and there is None and among_rest and isinstance(wanted, Traced):
        found = decide.Search(None, wanted)
    found.tell(vm, "bool.call", node, callee=name)
    if name != "remove":
        return const(there) if name == "index" and there is not None and len(args.positional) == 1 else UNKNOWN
    if there is not None:
        vm.heap.refill(receiver, [*receiver.items[:there], *receiver.items[there + 1 :]], receiver.rest)
    else:
        vm.heap.refill(receiver, [], join_all(receiver.members()) if receiver.items or receiver.rest else UNKNOWN)
    return NONE


def _pop(vm: Machine, receiver: Sequence, position: Value, node: ast.AST) -> Value:
    if isinstance(position, Traced):
        vm.event("index.call", node, origin=position.origin, exception="TypeError")
        return join_all(receiver.members())
    if isinstance(position, Const) and isinstance(position.value, int) and receiver.rest is None:
        index = position.value
        if -len(receiver.items) <= index < len(receiver.items):
            items = list(receiver.items)
            value = items.pop(index)
            vm.heap.refill(receiver, items, None)
            return value
    value = join_all(receiver.members()) if receiver.items or receiver.rest is not None else UNKNOWN
    vm.heap.refill(receiver, [], value)
    return value


def _mapping_method(vm: Machine, frame: Frame, receiver: Mapping, name: str, args: Arguments, node: ast.AST) -> Value:
    first = args.get(0, "")
    rest = receiver.rest
    if name == "items":
        pairs: list[Value] = [Sequence("tuple", [key, value]) for key, value in receiver.items.values()]
        return Sequence("list", pairs, None if rest is None else Sequence("tuple", [UNKNOWN, rest]))
    if name == "keys":
        return Sequence("list", [pair[0] for pair in receiver.items.values()], None if rest is None else UNKNOWN)
    if name == "values":
        return Sequence("list", [pair[1] for pair in receiver.items.values()], rest)
    if name in {"get", "pop", "setdefault"} and first is not None:
        return _lookup(vm, frame, receiver, name, first, args, node)
    if name in {"update", "__ior__"}:
        result = Mapping(dict(receiver.items), rest)
        if first is not None:
            if isinstance(first, Traced):
                vm.event("iter.call", node, origin=first.origin)
            calls.spread_mapping(vm, frame, first if not isinstance(first, Traced) else UNKNOWN, node, result)
        for key, value in args.keywords.items():
            containers.store(result, Const(key), value)
        if first is not None:
            silent.put(vm, receiver, first, node)
        for value in args.keywords.values():
            silent.put(vm, receiver, value, node)
        vm.heap.refill(receiver, result.items, result.rest)
        return NONE if name == "update" else receiver
    if name == "copy":
        return Mapping(dict(receiver.items), rest)
    if name == "clear":
        vm.heap.refill(receiver, {}, None)
        return NONE
    if name in {"__getitem__", "__missing__"} and first is not None:
        return containers.mapping_item(vm, receiver, first, node)
    if name == "popitem" and rest is None:
        return _pop_item(vm, receiver, args.get(0, "last") or TRUE, node)
    if name == "move_to_end" and first is not None and key_of(first) in receiver.items:
        _move_to_end(vm, receiver, first, args.get(1, "last") or TRUE)
        return NONE
    if name == "__contains__" and first is not None:
        return decide.member(vm, frame, first, receiver, node)
    answer_ = MAYBE if args.may_hold_traced() else UNKNOWN
    if name not in _READERS:
        vm.heap.refill(receiver, {}, join_all([*receiver.entries(), answer_]))
    return answer_


def _pop_item(vm: Machine, receiver: Mapping, last: Value, node: ast.AST) -> Value:
    if not receiver.items:
        vm.event("raise.type", node, exception="KeyError")
        return UNKNOWN
    if not isinstance(last, Const):
        vm.heap.refill(receiver, {}, join_all(receiver.entries()))
        return Sequence("tuple", [UNKNOWN, join_all(receiver.entries())])
    items = dict(receiver.items)
    key, value = items.pop(list(items)[-1 if last.value else 0])
    vm.heap.refill(receiver, items, None)
    return Sequence("tuple", [key, value])


def _move_to_end(vm: Machine, receiver: Mapping, key: Value, last: Value) -> None:
    known = key_of(key)
    items = {known: receiver.items[known]} if known is not None else {}
    others = {other: pair for other, pair in receiver.items.items() if other != known}
    if isinstance(last, Const):
        vm.heap.refill(receiver, {**others, **items} if last.value else {**items, **others}, receiver.rest)
    else:
        vm.heap.refill(receiver, {}, join_all(receiver.entries()))


def _globals_method(vm: Machine, frame: Frame, receiver: Globals, name: str, args: Arguments, node: ast.AST) -> Value:
    if name == "update":
        given = _dict(vm, frame, args, node)
        for name_, value in given.items.values() if isinstance(given, Mapping) else ():
            containers.set_item(vm, frame, receiver, name_, value, node)
        return NONE
    key = args.get(0, "key")
    if name not in {"get", "__getitem__"} or key is None:
        return UNKNOWN
    return containers.global_item(vm, receiver, key) or args.get(1, "default") or NONE


def _lookup(
    vm: Machine, frame: Frame, receiver: Mapping, name: str, key: Value, args: Arguments, node: ast.AST
) -> Value:
    default = args.get(1, "default")
    if default is None and name != "pop":
        default = NONE
    known = key_of(key)
    if known is not None and known in receiver.items:
        value = receiver.items[known][1]
        if name == "pop":
            items = dict(receiver.items)
            del items[known]
            vm.heap.refill(receiver, items, receiver.rest)
        return value
    silent.looked_up(vm, key, node)
    filled_before = receiver.rest is None or not may_hold_traced(receiver.rest)
    if is_of_tracing(key) and filled_before and default is not None and name != "setdefault":
        return default
    if name == "setdefault" and default is not None:
        silent.put(vm, receiver, default, node)
    if name == "setdefault" and default is not None and receiver.rest is None and known is not None:
        vm.heap.refill(receiver, {**receiver.items, known: (key, default)}, None)
    if known is not None and receiver.rest is None:
        return default if default is not None else UNKNOWN
    if known is not None and receiver.rest is not None and default is not None:
        return Unknown(maybe=may_hold_traced(receiver.rest) or may_be_traced(default), likely=likely_of(default))
    entries = [pair[1] for pair in receiver.items.values()]
    return join_all([*entries, *(v for v in (receiver.rest, default) if v is not None)])


# -- decorators -------------------------------------------------------------------------------------------------------

_KEEPS: Final = frozenset(
    "functools.lru_cache functools.cache functools.singledispatch abc.abstractmethod typing.overload typing.final "
    "dataclasses.dataclass contextlib.contextmanager torch.jit.ignore torch.jit.unused torch.jit.export torch.fx.wrap "
    "torch.jit.script_method functools.total_ordering enum.unique typing.runtime_checkable".split()
)
_SCRIPTED: Final = frozenset({"torch.jit.script", "torch.jit.trace"})


def decorate(vm: Machine, decorator: Value, value: Value, node: ast.AST) -> Value:
    """What a library decorator makes of a function."""
    if isinstance(decorator, Instance) and isinstance(decorator.cls, External):
        name = decorator.cls.name
    elif isinstance(decorator, External):
        name = decorator.name
    else:
        return value
    name = vm.facts.canonical(name)
    if name in _SCRIPTED and isinstance(value, (Function, Decorated)):
        return Instance(External("torch.jit.ScriptFunction"), expression=getattr(value, "name", "function"))
    if name in _KEEPS or not isinstance(value, (Function, Decorated)):
        return value
    return Decorated(value, name) if name.startswith("torch.") else value


# -- models of builtins -----------------------------------------------------------------------------------------------


def _len(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "obj")
    if value is None:
        return UNKNOWN
    if isinstance(value, Traced):
        return measured(vm, "builtins.len", args, node)
    if isinstance(value, Instance):
        method_ = classes.find(vm, value.cls, "__len__")
        if isinstance(method_, Function):
            return calls.invoke(vm, frame, method_, [value], node)
        return containers.length(value.children) if value.children is not None else UNKNOWN
    if isinstance(value, Union):
        kept = [o for o in value.options if not isinstance(o, Const) or o.value is not None]
        return calls.each(vm, kept, lambda o: _len(vm, frame, Arguments([o]), node), node)
    return containers.length(value)


def _isinstance(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value, wanted = args.get(0, ""), args.get(1, "")
    if value is None or wanted is None:
        return UNKNOWN
    if isinstance(value, Traced):
        silent.asked_for_class(vm, value, wanted, node)
        return answer(bool(classes.is_instance(vm, value, wanted)))
    known = classes.is_instance(vm, value, wanted)
    if known is not None:
        return const(known)
    if isinstance(value, Union) and any(isinstance(option, Traced) for option in value.options):
        return join_all(_isinstance(vm, frame, Arguments([option, wanted]), node) for option in value.options)
    likely = likely_of(value)
    if likely is not None and likely is not value:
        return Unknown(likely=const(classes.is_instance(vm, likely, wanted)))
    return UNKNOWN


def _is_tensor(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "obj")
    return UNKNOWN if value is None else _isinstance(vm, frame, Arguments([value, External("torch.Tensor")]), node)


def _issubclass(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value, wanted = args.get(0, ""), args.get(1, "")
    if isinstance(value, Class) and isinstance(wanted, Class):
        classes.resolve_bases(vm, value)
        return const(wanted in value.mro) if value.complete else UNKNOWN
    if value is not None and is_of_tracing(value) and isinstance(wanted, (Class, External)):
        vm.note("silent.isinstance", node)
        return answer(is_of_tracing(wanted))
    return UNKNOWN


def _hasattr(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value, name = args.get(0, ""), args.get(1, "")
    if isinstance(value, Traced):
        vm.note("silent.hasattr", node, origin=value.origin)
        return ANSWERED_TRUE
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return UNKNOWN
    if isinstance(value, Instance):
        if classes.find(vm, value.cls, name.value) is not None:
            return TRUE
        if name.value in value.attributes:
            return TRUE if attributes.missing_if(value, name.value) is None else UNKNOWN
        if classes.is_left_out(vm, value, name.value):
            return FALSE
        return UNKNOWN if value.open or classes.is_module(vm, value) else _absent(vm, value, name.value)
    if isinstance(value, (Const, Class)):
        present = _present(vm, value, name.value)
        return UNKNOWN if present is None else const(present)
    if isinstance(value, Sequence):
        return const(hasattr(tuple if value.kind == "tuple" else list, name.value) or name.value in value.fields)
    if isinstance(value, Mapping):
        return const(hasattr(dict, name.value))
    if isinstance(value, External) and vm.facts.kind(value.name) == "module" and value.name.startswith("torch"):
        return const(vm.facts.kind(f"{value.name}.{name.value}") is not None)
    if isinstance(value, Tensor):
        return TRUE if name.value in calltable.members("torch.Tensor") else UNKNOWN
    return UNKNOWN


def _absent(vm: Machine, value: Instance, name: str) -> Value:
    if not isinstance(value.cls, Class) or not value.cls.complete:
        return UNKNOWN
    if any(isinstance(base, External) for base in value.cls.mro):
        return UNKNOWN
    return FALSE if classes.find(vm, value.cls, "__getattr__") is None else UNKNOWN


def _getattr(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    owner, name, default = args.get(0, ""), args.get(1, ""), args.get(2, "")
    if owner is None or name is None:
        return UNKNOWN
    if isinstance(name, Traced):
        vm.event("key.lookup", node, origin=name.origin, exception="TypeError")
        return MAYBE
    named_by_proxy = holds_proxy_text(name) and default is None and not isinstance(owner, Traced)
    if named_by_proxy:
        vm.event("key.lookup", node, exception="AttributeError")
    if isinstance(name, Const) and isinstance(name.value, str) and not named_by_proxy:
        if isinstance(owner, Traced) and default is not None and name.value not in calltable.members("torch.Tensor"):
            vm.note("silent.hasattr", node, origin=owner.origin)
        present = default is None or _present(vm, owner, name.value)
        if present is None:
            found = attributes.load(vm, frame, owner, name.value, node)
            likely = likely_of(found) if not (isinstance(found, Unknown) and found.likely is None) else default
            return Unknown(maybe=may_be_traced(found), likely=likely) if isinstance(found, Unknown) else found
        if present:
            return attributes.load(vm, frame, owner, name.value, node)
        return default if default is not None else UNKNOWN
    if isinstance(owner, Traced):
        return vm.traced(node, owner)
    likely = likely_of(name)
    if isinstance(owner, (Namespace, External, Class)) and isinstance(likely, Const) and isinstance(likely.value, str):
        return Unknown(likely=attributes.load(vm, frame, owner, likely.value, node))
    if isinstance(owner, Instance) and classes.is_module(vm, owner):
        kept = [v for v in owner.attributes.values() if classes.is_module(vm, v)]
        return join_all(kept) if kept else UNKNOWN
    return UNKNOWN


def _present(vm: Machine, owner: Value, name: str) -> bool | None:
    """Whether an object has an attribute, for ``getattr`` with a default."""
    if isinstance(owner, Traced):
        return True
    if isinstance(owner, Instance):
        if classes.find(vm, owner.cls, name) is not None:
            return True
        if name in owner.attributes:
            return True if attributes.missing_if(owner, name) is None else None
        if isinstance(owner.cls, Class) and owner.cls.complete and not owner.open:
            return vm.facts.attribute(vm, owner, name) is not None
        return None
    if isinstance(owner, Namespace):
        return True
    if isinstance(owner, Const):
        return hasattr(owner.value, name)
    if isinstance(owner, Class):
        known = classes.find(vm, owner, name) is not None or classes.library_base_with(vm, owner, name) is not None
        return True if known else False if owner.complete else None
    return None


def _setattr(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    owner, name, value = args.get(0, ""), args.get(1, ""), args.get(2, "")
    if owner is None or value is None:
        return NONE
    if isinstance(name, Const) and isinstance(name.value, str):
        attributes.store(vm, frame, owner, name.value, value, node)
    elif isinstance(owner, Instance):
        owner.open = True
        classes.register(value)
    return NONE


def _delattr(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    owner, name = args.get(0, ""), args.get(1, "")
    if owner is not None and isinstance(name, Const):
        attributes.delete(vm, owner, str(name.value))
    return NONE


def _range(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    traced = next((value for value in args.positional if isinstance(value, Traced)), None)
    if traced is not None:
        vm.event("index.range", node, origin=traced.origin, exception="TypeError")
        return Sequence("range", [], UNKNOWN)
    for value in args.positional:
        silent.read(vm, value, node)
    numbers = [value.value for value in args.positional if isinstance(value, Const) and isinstance(value.value, int)]
    if len(numbers) == len(args.positional) and numbers and args.extra is None:
        try:
            values = range(*numbers)
        except (TypeError, ValueError):
            return UNKNOWN
        if len(values) <= MAX_RANGE:
            return Sequence("range", [Const(number) for number in values])
    return Sequence("range", [], UNKNOWN)


def _lazily(vm: Machine, frame: Frame, value: Value, node: ast.AST) -> Sequence:
    """The elements that an iterator asks another one for when it is asked itself: that may have them still."""
    if isinstance(value, Sequence) and value.kind == "iterator" and containers.is_named(node):
        return containers.taken(vm, value, lazily=True)
    return containers.iterate(vm, frame, value, node, "iter.call")


def _enumerate(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "iterable")
    if value is None:
        return UNKNOWN
    start = args.get(1, "start")
    offset = start.value if isinstance(start, Const) and isinstance(start.value, int) else 0 if start is None else None
    spread = _lazily(vm, frame, value, node)
    items: list[Value] = [
        Sequence("tuple", [UNKNOWN if offset is None else Const(offset + position), item])
        for position, item in enumerate(spread.items)
    ]
    rest = over_parts(spread.rest, lambda value: Sequence("tuple", [UNKNOWN, value]))
    return Sequence("iterator", items, rest, optional=spread.optional)


def _zip(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    may_hold = MAYBE if args.may_hold_traced() else UNKNOWN
    in_turn = len({id(value) for value in args.positional}) < len(args.positional)  # zip(it, it), or lists
    spreads = [_lazily(vm, frame, value, node) for value in args.positional]
    if not spreads or (in_turn and any(spread.kind == "iterator" for spread in spreads)):
        return Sequence("iterator", [], Sequence("tuple", [may_hold] * len(spreads)) if spreads else may_hold)
    exact = [len(spread.items) for spread in spreads if spread.rest is None]
    known = min(exact) if exact else min(len(spread.items) for spread in spreads)
    items: list[Value] = []
    for position in range(known):
        row = [s.items[position] if position < len(s.items) else s.rest or UNKNOWN for s in spreads]
        items.append(Sequence("tuple", row))
    if exact:
        return Sequence("iterator", items)
    rest = Sequence("tuple", [s.rest if s.rest is not None else UNKNOWN for s in spreads])
    return Sequence("iterator", items, rest, optional=any(s.optional for s in spreads))


def _map(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    function, *iterables = args.positional
    spreads = [_lazily(vm, frame, value, node) for value in iterables]
    if len(spreads) != 1:
        return Sequence("iterator", [], MAYBE if args.may_hold_traced() else UNKNOWN)
    results = [calls.invoke(vm, frame, function, [item], node) for item in spreads[0].items]
    rest = None if spreads[0].rest is None else calls.invoke(vm, frame, function, [spreads[0].rest], node)
    return Sequence("iterator", results, rest, optional=spreads[0].optional)


def _filter(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if len(args.positional) != 2:
        return UNKNOWN
    function, iterable = args.positional
    spread = _lazily(vm, frame, iterable, node)
    for item in spread.members():
        answer = item if isinstance(function, Const) else calls.invoke(vm, frame, function, [item], node)
        decide.truth(vm, frame, answer, node, "bool.call")
    members = list(spread.members())
    return Sequence("iterator", [], join_all(members)) if members else Sequence("iterator", [])


def _copy_to(kind: str) -> Model:
    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        value = args.get(0, "iterable")
        if value is None:
            return Sequence(kind, [])  # type: ignore[arg-type]
        spread = containers.iterate(vm, frame, value, node, "iter.call")
        return Sequence(kind, list(spread.items), spread.rest, optional=spread.optional)  # type: ignore[arg-type]

    return model


def _reversed(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if value is None:
        return UNKNOWN
    if isinstance(value, Traced):
        return measured(vm, "builtins.reversed", args, node)
    spread = containers.iterate(vm, frame, value, node, "iter.call")
    if spread.rest is None:
        return Sequence("iterator", spread.items[::-1])
    return Sequence("iterator", [], join_all(spread.members()), optional=spread.optional and not spread.items)


def _sorted(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "iterable")
    if value is None:
        return UNKNOWN
    spread = containers.iterate(vm, frame, value, node, "iter.call")
    return _ordered(vm, frame, args, spread, node)


def _ordered(vm: Machine, frame: Frame, args: Arguments, spread: Sequence, node: ast.AST) -> Sequence:
    """The elements in their order, as far as that is known: where what is compared is."""
    keys = _sort_keys(vm, frame, args, spread, node)
    _compared(vm, keys, node)
    reverse = args.keywords.get("reverse", FALSE)
    if spread.kind != "set" and keys.rest is None and isinstance(reverse, Const) and args.extra_keywords is None:
        with contextlib.suppress(TypeError, ValueError):
            values = [_computed(key) for key in keys.items]
            order = sorted(range(len(values)), key=values.__getitem__, reverse=bool(reverse.value))
            return Sequence("list", [spread.items[position] for position in order])
    members = list(spread.members())
    return Sequence("list", [], join_all(members), optional=spread.optional) if members else Sequence("list", [])


def _computed(value: Value) -> Any:
    """The Python object; raises ValueError where it is not known."""
    if isinstance(value, Const) and not holds_proxy_text(value):
        return value.value
    if isinstance(value, Sequence) and value.kind in {"tuple", "list"} and value.rest is None:
        items = [_computed(item) for item in value.items]
        return tuple(items) if value.kind == "tuple" else items
    raise ValueError


def _sort_keys(vm: Machine, frame: Frame, args: Arguments, spread: Sequence, node: ast.AST) -> Sequence:
    """What is compared to order the elements: they themselves, or what the function ``key`` makes of them."""
    key = args.keywords.get("key", NONE)
    if key is NONE:
        return spread
    keys = [calls.invoke(vm, frame, key, [item], node) for item in spread.items]
    return Sequence("list", keys, None if spread.rest is None else calls.invoke(vm, frame, key, [spread.rest], node))


def _compared(vm: Machine, spread: Sequence, node: ast.AST) -> None:
    """Comparing elements needs the truth of every result."""
    traced = next((item for item in spread.members() if isinstance(item, Traced)), None)
    if traced is not None and (len(spread.items) > 1 or spread.rest is not None):
        vm.event("bool.minmax", node, origin=traced.origin)


def _minmax(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if len(args.positional) == 1:
        spread = containers.iterate(vm, frame, args.positional[0], node, "iter.call")
    else:
        spread = Sequence("tuple", list(args.positional), args.extra)
    _compared(vm, _sort_keys(vm, frame, args, spread, node), node)
    members = list(spread.members())
    if members and all(isinstance(item, Const) for item in members) and spread.rest is None and not args.keywords:
        pick = max if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "max" else min
        return evaluate.fold(pick, *members) if len(members) > 1 else members[0]  # type: ignore[arg-type]
    return join_all(members) if any(may_be_traced(m) for m in members) else UNKNOWN


def _sum(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if value is None:
        return UNKNOWN
    spread = containers.iterate(vm, frame, value, node, "iter.call")
    traced = next((item for item in spread.members() if isinstance(item, Traced)), None)
    if traced is not None:
        return vm.traced(node, traced)
    if any(may_be_traced(item) for item in spread.members()):
        return MAYBE
    if any(isinstance(item, Tensor) for item in spread.members()):
        return REAL_TENSOR
    if spread.rest is None and all(isinstance(item, Const) for item in spread.items):
        return evaluate.fold(evaluate.total, *spread.items)  # type: ignore[arg-type]
    return UNKNOWN


def _quantified(every: bool) -> Model:
    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        value = args.get(0, "")
        if value is None:
            return UNKNOWN
        spread = containers.iterate(vm, frame, value, node, "iter.call")
        unknown = spread.rest is not None and not isinstance(spread.rest, Traced)
        for item in spread.members():
            verdict = decide.truth(vm, frame, item, node, "bool.minmax")
            if verdict.traced:
                return UNKNOWN
            if verdict.truth is None:
                unknown = True
            elif verdict.truth != every:
                return const(not every)
        return UNKNOWN if unknown else const(every)

    return model


def _type(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if isinstance(value, Traced):
        return External(PROXY)
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Const):
        return External(f"builtins.{type(value.value).__name__}")
    if isinstance(value, Sequence) and value.kind != "iterator":
        return External(f"builtins.{value.kind}")
    if isinstance(value, Mapping):
        return External("builtins.dict")
    if isinstance(value, Tensor):
        return External("torch.nn.Parameter" if value.parameter else "torch.Tensor")
    return UNKNOWN


def _super(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    cls, receiver = args.get(0, ""), args.get(1, "")
    return Super(cls, receiver) if isinstance(cls, Class) and receiver is not None else UNKNOWN


def _dict(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    result = Mapping({})
    given = args.get(0, "")
    if isinstance(given, Mapping):
        result = Mapping(dict(given.items), given.rest)
    elif given is not None:
        spread = containers.iterate(vm, frame, given, node, "iter.call")
        for position, pair in enumerate(spread.members()):
            key, value = containers.unpack(vm, frame, pair, 2, node, exact=False)
            if position < len(spread.items):
                containers.store(result, key, value)
            else:
                result.rest = value if result.rest is None else join(result.rest, value)
    for name, value in args.keywords.items():
        containers.store(result, Const(name), value)
    if args.extra_keywords is not None:
        result.rest = args.extra_keywords if result.rest is None else join(result.rest, args.extra_keywords)
    return result


NAMED_TUPLE: Final = "fxlint.named_tuple"


def _named_tuple(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """``collections.namedtuple(name, fields)``: a callable that makes tuples with these fields."""
    fields = args.get(1, "field_names")
    if isinstance(fields, Const) and isinstance(fields.value, str):
        fields = Sequence("tuple", [Const(name) for name in fields.value.replace(",", " ").split()])
    known = isinstance(fields, Sequence) and fields.rest is None and all(isinstance(i, Const) for i in fields.items)
    return Partial(External(NAMED_TUPLE), [fields], {}) if fields is not None and known else UNKNOWN


def _named_tuple_object(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    fields, *values = args.positional
    assert isinstance(fields, Sequence)
    names_ = [item.value for item in fields.items if isinstance(item, Const)]
    values.extend(args.keywords.get(name, UNKNOWN) for name in names_[len(values) :])
    return Sequence("tuple", values, fields=tuple(names_))


def _default_dict(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return Mapping({}, UNKNOWN, factory=args.get(0, "default_factory"))


def _iter(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if value is None:
        return UNKNOWN
    if isinstance(value, Sequence) and value.kind == "iterator":
        return value
    spread = containers.iterate(vm, frame, value, node, "iter.call")
    return Sequence("iterator", list(spread.items), spread.rest, optional=spread.optional)


def _next(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if isinstance(value, Sequence):
        members = list(value.members())
        fresh = isinstance(node, ast.Call) and isinstance(node.args[0], ast.GeneratorExp)
        if fresh and not members and len(args.positional) == 1:
            vm.event("raise.reached", node, exception="StopIteration")
        if value.kind == "iterator" and value.items:
            vm.heap.refill(value, value.items[1:], value.rest)
        return members[0] if members else args.get(1, "default") or UNKNOWN
    if isinstance(value, Traced):
        return measured(vm, "builtins.next", args, node)
    method_ = classes.find(vm, value.cls, "__next__") if isinstance(value, Instance) else None
    if isinstance(method_, Function) and value is not None:
        return calls.invoke(vm, frame, method_, [value], node)
    return MAYBE if args.may_hold_traced() else UNKNOWN


def _converted(name: str, function: Callable[..., Any]) -> Model:
    """int, float, bool, str, ...: measured for a Proxy, folded for constants."""

    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        if args.holds_traced():
            return measured(vm, name, args, node)
        for value in args.positional:
            silent.read(vm, value, node)
        if args.positional and all(isinstance(value, Const) for value in args.positional) and not args.keywords:
            return evaluate.fold(function, *args.positional)  # type: ignore[arg-type]
        if args.positional and len(args.positional) == 1 and isinstance(args.positional[0], Unknown):
            likely = args.positional[0].likely
            if isinstance(likely, Const):
                guess = evaluate.fold(function, likely)
                return Unknown(likely=guess if isinstance(guess, Const) else None)
        return UNKNOWN

    return model


def _text(name: str) -> Model:
    """str, repr: of a Proxy its name in the graph, known while tracing."""
    convert = _converted(name, str)

    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        result = convert(vm, frame, args, node)
        escapes.implicitly(vm, args.get(0, "object") or UNKNOWN, "__str__", "__repr__")
        if args.holds_traced():
            vm.note("silent.text", node, origin=_origin(args))
        return Const(PROXY_TEXT) if isinstance(args.get(0, "object"), Traced) and result is UNKNOWN else result

    return model


def _device(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if holds_proxy_text(args.get(0, "type")):
        vm.event("call.torch", node, exception="RuntimeError", callee="torch.device")
    return measured(vm, "torch.device", args, node)


def _bool(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if value is None:
        return FALSE
    verdict = decide.truth(vm, frame, value, node, "bool.call")
    return UNKNOWN if verdict.truth is None else const(verdict.truth)


def _is_tracing(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """True, but for ``torch.compile``: the other side of the condition is in no graph."""
    vm.note("silent.guard", node)
    return const(vm.tracing)


def _print(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if args.holds_traced():
        vm.note("silent.text", node, origin=_origin(args))
    return NONE


def _asks_for(name: str, yes: tuple[type[Value], ...], no: tuple[type[Value], ...] = ()) -> Model:
    """``callable`` and the like, which ask what kind of object they are given."""

    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        value = args.get(0, "object")
        if isinstance(value, Traced):
            if name == "builtins.callable":
                vm.note("silent.hasattr", node, origin=value.origin)
            return measured(vm, name, args, node)
        if isinstance(value, yes):
            return TRUE
        if isinstance(value, External) and vm.facts.kind(value.name) == "class":
            return const(Class in yes)
        if isinstance(value, Unknown) and value.likely is not None and value.likely is not value:
            return Unknown(likely=likely_of(model(vm, frame, Arguments([value.likely]), node)))
        return FALSE if isinstance(value, (Const, Sequence, Mapping, Tensor, *no)) else UNKNOWN

    return model


def _globals(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """``globals()``, and ``vars(module)``."""
    owner = args.get(0, "object")
    if owner is None:
        return Globals(frame.scope.module)
    return attributes.load(vm, frame, owner, "__dict__", node)


def _nothing(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return NONE


def _method_descriptor(kind: Literal["property", "staticmethod", "classmethod"]) -> Model:
    """``staticmethod(f)`` as a call."""

    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        function = args.get(0, "function" if kind != "property" else "fget")
        return UNKNOWN if function is None else Descriptor(kind, function)

    return model


def _partial(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if not args.positional:
        return UNKNOWN
    return Partial(args.positional[0], args.positional[1:], dict(args.keywords))


def _wraps(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    wrapped = args.get(0, "wrapped")
    return Wraps(wrapped) if wrapped is not None else UNKNOWN


def _reduce(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if len(args.positional) < 2:
        return UNKNOWN
    spread = containers.iterate(vm, frame, args.positional[1], node, "iter.call")
    values = [*args.positional[2:3], *spread.members()]
    if not values:
        return UNKNOWN
    result = values[0]
    for value in values[1:]:
        result = calls.invoke(vm, frame, args.positional[0], [result, value], node)
    return result


def _chain(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    result = Sequence("iterator", [])
    for value in args.positional:
        spread = _lazily(vm, frame, value, node)
        if result.rest is None:
            result.items.extend(spread.items)
            result.rest = spread.rest
        else:
            result.rest = join_all([result.rest, *spread.members()])
    return result


def _repeat(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value, times = args.get(0, "object"), args.get(1, "times")
    if value is None:
        return UNKNOWN
    if isinstance(times, Const) and isinstance(times.value, int) and 0 <= times.value <= MAX_RANGE:
        return Sequence("iterator", [value] * times.value)
    return Sequence("iterator", [], value)


def _deep_copy(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "x")
    own = classes.find(vm, value.cls, "__deepcopy__") if isinstance(value, Instance) else None
    if isinstance(own, Function) and value is not None:
        return calls.invoke(vm, frame, own, [value, Mapping({})], node)
    if isinstance(value, (Sequence, Mapping)) and args.holds_traced():
        vm.note("silent.copy", node, origin=_origin(args))
    return _copied(vm, args, node)


def _copy(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "x")
    own = classes.find(vm, value.cls, "__copy__") if isinstance(value, Instance) else None
    if isinstance(own, Function) and value is not None:
        return calls.invoke(vm, frame, own, [value], node)
    return _copied(vm, args, node)


def _copied(vm: Machine, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "x")
    if isinstance(value, Sequence):
        return Sequence(value.kind, list(value.items), value.rest, value.fields)
    if isinstance(value, Mapping):
        return Mapping(dict(value.items), value.rest)
    if isinstance(value, Instance):
        return Instance(
            value.cls,
            Attributes(value.attributes.items()),
            value.arguments,
            value.children,
            expression=value.expression,
            open=value.open,
        )
    if value is not None and args.holds_traced():
        vm.note("silent.copy", node, origin=_origin(args))
        return vm.traced(node, first_traced(args))
    return value if value is not None else UNKNOWN


def _find_spec(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    name = args.get(0, "name")
    if isinstance(name, Const) and isinstance(name.value, str) and vm.project.has_packages:
        if not vm.project.exists(name.value) and name.value.partition(".")[0] not in {"torch", "numpy"}:
            return NONE
        return Unknown(truth=True, is_none=False)
    return UNKNOWN


def _import_module(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """A module that is imported by its full name, where it is installed."""
    name = args.get(0, "name")
    if not (isinstance(name, Const) and isinstance(name.value, str)) or name.value.startswith("."):
        return UNKNOWN
    if not vm.project.exists(name.value) and name.value.partition(".")[0] not in names.LIBRARIES:
        return UNKNOWN
    return names.import_module(vm, name.value)


def _environment(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """Environment variables are taken not to be set."""
    return args.get(1, "default") or NONE


def _checkpoint(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """``torch.utils.checkpoint.checkpoint(f, x)`` calls f, which is traced through."""
    function = args.get(0, "function")
    if function is None:
        return MAYBE
    vm.note("silent.checkpoint", node)
    own = {"use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop"}
    keywords = {name: value for name, value in args.keywords.items() if name not in own and name != "function"}
    return calls.call(vm, frame, function, Arguments(args.positional[1:], keywords, args.extra), node)


def _checkpoint_sequential(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """``torch.utils.checkpoint.checkpoint_sequential(functions, segments, x)`` calls them one after the other."""
    functions, given = args.get(0, "functions"), args.get(2, "input")
    if functions is None or given is None:
        return MAYBE
    vm.note("silent.checkpoint", node)
    if not isinstance(functions, Sequence):
        return calls.invoke(vm, frame, functions, [given], node)
    for function in functions.members():
        given = calls.invoke(vm, frame, function, [given], node)
    return given


def _parameter(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if args.holds_traced():
        return measured(vm, "torch.nn.Parameter", args, node)
    return Tensor(parameter=True)


def _size(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if args.holds_traced():
        return measured(vm, "torch.Size", args, node)
    value = args.get(0, "")
    return Sequence("tuple", list(value.items), value.rest) if isinstance(value, Sequence) else UNKNOWN


def _script(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "obj")
    if isinstance(value, Instance):
        return Instance(External("torch.jit.RecursiveScriptModule"), open=True, expression=value.expression)
    if isinstance(value, (Function, Decorated)):
        return decorate(vm, External("torch.jit.script"), value, node)
    return UNKNOWN


def _same_module(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return args.get(0, "module") or UNKNOWN


def _annotated(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return args.get(1, "the_value") or UNKNOWN


def _object(name: str) -> Model:
    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        function = args.get(0, "")
        if isinstance(function, (Function, Decorated)) and len(args.positional) == 1:
            return decorate(vm, External(name), function, node)  # a bare decorator
        if args.holds_traced():
            measured(vm, name, args, node)
        return Instance(External(name), Attributes(), dict(args.keywords), open=True, expression=name)

    return model


def _lru_cache(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    function = args.get(0, "user_function")
    return function if isinstance(function, (Function, Decorated, Bound)) else External("functools.cache")


def _operator(op: ast.operator | ast.cmpop | ast.unaryop) -> Model:
    """``operator.add(a, b)`` and the like: what the operator does itself."""

    def model(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
        if len(args.positional) != (1 if isinstance(op, ast.unaryop) else 2):
            return UNKNOWN
        first, last = args.positional[0], args.positional[-1]
        if isinstance(op, ast.unaryop):
            return evaluate.unary(vm, op, first, node)
        if isinstance(op, ast.operator):
            return evaluate.binary(vm, frame, op, first, last, node)
        left, right = (last, first) if isinstance(op, ast.In) else (first, last)
        return decide.compare(vm, frame, op, left, right, node)

    return model


_OPERATORS: Final[dict[str, ast.operator | ast.cmpop | ast.unaryop]] = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div(), "floordiv": ast.FloorDiv(),
    "mod": ast.Mod(), "pow": ast.Pow(), "matmul": ast.MatMult(), "and_": ast.BitAnd(), "or_": ast.BitOr(),
    "xor": ast.BitXor(), "lshift": ast.LShift(), "rshift": ast.RShift(),
    "eq": ast.Eq(), "ne": ast.NotEq(), "lt": ast.Lt(), "le": ast.LtE(), "gt": ast.Gt(), "ge": ast.GtE(),
    "is_": ast.Is(), "is_not": ast.IsNot(), "contains": ast.In(),
    "neg": ast.USub(), "pos": ast.UAdd(), "invert": ast.Invert(), "inv": ast.Invert(),
}  # fmt: skip


def _not(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return decide.negated_if(True, _bool(vm, frame, args, node))


def _index(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "")
    if isinstance(value, Traced):
        vm.event("index.call", node, origin=value.origin, exception="TypeError")
    return value if isinstance(value, (Const, Unknown)) else UNKNOWN


def _get_item(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    container, key = args.get(0, ""), args.get(1, "")
    return UNKNOWN if container is None or key is None else containers.item(vm, frame, container, key, node)


def _set_item(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if len(args.positional) == 3:
        container, key, value = args.positional
        containers.set_item(vm, frame, container, key, value, node)
    return NONE


def _slice(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    if args.extra is not None or not 1 <= len(args.positional) <= 3:
        return UNKNOWN
    bounds = args.positional if len(args.positional) > 1 else [NONE, *args.positional]
    return Slice(bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else NONE)


def _exec(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    escapes.given(vm, args.values())
    return NONE


def _cast(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    return args.get(1, "val") or UNKNOWN


def _fields(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    """``dataclasses.fields``: of a class or of an object."""
    cls = _class_of(args.get(0, "class_or_instance"))
    if not isinstance(cls, Class) or not cls.complete:
        return UNKNOWN
    return Sequence("tuple", [_field(vm, cls, name) for name in classes.dataclass_fields(vm, cls)])


def _field(vm: Machine, cls: Class, name: str) -> Instance:
    default = classes.find(vm, cls, name)
    content = Attributes([("name", Const(name)), ("default", UNKNOWN if default is None else default)])
    return Instance(External("dataclasses.Field"), content, open=True)


def _is_dataclass(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Value:
    cls = _class_of(args.get(0, "obj"))
    if isinstance(cls, Class):
        return TRUE if classes.dataclass_fields(vm, cls) else UNKNOWN
    return UNKNOWN


def _class_of(value: Value | None) -> Value | None:
    return value.cls if isinstance(value, Instance) else value


_CONTEXTS: Final = (
    "torch.no_grad torch.enable_grad torch.inference_mode torch.set_grad_enabled torch.autocast torch.amp.autocast "
    "torch.cuda.amp.autocast torch.cpu.amp.autocast torch.profiler.record_function "
    "torch.autograd.profiler.record_function contextlib.nullcontext contextlib.suppress contextlib.ExitStack"
).split()

RETURN_THEIR_MODULE: Final = (
    "torch.nn.utils.weight_norm torch.nn.utils.spectral_norm torch.nn.utils.remove_weight_norm "
    "torch.nn.utils.remove_spectral_norm torch.nn.utils.parametrizations.weight_norm "
    "torch.nn.utils.parametrizations.spectral_norm torch.nn.utils.parametrizations.orthogonal "
    "torch.nn.utils.parametrize.register_parametrization"
).split()

_MODELS: Final[dict[str, Model]] = {
    "builtins.len": _len,
    "builtins.isinstance": _isinstance,
    "torch.jit.isinstance": _isinstance,
    "torch.is_tensor": _is_tensor,
    "builtins.issubclass": _issubclass,
    "builtins.hasattr": _hasattr,
    "builtins.getattr": _getattr,
    "torch.device": _device,
    "builtins.setattr": _setattr,
    "builtins.object.__setattr__": _setattr,
    "torch.nn.Module.__setattr__": _setattr,
    "builtins.delattr": _delattr,
    "builtins.object.__delattr__": _delattr,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.reversed": _reversed,
    "builtins.sorted": _sorted,
    "builtins.list": _copy_to("list"),
    "builtins.tuple": _copy_to("tuple"),
    "builtins.set": _copy_to("set"),
    "builtins.frozenset": _copy_to("set"),
    "collections.deque": _copy_to("list"),
    "collections.namedtuple": _named_tuple,
    NAMED_TUPLE: _named_tuple_object,
    "builtins.dict": _dict,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _default_dict,
    "builtins.iter": _iter,
    "builtins.next": _next,
    "builtins.sum": _sum,
    "builtins.min": _minmax,
    "builtins.max": _minmax,
    "builtins.any": _quantified(False),
    "builtins.all": _quantified(True),
    "builtins.print": _print,
    "builtins.type": _type,
    "builtins.callable": _asks_for("builtins.callable", (Function, Bound, Class, Partial, Decorated)),
    "inspect.isfunction": _asks_for("inspect.isfunction", (Function,), (Bound, Class, Partial, Instance)),
    "inspect.isclass": _asks_for("inspect.isclass", (Class,), (Function, Bound, Partial, Decorated, Instance)),
    "builtins.globals": _globals,
    "builtins.vars": _globals,
    "builtins.super": _super,
    "builtins.bool": _bool,
    "builtins.int": _converted("builtins.int", int),
    "builtins.float": _converted("builtins.float", float),
    "builtins.str": _text("builtins.str"),
    "builtins.repr": _text("builtins.repr"),
    "builtins.abs": _converted("builtins.abs", abs),
    "builtins.round": _converted("builtins.round", round),
    "builtins.pow": _converted("builtins.pow", pow),
    "builtins.divmod": _converted("builtins.divmod", divmod),
    "builtins.property": _method_descriptor("property"),
    "builtins.staticmethod": _method_descriptor("staticmethod"),
    "builtins.classmethod": _method_descriptor("classmethod"),
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "functools.reduce": _reduce,
    "functools.lru_cache": _lru_cache,
    "functools.cache": _lru_cache,
    "itertools.chain": _chain,
    "itertools.repeat": _repeat,
    "copy.copy": _copy,
    "copy.deepcopy": _deep_copy,
    "dataclasses.fields": _fields,
    "dataclasses.is_dataclass": _is_dataclass,
    "importlib.util.find_spec": _find_spec,
    "importlib.import_module": _import_module,
    "os.getenv": _environment,
    "os.environ.get": _environment,
    "typing.cast": _cast,
    "warnings.warn": _nothing,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.utils.checkpoint.checkpoint_sequential": _checkpoint_sequential,
    "torch.fx._symbolic_trace.is_fx_tracing": _is_tracing,
    "torch.fx._symbolic_trace.is_fx_symbolic_tracing": _is_tracing,
    "torch.nn.Parameter": _parameter,
    "torch.Size": _size,
    "torch.jit.script": _script,
    "torch.jit.annotate": _annotated,
    **{name: _object(name) for name in _CONTEXTS},
    **dict.fromkeys(RETURN_THEIR_MODULE, _same_module),
    "builtins.exec": _exec,
    "builtins.slice": _slice,
    "operator.not_": _not,
    "operator.truth": _bool,
    "operator.index": _index,
    "operator.getitem": _get_item,
    "operator.setitem": _set_item,
    **{f"operator.{name}": _operator(op) for name, op in _OPERATORS.items()},
}
