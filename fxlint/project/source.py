"""Reading one source file: bytes to text to syntax tree, with a clear reason when that cannot be done."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from fxlint.findings import Location
from fxlint.project.buffers import content
from fxlint.project.notebook import is_notebook, of_cell, read_notebook
from fxlint.project.tree import kept

_DIRECTIVE = re.compile(r"#\s*fxlint:\s*(?P<name>trace|instance|inputs)\b\s*(?:=\s*(?P<value>.+?))?\s*$")


class UnreadableSource(Exception):  # noqa: N818 - it says what the source is
    """The file cannot be analysed; ``line`` is 1-based where the trouble has a place."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(eq=False, slots=True)
class SourceFile:
    """A parsed file. ``path`` is as the user spelled it (posix); ``lines`` keep no line ends."""

    path: str
    text: str
    tree: ast.Module
    lines: list[str] = field(default_factory=list)

    def location(self, node: ast.AST) -> Location:
        """The span of a node, 1-based, columns in code points (``ast`` counts UTF-8 bytes); of a def, its head."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        column: int = getattr(node, "col_offset", 0)
        end_column: int = getattr(node, "end_col_offset", None) or 0
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            start = self._column(line, column)
            name = self.lines[line - 1].find(node.name, start)
            return Location(self.path, line, start, line, name + len(node.name) + 1 if name >= 0 else start)
        return Location(self.path, line, self._column(line, column), end_line, self._column(end_line, end_column))

    def segment(self, node: ast.AST) -> str:
        """The source of a node on one line, shortened where it is long."""
        return _segment(node, self)

    def directives(self) -> dict[int, list[tuple[str, str | None]]]:
        """The comments ``# fxlint: trace``, ``# fxlint: instance=...`` and ``# fxlint: inputs=...`` by line."""
        found: dict[int, list[tuple[str, str | None]]] = {}
        if "fxlint:" not in self.text:
            return found
        for number, row in enumerate(self.lines, 1):
            match = _DIRECTIVE.search(row)
            if match:
                found.setdefault(number, []).append((match["name"], match["value"]))
        return found

    def _column(self, line: int, offset: int) -> int:
        if not 1 <= line <= len(self.lines):
            return offset + 1
        row = self.lines[line - 1]
        if row.isascii():
            return offset + 1
        return len(row.encode()[:offset].decode(errors="replace")) + 1


@kept
def _segment(node: ast.AST, source: SourceFile) -> str:
    place = source.location(node)
    rows = source.lines[place.line - 1 : place.end_line]
    if not rows:
        return ""
    rows[-1] = rows[-1][: place.end_column - 1]
    rows[0] = rows[0][place.column - 1 :]
    text = " ".join(row.strip() for row in rows)
    return text if len(text) <= 80 else text[:77] + "..."


def read_text(path: str) -> str:
    """The text of a source file, of a notebook that of its code cells, or of the one that the path names.

    Raises OSError, ValueError, UnreadableSource.
    """
    file, cell = of_cell(path)
    raw = content(file)
    if not is_notebook(file):
        return decode(raw)
    try:
        notebook = read_notebook(raw)
        return notebook.text if cell is None else notebook.cell(cell)
    except ValueError as error:
        raise UnreadableSource(f"could not parse: {error}") from None


def text_of(path: str) -> str:
    """The text of a source file, empty where it cannot be read."""
    try:
        return read_text(path)
    except (OSError, ValueError, UnreadableSource):
        return ""


def decode(raw: bytes) -> str:
    """Source text of a Python file, by its byte order mark or coding comment.

    Raises UnreadableSource for a wrong encoding and for bytes that are no text at all.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnreadableSource("could not decode: the file is UTF-16; Python sources are UTF-8")
    if b"\0" in raw:
        raise UnreadableSource("could not decode: the file holds null bytes; it is not Python source")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, ValueError, LookupError) as error:  # ValueError: what codecs raise
        raise UnreadableSource(f"could not decode: {error}") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parse(path: str, text: str) -> SourceFile:
    """Parse source text. Raises UnreadableSource with the line of a syntax error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are not ours to report
            tree = ast.parse(text)
    except SyntaxError as error:
        raise UnreadableSource(f"could not parse: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableSource(f"could not parse: {str(error) or type(error).__name__}") from None
    return SourceFile(path, text, tree, text.split("\n"))


def refused(source: SourceFile) -> UnreadableSource | None:
    """What the compiler has against source that can be parsed: a ``return`` outside of a function, and the like."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if is_notebook(source.path) else 0
            compile(source.tree, source.path, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        return UnreadableSource(f"could not compile: {error.msg}", error.lineno)
    except (ValueError, RecursionError, MemoryError):  # what is too much for the compiler may do for us
        return None
    return None


def read(path: str, file: Path) -> SourceFile:
    """Read and parse ``file``, reported under the name ``path``. Raises UnreadableSource."""
    try:
        text = read_text(str(file))
    except OSError as error:
        raise UnreadableSource(f"could not read: {error.strerror or error}") from None
    return parse(path, text)
