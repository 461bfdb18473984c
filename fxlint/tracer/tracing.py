"""How the project traces: what it tells its Tracer, and the arguments that it binds."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import torch.fx

from .failures import message_of
from .frames import UserCode
from .instances import CannotBuildError, evaluate
from .stock import Root, Stock, stock, traced_by


@dataclass(frozen=True)
class Tracing:
    """With nothing set, tracing is ``torch.fx.symbolic_trace``.

    ``arguments`` are those of the constructor of ``base``, ``leaves`` are leaf modules on top of its own.
    ``concrete_args`` goes before the defaults of the parameters, which ``bind_defaults`` binds.
    """

    base: type[torch.fx.Tracer] = torch.fx.Tracer
    arguments: Mapping[str, Any] = field(default_factory=dict)
    leaves: tuple[type, ...] = ()
    concrete_args: Mapping[str, Any] = field(default_factory=dict)
    bind_defaults: bool = False

    def trace(self, root: Root, user: UserCode) -> Stock:
        concrete_args = self.bound(root)
        if self.base is torch.fx.Tracer and not self.arguments and not self.leaves:
            return stock(root, user, concrete_args)
        return traced_by(self.tracer_class()(**self.arguments), root, user, concrete_args)

    def tracer_class(self) -> type[torch.fx.Tracer]:
        if not self.leaves:
            return self.base
        base: Any = self.base
        leaves = self.leaves

        class Tracer(base):  # type: ignore[misc]
            def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
                return isinstance(m, leaves) or super().is_leaf_module(m, module_qualified_name)

        return Tracer

    def bound(self, root: Root) -> dict[str, Any] | None:
        """The concrete_args for a root."""
        bound = {**(defaults_of(root) if self.bind_defaults else {}), **self.concrete_args}
        return bound or None

    def with_leaf(self, leaf: type) -> Tracing:
        return replace(self, leaves=(*self.leaves, leaf))

    def with_argument(self, name: str, value: Any) -> Tracing:
        return replace(self, arguments={**self.arguments, name: value})

    def with_concrete_args(self, concrete_args: Mapping[str, Any]) -> Tracing:
        return replace(self, concrete_args={**self.concrete_args, **concrete_args})


STOCK = Tracing()


def defaults_of(root: Root) -> dict[str, Any]:
    """The parameters of forward that have a default, as the tracer reads its signature."""
    forward = type(root).forward if isinstance(root, torch.nn.Module) else root
    return {
        parameter.name: parameter.default
        for parameter in inspect.signature(inspect.unwrap(forward)).parameters.values()
        if parameter.default is not parameter.empty
    }


def unknown_parameters(root: Any, names: Iterable[str]) -> list[str]:
    """The names that are no parameters of forward, or of a function: the tracer passes them over."""
    forward = getattr(root, "forward", root)
    parameters = inspect.signature(inspect.unwrap(forward)).parameters
    return [name for name in names if name not in parameters]


def told(settings: Mapping[str, Any], bind_defaults: bool) -> tuple[Tracing, list[str]]:
    """What the fields of ``TracerSettings`` in ``fxlint/tracing.py`` come to, and what in them cannot be used.

    A registry is filled by imports: call this after that of the code to trace. Raises CannotBuildError where the
    Tracer's class cannot be had.
    """
    looked_up = _LookUp(frozenset(settings["optional"]))
    leaves = tuple(looked_up.members(settings["leaf_modules"], _is_module_class))
    functions = tuple(looked_up.members(settings["autowrap_functions"], callable))
    modules = [value for name in settings["autowrap_modules"] for value in looked_up.value(name)]
    arguments: dict[str, Any] = {}
    if modules:
        arguments["autowrap_modules"] = (math, *modules)
    if functions:
        arguments["autowrap_functions"] = functions
    if settings["param_shapes_constant"]:
        arguments["param_shapes_constant"] = True
    base = torch.fx.Tracer
    if settings["tracer_class"] is not None:
        base = _tracer_class(settings["tracer_class"])
    problems = looked_up.problems
    if base.is_leaf_module is not torch.fx.Tracer.is_leaf_module and not leaves:
        name = settings["tracer_class"]
        problems.append(f"{name} has leaf modules of its own, which prediction knows from leaf-modules only")
    return Tracing(base, arguments, leaves, bind_defaults=bind_defaults), problems


def _tracer_class(name: str) -> type[torch.fx.Tracer]:
    try:
        found = _named(name)
    except Exception as error:
        raise CannotBuildError(f"the tracer {name} cannot be imported: {_told(error)}") from error
    if not (isinstance(found, type) and issubclass(found, torch.fx.Tracer)):
        raise CannotBuildError(f"the tracer {name} is no subclass of torch.fx.Tracer")
    return found


class _LookUp:
    def __init__(self, optional: frozenset[str]) -> None:
        self._optional = optional
        self.problems: list[str] = []

    def value(self, name: str) -> Iterator[Any]:
        """What a name means; nothing, and a problem, where it means nothing."""
        try:
            yield _named(name)
        except Exception as error:
            if name not in self._optional:
                self.problems.append(f"'{name}' not used: {_told(error)}")

    def members(self, names: Iterable[str], is_meant: Callable[[Any], bool]) -> Iterator[Any]:
        """What the names mean, and what is in the modules and collections that they mean."""
        for name in names:
            for value in self.value(name):
                several = vars(value).values() if isinstance(value, ModuleType) else _contents(value)
                if several is not None:
                    yield from filter(is_meant, several)
                elif is_meant(value):
                    yield value
                else:
                    self.problems.append(f"'{name}' not used: it is a {type(value).__name__}")


def _contents(value: Any) -> Iterable[Any] | None:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, (set, frozenset, list, tuple)) else None


def _is_module_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, torch.nn.Module) and value is not torch.nn.Module


def _named(name: str) -> Any:
    """The object of a name, ``package.module`` or ``package.module:Qualified.name``."""
    module, _, qualname = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in filter(None, qualname.split(".")):
        found = getattr(found, part)
    return found


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {message_of(error)}".split())


def evaluated(expression: str, module: ModuleType) -> dict[str, Any]:
    """The dictionary that an expression for concrete_args makes. Raises CannotBuildError for anything else."""
    value = evaluate(expression, module)
    if not isinstance(value, dict):
        raise CannotBuildError(f"concrete_args must be a dict, {expression} is a {type(value).__name__}")
    return value
