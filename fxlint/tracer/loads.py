"""What code under lint loads: modules that it imports or looks for in vain, wherever they are but where packages are
installed, and files and folders of the project that it opens or lists.

Results are kept for later runs, and hold while these files are the same. Audit events tell what is loaded a first time;
importing tells what another module has loaded before. Either is put down to all such modules that have code running
then. All processes of a batch write into one log, whatever becomes of them.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import CodeType, FrameType, ModuleType
from typing import Any

from .frames import STDLIB, TORCH, TRACER, real_path

_NO_SOURCES = frozenset(("site-packages", "dist-packages", "__pycache__"))
"""Folders of what is installed, and of what Python makes of sources."""
_EVENTS = {"open": 0, "compile": 1, "exec": 0, "os.listdir": 0, "os.scandir": 0}
"""The events that tell of a file or a folder, with the index of the argument that says which."""
_CODE = frozenset(("compile", "exec"))
_LISTING = frozenset(("os.listdir", "os.scandir"))
_NOT_WORKED_ON = tuple(os.path.join(folder, "") for folder in (*STDLIB, TORCH, TRACER))
_IMPORT_SYSTEM = "<frozen importlib"
_BETWEEN = "\0"


class Loads:
    """Notes what is loaded from now on, in this process and in those that it forks.

    The project is what lies below ``folders``, without what is installed there, and the ``linted`` files. Everything is
    told by its real path; one that ends with a separator is a folder whose names were listed.
    """

    def __init__(self, folders: Iterable[str], linted: Collection[str]) -> None:
        self._folders = tuple(dict.fromkeys(os.path.join(real_path(folder), "") for folder in folders))
        self._linted = frozenset(linted)
        self._sources: dict[str, bool] = {}
        self._noted: set[str] = set()
        self._log = tempfile.TemporaryFile(mode="ab+", buffering=0)  # noqa: SIM115 - lives as long as the process
        self._file = ""
        sys.addaudithook(self._hear)
        builtins.__import__ = self._importing(builtins.__import__)
        importlib.import_module = self._importing_module(importlib.import_module)

    def begin(self, file: str) -> None:
        """What is loaded while none of the modules has code running is put down to this one from now on."""
        self._file = real_path(file)
        self._note([self._file], self._file)

    def of_file(self, file: str) -> list[str]:
        """All that a file depends on, itself first."""
        loaded = self._loaded()
        found = dict.fromkeys([real_path(file)])
        todo = list(found)
        while todo:
            for other in loaded.get(todo.pop(), ()):
                if other not in found:
                    found[other] = None
                    todo.append(other)
        return list(found)

    def all(self) -> list[str]:
        """All that was loaded by anyone."""
        return list(dict.fromkeys(other for others in self._loaded().values() for other in others))

    def _loaded(self) -> dict[str, list[str]]:
        self._log.seek(0)
        found: dict[str, list[str]] = {}
        for line in self._log.read().decode("utf-8", "surrogateescape").split("\n"):
            file, _, other = line.partition(_BETWEEN)
            if other:
                found.setdefault(file, []).append(other)
        return found

    def _note(self, files: Iterable[str], other: str) -> None:
        lines = [line for file in files if (line := f"{file}{_BETWEEN}{other}\n") not in self._noted]
        self._noted.update(lines)
        if lines:
            with contextlib.suppress(OSError):  # the code under lint may have closed all it could
                os.write(self._log.fileno(), "".join(lines).encode("utf-8", "surrogateescape"))

    # ---- what is loaded a first time

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        index = _EVENTS.get(event)
        if index is None or len(arguments) <= index:
            return
        with contextlib.suppress(Exception):  # it would be raised in the middle of the user's code
            self._heard(event, arguments[index], sys._getframe(1))

    def _heard(self, event: str, what: Any, frame: FrameType) -> None:
        path = what.co_filename if isinstance(what, CodeType) else what
        if event in _LISTING and frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        path = os.fsdecode(path)
        if self._is_source(path) and (event in _CODE or self._is_of_project(path)):
            listing = os.sep if event in _LISTING else ""
            self._note(self._running(frame), real_path(path).rstrip(os.sep) + listing)

    def _running(self, frame: FrameType | None) -> set[str]:
        """The files of the modules that have code running."""
        found = set()
        while frame is not None:
            if self._is_source(frame.f_code.co_filename):
                found.add(real_path(frame.f_code.co_filename))
            frame = frame.f_back
        return found or {self._file}

    def _is_source(self, path: str) -> bool:
        """Whether a path may be that of a module that somebody is working on."""
        known = self._sources.get(path)
        if known is None:
            known = self._sources[path] = os.path.isabs(path) and self._decide(real_path(path))
        return known

    def _decide(self, path: str) -> bool:
        return path in self._linted or not (
            path.startswith(_NOT_WORKED_ON) or any(part in _NO_SOURCES for part in path.split(os.sep))
        )

    def _is_of_project(self, path: str) -> bool:
        real = real_path(path)
        return real in self._linted or f"{real}{os.sep}".startswith(self._folders)

    # ---- what is imported, also when it is not loaded any more

    def _importing(self, original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        def importing(
            name: str,
            globals: Mapping[str, Any] | None = None,  # noqa: A002 - they may be given by name
            locals: Mapping[str, Any] | None = None,  # noqa: A002
            fromlist: Any = (),
            level: int = 0,
        ) -> ModuleType:
            file = globals.get("__file__") if globals is not None else None
            if not isinstance(file, str) or not self._is_source(file):
                return original(name, globals, locals, fromlist, level)
            try:
                return original(name, globals, locals, fromlist, level)
            finally:
                with contextlib.suppress(Exception):
                    package = globals.get("__package__") if globals is not None else None
                    full = importlib.util.resolve_name("." * level + name, package) if level else name
                    self._note_modules([real_path(file)], [full, *_inner(full, fromlist or ())])

        return importing

    def _importing_module(self, original: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        def importing(name: str, package: str | None = None) -> ModuleType:
            try:
                return original(name, package)
            finally:
                with contextlib.suppress(Exception):
                    self._note_modules(self._running(sys._getframe(1)), [importlib.util.resolve_name(name, package)])

        return importing

    def _note_modules(self, files: Collection[str], names: Iterable[str]) -> None:
        for name in names:
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                for path in self._places(".".join(parts[:length])):
                    self._note(files, path)

    def _places(self, name: str) -> Iterator[str]:
        """The file of a module, and those that would be taken instead if they were there."""
        known = getattr(sys.modules.get(name), "__file__", None)
        file = real_path(known) if known else ""
        parent, _, last = name.rpartition(".")
        search = sys.path if not parent else getattr(sys.modules.get(parent), "__path__", ())
        for folder in search:
            for place in (os.path.join(folder, last, "__init__.py"), os.path.join(folder, f"{last}.py")):
                if self._is_source(place):
                    yield real_path(place)
                if real_path(place) == file:
                    return
        if file and self._is_source(file):  # it was found in another way
            yield file


def _inner(name: str, attributes: Iterable[str]) -> Iterator[str]:
    """The modules among what is imported from a module, also those that are not there."""
    module = sys.modules.get(name)
    for one in attributes:
        inner = f"{name}.{one}"
        if inner in sys.modules or not hasattr(module, one):
            yield inner
