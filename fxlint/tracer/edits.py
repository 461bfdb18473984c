"""Edits of source text: how a suggestion travels to the worker, which reads the file itself."""

from __future__ import annotations

from collections.abc import Iterable

Edit = tuple[int, int, int, int, str]
"""(line, column, end line, end column, text): 1-based, the end exclusive, columns in code points."""


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with edits applied, which must not overlap; those at one place in the order given."""
    starts = [0]
    for row in source.split("\n"):
        starts.append(starts[-1] + len(row) + 1)

    def offset(line: int, column: int) -> int:
        return min(starts[min(line - 1, len(starts) - 1)] + column - 1, len(source))

    spans = [
        (offset(line, column), offset(end_line, end_column), text) for line, column, end_line, end_column, text in edits
    ]
    pieces, position = [], 0
    for start, end, text in sorted(spans, key=lambda span: span[:2]):
        pieces += [source[position:start], text]
        position = max(position, end)
    return "".join([*pieces, source[position:]])
