"""`torch.fx.wrap`: a function that is a global of the file becomes one node."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.effects import CONTAINERS, changed
from fxlint.fix.site import Site
from fxlint.fix.source import Source

_BUILTINS = frozenset({"len", "max", "min", "any", "all", "round", "sum", "bin", "hex", "oct", "chr", "divmod", "hash"})
"""Builtin functions whose result a graph can hold. Types such as int stay out: files ask isinstance of them."""


def called(site: Site) -> Iterator[Suggestion]:
    """Wrap the function that the construct calls by a bare name, with those it needs in the same expression."""
    node = site.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _can_wrap(site.source, node.func.id):
        yield _wrap(site.source, [node.func.id, *_met_next(site, node)])


def helper(site: Site) -> Iterator[Suggestion]:
    """Wrap the helper function that the construct lies in, where it is called by a bare name.

    Not one that fills a list or the like of its caller: a node would fill a copy.
    """
    function = site.source.function(site.node)
    for source, call in site.calls():
        if isinstance(call.func, ast.Name) and _is_function(source, call.func.id):
            if not isinstance(function, ast.FunctionDef) or not _is_filled(source, call, function):
                yield _wrap(source, [call.func.id])
            return
        function = source.function(call)


def _is_filled(source: Source, call: ast.Call, function: ast.FunctionDef) -> bool:
    """Whether the called function changes its arguments, and a container that the caller makes is among them."""
    caller = source.function(call)
    if not isinstance(caller, ast.FunctionDef) or not changed(function.body) & {one.arg for one in function.args.args}:
        return False
    stores = source.facts(caller).stores
    given = [one for one in (*call.args, *(word.value for word in call.keywords)) if isinstance(one, ast.Name)]
    made = [source.statement(store) for one in given for store in stores.get(one.id, ())]
    return any(isinstance(one, (ast.Assign, ast.AnnAssign)) and isinstance(one.value, CONTAINERS) for one in made)


def _wrap(source: Source, names: list[str]) -> Suggestion:
    line = source.after_imports
    calls = "".join(f'torch.fx.wrap("{name}")\n' for name in names)
    head = "" if source.imports("torch.fx") else "import torch.fx\n"
    listed = " and ".join(f"`{name}`" for name in names)
    return Suggestion(
        "wrap",
        f"wrap {listed} at the top level of {source.path}, line {line}: every call in that file becomes a node",
        (source.insert(line, f"{head}\n{calls}" if line > 1 else f"{head}\n{calls}\n"),),
        wrap=", ".join(names),
    )


def _met_next(site: Site, call: ast.Call) -> list[str]:
    """Functions of ``math`` that get the result of the call, in a file where the stock Tracer does not wrap them."""
    if all(root.rpartition("::")[0] == site.source.path for root in site.finding.modules):
        return []
    called = site.source.facts(site.function).called if site.function is not None else {}
    return [
        name
        for name, calls in called.items()
        if calls != [call] and _imported_from(site.source, name) in ("math", "cmath")
    ]


def _can_wrap(source: Source, name: str) -> bool:
    bound = source.binding(name)
    if bound is None:
        return name in _BUILTINS and hasattr(builtins, name)
    return _is_function(source, name)


def _is_function(source: Source, name: str) -> bool:
    """Whether a global of the file is a plain function, as far as the file shows; scripted ones cannot be wrapped."""
    bound = source.binding(name)
    if isinstance(bound, ast.FunctionDef):
        return not any("script" in source.text(decorator) for decorator in bound.decorator_list)
    return isinstance(bound, ast.ImportFrom) and not name[:1].isupper()


def _imported_from(source: Source, name: str) -> str | None:
    bound = source.binding(name)
    return bound.module if isinstance(bound, ast.ImportFrom) else None
