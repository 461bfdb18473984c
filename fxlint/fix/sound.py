"""What has to hold of edits before they are offered: the file still parses, and keeps its comments."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fxlint.findings import Edit, Suggestion
from fxlint.fix.source import Source, first_line, on_line
from fxlint.fix.sources import Sources

MAX_PART = 1000
"""Characters that are parsed for an edit, where a part of a statement will do."""
_COMMENT = re.compile(r"#.*")
_DIRECTIVE = re.compile(r"#\s*(?:noqa|nosec|pragma|pylint|type|fmt|ruff|mypy|pyright)\b")
"""Comments for tools, which go with the code that they are about."""


def sound(suggestion: Suggestion, sources: Sources) -> Suggestion | None:
    """The suggestion with edits that keep the comments of what they replace; None where it cannot be offered."""
    edits: list[Edit] = []
    for path, group in itertools.groupby(suggestion.edits, key=lambda edit: edit.location.path):
        source = sources.get(path)
        of_file = list(group)
        if source is None:
            return None
        kept = _with_comments(source, of_file)
        if kept is None or not all(_parses(source, part, kept) for part in _parts(source, kept)):
            return None
        edits += kept
    return suggestion if tuple(edits) == suggestion.edits else replace(suggestion, edits=tuple(edits))


# -- comments ----------------------------------------------------------------------------------------------------------


def _with_comments(source: Source, edits: list[Edit]) -> list[Edit] | None:
    """The edits, with the comments that they would lose above the statement; None where there is no room for them."""
    new = "\n".join(edit.text for edit in edits)
    found: list[Edit] = []
    for edit in edits:
        lost = [one for one in _comments(source, edit) if one not in new and not _DIRECTIVE.match(one)]
        if lost:
            statement = _holder(source, edit)
            indent = source.indent(statement) if statement is not None else ""
            if statement is None or not indent:
                return None
            found.append(source.insert(first_line(statement), "".join(f"{indent}{comment}\n" for comment in lost)))
    return [*found, *edits]


def _comments(source: Source, edit: Edit) -> list[str]:
    """The comments in what an edit replaces."""
    start, end = _span(source, edit)
    old = source.file.text[start:end]
    if all(found[0].rstrip() in edit.text for found in _COMMENT.finditer(old)):
        return []
    try:  # in parentheses, indentation does not matter
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({old}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return [found[0].rstrip() for found in _COMMENT.finditer(old)]
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def _holder(source: Source, edit: Edit) -> ast.stmt | None:
    """The statement that an edit is in, or that it replaces first."""
    start, end = _span(source, edit)
    inner = _innermost(source, start, end)
    rows = source.file.text[start:end]
    first = start + len(rows) - len(rows.lstrip())
    beginning = [one for one in _blocks(inner) if source.span(one)[0] == first] if inner is not None else []
    return beginning[0] if beginning else inner


# -- syntax ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the file that is parsed by itself, with what has to stand around it."""

    start: int
    end: int
    before: str = ""
    after: str = ""


def _parts(source: Source, edits: Sequence[Edit]) -> list[_Part]:
    """The smallest parts of the file that hold the edits, each once."""
    found = (_part(source, *_span(source, edit)) for edit in edits)
    return list(dict.fromkeys(found))


def _part(source: Source, start: int, end: int) -> _Part:
    text = source.file.text
    inner = _innermost(source, start, end) if start < end else None
    if inner is None:  # whole lines between statements
        return _Part(start, end)
    row = text.rfind("\n", 0, start) + 1
    if (start, end) != source.span(inner):
        for piece in _headers(source, inner):
            if piece.start <= start and end <= piece.end:
                return piece if piece.end - piece.start <= MAX_PART else _narrowed(source, start, end) or piece
    return _Part(start if text[row:start].strip() else row, end)  # whole statements


def _narrowed(source: Source, start: int, end: int) -> _Part | None:
    """The largest expression of fair size around a part of the file that is one itself."""
    node = source.at(source.between(start, end))
    found = None
    while isinstance(node, (ast.expr, ast.keyword)) and (found is None or len(source.text(node)) <= MAX_PART):
        if not isinstance(node, (ast.keyword, ast.Starred, ast.Slice, ast.FormattedValue)):
            found = _Part(*source.span(node), "(", "\n)")
        node = source.parent(node)
    return found


def _headers(source: Source, statement: ast.stmt) -> Iterator[_Part]:
    """The statement up to its body, and each case and handler up to theirs."""
    start, end = source.span(statement)
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        word = 2 if source.file.text.startswith("elif", start) else 0
        yield _Part(start + word, _start_of(source, body[0]), after="pass")
    elif not isinstance(statement, ast.Match):
        yield _Part(start, end)
    for handler in getattr(statement, "handlers", ()):
        yield _Part(source.span(handler)[0], _start_of(source, handler.body[0]), "try: pass\n", "pass")
    for case in getattr(statement, "cases", ()):
        yield _Part(source.span(case.pattern)[0], _start_of(source, case.body[0]), "match _:\n case ", "pass")
    if isinstance(statement, ast.Match):
        yield _Part(start, source.span(statement.subject)[1], after=":\n case _: pass")


def _start_of(source: Source, statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return source.file.text.rindex("@", 0, source.span(decorators[0])[0]) if decorators else source.span(statement)[0]


def _parses(source: Source, part: _Part, edits: Sequence[Edit]) -> bool:
    pieces = [part.before]
    position = part.start
    for start, end, text in sorted(((*_span(source, edit), edit.text) for edit in edits), key=lambda span: span[:2]):
        if part.start <= start and end <= part.end:
            pieces += [source.file.text[position:start], text]
            position = end
    code = "".join([*pieces, source.file.text[position : part.end], part.after])
    if not _COMMENT.sub("", code).strip():
        return True
    if code.lstrip("\n")[:1].isspace():
        code = f"if _:\n{code}"
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# -- places ------------------------------------------------------------------------------------------------------------


def _span(source: Source, edit: Edit) -> tuple[int, int]:
    place = edit.location
    return source.offset(place.line, place.column), source.offset(place.end_line, place.end_column)


def _innermost(source: Source, start: int, end: int) -> ast.stmt | None:
    """The innermost statement that holds a part of the file."""
    line = source.between(start, start).line
    found, deeper = None, _at(source.tree, line, source, start, end)
    while deeper is not None:
        found, deeper = deeper, _at(deeper, line, source, start, end)
    return found


def _at(holder: ast.AST, line: int, source: Source, start: int, end: int) -> ast.stmt | None:
    for block in _lists(holder):
        for statement in on_line(block, line):
            if _start_of(source, statement) <= start and end <= source.span(statement)[1]:
                return statement
    return None


def _lists(holder: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        found = getattr(holder, name, None)
        if isinstance(found, list):
            yield found
    for part in (*getattr(holder, "handlers", ()), *getattr(holder, "cases", ())):
        yield part.body


def _blocks(holder: ast.AST) -> Iterator[ast.stmt]:
    for block in _lists(holder):
        yield from block
