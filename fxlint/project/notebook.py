"""Jupyter notebooks: their code cells as one Python source, and lines of it as places in cells."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

SUFFIX: Final = ".ipynb"

_PYTHON_CELLS: Final = frozenset({"capture", "prun", "time", "timeit"})
"""Cell magics that run the rest of their cell as Python."""
_MAGIC: Final = re.compile(
    r"\s*(?:(?P<target>[\w.]+(?:\s*,\s*[\w.]+)*)\s*=\s*)?[%!]"  # %magic, !command, and what takes their result
    r"|\s*\?|\s*[\w.]+\?{1,2}\s*$"  # ?help, help?
)
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


def is_notebook(path: str) -> bool:
    return path.endswith(SUFFIX)


def of_cell(path: str) -> tuple[str, int | None]:
    """The file and the number of the code cell in the path of a cell; None for any other path."""
    found = _CELL.fullmatch(path)
    return (found["path"], int(found["number"])) if found else (path, None)


def lines_of_cell(raw: bytes, number: int) -> tuple[str, ...]:
    """The lines of a code cell as they stand in the notebook. Raises ValueError where there is no such cell."""
    cells = _cells(raw)
    if number > len(cells):
        raise ValueError(f"there is no cell {number}")
    return tuple(cells[number - 1].split("\n"))


def read_notebook(raw: bytes) -> Notebook:
    """The code cells of a notebook, empty where it holds another language. Raises ValueError for what is none.

    Magics and shell commands become statements that do nothing, or nothing at all, on their line.
    """
    rows: list[str] = []
    starts: list[int] = []
    for cell in _cells(raw):
        starts.append(len(rows) + 1)
        rows += _python(cell.split("\n"))
    return Notebook("".join(f"{row}\n" for row in rows), tuple(starts))


def _cells(raw: bytes) -> list[str]:
    try:
        data: Any = json.loads(raw)
        cells = [_source(cell) for cell in data["cells"] if cell["cell_type"] == "code"]
        language = data.get("metadata", {}).get("kernelspec", {}).get("language", "python")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("it is no Jupyter notebook of version 4") from None
    return cells if language == "python" else []


def _source(cell: Any) -> str:
    source = cell["source"]
    return (source if isinstance(source, str) else "".join(source)).replace("\r\n", "\n").rstrip("\n")


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
