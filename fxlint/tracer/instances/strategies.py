"""The ways to an instance when a root is traced: declared, found by the survey, without arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch

from .building import DEVICES, Candidate, Expression, only_names
from .naming import from_inside
from .targets import CannotBuildError, Target

Strategy = Callable[[Target], "list[Candidate] | str"]
"""Gives candidates, or says in one clause why it has none."""


def itself(target: Target) -> list[Candidate] | str:
    """A function or a module object is its own instance."""
    if isinstance(target.obj, type):
        return "it is a class"
    if isinstance(target.obj, (FunctionType, torch.nn.Module)):
        return [Candidate(target.qualname, lambda: target.obj, shared=True)]
    if callable(target.obj):
        return f"it is a {type(target.obj).__name__}; torch.fx traces plain functions and modules"
    return f"it is a {type(target.obj).__name__}, which cannot be traced"


def declared(target: Target) -> list[Candidate] | str:
    """The expressions that the user gave, evaluated in the module's namespace."""
    if not target.declared:
        return "no instance is declared"
    of = target.obj if isinstance(target.obj, type) else None
    return [Candidate(text, Expression(text, target.module), of, shared=only_names(text)) for text in target.declared]


def found(target: Target) -> list[Candidate] | str:
    """What the survey of the package built; see ``survey.py``.

    Its expressions start from modules, as they did there: in the namespace of one, their names may mean something else.
    """
    if not target.found:
        return target.why_none or "none was found"
    of = target.obj if isinstance(target.obj, type) else None
    return [
        Candidate(
            from_inside(one["text"], target.module),
            Expression(one["text"]),
            of,
            DEVICES[DEVICES.index(one["device"]) :],
            only_names(one["text"]),
        )
        for one in target.found
    ]


def no_arguments(target: Target) -> list[Candidate] | str:
    """The class called without arguments, where its constructor requires none."""
    cls = target.obj
    if not isinstance(cls, type):
        return "it is no class"
    if inspect.isabstract(cls):
        return "it is an abstract class"
    missing = required_names(cls)
    if missing is None:
        return "its constructor has no signature"
    if missing:
        names = ", ".join(missing)
        sample = ", ".join(f"{name}=..." for name in missing)
        tried = f" ({target.why_none})" if target.why_none else ""
        return f"its constructor needs {names}{tried}; declare one with `# fxlint: instance={cls.__name__}({sample})`"
    return [Candidate(f"{cls.__name__}()", cls)]


def required_names(cls: Any) -> list[str] | None:
    """The parameters that a call must give, None where there is no signature."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    return [parameter.name for parameter in required if parameter.kind not in variadic]


def strategies_for(target: Target) -> tuple[Strategy, ...]:
    """What to try, in order; the last one's refusal is what the user is told."""
    if not isinstance(target.obj, type):
        return (declared, itself) if target.declared else (itself,)
    return (declared, found, no_arguments)


def candidates(target: Target) -> list[Candidate]:
    """The instances of the first strategy that has any. Raises CannotBuildError with the reason of the last one."""
    reason = ""
    for strategy in strategies_for(target):
        made = strategy(target)
        if not isinstance(made, str):
            return made
        reason = made
    raise CannotBuildError(reason)
