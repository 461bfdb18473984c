"""Slips in what the user declares, in comments and in the configuration: each would otherwise go unheard."""

from __future__ import annotations

import ast
import difflib
import io
import os
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fxlint.findings import Problem, Root
from fxlint.project.naming import module_name
from fxlint.project.source import text_of
from fxlint.tracing import files_named

_COMMENT = re.compile(r"#\s*fxlint:\s*(?P<said>(?P<word>[\w-]*).*?)\s*$")
_VALUES = {"instance": "an expression that makes one", "inputs": "a tuple of example inputs"}
_SILENCING = ("ignore", "ignore-file")
_KNOWN = (*_VALUES, "trace", *_SILENCING)


def slips(
    roots: Sequence[Root],
    files: Iterable[str],
    tables: Mapping[str, Mapping[str, tuple[str, ...]]],
    config: str,
    folders: Sequence[Path],
) -> tuple[Problem, ...]:
    """One problem per slip. ``tables`` are those of the configuration file ``config``, by name; their keys start in
    ``folders``. A key that names a file which exists, but is not linted this time, is no slip.
    """
    files = tuple(files)
    in_tables = (
        slip for name, table in tables.items() for slip in _in_table(name, table, roots, files, config, folders)
    )
    return (*_in_comments(roots, files), *in_tables)


def _in_comments(roots: Sequence[Root], files: Iterable[str]) -> Iterator[Problem]:
    declared: dict[str, set[tuple[str, str | None]]] = {}
    for root in roots:
        instances = {("instance", expression) for expression in root.instances}
        declared.setdefault(root.path, set()).update({("inputs", root.inputs), *instances})
    for path in files:
        for line, said, word in _comments(text_of(path)):
            message = _slip_in_comment(said, word, declared.get(path, set()))
            if message is not None:
                yield Problem(path, message, line, stage="confirm")


def _slip_in_comment(said: str, word: str, declared: set[tuple[str, str | None]]) -> str | None:
    if word not in _KNOWN:
        near = difflib.get_close_matches(word, _KNOWN, n=1, cutoff=0.5)
        known = "`instance=...`, `inputs=...`, `trace`, `ignore[...]` and `ignore-file[...]`"
        hint = f"; did you mean `{near[0]}`?" if near else f"; known are {known}"
        return f"`# fxlint: {said}` says nothing to fxlint{hint}"
    rest = said.removeprefix(word).strip()
    if word in _SILENCING:
        if not rest or re.match(r"\[[^\]]*\w[^\]]*\]", rest):
            return None
        return f"`# fxlint: {said}` is not understood; write `{word}` alone, or `{word}[CODE]` and then a reason"
    if word == "trace":
        return None if not rest else f"`# fxlint: {said}` is not understood: nothing may follow `trace`"
    expression = rest.removeprefix("=").strip()
    if not rest.startswith("=") or not expression:
        return f"`# fxlint: {said}` is not understood; write `{word}=` and {_VALUES[word]}"
    wrong = _syntax_error(expression)
    if wrong is not None:
        return f"`# fxlint: {said}` is no expression: {wrong}"
    if (word, expression) not in declared:
        return f"`# fxlint: {said}` stands beside no module class with a forward"
    return None


def _in_table(
    name: str,
    table: Mapping[str, tuple[str, ...]],
    roots: Sequence[Root],
    files: Sequence[str],
    config: str,
    folders: Sequence[Path],
) -> Iterator[Problem]:
    if not table:
        return
    known = {
        (place, root.qualname)
        for root in roots
        for place in (os.path.realpath(root.path), module_name(Path(root.path)).name)
    }
    linted = {place for path in files for place in (os.path.realpath(path), module_name(Path(path)).name)}
    for key, expressions in table.items():
        owner, separator, qualname = key.partition("::")
        if not separator:
            owner, _, qualname = key.partition(":")
        places = [os.path.realpath(folder / owner) for folder in folders] if separator else [owner]
        if not any((place, qualname) in known for place in places):
            message = _slip_in_key(owner, qualname, places, bool(separator), known, linted, folders)
            if message is not None:
                yield Problem(config, f"{name}: '{key}' {message}", stage="confirm")
        for expression in expressions:
            wrong = _syntax_error(expression)
            if wrong is not None:
                yield Problem(config, f"{name}: '{key}': `{expression}` is no expression: {wrong}", stage="confirm")


def _slip_in_key(
    owner: str,
    qualname: str,
    places: Sequence[str],
    is_path: bool,
    known: set[tuple[str, str]],
    linted: set[str],
    folders: Sequence[Path],
) -> str | None:
    if any(place in linted for place in places):
        here = [name for place, name in known if place in places]
        near = difflib.get_close_matches(qualname, here, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        return f"names no module class: there is no {qualname} with a forward in that file{hint}"
    exists = any(os.path.isfile(place) for place in files_named(owner, is_path, folders))  # noqa: PTH113
    return None if exists else f"names no file: there is no {'file' if is_path else 'module'} {owner}"


def _comments(source: str) -> Iterator[tuple[int, str, str]]:
    """(line, what is said to fxlint, its first word) of each comment."""
    if "fxlint:" not in source:
        return
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            found = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if found:
                yield token.start[0], found["said"], found["word"]
    except (tokenize.TokenError, SyntaxError):
        return


def _syntax_error(expression: str) -> str | None:
    """What is wrong with an expression; None where nothing is."""
    try:
        ast.parse(expression.strip(), mode="eval")
    except SyntaxError as error:
        return error.msg
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def is_expression(text: str) -> bool:
    return _syntax_error(text) is None
