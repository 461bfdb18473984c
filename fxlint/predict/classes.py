"""Classes: definition, hierarchy, members, construction, and isinstance."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from fxlint.predict import calls, evaluate, hooks, memo, modules, names
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import MAX_DEPTH, Machine, OutOfBudget, PathEnd, Unwind
from fxlint.predict.scopes import Frame, ModuleScope, Scope
from fxlint.predict.values import (
    GLOBAL,
    MAYBE,
    NONE,
    SHARED,
    UNKNOWN,
    Attributes,
    Bound,
    Class,
    Const,
    Decorated,
    Descriptor,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    is_empty_display,
    outlives,
)
from fxlint.project.tree import kept, walk

MODULE: Final = "torch.nn.Module"
AUTO: Final = "enum.auto"
_COUNTED: Final = frozenset({"enum.Enum", "enum.IntEnum", "builtins.int", "builtins.object", "enum.ReprEnum"})
# Abstract collections whose mixin methods call what a subclass defines: their source is interpreted.
_MIXINS: Final = frozenset(
    f"{module}.{name}"
    for module in ("collections.abc", "typing")
    for name in ("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet")
)
_PROTOCOLS: Final = frozenset({"typing.Generic", "typing.Protocol", "builtins.object", "abc.ABC"})


def define(vm: Machine, frame: Frame, node: ast.ClassDef) -> Class:
    """The class that a class statement makes; bases and members are looked up later."""
    prefix = frame.function.name + ".<locals>." if frame.function is not None else ""
    return Class(node.name, prefix + node.name, node, frame.scope)


# -- hierarchy --------------------------------------------------------------------------------------------------------


def resolve_bases(vm: Machine, cls: Class) -> None:
    """Fill ``bases`` and ``mro``; a base that is not known makes the class incomplete."""
    if cls.mro:
        return
    cls.mro = [cls]
    frame = Frame(cls.scope, None, None)
    with vm.detached(), vm.uncharged():
        vm.frames.append(frame)
        for base_node in cls.node.bases:
            try:
                value = evaluate.expression(vm, frame, base_node)
            except (PathEnd, Unwind, OutOfBudget):
                value = UNKNOWN
            cls.bases.extend(_base_classes(vm, value, cls))
    for base in cls.bases:
        if isinstance(base, Class):
            resolve_bases(vm, base)
            cls.complete = cls.complete and base.complete
    cls.mro = [cls, *_linearise([base for base in cls.bases if isinstance(base, (Class, External))])]
    cls.library_bases = frozenset(
        name
        for base in cls.mro
        if isinstance(base, External)
        for name in (vm.facts.canonical(base.name), *vm.facts.ancestors(base.name))
    )
    _tell_bases(vm, cls)


def _tell_bases(vm: Machine, cls: Class) -> None:
    """Run the ``__init_subclass__`` that the class inherits: it may replace other things that it inherits."""
    hooks = (own_member(vm, base, "__init_subclass__") for base in cls.mro[1:] if isinstance(base, Class))
    hook = next((found for found in hooks if found is not None), None)
    function = hook.function if isinstance(hook, Descriptor) else hook
    if not isinstance(function, Function):
        return
    with vm.detached(), vm.uncharged(), contextlib.suppress(PathEnd, Unwind):
        vm.frames.append(Frame(cls.scope, None, None))
        vm.aside(function.node, lambda: calls.invoke(vm, vm.frame, function, [cls], cls.node))


def is_left_out(vm: Machine, owner: Instance, name: str) -> bool:
    """Whether an object lacks an attribute that constructors alone set: the conditions for it did not hold."""
    if not isinstance(owner.cls, Class) or owner.open or not owner.cls.complete or name in owner.attributes:
        return False
    places = [_stores(base.node).get(name, set()) for base in owner.cls.mro if isinstance(base, Class)]
    return set().union(*places) == {"__init__"}


@kept
def _stores(cls: ast.ClassDef) -> dict[str, set[str]]:
    """The attributes that the methods of a class body store to, with the names of these methods."""
    found: dict[str, set[str]] = {}
    for method in cls.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for node in walk(method):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found.setdefault(node.attr, set()).add(method.name)
    return found


def set_member(vm: Machine, cls: Class, name: str, value: Value) -> None:
    """``cls.name = value``, as decorators of classes and ``__init_subclass__`` do.

    What is made of a function in a way that is not known, such as a copy of its code, is taken to be like it.
    """
    if isinstance(value, Unknown) and isinstance(find(vm, cls, name), (Function, Decorated)):
        return
    own_member(vm, cls, name)  # a branch that does not assign leaves what the body binds
    vm.heap.put(cls.members, name, value)


def _base_classes(vm: Machine, value: Value, cls: Class) -> Iterator[Value]:
    if isinstance(value, Union):
        value = value.options[0]
    if isinstance(value, External) and value.name in _MIXINS:
        scope = names.module_scope(vm, names.COLLECTIONS_ABC)
        value = (names.global_name(vm, scope, value.name.rpartition(".")[2]) if scope is not None else None) or value
    if isinstance(value, Class) and value is not cls:
        yield value
    elif isinstance(value, External):
        if value.name not in _PROTOCOLS:
            yield value
    else:
        cls.complete = False


def _linearise(bases: list[Class | External]) -> list[Class | External]:
    """C3 over the bases; where the order is inconsistent, depth first."""
    sequences: list[list[Class | External]] = [list(base.mro) if isinstance(base, Class) else [base] for base in bases]
    if len(sequences) == 1:  # nothing to merge, which takes long where classes derive from each other in a long row
        return sequences[0]
    sequences.append(list(bases))
    result: list[Class | External] = []
    while any(sequences):
        sequences = [sequence for sequence in sequences if sequence]
        for sequence in sequences:
            head = sequence[0]
            if not any(_stands_in(head, other[1:]) for other in sequences):
                break
        else:
            head = sequences[0][0]
        result.append(head)
        for sequence in sequences:
            sequence[:] = [cls for cls in sequence if not _is_same(cls, head)]
    return result


def _is_same(one: Class | External, other: Class | External) -> bool:
    if isinstance(one, External) and isinstance(other, External):
        return one.name == other.name
    return one is other


def _stands_in(cls: Class | External, rest: Iterable[Class | External]) -> bool:
    return any(_is_same(cls, other) for other in rest)


def ancestry(vm: Machine, cls: Class | External) -> Iterator[Class | External | str]:
    """The class and its bases; library bases are followed by the canonical names of what they derive from."""
    if isinstance(cls, External):
        yield cls
        yield from vm.facts.ancestors(cls.name)
        return
    resolve_bases(vm, cls)
    for base in cls.mro:
        yield base
        if isinstance(base, External):
            yield from vm.facts.ancestors(base.name)


def derives_from(vm: Machine, cls: Class | External, names_: frozenset[str]) -> bool:
    if isinstance(cls, External):
        return not names_.isdisjoint((vm.facts.canonical(cls.name), *vm.facts.ancestors(cls.name)))
    resolve_bases(vm, cls)
    return not names_.isdisjoint(cls.library_bases)


_MODULES: Final = frozenset({MODULE})


def is_module_class(vm: Machine, cls: Class | External) -> bool:
    return derives_from(vm, cls, _MODULES)


def is_module(vm: Machine, value: Value) -> bool:
    return isinstance(value, Instance) and is_module_class(vm, value.cls)


def is_enum(vm: Machine, cls: Class | External) -> bool:
    if isinstance(cls, External):
        return cls.name.startswith("enum.")
    resolve_bases(vm, cls)
    return any(isinstance(base, External) and base.name.startswith("enum.") for base in cls.mro)


# -- members ----------------------------------------------------------------------------------------------------------


def own_member(vm: Machine, cls: Class, name: str) -> Value | None:
    """A member that the class's own body binds."""
    if name in cls.members:
        return cls.members[name]
    nodes = _member_nodes(cls).get(name)
    if not nodes:
        return None
    cls.members[name] = UNKNOWN  # a member that refers to itself is not known
    with vm.detached(), vm.uncharged():
        frame = Frame(Scope(cls.module, cls.scope), None, None)
        vm.frames.append(frame)
        try:
            value = _member(vm, frame, cls, name, nodes)
        except (PathEnd, Unwind, OutOfBudget):
            value = UNKNOWN
    cls.members[name] = value
    outlives(value, GLOBAL)
    if names.is_registry(value):
        names.run_registrations(vm, cls.module)
    return value


def _member(vm: Machine, frame: Frame, cls: Class, name: str, nodes: list[ast.stmt]) -> Value:
    node = nodes[-1]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        getter = next((n for n in nodes if isinstance(n, ast.FunctionDef) and _is_property(n)), None)
        return evaluate.definition(vm, frame, getter or node, cls)
    if isinstance(node, ast.ClassDef):
        return evaluate.definition(vm, frame, node, None)
    value_node = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if value_node is None:
        return UNKNOWN
    for part in ast.walk(value_node):
        if isinstance(part, ast.Name) and part.id != name and part.id in _member_nodes(cls):
            found = own_member(vm, cls, part.id)
            if found is not None:
                frame.scope.vars[part.id] = found
    value = evaluate.expression(vm, frame, value_node)
    if is_empty_display(value):
        value.rest = UNKNOWN  # a registry, filled elsewhere
    if is_enum(vm, cls) and not name.startswith("_"):
        callee = evaluate.expression(vm, frame, value_node.func) if isinstance(value_node, ast.Call) else None
        if isinstance(callee, External) and callee.name == AUTO:
            value = _next_value(vm, cls, name)
        return Instance(cls, Attributes({"name": Const(name), "value": value, "_value_": value}.items()))
    return value


def _next_value(vm: Machine, cls: Class, name: str) -> Value:
    """What ``auto()`` stands for: the position, where all members before have it too and nothing says otherwise."""
    plain = all(isinstance(base, External) and base.name in _COUNTED for base in cls.mro[1:])
    before = [member for member in _member_nodes(cls) if not member.startswith("_")]
    nodes = [_member_nodes(cls)[member][-1] for member in before[: before.index(name) + 1]]
    calls_ = [node.value for node in nodes if isinstance(node, ast.Assign)]
    alike = len({ast.dump(call) for call in calls_}) == 1 and len(calls_) == len(nodes)
    return Const(len(nodes)) if plain and alike and "_generate_next_value_" not in _member_nodes(cls) else UNKNOWN


def _is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id in {"property", "cached_property"} for d in node.decorator_list)


def _member_nodes(cls: Class) -> dict[str, list[ast.stmt]]:
    if cls.member_nodes is None:
        cls.member_nodes = {}
        _collect_members(cls.node.body, cls.member_nodes)
    return cls.member_nodes


def _collect_members(body: Iterable[ast.stmt], found: dict[str, list[ast.stmt]]) -> None:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            found.setdefault(node.target.id, []).append(node)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for inner in ("body", "orelse", "finalbody"):
                _collect_members(getattr(node, inner, ()), found)


def find(vm: Machine, cls: Class | External, name: str) -> Value | None:
    """A member found through the hierarchy, in classes whose source is known."""
    if isinstance(cls, External):
        return None
    resolve_bases(vm, cls)
    for base in cls.mro:
        if isinstance(base, Class):
            value = own_member(vm, base, name)
            if value is not None:
                return value
        elif vm.facts.has_attribute(base.name, name) and name not in {"__init__", "__getattr__", "__setattr__"}:
            return None
    return None


def methods_named(vm: Machine, module: ModuleScope, name: str) -> list[Function]:
    """The methods of that name in the classes of one file."""
    if name not in module.methods:
        found = []
        for qualname, node in module.index.classes():
            if any(isinstance(member, ast.FunctionDef) and member.name == name for member in node.body):
                cls = names.global_name(vm, module, qualname)
                method = own_member(vm, cls, name) if isinstance(cls, Class) else None
                if isinstance(method, Function):
                    found.append(method)
        module.methods[name] = found
    return module.methods[name]


def owner_of(vm: Machine, cls: Class, name: str) -> Class | External | None:
    """The class in the hierarchy that binds ``name``."""
    resolve_bases(vm, cls)
    for base in cls.mro:
        if isinstance(base, Class):
            if name in _member_nodes(base):
                return base
        elif vm.facts.has_attribute(base.name, name):
            return base
    return None


def library_base_with(vm: Machine, cls: Class | External, name: str) -> str | None:
    """The library class in the hierarchy that has an attribute of that name."""
    bases = [cls] if isinstance(cls, External) else cls.mro
    for base in bases:
        if isinstance(base, External) and vm.facts.has_attribute(base.name, name):
            return base.name
    return None


def enum_members(vm: Machine, cls: Class) -> Iterator[Value]:
    if is_enum(vm, cls):
        for name, nodes in _member_nodes(cls).items():
            if not name.startswith("_") and isinstance(nodes[-1], (ast.Assign, ast.AnnAssign)):
                value = own_member(vm, cls, name)
                if value is not None:
                    yield value


def enum_member_named(vm: Machine, cls: Class, name: Value) -> Value:
    """``Colour["RED"]``."""
    for member in enum_members(vm, cls) if isinstance(name, Const) else ():
        own = member.attributes.get("name") if isinstance(member, Instance) else None
        if isinstance(own, Const) and isinstance(name, Const) and own.value == name.value:
            return member
    return UNKNOWN


def _enum_member(vm: Machine, cls: Class, args: Arguments) -> Value:
    """``Colour("red")``: the member of that value."""
    wanted = args.get(0, "value")
    if isinstance(wanted, Instance) and wanted.cls is cls:
        return wanted
    if isinstance(wanted, Const):
        for found in enum_members(vm, cls):
            value = found.attributes.get("value") if isinstance(found, Instance) else None
            if isinstance(value, Const) and value.value == wanted.value:
                return found
    return UNKNOWN


def super_of(vm: Machine, frame: Frame) -> Value:
    """``super()``: the class that the running method was defined in, and its first argument."""
    function = frame.function
    if function is None or not isinstance(function.owner, Class):
        return UNKNOWN
    arguments = [*function.node.args.posonlyargs, *function.node.args.args]
    receiver = frame.scope.find(arguments[0].arg) if arguments else None
    return Super(function.owner, receiver) if receiver is not None else UNKNOWN


# -- construction -----------------------------------------------------------------------------------------------------


def instantiate(vm: Machine, frame: Frame, cls: Class, args: Arguments, node: ast.AST) -> Value:
    """``cls(...)``: run ``__init__`` on a new object."""
    resolve_bases(vm, cls)
    if is_enum(vm, cls):
        return _enum_member(vm, cls, args)
    if _is_named_tuple(cls):
        return _named_tuple(vm, cls, args)
    if isinstance(find(vm, cls, "__new__"), Function):
        return MAYBE if args.holds_traced() else UNKNOWN
    if vm.tracing or hooks.are_given(frame.scope.module):
        created = _new(vm, cls)
        initialise(vm, frame, created, args, node)
        return created
    return _shared_instance(vm, frame, cls, args, node)


def _shared_instance(vm: Machine, frame: Frame, cls: Class, args: Arguments, node: ast.AST) -> Instance:
    """An object built before tracing; one object stands for all that are built with equal arguments."""
    known = memo.key([*args.positional, *args.keywords.values(), args.extra or NONE, args.extra_keywords or NONE])
    place = (id(cls), len(args.positional), tuple(args.keywords), known)
    if known is not None and place in vm.instances:
        return vm.instances[place][0]
    created = _new(vm, cls)
    if known is None or len(vm.frames) > MAX_DEPTH // 2:
        initialise(vm, frame, created, args, node)
        return created
    with vm.detached():  # its attributes outlive this root
        vm.frames.append(Frame(frame.scope, frame.function, None))
        vm.instances[place] = (created, args)
        try:
            initialise(vm, frame, created, args, node)
        except BaseException:
            del vm.instances[place]
            raise
    if created.children is not None and is_empty_display(created.children):
        del vm.instances[place]  # a container that is there to be filled, perhaps with others like it
        return created
    outlives(created, SHARED)
    return created


def _new(vm: Machine, cls: Class) -> Instance:
    """An object before ``__init__``: empty where its class derives from list or dict."""
    base = library_base_with(vm, cls, "append") or library_base_with(vm, cls, "setdefault")
    children = (
        Sequence("list", [])
        if base in {"builtins.list", "collections.UserList"}
        else Mapping({})
        if base in {"builtins.dict", "collections.OrderedDict", "collections.UserDict"}
        else None
    )
    return Instance(cls, children=children, open=not cls.complete, expression=cls.name)


def initialise(vm: Machine, frame: Frame, created: Instance, args: Arguments, node: ast.AST) -> None:
    assert isinstance(created.cls, Class)
    fields = dataclass_fields(vm, created.cls)
    if fields and _is_generated(vm, created.cls, "__init__"):
        _fill_fields(vm, frame, created, fields, args, node)
        return
    init = find(vm, created.cls, "__init__")
    if isinstance(init, (Function, Decorated)):
        if isinstance(init, Function):
            bound = calls.bind_arguments(vm, init, args.after(created), node, quiet=True)
            created.arguments = {name: value for name, value in bound.items() if value is not created}
        calls.call(vm, frame, init, args.after(created), node)
        wrapped = init.wrapped if isinstance(init, Function) else None
        if isinstance(wrapped, Function) and not created.attributes:  # the wrapper calls it in a way that is not seen
            calls.call(vm, frame, wrapped, args.after(created), node)
        return
    if created.children is not None:
        kind = "list" if isinstance(created.children, Sequence) else "dict"
        calls.call(vm, frame, Bound(External(f"builtins.{kind}.__init__"), created), args, node)
        return
    for base in created.cls.mro:
        if isinstance(base, External) and vm.facts.has_attribute(base.name, "__init__"):
            modules.initialise(vm, frame, base.name, created, args, node)
            return


def leaves_out_module(vm: Machine, cls: Class) -> bool:
    """Whether the constructor of a module certainly never comes to that of nn.Module: all it does with ``self`` is to
    store and read attributes.
    """
    init = find(vm, cls, "__init__")
    unusual = cls.node.keywords or isinstance(find(vm, cls, "__new__"), Function)
    if not isinstance(init, Function) or isinstance(init.node, ast.Lambda) or init.wrapped is not None or unusual:
        return False
    arguments = [*init.node.args.posonlyargs, *init.node.args.args]
    if not arguments or not cls.complete or any(isinstance(statement, ast.Raise) for statement in init.node.body):
        return False  # the latter: it is not to be made at all
    nodes = list(walk(init.node))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    read = [node for node in nodes if isinstance(node, ast.Attribute) and id(node) not in called]
    plain = {id(node.value) for node in read if not node.attr.startswith("_")}
    named = {arguments[0].arg, "super"}
    return all(id(node) in plain for node in nodes if isinstance(node, ast.Name) and node.id in named)


def _is_named_tuple(cls: Class) -> bool:
    return any(isinstance(base, External) and base.name == "typing.NamedTuple" for base in cls.mro)


def _named_tuple(vm: Machine, cls: Class, args: Arguments) -> Value:
    fields = [n.target.id for n in cls.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    values = list(args.positional)
    for name in fields[len(values) :]:
        values.append(args.keywords.get(name) or own_member(vm, cls, name) or UNKNOWN)
    return Sequence("tuple", values, fields=tuple(fields))


def is_dataclass(cls: Class) -> bool:
    return any(
        ast.unparse(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] == "dataclass"
        for d in cls.node.decorator_list
    )


def _is_generated(vm: Machine, cls: Class, method: str) -> bool:
    """Whether the decorator `dataclass` writes that method: no class body before it in the hierarchy has one."""
    for base in cls.mro:
        if isinstance(base, Class):
            if own_member(vm, base, method) is not None:
                return False
            if is_dataclass(base):
                return True
    return False


def dataclass_fields(vm: Machine, cls: Class) -> dict[str, ast.expr | None]:
    """Field names in order, with the expressions of their defaults; empty for other classes."""
    if not any(isinstance(base, Class) and is_dataclass(base) for base in cls.mro):
        return {}
    fields: dict[str, ast.expr | None] = {}
    for base in reversed(cls.mro):
        if isinstance(base, Class):
            for node in base.node.body:
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    fields[node.target.id] = node.value
    return fields


def _fill_fields(
    vm: Machine, frame: Frame, created: Instance, fields: dict[str, ast.expr | None], args: Arguments, node: ast.AST
) -> None:
    assert isinstance(created.cls, Class)
    for position, (name, default) in enumerate(fields.items()):
        if position < len(args.positional):
            value = args.positional[position]
        elif name in args.keywords:
            value = args.keywords[name]
        elif args.extra is not None or args.extra_keywords is not None:
            value = Unknown(maybe=args.holds_traced())
        elif default is not None:
            value = own_member(vm, created.cls, name) or UNKNOWN
        else:
            value = UNKNOWN
        vm.heap.put(created.attributes, name, value)
    post = find(vm, created.cls, "__post_init__")
    if isinstance(post, Function):
        calls.invoke(vm, frame, post, [created], node)


def register(value: Value) -> None:
    """A module that has become part of another one is found by the tracer, and all below it."""
    if isinstance(value, Union):
        for option in value.options:
            register(option)
    elif isinstance(value, Unknown) and value.likely is not None:
        register(value.likely)
    elif isinstance(value, Instance):
        value.registered = True


# -- isinstance -------------------------------------------------------------------------------------------------------

_BUILTIN_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "builtins.int": (int,), "builtins.float": (float,), "builtins.str": (str,), "builtins.bool": (bool,),
    "builtins.bytes": (bytes,), "builtins.complex": (complex,), "numbers.Number": (int, float, complex),
    "numbers.Real": (int, float), "numbers.Integral": (int,), "builtins.object": (object,),
}  # fmt: skip
_SEQUENCES: Final[dict[str, frozenset[str]]] = {
    "builtins.tuple": frozenset({"tuple"}),
    "builtins.list": frozenset({"list"}),
    "builtins.set": frozenset({"set"}),
    "builtins.range": frozenset({"range"}),
    "typing.Sequence": frozenset({"tuple", "list", "range"}),
    "collections.abc.Sequence": frozenset({"tuple", "list", "range"}),
    "typing.List": frozenset({"list"}),
    "typing.Tuple": frozenset({"tuple"}),
    "typing.Iterable": frozenset({"tuple", "list", "set", "range", "iterator"}),
    "collections.abc.Iterable": frozenset({"tuple", "list", "set", "range", "iterator"}),
}
_MAPPINGS: Final = frozenset(
    {"builtins.dict", "typing.Dict", "typing.Mapping", "collections.abc.Mapping", "collections.OrderedDict"}
)
_METACLASSES: Final = frozenset({"builtins.type", "enum.EnumMeta", "enum.EnumType"})
_TENSOR_TYPES: Final = frozenset({"torch.Tensor"})


def is_instance(vm: Machine, value: Value, wanted: Value) -> bool | None:
    """``isinstance(value, wanted)`` at trace time; a Proxy is an instance of Proxy and object only."""
    if isinstance(wanted, Sequence):
        answers = [is_instance(vm, value, one) for one in wanted.items]
        if True in answers:
            return True
        return None if None in answers or wanted.rest is not None else False
    if isinstance(value, Union):
        results = {is_instance(vm, option, wanted) for option in value.options}
        return results.pop() if len(results) == 1 else None
    if isinstance(value, Unknown) or isinstance(wanted, (Unknown, Union)):
        if isinstance(value, Traced) and isinstance(wanted, Unknown):
            return False
        return None
    if isinstance(value, Traced):
        return isinstance(wanted, External) and vm.facts.proxy_is_instance(wanted.name)
    if isinstance(wanted, Class):
        if isinstance(value, Instance):
            if isinstance(value.cls, External):
                return False
            resolve_bases(vm, value.cls)
            return wanted in value.cls.mro or (None if not value.cls.complete else False)
        return False
    if isinstance(wanted, External):
        return _is_external(vm, value, vm.facts.canonical(wanted.name))
    return None


def _library_name(base: Class | External | str) -> str:
    if isinstance(base, Class):
        return f"collections.abc.{base.name}" if base.module.index.name == names.COLLECTIONS_ABC else ""
    return base if isinstance(base, str) else base.name


def _is_external(vm: Machine, value: Value, name: str) -> bool | None:
    if isinstance(value, Const):
        if name in _BUILTIN_TYPES:
            return isinstance(value.value, _BUILTIN_TYPES[name])
        if name == "types.NoneType":
            return value.value is None
        return vm.facts.is_python_instance(value.value, name)
    if isinstance(value, Sequence):
        return value.kind in _SEQUENCES[name] if name in _SEQUENCES else (None if "abc" in name else False)
    if isinstance(value, Mapping):
        return name in _MAPPINGS
    if isinstance(value, Tensor):
        if name in _TENSOR_TYPES:
            return True
        return value.parameter if name == "torch.nn.Parameter" else False
    if isinstance(value, Instance):
        for base in ancestry(vm, value.cls):
            if vm.facts.canonical(_library_name(base)) == name:
                return True
        if value.open or (isinstance(value.cls, External) and vm.facts.kind(value.cls.name) is None):
            return None
        return False if name in _BUILTIN_TYPES or name in _TENSOR_TYPES or name.startswith("torch.") else None
    if isinstance(value, Class) and name in _METACLASSES:
        return name == "builtins.type" or is_enum(vm, value)
    if isinstance(value, (Class, Function)):
        return False if name in _BUILTIN_TYPES or name.startswith("torch.") else None
    return None


def stand_in(vm: Machine, wanted: Value, value: Unknown) -> Value:
    """What an unknown value is like, once ``isinstance(value, wanted)`` was true."""
    if isinstance(wanted, External):
        name = vm.facts.canonical(wanted.name)
        if name in _TENSOR_TYPES and not value.maybe:
            return Tensor()
        if value.likely is not None and is_instance(vm, value.likely, wanted):
            return Unknown(truth=value.truth, is_none=False, likely=value.likely)
    return Unknown(truth=value.truth, is_none=False)
