"""A baseline: findings that a project lives with, so that only new ones are told.

An entry is known by its file, its rule, the function or class around it and the source itself, not by its line: edits
elsewhere in the file leave it alone.
"""

from __future__ import annotations

import ast
import io
import json
import os
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fxlint.config import ConfigError
from fxlint.findings import Finding, Problem
from fxlint.project.notebook import of_cell
from fxlint.project.source import SourceFile, UnreadableSource, parse, read_text
from fxlint.rewrite import replace_file

SCHEMA: Final = 1

_LAYOUT: Final = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """``path`` starts at the folder of the baseline; ``function`` is empty at the top level of a file."""

    path: str
    code: str
    function: str
    source: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The findings that are not in a baseline, how many are, and one problem for each entry that was not met."""

    findings: tuple[Finding, ...]
    known: int
    gone: tuple[Problem, ...]


def write(file: Path, findings: Sequence[Finding]) -> None:
    """Make ``findings`` the baseline in ``file``, which is replaced as a whole. Raises OSError."""
    counts = Counter(entry for _, entry in _entries(findings, file.parent))
    rows = [
        {"path": one.path, "code": one.code, "function": one.function, "source": one.source, "count": count}
        for one, count in sorted(counts.items())
    ]
    replace_file(str(file), (json.dumps({"schema": SCHEMA, "findings": rows}, indent=1) + "\n").encode())


def is_replaceable(file: Path) -> bool:
    """Whether ``file`` holds nothing, or a baseline of whatever schema. Raises ConfigError where it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
        return not text or {"schema", "findings"} == json.loads(text).keys()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, AttributeError, RecursionError):
        return False


def state(file: Path) -> list[tuple[Entry, int, bool]]:
    """What a comparison goes by: each entry, how often it is there, and whether its file is still there.

    Raises ConfigError for a baseline that cannot be read.
    """
    return [(entry, count, _is_there(entry, file)) for entry, count in sorted(_read(file).items())]


def compare(
    file: Path, findings: Sequence[Finding], linted: Sequence[str], codes: frozenset[str], *, traced: bool
) -> Compared:
    """Take the findings that are in the baseline in ``file`` away.

    An entry is gone where its file was ``linted`` or is no more, and its rule is one of ``codes``, those that were on.
    Raises ConfigError for a baseline that cannot be read.
    """
    left = _read(file)
    new: list[Finding] = []
    for finding, entry in _entries(findings, file.parent):
        if left[entry]:
            left[entry] -= 1
        else:
            new.append(finding)
    seen = {_relative(path, file.parent) for path in linted}
    gone = [
        entry
        for entry in sorted(left.elements())
        if entry.code in codes and (entry.path in seen or not _is_there(entry, file))
    ]
    hint = "" if traced else "; nothing was traced, which finds more"
    name = Path(os.path.relpath(file)).as_posix()
    return Compared(
        tuple(new),
        len(findings) - len(new),
        tuple(Problem(name, f"is found no more: {_told(entry)}{hint}", stage="confirm") for entry in gone),
    )


def _is_there(entry: Entry, file: Path) -> bool:
    return os.path.exists(file.parent / entry.path)  # noqa: PTH110  # unlike that of Path False for what no path can be


def _told(entry: Entry) -> str:
    place = f" in {entry.function}" if entry.function else ""
    return f"{entry.code} `{entry.source}`{place}, {entry.path}"


def _read(file: Path) -> Counter[Entry]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise ConfigError(f"{file}: a baseline of schema {data['schema']}, and this fxlint reads {SCHEMA}")
        counts: Counter[Entry] = Counter()
        for row in data["findings"]:
            counts[Entry(str(row["path"]), str(row["code"]), str(row["function"]), str(row["source"]))] += row["count"]
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(f"{file}: is no baseline that --write-baseline has written") from error
    return counts


def _entries(findings: Sequence[Finding], base: Path) -> Iterator[tuple[Finding, Entry]]:
    files: dict[str, SourceFile | None] = {}
    for finding in findings:
        path = finding.location.path
        if path not in files:
            files[path] = _parsed(path)
        source = files[path]
        function = "" if source is None else _enclosing(source.tree, finding.location.line)
        text = "" if source is None else _normalised(source, finding)
        yield finding, Entry(_relative(of_cell(path)[0], base), finding.code, function, text)


def _parsed(path: str) -> SourceFile | None:
    try:
        return parse(path, read_text(path))
    except (OSError, ValueError, UnreadableSource):
        return None


def _enclosing(tree: ast.Module, line: int) -> str:
    """The qualified name of the innermost function or class around a line."""
    names: list[str] = []
    body: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while body:
        node = body.pop()
        if not getattr(node, "lineno", 0) <= line <= (getattr(node, "end_lineno", None) or line):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
            body.clear()
        body += ast.iter_child_nodes(node)
    return ".".join(names)


def _normalised(source: SourceFile, finding: Finding) -> str:
    """The tokens of what is found, so that neither line breaks nor comments nor spaces matter."""
    place = finding.location
    rows = source.lines[place.line - 1 : place.end_line]
    if not rows:
        return ""
    rows[-1] = rows[-1][: place.end_column - 1]
    rows[0] = rows[0][place.column - 1 :]
    text = "\n".join(rows)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline))[1:-3]
        return " ".join(token.string for token in tokens if token.type not in _LAYOUT)
    except (tokenize.TokenError, SyntaxError):
        return " ".join(text.split())


def _relative(path: str, base: Path) -> str:
    return os.path.relpath(path, base).replace(os.sep, "/")
