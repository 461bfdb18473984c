"""Predicted findings against what the tracer met: which are confirmed, refuted, unreached, and what nobody predicted.

Pure functions: nothing here reads a file or starts a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fxlint.findings import Confirmation, Finding, Location, Root
from fxlint.rules import RuleSet

from .kinds import Kind
from .traces import Ended, Met, Place, Trace

OBSERVED = frozenset(
    {"bool", "iter", "len", "index", "int", "float", "complex", "round", "format", "kwargs", "setitem", "key", "tensor",
     "call", "output", "raise", "module", "signature", "root", "context", "wrap", "math"}
)  # fmt: skip
"""The families that the tracer can see; of others it cannot say that nothing happened."""

_RELATED = (
    frozenset({"index", "int", "float", "complex", "round", "tensor", "call", "math"}),
    frozenset({"bool", "iter", "key"}),
    frozenset({"iter", "kwargs", "len"}),
    frozenset({"signature", "iter", "kwargs", "setitem", "key", "call"}),
    frozenset(
        {"root", "bool", "iter", "len", "index", "int", "float", "call", "tensor", "raise", "kwargs", "key", "setitem"}
    ),
    frozenset({"raise", "call", "key", "wrap", "module"}),
    frozenset({"output", "call"}),
)
"""Families that stand for each other where the two halves name one thing differently."""

_HEAD_FAMILIES = frozenset({"output", "signature", "root", "wrap"})
"""What can fail while no line of the user's is running."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The findings with their confirmations, and for each event that nobody predicted its root."""

    findings: tuple[Finding, ...]
    unpredicted: tuple[tuple[str, Met], ...]


def match(findings: Sequence[Finding], traces: Mapping[str, Trace]) -> Matched:
    """Judge every finding by the traces of its roots (root id -> trace)."""
    by_root: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        for root in finding.modules:
            by_root.setdefault(root, []).append(number)
    proofs: dict[int, dict[str, Met]] = {}
    unpredicted: list[tuple[str, Met]] = []
    for root, trace in traces.items():
        numbers = by_root.get(root, [])
        for met in trace.met:
            hits = _best([(number, findings[number]) for number in numbers], met)
            for number in hits:
                proofs.setdefault(number, {}).setdefault(root, met)
            if not hits:
                unpredicted.append((root, met))
    judged = tuple(
        replace(finding, confirmation=_judge(finding, traces, proofs.get(number, {})))
        for number, finding in enumerate(findings)
    )
    return Matched(judged, tuple(unpredicted))


def _best(findings: Iterable[tuple[int, Finding]], met: Met) -> list[int]:
    """The findings that an event proves: those that fit it best."""
    scores = {number: _score(finding, met) for number, finding in findings}
    best = max(scores.values(), default=0.0)
    return [number for number, score in scores.items() if score == best] if best >= 1 else []


def _score(finding: Finding, met: Met) -> float:
    """How well an event fits a finding, below 1 for not at all: the line first, then the family, then the columns."""
    family = finding.event.partition(".")[0]
    if met.place is None:
        return _score_without_place(family, met)
    if _covers_line(finding.location, met.place):
        span = 0.5 * _touches(finding.location, met.place) + 0.25 * _equals(finding.location, met.place)
        if family == met.family:
            return 4 + span
        if _related(family, met.family):
            return 2 + span
        stops = met.error is not None or met.answers == 0
        return (1 if stops and not met.caught else 0) + span
    if family in ("root", "call", "signature") and any(_covers_line(finding.location, place) for place in met.outer):
        return 1
    return 0


def _score_without_place(family: str, met: Met) -> float:
    if family not in _HEAD_FAMILIES:
        return 0
    if family == met.family:
        return 4
    return 2 if met.family is None or _related(family, met.family) else 0


def _judge(finding: Finding, traces: Mapping[str, Trace], proofs: Mapping[str, Met]) -> Confirmation:
    if proofs:
        return _confirmed(finding, traces, proofs)
    if finding.event.partition(".")[0] not in OBSERVED:
        return Confirmation("unconfirmed", "the tracer cannot observe events of this kind")
    known = [(root, traces[root]) for root in finding.modules if root in traces]
    if not known:
        return Confirmation("unconfirmed", "none of its modules was traced")
    reasons = [_why_open(finding, trace) for _, trace in known]
    ran = [trace for (_, trace), reason in zip(known, reasons, strict=True) if reason is None]
    reached = [trace for trace in ran if any(_inside(finding.location, place) for place in trace.executed)]
    if reached and all(_failed_as_a_whole(finding, trace) for trace in reached):
        return Confirmation("unreached", "the call fails for another reason first")
    if reached:
        return Confirmation("refuted", "it ran while tracing, and nothing happened")
    if ran:
        bounded = any(not trace.complete for trace in ran)
        why = "the recording met its bounds before it came here" if bounded else "tracing never comes here"
        return Confirmation("unreached", why)
    return Confirmation("unconfirmed", next(reason for reason in reasons if reason is not None))


def _confirmed(finding: Finding, traces: Mapping[str, Trace], proofs: Mapping[str, Met]) -> Confirmation:
    first = next(iter(proofs.values()))
    stopped = next((met for met in proofs.values() if met.answers == 0 and not met.caught), None)
    if stopped is not None:
        root = next(root for root, met in proofs.items() if met is stopped)
        error = traces[root].confirmed.error or stopped.error
        return Confirmation("confirmed", None, error)
    if all(met.caught for met in proofs.values()):
        return Confirmation(
            "confirmed", "the code under lint catches the exception; its handler is traced", first.error
        )
    shown = next((met.error for met in proofs.values() if met.error is not None), None)
    return Confirmation("confirmed", "it comes after the first failure", shown)


def _why_open(finding: Finding, trace: Trace) -> str | None:
    """Why a trace says nothing on a finding, None where it does."""
    if trace.confirmed.verdict == "not-run":
        return trace.confirmed.reason
    if not trace.recorded:
        return f"the recording did not finish: {trace.unfinished}" if trace.unfinished else "it was not recorded"
    end = next((end for end in trace.ended if end.place and _covers_line(finding.location, end.place)), None)
    return None if end is None else f"the recording ended on this line: {_told(end)}"


def _failed_as_a_whole(finding: Finding, trace: Trace) -> bool:
    """Whether the very expression of the finding was rejected: what would have happened inside it was not seen."""
    return any(
        met.place is not None and met.error is not None and _equals(finding.location, met.place) for met in trace.met
    )


def _told(end: Ended) -> str:
    message = " ".join(end.message.split())
    return f"{end.type}: {message[:120]}" if message else end.type


def new_findings(
    unpredicted: Iterable[tuple[str, Met]],
    findings: Sequence[Finding],
    traces: Mapping[str, Trace],
    roots: Mapping[str, Root],
    rules: RuleSet,
    kind_of: Callable[[Root, Met], Kind | None],
) -> tuple[Finding, ...]:
    """Findings for what nobody predicted, one per place and code. A place that has a finding already gets no other."""
    taken = {root: [finding for finding in findings if root in finding.modules] for root in traces}
    added: dict[tuple[str, Location], Finding] = {}
    for root, met in sorted(unpredicted, key=lambda item: item[1].answers):
        if met.family is None or met.caught or traces[root].confirmed.verdict == "traces":
            continue  # a failure that the code under lint catches changes the graph, but keeps nothing from tracing
        kind = kind_of(roots[root], met)
        if kind is None or any(_says_it(finding, kind) for finding in taken[root]):
            continue
        finding = _finding(root, met, kind, rules, traces[root])
        if finding is None:
            continue
        key = (finding.code, finding.location)
        known = added.get(key)
        added[key] = finding if known is None else replace(known, modules=tuple(dict.fromkeys((*known.modules, root))))
        taken[root].append(finding)
    return tuple(added.values())


def _finding(root: str, met: Met, kind: Kind, rules: RuleSet, trace: Trace) -> Finding | None:
    try:
        rule = rules.for_event(kind.event)
    except KeyError:
        return None
    origin = met.origin or kind.text
    error = (trace.confirmed.error if met.answers == 0 else None) or met.error
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity_of(kind.event),
        location=kind.location,
        message=rule.message.format(text=kind.text, origin=origin, callee=kind.callee),
        event=kind.event,
        modules=(root,),
        certainty="conditional" if met.decisions else "always",
        confirmation=Confirmation("confirmed", "met by the tracer, not predicted", error),
    )


def _related(first: str, second: str | None) -> bool:
    return any(first in group and second in group for group in _RELATED)


def _covers_line(location: Location, place: Place) -> bool:
    """An instruction of a condition may span its whole statement: its first line counts, or being within it."""
    if location.path != place.path:
        return False
    return location.line <= place.line <= location.end_line or (
        place.line <= location.line <= location.end_line <= place.last_line and _is_narrow(place)
    )


def _is_narrow(place: Place) -> bool:
    return place.last_line - place.line < 30


def _touches(location: Location, place: Place) -> bool:
    if place.column is None or place.end_column is None:
        return True
    start, end = (place.line, place.column), (place.last_line, place.end_column)
    return start < (location.end_line, location.end_column) and (location.line, location.column) < end


def _equals(location: Location, place: Place) -> bool:
    return (location.line, location.column, location.end_line, location.end_column) == (
        place.line, place.column, place.last_line, place.end_column
    )  # fmt: skip


def _inside(location: Location, place: Place) -> bool:
    """Whether an executed instruction belongs to the finding's span."""
    if location.path != place.path:
        return False
    if place.column is None or place.end_column is None:
        return location.line <= place.line <= location.end_line
    return (location.line, location.column) <= (place.line, place.column) and (
        place.last_line, place.end_column
    ) <= (location.end_line, location.end_column)  # fmt: skip


def _says_it(finding: Finding, kind: Kind) -> bool:
    """Whether a finding already tells of what happened there: a stand-in may make a second event of the first one."""
    if finding.location == kind.location:
        return True
    family = finding.event.partition(".")[0]
    return family == kind.event.partition(".")[0] and _overlap(finding.location, kind.location)


def _overlap(first: Location, second: Location) -> bool:
    return (
        first.path == second.path
        and (first.line, first.column) < (second.end_line, second.end_column)
        and (second.line, second.column) < (first.end_line, first.end_column)
    )
