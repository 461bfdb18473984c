"""Changing what is linted: suggestions applied round by round, and comments that suppress; then shown, or written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import Final, TypeAlias

from fxlint.findings import Edit, Finding, Problem, Report, Suggestion
from fxlint.project.buffers import content, holding
from fxlint.project.notebook import cells_of, is_notebook, of_cell
from fxlint.project.source import decode
from fxlint.report.summary import standing
from fxlint.rewrite import RefusedEdit, changed, fixes, replace_file, why_not_replaced
from fxlint.suppression import UNUSED, with_noqa

Lint = Callable[[Mapping[str, bytes]], Report]
"""Lints, with these files held in memory."""
Stamp: TypeAlias = tuple[int, int, int]
"""Inode, size in bytes and time of change in nanoseconds: tells a file from a later one of its name."""

MAX_ROUNDS: Final = 10
"""How often suggestions are applied and the files linted again; two that undo each other would never end."""
_SAVED: Final = "was changed while it was linted; it is left as it is"


@dataclass(slots=True)
class Changes:
    """What is to become of files, of which nothing is written yet.

    ``before`` and ``after`` are the bytes of those that change, ``problems`` says why others are left alone. ``report``
    is on what is left then, and ``applied`` are the suggestions that were taken, with the findings that they are for.
    """

    report: Report
    applied: list[tuple[Finding, Suggestion]] = field(default_factory=list)
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)

    @property
    def outcome(self) -> Report:
        """The report, with what could not be changed among its problems."""
        return replace(self.report, problems=(*self.report.problems, *self.problems.values()))

    def make(self, edits: Iterable[Edit]) -> None:
        """Make edits to the files. Raises RefusedEdit, and then nothing is changed."""
        found = changed(edits)
        for path in found:
            self.before.setdefault(path, content(path))
        self.after.update(found)

    def leaves_alone(self, path: str) -> bool:
        """Whether a file is not to be changed; the first time that is asked it is found out."""
        if path not in self.problems and path not in self.after:
            why = why_not_replaced(path)
            if why is not None:
                self.problems[path] = Problem(path, f"{why}; it is left as it is")
        return path in self.problems


def fixed(lint: Lint, texts: Mapping[str, bytes], *, can_fix: Callable[[Finding], bool], unsafe: bool) -> Changes:
    """Apply suggestions to the findings of ``can_fix`` and lint again, in memory, until nothing is left to apply.

    ``texts`` are held in memory anyway.
    """
    changes = Changes(lint(texts))
    for _ in range(MAX_ROUNDS):
        with holding({**texts, **changes.after}):
            taken = _take(changes, fixes(filter(can_fix, changes.report.findings), unsafe=unsafe))
        if not taken:
            break
        changes.applied += taken
        changes.report = lint({**texts, **changes.after})
    return changes


def _take(changes: Changes, pairs: list[tuple[Finding, Suggestion]]) -> list[tuple[Finding, Suggestion]]:
    """Apply what can be; a file in which something cannot is left alone from then on."""
    while True:
        usable = [pair for pair in pairs if not any(map(changes.leaves_alone, _files(pair[1].edits)))]
        try:
            changes.make(edit for _, suggestion in usable for edit in suggestion.edits)
        except RefusedEdit as error:
            changes.problems[error.path] = Problem(error.path, f"is left as it is: {error.reason}")
        else:
            return usable


def suppressed(report: Report, reason: str = "") -> Changes:
    """Have comments suppress what the report holds."""
    changes = Changes(report)
    by_file: dict[str, list[Finding]] = {}
    for finding in standing(report):
        by_file.setdefault(of_cell(finding.location.path)[0], []).append(finding)
    for path, findings in by_file.items():
        if changes.leaves_alone(path):
            continue
        try:
            changes.make(with_noqa(findings, reason))
        except RefusedEdit as error:
            changes.problems[path] = Problem(path, f"is left as it is: {error.reason}")
        else:
            done = Suggestion("rewrite", "suppress it")
            changes.applied += [(finding, done) for finding in findings if finding.event != UNUSED]
    return changes


def diff(changes: Changes) -> Iterator[str]:
    """The lines of a unified diff; of notebooks one for each cell."""
    for path, data in changes.after.items():
        for name, old, new in _texts(path, changes.before[path], data):
            yield from unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), name, name)


def _texts(path: str, before: bytes, after: bytes) -> Iterator[tuple[str, str, str]]:
    if not is_notebook(path):
        yield path, decode(before), decode(after)
        return
    cells = zip(cells_of(before), cells_of(after), strict=True)
    for number, (old, new) in enumerate(cells, 1):
        yield f"{path}:cell {number}", f"{old}\n", f"{new}\n"


def stamps(paths: Iterable[str]) -> dict[str, Stamp]:
    """Of the files that are there."""
    return {path: stamp for path in paths if (stamp := _stamp(path)) is not None}


def write(changes: Changes, linted: Mapping[str, Stamp]) -> bool:
    """Write the files, each as a whole; those that cannot be become problems. Whether all could.

    Edits to a file that was saved since it was read, and had one of the stamps of ``linted``, would hit other lines.
    """
    for path, data in list(changes.after.items()):
        try:
            if path in linted and _stamp(path) != linted[path]:
                changes.problems[path] = Problem(path, _SAVED)
            else:
                replace_file(path, data)
        except OSError as error:
            changes.problems[path] = Problem(path, f"cannot be written: {error.strerror}")
    left = changes.problems.keys() & changes.after.keys()
    for path in left:
        del changes.after[path]
    changes.applied = [pair for pair in changes.applied if not left & _files([*pair[1].edits, pair[0]])]
    return not left


def _files(places: Iterable[Edit | Finding]) -> set[str]:
    return {of_cell(place.location.path)[0] for place in places}


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
