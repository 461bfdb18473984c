"""Files that are held in memory: what an editor has not saved, and what comes from standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

_HELD: ContextVar[Mapping[str, bytes]] = ContextVar("held", default=MappingProxyType({}))


@contextmanager
def holding(texts: Mapping[str, bytes]) -> Iterator[None]:
    """Within it, ``content`` of the paths of ``texts`` is theirs, whatever there is on disk."""
    token = _HELD.set(MappingProxyType({_key(path): text for path, text in texts.items()}))
    try:
        yield
    finally:
        _HELD.reset(token)


def held() -> Mapping[str, bytes]:
    """What is held now, for a process that is to hold the same."""
    return _HELD.get()


def hold(texts: Mapping[str, bytes]) -> None:
    """Hold ``texts`` from now on: in a process that works for one that holds them."""
    _HELD.set(MappingProxyType({**texts}))


def is_held(path: str) -> bool:
    return bool(_HELD.get()) and _key(path) in _HELD.get()


def content(path: str) -> bytes:
    """The bytes of a source file: those that are held, else those on disk. Raises OSError; ValueError for no path."""
    texts = _HELD.get()
    if texts and (key := _key(path)) in texts:
        return texts[key]
    return Path(path).read_bytes()


def _key(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100
