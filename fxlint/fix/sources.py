"""The files and the parameters that findings name, each looked up once."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable

from fxlint.findings import Location
from fxlint.fix.parameters import Parameter
from fxlint.fix.source import Source
from fxlint.project.buffers import noting
from fxlint.project.reads import Reads
from fxlint.project.source import UnreadableSource, parse

Read = Callable[[str], str]
"""The text of a file by its path as findings spell it; raises OSError or UnreadableSource where there is none."""


class Sources:
    """Parsed files by path; None for a file that cannot be read any more.

    ``reads`` collects the files that were asked for; who wants to know sets it to a new one before asking.
    """

    def __init__(self, read: Read) -> None:
        self.reads = Reads()
        self._noted: dict[str, str | None] = {}
        self._read = read
        self._files: dict[str, Source | None] = {}
        self._parameters: dict[Location, Parameter | None] = {}

    def get(self, path: str) -> Source | None:
        """The file, parsed when it is first asked for."""
        if path in self._files:
            self._files[path] = self._files.pop(path)  # what was asked for last comes last
        else:
            with noting() as noted:
                try:
                    self._files[path] = Source(parse(path, self._read(path)))
                except (OSError, KeyError, UnreadableSource):
                    self._files[path] = None
            self._noted.update(noted)
        file = os.path.abspath(path)  # noqa: PTH100
        self.reads.note({file: self._noted.get(file)})
        return self._files[path]

    def parameter(self, place: Location, name: str) -> Parameter | None:
        """The parameter at a place; None for a parameter of a lambda, and for what is none."""
        if place not in self._parameters:
            self._parameters[place] = self._parameter(place, name)
        return self._parameters[place]

    def _parameter(self, place: Location, name: str) -> Parameter | None:
        source = self.get(place.path)
        node = source.at(place) if source is not None else None
        if source is None or not isinstance(node, ast.arg):
            return None
        function = source.function(node)
        return Parameter(name, function, source) if isinstance(function, ast.FunctionDef) else None

    def forget(self, keep: int) -> None:
        """Let go of all files but those asked for last: a syntax tree takes some forty times the memory of its text."""
        gone = list(self._files)[:-keep]
        for path in gone:
            del self._files[path]
        if gone:
            self._parameters.clear()
