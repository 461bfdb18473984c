"""What a function's code object tells of its names."""

from __future__ import annotations

import ast
import copy

from fxlint.predict.values import Const, Function, Sequence


def code_object(function: Function) -> Sequence:
    """``function.__code__``, with the fields that decorators read."""
    arguments = function.node.args
    names = Sequence("tuple", [Const(name) for name in local_names(function)])
    positional = len(arguments.posonlyargs) + len(arguments.args)
    values = [names, Const(positional), Const(len(arguments.kwonlyargs)), Const(function.name)]
    return Sequence("tuple", values, fields=("co_varnames", "co_argcount", "co_kwonlyargcount", "co_name"))


def local_names(function: Function) -> tuple[str, ...]:
    """``co_varnames`` of the function: parameters, then other locals that are no cells."""
    node = copy.copy(function.node)
    if isinstance(node, ast.Lambda):
        return tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    node.decorator_list = []
    try:
        code = compile(ast.Module([node], []), "<root>", "exec")
    except (SyntaxError, ValueError):
        return ()
    for const in code.co_consts:
        if hasattr(const, "co_varnames"):
            return tuple(const.co_varnames)
    return ()
