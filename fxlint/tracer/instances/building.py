"""Makes instances, on the meta device where that works, and fresh ones for every trace."""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import importlib
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import torch

from ..failures import message_of
from ..frames import UserCode, frames_of
from ..stock import Root
from .targets import CannotBuildError

SLOW_BUILD = 0.05
"""Seconds above which an instance is copied for the next trace instead of being built anew."""

_SUBMODULE = re.compile(r"(?P<model>.+)\.get_submodule\('(?P<path>[^']+)'\)$", re.DOTALL)
_prebuilt: dict[str, torch.nn.Module] = {}
"""Models by their expression, each for one use in a fork of the process that has built it."""

DEVICES = ("meta", "cpu")
"""Where an instance is built, in order of preference: on the meta device size does not matter."""


@dataclass(frozen=True)
class Candidate:
    """A way to make an instance; ``text`` is how the report names it."""

    text: str
    make: Callable[[], Any]
    of: type | None = None
    """The class that it has to be an instance of."""
    devices: tuple[str, ...] = DEVICES
    shared: bool = False
    """Whether it only names an object that others hold too."""


class Builder:
    """Fresh instances of one candidate, so that no trace sees what another one left behind.

    The first one is as the expression made it; where building takes long the later ones are copies of it, made before
    it was handed out. They share what ``_layers`` says. An object of the user's, which an expression only names, is
    never handed out itself: tracing may leave a Proxy in it.
    """

    def __init__(self, candidate: Candidate, user: UserCode, device: str) -> None:
        self.text = candidate.text
        self.device = device
        self._make = candidate.make
        self._of = candidate.of
        self._shared = candidate.shared
        self._user = user
        self._pristine: torch.nn.Module | None = None
        self._last: Root | None = None

    def __call__(self) -> Root:
        """Raises CannotBuildError where the instance cannot be made or cannot be traced."""
        if self._pristine is not None:
            return copied(self._pristine, _layers(self._pristine)) or self._pristine
        started = time.monotonic()
        prebuilt = len(_prebuilt)
        made = self._made()
        if not isinstance(made, torch.nn.Module):
            return made
        if self._shared or made is self._last:
            self._pristine = made
            return copied(made) or made  # one that cannot be copied is traced as it is
        self._last = made
        if len(_prebuilt) < prebuilt or time.monotonic() - started > SLOW_BUILD:
            self._pristine = copied(made)
        return made

    def _made(self) -> Root:
        try:
            with on_device(self.device), seeded():
                made = self._make()
        except BaseException as error:
            raise CannotBuildError(f"{self.text} raised {told_in_a_line(error, self._user)}") from error
        if not isinstance(made, (torch.nn.Module, FunctionType)):
            raise CannotBuildError(f"{self.text} is a {type(made).__name__}, not a module or a function")
        if self._of is not None and not isinstance(made, self._of):
            wrong, right = type(made).__name__, self._of.__name__
            raise CannotBuildError(f"{self.text} makes an instance of {wrong}, not of {right}")
        return made


def copied(module: torch.nn.Module, shared: Iterable[torch.nn.Module] = ()) -> torch.nn.Module | None:
    """A copy with the ``shared`` modules themselves in it; None of a module that cannot be copied."""
    try:
        return copy.deepcopy(module, {id(one): one for one in shared})
    except Exception:
        return None


def _layers(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The layers of torch in a module, which are most of it: no trace leaves anything behind in them."""
    return [one for one in module.modules() if type(one).__module__.startswith("torch.nn.") and not one._modules]


def prebuild(texts: Iterable[str], seconds: float) -> None:
    """Build models of which several expressions take a submodule: for processes that are forked off this one.

    They have been built before, so that nothing is risked; still they get no more than some ``seconds`` in all.
    """
    _prebuilt.clear()
    started = time.monotonic()
    models = [found["model"] for found in map(_SUBMODULE.match, texts) if found]
    for text in dict.fromkeys(models):
        if models.count(text) > 1 and time.monotonic() - started < seconds:
            with contextlib.suppress(Exception), on_device(DEVICES[0]), seeded():
                made = evaluate(text)
                if isinstance(made, torch.nn.Module):
                    _prebuilt[text] = made


@dataclass(frozen=True)
class Expression:
    """Makes an instance by evaluating an expression, in a module's namespace where it was written for one."""

    text: str
    module: ModuleType | None = None

    def __call__(self) -> Any:
        found = _SUBMODULE.match(self.text)
        if found and found["model"] in _prebuilt:
            return _prebuilt.pop(found["model"]).get_submodule(found["path"])
        return evaluate(self.text, self.module)


def only_names(text: str) -> bool:
    """Whether an expression calls nothing: then it names an object and makes none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    return not any(isinstance(node, ast.Call) for node in ast.walk(tree))


def evaluate(text: str, module: ModuleType | None = None) -> Any:
    """The value of an expression in a module's namespace, where ``torch``, ``nn`` and ``fx`` are known too.

    A dotted name that starts with none of these is imported.
    """
    namespace = {"torch": torch, "nn": torch.nn, "fx": torch.fx, "__builtins__": builtins}
    namespace.update(vars(module) if module is not None else {})
    tree = ast.parse(text.strip(), mode="eval")
    for dotted in dotted_names(tree):
        _import(dotted, namespace)
    return eval(compile(tree, "<instance>", "eval"), namespace)


def dotted_names(tree: ast.AST) -> set[str]:
    """The names and attribute chains of an expression, ``a.b.c`` each in full."""
    found = set()
    for node in ast.walk(tree):
        parts: list[str] = []
        at: ast.AST = node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name):
            found.add(".".join([at.id, *reversed(parts)]))
    return found


def _import(dotted: str, namespace: dict[str, Any]) -> None:
    """Import the modules that a dotted name goes through; what cannot be imported is left to the evaluation."""
    head, *parts = dotted.split(".")
    if hasattr(builtins, head):
        return
    if head not in namespace:
        if not parts:
            return
        try:
            namespace[head] = importlib.import_module(head)
        except ImportError:
            return
    owner, name = namespace[head], head
    for part in parts:
        name = f"{name}.{part}"
        if not isinstance(owner, ModuleType):
            return
        if not hasattr(owner, part) and hasattr(owner, "__path__") and owner.__name__ == name.rpartition(".")[0]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        owner = getattr(owner, part, None)


def told_in_a_line(error: BaseException, user: UserCode) -> str:
    """``TypeError: message (net.py:3)`` in one line."""
    frames = frames_of(user.own(user.of_traceback(error.__traceback__)))
    where = f" ({os.path.basename(frames[-1].file)}:{frames[-1].line})" if frames else ""
    message = " ".join(message_of(error).split())
    return f"{type(error).__name__}: {message[:300]}{where}" if message else f"{type(error).__name__}{where}"


def on_device(device: str) -> contextlib.AbstractContextManager[Any]:
    """Tensors without a device of their own are made there."""
    return torch.device(device) if device != "cpu" else contextlib.nullcontext()


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """The same random numbers for every instance, so that verdicts do not flip from run to run."""
    torch.manual_seed(0)
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    yield
