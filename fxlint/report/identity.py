"""How other tools know a file and a finding again: relative URIs, and fingerprints that survive edits elsewhere."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from fxlint.findings import Finding
from fxlint.project.notebook import of_cell
from fxlint.report import Options


def uri(path: str, base: Path) -> str:
    """Relative to ``base`` where the file lies below it, which is what code scanning needs; else a file: URI."""
    path, _ = of_cell(path)
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not pure.is_relative_to(base.as_posix()):
            return "file://" + quote(path, errors="surrogateescape")
        pure = pure.relative_to(base.as_posix())
    return quote(pure.as_posix(), errors="surrogateescape")


def relative(path: str, base: Path) -> str:
    """The path of the file, of a notebook for a cell, from ``base`` where the file lies below it; else as it is."""
    pure = PurePosixPath(of_cell(path)[0])
    return pure.relative_to(base.as_posix()).as_posix() if pure.is_relative_to(base.as_posix()) else pure.as_posix()


def fingerprints(findings: tuple[Finding, ...], options: Options) -> list[str]:
    """Stable under edits elsewhere in the file: rule, file, roots and the text of the line, not its number.

    The n-th of several that agree in all of these is told apart by n.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    prints: list[str] = []
    for finding in findings:
        place = finding.location
        text = (options.sources.line(place.path, place.line) or "").strip()
        qualnames = sorted(module.rpartition("::")[2] for module in finding.modules)
        key = (finding.code, uri(place.path, options.base), *qualnames, text)
        prints.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest()[:32])
        seen[key] += 1
    return prints
