"""Changing files of the user: edits keep encoding and line ends, and a file is replaced as a whole or not at all."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from fxlint.findings import Edit, Finding, Location, Suggestion
from fxlint.project.buffers import content
from fxlint.project.notebook import is_notebook, of_cell

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


class RefusedEdit(Exception):  # noqa: N818 - it says what the edit is
    """Edits that cannot be made: they overlap, the file is another one by now, or it would not parse afterwards."""


def applied(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a source file after ``edits``. Raises RefusedEdit."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, ValueError, LookupError) as error:
        raise RefusedEdit(f"could not decode: {error}") from None
    rows = _LINE.findall(text)
    newline = next((row[len(row.rstrip("\r\n")) :] for row in rows if row.endswith(("\r", "\n"))), "\n")
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    end = len(text)
    for edit in sorted(edits, key=lambda edit: edit.location, reverse=True):
        start, stop = _offsets(edit.location, starts)
        if stop > end:
            raise RefusedEdit("the edits overlap")
        text = text[:start] + edit.text.replace("\n", newline) + text[stop:]
        end = start
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.replace("\r\n", "\n"))
        return text.encode(encoding)
    except (SyntaxError, ValueError) as error:
        raise RefusedEdit(f"the result would not be Python: {error}") from None


def fixes(findings: Iterable[Finding], *, unsafe: bool) -> list[Suggestion]:
    """The first suggestion of each finding that can be applied by itself: safe ones, or all that were seen to trace.

    None of them shares a line with another; those that would have their turn when the file is linted again.
    """
    chosen: list[Suggestion] = []
    taken: set[tuple[str, int]] = set()
    for finding in findings:
        suggestion = next((one for one in finding.suggestions if can_be_applied(one, unsafe=unsafe)), None)
        if suggestion is not None:
            places = [edit.location for edit in suggestion.edits]
            lines = {(place.path, line) for place in places for line in range(place.line, place.end_line + 1)}
            if not lines & taken:
                chosen.append(suggestion)
                taken |= lines
    return chosen


def can_be_applied(suggestion: Suggestion, *, unsafe: bool) -> bool:
    """Whether --fix takes it: an edit and nothing else, that is safe or was at least seen to trace.

    Notebooks are left alone.
    """
    traced = suggestion.checked is not None and suggestion.checked.verdict == "traces"
    files = all(not is_notebook(of_cell(edit.location.path)[0]) for edit in suggestion.edits)
    alone = files and bool(suggestion.edits) and suggestion.concrete_args is None and suggestion.tracer is None
    return alone and (suggestion.safe or (unsafe and traced))


def changed(edits: Iterable[Edit]) -> dict[str, bytes]:
    """What the files that ``edits`` name hold afterwards. Raises RefusedEdit that names the file, and OSError."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.location.path, []).append(edit)
    found: dict[str, bytes] = {}
    for path, of_file in by_path.items():
        try:
            found[path] = applied(content(path), of_file)
        except RefusedEdit as error:
            raise RefusedEdit(f"{path}: {error}") from None
    return found


def _offsets(place: Location, starts: Sequence[int]) -> tuple[int, int]:
    if not 1 <= place.line <= place.end_line <= len(starts):
        raise RefusedEdit("the file is not the one that was linted")
    return starts[place.line - 1] + place.column - 1, starts[place.end_line - 1] + place.end_column - 1


def _keep_owner(target: str, beside: str) -> None:
    """Who runs as root, as in a container, must not take the files of others."""
    if sys.platform != "win32":
        of_target = os.stat(target)  # noqa: PTH116
        with contextlib.suppress(OSError):
            os.chown(beside, of_target.st_uid, of_target.st_gid)


def replace_file(path: str, data: bytes) -> None:
    """Write a file as a whole: who reads it meanwhile, or after a crash, has the old bytes or the new ones.

    A symbolic link stays one, and the permissions and, for root, the owner stay. What is no regular file, such as a
    device or a pipe, is written to and stays what it is. Raises OSError, and then the old file is untouched.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113
        Path(path).write_bytes(data)
        return
    target = os.path.realpath(path)
    try:
        descriptor, beside = tempfile.mkstemp(prefix=".fxlint-", dir=os.path.dirname(target))  # noqa: PTH120
    except OSError as error:  # it names a file that nobody knows
        raise OSError(error.errno, error.strerror, path) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if os.path.exists(target):  # noqa: PTH110
            _keep_owner(target, beside)
            shutil.copymode(target, beside)
        else:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(beside, 0o666 & ~umask)  # noqa: PTH101
        os.replace(beside, target)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise
