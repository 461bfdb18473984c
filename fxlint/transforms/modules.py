"""Graph modules: submodules by dotted names, get_attr and call_module of what is there, forward, comparing results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.findings import Edit
from fxlint.transforms.code import mentions, position
from fxlint.transforms.kinds import Kind
from fxlint.transforms.names import dotted
from fxlint.transforms.view import Event, View, is_text

_BY_NAME: Final = frozenset({"getattr", "setattr", "delattr"})
_ADDING: Final = frozenset({"add_submodule", "add_module", "register_module", "set_submodule"})


def dotted_target(view: View) -> Iterator[Event]:
    """A lookup by name takes one name; the target of a node is a path, with dots where modules are nested."""
    for call in view.function.calls():
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name not in _BY_NAME or len(call.args) != (3 if name == "setattr" else 2):
            continue
        module, target = call.args[:2]
        if view.kind(module) is not Kind.MODULE or not isinstance(target, ast.Attribute):
            continue
        if view.kind(target) is not Kind.TARGET or not view.is_traced(module) or _knows_dots(view):
            continue
        if view.ops(target.value, call) <= {"placeholder", "call_function", "call_method", "output"}:
            continue
        yield Event(
            "graphmodule.dotted", call, text=view.text(call), origin=view.text(target), callee=name,
            help=_by_path(name), edits=_path_edits(view, call, name),
        )  # fmt: skip


def _knows_dots(view: View) -> bool:
    """Whether the function looks for dots itself, or expects that the attribute is not there."""
    own = view.function.own
    return any(isinstance(node, ast.Try) or (isinstance(node, ast.Constant) and node.value == ".") for node in own)


def _by_path(name: str) -> str:
    if name == "getattr":
        return "look it up by its path: `get_submodule`, `get_parameter` or `get_buffer`"
    method = "add_submodule" if name == "setattr" else "delete_submodule"
    return f"use `{method}`, which takes a path"


def _path_edits(view: View, call: ast.Call, name: str) -> tuple[Edit, ...]:
    module, target = (view.source(part) for part in call.args[:2])
    owner = call.args[1].value if isinstance(call.args[1], ast.Attribute) else None
    if owner is None or view.ops(owner, call) != {"call_module"}:
        return ()
    if name == "getattr":
        return view.replaced(call, f"{module}.get_submodule({target})")
    if name == "setattr":
        return view.replaced(call, f"{module}.add_submodule({target}, {view.source(call.args[2])})")
    return view.replaced(call, f"{module}.delete_submodule({target})")


def get_attr_of_module(view: View) -> Iterator[Event]:
    """A get_attr node gives a layer itself, where its result is needed."""
    for call, graph, method in view.methods(Kind.GRAPH):
        name = _literal(call) if method == "get_attr" else None
        if name is None or not _only_a_layer(view, name) or not _is_computed_with(view, call):
            continue
        yield Event(
            "graphmodule.get_attr", call, text=view.text(call), origin=name,
            help=f"call it: `{ast.unparse(graph)}.call_module({name!r}, (x,))`; get_attr is for parameters and buffers",
        )  # fmt: skip


def _literal(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return str(first.value) if isinstance(first, ast.Constant) and is_text(first) else None


def _only_a_layer(view: View, name: str) -> bool:
    """Whether all that this file ever assigns to an attribute of that name are layers of torch.nn."""
    found = False
    for function in view.file.functions:
        for node in function.own:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and target.attr == name:
                        made = function.qualified(node.value.func) if isinstance(node.value, ast.Call) else ""
                        if not _is_layer(made):
                            return False
                        found = True
            elif isinstance(node, ast.Call) and _names_attribute(node, name):
                return False
    return found


def _names_attribute(call: ast.Call, name: str) -> bool:
    """Whether a call sets or registers an attribute of that name."""
    sets = dotted(call.func).rpartition(".")[2].startswith(("register_", "setattr"))
    return sets and any(isinstance(value, ast.Constant) and value.value == name for value in call.args)


def _is_layer(name: str) -> bool:
    last = name.rpartition(".")[2]
    return name.startswith("torch.nn.") and last[:1].isupper() and not last.endswith(("Parameter", "Buffer"))


def _is_computed_with(view: View, call: ast.Call) -> bool:
    """Whether the result of the get_attr is an argument of a call_function of torch."""
    statement = view.function.statement(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    for other, _, method in view.methods(Kind.GRAPH):
        if method != "call_function" or len(other.args) < 2 or position(other) < position(call):
            continue
        target = view.qualified(other.args[0])
        computes = target.startswith("torch.") and not target.startswith("torch.ops.higher_order")
        if computes and mentions(other.args[1], name):
            return True
    return False


def missing_module(view: View) -> Iterator[Event]:
    """call_module names a module that is made here and never added to the graph's module."""
    for call, graph, method in view.methods(Kind.GRAPH):
        name = _literal(call) if method == "call_module" else None
        if name is None or "." in name:
            continue
        value = view.function.only_value(name)
        if not (isinstance(value, ast.Call) and _is_layer(view.qualified(value.func))):
            continue
        if _is_named_elsewhere(view, name, call):
            continue
        module = graph.value if isinstance(graph, ast.Attribute) else None
        yield Event(
            "graphmodule.missing", call, text=view.text(call), origin=name,
            help=f"add it first: `gm.add_submodule({name!r}, {name})`",
            edits=_added(view, call, name, module),
        )  # fmt: skip


def _is_named_elsewhere(view: View, name: str, call: ast.Call) -> bool:
    """Whether an attribute, a string or a keyword of that name stands anywhere else in the file."""
    for node in ast.walk(view.file.index.source.tree):
        if isinstance(node, ast.Attribute) and node.attr == name:
            return True
        if isinstance(node, ast.Constant) and node.value == name and node is not call.args[0]:
            return True
        if isinstance(node, ast.keyword) and node.arg == name:
            return True
    return False


def _added(view: View, call: ast.Call, name: str, module: ast.expr | None) -> tuple[Edit, ...]:
    statement = view.function.statement(call)
    if module is None or statement is None or view.kind(module) is not Kind.MODULE:
        return ()
    return view.inserted_before(statement, f"{view.source(module)}.add_submodule({name!r}, {name})")


def replaced_forward(view: View) -> Iterator[Event]:
    """The forward of a module is set on the instance, and a later recompile cannot reach what calls it."""
    for node in view.function.own:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if not (isinstance(target, ast.Attribute) and target.attr == "forward"):
                continue
            if not isinstance(target.value, ast.Name):
                continue
            if view.kind(target.value) is Kind.MODULE and _recompiled_after(view, target.value.id, node):
                yield Event(
                    "graphmodule.forward", node, text=view.text(node), origin=target.value.id,
                    help="call the graph module from a module of your own, or set it after the last recompile",
                )  # fmt: skip


def _recompiled_after(view: View, name: str, node: ast.AST) -> bool:
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "recompile"
        and dotted(call.func.value) == name
        and position(call) > position(node)
        for call in view.function.calls()
    )


def compared(view: View) -> Iterator[Event]:
    """The result of a graph module is compared by ``==`` where a bool is needed."""
    for node in view.function.own:
        test = node.test if isinstance(node, (ast.Assert, ast.If, ast.While)) else None
        if isinstance(node, ast.Call) and dotted(node.func) == "bool" and len(node.args) == 1:
            test = node.args[0]
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            continue
        sides = (test.left, test.comparators[0])
        if not any(_is_result(view, side) for side in sides) or any(isinstance(side, ast.Constant) for side in sides):
            continue
        left, right = (view.source(side) for side in sides)
        has_torch = view.qualified(ast.Name("torch", ast.Load())) == "torch"
        negated = "not " if isinstance(test.ops[0], ast.NotEq) else ""
        yield Event(
            "graphmodule.equals", test, text=view.text(test), origin=view.text(sides[0]),
            help="compare tensors with `torch.allclose`, or with `torch.testing.assert_close`",
            edits=view.replaced(test, f"{negated}torch.allclose({left}, {right})") if has_torch else (),
        )  # fmt: skip


def _is_result(view: View, node: ast.expr) -> bool:
    """Whether an expression is what a graph module that the stock tracer made returns."""
    if isinstance(node, ast.Name):
        value = view.function.only_value(node.id)
        return value is not None and not isinstance(value, ast.Name) and _is_result(view, value)
    return isinstance(node, ast.Call) and view.kind(node.func) is Kind.MODULE and view.is_traced(node.func)


CHECKS = (dotted_target, get_attr_of_module, missing_module, replaced_forward, compared)
