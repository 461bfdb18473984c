"""Parameters of a callable and plausible values for them.

Signatures come from the operator schemas (typed), from ``inspect``, from the testing overrides of torch, and from the
first line of the docstring, in this order. Values are guesses by type and name: the search in ``calls.py`` keeps only
combinations that a real call accepts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy
import torch
from probe import Fresh

EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Param:
    """``kind``: p positional only, b both, k keyword only, * and ** variadic. ``type`` is a hint, lower case."""

    name: str
    kind: str
    type: str = ""
    default: Any = EMPTY

    @property
    def required(self) -> bool:
        return self.default is EMPTY and self.kind not in ("*", "**")


# ---------------------------------------------------------------------------------------------- signatures

_ARGUMENT = re.compile(r"^(?P<type>.+?)\s+(?P<name>\w+)(?:=(?P<default>.*))?$")
_PREFIX = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}


def schema_signatures(name: str) -> list[tuple[Param, ...]]:
    """The overloads of the operator behind a torch function or Tensor method; without the ``out`` variants."""
    module, _, short = name.rpartition(".")
    operator = _PREFIX.get(module, "") + short
    found: list[tuple[Param, ...]] = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
        params = _parse_schema(str(schema))
        method = module == "torch.Tensor"
        if method and (not params or params[0].name != "self" or "tensor" not in params[0].type):
            continue
        if any("(a!)" in p.type and p.name == "out" for p in params) or any(p.type.startswith("t[]") for p in params):
            continue
        if any(p.type in ("int[] self", "dimname", "dimname[]", "dimname[1]") for p in params):
            continue
        if params and params[0].name == "t":  # scripting only: torch.tensor and as_tensor are parsed by hand
            continue
        if not method:
            params = tuple(replace(p, name="input") if p.name == "self" else p for p in params)
        if params and params not in found:
            found.append(params)
    # schemas of the scripting runtime (sum of an int list) are not overloads of the Python function
    return [p for p in found if any("tensor" in q.type for q in p) or _is_factory_schema(p)]


def _is_factory_schema(params: Sequence[Param]) -> bool:
    return any(p.name in ("dtype", "layout", "device", "pin_memory") for p in params)


def _parse_schema(text: str) -> tuple[Param, ...]:
    inner = text[text.index("(") + 1 : text.rindex(") ->")]
    params: list[Param] = []
    keyword_only = False
    for part in _split(inner):
        if part == "*":
            keyword_only = True
            continue
        match = _ARGUMENT.match(part)
        if match is None:
            continue
        default: Any = EMPTY if match["default"] is None else _literal(match["default"])
        params.append(Param(match["name"], "k" if keyword_only else "b", match["type"].lower(), default))
    return tuple(params)


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [part for part in (*parts, current.strip()) if part]


def _literal(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


@lru_cache(maxsize=1)
def _testing_overrides() -> dict[Any, Callable[..., Any]]:
    return dict(torch.overrides.get_testing_overrides())


def signatures(name: str, function: Any) -> list[tuple[Param, ...]]:
    """All signatures worth trying, the typed ones first. Empty when nothing is known about the parameters."""
    if name.startswith("torch.") and not inspect.isclass(function):
        found = schema_signatures(name)
        if found and not inspect.isfunction(function):
            return found
    try:
        return [_inspected(function)]
    except (TypeError, ValueError):
        pass
    try:
        lambda_ = _testing_overrides().get(function)
    except TypeError:
        lambda_ = None
    if lambda_ is not None:
        return [_inspected(lambda_)]
    documented = _documented(function)
    return documented if documented else [(Param("*args", "*"),)]


def _inspected(function: Any) -> tuple[Param, ...]:
    kinds = {0: "p", 1: "b", 2: "*", 3: "k", 4: "**"}
    params = []
    for p in inspect.signature(function).parameters.values():
        hint = "" if p.annotation is EMPTY else getattr(p.annotation, "__name__", None) or str(p.annotation)
        if not isinstance(p.annotation, str) and hint in ("Optional", "Union", "List", "Tuple"):
            hint = str(p.annotation)
        elif isinstance(p.annotation, str):
            hint = p.annotation
        params.append(Param(p.name, kinds[int(p.kind)], str(hint).lower(), p.default))
    return tuple(params)


def _documented(function: Any) -> list[tuple[Param, ...]]:
    """Signatures in the leading lines of a docstring: ``name(a, b=1, *, c) -> ...``."""
    text = inspect.getdoc(function) or ""
    short = getattr(function, "__name__", "")
    found = []
    for line in text.splitlines()[:12]:
        match = re.match(rf"\W*(?:\w+\.)*{re.escape(short)}\((?P<inner>[^()]*(?:\([^()]*\)[^()]*)*)\)", line.strip())
        if match is None or not short:
            continue
        params: list[Param] = []
        keyword_only = False
        for part in _split(re.sub(r"[\[\]]", "", match["inner"])):
            if part == "*":
                keyword_only = True
            elif part == "/":
                params = [replace(p, kind="p") for p in params]
            elif re.match(r"^\*{1,2}\w+$", part):
                params.append(Param(part.lstrip("*"), "**" if part.startswith("**") else "*"))
            elif re.match(r"^\w+(\s*:\s*[^=]+)?(\s*=.*)?$", part):
                head, _, default = part.partition("=")
                label, _, hint = head.partition(":")
                value = EMPTY if not default else _literal(default.strip())
                params.append(Param(label.strip(), "k" if keyword_only else "b", hint.strip().lower(), value))
        if len({p.name for p in params}) == len(params):
            found.append(tuple(params))
    return found


# ---------------------------------------------------------------------------------------------- values


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


def module() -> torch.nn.Module:
    return torch.nn.Linear(4, 4)


ARRAY = _make(lambda: numpy.eye(4) * 2 + 0.1)
ARRAYS = (
    ARRAY,
    _make(lambda: numpy.array([1.0, 2.0, 3.0, 4.0])),
    _make(lambda: numpy.array([0, 1, 1, 0])),
    _make(lambda: numpy.eye(4) > 0),
)

INTEGERS = (1, 0, 2, 4, -1)
FLOATS = (0.5, 1.0, 2.0)
SIZES = ((4, 4), (2, 2), (1,), (4,), (1, 1), (0, 1), (2, 2, 2), (0,), (1, 1, 1, 1), (2, 4, 4, 4), (1, 1, 1))
STRINGS = ("mean", "sum", "none", "constant", "cpu", "a", "ij,jk->ik", "reflect", "relu", "float32", "gloo")

_BY_NAME: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"^(dims?|axis|axes|dim\d|axis\d|start_dim|end_dim|diagonal|offset|k|n|num|steps|groups|chunks|sections|m)$", (1, 0, (0, 1))),
    (r"size$|^shape$|kernel|stride|padding|dilation|^pad$|shifts|repeats|^reps$|output_size|normalized_shape", (*SIZES, 1, 2, 4)),
    (r"^(tensors|arrays|operands|seq|sequences)$", ((TENSOR, TENSOR), (ROW, ROW), [CUBE, CUBE])),
    (r"mask|condition|^where$", (BOOLS, TENSOR)),
    (r"^(index|indices|tgt|labels?|offsets|lengths|input_lengths|target_lengths)$", (INTS2, INTS, 1, TENSOR)),
    (r"weight", (WEIGHT, TENSOR, ROW)),
    (r"bias|running|^mean$|^var$|^std$", (ROW, TENSOR)),
    (r"^(f|fn|fun|func|function|body_fn|cond_fn|true_fn|false_fn|callback|key|predicate|hook|model|op)$", (first, add, _make(module))),
    (r"module|^mod$", (_make(module),)),
    (r"^(device|device_type|backend)$", ("cpu",)),
    (r"dtype", (torch.float32,)),
    (r"generator", (_make(torch.Generator),)),
    (r"mode|reduction|reduce|string|^s$|name|equation|ord$|prefix|fmt|format", STRINGS),
    (r"iterable|^it$|items|data|values|population", ([1, 2, 3], TENSOR, [TENSOR, TENSOR])),
    (r"^(p|eps|alpha|beta|scale|momentum|prob|rate|gamma|lambd|negative_slope|min_val|max_val|value|lr|delta|margin)$", (0.5, 1, TENSOR)),
    (r"input|^x\d?$|^self$|tensor|other|target|^a$|^b$|^arr?$|query|^attn|vec|mat|batch|anchor|positive|negative|grad", TENSORS),
)

_BY_TYPE: tuple[tuple[str, tuple[Any, ...]], ...] = (
    (r"^(list\[|sequence\[|tuple\[|union\[)?.*tensor\??\s*[\[,]|list\[.*tensor|sequence\[.*tensor|tuple\[.*tensor|tensor\[", ([TENSOR, TENSOR], [ROW, ROW], [IMAGE], [IMAGE, IMAGE], [INTS], [TENSOR])),
    (r"tensor", TENSORS),
    (r"callable", (first, add)),
    (r"dtype|scalartype", (torch.float32, torch.int64)),
    (r"device", ("cpu", torch.device("cpu"))),
    (r"layout", (torch.strided,)),
    (r"memory_?format", (torch.contiguous_format,)),
    (r"generator", (_make(torch.Generator),)),
    (r"int\[|int\d?\[|list\[.*int|sequence\[.*int|tuple\[.*int|broadcastinglist|\bsize\b|_size", SIZES + ([1, 1, 1, 1],)),
    (r"float\[|list\[float|bool\[", ([0.5, 0.5], [2.0, 2.0], [True, False])),
    (r"\bmodule\b|nn\.module", (_make(module),)),
    (r"bool", (True, False)),
    (r"^(sym)?int|\bint\b", (*INTEGERS, (0, 1))),
    (r"float|number|scalar|double", FLOATS + (1,)),
    (r"complex", (1j,)),
    (r"str", STRINGS),
)

GENERIC: tuple[Any, ...] = (TENSOR, 1, 0.5, (2, 2), first, [TENSOR, TENSOR], "a", [1, 2, 3], {"a": 1}, TENSOR, int)
PLAIN_GENERIC: tuple[Any, ...] = (1, 0.5, [3, 1, 2], "a", first, (2, 2), {"a": 1}, add, [[1, 2], [3, 4]], int, b"a", 1 + 1j)
SHAPES_BY_NAME = re.compile(r"stride|padding|dilation|kernel|output")


def values(param: Param, library: str) -> tuple[Any, ...]:
    """Candidate values in the order in which they are tried."""
    chosen: list[Any] = []
    if param.default is not EMPTY and param.default is not None and not callable(param.default):
        chosen.append(param.default)
        if isinstance(param.default, bool):
            chosen.append(not param.default)
    hint = param.type
    if library == "numpy":
        chosen += [*ARRAYS, 1, (2, 2), [1.0, 2.0], first, "float32", [ARRAY, ARRAY], numpy.float64, (1,), "i,i"]
        if re.search(r"axis|^n$|^k$|num|^m$|shape|size|repeats|reps", param.name):
            chosen = [1, (2, 2), 0, *chosen]
        if param.name in ("func", "function", "func1d", "pyfunc"):
            chosen = [first, add, *chosen]
        return _unique(chosen)
    by_type = next((found for pattern, found in _BY_TYPE if hint and re.search(pattern, hint)), ())
    if library == "torch":
        # a name narrows a typed guess only where it offers values of the same sort
        by_name = next((found for pattern, found in _BY_NAME if re.search(pattern, param.name)), ())
        if by_type:
            sorts = {_sort(value) for value in by_type}
            chosen += [value for value in by_name if _sort(value) in sorts]
        else:
            chosen += by_name
        chosen += by_type
        if not by_type:
            chosen += GENERIC
    else:
        chosen += PLAIN_GENERIC
    return _unique(chosen)


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
