"""Tuples, lists, dictionaries, and everything that iterates, indexes or assigns."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Hashable
from typing import Any, Final

from fxlint.predict import attributes, calls, classes, evaluate, library, names, silent
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    MAYBE,
    NONE,
    REAL_TENSOR,
    UNKNOWN,
    Bound,
    Class,
    Const,
    External,
    Function,
    Globals,
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
    const,
    extended,
    holds_traced,
    is_of_tracing,
    join,
    join_all,
    key_of,
    likely_of,
    may_be_traced,
    parts_of,
)

MAX_ITEMS: Final = 64
MOST_ITEMS: Final = 4096
"""That are told apart, of one sequence: lists may double in a loop."""
STRING_ITEMS: Final = 64


# -- iterating --------------------------------------------------------------------------------------------------------


def iterate(
    vm: Machine, frame: Frame, value: Value, node: ast.AST, kind: str, whole: ast.AST | None = None
) -> Sequence:
    """The elements that a loop over ``value`` sees. A Proxy is an event of ``kind``, then any number of Proxies."""
    if isinstance(value, Sequence):
        return taken(vm, value) if value.kind == "iterator" and is_named(node) else value
    if isinstance(value, Traced):
        vm.event(kind, whole if whole is not None else node, origin=value.origin)
        return Sequence("tuple", [], vm.traced(node, value))
    if isinstance(value, Mapping):
        rest = UNKNOWN if value.rest is not None else None
        return Sequence("tuple", [pair[0] for pair in value.items.values()], rest)
    if isinstance(value, Const):
        if isinstance(value.value, (str, bytes)):
            return Sequence("tuple", [Const(part) for part in value.value[:STRING_ITEMS]])
        vm.event("raise.type", node, exception="TypeError")
        return Sequence("tuple", [], UNKNOWN)
    if isinstance(value, Instance):
        return _iterate_instance(vm, frame, value, node, kind)
    if isinstance(value, Union):
        return _iterate_union(vm, frame, value, node, kind)
    if isinstance(value, Tensor):
        silent.read(vm, value, node)
        return Sequence("tuple", [], REAL_TENSOR)
    if isinstance(value, Unknown):
        calls.refuse_default_none(vm, value, node)
        likely = value.likely
        if isinstance(likely, Sequence) and likely.items and likely.rest is None and not value.maybe:
            items = [Unknown(likely=item) if isinstance(item, Const) else item for item in likely.items]
            return Sequence("tuple", list(items))
        layers = likely.children if isinstance(likely, Instance) and not value.maybe else None
        if isinstance(layers, Sequence) and (layers.items or layers.rest is not None):
            return Sequence("tuple", [], Unknown(likely=join_all(layers.members())))
        return Sequence("tuple", [], MAYBE if value.maybe else UNKNOWN)
    if isinstance(value, Class):
        return Sequence("tuple", list(classes.enum_members(vm, value)), None if classes.is_enum(vm, value) else UNKNOWN)
    return Sequence("tuple", [], UNKNOWN)


def taken(vm: Machine, iterator: Sequence, lazily: bool = False) -> Sequence:
    """All that an iterator has left, which it has no more; or perhaps, where that is done step by step."""
    found = Sequence("iterator", iterator.items, iterator.rest, optional=iterator.optional)
    vm.heap.refill(iterator, [], join_all([*iterator.members(), UNKNOWN]) if lazily else None)
    return found


def is_named(node: ast.AST) -> bool:
    """Whether others may ask for what an iterator has left that is looked at here."""
    parts = node.args if isinstance(node, ast.Call) else [node]
    return any(isinstance(part, (ast.Name, ast.Attribute)) for part in parts)


def _iterate_instance(vm: Machine, frame: Frame, value: Instance, node: ast.AST, kind: str) -> Sequence:
    method = classes.find(vm, value.cls, "__iter__")
    if isinstance(method, Function):
        result = calls.invoke(vm, frame, method, [value], node)
        if result is value:
            return Sequence("tuple", [], UNKNOWN)
        return iterate(vm, frame, result, node, kind)
    if isinstance(value.children, Sequence):
        items = [attributes.as_seen(vm, value, child, node) for child in value.children.items]
        return Sequence("tuple", items, value.children.rest, optional=value.children.optional)
    if isinstance(value.children, Mapping):
        return iterate(vm, frame, value.children, node, kind)
    return Sequence("tuple", [], UNKNOWN)


def _iterate_union(vm: Machine, frame: Frame, value: Union, node: ast.AST, kind: str) -> Sequence:
    spreads: list[Sequence] = []

    def option(value: Value) -> bool:
        spreads.append(iterate(vm, frame, value, node, kind))
        return True

    for one in value.options:
        if not (isinstance(one, Const) and one.value is None):
            vm.fork(node, lambda one=one: option(one), lambda: True)  # type: ignore[misc]
    if len(spreads) == 1:
        return spreads[0]
    lengths = {len(spread.items) for spread in spreads if spread.rest is None}
    if spreads and len(lengths) == 1 and all(spread.rest is None for spread in spreads):
        return Sequence("tuple", [join_all(column) for column in zip(*(s.items for s in spreads), strict=True)])
    return Sequence("tuple", [], join_all(member for spread in spreads for member in spread.members()))


def unpack(vm: Machine, frame: Frame, value: Value, count: int, node: ast.AST, exact: bool = True) -> list[Value]:
    """``count`` values of ``a, b = value``. A Proxy gives Proxies: the tracer reads the count from the bytecode."""
    if isinstance(value, Traced):
        return [vm.traced(node, value) for _ in range(count)]
    if isinstance(value, Union):
        columns = [unpack(vm, frame, option, count, node, exact=False) for option in value.options]
        return [join_all(column) for column in zip(*columns, strict=True)]
    if isinstance(value, Unknown):
        likely = value.likely
        if isinstance(likely, Sequence) and len(likely.items) >= count:
            return [Unknown(value.maybe, likely=item) for item in likely.items[:count]]
        return [MAYBE if value.maybe else UNKNOWN] * count
    if isinstance(value, Const) and not isinstance(value.value, (str, bytes)) and exact:
        vm.event("raise.type", node, exception="TypeError")
        return [UNKNOWN] * count
    spread = iterate(vm, frame, value, node, "iter.call")
    filler = spread.rest if spread.rest is not None else UNKNOWN
    if exact and spread.rest is None and len(spread.items) != count and isinstance(value, Sequence):
        vm.event("raise.type", node, exception="ValueError")
    return [*spread.items[:count], *[filler] * (count - len(spread.items))]


# -- assigning --------------------------------------------------------------------------------------------------------


def assign(vm: Machine, frame: Frame, target: ast.expr, value: Value) -> None:
    """``target = value`` for every kind of target."""
    if isinstance(target, ast.Name):
        bind(vm, frame, target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        _assign_parts(vm, frame, target, value)
    elif isinstance(target, ast.Attribute):
        attributes.store(vm, frame, evaluate.expression(vm, frame, target.value), target.attr, value, target)
    elif isinstance(target, ast.Subscript):
        container = evaluate.expression(vm, frame, target.value)
        key = evaluate.expression(vm, frame, target.slice)
        set_item(vm, frame, container, key, value, target)
    elif isinstance(target, ast.Starred):
        assign(vm, frame, target.value, value)


def bind(vm: Machine, frame: Frame, name: str, value: Value) -> None:
    scope = frame.scope
    if name in frame.outer_names:
        outer = frame.outer_names[name]
        if outer is None:
            vm.set_global(frame.scope.module, name, value)
            return
        scope = outer
        vm.local_reads += 1  # no summary tells of it
    vm.heap.put(scope.vars, name, value)


def _assign_parts(vm: Machine, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    star = next((i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)), None)
    if star is None:
        for part, item in zip(target.elts, unpack(vm, frame, value, len(target.elts), target), strict=True):
            assign(vm, frame, part, item)
        return
    spread = iterate(vm, frame, value, target, "iter.unpack")
    after = len(target.elts) - star - 1
    filler = spread.rest if spread.rest is not None else UNKNOWN
    if spread.rest is None and len(spread.items) >= len(target.elts) - 1:
        end = len(spread.items) - after
        middle: Value = Sequence("list", spread.items[star:end])
        values = [*spread.items[:star], middle, *spread.items[end:]]
    else:
        head = [*spread.items[:star], *[filler] * (star - len(spread.items))]
        values = [*head, Sequence("list", [], join_all([*spread.items[star:], filler])), *[filler] * after]
    for part, item in zip(target.elts, values, strict=True):
        assign(vm, frame, part, item)


def set_item(vm: Machine, frame: Frame, container: Value, key: Value, value: Value, node: ast.AST) -> None:
    """``container[key] = value``."""
    if isinstance(container, Traced):
        vm.event("setitem.assign", node, origin=container.origin, exception="TypeError")
    elif isinstance(container, Sequence) and container.kind == "list":
        silent.put(vm, container, value, node)
        _set_list_item(vm, container, key, value, node)
    elif isinstance(container, Mapping):
        silent.put(vm, container, value, node)
        if key_of(key) is None:
            vm.heap.refill(container, container.items, value if container.rest is None else join(container.rest, value))
        else:
            vm.heap.refill(container, {**container.items, _key(key): (key, value)}, container.rest)
    elif isinstance(container, Instance):
        method = classes.find(vm, container.cls, "__setitem__")
        if isinstance(method, Function):
            calls.invoke(vm, frame, method, [container, key, value], node)
        elif container.children is not None:
            classes.register(value)
            set_item(vm, frame, container.children, key, value, node)
    elif isinstance(container, Globals):
        if isinstance(key, Const):
            vm.set_global(container.module, str(key.value), value)
    elif isinstance(container, Tensor):
        silent.set_item_of_tensor(vm, key, value, node)
        library.operation(vm, "setitem", [container, key, value], node)
    elif isinstance(container, Union):
        for option in container.options:
            if not isinstance(option, Const):
                vm.fork(node, lambda one=option: set_item(vm, frame, one, key, value, node) or True, lambda: True)  # type: ignore[misc,func-returns-value]


def _set_list_item(vm: Machine, container: Sequence, key: Value, value: Value, node: ast.AST) -> None:
    if isinstance(key, Traced):
        vm.event("index.subscript", node, origin=key.origin, exception="TypeError")
    elif isinstance(key, Slice):
        _set_slice(vm, container, key, value, node)
    elif _within(container, key):
        assert isinstance(key, Const)
        items = list(container.items)
        items[key.value] = value
        vm.heap.refill(container, items, container.rest)
    else:
        items = [join(item, value) for item in container.items]
        rest = None if container.rest is None else join(container.rest, value)
        vm.heap.refill(container, items, rest)


def _set_slice(vm: Machine, container: Sequence, key: Slice, value: Value, node: ast.AST) -> None:
    more = iterate(vm, vm.frame, value, node, "iter.call")
    if container.rest is None and more.rest is None and all(isinstance(part, Const) for part in key.parts()):
        items = list(container.items)
        with contextlib.suppress(TypeError, ValueError):
            items[slice(*(part.value for part in key.parts() if isinstance(part, Const)))] = more.items
            told_apart = concatenated(Sequence("list", []), Sequence("list", items))
            vm.heap.refill(container, told_apart.items, told_apart.rest)
    else:
        vm.heap.refill(container, [], join_all([*container.members(), *more.members()]))


def append(vm: Machine, target: Sequence, value: Value) -> None:
    """``target.append(value)``."""
    if target.rest is None:
        vm.heap.refill(target, [*target.items, value], None)
    else:
        vm.heap.refill(target, target.items, extended(target.rest, [Part(value)]))


def _within(container: Sequence, key: Value) -> bool:
    """Whether the key is a known index of a known item."""
    size = len(container.items)
    return isinstance(key, Const) and isinstance(key.value, int) and -size <= key.value < size


def delete_item(vm: Machine, frame: Frame, container: Value, key: Value, node: ast.AST) -> None:
    if isinstance(container, Traced):
        vm.event("setitem.delete", node, origin=container.origin, exception="TypeError")
    elif isinstance(container, Instance):
        method = classes.find(vm, container.cls, "__delitem__")
        if isinstance(method, Function):
            calls.invoke(vm, frame, method, [container, key], node)
        elif container.children is not None:
            delete_item(vm, frame, container.children, key, node)
    elif isinstance(container, Sequence) and container.rest is None and _within(container, key):
        assert isinstance(key, Const)
        left = list(container.items)
        del left[key.value]
        vm.heap.refill(container, left, None)
    elif isinstance(container, Mapping) and key_of(key) is not None:
        items = dict(container.items)
        items.pop(_key(key), None)
        vm.heap.refill(container, items, container.rest)
    elif isinstance(container, (Sequence, Mapping)):
        whole = join_all(container.members()) if isinstance(container, Sequence) else container.rest or UNKNOWN
        if isinstance(container, Sequence):
            vm.heap.refill(container, [], whole)
        else:
            vm.heap.refill(container, {}, join_all([*(p[1] for p in container.items.values()), whole]))


def slot(vm: Machine, frame: Frame, place: ast.expr) -> tuple[dict[Any, Any], Hashable] | None:
    """Where a name or attribute keeps its value, for conditions that narrow it; evaluates nothing."""
    if isinstance(place, ast.Name):
        scope = frame.scope
        while place.id not in scope.vars:
            if scope.parent is None:
                return None
            scope = scope.parent
        return scope.vars, place.id
    if isinstance(place, ast.Attribute):
        owner = stored_at(vm, frame, place.value)
        if isinstance(owner, Instance) and place.attr in owner.attributes:
            return owner.attributes, place.attr
    return None


def stored_at(vm: Machine, frame: Frame, place: ast.expr) -> Value | None:
    """What a name or attribute holds, evaluating nothing."""
    found = slot(vm, frame, place)
    return None if found is None else found[0][found[1]]


# -- indexing ---------------------------------------------------------------------------------------------------------


def _key(value: Value) -> Hashable:
    key = key_of(value)
    assert key is not None
    return key


def store(target: Mapping, key: Value, value: Value) -> None:
    """Put an entry into a mapping that nobody else has seen yet."""
    if key_of(key) is None:
        target.rest = value if target.rest is None else join(target.rest, value)
    else:
        target.items[_key(key)] = (key, value)


def item(vm: Machine, frame: Frame, container: Value, key: Value, node: ast.AST) -> Value:
    """``container[key]``."""
    if isinstance(container, Traced):
        return vm.traced(node, container)
    if isinstance(container, Sequence):
        return sequence_item(vm, container, key, node)
    if isinstance(container, Mapping):
        return mapping_item(vm, container, key, node)
    if isinstance(container, Instance):
        return _instance_item(vm, frame, container, key, node)
    if isinstance(container, Tensor):
        if not may_be_traced(key) and not holds_traced(key):
            return silent.derived(vm, (container,), node)
        return library.operation(vm, "getitem", [container, key], node)
    if isinstance(container, Union):
        return calls.each(vm, container.options, lambda option: item(vm, frame, option, key, node), node)
    if isinstance(container, Const):
        return _constant_item(vm, container, key, node)
    if isinstance(container, Globals):
        return global_item(vm, container, key) or UNKNOWN
    if isinstance(container, External) and container.name == "sys.modules":
        return names.import_module(vm, str(key.value)) if isinstance(key, Const) else UNKNOWN
    if isinstance(container, Class) and classes.is_enum(vm, container):
        return classes.enum_member_named(vm, container, key)
    if isinstance(container, (Class, External)):
        return container  # a subscripted generic: List[int]
    if isinstance(container, Unknown):
        if container.maybe:
            return MAYBE
        if isinstance(key, Traced):
            vm.unresolvable("subscript by a traced value", node)
            return UNKNOWN
        calls.refuse_default_none(vm, container, node)
        if isinstance(container.likely, (Sequence, Mapping, Const)):
            with vm.untraced():
                likely = item(vm, frame, container.likely, likely_of(key) or UNKNOWN, node)
            return Unknown(likely=likely_of(likely))
        return UNKNOWN
    if isinstance(container, (Bound, Function)):
        vm.event("raise.type", node, exception="TypeError")
        return UNKNOWN
    return UNKNOWN


def global_item(vm: Machine, container: Globals, key: Value) -> Value | None:
    """``globals()[key]``; None where the module has no such name."""
    if isinstance(key, Const):
        return names.member(vm, container.module, str(key.value))
    likely = likely_of(key)
    found = names.member(vm, container.module, str(likely.value)) if isinstance(likely, Const) else None
    return UNKNOWN if found is None else Unknown(likely=found)


def _constant_item(vm: Machine, container: Const, key: Value, node: ast.AST) -> Value:
    if isinstance(container.value, (str, bytes)):
        if isinstance(key, Const) and isinstance(key.value, int):
            return evaluate.fold(operator.getitem, container, key)
        if isinstance(key, Slice) and all(isinstance(part, Const) for part in key.parts()):
            return evaluate.fold(lambda text, *parts: text[slice(*parts)], container, *key.parts())  # type: ignore[arg-type]
        return UNKNOWN
    vm.event("raise.type", node, exception="TypeError")
    return UNKNOWN


def sequence_item(vm: Machine, container: Sequence, key: Value, node: ast.AST) -> Value:
    """Index or slice a tuple or list; a traced index fails in ``__index__``."""
    if isinstance(key, Traced):
        vm.event("index.subscript", node, origin=key.origin, exception="TypeError")
        return join_all(container.members()) if container.items or container.rest is not None else UNKNOWN
    if isinstance(key, Slice):
        return _sequence_slice(vm, container, key, node)
    if isinstance(key, Const) and isinstance(key.value, int):
        index = key.value
        if container.rest is None:
            if -len(container.items) <= index < len(container.items):
                return container.items[index]
            vm.event("raise.type", node, exception="IndexError")
            return UNKNOWN
        if 0 <= index < len(container.items):
            return container.items[index]
        return container.rest if index >= 0 or not container.items else join_all(container.members())
    likely = likely_of(key)
    if container.rest is None and likely is not None and _within(container, likely):
        assert isinstance(likely, Const)
        return join(join_all(container.items), container.items[likely.value], container.items[likely.value])
    return join_all(container.members()) if container.items or container.rest is not None else UNKNOWN


def _sequence_slice(vm: Machine, container: Sequence, key: Slice, node: ast.AST) -> Value:
    kind = "tuple" if container.kind == "tuple" else "list"
    traced = next((part for part in key.parts() if isinstance(part, Traced)), None)
    if traced is not None:
        vm.event("index.slice", node, origin=traced.origin, exception="TypeError")
    elif container.rest is None and all(isinstance(part, Const) for part in key.parts()):
        lower, upper, step = (part.value for part in key.parts() if isinstance(part, Const))
        try:
            return Sequence(kind, container.items[slice(lower, upper, step)])  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return UNKNOWN
    elif container.rest is not None and isinstance(key.lower, Const) and key.upper is NONE and key.step is NONE:
        lower = key.lower.value or 0
        if isinstance(lower, int) and lower >= 0:
            optional = container.optional or lower > len(container.items)  # nothing may be left
            return Sequence(kind, container.items[lower:], container.rest, optional=optional)  # type: ignore[arg-type]
    if not container.items and container.rest is None:
        return Sequence(kind, [])  # type: ignore[arg-type]
    return Sequence(kind, [], join_all(container.members()))  # type: ignore[arg-type]


def mapping_item(vm: Machine, container: Mapping, key: Value, node: ast.AST) -> Value:
    """Look a key up; a Proxy as key is never found."""
    if is_of_tracing(key) and key_of(key) not in container.items:
        origin = key.origin if isinstance(key, Traced) else None
        if container.factory is not None:
            silent.looked_up(vm, key, node)
            return calls.invoke(vm, vm.frame, container.factory, [], node)
        vm.event("key.lookup", node, origin=origin, exception="KeyError")
        return _any_entry(container)
    known = key_of(key)
    if known is not None and known in container.items:
        return container.items[known][1]
    if known is not None and container.rest is None:
        vm.event("raise.type", node, exception="KeyError")
        return MAYBE  # a Proxy as key was not found when it was stored
    if known is not None and container.rest is not None:
        return container.rest
    likely = key_of(likely_of(key) or UNKNOWN)
    if likely is not None and likely in container.items:
        entry = container.items[likely][1]
        return join(_any_entry(container), entry, entry)
    if vm.is_caught("KeyError"):
        return vm.choose(node, lambda: _any_entry(container), lambda: vm.throw("KeyError", node))
    return _any_entry(container)


def _any_entry(container: Mapping) -> Value:
    return join_all(container.entries())


def _instance_item(vm: Machine, frame: Frame, container: Instance, key: Value, node: ast.AST) -> Value:
    method = classes.find(vm, container.cls, "__getitem__")
    if isinstance(method, Function):
        return calls.invoke(vm, frame, method, [container, key], node)
    children = container.children
    if isinstance(children, Mapping):
        missing = classes.find(vm, container.cls, "__missing__")
        if isinstance(missing, Function) and key_of(key) not in children.items and children.rest is None:
            return calls.invoke(vm, frame, missing, [container, key], node)
        return attributes.as_seen(vm, container, mapping_item(vm, children, key, node), node)
    if isinstance(children, Sequence):
        found = sequence_item(vm, children, key, node)
        if isinstance(found, Sequence):
            return Instance(container.cls, children=found, registered=False, expression="slice")
        return attributes.as_seen(vm, container, found, node)
    if method is None and isinstance(container.cls, Class) and container.cls.complete and not container.open:
        vm.event("raise.type", node, exception="TypeError")
        return UNKNOWN
    return MAYBE if holds_traced(key) else UNKNOWN


def concatenated(left: Sequence, right: Sequence) -> Sequence:
    """A new sequence of the kind of ``left``; of very many items the last ones are not told apart."""
    if left.rest is not None:
        added = [*map(Part, right.items), *parts_of(right.rest)]
        return Sequence(left.kind, list(left.items), extended(left.rest, added))
    items = [*left.items, *right.items]
    if len(items) <= MOST_ITEMS:
        return Sequence(left.kind, items, right.rest)
    last = [*items[MOST_ITEMS:], *([right.rest] if right.rest is not None else [])]
    return Sequence(left.kind, items[:MOST_ITEMS], join_all(last))


def combine(op: ast.operator, left: Value, right: Value) -> Value:
    """``+`` and ``*`` on tuples and lists."""
    if isinstance(op, ast.Add) and isinstance(left, Sequence):
        if isinstance(right, Sequence):
            return concatenated(left, right)
        return Sequence(left.kind, list(left.items), join(left.rest, UNKNOWN) if left.rest is not None else UNKNOWN)
    if isinstance(op, ast.Add) and isinstance(right, Sequence):
        return Sequence(right.kind, [], join_all([*right.members(), UNKNOWN]))
    if isinstance(op, ast.Mult):
        sequence, count = (left, right) if isinstance(left, Sequence) else (right, left)
        assert isinstance(sequence, Sequence)
        times = count.value if isinstance(count, Const) and isinstance(count.value, int) else None
        if times is not None and sequence.rest is None and len(sequence.items) * times <= MAX_ITEMS:
            return Sequence(sequence.kind, sequence.items * times)
        if not sequence.items and sequence.rest is None:
            return Sequence(sequence.kind, [])
        likely = likely_of(count)
        none = isinstance(likely, Const) and likely.value == 0
        return Sequence(sequence.kind, [], join_all(sequence.members()), optional=none)
    return UNKNOWN


def length(value: Value) -> Value:
    """``len()`` of a container without Proxies."""
    if isinstance(value, Sequence):
        return const(len(value.items)) if value.rest is None else UNKNOWN
    if isinstance(value, Mapping):
        return const(len(value.items)) if value.rest is None else UNKNOWN
    if isinstance(value, Const) and isinstance(value.value, (str, bytes)):
        return const(len(value.value))
    if isinstance(value, Unknown) and isinstance(value.likely, (Sequence, Mapping)):
        return Unknown(likely=length(value.likely))
    return MAYBE if may_be_traced(value) else UNKNOWN
