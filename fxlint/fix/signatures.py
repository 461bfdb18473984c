"""Parameters by name: the tracer makes one placeholder per name, and cannot take apart what hides in ``*args``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.site import Site
from fxlint.project.tree import walk


def named(site: Site) -> Iterator[Suggestion]:
    """One name for ``*args`` that are only handed on, where the module takes one input."""
    function = next((node for node in (site.node, *site.source.around(site.node)) if _is_forward(node)), None)
    if not isinstance(function, ast.FunctionDef) or function.args.vararg is None or function.args.kwarg is not None:
        return
    name = function.args.vararg.arg
    uses = [node for node in walk(function) if isinstance(node, ast.Name) and node.id == name]
    taken = any(isinstance(node, (ast.Name, ast.arg)) and _name(node) == "x" for node in walk(function))
    starred = [site.source.parent(use) for use in uses]
    if taken or not uses or not all(isinstance(node, ast.Starred) for node in starred):
        return
    edits = [site.source.replace(node, "x") for node in starred]
    head = site.source.replace_variadic(function.args.vararg, "x")
    yield site.rewrite(f"name the input, if there is one: `x` for `*{name}`", head, *edits)


def same(site: Site) -> Iterator[Suggestion]:
    """The parameters of forward for the wrapper that a decorator puts in its place."""
    forward = _decorated(site)
    wrapper = _wrapper(site, forward) if forward is not None else None
    if forward is None or wrapper is None or forward.args.vararg or forward.args.kwarg:
        return
    if not site.event.startswith("signature.") and site.function is not wrapper:
        return
    positional = [one.arg for one in (*forward.args.posonlyargs, *forward.args.args)]
    names = ", ".join([*positional, *(f"{one.arg}={one.arg}" for one in forward.args.kwonlyargs)])
    edits = [site.source.replace_parameters(wrapper, forward)]
    for call in walk(wrapper):
        if isinstance(call, ast.Call) and any(isinstance(one, ast.Starred) for one in call.args):
            first, last = call.args[0], [*call.args, *(word.value for word in call.keywords)][-1]
            edits.append(site.source.replace_range(first, last, names))
    variadic = {one.arg for one in (wrapper.args.vararg, wrapper.args.kwarg) if one is not None}
    if len(edits) > 1 and not _used_elsewhere(site, wrapper, variadic):
        yield site.rewrite("give the wrapper the parameters of forward", *edits)


def _used_elsewhere(site: Site, function: ast.FunctionDef, names: set[str]) -> bool:
    """Whether one of the names does more than be handed on with its stars."""
    uses = [node for node in walk(function) if isinstance(node, ast.Name) and node.id in names]
    return not all(isinstance(site.source.parent(use), (ast.Starred, ast.keyword)) for use in uses)


def advised(site: Site) -> Iterator[Suggestion]:
    yield site.advice("name the parameters: the tracer makes one input per name, and cannot take `*args` apart")


def _name(node: ast.Name | ast.arg) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg


def _is_forward(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "forward"


def _decorated(site: Site) -> ast.FunctionDef | None:
    """The first decorated forward of the file, from the finding's class where it lies in one."""
    return next((one for one in _forwards(site.class_of or site.source.tree) if one.decorator_list), None)


def _forwards(scope: ast.ClassDef | ast.Module) -> Iterator[ast.FunctionDef]:
    for statement in scope.body:
        if isinstance(statement, ast.FunctionDef) and _is_forward(statement):
            yield statement
        elif isinstance(statement, ast.ClassDef):
            yield from _forwards(statement)


def _wrapper(site: Site, forward: ast.FunctionDef) -> ast.FunctionDef | None:
    """The function with ``*args`` inside the decorator, where the decorator is of the same file."""
    decorators = {node.id for node in forward.decorator_list if isinstance(node, ast.Name)}
    for statement in site.source.tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name in decorators:
            inner = (node for node in statement.body if isinstance(node, ast.FunctionDef))
            return next((node for node in inner if node.args.vararg is not None), None)
    return None
