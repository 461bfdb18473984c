"""The value domain: what an expression is *at trace time*.

The question is never "what type has this" but "is it a Proxy while symbolic tracing runs". ``Traced`` must be one,
``Unknown`` may be one when ``maybe`` is set, everything else is an ordinary Python object that the tracer never sees.
Containers and instances are mutable and belong to the heap (see ``heap.py``); all other values never change.

Values are compared by identity: two equal-looking values may have come by different ways.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard

from fxlint.project.source import SourceFile

if TYPE_CHECKING:
    from fxlint.predict.machine import Guard
    from fxlint.predict.scopes import ModuleScope, Scope

MAX_OPTIONS: Final = 6
MAX_PARTS: Final = 8
"""The layers of a list that are told apart."""
MAX_FUNCTIONS: Final = 48
"""The functions of a dispatch table, all of which are looked at where one is picked by a name that is not known."""
PROXY: Final = "torch.fx.proxy.Proxy"
PROXY_TEXT: Final = "Proxy(...)"
"""What stands where a Proxy was made into text, which is its name in the graph."""


clock = itertools.count(1).__next__
"""Counts the mutable objects that are made, which tells older ones from younger ones."""
GLOBAL: Final = 0
"""The birth of what a module or a class holds: any code can reach it."""
SHARED: Final = -1
"""The birth of objects that stand for all that are built with equal arguments, whichever root builds them."""


class Value:
    """Anything an expression can evaluate to."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Const(Value):
    """A known immutable Python object: None, bool, int, float, complex, str, bytes, Ellipsis."""

    value: Any


@dataclass(eq=False, slots=True)
class Origin:
    """How a traced value came to be: the link of a provenance chain. ``kind`` names what the first link is.

    ``variadic`` is the one Proxy for the whole of ``*args`` or ``**kwargs``, ``decorated`` the same in a wrapper around
    the function whose signature the tracer read.

    ``assumed`` is the call of an unknown callable further up the chain whose result was taken to be a Proxy.
    """

    source: SourceFile
    node: ast.AST
    parent: Origin | None
    kind: Literal["input", "parameter", "operation", "variadic", "decorated"]
    name: str = ""
    assumed: Origin | None = None

    def first(self) -> Origin:
        origin = self
        while origin.parent is not None:
            origin = origin.parent
        return origin


@dataclass(eq=False, slots=True)
class Traced(Value):
    """A Proxy. ``default`` is the default of the forward parameter whose placeholder this is, if it has one."""

    origin: Origin | None
    default: Value | None = None

    @property
    def assumed(self) -> bool:
        return self.origin is not None and self.origin.assumed is not None

    @property
    def is_parameter(self) -> bool:
        """Whether it stands for a parameter itself, and not for what was computed from one."""
        return self.origin is not None and self.origin.kind == "parameter" and self.origin.parent is None


@dataclass(eq=False, slots=True)
class Unknown(Value):
    """Any Python object; a Proxy only if ``maybe``. ``truth`` and ``is_none`` hold what conditions have told.

    ``likely`` is what it is in the default configuration: it decides which of two conditional failures is called first,
    and which class an unknown layer argument stands for, never whether something is certain.
    """

    maybe: bool = False
    truth: bool | None = None
    is_none: bool | None = None
    likely: Value | None = None
    answered: bool = False  # computed from what a Proxy answers to a question about itself


@dataclass(eq=False, slots=True)
class Tensor(Value):
    """A real tensor while tracing: a buffer, or one made without traced arguments. Its value is baked.

    ``held``: a module has it ("own"), or it was computed from one that a module has ("derived"). ``taken`` is its name
    in the root where a graph's module has such an attribute of its own.
    """

    parameter: bool = False
    held: Literal["", "own", "derived"] = ""
    taken: str = ""


@dataclass(eq=False, slots=True)
class Sequence(Value):
    """A tuple, list, set, range or what an iterator has left: the known ``items``, then any number of ``rest``.

    ``certain`` is a traced value that surely stands among the rest. ``optional``: there may be no rest at all, as with
    a constructor's ``*args``; a rest of other origin is taken to have an element.

    Lists, sets and iterators are heap objects: change ``items`` and ``rest`` only through the heap.
    """

    kind: Literal["tuple", "list", "set", "range", "iterator"]
    items: list[Value]
    rest: Value | None = None
    fields: tuple[str, ...] = ()  # of a named tuple
    certain: Value | None = None
    optional: bool = False
    born: int = field(default_factory=clock)

    def members(self) -> Iterator[Value]:
        yield from self.items
        if self.rest is not None:
            yield self.rest


@dataclass(eq=False, slots=True)
class Mapping(Value):
    """A dict: known items by ``key_of``, and ``rest`` for entries under unknown keys. A heap object.

    ``owner``: it is the ``__dict__`` of the object with these attributes.
    """

    items: dict[Hashable, tuple[Value, Value]]
    rest: Value | None = None
    factory: Value | None = None  # of a defaultdict
    owner: Attributes | None = None
    born: int = field(default_factory=clock)

    def entries(self) -> list[Value]:
        """The values, known and other ones."""
        return [pair[1] for pair in self.items.values()] + ([self.rest] if self.rest is not None else [])


class Attributes(dict[str, Value]):
    """The attributes of an object; ``born`` tells objects made during a call from those that were there before.

    ``partial`` are those that only one side of a condition has set: the value, and the condition under which the
    attribute is not there. One that has another value by now has been set since.
    """

    __slots__ = ("born", "partial")

    def __init__(self, content: Iterable[tuple[str, Value]] = ()) -> None:
        super().__init__(content)
        self.born = clock()
        self.partial: dict[str, tuple[Value, Guard, bool]] = {}


@dataclass(eq=False, slots=True)
class Slice(Value):
    lower: Value
    upper: Value
    step: Value

    def parts(self) -> tuple[Value, Value, Value]:
        return (self.lower, self.upper, self.step)


@dataclass(eq=False, slots=True)
class Function(Value):
    """A Python function of the code under lint. ``wrapped`` is what ``functools.wraps`` made it stand for."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    defaults: list[Value]
    keyword_defaults: dict[str, Value]
    owner: Class | None = None
    wrapped: Value | None = None

    @property
    def name(self) -> str:
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def module(self) -> ModuleScope:
        return self.scope.module


@dataclass(eq=False, slots=True)
class Bound(Value):
    """A method with its first argument."""

    function: Value
    receiver: Value


@dataclass(eq=False, slots=True)
class Partial(Value):
    function: Value
    args: list[Value]
    keywords: dict[str, Value]


@dataclass(eq=False, slots=True)
class Decorated(Value):
    """A function wrapped by a library decorator that keeps its signature visible (``functools.wraps``)."""

    function: Value
    decorator: str


@dataclass(eq=False, slots=True)
class Descriptor(Value):
    """property, staticmethod, classmethod, cached_property around a function, as found in a class body."""

    kind: Literal["property", "staticmethod", "classmethod"]
    function: Value


@dataclass(eq=False, slots=True)
class Class(Value):
    """A class of the code under lint. ``mro`` is filled on first use; External bases stand in it as they are.

    ``library_bases`` are the canonical names of all that the class derives from in libraries.
    """

    name: str
    qualname: str
    node: ast.ClassDef
    scope: Scope
    bases: list[Value] = field(default_factory=list)
    mro: list[Class | External] = field(default_factory=list)
    library_bases: frozenset[str] = frozenset()
    complete: bool = True  # every base is known
    members: dict[str, Value] = field(default_factory=dict)
    member_nodes: dict[str, list[ast.stmt]] | None = None

    @property
    def module(self) -> ModuleScope:
        return self.scope.module


@dataclass(eq=False, slots=True)
class External(Value):
    """An object of a library whose source is not interpreted: torch, the standard library, C extensions.

    ``patched`` marks a function of ``math`` reached through a name that the stock tracer patches while it traces.
    """

    name: str
    patched: bool = False


@dataclass(eq=False, slots=True)
class Namespace(Value):
    """A Python module of the code under lint or of an installed package."""

    module: ModuleScope


@dataclass(eq=False, slots=True)
class Globals(Value):
    """The dictionary of a module's names, as ``globals()`` gives it."""

    module: ModuleScope


@dataclass(eq=False, slots=True)
class Instance(Value):
    """An object of a class. ``arguments`` are the constructor's by parameter name, where they are known.

    ``registered`` is set once a module has become a submodule of another one. ``children`` are the contents of
    Sequential, ModuleList, ParameterList (a Sequence) and ModuleDict, ParameterDict (a Mapping), and of objects whose
    class derives from list or dict.
    """

    cls: Class | External
    attributes: Attributes = field(default_factory=Attributes)
    arguments: dict[str, Value] = field(default_factory=dict)
    children: Sequence | Mapping | None = None
    registered: bool = False
    expression: str = ""
    open: bool = False  # attributes that were not seen being set may exist


@dataclass(eq=False, slots=True)
class Super(Value):
    after: Class
    receiver: Value


@dataclass(eq=False, slots=True)
class Wraps(Value):
    """``functools.wraps(function)``: a decorator."""

    function: Value


@dataclass(eq=False, slots=True)
class Union(Value):
    """One of several values; never nested, at most MAX_OPTIONS.

    In the default configuration it is one of the first ``likely``, where that is known.
    """

    options: list[Value]
    likely: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """Layers among the elements of a list, of which it is not known how many there are. One of them is there, if the
    conditions hold; with each whether it is unlikely to.
    """

    value: Value
    conditions: tuple[tuple[Guard, bool], ...] = ()


@dataclass(eq=False, slots=True)
class Several(Union):
    """The rest of a list of layers: not one of several values but all of them, in the order of the parts."""

    parts: tuple[Part, ...] = ()


NONE: Final = Const(None)
TRUE: Final = Const(True)
FALSE: Final = Const(False)
ANSWERED_TRUE: Final = Const(True)
ANSWERED_FALSE: Final = Const(False)
UNKNOWN: Final = Unknown()
MAYBE: Final = Unknown(maybe=True)
REAL_TENSOR: Final = Tensor()
HELD_TENSOR: Final = Tensor(held="own")
GRAPH_ATTRIBUTES: Final = frozenset("graph meta _graph _code".split())
"""What a GraphModule sets on itself. Where a tensor or a submodule has the place, that raises."""
_GRAPH_METHODS: Final = frozenset(
    "code print_readable recompile add_submodule delete_submodule delete_all_unused_submodules to_folder".split()
)
"""What its class has. No tensor can be registered under such a name."""
TAKEN_TENSORS: Final = {name: Tensor(held="own", taken=name) for name in sorted(GRAPH_ATTRIBUTES | _GRAPH_METHODS)}
"""Buffers of the root under the names that a GraphModule has itself."""
DERIVED_TENSOR: Final = Tensor(held="derived")


def const(value: object) -> Value:
    """The abstract value of a Python object that measuring or folding has produced."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, (tuple, list)):
        return Sequence("tuple" if isinstance(value, tuple) else "list", [const(item) for item in value])
    return Const(value)


def answer(truth: bool) -> Const:
    """What a Proxy answers to ``is None``, ``isinstance`` and the like, where a tensor would answer otherwise."""
    return ANSWERED_TRUE if truth else ANSWERED_FALSE


def is_answer(value: Value) -> bool:
    if isinstance(value, Unknown):
        return value.answered
    return value is ANSWERED_TRUE or value is ANSWERED_FALSE


def key_of(value: Value) -> Hashable | None:
    """A hashable stand-in for a value used as a dictionary key; None where it is not known well enough."""
    if isinstance(value, Const):
        return (type(value.value).__name__ if isinstance(value.value, float) else "", value.value)
    if isinstance(value, External):
        return ("external", value.name)
    if isinstance(value, Sequence) and value.kind == "tuple" and value.rest is None:
        keys = tuple(key_of(item) for item in value.items)
        return None if None in keys else ("tuple", keys)
    if isinstance(value, (Class, Function, Instance, Traced)):
        return ("object", id(value))
    return None


def is_of_tracing(key: Value) -> bool:
    """A Proxy or its class: no container that was filled before tracing has it as a key."""
    return isinstance(key, Traced) or (isinstance(key, External) and key.name in {PROXY, "torch.fx.Proxy"})


def holds_proxy_text(value: Value | None) -> bool:
    """Whether it is a text that the text of a Proxy has become a part of."""
    return isinstance(value, Const) and isinstance(value.value, str) and PROXY_TEXT in value.value


def outlives(value: Value, born: int, depth: int = 3) -> None:
    """Mark an object, and what it holds, as older than all that a root makes: GLOBAL or SHARED."""
    for option in options(value):
        if isinstance(option, (Sequence, Mapping)) and option.born > GLOBAL:
            option.born = born
            inner: Iterable[Value] = option.members() if isinstance(option, Sequence) else option.entries()
        elif isinstance(option, Instance) and option.attributes.born > GLOBAL:
            option.attributes.born = born
            inner = option.attributes.values()
        else:
            continue
        for part in inner if depth else ():
            outlives(part, born, depth - 1)


def is_empty_display(value: Value) -> TypeGuard[Sequence | Mapping]:
    """An empty list, set or dict, which is there to be filled."""
    if isinstance(value, Sequence) and value.kind == "tuple":
        return False
    return isinstance(value, (Sequence, Mapping)) and not value.items and value.rest is None


def may_be_traced(value: Value) -> bool:
    """Whether the value itself (not what it contains) may be a Proxy."""
    if isinstance(value, Traced):
        return True
    if isinstance(value, Unknown):
        return value.maybe
    if isinstance(value, Union):
        return any(may_be_traced(option) for option in value.options)
    return False


def holds_traced(value: Value, depth: int = 4) -> bool:
    """Whether a Proxy must stand in the value, or inside its containers as fx would find it in an argument."""
    if isinstance(value, Traced):
        return True
    if depth == 0:
        return False
    if isinstance(value, Sequence):
        return value.certain is not None or any(holds_traced(item, depth - 1) for item in value.members())
    if isinstance(value, Mapping):
        return any(holds_traced(item, depth - 1) for item in value.entries())
    if isinstance(value, Slice):
        return any(holds_traced(part, depth - 1) for part in value.parts())
    return False


def may_hold_traced(value: Value, depth: int = 4) -> bool:
    """Whether a Proxy may stand in the value or inside its containers."""
    if may_be_traced(value):
        return True
    if depth == 0:
        return False
    if isinstance(value, Sequence):
        return any(may_hold_traced(item, depth - 1) for item in value.members())
    if isinstance(value, Mapping):
        return any(may_hold_traced(item, depth - 1) for item in value.entries())
    if isinstance(value, Slice):
        return any(may_hold_traced(part, depth - 1) for part in value.parts())
    if isinstance(value, Union):
        return any(may_hold_traced(option, depth - 1) for option in value.options)
    return False


def options(value: Value) -> list[Value]:
    return value.options if isinstance(value, Union) else [value]


_CALLED: Final = (Instance, Partial)
"""What is worth knowing beside something unknown, since layers are called."""


def join(first: Value, second: Value, likely: Value | None = None) -> Value:
    """The least value that covers both. ``likely`` says which of the two the default configuration takes."""
    if first is second:
        return first
    if isinstance(first, Traced) and isinstance(second, Traced):
        if first.assumed == second.assumed:
            return first
        weak, strong = (first, second) if first.assumed else (second, first)
        return strong if likely is strong else weak
    merged: list[Value] = []
    for option in (*options(first), *options(second)):
        if not any(same(option, other) for other in merged):
            merged.append(option)
    if len(merged) == 1:
        return merged[0]
    if len(merged) > MAX_OPTIONS:
        merged = list(_one_of_each_class(merged))
    most = MAX_FUNCTIONS if all(isinstance(option, Function) for option in merged) else MAX_OPTIONS
    if any(isinstance(option, Unknown) for option in merged) or len(merged) > most:
        traced = next((option for option in merged if isinstance(option, Traced)), None)
        if isinstance(likely, Const) and likely.value is None and len(merged) <= MAX_OPTIONS:
            layers = [option for option in merged if isinstance(option, Instance)]
            rest = _unknown_of([option for option in merged if isinstance(option, Unknown)], None)
            if len(layers) + 2 == len(merged) and not rest.maybe:  # usually there is none, but some are known
                return Union([likely, *layers, rest], likely=1)
        if traced is None and len(merged) <= MAX_OPTIONS and all(isinstance(o, (*_CALLED, Unknown)) for o in merged):
            known = [option for option in merged if isinstance(option, _CALLED)]
            rest = _unknown_of([option for option in merged if isinstance(option, Unknown)], None)
            if known and not rest.maybe:
                if isinstance(likely, Unknown):
                    return Union([rest, *known])
                return Union([*known, rest], likely=0 if likely is None else len(known))
        if traced is None:
            return _unknown_of(merged, likely)
        rest = _unknown_of([option for option in merged if not isinstance(option, Traced)], likely)
        return rest if rest.maybe else Union([traced, rest])
    wanted = [] if likely is None else [option for option in merged if any(same(option, o) for o in options(likely))]
    others = [option for option in merged if option not in wanted]
    return Union([*wanted, *others], likely=len(wanted))


def parts_of(rest: Value | None) -> tuple[Part, ...]:
    """What the rest of a list consists of."""
    if rest is None:
        return ()
    return rest.parts if isinstance(rest, Several) else (Part(rest),)


def together(parts: Iterable[Part]) -> Value:
    """The rest of a list that consists of these; where they are no layers, or too many, any of them."""
    found = tuple(parts)
    if len(found) == 1 and not found[0].conditions:
        return found[0].value
    values = list(dict.fromkeys(option for part in found for option in options(part.value)))
    if len(found) > MAX_PARTS or not all(isinstance(value, Instance) for value in values):
        return join_all(values)
    return Several(values, parts=found)


def extended(rest: Value | None, more: Iterable[Part]) -> Value | None:
    """The rest of a list with more elements after it."""
    parts = list(parts_of(rest))
    for part in more:
        known = next((position for position, one in enumerate(parts) if stands_for(one, part)), None)
        if known is None:
            parts.append(part)
        elif len(part.conditions) < len(parts[known].conditions):
            parts[known] = part
        else:
            continue
        rest = together(parts)
        parts = list(parts_of(rest))
    return rest


def stands_for(one: Part, other: Part) -> bool:
    """Whether parts need not be told apart: those of the same layers, and those of one class of a library."""
    first, second = _library_layer(one.value), _library_layer(other.value)
    return same(one.value, other.value) if first is None or second is None else first == second


def _library_layer(value: Value) -> str | None:
    """The name of its class, of a layer of a library that contains no others."""
    if isinstance(value, Instance) and isinstance(value.cls, External) and value.children is None:
        return value.cls.name
    return None


def over_parts(rest: Value | None, make: Callable[[Value], Value]) -> Value | None:
    """What is made of each element, for the rest of a list."""
    if isinstance(rest, Several):
        parts = tuple(Part(make(part.value), part.conditions) for part in rest.parts)
        return Several([part.value for part in parts], parts=parts)
    return None if rest is None else make(rest)


def _one_of_each_class(values: Iterable[Value]) -> Iterator[Value]:
    """Of many objects of a class, such as the blocks of a deep network, the first stands for all.

    So does the first of the layers that a library defines, but for its containers: they differ by what they hold.
    """
    classes: set[int] = set()
    for value in values:
        if isinstance(value, Instance) and (value.children is None or isinstance(value.cls, Class)):
            cls = id(value.cls) if isinstance(value.cls, Class) else 0
            if cls in classes:
                continue
            classes.add(cls)
        yield value


def join_all(values: Iterable[Value]) -> Value:
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return UNKNOWN if result is None else result


def _unknown_of(merged: list[Value], likely: Value | None) -> Unknown:
    hint = likely.likely if isinstance(likely, Unknown) else likely
    if hint is None:
        hint = next((option.likely for option in merged if isinstance(option, Unknown) and option.likely), None)
    truths = {option.truth if isinstance(option, Unknown) else shallow_truth(option) for option in merged}
    nones = {option.is_none if isinstance(option, Unknown) else shallow_none(option) for option in merged}
    return Unknown(
        maybe=any(may_be_traced(option) for option in merged),
        truth=truths.pop() if len(truths) == 1 else None,
        is_none=nones.pop() if len(nones) == 1 else None,
        likely=hint,
    )


def shallow_truth(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, (Function, Class, Bound, Partial, Namespace)):
        return True
    return None


def shallow_none(value: Value) -> bool | None:
    if isinstance(value, Const):
        return value.value is None
    if isinstance(value, Unknown):
        return value.is_none
    if isinstance(value, Union):
        answers = {shallow_none(option) for option in value.options}
        return answers.pop() if len(answers) == 1 else None
    return False


def same(first: Value, second: Value) -> bool:
    """Whether two values need not be told apart."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Const) and isinstance(second, Const):
        return type(first.value) is type(second.value) and bool(first.value == second.value)
    if isinstance(first, Traced):
        return True
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.parameter == second.parameter
    if isinstance(first, External) and isinstance(second, External):
        return first.name == second.name
    if isinstance(first, Unknown) and isinstance(second, Unknown):
        return (
            first.maybe == second.maybe
            and first.truth == second.truth
            and first.is_none == second.is_none
            and first.likely is second.likely
        )
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        return (
            first.kind == second.kind == "tuple"
            and len(first.items) == len(second.items)
            and (first.rest is None) == (second.rest is None)
            and all(same(one, two) for one, two in zip(first.items, second.items, strict=True))
            and (first.rest is None or second.rest is None or same(first.rest, second.rest))
        )
    if isinstance(first, Bound) and isinstance(second, Bound):
        return same(first.function, second.function) and same(first.receiver, second.receiver)
    if isinstance(first, Instance) and isinstance(second, Instance):
        return (
            first.cls is second.cls or (isinstance(first.cls, External) and same(first.cls, second.cls))
        ) and _same_arguments(first, second)
    return False


def _same_arguments(first: Instance, second: Instance) -> bool:
    if not first.arguments or first.arguments.keys() != second.arguments.keys() or first.children or second.children:
        return False
    return all(same(value, second.arguments[name]) for name, value in first.arguments.items())


def likely_of(value: Value) -> Value | None:
    """The value in the default configuration, where one is known."""
    return value.likely if isinstance(value, Unknown) else value
