"""Results of earlier runs, so that a run does again only what an edit touches.

An entry holds a result together with all that it is a function of, and is used only where all of that is the same:

* *given*: settings, rules, the interpreter, and how files are spelled, as a digest; fxlint's own sources and the Python
  that runs it are in the name of the folder;
* *reads* (``fxlint/project/reads.py``): the content of every file that was looked at, also of those that could not be
  read, and for every module name that was asked for where it was found, or that it was not. So a file that is edited,
  removed, added, or put in front of another one on the search path is noticed by all that depend on it, and by nothing
  else.

That is enough because each stage is a pure function of these. What is found in a file does not depend on the files
before it (``fxlint/project/through.py``): there is one entry for each file with the prediction of its roots and the
code around graphs in it. Suggestions for the findings in a file are a function of those findings and of the files that
they are looked up in. What the tracer says of a file is a function of what was predicted in it, of the interpreter with
its packages, and of the files that importing and tracing it has loaded (``fxlint/confirm/kept.py``). The report of a
whole run is one more entry, which depends on all that the others do: while nothing changes it is the only one that is
read. What only orders or shows results (the number of processes, the format) is in none of them.

Contents are compared by digests of what was read, taken when it was read. A digest is known without reading where size,
times and inode of the file are those of when it was last taken; a file that has changed in the last moments, when two
edits can have the same time, is read again.

Entries are JSON with a checksum, written beside and renamed: runs may share a folder, and what is truncated, made up,
or cannot be read or written is as good as not there.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from fxlint import __version__
from fxlint.codec import encoded, reader
from fxlint.project.buffers import content, digest, held, is_held
from fxlint.project.reads import TORN, Reads
from fxlint.rules import shipped_files

FOLDER: Final = ".fxlint_cache"
"""The name of the default folder, at the root of a project."""

MAX_VERSIONS: Final = 4
"""Versions of fxlint whose entries are kept: one project may be linted from several environments."""
MAX_REPORTS: Final = 64
"""Sets of files whose reports are kept, and whose surveys are: hooks lint other files each time."""
ABANDONED_NS: Final = 3_600_000_000_000
"""Nanoseconds after which a file that is still being written was left by a run that was killed."""
SETTLED_NS: Final = 2_000_000_000
"""Nanoseconds after which another edit of a file cannot have the time of the last one, on any file system."""

_VERSION_PREFIX: Final = "v-"
_VERSION: Final = re.compile(rf"{_VERSION_PREFIX}[0-9a-f]{{16}}")
"""Nothing else that is in the folder is ours, also where one says for it a folder with versions of something else."""
_TAG: Final = "CACHEDIR.TAG"
_SIGNATURE: Final = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of fxlint, which makes them again.\n"
_IGNORE: Final = "*\n"
_ENTRY: Final = ".json"
_CONTENTS: Final = "contents"
_REPORT: Final = "report"
_OF_SETS: Final = (_REPORT, "survey")
"""The kinds of entries that are about sets of files, of which there is no end."""

_Result = TypeVar("_Result")
_counter = itertools.count()


class Cache:
    """The entries in a folder, for one run. With no folder, nothing is known and nothing kept.

    ``common`` is given for every entry, and ``answers`` tells whether module names mean what they meant. ``reads`` are
    those of all results that were recalled or kept, and ``is_partial`` tells that there are others in this run, which
    may be otherwise the next time. ``trouble`` says why nothing could be written.
    """

    def __init__(self, folder: str | None, common: str = "", answers: Callable[[Reads], bool] = lambda _: True) -> None:
        usable = folder is not None and not os.path.islink(folder)  # it would lead out of the project
        self._top = folder if usable else None
        self._folder = None if self._top is None else os.path.join(self._top, _VERSION_PREFIX + _version())
        self._common = common
        self._answers = answers
        self._stamps: dict[str, list[Any]] = self._read(_CONTENTS) or {}
        self._digests: dict[str, str | None] = {}
        self._stale_stamps = False
        self._has_written = False
        self._started = time.time_ns()
        self.reads = Reads()
        self.is_partial = False
        self.trouble: str | None = None

    def recall(self, kind: str, key: object, given: object, result: type[_Result]) -> _Result | None:
        """The result about ``key`` where everything is as it was when it was kept, else None."""
        entry = self._read(_name(kind, key))
        try:
            if entry is None or entry[0] != self._given(given):
                return None
            reads = _reads(entry[1])
            if not (self._answers(reads) and all(self._digest(path) == seen for path, seen in reads.files.items())):
                return None
            found: _Result = _reader(result)(entry[2])
        except (TypeError, ValueError, LookupError, AttributeError, RecursionError):  # it was not written by us
            return None
        self.reads.add([reads])
        return found

    def keep(self, kind: str, key: object, given: object, reads: Reads, result: object) -> None:
        """Have a result for later runs. What is held in memory, or changed while it was read, is not kept."""
        self.reads.add([reads])
        if self._folder is not None and not held() and TORN not in reads.files.values():
            self._write(_name(kind, key), [self._given(given), encoded(reads), encoded(result)])

    def recall_report(self, key: object, given: object, result: type[_Result]) -> _Result | None:
        """The report of a whole run."""
        return self.recall(_REPORT, key, given, result)

    def keep_report(self, key: object, given: object, report: object) -> None:
        """Keep the report of a run, which depends on all that was recalled and kept in it.

        Who calls what follows from the contents of the linted files, which are among them.
        """
        if not self.is_partial:
            self.keep(_REPORT, key, given, replace(self.reads, callers={}), report)

    def seen(self, paths: Iterable[str]) -> Reads:
        """That another process has read these files in this run: as they are now, if nobody has written to them since.

        A path that ends with a separator is that of a folder, and stands for the names in it.
        """
        return Reads({path: TORN if self._is_new(path) else self._digest(path) for path in paths})

    def _is_new(self, path: str) -> bool:
        try:
            return _stamp(path)[1] > self._started
        except (OSError, ValueError):
            return False

    def close(self) -> None:
        """Remember the stamps of what was read, and let go of what has become too much."""
        if self._folder is None or held():
            return
        for path in self.reads.files:
            self._digest(path)
        if self._stale_stamps:
            self._write(_CONTENTS, self._stamps)
        if self._has_written:
            with contextlib.suppress(OSError):
                for kind in _OF_SETS:
                    _remove_oldest(self._folder, f"{kind}-", MAX_REPORTS)
                _remove_abandoned(self._folder)

    def _given(self, given: object) -> str:
        return digest_of(self._common, given)

    def _digest(self, path: str) -> str | None:
        """The digest of the content that the file has in this run."""
        if path not in self._digests:
            try:
                self._digests[path] = digest(content(path)) if is_held(path) else self._digest_on_disk(path)
            except (OSError, ValueError):
                self._digests[path] = None
        return self._digests[path]

    def _digest_on_disk(self, path: str) -> str:
        stamp = _stamp(path)
        known = self._stamps.get(path)
        if known is not None and known[:-1] == stamp:
            return str(known[-1])
        found = digest(_listing(path) if path.endswith(os.sep) else content(path))
        if _stamp(path) == stamp and time.time_ns() - max(stamp[1:3]) > SETTLED_NS:
            self._stamps[path] = [*stamp, found]
            self._stale_stamps = True
        return found

    def _read(self, name: str) -> Any:
        """What a file of the folder holds; None where it is not there, or not whole."""
        if self._folder is None:
            return None
        try:
            with open(f"{self._folder}/{name}{_ENTRY}", "rb") as stream:
                checksum, payload = stream.read().split(b"\n", 1)
            return json.loads(payload) if digest(payload).encode() == checksum else None
        except (OSError, ValueError, RecursionError):
            return None

    def _write(self, name: str, data: object) -> None:
        """Write a file of the folder as a whole. Once that fails, no more is tried."""
        if self.trouble is not None or self._top is None or self._folder is None:
            return
        payload = json.dumps(data, separators=(",", ":")).encode()
        path = f"{self._folder}/{name}{_ENTRY}"
        beside = f"{path}.{os.getpid()}-{next(_counter)}"
        try:
            if not os.path.isdir(self._folder):
                _make(self._top, self._folder)
            with open(beside, "xb") as stream:
                stream.write(digest(payload).encode() + b"\n" + payload)
            os.replace(beside, path)
            self._has_written = True
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            self.trouble = f"nothing is kept for the next run: '{self._top}' cannot be written: {error.strerror}"


def clean(folder: str) -> bool:
    """Remove what fxlint has put into a folder, and the folder where nothing else is in it; whether there was anything.

    Raises OSError.
    """
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    found = False
    for version in _versions(folder):
        shutil.rmtree(version)
        found = True
    for name, text in ((_TAG, _SIGNATURE), (".gitignore", _IGNORE)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and _text(path) == text:
            os.unlink(path)
    if not os.listdir(folder):
        os.rmdir(folder)
    return found


def digest_of(*values: object) -> str:
    """A digest of settings, findings and the like, by their content."""
    return digest(json.dumps(encoded(values), sort_keys=True, default=str).encode())


def _name(kind: str, key: object) -> str:
    return f"{kind}-{digest_of(key)}"


def _reads(data: Any) -> Reads:
    found: Reads = _reader(Reads)(data)
    return found


def _reader(kind: Any) -> Callable[[Any], Any]:
    return reader(kind) or (lambda value: value)


def _listing(folder: str) -> bytes:
    """The names in a folder, but those of caches."""
    names = (name for name in os.listdir(folder) if name != "__pycache__" and not name.startswith("."))
    return os.fsencode("\n".join(sorted(names)))


def _stamp(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def _version() -> str:
    """What fxlint is: its own files and rules, and the Python that runs it, whose grammar decides what is parsed."""
    folder = os.path.dirname(os.path.abspath(__file__))
    rules = [(str(path), *_stamp(str(path))[:2]) for path in shipped_files()]
    return digest_of(__version__, sys.version, sys.flags.optimize, sorted(_files(folder)), rules)[:16]


def _files(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path) if entry.name != "__pycache__" else ()
            else:
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns


def _make(top: str, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    names = {name for name in os.listdir(top) if not _VERSION.fullmatch(name)}
    if not names:  # else it is somebody's who has other things in it
        for name, text in ((_TAG, _SIGNATURE), (".gitignore", _IGNORE)):
            with open(os.path.join(top, name), "w", encoding="ascii") as stream:
                stream.write(text)
    for old in _versions(top)[:-MAX_VERSIONS]:
        shutil.rmtree(old, ignore_errors=True)


def _versions(top: str) -> list[str]:
    """The folders of all versions, the one used last at the end."""
    with os.scandir(top) as entries:
        found = [entry for entry in entries if _VERSION.fullmatch(entry.name) and _is_folder(entry)]
        return [entry.path for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _remove_oldest(folder: str, prefix: str, most: int) -> None:
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if entry.name.startswith(prefix)]
    for entry in sorted(found, key=lambda entry: entry.stat().st_mtime_ns)[:-most]:
        os.unlink(entry.path)


def _remove_abandoned(folder: str) -> None:
    """Remove what runs that were killed have written beside the entries."""
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if f"{_ENTRY}." in entry.name]
    for entry in found:
        if time.time_ns() - entry.stat().st_mtime_ns > ABANDONED_NS:
            os.unlink(entry.path)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()
