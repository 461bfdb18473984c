"""From events of many runs to findings and verdicts: one finding per rule and place, with all roots it holds for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fxlint.findings import Certainty, Finding, Location, ModuleReport, Predicted, Step
from fxlint.predict.machine import Event
from fxlint.predict.trace import Run, guard_text
from fxlint.predict.values import Origin
from fxlint.project.source import SourceFile
from fxlint.rules import Rule, RuleSet

MAX_STEPS: int = 8


@dataclass(slots=True)
class _Draft:
    rule: Rule
    event: Event
    location: Location
    modules: list[str] = field(default_factory=list)
    always: bool = False
    depends_on: list[str] = field(default_factory=list)


def assemble(
    runs: Iterable[Run], rules: RuleSet, linted: frozenset[str]
) -> tuple[tuple[ModuleReport, ...], tuple[Finding, ...]]:
    """Module reports and findings of all runs, sorted by place. ``linted`` are the paths findings may stand in."""
    drafts: dict[tuple[str, Location], _Draft] = {}
    reports: list[ModuleReport] = []
    events = _events_with_rules(rules)
    for run in runs:
        reports.append(ModuleReport(run.root.root, _verdict(run, events, linted)))
        for event in run.events:
            rule = events.get(event.kind)
            if rule is None or event.swallowed:
                continue
            location = place(event, linted)
            draft = drafts.setdefault((rule.code, location), _Draft(rule, event, location))
            if run.root.root.id not in draft.modules:
                draft.modules.append(run.root.root.id)
            conditions = _conditions(event)
            draft.always = draft.always or not conditions
            draft.depends_on.extend(c for c in conditions if c not in draft.depends_on)
    findings = sorted((_finding(draft, linted) for draft in drafts.values()), key=lambda f: (f.location, f.code))
    reports.sort(key=lambda report: (report.root.path, report.root.line, report.root.qualname))
    return tuple(reports), tuple(findings)


def _events_with_rules(rules: RuleSet) -> dict[str, Rule]:
    return {event: rule for rule in rules for event in rule.events}


def _conditions(event: Event) -> list[str]:
    found: list[str] = []
    for guard in event.guards:
        text = guard_text(guard)
        if text not in found:
            found.append(text)
    return found


def place(event: Event, linted: frozenset[str]) -> Location:
    """Where an event is reported: the construct, or the innermost call in a linted file that led to it."""
    source, node = _innermost(event, linted)
    return source.location(node)


def _innermost(event: Event, linted: frozenset[str]) -> tuple[SourceFile, ast.AST]:
    for source, node in reversed(event.frames):
        if source.path in linted:
            return source, node
    return event.frames[-1]


def _verdict(run: Run, rules: dict[str, Rule], linted: frozenset[str]) -> Predicted:
    errors = [
        event
        for event in run.events
        if event.kind in rules and not event.swallowed and rules[event.kind].severity_of(event.kind) == "error"
    ]
    first = _first(errors, linted)
    if run.unknown is not None:
        return Predicted("unknown", first, (), run.unknown)
    if run.failed:
        return Predicted("fails", first)
    if errors:
        conditions = [text for event in errors if event.first for text in _conditions(event)]
        return Predicted("depends", first, tuple(dict.fromkeys(conditions)))
    return Predicted("traces")


def _first(errors: Sequence[Event], linted: frozenset[str]) -> Location | None:
    """The failure that stock tracing meets first: certain ones before those of the default configuration."""
    candidates = [event for event in errors if event.first]
    for wanted in (
        [event for event in candidates if event.likely],
        candidates,
        errors,
    ):
        if wanted:
            return place(wanted[0], linted)
    return None


def _finding(draft: _Draft, linted: frozenset[str]) -> Finding:
    event = draft.event
    source, node = event.frames[-1]
    text = source.segment(node)
    certainty: Certainty = "always" if draft.always else "conditional"
    message = draft.rule.message.format(
        text=text, origin=_origin_text(event.origin) or text, callee=event.callee or text
    )
    return Finding(
        code=draft.rule.code,
        rule=draft.rule.name,
        severity=draft.rule.severity_of(event.kind),
        location=draft.location,
        message=message,
        event=event.kind,
        modules=tuple(sorted(draft.modules)),
        certainty=certainty,
        depends_on=() if draft.always else tuple(draft.depends_on),
        provenance=_provenance(event, linted),
    )


def _origin_text(origin: Origin | None) -> str:
    if origin is None:
        return ""
    first = origin.first()
    return first.name or first.source.segment(first.node)


def _provenance(event: Event, linted: frozenset[str]) -> tuple[Step, ...]:
    """From the input to the construct, then the calls that lead to it where it lies in a helper."""
    chain: list[Origin] = []
    origin = event.origin
    while origin is not None:
        chain.append(origin)
        origin = origin.parent
    chain.reverse()
    if len(chain) > MAX_STEPS:
        chain = [*chain[:2], *chain[-(MAX_STEPS - 2) :]]
    steps = [Step(link.source.location(link.node), _step_text(link)) for link in chain]
    calls = [Step(source.location(node), f"called at {source.segment(node)}") for source, node in event.frames[:-1]]
    return tuple(dict.fromkeys([*steps, *calls[-MAX_STEPS:]]))


def _step_text(link: Origin) -> str:
    if link.kind == "input" and link.parent is None:
        return f"{link.name} (input)"
    if link.kind == "parameter" and link.parent is None:
        return f"{link.source.segment(link.node)} (parameter)"
    return link.source.segment(link.node)
