"""The lines of the linted files, for code frames and fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, field

from fxlint.project.buffers import content
from fxlint.project.notebook import cells_of, of_cell
from fxlint.project.source import UnreadableSource, read_text


@dataclass(eq=False, slots=True)
class Sources:
    """Reads each file once. A file that is gone or unreadable by now has no lines."""

    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def lines(self, path: str) -> tuple[str, ...]:
        """All lines, without line ends, split where Python splits them."""
        if path not in self._lines:
            try:
                self._lines[path] = _read(path)
            except (OSError, ValueError, IndexError, UnreadableSource):
                self._lines[path] = ()
        return self._lines[path]

    def line(self, path: str, number: int) -> str | None:
        """One line (1-based), or None where the file has no such line."""
        lines = self.lines(path)
        return lines[number - 1] if 1 <= number <= len(lines) else None


def _read(path: str) -> tuple[str, ...]:
    file, cell = of_cell(path)
    text = read_text(file) if cell is None else cells_of(content(file))[cell - 1]
    return tuple(text.split("\n"))
