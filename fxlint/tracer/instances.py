"""From a file and a name to something that can be traced, or one clear line that says why not."""

from __future__ import annotations

import builtins
import contextlib
import copy
import importlib
import importlib.util
import inspect
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import torch

from .failures import message_of
from .frames import UserCode, frames_of, real_path
from .stock import Root

SLOW_BUILD = 1.0
"""Seconds above which an instance is copied for the next trace instead of being built anew."""


class CannotBuildError(Exception):
    """Says in one line why there is no instance, or no module."""


@dataclass(frozen=True)
class Target:
    """The root as found in its module. ``declared`` are the user's expressions for instances of it."""

    module: ModuleType
    qualname: str
    obj: Any
    declared: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """A way to make an instance; ``text`` is how the report names it."""

    text: str
    make: Callable[[], Any]
    of: type | None = None
    """The class that it has to be an instance of."""


Strategy = Callable[[Target], "list[Candidate] | str"]
"""Gives candidates, or says in one clause why it has none."""


def load_module(file: str, name: str, sys_path: list[str], package: bool) -> ModuleType:
    """Import a file: by its dotted name inside a package, by its path where it stands alone.

    What the file raises goes through. Raises CannotBuildError where the name belongs to another file.
    """
    for entry in reversed(sys_path):
        if entry not in sys.path:
            sys.path.insert(0, entry)
    importlib.invalidate_caches()
    if package:
        module = importlib.import_module(name)
        origin = getattr(module, "__file__", None)
        if origin is None or real_path(origin) != real_path(file):
            raise CannotBuildError(f"the name {name} belongs to {origin or 'a built-in module'} in this environment")
        return module
    if name in sys.modules:
        known = getattr(sys.modules[name], "__file__", None)
        if known is not None and real_path(known) == real_path(file):
            return sys.modules[name]
        name = f"_fxlint_{name}"  # a file beside the road that is called like a module already in use
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CannotBuildError(f"{os.path.basename(file)} is no Python source file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def find(module: ModuleType, qualname: str, declared: tuple[str, ...]) -> Target:
    """The object of a qualified name. Raises CannotBuildError where it cannot be reached."""
    if "<locals>" in qualname:
        raise CannotBuildError("it is defined inside a function, where nothing outside can reach it")
    obj: Any = module
    for part in qualname.split("."):
        try:
            obj = inspect.getattr_static(obj, part) if isinstance(obj, type) else getattr(obj, part)
        except AttributeError:
            raise CannotBuildError(f"importing {module.__name__} defines no {qualname} here") from None
    if isinstance(obj, (staticmethod, classmethod)):
        obj = obj.__func__
    return Target(module, qualname, obj, declared)


def itself(target: Target) -> list[Candidate] | str:
    """A function or a module object is its own instance."""
    if isinstance(target.obj, type):
        return "it is a class"
    if isinstance(target.obj, (FunctionType, torch.nn.Module)):
        return [Candidate(target.qualname, lambda: target.obj)]
    if callable(target.obj):
        return f"it is a {type(target.obj).__name__}; torch.fx traces plain functions and modules"
    return f"it is a {type(target.obj).__name__}, which cannot be traced"


def declared(target: Target) -> list[Candidate] | str:
    """The expressions that the user gave, evaluated in the module's namespace."""
    if not target.declared:
        return "no instance is declared"
    of = target.obj if isinstance(target.obj, type) else None
    return [Candidate(text, _Expression(text, target.module), of) for text in target.declared]


def no_arguments(target: Target) -> list[Candidate] | str:
    """The class called without arguments, where its constructor requires none."""
    cls = target.obj
    if not isinstance(cls, type):
        return "it is no class"
    if inspect.isabstract(cls):
        return "it is an abstract class"
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return "its constructor has no signature"
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    missing = [parameter.name for parameter in required if parameter.kind not in variadic]
    if missing:
        names = ", ".join(missing)
        sample = ", ".join(f"{name}=..." for name in missing)
        return f"its constructor needs {names}; declare one with `# fxlint: instance={cls.__name__}({sample})`"
    return [Candidate(f"{cls.__name__}()", cls)]


def strategies_for(target: Target) -> tuple[Strategy, ...]:
    """What to try, in order; the last one's refusal is what the user is told."""
    if not isinstance(target.obj, type):
        return (declared, itself) if target.declared else (itself,)
    return (declared, no_arguments)


def candidates(target: Target) -> list[Candidate]:
    """The instances of the first strategy that has any. Raises CannotBuildError with the reason of the last one."""
    reason = ""
    for strategy in strategies_for(target):
        found = strategy(target)
        if not isinstance(found, str):
            return found
        reason = found
    raise CannotBuildError(reason)


class Builder:
    """Fresh instances of one candidate, so that no trace sees what another one left behind.

    On the meta device where that works: then size does not matter.
    """

    def __init__(self, candidate: Candidate, user: UserCode, device: str) -> None:
        self.text = candidate.text
        self.device = device
        self._make = candidate.make
        self._of = candidate.of
        self._user = user
        self._pristine: torch.nn.Module | None = None
        self._last: Any = None

    def __call__(self) -> Root:
        """Raises CannotBuildError where the instance cannot be made or cannot be traced."""
        if self._pristine is not None:
            return _copied(self._pristine)
        started = time.monotonic()
        try:
            with _device(self.device), _seeded():
                made = self._make()
        except BaseException as error:
            raise CannotBuildError(f"{self.text} raised {told_in_a_line(error, self._user)}") from error
        if not isinstance(made, (torch.nn.Module, FunctionType)):
            raise CannotBuildError(f"{self.text} is a {type(made).__name__}, not a module or a function")
        if self._of is not None and not isinstance(made, self._of):
            wrong, right = type(made).__name__, self._of.__name__
            raise CannotBuildError(f"{self.text} makes an instance of {wrong}, not of {right}")
        shared = made is self._last
        self._last = made
        if isinstance(made, FunctionType):
            return made
        if shared or time.monotonic() - started > SLOW_BUILD:
            self._pristine = _copied(made)
            return _copied(made)
        return made


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    try:
        return copy.deepcopy(module)
    except Exception:  # a module that cannot be copied is traced as it is
        return module


@dataclass(frozen=True)
class _Expression:
    text: str
    module: ModuleType

    def __call__(self) -> Any:
        return evaluate(self.text, self.module)


def evaluate(text: str, module: ModuleType) -> Any:
    """The value of a user's expression in a module's namespace, where ``torch``, ``nn`` and ``fx`` are known too."""
    namespace = {"torch": torch, "nn": torch.nn, "fx": torch.fx, "__builtins__": builtins, **vars(module)}
    return eval(compile(text.strip(), "<instance>", "eval"), namespace)


def told_in_a_line(error: BaseException, user: UserCode) -> str:
    """``TypeError: message (net.py:3)`` in one line."""
    frames = frames_of(user.own(user.of_traceback(error.__traceback__)))
    where = f" ({os.path.basename(frames[-1].file)}:{frames[-1].line})" if frames else ""
    message = " ".join(message_of(error).split())
    return f"{type(error).__name__}: {message[:300]}{where}" if message else f"{type(error).__name__}{where}"


def _device(device: str) -> contextlib.AbstractContextManager[Any]:
    return torch.device(device) if device != "cpu" else contextlib.nullcontext()


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """The same random numbers for every instance, so that verdicts do not flip from run to run."""
    torch.manual_seed(0)
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    yield
