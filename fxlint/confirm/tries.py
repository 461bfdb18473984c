"""Suggestions on their way to the worker and back: what is tried on which root, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fxlint.findings import Check, Edit, Failure, Finding, Location, Prediction, Suggestion

from .match import HEAD_FAMILIES, has_run
from .traces import Trace

ROOTS_PER_SUGGESTION = 3
"""A helper may break a hundred classes: a suggestion is tried on the first few."""
TOGETHER = "together"
"""The try that takes the first suggestion of every finding of a root at once."""
NOT_REACHED = "but tracing did not reach this line"

Try = dict[str, Any]
_RANK = {"traces": 0, "fails": 1, "not-run": 2}
_OUTPUTS_RANK = {False: 0, True: 1, None: 2}
"""Outputs that differ on one root tell more than those that are equal on another."""


def tries(prediction: Prediction) -> dict[str, list[Try]]:
    """Root id -> what to try on it, what matters most first. A try is described in ``fxlint/tracer/jobs.py``.

    The same way out is tried once on a root, however many findings carry it.
    """
    declared = {module.root.id: bool(module.root.instances or module.root.inputs) for module in prediction.modules}
    roots = [[root for root in finding.modules if root in declared] for finding in prediction.findings]
    chosen = [sorted(known, key=lambda root: not declared[root])[:ROOTS_PER_SUGGESTION] for known in roots]
    wanted: dict[str, dict[str, Try]] = {}
    firsts: dict[str, list[Suggestion]] = {}
    for finding, known, few in zip(prediction.findings, roots, chosen, strict=True):
        first = _first(finding)
        if first is None:
            continue
        for root in few:
            _want(wanted.setdefault(root, {}), first, finding)
        for root in known if finding.severity == "error" else ():
            firsts.setdefault(root, []).append(first)
    for root, suggestions in firsts.items():
        together = _parts(_compatible(suggestions))
        if together not in (_parts([suggestion]) for suggestion in suggestions):
            wanted.setdefault(root, {})[TOGETHER] = {"id": TOGETHER, **together}
    for finding, few in zip(prediction.findings, chosen, strict=True):
        for suggestion in finding.suggestions:
            for root in () if suggestion.is_advice else few:
                _want(wanted[root], suggestion, finding)
    return {root: list(listed.values()) for root, listed in wanted.items()}


def _want(wanted: dict[str, Try], suggestion: Suggestion, finding: Finding) -> None:
    """Note a try. Tracing must come to one of the lines ``at`` for it to be of use; without those it always may be."""
    key = try_id(suggestion)
    known = wanted.setdefault(key, {"id": key, **_parts([suggestion]), "at": []})
    if suggestion.concrete_args or finding.event.partition(".")[0] in HEAD_FAMILIES:
        known["at"] = None
    place = [_absolute(finding.location.path), finding.location.line, finding.location.end_line]
    if known["at"] is not None and place not in known["at"]:
        known["at"].append(place)


def try_id(suggestion: Suggestion) -> str:
    """The same for suggestions that come to the same: what is changed, and not the words or the place that asks."""
    edits = suggestion.edits[:1] if suggestion.kind == "wrap" else suggestion.edits
    changes = (
        [edit.location.path for edit in edits] if suggestion.kind == "wrap" else edits,
        suggestion.concrete_args, suggestion.wrap, suggestion.tracer,
    )  # fmt: skip
    return hashlib.sha256(repr(changes).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def checked(finding: Finding, traces: Mapping[str, Trace]) -> Finding:
    """The finding with its suggestions checked. Where tracing does not come to its place, nothing shows them safe."""
    if not finding.suggestions:
        return finding
    known = [traces[root] for root in finding.modules if root in traces]
    first = _first(finding)
    passed_by = finding.confirmation.status == "unreached" and not any(has_run(finding, trace) for trace in known)
    found = []
    for suggestion in finding.suggestions:
        key = try_id(suggestion)
        check = _check(suggestion, [trace.checks.get(key) for trace in known], known, finding.location)
        if check.verdict != "traces" and suggestion is first:
            check = _with_the_others(known) or check
        if check.verdict == "traces" and passed_by:
            check = replace(check, reason=NOT_REACHED)
        safe = check.verdict == "traces" and check.equal_outputs is True and not passed_by
        found.append(replace(suggestion, checked=check, safe=safe))
    return replace(finding, suggestions=tuple(found))


def _check(suggestion: Suggestion, checks: Sequence[Check | None], known: Sequence[Trace], place: Location) -> Check:
    """What came of a suggestion on the root where it went best."""
    if suggestion.is_advice:
        return Check("not-run", reason="it is advice")
    made = [check for check in checks if check is not None]
    best = min(made, key=lambda check: (_RANK[check.verdict], _OUTPUTS_RANK[check.equal_outputs]), default=None)
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
        parts["edits"] = _edits(edits)
    wraps = dict.fromkeys(wrap for one in suggestions if one.kind == "wrap" for wrap in _wraps(one))
    if wraps:
        parts["wraps"] = [list(wrap) for wrap in wraps]
    exprs = list(dict.fromkeys(one.concrete_args for one in suggestions if one.concrete_args is not None))
    if exprs:
        parts["expr"] = exprs[0] if len(exprs) == 1 else f"{{{', '.join(f'**{expr}' for expr in reversed(exprs))}}}"
    settings = [one.tracer for one in suggestions if one.tracer is not None]
    if settings:
        parts["tracer"] = dict(item for one in settings for item in _settings(one))
    return parts


def _wraps(suggestion: Suggestion) -> Iterator[tuple[str, str]]:
    for edit in suggestion.edits[:1]:
        for name in (suggestion.wrap or "").split(", "):
            yield _absolute(edit.location.path), name


def _settings(said: str) -> Iterator[tuple[str, Any]]:
    path, separator, qualname = said.rpartition("::")
    if separator:
        yield "leaf", [_absolute(path), qualname]
    else:
        yield said, True


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _edits(edits: Sequence[Edit]) -> dict[str, list[list[Any]]]:
    """Path -> edits in it, as the worker takes them (``fxlint/tracer/edits.py``)."""
    found: dict[str, list[list[Any]]] = {}
    for edit in edits:
        at = edit.location
        found.setdefault(_absolute(at.path), []).append([at.line, at.column, at.end_line, at.end_column, edit.text])
    return found


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
