"""What a result was drawn from, so that one can tell later whether it still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

Found = tuple[str, str | None]
"""The path of a module's file, and the name that it is linted under; None where it is not linted."""

TORN: Final = ""
"""In place of the digest of a file that was read twice and had changed in between: no content has it."""


@dataclass(slots=True)
class Reads:
    """What was looked at, and what was seen there.

    ``files`` are digests of contents by absolute path (None: could not be read), ``modules`` where a module was found
    by name (None: nowhere), ``installed`` whether anything of a name exists, ``linted`` whether a file of that name is
    linted, and ``callers`` which of the linted modules call something of a name that is not their own.
    """

    files: dict[str, str | None] = field(default_factory=dict)
    modules: dict[str, Found | None] = field(default_factory=dict)
    installed: dict[str, bool] = field(default_factory=dict)
    linted: dict[str, bool] = field(default_factory=dict)
    callers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def note(self, files: Mapping[str, str | None]) -> None:
        """Add contents that were read."""
        for path, seen in files.items():
            if self.files.setdefault(path, seen) != seen:
                self.files[path] = TORN

    def add(self, others: Iterable[Reads]) -> None:
        """Add what others have read, in the same state of the project."""
        for other in others:
            self.note(other.files)
            self.modules.update(other.modules)
            self.installed.update(other.installed)
            self.linted.update(other.linted)
            self.callers.update(other.callers)
