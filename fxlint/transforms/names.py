"""What a name stands for, as a dotted name: imports of the file and its functions, re-exports of linted files."""

from __future__ import annotations

import ast
from typing import Final

from fxlint.project.index import Binding, Import, ModuleIndex, Project
from fxlint.transforms.kinds import CLASSES, HOMES, Kind

MAX_HOPS: Final = 5
"""Re-exports that are followed for one name."""


def dotted(node: ast.expr) -> str:
    """``a.b.c`` as written, or nothing where it is no such chain."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := dotted(node.value)):
        return f"{base}.{node.attr}"
    return ""


def imported_name(found: Import) -> str:
    return found.module if found.name is None else f"{found.module}.{found.name}"


def qualified(node: ast.expr, index: ModuleIndex, project: Project, local: Import | None = None) -> str:
    """The full name of what an expression names, or nothing where no import says so.

    ``local`` is the import inside a function that binds the first part.
    """
    written = dotted(node)
    if not written:
        return ""
    head, _, rest = written.partition(".")
    found = local or global_import(index, head)
    if found is None:
        return ""
    name = imported_name(found)
    return followed(project, f"{name}.{rest}" if rest else name)


def global_import(index: ModuleIndex, name: str) -> Import | None:
    bindings = index.bindings.get(name, [])
    return next((binding.imported for binding in bindings if binding.imported is not None), None)


def followed(project: Project, name: str) -> str:
    """The name in the module that really defines it, where linted modules pass it on."""
    for _ in range(MAX_HOPS):
        module, _, last = name.rpartition(".")
        if not module or module.partition(".")[0] == "torch" or not project.is_linted(module):
            return name
        index = project.module(module)
        found = None if index is None else global_import(index, last)
        if found is None:
            return name
        name = imported_name(found)
    return name


def definition(project: Project, name: str) -> tuple[ModuleIndex, ast.ClassDef] | None:
    """The class of that full name in a linted module."""
    module, _, last = name.rpartition(".")
    if not module or not project.is_linted(module):
        return None
    index = project.module(module)
    bindings: list[Binding] = [] if index is None else index.bindings.get(last, [])
    for binding in bindings:
        if index is not None and isinstance(binding.node, ast.ClassDef):
            return index, binding.node
    return None


def class_kind(name: str) -> Kind | None:
    """The kind of the instances of a class of torch.fx."""
    return CLASSES.get(name.rpartition(".")[2]) if name.startswith(HOMES) else None
