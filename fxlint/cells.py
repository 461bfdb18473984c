"""Places in notebooks: what was found in the text of all code cells, told by cell."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from fxlint.findings import Failure, Location, Problem, Root
from fxlint.project.buffers import content
from fxlint.project.notebook import Notebook, is_notebook, read_notebook

_Told = TypeVar("_Told")


class Cells:
    """Turns places in the text of notebooks into places in their cells; each notebook is read once."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._notebooks = {path: found for path in paths if is_notebook(path) and (found := _read(path)) is not None}
        self._by_name = {os.path.basename(path): path for path in self._notebooks} | {p: p for p in self._notebooks}  # noqa: PTH119
        names = "|".join(map(re.escape, self._by_name))
        self._place_in_words = re.compile(rf"(?<![^\s(])({names}):(\d+)")

    def told(self, value: _Told) -> _Told:
        """What is reported, with all its places, also those in words."""
        told: _Told = self._told(value) if self._notebooks else value
        return told

    def _told(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._place_in_words.sub(self._in_words, value)
        if isinstance(value, tuple):
            return tuple(map(self._told, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        parts = {field.name: self._told(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, (Location, Root, Problem, Failure)) and value.line and value.path in self._notebooks:
            parts["path"], parts["line"] = self._notebooks[value.path].place(value.path, value.line)
            if isinstance(value, Location):
                parts["end_line"] = value.end_line - value.line + parts["line"]
        return replace(value, **parts)

    def _in_words(self, found: re.Match[str]) -> str:
        path = self._by_name[found[1]]
        cell, line = self._notebooks[path].place(found[1], int(found[2]))
        return f"{cell}:{line}"


def _read(path: str) -> Notebook | None:
    try:
        return read_notebook(content(path))
    except (OSError, ValueError):  # predict says why
        return None
