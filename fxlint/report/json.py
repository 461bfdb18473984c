"""The JSON that other programs rely on, version 1. Keys may be added; those that are here keep their meaning."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fxlint import __version__
from fxlint.findings import (
    Check,
    Comparison,
    Confirmed,
    Edit,
    Failure,
    Finding,
    Graph,
    Location,
    ModuleReport,
    Predicted,
    Problem,
    Report,
    Step,
    Suggestion,
)
from fxlint.project.comments import logical_lines
from fxlint.project.notebook import of_cell
from fxlint.report import Options
from fxlint.report.summary import confidence, statuses, verdicts
from fxlint.rewrite import fix_of

SCHEMA = 1


def render(report: Report, options: Options) -> str:
    """One object; ASCII, so that no console and no odd file name can break it."""
    return json.dumps(document(report, options), indent=1) + "\n"


def document(report: Report, options: Options) -> dict[str, Any]:
    noqa_row = _noqa_rows(options)
    return {
        "schema": SCHEMA,
        "fxlint": __version__,
        "summary": {
            "files": report.files,
            "modules": len(report.modules),
            "findings": len(report.findings),
            **verdicts(report),
            "statuses": statuses(report),
            "suppressed": report.suppressed,
            "known": report.known,
        },
        "modules": [_module(module) for module in report.modules],
        "findings": [{**_finding(one), "noqa_row": noqa_row(one.location)} for one in report.findings],
        "errors": [_problem(problem) for problem in report.problems],
    }


def _noqa_rows(options: Options) -> Callable[[Location], int]:
    """The line at whose end a comment suppresses what is found at a place: the last one of its logical line."""
    known: dict[str, dict[int, tuple[int, int]]] = {}

    def row(place: Location) -> int:
        if place.path not in known:
            known[place.path] = logical_lines("\n".join(options.sources.lines(place.path)))
        return known[place.path].get(place.line, (place.line, place.line))[1]

    return row


def _module(module: ModuleReport) -> dict[str, Any]:
    root = module.root
    return {
        **_path(root.path),
        "class": root.qualname,
        "kind": root.kind,
        "line": root.line,
        "predicted": _predicted(module.predicted),
        "confirmed": _confirmed(module.confirmed),
    }


def _predicted(predicted: Predicted) -> dict[str, Any]:
    first = predicted.first
    return {
        "verdict": predicted.verdict,
        "first": None if first is None else {**_path(first.path), "line": first.line, "column": first.column},
        "depends_on": list(predicted.depends_on),
        "reason": predicted.reason,
    }


def _confirmed(confirmed: Confirmed) -> dict[str, Any]:
    return {
        "verdict": confirmed.verdict,
        "reason": confirmed.reason,
        "instance": confirmed.instance,
        "error": _failure(confirmed.error),
        "graph": _graph(confirmed.graph),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    confirmation = finding.confirmation
    return {
        "code": finding.code,
        "rule": finding.rule,
        "event": finding.event,
        "severity": finding.severity,
        **_span(finding.location),
        "message": finding.message,
        "modules": list(finding.modules),
        "certainty": finding.certainty,
        "confidence": confidence(finding),
        "depends_on": list(finding.depends_on),
        "more_conditions": finding.more_conditions,
        "provenance": [_step(step) for step in finding.provenance],
        "confirmation": {
            "status": confirmation.status,
            "reason": confirmation.reason,
            "error": _failure(confirmation.error),
            "proof": confirmation.proof,
            "comparison": _comparison(confirmation.comparison),
        },
        "suggestions": [_suggestion(suggestion) for suggestion in finding.suggestions],
        "fix": _fix(finding),
    }


def _comparison(comparison: Comparison | None) -> dict[str, Any] | None:
    if comparison is None:
        return None
    differences = [
        {"what": one.what, "mode": one.mode, "inputs": one.inputs, "said": one.said} for one in comparison.differences
    ]
    return {"inputs": list(comparison.inputs), "differences": differences, "reason": comparison.reason}


def _fix(finding: Finding) -> dict[str, Any] | None:
    """The suggestion that --fix applies, or with --unsafe-fixes would."""
    fix = fix_of(finding, unsafe=True)
    if fix is None:
        return None
    applicability = "safe" if fix.safe else "unsafe"
    return {"applicability": applicability, "message": fix.text, "edits": [_edit(edit) for edit in fix.edits]}


def _suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "kind": suggestion.kind,
        "text": suggestion.text,
        "safe": suggestion.safe,
        "concrete_args": suggestion.concrete_args,
        "wrap": suggestion.wrap,
        "edits": [_edit(edit) for edit in suggestion.edits],
        "checked": _check(suggestion.checked or Check("not-run")),
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "verdict": check.verdict,
        "reason": check.reason,
        "nodes": None if check.graph is None else check.graph.nodes,
        "graph": _graph(check.graph),
        "error": _failure(check.error),
        "equal_outputs": check.equal_outputs,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {**_span(edit.location), "text": edit.text}


def _step(step: Step) -> dict[str, Any]:
    return {**_span(step.location), "text": step.text}


def _graph(graph: Graph | None) -> dict[str, Any] | None:
    return None if graph is None else {"nodes": graph.nodes, "text": graph.text}


def _failure(error: Failure | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "type": error.type,
        "message": error.message,
        "path": error.path,
        "line": error.line,
        "column": error.column,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {**_path(problem.path), "line": problem.line, "message": problem.message, "stage": problem.stage}


def _span(location: Location) -> dict[str, Any]:
    return {
        **_path(location.path),
        "line": location.line,
        "column": location.column,
        "end_line": location.end_line,
        "end_column": location.end_column,
    }


def _path(path: str) -> dict[str, Any]:
    """The file, and in a notebook the number of the code cell, in which lines count from 1."""
    file, cell = of_cell(path)
    return {"path": file} if cell is None else {"path": file, "cell": cell}
