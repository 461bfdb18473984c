"""Runs a module and its graph side by side, in both modes and on inputs of two sizes, and says where they differ.

In each mode the graph is that which tracing gives in it: what the training flag decides is proved by ``modes``, and no
other construct is to be blamed for it.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
import itertools
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import torch
import torch.fx
from torch.utils import _pytree as pytree

from .failures import message_of
from .frames import UserCode
from .instances import Builder, Candidate, CannotBuildError, copied, evaluate, told_in_a_line
from .messages import Message
from .recorder import holds_proxy
from .samples import Given, samples
from .stock import Root, Stock
from .suggestions import bound_inputs, same
from .tracing import Tracing

MAX_PARAMETERS = 50_000_000
"""Numbers in the parameters of a module that is still run."""
SLOW_SECONDS = 2.0
"""Seconds of processor time after which inputs of one size have to be enough."""
MAX_NAMES = 4
MAX_TOLD = 60
MODES = ("train", "eval")
_TRACING_SEED, _RUNNING_SEED = 0, 1
_WITHOUT_USERS = re.compile(r" : \[num_users=\d+\]")


@dataclass(frozen=True)
class Difference:
    """``what`` is "outputs", "gradients", "state", "inputs" (which a call changes), or "error" where only the graph
    raises. ``mode`` and ``inputs``, the number of the inputs, are None of what tracing itself leaves in the module.
    """

    what: str
    mode: str | None
    inputs: int | None
    said: str = ""


def beside(
    candidate: Candidate, root: Mapping[str, Any], module: ModuleType, user: UserCode, tracing: Tracing
) -> Message:
    """The message on one comparison: the shapes of the inputs, the differences, or the reason why there is none."""
    started = time.process_time()
    try:
        pair = _Pair(candidate, user, tracing)
        given = pair.inputs(root.get("inputs"), module)
        found = [pair.compared(mode, 0, given[0]) for mode in MODES]
        if time.process_time() - started < SLOW_SECONDS:
            found += [pair.compared(mode, number, one) for mode in MODES for number, one in enumerate(given) if number]
        else:
            given = given[:1]
        if all(one is None for one in found):
            raise _CannotCompareError("it raises on copies of the inputs that it took")
        changes = (change for event, *_ in root.get("silent", ()) for change in _CHANGES.get(event, ()))
        found += [pair.changed(change, given[0]) for change in dict.fromkeys(changes)]
    except (_CannotCompareError, CannotBuildError) as error:
        return _message(reason=str(error))
    except Exception as error:
        return _message(reason=f"running it raised {told_in_a_line(error, user)}")
    differences = dict.fromkeys(difference for one in found for difference in one or ())
    return _message([told(inputs) for inputs in given], [*pair.left_by_tracing(), *differences])


def _message(
    inputs: list[str] | None = None, differences: list[Difference] | None = None, reason: str | None = None
) -> Message:
    return {"inputs": inputs or [], "differences": [asdict(one) for one in differences or ()], "reason": reason}


def told(inputs: Given) -> str:
    """``(2, 3, 16, 16)`` or ``[(2, 4), True]``: the shapes of tensors, other values as they are."""
    return _told(inputs[0] if len(inputs) == 1 else inputs)


def _told(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return str(tuple(value.shape))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_told, value))}]"
    return repr(value)[:MAX_TOLD]


class _CannotCompareError(Exception):
    """Says in one line why."""


@dataclass(frozen=True)
class _Run:
    """What one call did. ``inputs`` are as they were after it, ``gradients`` those of the inputs, by number, and of the
    parameters, by name; ``changed`` is the state that is not as before.
    """

    error: BaseException | None = None
    outputs: Any = None
    inputs: Any = None
    gradients: Mapping[str, torch.Tensor] | None = None
    changed: Mapping[str, Any] | None = None


class _Function(torch.nn.Module):
    """A function, to be run as a module is."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["forward"] = function  # has the signature of the function


def _module(root: Root) -> torch.nn.Module:
    return root if isinstance(root, torch.nn.Module) else _Function(root)


class _Pair:
    """A module, the graphs that tracing gives of equal ones, and these as tracing leaves them."""

    def __init__(self, candidate: Candidate, user: UserCode, tracing: Tracing) -> None:
        with contextlib.suppress(CannotBuildError):  # what cannot be built on the meta device is built all the same
            first = _module(Builder(candidate, user, candidate.devices[0])())
            if sum(one.numel() for one in first.parameters()) > MAX_PARAMETERS:
                raise _CannotCompareError("it is too large to be run")
        build = Builder(candidate, user, "cpu")
        original = _module(build())
        self._original = original
        self._bound: dict[str, Any] | None = None
        self._left: dict[str, None] = {}
        self._graphs: dict[str, torch.fx.GraphModule] = {}
        for mode in MODES:
            self._trace(mode, build(), user, tracing)
        if not self._graphs:
            raise _CannotCompareError("it does not trace on the CPU")
        self._any = next(iter(self._graphs.values()))
        self._tried = _copy(original)
        parameters = inspect.signature(original.forward).parameters.values()
        self._keywords = frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)

    def _trace(self, mode: str, root: Root, user: UserCode, tracing: Tracing) -> None:
        module = _module(root).train(mode == "train")
        self._bound = tracing.bound(root)
        before = _state(module)
        _seed(_TRACING_SEED)
        done: Stock = tracing.trace(root, user)
        if done.traced is not None:
            self._graphs[mode] = done.traced
            changed = (name for name, value in _state(module).items() if not _is(value, before.get(name)))
            self._left.update(dict.fromkeys(changed))

    def inputs(self, declared: str | None, module: ModuleType) -> list[Given]:
        """Those that are declared, else what the module takes; another size of them where it takes one."""
        if declared is not None:
            given = evaluate(declared, module)
            if not isinstance(given, tuple) or not self._accepts(given):
                raise _CannotCompareError(f"it cannot be run on {declared}")
            others = (*_with_larger_batch(given), *self._without_optional(given))
            return [given, *filter(self._accepts, others)]
        found = samples(self._any, self._accepts)
        if not found:
            raise _CannotCompareError("no inputs were found that it takes")
        return found

    def _without_optional(self, given: Given) -> Iterator[Given]:
        """Only the inputs that have to be given, where there are more."""
        required = sum(node.op == "placeholder" and not node.args for node in self._any.graph.nodes)
        if required < len(given):
            yield given[:required]

    def _accepts(self, inputs: Given) -> bool:
        try:
            with torch.no_grad():
                given = pytree.tree_map(lambda value: _leaf(value, False), self._call(inputs))
                _called(self._tried.eval(), given, self._keywords)
        except Exception:
            return False
        return True

    def _call(self, inputs: Given) -> dict[str, Any]:
        return bound_inputs(self._original, inputs, self._bound)

    def left_by_tracing(self) -> Iterator[Difference]:
        """What tracing has changed in the modules that it traced."""
        if self._left:
            yield Difference("state", None, None, _listed(list(self._left)))

    def compared(self, mode: str, number: int, inputs: Given) -> list[Difference] | None:
        """What is different in one mode on one of the inputs, None where the module itself cannot be run, or traced."""
        if mode not in self._graphs:
            return None
        arguments = self._call(inputs)
        for backward in (True, False):
            original = self._run_original(mode, arguments, backward)
            if original.error is None:
                break
        else:
            return None
        traced = self._graph(mode)
        got = _run(traced.train(mode == "train"), arguments, frozenset(), backward)
        if got.error is not None:
            message = " ".join(message_of(got.error).split())
            return [Difference("error", mode, number, f"{type(got.error).__name__}: {message[:200]}")]
        found = list(_differences(original, got, mode, number))
        if found:  # what a second call of an equal module does differently is no matter of the graph
            again = self._run_original(mode, arguments, backward)
            by_chance = {one.what for one in _differences(original, again, mode, number)}
            found = [one for one in found if one.what not in by_chance]
        return found

    def changed(self, change: Callable[[torch.nn.Module], str], inputs: Given) -> list[Difference] | None:
        """What is different after both were changed in the same way."""
        original, traced = _copy(self._original).eval(), self._graph("eval").eval()
        said, _ = change(original), change(traced)
        dtype = next((one.dtype for one in original.parameters() if one.is_floating_point()), torch.get_default_dtype())
        arguments = pytree.tree_map(lambda value: _as_is(value, dtype), self._call(inputs))
        expected = _run(original, arguments, self._keywords, backward=False)
        if expected.error is not None:
            return None
        got = _run(traced, arguments, frozenset(), backward=False)
        if got.error is not None:
            return [Difference("outputs", "eval", 0, said)]
        return [replace(one, said=said) for one in _differences(expected, got, "eval", 0)]

    def _graph(self, mode: str) -> torch.nn.Module:
        traced = self._graphs.get(mode, self._any)
        return copied(traced) or traced  # a graph that is no valid code cannot be copied

    def _run_original(self, mode: str, arguments: Mapping[str, Any], backward: bool) -> _Run:
        return _run(_copy(self._original).train(mode == "train"), arguments, self._keywords, backward)


def _other_buffers(module: torch.nn.Module, more: int) -> str:
    """As ``load_state_dict`` would."""
    for name, buffer in _buffers(module):
        if name.startswith("_tensor_constant"):
            continue  # what the graph has of its own
        if buffer.dtype is torch.bool:
            buffer.logical_not_()
        else:
            buffer.add_(more)
    return "with other values in the buffers"


def _without_dead_code(module: torch.nn.Module) -> str:
    """As passes leave a graph."""
    if isinstance(module, torch.fx.GraphModule):
        module.graph.eliminate_dead_code()
        module.recompile()
    return "after dead code elimination"


def _double(module: torch.nn.Module) -> str:
    module.double()
    return "after double()"


_BUFFERS = tuple(partial(_other_buffers, more=more) for more in (1, 100, -100))
"""A small number may be an index, a large one passes a threshold, from below or from above."""
_CHANGES: dict[str, tuple[Callable[[torch.nn.Module], str], ...]] = {
    "silent.buffer": _BUFFERS,
    "silent.computed": _BUFFERS,
    "silent.state": _BUFFERS,
    "silent.constant": (_without_dead_code,),
    "silent.unused": (_without_dead_code,),
    "silent.device": (_double,),
}
"""What a graph may have missed shows only after a change: by event, what to do to the module and to its graph."""


def _as_is(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _copy(module: torch.nn.Module) -> torch.nn.Module:
    """Raises _CannotCompareError."""
    made = copied(module)
    if made is None:
        raise _CannotCompareError("it cannot be copied")
    return made


def _with_larger_batch(given: Given) -> Iterator[Given]:
    """The inputs with one more row, where all tensors have as many."""
    rows = {value.shape[0] for value in given if isinstance(value, torch.Tensor) and value.dim()}
    if len(rows) == 1 and 0 not in rows:
        yield tuple(torch.cat([value, value[:1]]) if isinstance(value, torch.Tensor) and value.dim() else value
                    for value in given)  # fmt: skip


def _differences(original: _Run, traced: _Run, mode: str, number: int) -> Iterator[Difference]:
    if not same(original.outputs, traced.outputs):
        yield Difference("outputs", mode, number)
    if not same(original.inputs, traced.inputs):
        yield Difference("inputs", mode, number)
    if original.gradients is not None and traced.gradients is not None:
        names = _unequal(original.gradients, traced.gradients)
        if names:
            yield Difference("gradients", mode, number, _listed(names))
    names = _unequal(original.changed or {}, traced.changed or {})
    if names:
        yield Difference("state", mode, number, _listed(names))


def _unequal(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in dict.fromkeys((*first, *second)) if not _is(first.get(name), second.get(name))]


def _is(first: Any, second: Any) -> bool:
    if holds_proxy(first) or holds_proxy(second):
        return False
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return first.shape == second.shape and torch.allclose(first, second, rtol=1e-4, atol=1e-6, equal_nan=True)
    return type(first) is type(second) and bool(first == second)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _called(module: torch.nn.Module, given: Mapping[str, Any], keywords: frozenset[str]) -> Any:
    """Arguments go by their order, which hooks count on, but for those that only go by name; of a graph none does."""
    named = {name: value for name, value in given.items() if name in keywords}
    return module(*(value for name, value in given.items() if name not in keywords), **named)


def _run(module: torch.nn.Module, arguments: Mapping[str, Any], keywords: frozenset[str], backward: bool) -> _Run:
    """Call the module, ``backward`` too."""
    given = pytree.tree_map(lambda value: _leaf(value, backward), dict(arguments))
    leaves = [leaf for leaf in pytree.tree_flatten(given)[0] if isinstance(leaf, torch.Tensor)]
    before = _state(module)
    _seed(_RUNNING_SEED)
    try:
        # a leaf that needs gradients cannot be changed in place, which forward may mean to do
        called = pytree.tree_map(lambda value: value * 1 if _differentiable(value) else value, given)
        with contextlib.nullcontext() if backward else torch.no_grad():
            outputs = _called(module, called, keywords)
        gradients = _gradients(module, leaves, outputs)
    except Exception as error:
        return _Run(error)
    after = _state(module)
    changed = {name: value for name, value in after.items() if not _is(value, before.get(name))}
    detached = pytree.tree_map(lambda value: value.detach() if isinstance(value, torch.Tensor) else value, called)
    return _Run(None, outputs, detached, gradients, changed)


def _leaf(value: Any, backward: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone().requires_grad_(backward and (value.is_floating_point() or value.is_complex()))


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _gradients(module: torch.nn.Module, leaves: list[torch.Tensor], outputs: Any) -> dict[str, torch.Tensor]:
    """Of a sum of all outputs in which no two numbers count alike."""
    ends = [one for one in pytree.tree_flatten(outputs)[0] if _differentiable(one)]
    named = {f"input {number}": leaf for number, leaf in enumerate(leaves, 1) if leaf.requires_grad}
    named.update((name, one) for name, one in module.named_parameters(remove_duplicate=False) if one.requires_grad)
    if not ends or not named:
        return {}
    total = sum((one.reshape(-1) * torch.linspace(0.5, 1.5, one.numel(), dtype=one.dtype)).sum().abs() for one in ends)
    found = torch.autograd.grad(total, list(named.values()), allow_unused=True)
    return {name: one for name, one in zip(named, found, strict=True) if one is not None}


def _seed(number: int) -> None:
    torch.manual_seed(number)
    random.seed(number)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(number)


def _state(module: torch.nn.Module) -> dict[str, Any]:
    """What a call can change: buffers, plain attributes, and how much collections hold."""
    found: dict[str, Any] = {name: value.detach().clone() for name, value in _buffers(module)}
    for path, inner in module.named_modules():
        for name, value in vars(inner).items():
            if name.startswith("_") or name == "training":
                continue
            dotted = f"{path}.{name}" if path else name
            if isinstance(value, torch.Tensor):
                found[dotted] = value.detach().clone()
            elif isinstance(value, (list, dict, set, collections.deque)):
                found[dotted] = value if holds_proxy(value) else len(value)
            elif value is None or isinstance(value, (bool, int, float, str)) or holds_proxy(value):
                found[dotted] = value
    return found


def _buffers(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    for path, inner in module.named_modules():
        for name, value in inner._buffers.items():
            if isinstance(value, torch.Tensor):  # tracing may have left a Proxy among them
                yield (f"{path}.{name}" if path else name), value


def modes(build: Callable[[], Root], tracing: Tracing, user: UserCode) -> Message:
    """The first difference of the graphs that tracing gives in train and in eval mode, None where there is none."""
    train, evaluation = (_graph_in(mode, build, tracing, user) for mode in MODES)
    for first, second in itertools.zip_longest(train, evaluation, fillvalue="nothing more"):
        if first != second:
            return {"difference": f"`{first}` in train mode, `{second}` in eval mode"}
    return {"difference": None}


def _graph_in(mode: str, build: Callable[[], Root], tracing: Tracing, user: UserCode) -> list[str]:
    """The nodes of the graph, or the failure."""
    root = build()
    if isinstance(root, torch.nn.Module):
        root.train(mode == "train")
    _seed(_TRACING_SEED)
    done = tracing.trace(root, user)
    if done.error is not None:
        return [f"{done.error.type}: {done.error.message}"]
    return [_WITHOUT_USERS.sub("", row).strip() for row in done.graph.splitlines()[1:]]
