"""Which files a run reads: paths given by the user, folders walked, .gitignore and excludes respected."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from fxlint.config import Config, Configs
from fxlint.findings import Problem
from fxlint.project.buffers import is_held
from fxlint.project.notebook import SUFFIX

SOURCES: Final = (".py", ".pyi", ".pyw", SUFFIX)
"""How files end that hold source code, whether they are linted or not."""


@dataclass(frozen=True, slots=True)
class Files:
    """``paths`` are spelled as the user did, with forward slashes, each file once; ``problems`` are unusable paths."""

    paths: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def find_files(paths: Sequence[str], configs: Configs) -> Files:
    """Python files at and under ``paths``: as given, and sorted by name within a folder.

    The patterns that hold in a folder are those of its configuration. A file that is named is always taken. So is a
    folder that is named: a pattern that matches it, or a folder above it, does not apply inside. With ``force-exclude``
    patterns hold for what is named too. Symbolic links to folders are not followed, and a file that several paths lead
    to is taken under the first one. A file that is held in memory need not exist. Raises ConfigError.
    """
    found: dict[str, str] = {}  # real path -> as spelled
    problems: list[Problem] = []
    for path in paths:
        if is_held(path) or os.path.isfile(path):  # noqa: PTH113  # unlike that of Path False for what is no path
            folder = os.path.dirname(path) or "."  # noqa: PTH120
            if not configs(folder).force_exclude or _Patterns.of(folder, configs(folder)).inside(folder).take(path):
                found.setdefault(_real(path), _spelled(path))
        elif os.path.isdir(path):  # noqa: PTH112
            for file in _walk(path, configs, _Patterns.of(path, configs(path)), problems):
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


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What holds in a folder: ``excluded`` by its configuration, and .gitignore files, none where they do not hold."""

    config: Config
    excluded: _Rules
    gitignores: tuple[_Rules, ...]

    @classmethod
    def of(cls, folder: str, config: Config) -> _Patterns:
        """Those that come from above ``folder``, at which looking for files starts."""
        force = config.force_exclude
        outer = _outer_gitignores(folder, force) if config.respect_gitignore else ()
        return cls(config, _excluded(folder, config, force), outer)

    def inside(self, folder: str) -> _Patterns:
        """With the .gitignore of ``folder`` itself."""
        if not self.config.respect_gitignore:
            return self
        return replace(self, gitignores=(*self.gitignores, *_gitignore(_absolute(folder))))

    def take(self, path: str) -> bool:
        """Whether nothing leaves ``path`` out; that of a folder ends with a slash.

        As git does it, the innermost .gitignore that has an opinion decides.
        """
        absolute = _absolute(path) + ("/" if path.endswith("/") else "")
        verdicts = (rules.verdict(absolute) for rules in reversed(self.gitignores))
        by_git = next((verdict for verdict in verdicts if verdict is not None), False)
        return not by_git and self.excluded.verdict(absolute) is not True


def _walk(folder: str, configs: Configs, patterns: _Patterns, problems: list[Problem]) -> Iterator[str]:
    """The Python files under ``folder``; one with a configuration of its own goes by its own patterns inside."""
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        problems.append(Problem(_spelled(folder), f"cannot be listed: {error.strerror}"))
        return
    patterns = patterns.inside(folder)
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            if patterns.take(f"{entry.path}/"):
                own = configs(entry.path)
                inside = patterns if own is patterns.config else _Patterns.of(entry.path, own)
                yield from _walk(entry.path, configs, inside, problems)
        elif _is_python(entry) and patterns.take(entry.path):
            yield entry.path


def _is_python(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith((".py", SUFFIX)) and os.path.isfile(entry.path)  # noqa: PTH113  # entry.is_file raises for a loop


def _excluded(folder: str, config: Config, force: bool) -> _Rules:
    start = Path(_absolute(folder))
    base = config.root if start.is_relative_to(config.root) else start
    rules = _Rules(str(base), GitIgnoreSpec.from_lines((*config.exclude, *config.extend_exclude)))
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
