"""Predicted findings against what the tracer met: which are confirmed, refuted, unreached, and what nobody predicted.

Pure functions: nothing here reads a file or starts a process.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fxlint.findings import Confirmation, Failure, Finding, Location, Root
from fxlint.rules import RuleSet

from . import silence
from .kinds import Kind
from .places import overlap, span_of
from .silence import TRAINING
from .traces import Ended, Met, Place, Trace

OBSERVED = frozenset(
    {"bool", "iter", "len", "index", "int", "float", "complex", "round", "format", "kwargs", "setitem", "key", "tensor",
     "call", "output", "raise", "module", "signature", "root", "context", "wrap", "math"}
)  # fmt: skip
"""The families that the tracer can see; of others it cannot say that nothing happened."""

AFTER = "only after stand-ins for what fails before"
"""What is confirmed by the recording alone: there the results of what failed before are made up."""

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
    frozenset({"tensor", "len"}),
)
"""Families that stand for each other where the two halves name one thing differently."""

SILENT = "silent"
"""The family of what traces, and leaves a graph that is not the model."""

MET_BY_RUNNING = frozenset({SILENT, "told"})
"""The families of what traces, and is wrong or written in a way the project avoids: no failure proves it."""

_OF_THE_RESULT = frozenset({"silent.decorator", "silent.hook", "silent.method"})
"""What is left out of every graph of the class, wherever tracing goes."""

HEAD_FAMILIES = frozenset({"output", "signature", "root", "wrap"})
"""What can fail while no line of the user's is running."""


def family_of(finding: Finding) -> str:
    return finding.event.partition(".")[0]


IsAbout = Callable[[Location, Place], bool]
"""Whether what happened at a place happened to the construct at a location, see ``places.py``."""


def _overlapping(location: Location, place: Place) -> bool:
    """What can be said of two places without the source."""
    return location.path == place.path and overlap(location, place)


@dataclass(frozen=True, slots=True)
class Matched:
    """The findings with their confirmations, and for each event that nobody predicted its root."""

    findings: tuple[Finding, ...]
    unpredicted: tuple[tuple[str, Met], ...]


def match(findings: Sequence[Finding], traces: Mapping[str, Trace], is_about: IsAbout = _overlapping) -> Matched:
    """Judge every finding by the traces of its roots (root id -> trace).

    A root that meets what was predicted for others only becomes one of them.
    """
    by_root: dict[str, list[int]] = {}
    by_family: dict[tuple[str, str], list[int]] = {}
    for number, finding in enumerate(findings):
        by_family.setdefault((finding.location.path, family_of(finding)), []).append(number)
        for root in finding.modules if family_of(finding) not in MET_BY_RUNNING else ():
            by_root.setdefault(root, []).append(number)
    proofs: dict[int, dict[str, Met]] = {}
    unpredicted: list[tuple[str, Met]] = []
    for root, trace in traces.items():
        numbers = by_root.get(root, [])
        for met in trace.met:
            hits = _best([(number, findings[number]) for number in numbers], met, is_about)
            if not hits and _is_news(met, trace) and met.place is not None and met.family is not None:
                others = by_family.get((met.place.path, met.family), [])
                hits = [number for number in others if is_about(findings[number].location, met.place)]
            for number in hits:
                proofs.setdefault(number, {}).setdefault(root, met)
            if not hits:
                unpredicted.append((root, met))
    beside = _beside_each_other(findings, traces)
    judged = []
    for number, finding in enumerate(findings):
        met_in = proofs.get(number, {})
        finding = replace(finding, modules=tuple(dict.fromkeys((*finding.modules, *met_in))))
        if family_of(finding) in MET_BY_RUNNING:
            said = _judge_by_running(finding, traces, beside)
        else:
            said = _judge(finding, traces, met_in, is_about)
        judged.append(replace(finding, confirmation=said))
    return Matched(tuple(judged), tuple(unpredicted))


def _best(findings: Iterable[tuple[int, Finding]], met: Met, is_about: IsAbout) -> list[int]:
    """The findings that an event proves: those that fit it best, and of a family that is met under other names."""
    fitting = list(findings)
    scores = {number: _score(finding, met, is_about) for number, finding in fitting}
    best = max(scores.values(), default=0.0)
    if best < 1:
        return []
    return [
        number
        for number, finding in fitting
        if scores[number] == best or (scores[number] >= 2 and family_of(finding) in HEAD_FAMILIES)
    ]


def _score(finding: Finding, met: Met, is_about: IsAbout) -> float:
    """How well an event fits a finding, below 1 for not at all: the place decides, then the family.

    Of the stock tracer's failure the place is enough: whatever it is called, tracing stops there.
    """
    family = family_of(finding)
    if met.place is None:
        return _score_without_place(family, met)
    if is_about(finding.location, met.place):
        exact = 0.5 * (span_of(finding.location) == span_of(met.place))
        if family == met.family:
            return 4 + exact
        if _related(family, met.family):
            return 2 + exact
        return 1 + exact if met.answers == 0 and not met.caught else 0
    if family in ("root", "call", "signature") and any(is_about(finding.location, place) for place in met.outer):
        return 1
    return 0


def _score_without_place(family: str, met: Met) -> float:
    if family not in HEAD_FAMILIES:
        return 0
    if family == met.family:
        return 4
    return 2 if met.family is None or _related(family, met.family) else 0


def _judge(finding: Finding, traces: Mapping[str, Trace], proofs: Mapping[str, Met], is_about: IsAbout) -> Confirmation:
    if proofs:
        return _confirmed(finding, traces, proofs)
    if family_of(finding) not in OBSERVED:
        return Confirmation("unconfirmed", "the tracer cannot observe events of this kind")
    known = [(root, traces[root]) for root in finding.modules if root in traces]
    if not known:
        return Confirmation("unconfirmed", "none of its modules was traced")
    reasons = {root: _why_open(finding, trace) for root, trace in known}
    ran = {root: trace for root, trace in known if reasons[root] is None}
    reached = {root: trace for root, trace in ran.items() if has_run(finding, trace)}
    stopped = {root: _stopped_inside(finding, trace, is_about) for root, trace in reached.items()}
    if reached and all(stopped.values()):
        return Confirmation("unreached", _of(next(iter(stopped.values())) or "", reached, finding))
    if reached:
        quiet = [root for root in reached if not stopped[root]]
        explored = [root for root in quiet if traces[root].complete]
        if explored:
            return Confirmation("refuted", _of("it ran while tracing, and nothing happened", explored, finding))
        why = "it ran, and nothing happened before the recording met its bounds"
        return Confirmation("unreached", _of(why, quiet, finding))
    return _not_met(finding, ran, reasons)


def _not_met(finding: Finding, ran: Mapping[str, Trace], reasons: Mapping[str, str | None]) -> Confirmation:
    """Where tracing did not come to a construct: ``ran`` are the roots of which that is certain."""
    if ran:
        bounded = any(not trace.complete for trace in ran.values())
        why = "the recording met its bounds before it came here" if bounded else "tracing never comes here"
        return Confirmation("unreached", _of(why, ran, finding))
    root, reason = next(iter(reasons.items()))
    return Confirmation("unconfirmed", _of(reason or "", [root], finding))


def _beside_each_other(findings: Iterable[Finding], traces: Mapping[str, Trace]) -> Mapping[tuple[str, bool], int]:
    """(root id, whether it is about the training flag) -> how many findings may be to blame where its graph does not do
    what the module does: those that were met in it. The training flag stands apart, for each mode has its own graph.
    """
    return collections.Counter(
        (root, one.event == TRAINING)
        for one in findings
        if family_of(one) == SILENT
        for root in one.modules
        if root in traces and _is_met(one, traces[root])
    )


def _judge_by_running(
    finding: Finding, traces: Mapping[str, Trace], beside: Mapping[tuple[str, bool], int]
) -> Confirmation:
    """Such a thing is met where it runs while tracing; nothing has to fail for it."""
    known = {root: traces[root] for root in finding.modules if root in traces}
    if not known:
        return Confirmation("unconfirmed", "none of its modules was traced")
    of_result = finding.event in _OF_THE_RESULT
    met = [root for root, trace in known.items() if _is_met(finding, trace)]
    if not met:
        reasons = {root: _why_open(finding, trace) for root, trace in known.items()}
        return _not_met(finding, {root: trace for root, trace in known.items() if reasons[root] is None}, reasons)
    together = {root: beside[root, finding.event == TRAINING] for root in met}
    judged = {root: silence.judged(finding.event, of_result, traces[root], together[root]) for root in met}
    best = min(judged.values(), key=silence.rank)
    roots = [root for root in met if silence.rank(judged[root]) == silence.rank(best)]
    return replace(best, reason=_of(best.reason or "", roots, finding))


def _is_met(finding: Finding, trace: Trace) -> bool:
    if finding.event in _OF_THE_RESULT:
        return trace.confirmed.verdict == "traces"
    return has_run(finding, trace)


def _confirmed(finding: Finding, traces: Mapping[str, Trace], proofs: Mapping[str, Met]) -> Confirmation:
    """Tells of the proof that says most: where the stock tracer stops, else what is met later, else what is caught."""
    root = min(proofs, key=lambda root: (proofs[root].caught, proofs[root].answers > 0, proofs[root].error is None))
    met = proofs[root]
    if met.caught:
        reason, error = "the code under lint catches the exception; its handler is traced", met.error
    elif met.answers:
        reason, error = AFTER, met.error
    else:
        reason, error = "", _stock_error(traces[root], met)
    return Confirmation("confirmed", _of(reason, proofs, finding) or None, error)


def _stock_error(trace: Trace, met: Met) -> Failure | None:
    """What the stock tracer says where it stopped, if that is where the event was met; else the event's own word."""
    error, place = trace.confirmed.error, met.place
    if error is None or place is None:
        return error or met.error
    return error if (error.path, error.line, error.column) == (place.path, place.line, place.column) else met.error


def _of(reason: str, roots: Iterable[str], finding: Finding) -> str:
    """The reason, with the modules that it comes from where those are not all of the finding."""
    named = [root.rpartition("::")[2] for root in roots]
    if len(named) == len(finding.modules):
        return reason
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    where = f"in {named[0]}{more} of {len(finding.modules)} modules"
    return f"{where}: {reason}" if reason else where


def _why_open(finding: Finding, trace: Trace) -> str | None:
    """Why a trace says nothing on a finding, None where it does."""
    if trace.confirmed.verdict == "not-run":
        return trace.confirmed.reason
    if not trace.recorded:
        return f"the recording did not finish: {trace.unfinished}" if trace.unfinished else "it was not recorded"
    end = next((end for end in trace.ended if end.place and _on_its_lines(finding.location, end.place)), None)
    return None if end is None else f"the recording ended on this line: {_told(end)}"


def _stopped_inside(finding: Finding, trace: Trace, is_about: IsAbout) -> str | None:
    """Why nothing can be said although part of the construct ran: something else was rejected there, or inside it."""
    for met in trace.met:
        if met.place is None or (met.error is None and met.answers):
            continue
        if is_about(finding.location, met.place):
            return "it fails for another reason first"
        if _inside(finding.location, met.place) and not _ran(finding, trace, is_about):
            return "something inside it fails before"
    for end in trace.ended:
        if any(_inside(finding.location, place) for place in end.outer) and not _ran(finding, trace, is_about):
            return f"the recording ended in what it calls before: {_told(end)}"
    return None


def _ran(finding: Finding, trace: Trace, is_about: IsAbout) -> bool:
    """Whether the construct itself ran, and not only a part of it."""
    return any(is_about(finding.location, place) for place in trace.executed)


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
    failures = [finding for finding in findings if family_of(finding) not in MET_BY_RUNNING]
    taken = {root: [finding for finding in failures if root in finding.modules] for root in traces}
    added: dict[tuple[str, Location], Finding] = {}
    for root, met in sorted(unpredicted, key=lambda item: item[1].answers):
        if met.family is None or not _is_news(met, traces[root]):
            continue
        kind = kind_of(roots[root], met)
        if kind is None or any(_says_it(finding, met, kind) for finding in taken[root]):
            continue
        finding = _finding(root, met, kind, rules, traces[root])
        if finding is None:
            continue
        key = (finding.code, finding.location)
        known = added.get(key)
        added[key] = finding if known is None else replace(known, modules=tuple(dict.fromkeys((*known.modules, root))))
        taken[root].append(finding)
    for root, met in unpredicted:
        if _is_of_torch(met) and not any(_explains(finding) for finding in taken[root]):
            kind = kind_of(roots[root], met)
            finding = _finding(root, met, kind, rules, traces[root]) if kind is not None else None
            if finding is not None:
                added[(finding.code, finding.location)] = finding
                taken[root].append(finding)
    return tuple(added.values())


def _is_of_torch(met: Met) -> bool:
    """Whether the stock tracer failed with nobody's code on the stack but torch's: no instance is to blame for it."""
    return met.family is None and met.place is None and met.error is not None and met.error.path is None


def _explains(finding: Finding) -> bool:
    """Whether a finding may be why a module fails."""
    return finding.severity == "error" and finding.confirmation.status in ("confirmed", "unconfirmed")


def _is_news(met: Met, trace: Trace) -> bool:
    """Whether an event that nobody predicted is worth a finding.

    A failure that the code under lint catches changes the graph, but keeps nothing from tracing.
    """
    return not (met.caught or met.collateral or trace.confirmed.verdict == "traces")


def _finding(root: str, met: Met, kind: Kind, rules: RuleSet, trace: Trace) -> Finding | None:
    try:
        rule = rules.for_event(kind.event)
    except KeyError:
        return None
    origin = met.origin or kind.text
    error = met.error if met.answers else _stock_error(trace, met)
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity_of(kind.event),
        location=kind.location,
        message=rule.message.format(text=kind.text, origin=origin, callee=kind.callee),
        event=kind.event,
        modules=(root,),
        certainty="conditional" if met.decisions else "always",
        confirmation=Confirmation("confirmed", f"not predicted; {AFTER}" if met.answers else "not predicted", error),
    )


def _related(first: str, second: str | None) -> bool:
    return any(first in group and second in group for group in _RELATED)


def _on_its_lines(location: Location, place: Place) -> bool:
    return location.path == place.path and location.line <= place.line <= location.end_line


def has_run(finding: Finding, trace: Trace) -> bool:
    """Whether anything of the construct has run while tracing."""
    return any(_inside(finding.location, place) for place in trace.executed)


def _inside(location: Location, place: Place) -> bool:
    """Whether an executed instruction belongs to the finding's span."""
    if location.path != place.path:
        return False
    if place.column is None or place.end_column is None:
        return location.line <= place.line <= location.end_line
    return (location.line, location.column) <= (place.line, place.column) and (
        place.last_line, place.end_column
    ) <= (location.end_line, location.end_column)  # fmt: skip


def _says_it(finding: Finding, met: Met, kind: Kind) -> bool:
    """Whether a finding already tells of what happened there: a stand-in may make a second event of the first one."""
    if finding.location == kind.location:
        return True
    family = family_of(finding)
    return met.answers > 0 and family == kind.event.partition(".")[0] and _overlap(finding.location, kind.location)


def _overlap(first: Location, second: Location) -> bool:
    return (
        first.path == second.path
        and (first.line, first.column) < (second.end_line, second.end_column)
        and (second.line, second.column) < (first.end_line, first.end_column)
    )
