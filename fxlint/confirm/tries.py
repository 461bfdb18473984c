"""Suggestions on their way to the worker and back: what is tried on which root, and what came of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fxlint.findings import Check, Edit, Failure, Finding, Location, Prediction, Suggestion

from .kinds import read_source
from .traces import Trace

ROOTS_PER_SUGGESTION = 3
"""A helper may break a hundred classes: a suggestion is tried on the first few."""
TOGETHER = "together"
"""The try that takes the first suggestion of every finding of a root at once."""

Try = dict[str, Any]
_RANK = {"traces": 0, "fails": 1, "not-run": 2}


def tries(prediction: Prediction) -> dict[str, list[Try]]:
    """Root id -> what to try on it. A try is described in ``fxlint/tracer/jobs.py``."""
    declared = {module.root.id: bool(module.root.instances) for module in prediction.modules}
    wanted: dict[str, list[Try]] = {}
    firsts: dict[str, list[Suggestion]] = {}
    for number, finding in enumerate(prediction.findings):
        known = [root for root in finding.modules if root in declared]
        chosen = sorted(known, key=lambda root: not declared[root])[:ROOTS_PER_SUGGESTION]
        for position, suggestion in enumerate(finding.suggestions):
            for root in () if suggestion.is_advice else chosen:
                wanted.setdefault(root, []).append({"id": _id(number, position), **_parts([suggestion])})
        first = _first(finding)
        if first is not None and finding.severity == "error":
            for root in known:
                firsts.setdefault(root, []).append(first)
    for root, suggestions in firsts.items():
        if len(suggestions) > 1:
            wanted.setdefault(root, []).append({"id": TOGETHER, **_parts(_compatible(suggestions))})
    return wanted


def checked(finding: Finding, number: int, traces: Mapping[str, Trace]) -> Finding:
    """The finding, number ``number`` of its prediction, with its suggestions checked."""
    if not finding.suggestions:
        return finding
    known = [traces[root] for root in finding.modules if root in traces]
    first = _first(finding)
    found = []
    for position, suggestion in enumerate(finding.suggestions):
        tried = [trace.checks.get(_id(number, position)) for trace in known]
        check = _check(suggestion, tried, known, finding.location)
        if check.verdict == "fails" and suggestion is first:
            check = _with_the_others(known) or check
        safe = check.verdict == "traces" and check.equal_outputs is True
        found.append(replace(suggestion, checked=check, safe=safe))
    return replace(finding, suggestions=tuple(found))


def _check(suggestion: Suggestion, checks: Sequence[Check | None], known: Sequence[Trace], place: Location) -> Check:
    """What came of a suggestion on the root where it went best."""
    if suggestion.is_advice:
        return Check("not-run", reason="it is advice")
    best = min((check for check in checks if check is not None), key=lambda check: _RANK[check.verdict], default=None)
    if best is None:
        reason = next((trace.confirmed.reason for trace in known if trace.confirmed.reason), "it was not tried")
        return Check("not-run", reason=reason)
    if best.error is None:
        return best
    error = best.error if suggestion.kind == "wrap" else _before_edits(best.error, suggestion.edits)
    if best.verdict == "fails" and not _is_at(error, place) and _is_first(error, best, checks, known):
        return replace(best, error=error, reason="another failure comes first")
    return replace(best, error=error)


def _is_at(error: Failure, place: Location) -> bool:
    return error.path == place.path and error.line is not None and place.line <= error.line <= place.end_line


def _is_first(error: Failure, best: Check, checks: Sequence[Check | None], known: Sequence[Trace]) -> bool:
    """Whether the root fails just there without the suggestion too: then the trace never came to what it changes."""
    before = known[next(number for number, check in enumerate(checks) if check is best)].confirmed.error
    return before is not None and (before.type, before.path, before.line) == (error.type, error.path, error.line)


def _with_the_others(known: Sequence[Trace]) -> Check | None:
    for trace in known:
        check = trace.checks.get(TOGETHER)
        if check is not None and check.verdict == "traces":
            return replace(check, reason="together with the first suggestions of the other findings")
    return None


def _id(finding: int, suggestion: int) -> str:
    return f"{finding}.{suggestion}"


def _first(finding: Finding) -> Suggestion | None:
    return next((suggestion for suggestion in finding.suggestions if not suggestion.is_advice), None)


def _compatible(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """The suggestions whose edits do not overlap those of the ones before, each edit once."""
    kept: list[Suggestion] = []
    done: list[Edit] = []
    for suggestion in suggestions:
        edits = [edit for edit in suggestion.edits if edit not in done]
        if not any(_overlap(edit, other) for edit in edits for other in done):
            kept.append(replace(suggestion, edits=tuple(edits)))
            done += edits
    return kept


def _overlap(one: Edit, other: Edit) -> bool:
    a, b = one.location, other.location
    if a.path != b.path:
        return False
    start_a, end_a, start_b, end_b = (
        (a.line, a.column), (a.end_line, a.end_column), (b.line, b.column), (b.end_line, b.end_column)
    )  # fmt: skip
    return start_a < end_b and start_b < end_a


def _parts(suggestions: Sequence[Suggestion]) -> Try:
    """What the worker has to do for these suggestions."""
    parts: Try = {}
    edits = [edit for one in suggestions if one.kind != "wrap" for edit in one.edits]
    if edits:
        parts["files"] = _rewritten(edits)
    wraps = [wrap for one in suggestions if one.kind == "wrap" for wrap in _wraps(one)]
    if wraps:
        parts["wraps"] = wraps
    exprs = [one.concrete_args for one in suggestions if one.concrete_args is not None]
    if exprs:
        parts["expr"] = exprs[0] if len(exprs) == 1 else f"{{{', '.join(f'**{expr}' for expr in reversed(exprs))}}}"
    settings = [one.tracer for one in suggestions if one.tracer is not None]
    if settings:
        parts["tracer"] = dict(item for one in settings for item in _settings(one))
    return parts


def _wraps(suggestion: Suggestion) -> Iterator[list[str]]:
    for edit in suggestion.edits[:1]:
        for name in (suggestion.wrap or "").split(", "):
            yield [_absolute(edit.location.path), name]


def _settings(said: str) -> Iterator[tuple[str, Any]]:
    path, separator, qualname = said.rpartition("::")
    if separator:
        yield "leaf", [_absolute(path), qualname]
    else:
        yield said, True


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _rewritten(edits: Sequence[Edit]) -> dict[str, str]:
    """Path -> source with the edits applied."""
    ordered = sorted(edits, key=lambda edit: edit.location.path)
    return {
        _absolute(path): apply(read_source(path), list(group))
        for path, group in itertools.groupby(ordered, key=lambda edit: edit.location.path)
    }


def apply(source: str, edits: Sequence[Edit]) -> str:
    """The source with edits applied, which must not overlap; those at one place in the order given."""
    starts = [0]
    for row in source.split("\n"):
        starts.append(starts[-1] + len(row) + 1)

    def offset(line: int, column: int) -> int:
        return min(starts[min(line - 1, len(starts) - 1)] + column - 1, len(source))

    spans = [
        (offset(at.line, at.column), offset(at.end_line, at.end_column), edit.text)
        for edit in edits
        for at in (edit.location,)
    ]
    pieces, position = [], 0
    for start, end, text in sorted(spans, key=lambda span: span[:2]):
        pieces += [source[position:start], text]
        position = max(position, end)
    return "".join([*pieces, source[position:]])


def _before_edits(error: Failure, edits: Sequence[Edit]) -> Failure:
    """The failure with its line as it is in the source before the edits; without a column where that line changed."""
    line = error.line
    if line is None:
        return error
    for edit in sorted((edit for edit in edits if edit.location.path == error.path), key=lambda edit: edit.location):
        added = edit.text.count("\n") - (edit.location.end_line - edit.location.line)
        first = edit.location.line
        if line < first:
            break
        if line <= first + edit.text.count("\n") - (edit.text.endswith("\n") and bool(edit.text)):
            return replace(error, line=first, column=None)
        line -= added
    return replace(error, line=line)
