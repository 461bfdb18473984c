"""Run one call under the stock tracer and say what became of it.

An outcome is a plain tuple, so that it can cross a pipe and be compared:

    (result, event, exception, message, value, constant)

``result`` is ``node`` (the call returned a Proxy), ``value`` (it ran for real) or ``fails``. ``value`` is the kind of
an ordinary result (with a star when it holds a proxy), ``constant`` the result itself where it is a bool. The event is
derived from the exception, its message and the signature of the callable; nothing here knows a callable by heart.
"""

from __future__ import annotations

import collections.abc
import inspect
import itertools
import re
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch.fx.proxy import TraceError

Outcome = tuple[str, str | None, str | None, str | None, str | None, object]

PLACEHOLDERS = 8
MESSAGE_LENGTH = 110


@dataclass(frozen=True)
class Traced:
    """Stands for the n-th placeholder in an argument template."""

    n: int


@dataclass(frozen=True)
class Size:
    """Stands for ``placeholder.shape[0]`` in an argument template."""

    n: int


@dataclass(frozen=True)
class Fresh:
    """Stands for a real value made anew for each call, since calls may change their arguments in place."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Job:
    """One call: the callable (looked up when the tracer has patched what it patches), templates of its arguments."""

    target: Callable[[], Any]
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


def fill(template: Any, proxies: Sequence[Any]) -> Any:
    """Build the arguments: markers become proxies, ``Fresh`` becomes a value, containers are copied."""
    if isinstance(template, Traced):
        return proxies[template.n]
    if isinstance(template, Size):
        return proxies[template.n].shape[0]
    if isinstance(template, Fresh):
        return template.make()
    if type(template) in (list, tuple, set):
        return type(template)(fill(item, proxies) for item in template)
    if type(template) is dict:
        return {key: fill(item, proxies) for key, item in template.items()}
    if type(template) is slice:
        return slice(*(fill(item, proxies) for item in (template.start, template.stop, template.step)))
    return template


def run(jobs: Sequence[Job], context: Sequence[Context], autowrap: bool = True) -> list[Outcome]:
    """Make all calls inside one symbolic trace; ``context`` says for each what the classification needs."""
    outcomes: list[Outcome] = []

    def forward(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> None:
        proxies = (a, b, c, d, e, f, g, h)
        for job, about in zip(jobs, context, strict=True):
            outcomes.append(_call(job, about, proxies))

    tracer = torch.fx.Tracer() if autowrap else torch.fx.Tracer(autowrap_modules=())  # type: ignore[arg-type]
    tracer.trace(forward)
    return outcomes


@dataclass(frozen=True)
class Context:
    """What the classification of a failure may look at.

    ``role`` is the part that the traced argument plays: ``sizes``, ``data``, ``callable`` or ``other``.
    """

    name: str
    constant_self: bool = False
    factory: bool = False
    role: str = "other"
    library: str = "torch"


def _call(job: Job, about: Context, proxies: Sequence[Any]) -> Outcome:
    try:
        args = fill(job.args, proxies)
        kwargs = {key: fill(value, proxies) for key, value in job.kwargs}
        result = job.target()(*args, **kwargs)
    except Exception as error:
        return failure(error, about)
    except BaseException as error:  # SystemExit and what C code raises: a failure like any other here
        return failure(error, about)
    return success(result, about)


def success(result: Any, about: Context) -> Outcome:
    if isinstance(result, torch.fx.Proxy):
        return ("node", None, None, None, None, None)
    value = kind(result)
    if value in ("tuple", "list", "dict", "set", "slice") and _holds(result):
        value += "*"
    if value == "iterator":
        late = _use(lambda: list(itertools.islice(result, 3)), about)
        if late is not None:
            return ("value", late[1], late[2], late[3], value, None)
    if value == "context":
        late = _use(lambda: _enter(result), about)
        if late is not None:
            return ("value", late[1], late[2], late[3], value, None)
    constant = result if isinstance(result, bool) else None
    return ("value", None, None, None, value, constant)


def _holds(container: Any, depth: int = 3) -> bool:
    """Whether a proxy is inside an ordinary container."""
    if isinstance(container, torch.fx.Proxy):
        return True
    if depth == 0:
        return False
    if isinstance(container, dict):
        return any(_holds(item, depth - 1) for pair in container.items() for item in pair)
    if isinstance(container, (tuple, list, set, frozenset)):
        return any(_holds(item, depth - 1) for item in container)
    if isinstance(container, slice):
        return any(_holds(item, depth - 1) for item in (container.start, container.stop, container.step))
    return False


def _use(consume: Callable[[], Any], about: Context) -> Outcome | None:
    """What happens when a lazy result is used: None, or the failure."""
    try:
        consume()
    except StopIteration:
        return None
    except Exception as error:
        return failure(error, about)
    return None


def _enter(manager: Any) -> None:
    with manager:
        pass


def kind(result: Any) -> str:
    """The kind of an ordinary value, in the words of the table."""
    if result is None:
        return "none"
    for cls, word in _EXACT:
        if isinstance(result, cls):
            return word
    if isinstance(result, type):
        return "class"
    if isinstance(result, types.ModuleType):
        return "module"
    if isinstance(result, collections.abc.Iterator):
        return "iterator"
    if hasattr(type(result), "__enter__") and hasattr(type(result), "__exit__"):
        return "context"
    if inspect.isroutine(result) or type(result).__name__ in ("partial", "ScriptFunction", "_lru_cache_wrapper"):
        return "function"
    if type(result).__module__.partition(".")[0] == "numpy":
        return "numpy"
    return "other"


_EXACT: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (complex, "complex"),
    (str, "str"),
    (bytes, "bytes"),
    (torch.Tensor, "tensor"),
    (torch.Size, "size"),
    (torch.dtype, "dtype"),
    (torch.device, "device"),
    (tuple, "tuple"),
    (list, "list"),
    (dict, "dict"),
    (set, "set"),
    (frozenset, "set"),
    (slice, "slice"),
    (range, "range"),
    (torch.nn.Module, "nn_module"),
)

_BY_MESSAGE: tuple[tuple[str, str], ...] = (
    (r"int\(\) argument must be|__int__|__trunc__", "int.call"),
    (r"float\(\) argument must be|__float__", "float.call"),
    (r"complex\(\)|must be a complex number|__complex__", "complex.call"),
    (r"__round__", "round.call"),
    (r"must be real number|must be a number|__ceil__|__floor__", "float.math"),
    (r"__format__", "format.spec"),
    (r"does not support item assignment", "setitem.assign"),
    (r"(does not|doesn't) support item deletion", "setitem.delete"),
    (r"attribute name must be string", "key.lookup"),
    (r"interpreted as an integer|__index__|indices must be integers|integer is required", "index.call"),
)


def failure(error: BaseException, about: Context) -> Outcome:
    lines = str(error).strip().splitlines()
    message = (lines[0] if lines else "")[:MESSAGE_LENGTH]
    message = re.sub(r"Proxy\([^)]*\)?", "Proxy(...)", re.sub(r"0x[0-9a-f]+", "0x...", message))
    short = about.name.rpartition(".")[2].partition("@")[0]
    if len(short) > 2:
        message = message.replace(short, "{f}")
    return ("fails", event(error, about), type(error).__name__, message, None, None)


def event(error: BaseException, about: Context) -> str:
    """Name what the tracer met, from the exception and the part that the traced argument plays."""
    text = str(error)
    library = about.library
    if library == "numpy":
        return "call.numpy"
    if isinstance(error, TraceError):
        # the message about iteration speaks of control flow too
        if "cannot be iterated" in text or "cannot be used as inputs" not in text:
            return "iter.call"
        return "bool.minmax" if _is_comparison(about.name) else "bool.call"
    if about.constant_self:
        return "tensor.constant"
    if library == "torch" and about.factory and about.role in ("sizes", "data"):
        return f"tensor.{about.role}"
    if isinstance(error, RuntimeError) and text.startswith("'len' is not supported"):
        return "len.call"
    if isinstance(error, TypeError) and re.search(r"descriptor .*(doesn't apply to|requires)", text):
        return "call.unbound_method"
    if library == "torch":
        if about.role == "callable":
            return "call.higher_order"
        return "call.torch"
    if isinstance(error, KeyError):
        return "key.lookup"
    for pattern, word in _BY_MESSAGE:
        if isinstance(error, TypeError) and re.search(pattern, text):
            return "index.range" if about.name == "builtins.range" else word
    return "call.foreign"


def _is_comparison(name: str) -> bool:
    """A builtin function (not a type) that asks for a truth value compares or tests its arguments."""
    module, _, attribute = name.rpartition(".")
    return module == "builtins" and inspect.isbuiltin(getattr(__import__("builtins"), attribute, None))
