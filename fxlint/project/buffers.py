"""What files hold: on disk or in memory, where an editor has not saved them or they come from standard input."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType

_HELD: ContextVar[Mapping[str, bytes]] = ContextVar("held", default=MappingProxyType({}))
_NOTED: ContextVar[dict[str, str | None] | None] = ContextVar("noted", default=None)


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
    noted = _NOTED.get()
    if noted is None:
        return _content(path)
    key = _key(path)
    noted[key] = None
    found = _content(path)
    noted[key] = digest(found)
    return found


@contextmanager
def noting() -> Iterator[dict[str, str | None]]:
    """Within it, the digest of all that ``content`` gives is noted by absolute path; None for what it cannot read.

    Of two such contexts the inner one notes.
    """
    noted: dict[str, str | None] = {}
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def digest(data: bytes) -> str:
    """Equal for equal bytes only."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _content(path: str) -> bytes:
    texts = _HELD.get()
    if texts and (key := _key(path)) in texts:
        return texts[key]
    return Path(path).read_bytes()


def _key(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100
