"""Tries the ways out that were suggested, and says what the stock tracer did then."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch
import torch.fx
from torch.utils import _pytree as pytree

from .frames import UserCode, real_path
from .instances import Builder, Candidate, CannotBuildError, candidates, evaluate, find, told_in_a_line
from .stock import Root, Stock, stock


class CannotTryError(Exception):
    """Says in one line why a suggestion was not tried."""


def try_suggestion(
    suggestion: Mapping[str, Any], candidate: Candidate, module: ModuleType, root: Mapping[str, Any], user: UserCode
) -> dict[str, Any]:
    """The outcome of one suggestion, as the worker reports it.

    Changes this process for good where it wraps or rewrites: the caller gives it a process of its own.
    """
    try:
        kind = suggestion["kind"]
        if kind == "concrete_args":
            return _with_concrete_args(suggestion["expr"], candidate, module, root.get("inputs"), user)
        before = Builder(candidate, user, "cpu")() if root.get("inputs") else None
        if kind == "wrap":
            _wrap(suggestion["file"], suggestion["name"])
        elif kind == "rewrite":
            module = _rewrite(suggestion["files"], module)
            candidate = _same_candidate(candidate, module, root)
        else:
            raise CannotTryError(f"suggestions of kind {kind} cannot be tried")
        return _outcome(candidate, before, module, root.get("inputs"), user)
    except (CannotTryError, CannotBuildError) as error:
        return {"verdict": "not-run", "reason": str(error)}
    except BaseException as error:
        return {"verdict": "not-run", "reason": f"trying it raised {told_in_a_line(error, user)}"}


def _with_concrete_args(
    expr: str, candidate: Candidate, module: ModuleType, inputs: str | None, user: UserCode
) -> dict[str, Any]:
    concrete = evaluate(expr, module)
    if not isinstance(concrete, dict):
        raise CannotTryError(f"concrete_args must be a dict, {expr} is a {type(concrete).__name__}")
    done, original = _traced(candidate, user, inputs, concrete)
    outcome = done.to_json()
    if inputs is not None and done.traced is not None:
        outcome["equal_outputs"] = _equal_bound(original, done.traced, evaluate(inputs, module), concrete)
    return outcome


def _outcome(
    candidate: Candidate, before: Root | None, module: ModuleType, inputs: str | None, user: UserCode
) -> dict[str, Any]:
    done, _ = _traced(candidate, user, inputs, None)
    outcome = done.to_json()
    if before is not None and inputs is not None and done.traced is not None:
        outcome["equal_outputs"] = _equal(before, done.traced, evaluate(inputs, module))
    return outcome


def _traced(candidate: Candidate, user: UserCode, inputs: str | None, concrete: Any) -> tuple[Stock, Root]:
    """The stock verdict, and the instance as it was built: on the CPU where outputs are to be compared."""
    devices = ("cpu",) if inputs is not None else ("meta", "cpu")
    for device in devices:
        build = Builder(candidate, user, device)
        try:
            root = build()
        except CannotBuildError:
            if device == devices[-1]:
                raise
            continue
        done = stock(root, user, concrete)
        if device == "cpu" or done.error is None or not about_meta(done.error.message):
            return done, build()
    raise CannotTryError("no instance could be built")


def about_meta(message: str) -> bool:
    """Whether a failure may come from the meta device that the instance was built on, which the user never sees."""
    return "meta" in message.lower()


def _wrap(file: str, name: str) -> None:
    """``torch.fx.wrap(name)`` as if it stood at the top level of the module in ``file``."""
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and real_path(origin) == real_path(file):
            # torch.fx.wrap looks at the frame that calls it: it must be the module's own top level
            exec(compile(f"__import__('torch').fx.wrap({name!r})", "<wrap>", "exec"), vars(module))
            return
    raise CannotTryError("the module that the wrap belongs in was not imported")


def _rewrite(files: Mapping[str, str], root: ModuleType) -> ModuleType:
    """Execute new source under its modules' own names; the root's module comes last and is returned."""
    by_file = {
        real_path(origin): module
        for module in list(sys.modules.values())
        if isinstance(origin := getattr(module, "__file__", None), str)
    }
    renewed = root
    for file, text in sorted(files.items(), key=lambda item: by_file.get(real_path(item[0])) is root):
        module = by_file.get(real_path(file))
        if module is None:
            raise CannotTryError("a rewritten file was not imported")
        fresh = _execute(module, text)
        _rebind(module, fresh)
        if module is root:
            renewed = fresh
    if renewed is root:  # its classes may inherit from rewritten ones
        source = "".join(linecache.getlines(getattr(root, "__file__", None) or ""))
        renewed = _execute(root, source)
    return renewed


def _execute(module: ModuleType, text: str) -> ModuleType:
    file = module.__file__ or "<rewritten>"
    fresh = ModuleType(module.__name__, module.__doc__)
    for name in ("__file__", "__package__", "__loader__", "__spec__", "__path__"):
        if hasattr(module, name):
            setattr(fresh, name, getattr(module, name))
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # what inspect.getsource reads
    sys.modules[module.__name__] = fresh
    exec(compile(text, file, "exec", dont_inherit=True), vars(fresh))
    return fresh


def _rebind(old: ModuleType, fresh: ModuleType) -> None:
    """Let everything that imported a name from the old module have the new object."""
    renewed = {
        id(value): getattr(fresh, name)
        for name, value in vars(old).items()
        if isinstance(value, (type, FunctionType)) and value.__module__ == old.__name__ and hasattr(fresh, name)
    }
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or module is old:
            continue
        for name, value in list(names.items()):
            if value is old:
                names[name] = fresh
            elif id(value) in renewed:
                names[name] = renewed[id(value)]


def _same_candidate(candidate: Candidate, module: ModuleType, root: Mapping[str, Any]) -> Candidate:
    target = find(module, root["qualname"], tuple(root.get("instances", ())))
    return next((found for found in candidates(target) if found.text == candidate.text), candidate)


def _equal(original: Root, traced: Callable[..., Any], inputs: tuple[Any, ...]) -> bool | None:
    """Whether both give the same on the inputs; None where the original itself cannot be run on them."""
    expected = _run(original, inputs)
    if expected is None:
        return None
    got = _run(traced, inputs)
    return got is not None and same(expected[0], got[0])


def _equal_bound(
    original: Root, traced: Callable[..., Any], inputs: tuple[Any, ...], concrete: dict[str, Any]
) -> bool | None:
    """As ``_equal``, with the bound arguments given to both: the traced module takes them in the signature's order."""
    forward = original.forward if isinstance(original, torch.nn.Module) else original
    signature = inspect.signature(forward)
    bound = signature.bind_partial(*inputs)
    for name, value in concrete.items():
        if not any(isinstance(leaf, torch.fx._symbolic_trace.PHBase) for leaf in pytree.tree_flatten(value)[0]):
            bound.arguments[name] = value
    bound.apply_defaults()
    names = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and parameter.name in bound.arguments
    ]
    arguments = tuple(bound.arguments[name] for name in names)
    expected = _run(lambda *args: original(**dict(zip(names, args, strict=True))), arguments)
    if expected is None:
        return None
    got = _run(traced, arguments)
    return got is not None and same(expected[0], got[0])


def _run(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[Any] | None:
    torch.manual_seed(1)
    try:
        with torch.no_grad():
            return (function(*pytree.tree_map(_clone, inputs)),)
    except Exception:
        return None


def _clone(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def same(first: Any, second: Any) -> bool:
    """Equality of two outputs, leaf by leaf; tensors by shape, dtype and ``torch.allclose``."""
    leaves, other = pytree.tree_flatten(first)[0], pytree.tree_flatten(second)[0]
    return len(leaves) == len(other) and all(_same_leaf(a, b) for a, b in zip(leaves, other, strict=True))


def _same_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, equal_nan=True)
    try:
        return bool(a == b)
    except Exception:
        return False
