"""Changing files of the user: edits keep encoding and line ends, and a file is replaced as a whole or not at all."""

from __future__ import annotations

import ast
import contextlib
import errno
import io
import os
import re
import shutil
import sys
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from fxlint.findings import Edit, Finding, Location, Suggestion
from fxlint.project.buffers import content, is_held
from fxlint.project.notebook import is_notebook, of_cell, read_notebook, with_cells

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


class RefusedEdit(Exception):  # noqa: N818 - it says what the edit is
    """Edits that cannot be made: they overlap, the file is another one by now, or it would not parse afterwards."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason = reason
        self.path = path


def applied(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a source file after ``edits``. Raises RefusedEdit."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, ValueError, LookupError) as error:
        raise RefusedEdit(f"could not decode: {error}") from None
    text = _edited(text, edits)
    _check(text)
    try:
        return text.encode(encoding)
    except ValueError as error:
        raise RefusedEdit(f"could not encode: {error}") from None


def applied_to_cells(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """The bytes of a notebook after ``edits`` in its cells. Raises RefusedEdit."""
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        by_cell.setdefault(of_cell(edit.location.path)[1] or 0, []).append(edit)
    try:
        after = with_cells(raw, {number: partial(_edited, edits=of_cell) for number, of_cell in by_cell.items()})
        _check(read_notebook(after).text)
    except ValueError as error:
        raise RefusedEdit(str(error)) from None
    return after


def _edited(text: str, edits: Iterable[Edit]) -> str:
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
    return text


def _check(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.replace("\r\n", "\n"))
    except (SyntaxError, ValueError) as error:
        raise RefusedEdit(f"the result would not be Python: {error}") from None


def fixes(findings: Iterable[Finding], *, unsafe: bool) -> list[tuple[Finding, Suggestion]]:
    """What is applied to each finding (see ``fix_of``), as far as none of it shares a line with another.

    What does would have its turn when the file is linted again.
    """
    chosen: list[tuple[Finding, Suggestion]] = []
    taken: set[tuple[str, int]] = set()
    for finding in findings:
        suggestion = fix_of(finding, unsafe=unsafe)
        if suggestion is not None:
            places = [edit.location for edit in suggestion.edits]
            lines = {(place.path, line) for place in places for line in range(place.line, place.end_line + 1)}
            if not lines & taken:
                chosen.append((finding, suggestion))
                taken |= lines
    return chosen


def fix_of(finding: Finding, *, unsafe: bool) -> Suggestion | None:
    """The suggestion that --fix takes: the first one that is an edit and nothing else, and safe.

    Where there is none, and ``unsafe`` ones may be taken, the first one that was seen to trace, and not to compute
    something else.
    """
    edits = _edits(finding)
    safe = (one for one in edits if one.safe)
    traced = (one for one in edits if unsafe and one.checked is not None and one.checked.helps)
    return next(chain(safe, traced), None)


def is_untried(finding: Finding) -> bool:
    """Whether there are edits that might be taken, and nobody has seen what the tracer makes of any."""
    edits = _edits(finding)
    return bool(edits) and all(one.checked is None and not one.safe for one in edits)


def _edits(finding: Finding) -> list[Suggestion]:
    return [one for one in finding.suggestions if one.edits and one.concrete_args is None and one.tracer is None]


def changed(edits: Iterable[Edit]) -> dict[str, bytes]:
    """What the files that ``edits`` name hold afterwards. Raises RefusedEdit that names the file."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(of_cell(edit.location.path)[0], []).append(edit)
    found: dict[str, bytes] = {}
    for path, of_file in by_path.items():
        apply = applied_to_cells if is_notebook(path) else applied
        try:
            found[path] = apply(content(path), of_file)
        except RefusedEdit as error:
            raise RefusedEdit(error.reason, path) from None
        except OSError as error:
            raise RefusedEdit(f"cannot be read: {error.strerror}", path) from None
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


def why_not_replaced(path: str) -> str | None:
    """What speaks against replacing a file; None where there is nothing, or no such file yet."""
    if is_held(path) or not os.path.isfile(path):  # noqa: PTH113
        return None
    found = os.stat(path)  # noqa: PTH116
    if not (found.st_mode & 0o222 and os.access(path, os.W_OK)):  # who runs as root may write what nobody is to write
        return "is read-only"
    if found.st_nlink > 1:  # the other names would keep the old bytes, or belong to another project
        return f"has {found.st_nlink - 1} more names (hard links)"
    return None


def replace_file(path: str, data: bytes) -> None:
    """Write a file as a whole: who reads it meanwhile, or after a crash, has the old bytes or the new ones.

    A symbolic link stays one, and the permissions and, for root, the owner stay. What is no regular file, such as a
    device or a pipe, is written to and stays what it is. Raises OSError, and then the old file is untouched: also
    where it is read-only or has other names.
    """
    why = why_not_replaced(path)
    if why is not None:
        raise PermissionError(errno.EACCES, f"it {why}", path)
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
