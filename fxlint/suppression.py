"""Comments that silence findings: ``# noqa``, ``# noqa: FX101``, ``# fxlint: ignore[FX101] why``, ``ignore-file[...]``.

A comment at the end of a line silences what is found on its line, and at the first or the last line of a logical line
what is found anywhere in that. ``# fxlint: ignore`` on a line of its own speaks of what comes next; ``ignore-file`` of
the whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from fxlint.findings import Confirmation, Edit, Finding, Location, Suggestion
from fxlint.project.buffers import content
from fxlint.project.comments import Comment, comments, logical_lines
from fxlint.project.notebook import of_cell
from fxlint.project.source import UnreadableSource, read_text
from fxlint.rules import RESERVED, RuleSet
from fxlint.selection import Selection, meant, near

UNUSED: Final = "suppression.unused"
"""The event of a comment that silences nothing."""

_CONCERNED: Final = re.compile(rb"noqa|fxlint:", re.IGNORECASE)
"""Bytes that a file must hold to silence anything."""
_PART: Final = re.compile(r"#[^#]*")
_NOQA: Final = re.compile(r"#\s*noqa\b(?P<colon>:\s*(?P<listed>[a-z]+\d+(?:[\s,]+[a-z]+\d+)*)?)?", re.IGNORECASE)
_IGNORE: Final = re.compile(r"#\s*fxlint:\s*(?P<word>ignore(?:-file)?)\s*(?:(?P<listed>\[[^\]]*\])|$)")
_SEPARATOR: Final = re.compile(r"[\s,]+")
_OURS: Final = re.compile(rf"{RESERVED}\d")
_NOT_TRACED: Final = Confirmation("unconfirmed", "this is a comment, and nothing of it is run")


@dataclass(frozen=True, slots=True)
class Silenced:
    """What is left of the findings, with what is told of comments that silence nothing, and how many are silenced."""

    findings: tuple[Finding, ...]
    suppressed: int = 0


@dataclass(eq=False, slots=True)
class _Suppression:
    """One request: ``selectors`` is None where it silences every rule; ``used`` are those that silenced a finding.

    ``text`` is the part of the comment that makes the request, at ``place``, and ``listed`` the span in it that holds
    the selectors.
    """

    comment: Comment
    place: Location
    text: str
    selectors: tuple[str, ...] | None
    listed: tuple[int, int]
    shared: bool
    whole_file: bool
    used: set[str] = field(default_factory=set)

    def covers(self, place: Location) -> bool:
        if self.whole_file:
            return True
        comment = self.comment
        if not comment.first <= place.line <= comment.last:
            return False
        at_an_end = comment.row in (comment.first, comment.last) or comment.line < comment.first
        return at_an_end or place.line <= comment.row <= place.end_line

    def silences(self, finding: Finding, rules: RuleSet) -> bool:
        """Whether the finding is meant; remembers by which words."""
        if not self.covers(finding.location):
            return False
        words = ["*"] if self.selectors is None else [s for s in self.selectors if finding.code in meant(s, rules)]
        self.used.update(words)
        return bool(words)


def silenced(
    findings: Sequence[Finding], paths: Sequence[str], selection: Selection, rules: RuleSet, *, traced: bool
) -> Silenced:
    """Take the findings that comments silence away, and add one for each comment in ``paths`` that silences nothing.

    Such a comment is told of only where all the rules that it speaks of were on. Tracing finds what nobody predicts, so
    it is no more than an info while nothing is ``traced``.
    """
    requests = {path: _requests(path) for path in paths}
    kept = [
        finding
        for finding in findings
        if not [one for one in requests.get(finding.location.path, ()) if one.silences(finding, rules)]
    ]
    unused = (
        _finding(one, words, rules)
        for of_file in requests.values()
        for one in of_file
        if (words := _unused(one, selection, rules))
    )
    told = [finding if traced else replace(finding, severity="info") for finding in unused if selection(finding)]
    return Silenced((*kept, *told), len(findings) - len(kept))


def with_noqa(findings: Sequence[Finding], reason: str = "") -> tuple[Edit, ...]:
    """The edits that write ``# noqa: CODE reason`` where it silences each finding.

    A comment that silences nothing is not silenced; its codes make room for those that its line needs.
    """
    wanted: dict[tuple[str, int], set[str]] = {}
    spans: dict[str, dict[int, tuple[int, int]]] = {}
    removals = [edit for finding in findings if finding.event == UNUSED for edit in finding.suggestions[0].edits]
    for finding in findings:
        if finding.event == UNUSED:
            continue
        path, line = finding.location.path, finding.location.line
        if path not in spans:
            spans[path] = logical_lines(_text(path))
        wanted.setdefault((path, spans[path].get(line, (line, line))[1]), set()).add(finding.code)
    return tuple(_noqa(path, line, codes, reason, removals) for (path, line), codes in sorted(wanted.items()))


def _noqa(path: str, line: int, codes: set[str], reason: str, removals: Sequence[Edit]) -> Edit:
    """Add the codes to the list at the end of a line, or a new list."""
    row = _text(path).split("\n")[line - 1]
    for one in _requests(path):
        if one.comment.line == line and one.shared and one.selectors is not None:
            listed = ", ".join((*_left(one, removals), *sorted(codes)))
            if len(one.text) == one.listed[1]:
                listed = f"{listed} {reason}".rstrip()
            return Edit(_listed(one), listed)
    end = len(row.rstrip()) + 1
    comment = f"# noqa: {', '.join(sorted(codes))} {reason}".rstrip()
    return Edit(Location(path, line, end, line, len(row) + 1), f"  {comment}")


def _listed(one: _Suppression) -> Location:
    start, end = (one.place.column + offset for offset in one.listed)
    return replace(one.place, column=start, end_column=end)


def _left(one: _Suppression, removals: Sequence[Edit]) -> tuple[str, ...]:
    """The selectors of a request that silence something."""
    for edit in removals:
        if edit.location == _listed(one):
            return tuple(edit.text.split(", "))
        if (edit.location.path, edit.location.line) == (one.place.path, one.place.line):
            return ()
    return one.selectors or ()


def _text(path: str) -> str:
    try:
        return read_text(path)
    except (OSError, ValueError, UnreadableSource):
        return ""


def _requests(path: str) -> tuple[_Suppression, ...]:
    try:
        if not _CONCERNED.search(content(of_cell(path)[0])):
            return ()
        return tuple(one for comment in comments(read_text(path)) for one in _in_comment(path, comment))
    except (OSError, ValueError, UnreadableSource):  # predict says why
        return ()


def _in_comment(path: str, comment: Comment) -> Iterator[_Suppression]:
    for part in _PART.finditer(comment.text):
        noqa = _NOQA.match(part[0])
        found = noqa or _IGNORE.match(part[0])
        if found is None or (noqa and (comment.alone or (noqa["colon"] and not noqa["listed"]))):
            continue  # a colon and then no code says nothing
        start, end = found.span("listed")
        whole_file = noqa is None and found["word"] == "ignore-file"
        if found["listed"] is None:
            selectors = None
        elif noqa:
            selectors = tuple(_SEPARATOR.split(found["listed"].upper()))
        else:
            start, end = start + 1, end - 1
            selectors = tuple(word for word in _SEPARATOR.split(found["listed"][1:-1]) if word)
        column = comment.column + part.start()
        text = part[0].rstrip()
        place = Location(path, comment.line, column, comment.line, column + len(text))
        yield _Suppression(comment, place, text, selectors, (start, end), noqa is not None, whole_file)


def _unused(one: _Suppression, selection: Selection, rules: RuleSet) -> tuple[str, ...]:
    """The words of a request that silenced nothing, though every rule that they mean was on."""
    if one.selectors is None:
        everything = {rule.code for rule in rules if rule.default} <= selection.codes
        return ("*",) if everything and not one.shared and not one.used else ()
    own = {rule.code for rule in rules if rule.is_own}
    ours = (word for word in one.selectors if not one.shared or _OURS.match(word) or word in own)
    return tuple(word for word in ours if word not in one.used and meant(word, rules).keys() <= selection.codes)


def _finding(one: _Suppression, words: tuple[str, ...], rules: RuleSet) -> Finding:
    """What is told of these words. A slip in one is for its author to mend: it is not removed without asking."""
    rule = rules.for_event(UNUSED)
    text = one.text if one.selectors is None or len(words) == len(one.selectors) else ", ".join(words)
    unknown = [word for word in words if one.selectors is not None and not meant(word, rules)]
    slips = "".join(f"; there is no rule '{word}'{near(word, rules)}" for word in unknown)
    removal = Suggestion("rewrite", f"remove `{text}`", (_without(one, words),), safe=not unknown)
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity_of(UNUSED),
        location=one.place,
        message=rule.message.format(text=text, origin="", callee="") + slips,
        event=UNUSED,
        confirmation=_NOT_TRACED,
        suggestions=(removal,),
    )


def _without(one: _Suppression, words: tuple[str, ...]) -> Edit:
    """The edit that takes the words away, and the whole request where none is left."""
    left = [word for word in one.selectors or () if word not in words]
    place = one.place
    if left:
        return Edit(_listed(one), ", ".join(left))
    row = _text(place.path).split("\n")[place.line - 1]
    if row.strip() == one.text:
        return Edit(Location(place.path, place.line, 1, place.line + 1, 1), "")
    before = len(row[: place.column - 1].rstrip())
    after = row[place.end_column - 1 :].strip()
    return Edit(replace(place, column=before + 1, end_column=len(row) + 1), f"  {after}" if after else "")
