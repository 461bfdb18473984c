"""Plausible values for the parameters of a callable.

They are guesses by type and name: the search keeps only combinations that a real call accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from probe import Fresh
from signatures import EMPTY, Param


def _make(build: Callable[[], Any]) -> Fresh:
    return Fresh(build)


def _square() -> torch.Tensor:
    return torch.eye(4) * 2 + 0.1


TENSOR = _make(_square)
IMAGE = _make(lambda: torch.full((2, 4, 4, 4), 0.5))
INTS = _make(lambda: torch.tensor([0, 1, 1, 0]))
BOOLS = _make(lambda: torch.eye(4) > 0)
ROW = _make(lambda: torch.tensor([0.1, 0.2, 0.3, 0.4]))
CUBE = _make(lambda: torch.full((4, 4, 4), 0.5))
INTS2 = _make(lambda: torch.zeros(4, 4, dtype=torch.long))
WEIGHT = _make(lambda: torch.full((4, 4, 1, 1), 0.5))
SCALAR_TENSOR = _make(lambda: torch.tensor(0.5))
COMPLEX = _make(lambda: torch.ones(4, 4, dtype=torch.complex64))
VOLUME = _make(lambda: torch.full((1, 4, 4, 4, 4), 0.5))

TENSORS = (TENSOR, IMAGE, INTS, ROW, BOOLS, CUBE, INTS2, WEIGHT, SCALAR_TENSOR, COMPLEX, VOLUME)


def first(*args: Any, **kwargs: Any) -> Any:
    """A function argument that works for most callers: hands back its first argument."""
    return args[0] if args else None


def add(left: Any, right: Any = 0) -> Any:
    return left + right


def negative(x: torch.Tensor) -> torch.Tensor:
    """A function that can be scripted."""
    return -x


def module() -> torch.nn.Module:
    return torch.nn.Linear(4, 4)


ARRAY = _make(lambda: np.eye(4) * 2 + 0.1)
ARRAYS = (
    ARRAY,
    _make(lambda: np.array([1.0, 2.0, 3.0, 4.0])),
    _make(lambda: np.array([0, 1, 1, 0])),
    _make(lambda: np.eye(4) > 0),
)

INTEGERS = (1, 0, 2, 4, -1)
FLOATS = (0.5, 1.0, 2.0)
SIZES = ((4, 4), (2, 2), (1,), (4,), (1, 1), (0, 1), (2, 2, 2), (0,), (1, 1, 1, 1), (2, 4, 4, 4), (1, 1, 1))
STRINGS = ("mean", "sum", "none", "constant", "cpu", "a", "ij,jk->ik", "reflect", "relu", "float32", "gloo")

_BY_NAME: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (
        r"^(dims?|axis|axes|dim\d|axis\d|start_dim|end_dim|diagonal|offset|k|n|num|steps|groups|chunks|sections|m)$",
        (1, 0, (0, 1)),
    ),
    (
        r"size$|^shape$|kernel|stride|padding|dilation|^pad$|shifts|repeats|^reps$|output_size|normalized_shape",
        (*SIZES, 1, 2, 4),
    ),
    (r"^(tensors|arrays|operands|seq|sequences)$", ((TENSOR, TENSOR), (ROW, ROW), [CUBE, CUBE])),
    (r"mask|condition|^where$", (BOOLS, TENSOR)),
    (r"^pred$", (_make(lambda: torch.tensor(True)),)),
    (r"^(operands|carried_inputs)$", ((TENSOR,),)),
    (r"^(target_type|cls|class_or_tuple|tp)$", (list[int], int)),
    (r"lengths$", (_make(lambda: torch.tensor([4, 3, 2, 1])), INTS, [4, 4])),
    (r"^sequence$", (_make(lambda: torch.nn.utils.rnn.pack_sequence([torch.ones(2, 4)])), TENSOR)),
    (r"^(index|indices|tgt|labels?|offsets|lengths|input_lengths|target_lengths)$", (INTS2, INTS, 1, TENSOR)),
    (r"weight", (WEIGHT, TENSOR, ROW)),
    (r"bias|running|^mean$|^var$|^std$", (ROW, TENSOR)),
    (
        r"^(f|fn|fun|func|function|body_fn|cond_fn|true_fn|false_fn|callback|key|predicate|hook|model|op)$",
        (first, add, _make(module)),
    ),
    (r"module|^mod$", (_make(module),)),
    (r"^(device|device_type|backend)$", ("cpu",)),
    (r"dtype|^type\d?$", (torch.float32,)),
    (r"generator", (_make(torch.Generator),)),
    (r"mode|reduction|reduce|string|^s$|name|equation|ord$|prefix|fmt|format", STRINGS),
    (r"ndarray|^buffer$|^array$", (ARRAY,)),
    (r"iterable|^it$|items|data|values|population", ([1, 2, 3], TENSOR, [TENSOR, TENSOR])),
    (
        r"^(p|eps|alpha|beta|scale|momentum|prob|rate|gamma|lambd|negative_slope|min_val|max_val|value|lr|delta|margin)$",
        (0.5, 1, TENSOR),
    ),
    (
        r"input|^x\d?$|^self$|tensor|other|target|^a$|^b$|^arr?$|query|^attn|vec|mat|batch|anchor|positive|negative|grad",
        TENSORS,
    ),
)

_BY_TYPE: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (
        r"tensor\??\s*\[|(list|sequence|tuple)\[.*tensor",
        ([TENSOR, TENSOR], [ROW, ROW], [IMAGE], [IMAGE, IMAGE], [INTS], [TENSOR]),
    ),
    (r"tensor", TENSORS),
    (r"callable", (first, add)),
    (r"dtype|scalartype", (torch.float32, torch.int64)),
    (r"device", ("cpu", torch.device("cpu"))),
    (r"layout", (torch.strided,)),
    (r"memory_?format", (torch.contiguous_format,)),
    (r"generator", (_make(torch.Generator),)),
    (
        r"int\[|int\d?\[|list\[.*int|sequence\[.*int|tuple\[.*int|broadcastinglist|\bsize\b|_size",
        (*SIZES, [1, 1, 1, 1]),
    ),
    (r"float\[|list\[float|bool\[", ([0.5, 0.5], [2.0, 2.0], [True, False])),
    (r"\bmodule\b|nn\.module", (_make(module),)),
    (r"bool", (True, False)),
    (r"^(sym)?int|\bint\b", (*INTEGERS, (0, 1))),
    (r"float|number|scalar|double", (*FLOATS, 1)),
    (r"complex", (1j,)),
    (r"str", STRINGS),
)

FUNCTIONS = {"func", "function", "f", "key", "predicate", "callback", "callable", "fn", "wrapper", "user_function"}
SELVES: dict[str, Any] = {
    "builtins.list": [3, 1, 2],
    "builtins.dict": {"a": 1},
    "builtins.str": "a",
    "builtins.tuple": (3, 1, 2),
    "builtins.set": {1, 2},
    "builtins.frozenset": frozenset({1, 2}),
    "builtins.int": 3,
    "builtins.float": 0.5,
    "builtins.bytes": b"a",
    "builtins.slice": slice(0, 1),
}
# arguments of callables of which only *args is known, or whose variadic arguments are of several sorts
VARIADIC: dict[str, tuple[tuple[Any, ...], ...]] = {
    "torch": (("ij,jk->ik", TENSOR, TENSOR), (IMAGE, 2), (TENSOR, 1), (IMAGE, (4, 4)), (TENSOR, INTS), (IMAGE, WEIGHT)),
    "numpy": (("ij,jk->ik", ARRAY, ARRAY), (ARRAY, 1)),
    "standard": (
        (first, [1, 2, 3]),
        ([1, 2, 3], first),
        (Fresh(lambda: iter([1, 2, 3])),),
        ("a", 1),
        (1, "a"),
        ({"a": 1},),
        (1, [1, 2]),
    ),
}

GENERIC: tuple[Any, ...] = (
    TENSOR,
    1,
    0.5,
    (2, 2),
    first,
    [TENSOR, TENSOR],
    "a",
    True,
    [1, 2, 3],
    {"a": 1},
    int,
    negative,
)
PLAIN_GENERIC: tuple[Any, ...] = (
    *(1, 0.5, [3, 1, 2], "a", first, (2, 2), {"a": 1}, add, [[1, 2], [3, 4]], int, b"a", 1 + 1j),
    Fresh(lambda: iter([1])),
    True,
)


def candidates(param: Param, library: str) -> tuple[Any, ...]:
    """Candidate values in the order in which they are tried."""
    chosen: list[Any] = []
    if param.default is not EMPTY and param.default is not None and not callable(param.default):
        chosen.append(param.default)
        if isinstance(param.default, bool):
            chosen.append(not param.default)
    hint = param.type
    if hint in SELVES:
        return (SELVES[hint],)
    if library == "numpy":
        return _unique([*chosen, *_numpy_candidates(param)])
    if library == "standard":
        return (first, add) if param.name in FUNCTIONS else _unique([*chosen, *PLAIN_GENERIC])
    by_type = next((found for pattern, found in _BY_TYPE if hint and re.search(pattern, hint)), ())
    by_name = next((found for pattern, found in _BY_NAME if re.search(pattern, param.name)), ())
    if by_type:  # the name narrows a typed guess only where it offers values of the same sort
        sorts = {_sort(value) for value in by_type}
        return _unique([*chosen, *(value for value in by_name if _sort(value) in sorts), *by_type])
    return _unique([*chosen, *by_name, *GENERIC])


def _numpy_candidates(param: Param) -> list[Any]:
    common = [*ARRAYS, 1, (2, 2), [1.0, 2.0], first, "float32", [ARRAY, ARRAY], np.float64, (1,), "i,i"]
    if re.search(r"axis|^n$|^k$|num|^m$|shape|size|repeats|reps", param.name):
        return [1, (2, 2), 0, *common]
    return [first, add, *common] if param.name in ("func", "function", "func1d", "pyfunc") else common


def _sort(value: Any) -> str:
    return "tensor" if isinstance(value, Fresh) else type(value).__name__


def _unique(chosen: Iterable[Any]) -> tuple[Any, ...]:
    kept: list[Any] = []
    for value in chosen:
        if not any(value is other or (type(value) is type(other) and _same(value, other)) for other in kept):
            kept.append(value)
    return tuple(kept)


def _same(left: Any, right: Any) -> bool:
    try:
        return bool(left == right)
    except Exception:
        return False
