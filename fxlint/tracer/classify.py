"""Which family of events an exception belongs to.

The families are those of the rules: bool, iter, len, index, int, float, complex, round, format, kwargs, setitem, key,
tensor, call, output, raise, module, signature, context, wrap.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Mapping
from typing import Any

import torch

from .frames import UserCode, entries

_BUILTINS: dict[Any, str] = {
    range: "index", int: "int", float: "float", complex: "complex", round: "round", len: "len",
    bin: "index", hex: "index", oct: "index", chr: "index", bytes: "index", slice: "index",
    list: "iter", tuple: "iter", set: "iter", sum: "iter", sorted: "iter", enumerate: "iter", zip: "iter", map: "iter",
    dict: "kwargs", max: "bool", min: "bool", any: "bool", all: "bool", bool: "bool", format: "format",
}  # fmt: skip
_MATH = frozenset(id(value) for value in vars(math).values() if callable(value))
_FACTORIES = frozenset(
    {"zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "tensor", "as_tensor", "from_numpy",
     "eye", "arange", "linspace", "logspace", "empty_strided", "asarray", "scalar_tensor", "normal"}
)  # fmt: skip
_TENSOR_CLASSES = frozenset({"Tensor", "FloatTensor", "LongTensor", "IntTensor", "BoolTensor", "DoubleTensor"})

_BY_MESSAGE = (
    ("cannot be used as inputs to control flow", "bool"),
    ("Proxy object cannot be iterated", "iter"),
    ("'len' is not supported in symbolic tracing", "len"),
    ("cannot be interpreted as an integer", "index"),
    ("slice indices must be integers", "index"),
    ("indices must be integers", "index"),
    ("doesn't define __round__", "round"),
    ("must be real number", "float"),
    ("int() argument must be", "int"),
    ("float() argument must be", "float"),
    ("complex() ", "complex"),
    ("unsupported format string", "format"),
    ("does not support item assignment", "setitem"),
    ("object doesn't support item deletion", "setitem"),
    ("does not support item deletion", "setitem"),
    ("must be a mapping", "kwargs"),
    ("does not support the context manager protocol", "context"),
    ("module is not installed as a submodule", "module"),
    ("parameter is not a member of this module", "module"),
    ("wrap must be called at the top level", "wrap"),
)
_SIGNATURE = ("varnames is too small", "cannot be part of *args expansion", "Expected FunctionType")
_UNINITIALISED = "has no attribute '_modules'"


def of_call(function: Any) -> str:
    """The family for a callable that rejected its arguments."""
    try:
        known = _BUILTINS.get(function)
    except TypeError:  # an unhashable callable
        known = None
    if known is not None:
        return known
    if id(function) in _MATH:
        return "float"
    owner = getattr(function, "__self__", None)
    if isinstance(owner, torch.Tensor) or (isinstance(owner, type) and issubclass(owner, torch.Tensor)):
        return "tensor"
    if isinstance(owner, (dict, Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict)):
        return "key"
    if function in (builtins.getattr, builtins.setattr, builtins.hasattr):
        return "key"
    name = getattr(function, "__name__", "")
    from_torch = getattr(torch, name, None) is function if name else False
    if from_torch and (name in _FACTORIES or name in _TENSOR_CLASSES or function is torch.Size):
        return "tensor"
    return "call"


def of_subscript(base: Any) -> str:
    """The family for a container that rejected its index."""
    if isinstance(base, torch.Tensor):
        return "tensor"
    if isinstance(base, (Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict)):
        return "key"
    return "index"


def of_exception(error: BaseException, user: UserCode) -> str:
    """The family by the exception and the place it was raised at: all there is when its site cannot be asked again."""
    trail = list(entries(error.__traceback__))
    names = {(entry.code.co_filename.replace("\\", "/").rsplit("/", 1)[-1], entry.code.co_name) for entry in trail}
    if ("_symbolic_trace.py", "_patch_wrapped_functions") in names:
        return "wrap"
    message = str(error)
    users = user.of_traceback(error.__traceback__)
    if not users:
        if isinstance(error, AttributeError) and _UNINITIALISED in message:
            return "root"
        return "signature" if any(text in message for text in _SIGNATURE) else "output"
    for text, family in _BY_MESSAGE:
        if text in message:
            return family
    if isinstance(error, KeyError):
        return "key"
    if raised_explicitly(error, user):
        return "raise"
    return "raise" if isinstance(error, (AttributeError, NameError)) else "call"


def is_unsupported_output(error: BaseException) -> bool:
    """Whether torch.fx refused to put a value into the graph."""
    message = str(error)
    return (isinstance(error, NotImplementedError) and message.startswith("argument of type")) or (
        isinstance(error, RuntimeError) and message.startswith("Keys for dictionaries")
    )


def raised_explicitly(error: BaseException, user: UserCode) -> bool:
    """Whether a ``raise`` or ``assert`` of the user's own code raised it."""
    trail = list(entries(error.__traceback__))
    return bool(trail) and user.is_user(trail[-1].code.co_filename) and trail[-1].opname == "RAISE_VARARGS"
