"""The comments of a file, each with the logical line that it belongs to."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

_LAYOUT: Final = frozenset({tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.ENDMARKER})


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment at (``line``, ``column``), 1-based.

    ``first`` and ``last`` are the lines of the logical line that it belongs to: the one it stands in, or the next one
    where it stands on a line of its own (``alone``). Within brackets ``row`` is then the line below, else its own.
    """

    line: int
    column: int
    text: str
    first: int
    last: int
    row: int
    alone: bool


def comments(text: str) -> Iterator[Comment]:
    """All comments in order; those before a fault in the layout where ``text`` has one."""
    waiting: list[Comment] = []
    for first, last, found in _logical_lines(text):
        waiting += found
        if first:
            yield from (replace(one, first=first, last=last) for one in waiting)
            waiting = []
    yield from waiting


def logical_lines(text: str) -> dict[int, tuple[int, int]]:
    """The first and the last line of the logical line that each line with code belongs to."""
    spans = ((first, last) for first, last, _ in _logical_lines(text) if first)
    return {number: (first, last) for first, last in spans for number in range(first, last + 1)}


def _logical_lines(text: str) -> Iterator[tuple[int, int, list[Comment]]]:
    """Each logical line and its comments; comments between two of them come with the lines 0 to 0."""
    first = code = 0
    found: list[Comment] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line, column = token.start
            if token.type == tokenize.COMMENT:
                alone = code != line
                row = line + 1 if alone and first else line
                found.append(Comment(line, column + 1, token.string, line, line, row, alone))
                if not first:
                    yield 0, 0, found
                    found = []
            elif token.type == tokenize.NEWLINE:
                yield first, line, found
                first, found = 0, []
            elif token.type not in _LAYOUT:
                first = first or line
                code = token.end[0]
    except (tokenize.TokenError, SyntaxError):
        return
