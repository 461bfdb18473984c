"""Edits as people read them: which lines go, and which stand there instead."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from fxlint.findings import Edit
from fxlint.report.sources import Sources

MAX_ROW: Final = 300
"""Characters of a line that is shown whole for an edit in it."""
Change = tuple[str, str, list[str]]
"""The path, what is done there, and the lines of code for it."""


def changes(edits: Sequence[Edit], sources: Sources) -> Iterator[Change]:
    """What edits do, whole lines at a time; edits that share a line are one change."""
    group: list[Edit] = []
    for edit in edits:
        if group and not _share_a_line(group[-1], edit):
            yield _change(group, sources)
            group = []
        group.append(edit)
    if group:
        yield _change(group, sources)


def _share_a_line(first: Edit, second: Edit) -> bool:
    """Whether the second edit starts on the line on which the first one ends."""
    end, start = first.location, second.location
    same = (end.path, end.end_line) == (start.path, start.line)
    return same and end.end_column <= start.column and not _inserts(first)


def _change(edits: Sequence[Edit], sources: Sources) -> Change:
    first, last = edits[0].location, edits[-1].location
    if _inserts(edits[0]):
        where = "above" if first.column == 1 else "below"
        return first.path, f"insert {where} line {first.line}", edits[0].text.strip("\n").split("\n")
    to_line_end = last.end_column == 1 and last.end_line > first.line  # the edit takes the end of its last line along
    end = last.end_line - 1 if to_line_end else last.end_line
    lines = f"line {first.line}" if end == first.line else f"lines {first.line}-{end}"
    rows = _rows(edits, sources)
    if rows is None or max(map(len, rows)) > MAX_ROW:
        return first.path, f"replace a part of {lines} by", "".join(edit.text for edit in edits).split("\n")
    return (first.path, f"replace {lines} by", rows) if any(rows) else (first.path, f"delete {lines}", [])


def _rows(edits: Sequence[Edit], sources: Sources) -> list[str] | None:
    """The lines that the edits touch as they are afterwards; None where the file has no such lines any more."""
    first, last = edits[0].location, edits[-1].location
    head, tail = sources.line(first.path, first.line), sources.line(last.path, last.end_line)
    if head is None or tail is None:
        return None
    new = head[: first.column - 1] + edits[0].text
    for before, edit in itertools.pairwise(edits):
        row = sources.line(before.location.path, before.location.end_line) or ""
        new += row[before.location.end_column - 1 : edit.location.column - 1] + edit.text
    is_whole = last.end_column == 1 and last.end_line > first.line
    return (new if is_whole else new + tail[last.end_column - 1 :]).strip("\n").split("\n")


def _inserts(edit: Edit) -> bool:
    place = edit.location
    return (place.line, place.column) == (place.end_line, place.end_column)
