"""The name under which a file is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fxlint.project.notebook import is_notebook


@dataclass(frozen=True, slots=True)
class ModuleName:
    """``package``: ``name`` is dotted from ``folder``, which goes on sys.path; else the file stands alone."""

    name: str
    folder: str
    package: bool


def module_name(path: Path) -> ModuleName:
    """The nearest folder above without ``__init__.py`` goes on sys.path, and the name is dotted from there.

    A file outside any package, or whose name cannot be imported, stands alone under its stem. So does a notebook.
    """
    path = path.absolute()
    folder = path.parent
    parts = [] if path.stem == "__init__" else [path.stem]
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        parts.insert(0, folder.name)
        folder = folder.parent
    in_package = folder != path.parent and not is_notebook(path.name)
    if in_package and all(part and "." not in part for part in parts):
        return ModuleName(".".join(parts), str(folder), package=True)
    return ModuleName(path.stem.replace(".", "_"), str(path.parent), package=False)
