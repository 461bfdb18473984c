"""Source files whose text does not come from the disk: the code cells of a notebook, and what nobody has saved yet."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from .frames import real_path

_NOTEBOOK = ".ipynb"
_texts: dict[str, str] = {}
_raised: dict[str, str] = {}


def hold(texts: Mapping[str, str]) -> None:
    """From now on what is imported from one of these files, by real path, is its text here."""
    if texts and not _texts:
        sys.meta_path.insert(0, _Finder)
    _texts.update(texts)


def held(file: str) -> str | None:
    """The text of a file that is held."""
    return _texts.get(real_path(file))


def loader(name: str, file: str) -> SourceFileLoader | None:
    """What imports a file that is held; None for one on disk."""
    return None if held(file) is None else _Loader(name, file)


def execute(text: str, file: str, scope: dict[str, Any]) -> None:
    """Run the text of a module under the name of its file.

    A statement of a notebook that raises is passed over: what comes after it, in a kernel too, may do without.
    """
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # what inspect.getsource reads
    if not file.endswith(_NOTEBOOK):
        exec(compile(text, file, "exec", dont_inherit=True), scope)
        return
    for statement in ast.parse(text, file).body:
        try:
            exec(compile(ast.Module([statement], []), file, "exec", dont_inherit=True), scope)
        except Exception as error:
            told = " ".join(str(error).split())[:300]
            place = f"{os.path.basename(file)}:{statement.lineno}"
            _raised.setdefault(real_path(file), f"{place} raised {type(error).__name__}: {told}")


def why_incomplete(file: str) -> str | None:
    """What was first passed over in a notebook."""
    return _raised.get(real_path(file))


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        execute(_texts[real_path(self.path)], self.path, vars(module))

    def get_code(self, fullname: str) -> CodeType:
        return compile(_texts[real_path(self.path)], self.path, "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        return _texts[real_path(self.path)]


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or held(spec.origin) is None:
            return None
        spec.loader = _Loader(name, spec.origin)
        return spec
