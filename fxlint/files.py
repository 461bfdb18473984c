"""Which files a run reads: paths given by the user, folders walked, .gitignore and excludes respected."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from fxlint.findings import Problem
from fxlint.project.buffers import is_held
from fxlint.project.notebook import SUFFIX


@dataclass(frozen=True, slots=True)
class Files:
    """``paths`` are spelled as the user did, with forward slashes, each file once; ``problems`` are unusable paths."""

    paths: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def find_files(
    paths: Sequence[str], exclude: Sequence[str], root: Path, *, gitignore: bool = True, force: bool = False
) -> Files:
    """Python files at and under ``paths``: as given, and sorted by name within a folder.

    A file that is named is always taken. So is a folder that is named: a pattern that matches it, or a folder above it,
    does not apply inside. With ``force`` patterns hold for what is named too. ``exclude`` are .gitignore patterns that
    start at ``root``; without ``gitignore`` they are all there is. Symbolic links to folders are not followed, and a
    file that several paths lead to is taken under the first one. A file that is held in memory need not exist.
    """
    found: dict[str, str] = {}  # real path -> as spelled
    problems: list[Problem] = []
    for path in paths:
        if is_held(path) or os.path.isfile(path):  # noqa: PTH113  # unlike that of Path False for what is no path
            folder = os.path.dirname(path) or "."  # noqa: PTH120
            gitignores = (*_outer_gitignores(folder, force), *_gitignore(_absolute(folder))) if gitignore else ()
            if not (force and _ignored(_absolute(path), _excluded(folder, exclude, root, force), gitignores)):
                found.setdefault(_real(path), _spelled(path))
        elif os.path.isdir(path):  # noqa: PTH112
            outer = _outer_gitignores(path, force) if gitignore else None
            for file in _walk(path, _excluded(path, exclude, root, force), outer, problems):
                spelled = _spelled(file)
                found.setdefault(_real(file), spelled.removeprefix("./") if path == "." else spelled)
        elif os.path.lexists(path):
            problems.append(Problem(_spelled(path), "is neither a file nor a folder"))
        else:
            problems.append(Problem(_spelled(path), "no such file or folder" if path else "a path is empty"))
    return Files(tuple(found.values()), tuple(problems))


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one source (a .gitignore, or the configuration) and the folder that they start from."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str) -> bool | None:
        """True: ignored. False: explicitly not ignored. None: nothing said. A folder's path ends with a slash."""
        return self.spec.check_file(_relative(path, self.base)).include

    def within(self, folder: str) -> _Rules:
        """Without the patterns that match ``folder`` itself: the user asked for it by name."""
        relative = _relative(folder, self.base)
        if relative == "./":
            return self
        keep = [pattern for pattern in self.spec.patterns if not (pattern.include and pattern.match_file(relative))]
        return _Rules(self.base, GitIgnoreSpec(keep))


def _walk(
    folder: str, excluded: _Rules, gitignores: tuple[_Rules, ...] | None, problems: list[Problem]
) -> Iterator[str]:
    """The Python files under ``folder``; no .gitignore is read where there may be none (None)."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        problems.append(Problem(_spelled(folder), f"cannot be listed: {error.strerror}"))
        return
    if gitignores is not None:
        gitignores = (*gitignores, *_gitignore(_absolute(folder)))
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            if not _ignored(_absolute(entry.path) + "/", excluded, gitignores or ()):
                yield from _walk(entry.path, excluded, gitignores, problems)
        elif _is_python(entry) and not _ignored(_absolute(entry.path), excluded, gitignores or ()):
            yield entry.path


def _is_python(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith((".py", SUFFIX)) and os.path.isfile(entry.path)  # noqa: PTH113  # entry.is_file raises for a loop


def _ignored(path: str, excluded: _Rules, gitignores: tuple[_Rules, ...]) -> bool:
    """As git does it, the innermost .gitignore that has an opinion decides."""
    verdicts = (rules.verdict(path) for rules in reversed(gitignores))
    by_git = next((verdict for verdict in verdicts if verdict is not None), False)
    return by_git or excluded.verdict(path) is True


def _excluded(folder: str, exclude: Sequence[str], root: Path, force: bool) -> _Rules:
    start = Path(_absolute(folder))
    base = root if start.is_relative_to(root) else start
    rules = _Rules(str(base), GitIgnoreSpec.from_lines(exclude))
    return rules if force else rules.within(f"{start}/")


def _outer_gitignores(folder: str, force: bool) -> tuple[_Rules, ...]:
    """The .gitignore files above ``folder`` in its repository, outermost first."""
    start = Path(_absolute(folder))
    above = (rules for parent in _repository_above(start) for rules in _gitignore(str(parent)))
    return tuple(rules if force else rules.within(f"{start}/") for rules in above)


def _repository_above(start: Path) -> list[Path]:
    """The folders above ``start`` up to the one that holds .git, outermost first; none outside a repository."""
    if (start / ".git").exists():
        return []
    above: list[Path] = []
    for parent in start.parents:
        above.insert(0, parent)
        if (parent / ".git").exists():
            return above
    return []


def _gitignore(folder: str) -> Iterator[_Rules]:
    try:
        lines = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    yield _Rules(folder, GitIgnoreSpec.from_lines(lines))


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100  # unlike Path.resolve it keeps symbolic links


def _real(path: str) -> str:
    return os.path.realpath(path)  # unlike Path.resolve it never raises


def _relative(path: str, base: str) -> str:
    """``path`` from ``base``, with forward slashes; a trailing slash, the mark of a folder, stays."""
    relative = os.path.relpath(path, base).replace(os.sep, "/")
    return relative + "/" if path.endswith("/") else relative


def _spelled(path: str) -> str:
    return path.replace(os.sep, "/")
