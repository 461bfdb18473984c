"""What the confirming half needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fxlint.progress import Progress, unseen
from fxlint.tracing import STOCK, Tracing


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConfirmSettings:
    """How to confirm.

    ``python`` is the interpreter that has the user's torch; None looks for it (see ``interpreter.py``). A key of
    ``instances`` and ``inputs`` is ``package.module:Class`` or ``path/of/file.py::Class``; the values are expressions
    that make an instance, and one expression for the tuple of example inputs. ``timeout`` is in seconds per module, and
    per import of a file. ``memory`` is in bytes beyond what Python and torch take themselves, 0 for no limit. ``jobs``
    is the number of worker processes. ``roots`` are the project's root folders: relative paths in keys start there, and
    modules are importable from there. ``files`` are the linted files as the user spelled them; those of the roots and
    findings count as linted anyway. ``config`` is the file that ``instances`` and ``inputs`` stand in.
    ``log`` takes a line on what is going on, ``progress`` the number of roots that are done and that of all.
    ``tracing`` is how the project traces.
    """

    python: str | None = None
    instances: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    inputs: Mapping[str, str] = field(default_factory=_nothing)
    timeout: float = 60.0
    memory: int = 8 << 30
    jobs: int = 2
    roots: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    config: str = ""
    log: Callable[[str], None] = lambda _: None
    progress: Progress = unseen
    tracing: Tracing = STOCK
