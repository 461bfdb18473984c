"""What is found in a file depends on the project alone, not on who goes through it."""

import sys

from fxlint.project.index import Project
from fxlint.project.through import through


def _room(project: Project, path: str) -> int:
    """How many calls may nest before there are too many."""
    try:
        return 1 + _room(project, path)
    except RecursionError:
        return 1


def _through(depth: int = 0) -> list[int]:
    return _through(depth - 1) if depth else through(_room, ["model.py"], ["model.py"], [])


def test_what_nests_too_deeply_does_so_whoever_calls_and_wherever():
    before = sys.getrecursionlimit()
    assert _through() == _through(depth=200)
    try:
        sys.setrecursionlimit(20_000)
        higher = _through()
    finally:
        sys.setrecursionlimit(before)
    assert higher == _through()
    assert sys.getrecursionlimit() == before, "the caller has the limit that it set"
