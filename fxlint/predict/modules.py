"""nn.Module objects: construction, registration, and what calling one does while tracing."""

from __future__ import annotations

import ast
from typing import Final

from fxlint.predict import attributes, calls, classes, containers, escapes, hooks, library, silent, told
from fxlint.predict.arguments import Arguments
from fxlint.predict.facts import literal
from fxlint.predict.machine import Machine, PathEnd
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    FALSE,
    GRAPH_ATTRIBUTES,
    MAYBE,
    NONE,
    REAL_TENSOR,
    SHARED,
    TAKEN_TENSORS,
    TRUE,
    UNKNOWN,
    Bound,
    Class,
    Const,
    Decorated,
    External,
    Function,
    Instance,
    Mapping,
    Part,
    Sequence,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    extended,
    options,
    parts_of,
)

SEQUENTIAL: Final = "torch.nn.Sequential"
_LISTS: Final = frozenset({"torch.nn.ModuleList", "torch.nn.ParameterList"})
_DICTS: Final = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
_LEAF_PREFIXES: Final = ("torch.nn.", "torch.ao.nn.", "torch.jit.")

TAKEN: Final = "root.torch"
"""The event of a name that the tracer copies into the graph's module, which has such an attribute of its own."""


# -- construction -----------------------------------------------------------------------------------------------------


def create(vm: Machine, frame: Frame, cls: External, args: Arguments, node: ast.AST) -> Instance:
    """``nn.Linear(...)``: an object of a library module class."""
    created = Instance(cls, expression=cls.name.rpartition(".")[2])
    initialise(vm, frame, cls.name, created, args, node)
    return created


def initialise(vm: Machine, frame: Frame, base: str, created: Instance, args: Arguments, node: ast.AST) -> None:
    """Run the constructor of library class ``base`` on an object."""
    name = vm.facts.canonical(base)
    if name == SEQUENTIAL:
        _fill_sequential(vm, created, args)
    elif name in _LISTS:
        given = args.get(0, "modules") or args.get(0, "values")
        items = containers.iterate(vm, frame, given, node, "iter.call") if given is not None else Sequence("list", [])
        _adopt(items.members())
        created.children = Sequence("list", list(items.items), items.rest, optional=items.optional)
    elif name in _DICTS:
        created.children = _dictionary(vm, frame, args, node)
    else:
        bound = vm.facts.bind_constructor(name, args)
        if isinstance(created.cls, External):
            created.arguments = bound
        else:
            for attribute, value in vm.facts.attributes_of(name, bound).items():
                vm.heap.put(created.attributes, attribute, value)


def _fill_sequential(vm: Machine, created: Instance, args: Arguments) -> None:
    first = args.get(0, "")
    if isinstance(first, Mapping) and len(args.positional) == 1:
        items, rest = [pair[1] for pair in first.items.values()], first.rest
        if rest is not None and items:  # where among them those under names that are not known stand is not known
            items, rest = items[:1], extended(rest, map(Part, items[1:]))
        created.children = Sequence("list", items, rest)
        for key, value in first.items.values():
            if isinstance(key, Const) and isinstance(key.value, str):
                created.attributes[key.value] = value
    else:
        created.children = Sequence("list", list(args.positional), args.extra)
    _adopt(created.children.members())


def _dictionary(vm: Machine, frame: Frame, args: Arguments, node: ast.AST) -> Mapping:
    given = args.get(0, "modules") or args.get(0, "parameters")
    result = Mapping({})
    if isinstance(given, Mapping):
        result = Mapping(dict(given.items), given.rest)
    elif given is not None and not (isinstance(given, Const) and given.value is None):
        for pair in containers.iterate(vm, frame, given, node, "iter.call").members():
            key, value = containers.unpack(vm, frame, pair, 2, node, exact=False)
            containers.store(result, key, value)
    _adopt(result.entries())
    return result


def _adopt(children: object) -> None:
    for child in children:  # type: ignore[attr-defined]
        classes.register(child)


# -- calls ------------------------------------------------------------------------------------------------------------


def call_module(vm: Machine, frame: Frame, module: Instance, args: Arguments, node: ast.AST) -> Value:
    """``module(x)`` while tracing: a leaf is recorded, another one is traced through."""
    if not vm.tracing:
        return REAL_TENSOR
    if not vm.within_root(module):
        vm.event("module.unregistered", node, exception="NameError", callee=module.expression)
        return vm.traced(node, _first_traced(args))
    if is_leaf(vm, module) or told.is_leaf(vm, module.cls):
        _note_module(vm, module, node)
        return library.recorded(vm, args, node, module.expression)
    args = hooks.before(vm, frame, module, args, node)
    output = run_forward(vm, frame, module, args, node)
    return hooks.after(vm, frame, module, args, output, node)


def taken(owner: Value | None, root: Value | None, node: ast.AST) -> str:
    """The name by which the root's own tensor is read, if a graph's module has such an attribute itself."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    return name if owner is root and name in TAKEN_TENSORS else ""


def note_taken(vm: Machine, name: str, node: ast.AST) -> None:
    """Something of the root that the graph reads by such a name."""
    vm.note(TAKEN, node, callee=f"self.{name}")


def _note_module(vm: Machine, module: Instance, node: ast.AST) -> None:
    own = vm.root.attributes if isinstance(vm.root, Instance) else {}
    for name in GRAPH_ATTRIBUTES & own.keys():
        if own[name] is module:
            note_taken(vm, name, node)


def _first_traced(args: Arguments) -> Value | None:
    return next((value for value in args.values() if isinstance(value, Traced)), None)


def is_leaf(vm: Machine, module: Instance) -> bool:
    """The stock rule: modules that torch.nn defines are leaves, except Sequential."""
    if isinstance(module.cls, Class):
        return module.cls.module.index.name.startswith(("torch.nn", "torch.ao.nn")) and not _is_sequential(vm, module)
    name = vm.facts.canonical(module.cls.name)
    return name != SEQUENTIAL and name.startswith(_LEAF_PREFIXES)


def _is_sequential(vm: Machine, module: Instance) -> bool:
    return classes.derives_from(vm, module.cls, frozenset({SEQUENTIAL}))


def run_forward(vm: Machine, frame: Frame, module: Instance, args: Arguments, node: ast.AST) -> Value:
    """The forward of a module that is no leaf."""
    own = module.attributes.get("forward")
    if own is not None:
        return calls.call(vm, frame, own, args, node)
    forward = classes.find(vm, module.cls, "forward")
    if isinstance(forward, (Function, Decorated)):
        return calls.call(vm, frame, forward, args.after(module), node)
    if forward is not None:
        return calls.call(vm, frame, attributes.bind(vm, forward, module), args, node)
    base = classes.library_base_with(vm, module.cls, "forward")
    if base is None:
        return MAYBE
    return library_forward(vm, frame, module, base, args, node)


def library_forward(vm: Machine, frame: Frame, module: Instance, base: str, args: Arguments, node: ast.AST) -> Value:
    """A forward that torch defines, traced through because its module is no leaf: measured."""
    name = vm.facts.canonical(base)
    if name == SEQUENTIAL:
        return _run_sequential(vm, frame, module, args, node)
    if name == classes.MODULE:
        vm.note("abstract", node)
        raise PathEnd
    if not args.holds_traced():
        return MAYBE
    failure = vm.facts.forward_failure(name)
    for method, inner in vm.facts.calls_in_forward(name).items():
        own = classes.find(vm, module.cls, method)
        if own is not None:
            given = [_given(vm, frame, module, source, args, node) for source in inner.arguments]
            calls.invoke(vm, frame, attributes.bind(vm, own, module), given, node)
            failure = inner.afterwards.exception
    if failure is not None:
        vm.event("root.library", node, exception=failure, callee=name.rpartition(".")[2])
    if vm.facts.goes_by_mode(name) and isinstance(node, ast.Call):
        vm.note("silent.training", node)
    return vm.traced(node, _first_traced(args))


def _given(vm: Machine, frame: Frame, module: Instance, source: str, args: Arguments, node: ast.AST) -> Value:
    """What a library forward hands to a method of its own object."""
    if source == "*":
        return vm.traced(node, _first_traced(args))
    if source.startswith("."):
        return attributes.load(vm, frame, module, source[1:], node)
    return literal(source)


def _run_sequential(vm: Machine, frame: Frame, module: Instance, args: Arguments, node: ast.AST) -> Value:
    value = args.get(0, "input") or UNKNOWN
    children = module.children
    if not isinstance(children, Sequence):
        return MAYBE
    for child in children.items:
        value = calls.invoke(vm, frame, child, [value], node)
    parts = parts_of(children.rest)
    for part in parts * 2 if len(parts) == 1 else parts:
        results: list[Value] = []

        def run(layer: Value = part.value, value: Value = value, results: list[Value] = results) -> bool:
            results.append(calls.invoke(vm, frame, layer, [value], node))
            return True

        vm.where(part.conditions, run)
        value = options(results[0])[-1] if results else value
    return value


# -- methods of torch.nn.Module ---------------------------------------------------------------------------------------

_RETURNS_SELF: Final = frozenset(
    "to cuda cpu eval train float half double bfloat16 type requires_grad_ apply share_memory to_empty xpu ipu".split()
)
_MODES: Final = {"train": TRUE, "eval": FALSE}
_PARAMETERS: Final = {"parameters": Tensor(parameter=True), "buffers": REAL_TENSOR}
_NAMED: Final = {"named_parameters": Tensor(parameter=True), "named_buffers": REAL_TENSOR}


def method(vm: Machine, frame: Frame, module: Instance, base: str, name: str, args: Arguments, node: ast.AST) -> Value:
    """A method that a library base class of a module has."""
    if name == "__init__":
        initialise(vm, frame, base, module, args, node)
        return NONE
    if name == "forward":
        return library_forward(vm, frame, module, base, args, node)
    if name in {"__call__", "_call_impl"}:
        return call_module(vm, frame, module, args, node)
    if name in _RETURNS_SELF:
        silent.set_mode(vm, module, name, node)
        if name in _MODES:
            mode = args.get(0, "mode") if name == "train" else None
            _set_mode(vm, module, mode or _MODES[name])
        escapes.given(vm, args.values())  # apply calls a function
        if name == "to" and args.positional and isinstance(args.positional[0], Traced):
            # Which of its overloads is meant is asked of the argument itself.
            vm.event("bool.call", node, origin=args.positional[0].origin, callee="torch.nn.Module.to")
        return module
    if name in {hooks.BEFORE, hooks.AFTER}:
        return hooks.register(vm, module, name, args)
    if name == "register_buffer":
        return _set_member(vm, module, args, "tensor", REAL_TENSOR, node)
    if name == "register_parameter":
        return _set_member(vm, module, args, "param", Tensor(parameter=True), node)
    if name in {"add_module", "register_module"}:
        return _set_member(vm, module, args, "module", UNKNOWN, node)
    if name in _PARAMETERS:
        return Sequence("iterator", [], _PARAMETERS[name])
    if name in _NAMED:
        return Sequence("iterator", [], Sequence("tuple", [UNKNOWN, _NAMED[name]]))
    if name in {"children", "named_children"}:
        view = "values" if name == "children" else "items"
        bound = Bound(External(f"builtins.dict.{view}"), submodules(vm, module))
        return calls.call(vm, frame, bound, Arguments(), node)
    if name == "modules":
        return Sequence("iterator", [], UNKNOWN)
    if name == "named_modules":
        return Sequence("iterator", [], Sequence("tuple", [UNKNOWN, UNKNOWN]))
    if name == "__getattr__":
        key = args.get(0, "name")
        found = module.attributes.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None
        return attributes.as_seen(vm, module, found, node) if found is not None else UNKNOWN
    if name == "__setattr__":
        key, value = args.get(0, "name"), args.get(1, "value")
        if isinstance(key, Const) and isinstance(key.value, str) and value is not None:
            attributes.store(vm, frame, module, key.value, value, node)
        return NONE
    if module.children is not None:
        return _container_method(vm, frame, module, name, args, node)
    measured = vm.facts.method(base, name)
    if measured is not None and args.holds_traced():
        return library.outcome_of(vm, f"{base}.{name}", measured, args, node)
    return UNKNOWN


def _set_mode(vm: Machine, module: Instance, mode: Value) -> None:
    """``module.train(mode)``: of all that it contains too.

    A constructor sets what an object has at first: whoever makes it may change it. Where an object stands for others
    that are built alike, or a condition decides, it is one mode or the other.
    """
    likely = mode if isinstance(mode, Const) else None
    for contained in _contained(vm, module, {}).values():
        known = "training" in contained.attributes
        own = (module is vm.root or contained.attributes.born != SHARED) and (known or not vm.guards)
        if known or not vm.unlikely:
            sure = own and (vm.tracing or vm.usual)
            vm.heap.put(contained.attributes, "training", likely if likely and sure else Unknown(likely=likely))


def _contained(vm: Machine, module: Instance, found: dict[int, Instance]) -> dict[int, Instance]:
    """The module and all below it that are known, by identity."""
    if id(module) not in found:
        found[id(module)] = module
        for _, child in submodules(vm, module).items.values():
            for option in options(child):
                if isinstance(option, Instance) and classes.is_module(vm, option):
                    _contained(vm, option, found)
    return found


def submodules(vm: Machine, module: Instance) -> Mapping:
    """``module._modules``: what it contains, or else its attributes that are modules."""
    contents = module.children
    if contents is not None and not contents.items and contents.rest is None and module is vm.root:
        return Mapping({}, UNKNOWN)  # a container that its constructor leaves empty is filled by those who use it
    if isinstance(contents, Mapping):
        return Mapping(dict(contents.items), contents.rest)
    if isinstance(contents, Sequence):
        numbered = [(Const(str(position)), child) for position, child in enumerate(contents.items)]
        return Mapping({("", name.value): (name, child) for name, child in numbered}, contents.rest)
    known = {
        ("", name): (Const(name), value)
        for name, value in module.attributes.items()
        if any(classes.is_module(vm, option) for option in options(value))
    }
    return Mapping(known, UNKNOWN if module.open or not known else None)  # type: ignore[arg-type]


def _set_member(vm: Machine, module: Instance, args: Arguments, keyword: str, default: Value, node: ast.AST) -> Value:
    key, value = args.get(0, "name"), args.get(1, keyword)
    if isinstance(value, Unknown) and default is not UNKNOWN:
        likely = value.likely if value.is_none is not False else None
        # A buffer that is None unless one is given is what conditions in forward ask about.
        value = Union([NONE, default], 1) if isinstance(likely, Const) and likely.value is None else default
    elif isinstance(value, Tensor):
        value = default
    if value is not None and keyword == "module":
        classes.register(value)
    if isinstance(key, Const) and isinstance(key.value, str) and value is not None:
        vm.heap.put(module.attributes, key.value, value)
        if isinstance(module.children, Sequence) and keyword == "module":
            containers.append(vm, module.children, value)
        elif isinstance(module.children, Mapping):
            containers.set_item(vm, vm.frame, module.children, key, value, node)
    elif value is not None and isinstance(module.children, Sequence):
        containers.append(vm, module.children, value)
    elif value is not None and isinstance(module.children, Mapping):
        containers.set_item(vm, vm.frame, module.children, UNKNOWN, value, node)
    else:
        module.open = True
    return NONE


def _container_method(vm: Machine, frame: Frame, module: Instance, name: str, args: Arguments, node: ast.AST) -> Value:
    """append, extend, items ... of ModuleList, Sequential, ModuleDict: those of the list or dict inside."""
    assert module.children is not None
    for value in args.values():
        for child in value.members() if isinstance(value, Sequence) else [value]:
            classes.register(child)
    kind = "list" if isinstance(module.children, Sequence) else "dict"
    if not hasattr(list if kind == "list" else dict, name):
        return MAYBE if args.may_hold_traced() else UNKNOWN  # a method of every module
    bound = Bound(External(f"builtins.{kind}.{name}"), module.children)
    result = calls.call(vm, frame, bound, args, node)
    return module if name in {"append", "extend", "insert"} else result
