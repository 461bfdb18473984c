"""Going through the files of a project, in several processes, each file on its own.

What is found in a file depends on the project alone, not on the files that the process has gone through before: so the
result is the same however the files are shared out, and a file can be left out where its result is known.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from fxlint.garbage import uncollected
from fxlint.processes import in_processes
from fxlint.project.index import Project
from fxlint.stack import roomy

RECURSION_LIMIT: Final = 8_000
"""Calls within each other that the work on a file may take."""
MAX_SOURCE: Final = 8_000_000
"""Characters of source whose syntax trees are kept at once; a tree takes some forty times the memory of its text."""
CHUNK: Final = 100_000
"""Bytes of source that go to one process before the next one gets some: files that import each other are neighbours."""

_Result = TypeVar("_Result")


def through(
    work: Callable[[Project, str], _Result],
    todo: Sequence[str],
    paths: Sequence[str],
    search_path: Sequence[Path],
    jobs: int = 1,
) -> list[_Result]:
    """``work`` on each of the files ``todo`` of the project of ``paths``; the results in that order."""
    shares = _shares(todo, jobs)
    done = in_processes(partial(_share, work, paths=paths, search_path=search_path), shares)
    results: dict[str, _Result] = {}
    for share, part in zip(shares, done, strict=True):
        results.update(zip(share, part, strict=True))
    return [results[path] for path in todo]


def _shares(paths: Sequence[str], jobs: int) -> list[list[str]]:
    shares: list[list[str]] = [[]]
    number = size = 0
    for path in paths:
        if size >= CHUNK:
            number, size = (number + 1) % jobs, 0
            if number == len(shares):
                shares.append([])
        shares[number].append(path)
        size += _size(path)
    return shares


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - once per file, before anything is read
    except OSError:
        return 0


def _share(
    work: Callable[[Project, str], _Result], share: Sequence[str], *, paths: Sequence[str], search_path: Sequence[Path]
) -> list[_Result]:
    with uncollected(), _deep():
        return roomy(lambda: list(_worked(work, share, Project(paths, search_path))))


@contextmanager
def _deep() -> Iterator[None]:
    """As many calls may nest from here, whoever calls: what is too deep is too deep in every process."""
    before = sys.getrecursionlimit()
    depth = sum(1 for _ in traceback.walk_stack(None))
    sys.setrecursionlimit(depth + RECURSION_LIMIT)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _worked(work: Callable[[Project, str], _Result], share: Sequence[str], project: Project) -> Iterator[_Result]:
    for path in share:
        yield work(project, path)
        if project.size > MAX_SOURCE:
            project.forget()
            gc.collect()  # scopes and functions refer to each other
