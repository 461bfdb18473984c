"""Tries the ways out that were suggested, and says what the stock tracer did then."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import tokenize
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

import torch
import torch.fx
from torch.utils import _pytree as pytree

from .edits import Edit, apply
from .frames import UserCode, real_path
from .held import execute, held
from .instances import Builder, Candidate, CannotBuildError, Target, candidates, evaluate, find, told_in_a_line
from .stock import Root, Stock
from .tracing import Tracing, evaluated


class CannotTryError(Exception):
    """Says in one line why a suggestion was not tried."""


def try_suggestion(
    suggestion: Mapping[str, Any],
    candidate: Candidate,
    module: ModuleType,
    root: Mapping[str, Any],
    user: UserCode,
    tracing: Tracing,
) -> dict[str, Any]:
    """The outcome of one suggestion, as the worker reports it; its parts are described in ``jobs.py``.

    Changes this process for good where it wraps or rewrites: the caller gives it a process of its own.
    """
    try:
        before = Builder(candidate, user, "cpu")() if root.get("inputs") else None
        if "edits" in suggestion:
            module = _rewrite(suggestion["edits"], module)
            candidate = _same_candidate(candidate, module, root)
        for file, name in suggestion.get("wraps", ()):
            _wrap(file, name)
        if "expr" in suggestion:
            tracing = tracing.with_concrete_args(evaluated(suggestion["expr"], module))
        leaf = None
        if "tracer" in suggestion:
            tracing, leaf = _told(tracing, suggestion["tracer"])
        done, concrete = _traced(candidate, user, root.get("inputs"), tracing, leaf)
        return _outcome(done, before, module, root.get("inputs"), concrete)
    except (CannotTryError, CannotBuildError) as error:
        return {"verdict": "not-run", "reason": str(error)}
    except BaseException as error:
        return {"verdict": "not-run", "reason": f"trying it raised {told_in_a_line(error, user)}"}


def try_inputs(inputs: str, candidate: Candidate, module: ModuleType, user: UserCode) -> dict[str, Any]:
    """The "reason" for which outputs on example inputs cannot be compared; None where the module runs on them."""
    reason = None
    try:
        given = evaluate(inputs, module)
        if isinstance(given, tuple):
            with torch.no_grad():
                Builder(candidate, user, "cpu")()(*given)
        else:
            reason = f"{inputs} is a {type(given).__name__}, not a tuple"
    except CannotBuildError as error:
        reason = str(error)
    except BaseException as error:
        reason = told_in_a_line(error, user)
    return {"reason": reason}


def _outcome(
    done: Stock, before: Root | None, module: ModuleType, inputs: str | None, concrete: dict[str, Any] | None
) -> dict[str, Any]:
    outcome = done.to_json()
    if before is not None and inputs is not None and done.traced is not None:
        given = evaluate(inputs, module)
        outcome["equal_outputs"] = (
            _equal_bound(before, done.traced, given, concrete) if concrete else _equal(before, done.traced, given)
        )
    return outcome


def _traced(
    candidate: Candidate, user: UserCode, inputs: str | None, tracing: Tracing, leaf: type | None
) -> tuple[Stock, dict[str, Any] | None]:
    """The verdict of the Tracer, and the concrete_args that it was given.

    The instance is built on the CPU where outputs are to be compared. One of class ``leaf`` is put into another module.
    """
    devices = ("cpu",) if inputs is not None else candidate.devices
    for device in devices:
        try:
            root = Builder(candidate, user, device)()
        except CannotBuildError:
            if device == devices[-1]:
                raise
            continue
        if leaf is not None and isinstance(root, leaf) and isinstance(root, torch.nn.Module):
            root = _holder(root)  # the root itself is never a leaf
        done = tracing.trace(root, user)
        if device == devices[-1] or done.error is None or not about_meta(done.error.message):
            return done, tracing.bound(root)
    raise CannotTryError("no instance could be built")


def _told(tracing: Tracing, said: Mapping[str, Any]) -> tuple[Tracing, type | None]:
    """The tracing with what a suggestion tells the Tracer, and the class that is to be a leaf, if any."""
    if said.get("param_shapes_constant"):
        tracing = tracing.with_argument("param_shapes_constant", True)
    if "leaf" not in said:
        return tracing, None
    leaf = _class(*said["leaf"])
    return tracing.with_leaf(leaf), leaf


def _class(file: str, qualname: str) -> type:
    found = find(_module_of(file), qualname)
    if not isinstance(found, type):
        raise CannotTryError(f"{qualname} is no class")
    return found


def _holder(layer: torch.nn.Module) -> torch.nn.Module:
    """A module that only calls the layer, with its required parameters by name."""
    signature = inspect.signature(layer.forward)
    names = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    listed = ", ".join(names)
    scope: dict[str, Any] = {}
    exec(f"def forward(self, {listed}):\n    return self.layer({listed})\n", scope)
    holder: torch.nn.Module = type("Holder", (torch.nn.Module,), {"forward": scope["forward"]})()
    holder.layer = layer
    return holder


def about_meta(message: str) -> bool:
    """Whether a failure may come from the meta device that the instance was built on, which the user never sees."""
    return "meta" in message.lower()


def _module_of(file: str) -> ModuleType:
    for module in _modules_of([file]).values():
        return module
    raise CannotTryError(f"{os.path.basename(file)} was not imported")


def _modules_of(files: Collection[str]) -> dict[str, ModuleType]:
    """Real path -> the module that was imported from there, of some files."""
    wanted = {real_path(file) for file in files}
    names = {os.path.basename(file) for file in (*files, *wanted)}  # to resolve some thousand paths takes long
    found: dict[str, ModuleType] = {}
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and os.path.basename(origin) in names and real_path(origin) in wanted:
            found.setdefault(real_path(origin), module)
    return found


def _wrap(file: str, name: str) -> None:
    """``torch.fx.wrap(name)`` as if it stood at the top level of the module in ``file``."""
    # torch.fx.wrap looks at the frame that calls it: it must be the module's own top level
    exec(compile(f"__import__('torch').fx.wrap({name!r})", "<wrap>", "exec"), vars(_module_of(file)))


def _rewrite(edits: Mapping[str, Sequence[Edit]], root: ModuleType) -> ModuleType:
    """Execute edited source under its modules' own names; the root's module comes last and is returned."""
    by_file = _modules_of(edits)
    renewed = root
    for file, changes in sorted(edits.items(), key=lambda item: by_file.get(real_path(item[0])) is root):
        module = by_file.get(real_path(file))
        if module is None:
            raise CannotTryError("a rewritten file was not imported")
        text = held(file)
        if text is None:
            with tokenize.open(file) as stream:
                text = stream.read()
        fresh = _execute(module, apply(text, changes))
        _rebind(module, fresh)
        if module is root:
            renewed = fresh
    if renewed is root:  # its classes may inherit from rewritten ones
        source = "".join(linecache.getlines(getattr(root, "__file__", None) or ""))
        renewed = _execute(root, source)
        _rebind(root, renewed)
    return renewed


def _execute(module: ModuleType, text: str) -> ModuleType:
    file = module.__file__ or "<rewritten>"
    fresh = ModuleType(module.__name__, module.__doc__)
    for name in ("__file__", "__package__", "__loader__", "__spec__", "__path__"):
        if hasattr(module, name):
            setattr(fresh, name, getattr(module, name))
    sys.modules[module.__name__] = fresh
    _forget_wraps(module)
    execute(text, file, vars(fresh))
    return fresh


def _forget_wraps(module: ModuleType) -> None:
    """Drop what the module's first text gave to torch.fx.wrap: a wrong name there would fail every later trace."""
    wrapped = torch.fx._symbolic_trace._wrapped_fns_to_patch
    for key in [key for key, scope in list(wrapped.items()) if scope is vars(module)]:
        del wrapped[key]


def _rebind(old: ModuleType, fresh: ModuleType) -> None:
    """Let everything that imported a name from the old module have the new object."""
    renewed = {
        id(value): getattr(fresh, name)
        for name, value in vars(old).items()
        if isinstance(value, (type, FunctionType)) and value.__module__ == old.__name__ and hasattr(fresh, name)
    }
    renewed[id(old)] = fresh
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if not isinstance(names, dict) or module is old or renewed.keys().isdisjoint(map(id, names.values())):
            continue
        for name, value in list(names.items()):
            names[name] = renewed.get(id(value), value)


def _same_candidate(candidate: Candidate, module: ModuleType, root: Mapping[str, Any]) -> Candidate:
    obj = find(module, root["qualname"])
    target = Target(module, root["qualname"], obj, tuple(root.get("instances", ())), tuple(root.get("found", ())))
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
    given = bound_inputs(original, inputs, concrete)
    names, arguments = tuple(given), tuple(given.values())
    expected = _run(lambda *args: original(**dict(zip(names, args, strict=True))), arguments)
    if expected is None:
        return None
    got = _run(traced, arguments)
    return got is not None and same(expected[0], got[0])


def bound_inputs(original: Root, inputs: tuple[Any, ...], concrete: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a traced module by name, in its order: inputs, bound arguments, and defaults."""
    forward = original.forward if isinstance(original, torch.nn.Module) else original
    signature = inspect.signature(forward)
    bound = signature.bind_partial(*inputs)
    for name, value in (concrete or {}).items():
        if not any(isinstance(leaf, torch.fx._symbolic_trace.PHBase) for leaf in pytree.tree_flatten(value)[0]):
            bound.arguments[name] = value
    bound.apply_defaults()
    return {
        parameter.name: bound.arguments[parameter.name]
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and parameter.name in bound.arguments
    }


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
