"""Subclasses of Interpreter, Transformer and Tracer, and running an Interpreter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.findings import Edit
from fxlint.transforms.code import Function, mentions
from fxlint.transforms.kinds import TRACING, Kind
from fxlint.transforms.names import dotted
from fxlint.transforms.view import Event, View

_HANDLERS: Final = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")
_GIVEN: Final = {"run_node": 1, **dict.fromkeys(_HANDLERS, 3)}
"""How many arguments Interpreter.run passes to each method, beside self."""


def _is_interpreter(view: View) -> bool:
    owner = view.function.owner
    return owner is not None and view.kinds.class_kind(owner, view.function) in (Kind.INTERPRETER, Kind.TRANSFORMER)


def no_result(view: View) -> Iterator[Event]:
    """A method that computes a node returns nothing, so the node's value is None."""
    node = view.function.node
    owner = view.function.owner
    if not isinstance(node, ast.FunctionDef) or owner is None or not _is_interpreter(view) or node.decorator_list:
        return
    if node.name not in _GIVEN or node.name == "output" or _returns(view.function) or _is_stub(node):
        return
    yield Event(
        "interpreter.result", node, text=node.name, origin=owner.name,
        help=f"return what the node gives: `return super().{node.name}(...)`", edits=_returned(view, node),
    )  # fmt: skip


def _returns(function: Function) -> bool:
    return any(
        (isinstance(node, ast.Return) and node.value is not None) or isinstance(node, (ast.Yield, ast.YieldFrom))
        for node in function.own
    )


def _is_stub(node: ast.FunctionDef) -> bool:
    """Whether nothing is done, or all ends in an exception."""
    last = node.body[-1]
    is_constant = isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
    return isinstance(last, (ast.Raise, ast.Pass)) or is_constant or (isinstance(last, ast.Assert))


def _returned(view: View, node: ast.FunctionDef) -> tuple[Edit, ...]:
    last = node.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and isinstance(last.value.func, ast.Attribute):
        inner = last.value.func.value
        if last.value.func.attr == node.name and isinstance(inner, ast.Call) and dotted(inner.func) == "super":
            return view.replaced(last, f"return {view.source(last)}")
    return ()


def wrong_signature(view: View) -> Iterator[Event]:
    """A method cannot take the arguments that Interpreter.run passes to it."""
    node = view.function.node
    if not isinstance(node, ast.FunctionDef) or not _is_interpreter(view) or node.decorator_list:
        return
    given = _GIVEN.get(node.name)
    if given is None or node.args.vararg is not None:
        return
    taken = len(view.function.parameters) - 1
    required = taken - len(node.args.defaults)
    if required <= given <= taken and None not in node.args.kw_defaults:
        return
    wanted = "n" if given == 1 else "target, args, kwargs"
    yield Event(
        "interpreter.signature", node, text=node.name, origin=wanted,
        help=f"write `def {node.name}(self, {wanted}):`",
    )  # fmt: skip


def wrong_arity(view: View) -> Iterator[Event]:
    """Interpreter.run gets more or fewer inputs than the traced function has."""
    for call in view.function.calls():
        if not (isinstance(call.func, ast.Attribute) and call.func.attr in {"run", "propagate"}):
            continue
        traced = _interpreted(view, call.func.value)
        if traced is None or any(isinstance(value, ast.Starred) for value in call.args):
            continue
        if any(keyword.arg == "initial_env" for keyword in call.keywords):
            continue
        names, required = traced
        if required <= len(call.args) <= len(names):
            continue
        yield Event(
            "interpreter.arity", call, text=view.text(call), origin=", ".join(names), callee=str(len(call.args)),
            help=f"pass the inputs in order: {', '.join(names)}",
        )  # fmt: skip


def _interpreted(view: View, node: ast.expr) -> tuple[list[str], int] | None:
    """(parameters, how many are required) of what an Interpreter runs, where this file defines it."""
    if isinstance(node, ast.Name):
        node = view.function.only_value(node.id) or node
    if not isinstance(node, ast.Call) or view.kind(node) is not Kind.INTERPRETER or not node.args:
        return None
    if not view.qualified(node.func).startswith("torch.fx."):
        return None
    module = node.args[0]
    if isinstance(module, ast.Name):
        module = view.function.only_value(module.id) or module
    if not isinstance(module, ast.Call) or view.qualified(module.func) not in TRACING:
        return None
    if len(module.args) != 1 or module.keywords:
        return None
    return _parameters_of(view, module.args[0])


def _parameters_of(view: View, root: ast.expr) -> tuple[list[str], int] | None:
    if isinstance(root, ast.Name):
        root = view.function.only_value(root.id) or root
    if isinstance(root, ast.Name):
        function = view.file.function(root.id, view.function)
        skip = 0
    elif isinstance(root, ast.Call) and isinstance(root.func, ast.Name) and root.func.id in view.file.classes:
        methods = view.file.methods(view.file.classes[root.func.id])
        function = next((method for method in methods if method.name == "forward"), None)
        skip = 1
    else:
        return None
    if function is None or isinstance(function.node, ast.Module) or function.node.decorator_list:
        return None
    arguments = function.node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        return None
    names = [argument.arg for argument in function.parameters[skip:]]
    return names, len(names) - len(arguments.defaults)


def leaf_without_stock_test(view: View) -> Iterator[Event]:
    """is_leaf_module decides by own classes alone, so the tracer goes into the layers of torch.nn."""
    node = view.function.node
    owner = view.function.owner
    if not isinstance(node, ast.FunctionDef) or node.name != "is_leaf_module" or owner is None:
        return
    if view.kinds.class_kind(owner, view.function) is not Kind.TRACER or len(view.function.parameters) < 2:
        return
    module = view.function.parameters[1].arg
    returned = [own.value for own in view.function.own if isinstance(own, ast.Return)]
    if _asks_torch(view, owner) or not any(value is not None and _asks_class(value, module) for value in returned):
        return
    if any(isinstance(value, ast.Constant) and value.value is True for value in returned):
        return
    yield Event(
        "tracer.leaf", node, text=view.text(returned[-1]) if returned[-1] is not None else "", origin=owner.name,
        help="add the stock test: `or super().is_leaf_module(m, module_qualified_name)`",
        edits=_with_stock_test(view, returned),
    )  # fmt: skip


def _asks_torch(view: View, owner: ast.ClassDef) -> bool:
    """Whether the stock test is asked, or something of its kind is done."""
    for node in view.function.own:
        if isinstance(node, ast.Call) and dotted(node.func).endswith("super"):
            return True
        if isinstance(node, ast.Attribute) and node.attr in {"__module__", "is_leaf_module"}:
            return True
        if isinstance(node, (ast.Name, ast.Attribute)) and view.qualified(node).startswith("torch.nn"):
            return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "torch" in node.value:
            return True
    return False


def _asks_class(value: ast.expr, module: str) -> bool:
    return any(
        isinstance(node, ast.Call) and dotted(node.func) == "isinstance" and mentions(node.args[0], module)
        for node in ast.walk(value)
        if isinstance(node, ast.Call) and node.args
    )


def _with_stock_test(view: View, returned: list[ast.expr | None]) -> tuple[Edit, ...]:
    value = returned[0]
    parameters = [argument.arg for argument in view.function.parameters[1:]]
    if len(returned) != 1 or value is None or len(parameters) != 2:
        return ()
    return view.replaced(value, f"{view.source(value)} or super().is_leaf_module({', '.join(parameters)})")


CHECKS = (no_result, wrong_signature, wrong_arity, leaf_without_stock_test)
