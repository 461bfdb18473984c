"""What the stock tracer does: the witness that the tests hold both halves of fxlint against."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.fx
import torch.fx._symbolic_trace as stock

torch.set_num_threads(1)


@dataclass(frozen=True)
class Place:
    file: str
    line: int


@dataclass(frozen=True)
class Outcome:
    """``error`` is what importing, building or tracing raised, and ``place`` the innermost frame in the directory."""

    namespace: Mapping[str, Any] = field(default_factory=dict)
    root: Any = None
    traced: torch.fx.GraphModule | None = None
    error: Exception | None = None
    place: Place | None = None

    def evaluate(self, expression: str) -> Any:
        torch.manual_seed(0)
        return eval(expression, {"torch": torch, **self.namespace})


def trace(directory: Path, file: str, instance: str, concrete_args: str | None = None) -> Outcome:
    """Import ``file`` of ``directory``, build ``instance`` and trace it with ``torch.fx.symbolic_trace``."""
    outcome = Outcome()
    with _undone(directory):
        try:
            outcome = Outcome(vars(_load(directory / file)))
            outcome = dataclasses.replace(outcome, root=outcome.evaluate(instance))
            fixed = None if concrete_args is None else outcome.evaluate(concrete_args)
            return dataclasses.replace(outcome, traced=torch.fx.symbolic_trace(outcome.root, fixed))
        except Exception as error:
            return dataclasses.replace(outcome, error=error, place=_innermost(directory, error))


def run(directory: Path, file: str, statements: str) -> None:
    """Import ``file`` of ``directory`` and run ``statements`` in its namespace; what they assert must hold.

    ``raises`` is among the names that they may use.
    """
    with _undone(directory):
        namespace = {**vars(_load(directory / file)), "raises": raises}
        torch.manual_seed(0)
        exec(compile(statements, f"run of {file}", "exec"), namespace)


def raises(kind: type[Exception], thunk: Callable[[], object]) -> bool:
    """Whether ``thunk`` raises an exception of that very kind, or of one derived from it."""
    try:
        thunk()
    except kind:
        return True
    return False


def eager_result(outcome: Outcome, inputs: str) -> Any:
    """What a copy of the root, as it is after tracing, gives on ``inputs``."""
    return copy.deepcopy(outcome.root)(*outcome.evaluate(inputs))


def traced_result(outcome: Outcome, inputs: str) -> Any:
    assert outcome.traced is not None
    return copy.deepcopy(outcome.traced)(*outcome.evaluate(inputs))


def same(a: Any, b: Any) -> bool:
    """Equal values, tensors within the tolerance of ``torch.allclose``, through containers and dataclasses."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        alike = (a.shape, a.dtype, a.device) == (b.shape, b.dtype, b.device)
        return alike and (a.is_meta or torch.allclose(a, b, equal_nan=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(same(getattr(a, item.name), getattr(b, item.name)) for item in dataclasses.fields(a))
    return bool(a == b)


def gradients(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    leaves = [value.detach().clone().requires_grad_() for value in inputs]
    return torch.autograd.grad(function(*leaves).sum(), leaves, allow_unused=True)


def holds(outcome: Outcome, check: str, instance: str, inputs: str) -> bool:
    """Whether an expression on a new instance, the traced module and the inputs is true, and what names it may use."""

    def build() -> Any:
        return outcome.evaluate(instance)

    names = {
        "build": build,
        "orig": build(),
        "inputs": outcome.evaluate(inputs),
        "traced": outcome.traced,
        "fx": torch.fx,
        "copy": copy,
        "same": same,
        "raises": raises,
        "grad": gradients,
        "nodes": lambda traced: list(traced.graph.nodes),
    }
    return bool(dataclasses.replace(outcome, namespace={**outcome.namespace, **names}).evaluate(check))


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _innermost(directory: Path, error: Exception) -> Place | None:
    inside = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).parent == directory]
    return Place(Path(inside[-1].filename).name, inside[-1].lineno or 0) if inside else None


@contextmanager
def _undone(directory: Path) -> Iterator[None]:
    """Take back what an import leaves in the process: a misused torch.fx.wrap breaks every later trace."""
    functions, methods = dict(stock._wrapped_fns_to_patch), list(stock._wrapped_methods_to_patch)
    modules, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if Path(getattr(sys.modules[name], "__file__", None) or "-").parent == directory:
                del sys.modules[name]
        stock._wrapped_fns_to_patch.clear()
        stock._wrapped_fns_to_patch.update(functions)
        stock._wrapped_methods_to_patch[:] = methods
