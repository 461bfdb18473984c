"""Attribute access: instances through their class hierarchy, modules, libraries, Proxies."""

from __future__ import annotations

import ast
import math
from collections.abc import Hashable, Iterator
from typing import Final

from fxlint.predict import calls, classes, library, modules, names, signatures, silent
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Guard, Machine
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    HELD_TENSOR,
    MAYBE,
    PROXY,
    REAL_TENSOR,
    TAKEN_TENSORS,
    UNKNOWN,
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
    Origin,
    Partial,
    Sequence,
    Slice,
    Super,
    Tensor,
    Traced,
    Union,
    Unknown,
    Value,
    const,
    likely_of,
)

# Attributes of torch.Tensor that are no methods and no tensors: what they give is an ordinary Python value.
_TENSOR_VALUES: Final = frozenset(
    "shape device dtype ndim layout is_cuda is_sparse is_quantized is_meta is_cpu is_leaf requires_grad itemsize "
    "nbytes names grad_fn is_nested is_mkldnn is_mps is_xla output_nr retains_grad volatile".split()
)
_SHAPE_METHODS: Final = frozenset({"size", "dim", "numel", "nelement"})
_SHAPES: Final = _SHAPE_METHODS | {"shape", "ndim"}
"""What ``ParameterProxy`` answers like the parameter, with ``param_shapes_constant``."""
_OF_OBJECT: Final = frozenset({"__setattr__", "__delattr__"})
"""Methods of every object that do the same for all, unless a class of the code under lint says otherwise."""
_SEQUENCE_METHODS: Final = frozenset({"index", "count"})
"""What is asked of sequences alone: an object that is not known is probably one."""
_TRANSPOSED: Final = frozenset("T mT H mH".split())
_TENSOR_TENSORS: Final = frozenset("data real imag grad".split())


def load(vm: Machine, frame: Frame, owner: Value, name: str, node: ast.AST) -> Value:
    """``owner.name``."""
    if isinstance(owner, Traced):
        return _of_traced(vm, owner, name, node)
    if isinstance(owner, Instance):
        return of_instance(vm, frame, owner, name, node)
    if isinstance(owner, Namespace) and name == "__dict__":
        return Globals(owner.module)
    if isinstance(owner, Namespace):
        value = names.member(vm, owner.module, name)
        return value if value is not None else UNKNOWN
    if isinstance(owner, External):
        silent.named(vm, owner, name, node)
        return _of_external(vm, owner, name)
    if isinstance(owner, Unknown):
        return _of_unknown(vm, frame, owner, name, node)
    if isinstance(owner, Union):
        meant = [option for option in owner.options if _may_have(option, name)]
        return calls.each(vm, meant or owner.options, lambda option: load(vm, frame, option, name, node), node)
    if isinstance(owner, Tensor):
        silent.device(vm, owner, name, node)
        if name in _TRANSPOSED:
            return silent.derived(vm, (owner,), node)
        return _of_tensor(owner, name)
    if isinstance(owner, Class):
        return _of_class(vm, frame, owner, name, node)
    if isinstance(owner, Super):
        return _of_super(vm, frame, owner, name, node)
    if isinstance(owner, Sequence):
        if name in owner.fields and owner.fields.index(name) < len(owner.items):
            return owner.items[owner.fields.index(name)]
        return Bound(External(f"builtins.{owner.kind}.{name}"), owner)
    if isinstance(owner, (Mapping, Globals)):
        return Bound(External(f"builtins.dict.{name}"), owner)
    if isinstance(owner, Const):
        return _of_constant(vm, owner, name, node)
    if isinstance(owner, Slice):
        parts = {"start": owner.lower, "stop": owner.upper, "step": owner.step}
        return parts.get(name, UNKNOWN)
    if isinstance(owner, (Function, Decorated)):
        return _of_function(owner, name)
    if isinstance(owner, Bound):
        return _of_bound(vm, owner, name, node)
    if isinstance(owner, Partial) and name == "func":
        return owner.function
    if isinstance(owner, Descriptor) and name in {"setter", "getter", "deleter"}:
        return External("fxlint.property." + name)
    return UNKNOWN


_CONTAINERS: Final = {"tuple": tuple, "list": list, "set": set, "range": range, "iterator": Iterator}


def _may_have(value: Value, name: str) -> bool:
    """Whether one of several possible values can be the one that is meant: not where it has no such attribute."""
    if isinstance(value, Const):
        return value.value is not None and hasattr(value.value, name)
    if isinstance(value, Sequence):
        return name in value.fields or hasattr(_CONTAINERS[value.kind], name)
    return not isinstance(value, Mapping) or hasattr(dict, name)


def _of_traced(vm: Machine, owner: Traced, name: str, node: ast.AST) -> Value:
    if name == "__class__":
        return External(PROXY)
    if name in _SHAPES and vm.told.tracer.param_shapes_constant and owner.is_parameter:
        return Bound(External(f"torch.Tensor.{name}"), REAL_TENSOR) if name in _SHAPE_METHODS else UNKNOWN
    if vm.facts.is_proxy_method(name):
        return Bound(External(f"{PROXY}.{name}"), owner)
    if name in {"node", "tracer"}:
        return UNKNOWN
    return vm.traced(node, owner)


def _of_external(vm: Machine, owner: External, name: str) -> Value:
    dotted = f"{owner.name}.{name}"
    if owner.name == "math":
        value = getattr(math, name, None)
        return Const(value) if isinstance(value, float) else External(dotted, patched=vm.tracing)
    if dotted == "typing.TYPE_CHECKING":
        return const(False)
    if "." not in owner.name or vm.facts.kind(owner.name) in (None, "module"):
        submodule = names.import_module(vm, dotted)
        if isinstance(submodule, Namespace):
            return submodule
    return External(dotted)


def _of_unknown(vm: Machine, frame: Frame, owner: Unknown, name: str, node: ast.AST) -> Value:
    if owner.maybe:
        return MAYBE
    likely = owner.likely
    if isinstance(likely, (Instance, Class, External, Function, Namespace)):
        with vm.untraced():
            found = load(vm, frame, likely, name, node)
        return Unknown(likely=likely_of(found)) if not isinstance(found, (Bound, Traced)) else found
    if isinstance(likely, Const) and isinstance(likely.value, str) and hasattr(str, name):
        return Unknown(likely=_of_constant(vm, likely, name, node))
    if likely is None and name in _SEQUENCE_METHODS:
        return Unknown(likely=Bound(External(f"builtins.list.{name}"), Sequence("list", [], UNKNOWN)))
    return UNKNOWN


def _of_tensor(owner: Tensor, name: str) -> Value:
    if name in _TENSOR_VALUES:
        return UNKNOWN
    if name in _TENSOR_TENSORS:
        return REAL_TENSOR
    return Bound(External(f"torch.Tensor.{name}"), owner)


def _of_constant(vm: Machine, owner: Const, name: str, node: ast.AST) -> Value:
    if not hasattr(owner.value, name):
        vm.event("raise.attribute", node, exception="AttributeError")
        return UNKNOWN
    return Bound(External(f"builtins.{type(owner.value).__name__}.{name}"), owner)


def _of_function(owner: Function | Decorated, name: str) -> Value:
    if name == "__name__" and isinstance(owner, Function):
        return Const(owner.name)
    if name == "__code__" and isinstance(owner, Function):
        return signatures.code_object(owner)
    if name == "__wrapped__":
        return (owner.wrapped if isinstance(owner, Function) else owner.function) or UNKNOWN
    return UNKNOWN


def _of_bound(vm: Machine, owner: Bound, name: str, node: ast.AST) -> Value:
    if name == "__self__":
        return owner.receiver
    if name == "__func__":
        return owner.function
    if isinstance(owner.function, (Function, Decorated)):
        return _of_function(owner.function, name)
    if isinstance(owner.receiver, Traced) and not name.startswith("__"):
        vm.event("raise.attribute", node, origin=owner.receiver.origin, exception="AttributeError")
        return MAYBE
    return UNKNOWN


# -- instances --------------------------------------------------------------------------------------------------------


def of_instance(vm: Machine, frame: Frame, owner: Instance, name: str, node: ast.AST) -> Value:
    """An attribute of an object: its own, its class's, a library base's."""
    found = classes.find(vm, owner.cls, name)
    if isinstance(found, Descriptor) and found.kind == "property":
        return calls.call(vm, frame, found.function, Arguments([owner]), node)
    value = owner.attributes.get(name)
    if value is not None:
        if name == "training" and isinstance(value, Unknown):
            vm.note("silent.training", node)
        missing = missing_if(owner, name) if vm.facts.attribute(vm, owner, name) is None else None
        if missing is not None and found is None and not vm.guards and not any(f.loops for f in vm.frames):
            vm.event_if(missing[0], "raise.attribute", node, "AttributeError", unlikely=missing[1])
        return as_seen(vm, owner, value, node)
    if name == "__class__":
        return owner.cls
    if name == "__dict__":
        return _dictionary(vm, owner)
    if name in _OF_OBJECT and found is None:
        return Bound(External(f"builtins.object.{name}"), owner)
    if name == "_modules" and classes.is_module(vm, owner):
        return modules.submodules(vm, owner)
    if found is not None:
        return bind(vm, found, owner)
    known = vm.facts.attribute(vm, owner, name)
    if known is not None:
        if name == "training":
            vm.note("silent.training", node)
        return as_seen(vm, owner, known, node)
    if isinstance(owner.children, Mapping) and classes.is_module(vm, owner):
        child = owner.children.items.get(("", name))
        if child is not None:
            return as_seen(vm, owner, child[1], node)
    fallback = classes.find(vm, owner.cls, "__getattr__")
    if isinstance(fallback, Function):
        return calls.invoke(vm, frame, fallback, [owner, Const(name)], node)
    library_base = classes.library_base_with(vm, owner.cls, name)
    if isinstance(owner.cls, External) and library.draws(owner):
        library_base = owner.cls.name
    if library_base is None and owner.children is not None and classes.is_module(vm, owner):
        library_base = "torch.nn.ModuleDict" if isinstance(owner.children, Mapping) else "torch.nn.ModuleList"
    if library_base is not None:
        return Bound(External(f"{library_base}.{name}"), owner)
    if vm.tracing and classes.is_left_out(vm, owner, name):
        vm.event("raise.attribute", node, exception="AttributeError")
        return MAYBE
    return UNKNOWN


def missing_if(owner: Instance, name: str) -> tuple[Guard, bool] | None:
    """The condition under which an object has not got an attribute, and whether that is unlikely."""
    if name not in owner.attributes.partial:
        return None
    value, guard, unlikely = owner.attributes.partial[name]
    return (guard, unlikely) if owner.attributes.get(name) is value else None


def _dictionary(vm: Machine, owner: Instance) -> Mapping:
    """``owner.__dict__``; a module keeps its parameters, buffers and submodules elsewhere.

    What is put into it is put into the owner, so it is as old.
    """
    kept = {} if classes.is_module(vm, owner) else owner.attributes
    entries: dict[Hashable, tuple[Value, Value]] = {("", name): (Const(name), value) for name, value in kept.items()}
    return Mapping(entries, UNKNOWN, owner=owner.attributes, born=owner.attributes.born)


def as_seen(vm: Machine, owner: Instance, value: Value, node: ast.AST) -> Value:
    """A parameter read from a registered module while tracing is a Proxy; a buffer is the real tensor."""
    if vm.tracing and isinstance(value, Tensor) and value.parameter and vm.within_root(owner):
        name = modules.taken(owner, vm.root, node)
        if name:
            modules.note_taken(vm, name, node)
        return Traced(Origin(vm.frame.source, node, None, "parameter"))
    if vm.tracing and isinstance(value, Union) and any(isinstance(o, Tensor) and o.parameter for o in value.options):
        return Union([as_seen(vm, owner, option, node) for option in value.options], value.likely)
    if value is REAL_TENSOR and vm.tracing and owner.attributes.born < vm.begun:
        return TAKEN_TENSORS.get(modules.taken(owner, vm.root, node), HELD_TENSOR)
    return value


def bind(vm: Machine, found: Value, receiver: Value) -> Value:
    """A class member read through an instance."""
    if isinstance(found, Union):
        return Union([bind(vm, option, receiver) for option in found.options])
    if isinstance(found, (Function, Decorated)):
        return Bound(found, receiver)
    if isinstance(found, Partial):
        return found
    if isinstance(found, Descriptor):
        if found.kind == "staticmethod":
            return found.function
        if found.kind == "classmethod":
            return Bound(found.function, receiver.cls if isinstance(receiver, Instance) else receiver)
    return found


def _of_class(vm: Machine, frame: Frame, owner: Class, name: str, node: ast.AST) -> Value:
    if name in {"__name__", "__qualname__"}:
        return Const(owner.name)
    if name == "__mro__":
        return Sequence("tuple", list(owner.mro))
    found = classes.find(vm, owner, name)
    if isinstance(found, Descriptor):
        return bind(vm, found, owner) if found.kind != "property" else found
    if found is not None:
        return found
    if name in _OF_OBJECT:
        return External(f"builtins.object.{name}")
    base = classes.library_base_with(vm, owner, name)
    if base is None:
        return UNKNOWN
    library_member = External(f"{base}.{name}")
    return Bound(library_member, owner) if name == "apply" else library_member


def _of_super(vm: Machine, frame: Frame, owner: Super, name: str, node: ast.AST) -> Value:
    receiver = owner.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    if not isinstance(cls, Class):
        return UNKNOWN
    classes.resolve_bases(vm, cls)
    mro = cls.mro
    start = mro.index(owner.after) + 1 if owner.after in mro else len(mro)
    for base in mro[start:]:
        if isinstance(base, External):
            if vm.facts.has_attribute(base.name, name):
                return Bound(External(f"{base.name}.{name}"), receiver)
            continue
        found = classes.own_member(vm, base, name)
        if isinstance(found, Descriptor) and found.kind == "property":
            return calls.call(vm, frame, found.function, Arguments([receiver]), node)
        if found is not None:
            return bind(vm, found, receiver)
    return UNKNOWN if not cls.complete else Bound(External(f"builtins.object.{name}"), receiver)


def store(vm: Machine, frame: Frame, owner: Value, name: str, value: Value, node: ast.AST) -> None:
    """``owner.name = value``."""
    if isinstance(owner, Union):
        owners = [option for option in owner.options if isinstance(option, Instance)]
        if len(owners) == 1:
            store(vm, frame, owners[0], name, value, node)
        return
    if isinstance(owner, Class):
        classes.set_member(vm, owner, name, value)
        return
    if isinstance(owner, (Traced, Tensor)):
        silent.set_on_tensor(vm, owner, value, node)
        return
    if isinstance(owner, Namespace):
        vm.set_global(owner.module, name, value)
        return
    if not isinstance(owner, Instance):
        return
    if classes.is_module(vm, owner):
        classes.register(value)
    silent.stored(vm, owner, value, node)
    owner.attributes.partial.pop(name, None)
    vm.heap.put(owner.attributes, name, value)


def delete(vm: Machine, owner: Value, name: str) -> None:
    """``del owner.name``."""
    if isinstance(owner, Instance):
        vm.heap.drop(owner.attributes, name)
