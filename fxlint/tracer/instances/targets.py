"""From a file and a name to the object that is to be traced."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..frames import real_path
from ..held import loader, why_incomplete


class CannotBuildError(Exception):
    """Says in one line why there is no instance, or no module."""


@dataclass(frozen=True)
class Target:
    """The root as found in its module.

    ``declared`` are the user's expressions for instances of it; ``found`` are those of the survey, each with the
    device on which it can be built.
    """

    module: ModuleType
    qualname: str
    obj: Any
    declared: tuple[str, ...] = ()
    found: tuple[Mapping[str, Any], ...] = ()
    why_none: str | None = None
    """What the survey says where it has found nothing."""


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
    spec = importlib.util.spec_from_file_location(name, file, loader=loader(name, file))
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


def find(module: ModuleType, qualname: str) -> Any:
    """The object of a qualified name. Raises CannotBuildError where it cannot be reached."""
    if "<locals>" in qualname:
        return _local_function(module, *qualname.split(".<locals>.", 1))
    obj: Any = module
    for part in qualname.split("."):
        try:
            obj = inspect.getattr_static(obj, part) if isinstance(obj, type) else getattr(obj, part)
        except AttributeError:
            why = why_incomplete(getattr(module, "__file__", None) or "")
            told = f"importing {module.__name__} defines no {qualname} here"
            raise CannotBuildError(f"{told}: {why}" if why else told) from None
    if isinstance(obj, (staticmethod, classmethod)):
        obj = obj.__func__
    return obj


def _local_function(module: ModuleType, outer: str, name: str) -> FunctionType:
    """A function that another one defines: it can be made from that one's code where it needs no variable of it."""
    found = inspect.unwrap(find(module, outer))
    for code in found.__code__.co_consts if isinstance(found, FunctionType) else ():
        if isinstance(code, CodeType) and code.co_name == name and not code.co_freevars:
            return FunctionType(code, found.__globals__, name)
    raise CannotBuildError("it is defined inside a function, where nothing outside can reach it")
