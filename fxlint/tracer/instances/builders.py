"""What a module of the project can build by itself: builder functions, registries, module objects.

A function is run only where its source or its annotation says that it makes a module, so that nothing else of the
project is run on a guess.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import torch

from .guesses import required, signature_of
from .naming import name_of
from .usage import looked_up, parsed

_WEIGHTS = re.compile(r"pretrained|weights|checkpoint|ckpt|download")
_LARGE = re.compile(r"(?<![a-z])(large|huge|giant|enormous|xl|xxl|xlarge|big|l|h|g|so\d+m|\d+b|1024|512|384)(?![a-z])")
_MAX_DEPTH = 4


@dataclass(frozen=True)
class Builder:
    """An expression that builds a module. ``family`` groups those that likely build the same with other sizes."""

    text: str
    family: str


def builders(module: ModuleType) -> list[Builder]:
    """All of a module, likely small ones first and families in turns."""
    found = [*_functions(module), *_registries(module), *_objects(module)]
    ordered = sorted(found, key=lambda one: bool(_LARGE.search(one.text)))
    turn: dict[str, int] = {}
    ranked: list[tuple[int, int, Builder]] = []
    for one in ordered:
        turn[one.family] = turn.get(one.family, -1) + 1
        ranked.append((turn[one.family], len(ranked), one))
    return [one for _, _, one in sorted(ranked, key=lambda ranked: ranked[:2])]


def used_in_functions(module: ModuleType) -> list[type]:
    """The module classes that the functions and methods of a module name: its builders may make one."""
    tree = parsed(module.__name__)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if tree is not None else []
    found: dict[type, None] = {}
    for function in functions:
        for node in ast.walk(function):
            named = looked_up(node, vars(module)) if isinstance(node, (ast.Name, ast.Attribute)) else None
            if isinstance(named, type) and issubclass(named, torch.nn.Module):
                found[named] = None
    return list(found)


def arguments_without_weights(call: Any) -> str | None:
    """The arguments for a call that needs none: weights are refused where they can be. None where it needs some."""
    refused = []
    for name, parameter in signature_of(call).items():
        if _WEIGHTS.search(name) and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            if isinstance(parameter.default, bool):
                refused.append(f"{name}=False")
            elif parameter.default is parameter.empty or not isinstance(parameter.default, (int, float)):
                refused.append(f"{name}=None")
    if any(not any(one.startswith(f"{parameter.name}=") for one in refused) for parameter in required(call)):
        return None
    return ", ".join(refused)


def _functions(module: ModuleType) -> Iterator[Builder]:
    for name, function in list(vars(module).items()):
        if not isinstance(function, FunctionType) or function.__module__ != module.__name__:
            continue
        arguments = arguments_without_weights(function)
        if arguments is None or not makes_module(function):
            continue
        text = name_of(function, module.__name__, name)
        if text is not None:
            yield Builder(f"{text}({arguments})", _family(name))


def _family(name: str) -> str:
    """The letters that a name begins with, up to the second word: resnet of resnet18, vit_b of vit_b_16."""
    found = re.match(r"_*[a-zA-Z]*_?[a-zA-Z]*", name)
    return found[0] if found else name


def _registries(module: ModuleType) -> Iterator[Builder]:
    """Dictionaries from names to callables that make modules: partials and lambdas; the others have names anyway."""
    for name, table in list(vars(module).items()):
        if not isinstance(table, dict) or name.startswith("__"):
            continue
        for key, value in list(table.items()):
            made = isinstance(value, functools.partial) and makes_module(value.func)
            if isinstance(key, str) and (made or _is_making_lambda(value)) and not required(value):
                yield Builder(f"{module.__name__}.{name}[{key!r}]()", name)


def _objects(module: ModuleType) -> Iterator[Builder]:
    for name, value in list(vars(module).items()):
        if isinstance(value, torch.nn.Module) and name_of(value, module.__name__, name) is not None:
            yield Builder(f"{module.__name__}.{name}", name)


def _is_making_lambda(value: Any) -> bool:
    if not isinstance(value, FunctionType) or value.__name__ != "<lambda>":
        return False
    tree = parsed(value.__module__) if value.__module__ in sys.modules else None
    line = value.__code__.co_firstlineno
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == line] if tree else []
    return len(lambdas) == 1 and _makes(lambdas[0].body, value.__globals__, {}, 0)


@functools.lru_cache(maxsize=8192)
def makes_module(call: Any, depth: int = 0) -> bool:
    """Whether a callable certainly gives a module, by its annotation or by what it returns."""
    if isinstance(call, type):
        return issubclass(call, torch.nn.Module)
    if isinstance(call, functools.partial):
        return makes_module(call.func, depth)
    call = inspect.unwrap(call) if callable(call) else call
    if not isinstance(call, FunctionType) or depth > _MAX_DEPTH:
        return False
    said = _result_of(call)
    if said is not None:
        return isinstance(said, type) and issubclass(said, torch.nn.Module)
    definition = _definition(call)
    if definition is None:
        return False
    assigned: dict[str, ast.expr] = {}
    returned = []
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, node.value)
        elif isinstance(node, ast.Return) and node.value is not None:
            returned.append(node.value)
    return any(_makes(value, call.__globals__, assigned, depth) for value in returned)


def _result_of(function: FunctionType) -> Any:
    """The annotated result, None where there is none that says anything."""
    said = function.__annotations__.get("return")
    if isinstance(said, str):
        try:
            said = eval(said, {**vars(typing), **function.__globals__})
        except Exception:
            return None
    if said is None and "return" in function.__annotations__:
        return type(None)
    if isinstance(said, typing.TypeVar):
        return said.__bound__
    return None if said is Any or (said is not None and not isinstance(said, type)) else said


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    tree = parsed(function.__module__) if function.__module__ else None
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node
    return None


def _makes(value: ast.expr, scope: dict[str, Any], assigned: dict[str, ast.expr], depth: int) -> bool:
    if isinstance(value, ast.Name) and value.id in assigned:
        inner = assigned[value.id]
        return not isinstance(inner, ast.Name) and _makes(inner, scope, {}, depth)
    if isinstance(value, ast.IfExp):
        return _makes(value.body, scope, assigned, depth)
    if not isinstance(value, ast.Call):
        return False
    callee = _object(value.func, scope, assigned)
    if callee is not None and callable(callee) and _is_hashable(callee) and makes_module(callee, depth + 1):
        return True
    # a factory that is handed the class: build_model(Net, ...)
    handed = (_object(argument, scope, assigned) for argument in value.args)
    return any(isinstance(one, type) and issubclass(one, torch.nn.Module) for one in handed)


def _object(node: ast.expr, scope: dict[str, Any], assigned: dict[str, ast.expr]) -> Any:
    if isinstance(node, ast.Name) and node.id in assigned:
        node = assigned[node.id]
    return looked_up(node, scope)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True
