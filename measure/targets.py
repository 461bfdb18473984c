"""Which callables are measured, and how a dotted name is looked up."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import zlib
from collections.abc import Iterator
from typing import Any

import names as names_of_torch
import torch

STANDARD = """
    builtins math cmath operator itertools functools copy random collections statistics heapq bisect fractions string re
    typing types contextlib dataclasses warnings logging os.path
""".split()
NUMPY = ["numpy", "numpy.linalg", "numpy.random", "numpy.fft"]
TORCH = """
    torch torch.functional torch.nn.functional torch.linalg torch.fft torch.special torch.nn.init torch.nn.utils
    torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations torch.nn.utils.stateless
    torch.nn.modules.utils torch.utils.checkpoint torch.jit torch.compiler torch.fx torch.amp torch.autograd
    torch.autograd.functional torch.autograd.profiler torch.autograd.graph torch.cuda torch.cuda.amp torch.cpu
    torch.cpu.amp torch.backends torch.backends.cuda torch.backends.cudnn torch.backends.mps
    torch.distributed torch.mps torch.xpu
    torch.sparse torch.nested torch.signal.windows torch.func torch.masked torch.random torch.overrides torch.testing
    torch.nn torch.nn.attention torch.nn.attention.flex_attention torch.nn.attention.bias torch.nn.parameter torch.onnx
    torch.profiler torch._C._nn torch.utils._pytree torch.utils.dlpack torch.distributions torch.distributions.utils
    torch._dynamo torch.accelerator torch._higher_order_ops torch.nn.grad torch.ops.aten
""".split()
METHODS_OF = (list, dict, str, tuple, set, int, float, bytes, frozenset, slice)
TENSOR_OPERATORS = """
    getitem setitem add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv pow rpow mod rmod matmul rmatmul and
    or xor invert neg pos abs lshift rshift lt le gt ge eq ne len iter bool int float index contains iadd isub imul
    itruediv
""".split()
ONE_OF = 10
# what code asks that behaves differently while TorchScript traces it
PRIVATE = ("torch._C._is_tracing", "torch._C._get_tracing_state")
PRIVATE_MODULES = ("torch._C._nn", "torch.utils._pytree", "torch.nn.modules.utils", "torch.nn.init")

# calls that end the process, wait for a peer or a person, or reach outside
REFUSED = re.compile(
    r"""
      ^builtins\.(exit|quit|input|help|breakpoint|copyright|credits|license)$
    | ^torch\.distributed\.(?!is_|get_rank|get_world|get_backend)
    | ^torch\._dynamo\.(?!is_|disable|graph_break|allow|mark|assume|disallow|forbid|run|maybe)
    | ^torch\.cuda\.(?!is_|amp|device|stream|current|get_|synchronize|empty|nvtx)
    | ^torch\.(mps|xpu|accelerator)\.(?!is_|current|device)
    | ^torch\.(import_ir_module|set_vital|hub|_import)
    | ^torch\.testing\.(?!assert)
    | ^torch\.onnx\.(?!is_)
    | ^numpy\.(test|show_config|show_runtime|get_include|save|load|memmap|fromfile|info)
    """,
    re.VERBOSE,
)


def resolve(name: str) -> Any:
    """The object behind a dotted name, looked up through the modules as code does."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def library_of(name: str) -> str:
    """``torch``, ``numpy`` or ``standard``."""
    root = name.partition(".")[0]
    return root if root in ("torch", "numpy") else "standard"


def callables() -> list[str]:
    """Names of everything to measure: each callable once, under its canonical name; then the variants.

    ``NAME@const`` is a Tensor method called on a real tensor, ``NAME@unpatched`` a math function that the tracer did
    not patch (imported by name into a helper's file). ``calls.py`` adds ``NAME()``: what a callable does that NAME
    returned.
    """
    canonical = names_of_torch.canonical_names(names_of_torch.modules())
    seen: set[int] = set()
    names: dict[str, None] = {}
    for name in _candidates():
        if REFUSED.search(name):
            continue
        try:
            found = resolve(name.partition("@")[0])
        except Exception:
            continue
        known = id(found) in seen and "@" not in name and not name.startswith("builtins.")
        if known and (inspect.isroutine(found) or isinstance(found, type)):
            continue
        seen.add(id(found))
        whole = "@" in name or name.startswith(("builtins.", "torch.Tensor."))
        names[name if whole else canonical.get(id(found), (name, found))[0]] = None
    return list(names)


def _candidates() -> Iterator[str]:
    for group in (*STANDARD, *NUMPY, *TORCH):
        yield from _members(group)
    yield from PRIVATE
    for cls in METHODS_OF:
        yield from (f"builtins.{cls.__name__}.{name}" for name in dir(cls) if not name.startswith("_"))
    for name in dir(torch.Tensor):
        operator = name.startswith("__") and name.strip("_") in TENSOR_OPERATORS
        if callable(getattr(torch.Tensor, name, None)) and (operator or not name.startswith("_")):
            yield from (f"torch.Tensor.{name}", f"torch.Tensor.{name}@const")
    yield from (f"math.{name}@unpatched" for name in dir(math) if inspect.isbuiltin(getattr(math, name)))


def _members(group: str) -> list[str]:
    """The public callables that belong to a module; and the private ones that torch says can be overridden."""
    if group == "torch.ops.aten":
        operators = {s.name.partition("::")[2] for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")}
        # they go through one dispatcher: some stand for all, the same ones in every release
        some = sorted(n for n in operators if n.isidentifier() and zlib.crc32(n.encode()) % ONE_OF == 0)
        return [f"{group}.{n}" for n in some if not n.startswith("_")]
    try:
        module = importlib.import_module(group)
    except Exception:
        return []
    overridable = {getattr(f, "__name__", "") for f in torch.overrides.get_overridable_functions().get(module, ())}
    return [
        f"{group}.{name}"
        for name in sorted(dir(module))
        if _wanted(group, name, overridable) and _belongs(group, getattr(module, name, None))
    ]


def _wanted(group: str, name: str, overridable: set[str]) -> bool:
    if not name.startswith("_"):
        return True
    if name.startswith("__"):
        return group == "operator"
    return name in overridable or group in PRIVATE_MODULES or name.startswith(("_check", "_assert", "_shape"))


def _belongs(group: str, value: Any) -> bool:
    """Not what the module only imports, such as ``typing.Any`` in torch.nn.functional, and no exception class."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return False
    home: str = getattr(value, "__module__", None) or group
    same = home.partition(".")[0] == group.partition(".")[0]
    return same or group == "builtins" or inspect.isbuiltin(value) or home.startswith("_") or home == "numpy"
