"""The expression that names an object, for another process to evaluate."""

from __future__ import annotations

import ast
import re
import sys
from types import ModuleType
from typing import Any

from .building import evaluate


def name_of(obj: Any, module: str | None = None, name: str | None = None) -> str | None:
    """The shortest dotted name that gives ``obj`` (a class, a function, a member of an enum), None where none does.

    ``module`` and ``name`` say where it stands, where the object itself does not know.
    """
    module = module or getattr(obj, "__module__", None)
    name = name or getattr(obj, "__qualname__", None)
    if module is None or name is None or "<" in name:
        return None
    if module == "builtins":
        return name
    parents = module.split(".")
    head = name.partition(".")[0]
    top = _static(sys.modules.get(module), head)
    for length in range(1, len(parents) + 1):
        owner = ".".join(parents[:length])
        if _static(sys.modules.get(owner), head) is not top or top is None:
            continue
        text = f"{owner}.{name}"
        if _gives(text, obj):
            return text
    text = f"importlib.import_module({module!r}).{name}"  # a function of the package may hide its module
    return text if _gives(text, obj) else None


def _static(module: ModuleType | None, name: str) -> Any:
    return vars(module).get(name) if module is not None else None


def _gives(text: str, obj: Any) -> bool:
    try:
        return evaluate(text) is obj
    except Exception:
        return False


def from_inside(text: str, module: ModuleType) -> str:
    """The expression as it can be written in a module: without the names of the module and of what it imports."""
    scope = vars(module)

    def short(found: re.Match[str]) -> str:
        return found[1] if found[1] in scope else found[0]

    shorter = re.sub(rf"(?<![\w.'\"]){re.escape(module.__name__)}\.(\w+)", short, text)
    for dotted in sorted(_dotted(shorter), key=len, reverse=True):
        name = dotted.rpartition(".")[2]
        if name in scope and _gives(dotted, scope[name]):
            shorter = re.sub(rf"(?<![\w.'\"]){re.escape(dotted)}(?![\w.])", name, shorter)
    return shorter


def _dotted(text: str) -> set[str]:
    return {
        ast.unparse(node) for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Attribute, ast.Name))
    }  # fmt: skip
