"""Which expressions are plain Python values when the graph runs: what only takes tensors cannot have them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Final

from fxlint.fix.snippet import dotted
from fxlint.predict import calltable

_PROPERTIES: Final = frozenset(
    {
        "shape", "ndim", "dtype", "device", "layout", "names", "itemsize", "nbytes", "requires_grad", "is_leaf",
        "is_cpu", "is_cuda", "is_meta", "is_mkldnn", "is_mps", "is_nested", "is_quantized", "is_sparse",
        "is_xla", "is_xpu",
    }
)  # fmt: skip
"""Properties of a tensor that are no tensors; the call table has methods and functions only."""
_TENSORS: Final = frozenset({"T", "H", "mT", "mH", "data", "real", "imag", "grad"})
_BUILTINS: Final = frozenset({"len", "int", "float", "bool", "str", "round", "isinstance", "hasattr", "range"})
_KINDS: Final = frozenset({"bool", "int", "float", "str", "list"})
_SIZES: Final = frozenset({"torch.Tensor.size", "torch.Tensor.stride"})
"""Measured as ``other``: a tuple or an int, by their arguments."""
_ANNOTATIONS: Final = frozenset({"int", "float", "bool", "str"})


def is_plain(node: ast.AST, parameters: Mapping[str, ast.expr]) -> bool | None:
    """True for a plain value, False for a tensor, None where the expression does not tell.

    ``parameters`` are the annotations of the function around it, by name.
    """
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return is_plain_annotation(parameters[node.id]) if node.id in parameters else None
    if isinstance(node, ast.Attribute):
        return True if node.attr in _PROPERTIES else False if node.attr in _TENSORS else None
    if isinstance(node, ast.Subscript):
        return True if is_plain(node.value, parameters) else None
    if isinstance(node, ast.Call):
        return _called(node.func)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return True
    return _together([is_plain(one, parameters) for one in _operands(node)])


def is_plain_annotation(annotation: ast.expr) -> bool | None:
    """Whether a parameter is annotated as a number, a bool or a str, optional or not; None for what is not known."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return None if not annotation.value.isidentifier() else is_plain_annotation(ast.Name(annotation.value))
    if isinstance(annotation, ast.Subscript) and dotted(annotation.value).endswith("Optional"):
        return is_plain_annotation(annotation.slice)
    if isinstance(annotation, ast.BinOp):
        sides = [one for one in (annotation.left, annotation.right) if not _is_none(one)]
        return _together([is_plain_annotation(one) for one in sides])
    name = dotted(annotation)
    return True if name in _ANNOTATIONS else False if name.rpartition(".")[2] == "Tensor" else None


def _is_none(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Constant) and annotation.value is None


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    return [node.operand] if isinstance(node, ast.UnaryOp) else []


def _together(parts: list[bool | None]) -> bool | None:
    """An operation on plain values gives a plain value; one tensor among them makes it a tensor."""
    if False in parts:
        return False
    return True if parts and None not in parts else None


def _called(function: ast.expr) -> bool | None:
    if isinstance(function, ast.Name):
        return True if function.id in _BUILTINS else None
    if not isinstance(function, ast.Attribute):
        return None
    owner = dotted(function.value)
    if owner in ("self", "math"):  # a method of the module may return anything
        return True if owner == "math" else None
    of_torch = owner == "torch" or owner.startswith("torch.")
    return _returned(f"{owner if of_torch else 'torch.Tensor'}.{function.attr}")


@cache
def _returned(name: str) -> bool | None:
    """What a function of torch or a method of Tensor was measured to return for real tensors."""
    kind = calltable.call(name, []).value
    if kind in _KINDS or name in _SIZES:
        return True
    return False if kind == "tensor" else None
