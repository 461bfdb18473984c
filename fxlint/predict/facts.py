"""What is known of libraries: the measured tables about torch, and plain introspection of the standard library."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from fxlint.predict import calltable
from fxlint.predict.values import NONE, REAL_TENSOR, UNKNOWN, Const, External, Instance, Tensor, Value, const, join_all

if TYPE_CHECKING:
    from fxlint.predict.arguments import Arguments
    from fxlint.predict.machine import Machine

_PYTHON_MODULES: Final = frozenset({"builtins", "collections", "collections.abc", "enum", "abc", "typing", "functools"})


class Facts:
    """One torch release's facts; ``release`` None means the newest that was measured."""

    def __init__(self, release: str | None = None) -> None:
        self.release = release

    def canonical(self, name: str) -> str:
        return _canonical(name, self.release)

    def kind(self, name: str) -> str | None:
        return calltable.kind(name, self.release) if name.startswith("torch") else _python_kind(name)

    def is_object(self, name: str) -> bool:
        """Whether the name is surely that of a function, class or module, which are true in a condition."""
        return self.kind(name) in {"function", "class", "module"}

    def is_proxy_method(self, name: str) -> bool:
        return calltable.proxy_attribute(name, self.release) == "function"

    def proxy_is_instance(self, name: str) -> bool:
        """``isinstance(proxy, name)``."""
        return bool(calltable.instance_of(self.canonical(name), self.release))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Canonical names of a library class and of what it derives from."""
        return _ancestors(self.canonical(name), self.release)

    def is_python_instance(self, value: object, name: str) -> bool:
        """Whether a Python object is an instance of a class of the standard library; of others it is none."""
        cls = _python_object(name)
        try:
            return isinstance(value, cls)
        except TypeError:  # not a class, or one that takes no questions
            return False

    def has_attribute(self, class_name: str, attribute: str) -> bool:
        """Whether a library class has an attribute, inherited ones included."""
        return _has_attribute(self.canonical(class_name), attribute, self.release)

    # -- torch.nn classes -----------------------------------------------------------------------------------------

    def bind_constructor(self, name: str, args: Arguments) -> dict[str, Value]:
        """Constructor arguments of a library module by parameter name; defaults filled in."""
        facts = calltable.module_class(name, self.release)
        if facts is None:
            return dict(args.keywords)
        bound: dict[str, Value] = {}
        for position, parameter in enumerate(facts.parameters):
            given = args.get(position, parameter.name)
            if given is not None:
                bound[parameter.name] = given
            elif args.extra is not None or args.extra_keywords is not None:
                bound[parameter.name] = UNKNOWN
            elif parameter.default is not None:
                bound[parameter.name] = literal(parameter.default)
        return bound

    def attributes_of(self, name: str, bound: dict[str, Value]) -> dict[str, Value]:
        """All attributes that the constructor of a library module sets."""
        facts = calltable.module_class(name, self.release)
        if facts is None:
            return {}
        return {attribute: _attribute(kind, attribute, bound) for attribute, kind in facts.attributes.items()}

    def attribute(self, vm: Machine, owner: Instance, name: str) -> Value | None:
        """An attribute of an object of a library class; None where the class has no such attribute of its own."""
        if name == "training" and _derives_from_module(vm, owner):
            return vm.training
        if not isinstance(owner.cls, External):
            return None
        facts = calltable.module_class(self.canonical(owner.cls.name), self.release)
        if facts is None or name not in facts.attributes:
            return None
        return _attribute(facts.attributes[name], name, owner.arguments)

    def forward_failure(self, name: str) -> str | None:
        """The exception type with which tracing through a library module's own forward fails; None where it traces."""
        facts = calltable.module_class(name, self.release)
        outcome = facts.traces.get("super.train") if facts is not None else None
        return outcome.exception if outcome is not None else None

    def calls_in_forward(self, name: str) -> Mapping[str, calltable.InnerCall]:
        """The methods of its own object that a library module's forward calls."""
        facts = calltable.module_class(name, self.release)
        return facts.calls if facts is not None else {}

    def method(self, class_name: str, name: str) -> calltable.Outcome | None:
        """What a method of a library module, other than forward, does with Proxies; None where it was not measured."""
        facts = calltable.module_class(class_name, self.release)
        return facts.methods.get(name) if facts is not None else None

    def goes_by_mode(self, name: str) -> bool:
        """Whether a library module's own forward, traced through, gives another graph in train than in eval mode."""
        facts = calltable.module_class(name, self.release)
        return facts is not None and facts.by_mode


def _derives_from_module(vm: Machine, owner: Instance) -> bool:
    from fxlint.predict import classes

    return classes.is_module(vm, owner)


def _attribute(fact: calltable.Attribute, name: str, bound: dict[str, Value]) -> Value:
    """What an attribute holds, given the constructor's arguments."""
    if fact.follows and name in bound:
        return bound[name]
    kinds = [fact.kind]
    for condition, kind in fact.otherwise:
        parameter, _, text = condition.partition("=")
        given = bound.get(parameter)
        if isinstance(given, Const):
            if repr(given.value) == text:
                return _of_kind(kind, None)
        elif given is not None:
            kinds.append(kind)
    different = tuple(dict.fromkeys(kinds))
    return _of_kind(fact.kind, fact.value) if len(different) == 1 else join_all(_of_kind(k, None) for k in different)


def _of_kind(kind: str, value: str | None) -> Value:
    if kind == "parameter":
        return Tensor(parameter=True)
    if kind in {"buffer", "tensor"}:
        return REAL_TENSOR
    if kind == "none":
        return NONE
    if kind.startswith("module "):
        return Instance(External(kind.removeprefix("module ")), registered=True, open=True)
    return UNKNOWN if value is None else literal(value)


@cache
def literal(text: str) -> Value:
    """The value that a text of the tables stands for, where it is that of a constant."""
    try:
        return const(ast.literal_eval(text))
    except (ValueError, SyntaxError):
        return UNKNOWN


@cache
def _canonical(name: str, release: str | None) -> str:
    return (calltable.canonical(name, release) if name.startswith("torch") else None) or name


@cache
def _ancestors(name: str, release: str | None) -> tuple[str, ...]:
    if name.startswith("torch"):
        return (name, *calltable.bases(name, release))
    cls = _python_object(name)
    return tuple(f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__[1:]) if isinstance(cls, type) else ()


@cache
def _has_attribute(name: str, attribute: str, release: str | None) -> bool:
    if name.startswith("torch"):
        bases = _ancestors(name, release)
        if attribute in {"__init__", "forward", "__call__"} and "torch.nn.Module" in bases:
            return True
        return any(attribute in calltable.members(base, release) for base in bases)
    cls = _python_object(name)
    return isinstance(cls, type) and hasattr(cls, attribute) and not hasattr(object, attribute)


@lru_cache(maxsize=1024)
def _python_object(name: str) -> Any:
    module, _, short = name.rpartition(".")
    if module in _PYTHON_MODULES and module in sys.modules:
        return getattr(sys.modules[module], short, None)
    return getattr(builtins, name, None) if not module else None


def _python_kind(name: str) -> str | None:
    found = _python_object(name)
    if found is None:
        return "module" if name in sys.stdlib_module_names else None
    return "class" if isinstance(found, type) else "function" if callable(found) else "constant"
