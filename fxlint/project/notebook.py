"""Jupyter notebooks: their code cells as one Python source, and lines of it as places in cells."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

SUFFIX: Final = ".ipynb"

_PYTHON_CELLS: Final = frozenset({"capture", "prun", "time", "timeit"})
"""Cell magics that run the rest of their cell as Python."""
_MAGIC: Final = re.compile(
    r"\s*(?:(?P<target>[\w.]+(?:\s*,\s*[\w.]+)*)\s*=\s*)?[%!]"  # %magic, !command, and what takes their result
    r"|\s*\?|\s*[\w.]+\?{1,2}\s*$"  # ?help, help?
)
_BETWEEN: Final = re.compile(r"[\s,:]*")
_ROW: Final = re.compile(r"[^\n]*\n|[^\n]+")
_DECODER: Final = json.JSONDecoder()
_CELL: Final = re.compile(r"(?P<path>.*\.ipynb):cell (?P<number>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Notebook:
    """``text`` is Python; ``starts`` are the lines of it, 1-based, at which the code cells start."""

    text: str
    starts: tuple[int, ...]

    def place(self, path: str, line: int) -> tuple[str, int]:
        """A line of the text as the path of a cell and a line in that."""
        number = sum(start <= line for start in self.starts)
        return (f"{path}:cell {number}", line - self.starts[number - 1] + 1) if number else (path, line)

    def cell(self, number: int) -> str:
        """The part of the text that is a code cell. Raises ValueError where there is none of this number."""
        if not 1 <= number <= len(self.starts):
            raise ValueError(f"there is no cell {number}")
        start, *end = self.starts[number - 1 : number + 1]
        return "\n".join(self.text.split("\n")[start - 1 : end[0] - 1 if end else -1])


def is_notebook(path: str) -> bool:
    return path.endswith(SUFFIX)


def of_cell(path: str) -> tuple[str, int | None]:
    """The file and the number of the code cell in the path of a cell; None for any other path."""
    found = _CELL.fullmatch(path)
    return (found["path"], int(found["number"])) if found else (path, None)


def cells_of(raw: bytes) -> list[str]:
    """The texts of the code cells as they stand in a notebook, none where it holds another language.

    Raises ValueError for what is no notebook.
    """
    try:
        data: Any = json.loads(raw)
        cells = [_source(cell) for cell in data["cells"] if cell["cell_type"] == "code"]
        language = _language(data.get("metadata") or {})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is no Jupyter notebook of version 4") from None
    return cells if language == "python" else []


def _language(metadata: Any) -> Any:
    """What the kernel says, which may be nothing, else the notebook itself; Python where neither does."""
    kernel, own = metadata.get("kernelspec") or {}, metadata.get("language_info") or {}
    return kernel.get("language") or own.get("name") or "python"


def with_cells(raw: bytes, changes: Mapping[int, Callable[[str], str]]) -> bytes:
    """The notebook after changes to the texts of some code cells, by number; all other bytes stay.

    Raises ValueError for what is no notebook with such cells.
    """
    if not set(changes) <= set(range(1, len(cells_of(raw)) + 1)):
        raise ValueError("the file is not the one that was linted")
    text = raw.decode()
    spans = list(_source_spans(text))
    for number in sorted(changes, reverse=True):
        start, end = spans[number - 1]
        text = text[:start] + _rewritten(text[start:end], changes[number], escape=raw.isascii()) + text[end:]
    return text.encode()


def _source_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where in the JSON of a notebook the source of each code cell stands."""
    start, _ = _members(text, text.index("{"))["cells"]
    for cell, _ in _entries(text, start):
        members = _members(text, cell)
        if json.loads(text[slice(*members["cell_type"])]) == "code":
            yield members["source"]


def _members(text: str, start: int) -> dict[str, tuple[int, int]]:
    spans = _entries(text, start)
    return {json.loads(text[slice(*key)]): value for key, value in zip(spans, spans, strict=False)}


def _entries(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The spans of what an array holds that starts there, or of the keys and values in turn of an object.

    The text is known to be JSON.
    """
    at = _BETWEEN.match(text, start + 1).end()  # type: ignore[union-attr]
    while text[at] not in "]}":
        _, end = _DECODER.raw_decode(text, at)
        yield at, end
        at = _BETWEEN.match(text, end).end()  # type: ignore[union-attr]


def _rewritten(written: str, change: Callable[[str], str], *, escape: bool) -> str:
    """The JSON of a source after a change: the lines that stay are written as they are."""
    source: str | list[str] = json.loads(written)
    if isinstance(source, str):
        return json.dumps(change(source), ensure_ascii=escape)
    spans = list(_entries(written, 0))
    known = {row: written[slice(*span)] for row, span in zip(source, spans, strict=True)}
    rows = [known.get(row) or json.dumps(row, ensure_ascii=escape) for row in _ROW.findall(change("".join(source)))]
    if not spans:
        return f"[{', '.join(rows)}]"
    head, tail = written[: spans[0][0]], written[spans[-1][1] :]
    between = written[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{head[1:]}"
    return head + between.join(rows) + tail


def read_notebook(raw: bytes) -> Notebook:
    """The code cells of a notebook, empty where it holds another language. Raises ValueError for what is none.

    Magics and shell commands become statements that do nothing, or nothing at all, on their line.
    """
    rows: list[str] = []
    starts: list[int] = []
    for cell in cells_of(raw):
        starts.append(len(rows) + 1)
        rows += _python(cell.split("\n"))
    return Notebook("".join(f"{row}\n" for row in rows), tuple(starts))


def _source(cell: Any) -> str:
    source = cell["source"]
    return re.sub(r"\r\n?", "\n", source if isinstance(source, str) else "".join(source)).rstrip("\n")


def _python(rows: list[str]) -> list[str]:
    first = next((number for number, row in enumerate(rows) if row.strip()), 0)
    magic = re.match(r"%%(\w*)", rows[first])
    if magic:
        if magic[1] not in _PYTHON_CELLS:
            return [""] * len(rows)
        rows = [*rows[:first], "", *rows[first + 1 :]]
    return rows if _parses(rows) else list(_without_magics(rows))


def _parses(rows: Iterable[str]) -> bool:
    """Whether there is nothing to replace: a line of a string may look like a magic."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(rows))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _without_magics(rows: Iterable[str]) -> Iterator[str]:
    goes_on = False
    for row in rows:
        found = _MAGIC.match(row)
        if goes_on:
            yield ""
        elif found:
            indent = row[: len(row) - len(row.lstrip())]
            yield f"{indent}{found['target']} = None" if found["target"] else f"{indent}pass" if indent else ""
        else:
            yield row
        goes_on = (goes_on or found is not None) and row.endswith("\\")
