"""The parameters of a callable.

They come from the operator schemas (typed), from ``inspect``, from the testing overrides of torch, and from the first
lines of the docstring, in this order.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

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
        if method:  # where(condition, self, other) is a method of self too
            own = [p for p in params if p.name == "self" and "tensor" in p.type]
            if not own:
                continue
            params = (*own, *(p for p in params if p.name != "self"))
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
        own: tuple[Param, ...] | None = inspected(function)
    except (TypeError, ValueError):
        own = None
    try:
        overridden = _testing_overrides().get(function)
    except TypeError:
        overridden = None
    if overridden is not None and (own is None or [p.kind for p in own] == ["*", "**"]):
        return [inspected(overridden)]
    if own is not None:
        return [_of_owner(name, own)]
    documented = _documented(function) or [(REST,)]
    if _is_method(name):
        documented = [params if params[:1] == OWN else (*OWN, *params) for params in documented]
    return [_of_owner(name, params) for params in documented]


OWN = (Param("self", "p"),)
REST = Param("args", "*")


def _is_method(name: str) -> bool:
    return name.startswith("torch.Tensor.") or (name.startswith("builtins.") and name.count(".") == 2)


def _of_owner(name: str, params: tuple[Param, ...]) -> tuple[Param, ...]:
    """Methods of builtin types: the type of self is the class in the name."""
    if name.startswith("builtins.") and _is_method(name) and params and params[0].name == "self":
        return (replace(params[0], type=f"builtins.{name.split('.')[1]}"), *params[1:])
    return params


def inspected(function: Any) -> tuple[Param, ...]:
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
        needed = len(_split(re.sub(r"\[.*", "", match["inner"])))  # what stands in brackets is optional
        for position, part in enumerate(_split(re.sub(r"[\[\]]", "", match["inner"]))):
            if part == "*":
                keyword_only = True
            elif part == "/":
                params = [replace(p, kind="p") for p in params]
            elif part.strip(" .") == "":
                continue  # "...": more of the same
            elif re.match(r"^\*{1,2}\w+$", part):
                params.append(Param(part.lstrip("*"), "**" if part.startswith("**") else "*"))
            else:
                head, _, default = part.partition("=")
                label, _, hint = head.partition(":")
                value = _literal(default.strip()) if default else EMPTY if position < needed else None
                name = re.match(r"\w*", label.strip())
                params.append(Param(name[0] if name else "", "k" if keyword_only else "b", hint.strip().lower(), value))
        names = {p.name for p in params}
        if len(names) == len(params) and "" not in names:  # an example is no signature
            found.append(tuple(params))
    return found
