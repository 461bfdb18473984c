"""Temporary folders: one for a run, in it one for each worker."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

PREFIX: Final = "fxlint-run-"
LOCK: Final = "running"
"""A file that a run keeps locked, which ends with its process however that ends."""
MAX_BYTES: Final = 1 << 30
MAX_FILES: Final = 10_000


class Scratch:
    """The folder of a run. Those of runs that were killed are removed by the way."""

    def __init__(self) -> None:
        if sys.platform != "win32":
            _remove_abandoned(Path(tempfile.gettempdir()))
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self._lock = _locked(Path(self._folder.name)) if sys.platform != "win32" else None

    def subfolder(self) -> str:
        return tempfile.mkdtemp(dir=self._folder.name)

    def remove(self) -> None:
        """Remove all of it. May be called again."""
        self._folder.cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def is_overfull(folder: str) -> bool:
    """Whether more is in a folder than the code under lint may write."""
    files = size = 0
    for path, _, names in os.walk(folder):
        for name in names:
            files += 1
            with contextlib.suppress(OSError):
                size += Path(path, name).lstat().st_size
            if files > MAX_FILES or size > MAX_BYTES:
                return True
    return False


if sys.platform != "win32":
    import fcntl

    def _locked(folder: Path) -> int:
        """A descriptor of the lock of a new folder, which is locked before it can be seen."""
        lock = os.open(folder / "new", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new").rename(folder / LOCK)
        return lock

    def _remove_abandoned(top: Path) -> None:
        for path in top.glob(f"{PREFIX}*/{LOCK}"):
            with contextlib.suppress(OSError):
                if path.parent.lstat().st_uid != os.getuid() or path.parent.is_symlink():
                    continue
                lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path.parent, ignore_errors=True)
                finally:
                    os.close(lock)
