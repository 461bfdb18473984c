"""From events of many runs to findings and verdicts: one finding per rule and place, with all roots it holds for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from fxlint.findings import CALLED_AT, Certainty, Finding, Location, ModuleReport, Predicted, Step
from fxlint.predict.machine import Event
from fxlint.predict.trace import Run, guard_text
from fxlint.predict.values import Origin
from fxlint.project.source import SourceFile
from fxlint.rules import Rule, RuleSet

MAX_STEPS: Final = 8
MAX_CONDITIONS: Final = 16
SILENT: Final = "silent."
"""The family of what traces, and leaves a graph that is not the model."""


class Assembly:
    """Collects runs. It keeps no syntax tree alive: what a finding says is put into words when it is first met."""

    def __init__(self, rules: RuleSet, linted: frozenset[str]) -> None:
        """``linted`` are the paths in which findings may stand."""
        self._rules = {event: rule for rule in rules for event in rule.events}
        self._linted = linted
        self._findings: dict[tuple[str, Location], Finding] = {}
        self.modules: list[ModuleReport] = []

    def add(self, run: Run, usual: Callable[[], Run]) -> None:
        """``usual`` runs the same root with the options that the linted code gives: asked where these decide."""
        root = run.root.root
        predicted = _verdict(run, self._rules, self._linted)
        if predicted.verdict == "depends":
            decided = _verdict(usual(), self._rules, self._linted)
            if decided.verdict in {"fails", "traces"}:
                predicted = replace(predicted, verdict=decided.verdict, first=decided.first)
        self.modules.append(ModuleReport(root, predicted))
        for event in run.events:
            rule = self._rules.get(event.kind)
            if rule is None or event.swallowed or (event.kind.startswith(SILENT) and not self._is_told(run, event)):
                continue
            location = place(event, self._linted)
            self._keep(_finding(rule, event, location, root.id, self._linted))

    def _is_told(self, run: Run, event: Event) -> bool:
        """Whether a graph comes of the root at all, and the place is one that is linted."""
        return not run.failed and event.frames[-1][0].path in self._linted

    def _keep(self, finding: Finding) -> None:
        place = (finding.code, finding.location)
        self._findings[place] = merged(self._findings[place], finding) if place in self._findings else finding

    def findings(self) -> list[Finding]:
        return list(self._findings.values())


def merged(first: Finding, other: Finding) -> Finding:
    """One finding for two of the same rule and place: it is certain where either is, else it depends on what the one
    with fewer conditions depends on.
    """
    modules = first.modules + tuple(m for m in other.modules if m not in first.modules)
    if "always" in (first.certainty, other.certainty):
        return replace(first, modules=modules, certainty="always", depends_on=(), more_conditions=0)
    fewest = min(first, other, key=_number_of_conditions)
    return replace(first, modules=modules, depends_on=fewest.depends_on, more_conditions=fewest.more_conditions)


def _number_of_conditions(finding: Finding) -> tuple[int, tuple[str, ...]]:
    return len(finding.depends_on) + finding.more_conditions, finding.depends_on


def _conditions(event: Event) -> tuple[str, ...]:
    """The nearest ones, outermost first: each branch of a long chain lies under all the conditions before it."""
    return tuple(dict.fromkeys(guard_text(guard) for guard in event.guards[-MAX_CONDITIONS:]))


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


def _finding(rule: Rule, event: Event, location: Location, module: str, linted: frozenset[str]) -> Finding:
    source, node = event.frames[-1]
    text = source.segment(node)
    certainty: Certainty = "conditional" if event.guards else "always"
    message = rule.message.format(text=text, origin=_origin_text(event.origin) or text, callee=event.callee or text)
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity_of(event.kind),
        location=location,
        message=message,
        event=event.kind,
        modules=(module,),
        certainty=certainty,
        depends_on=_conditions(event),
        more_conditions=max(0, len(event.guards) - MAX_CONDITIONS),
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
    calls = [Step(source.location(node), f"{CALLED_AT}{source.segment(node)}") for source, node in event.frames[:-1]]
    source, node = event.frames[-1]
    hidden = [] if source.path in linted else [Step(source.location(node), source.segment(node))]
    return tuple(dict.fromkeys([*steps, *calls[-MAX_STEPS:], *hidden]))


def _step_text(link: Origin) -> str:
    if link.kind == "input" and link.parent is None:
        return f"{link.name} (input)"
    if link.kind == "parameter" and link.parent is None:
        return f"{link.source.segment(link.node)} (parameter)"
    return link.source.segment(link.node)
