"""SARIF 2.1.0, for code scanning and other viewers."""

from __future__ import annotations

import json
from typing import Any

from fxlint import __version__
from fxlint.findings import Finding, Location, Problem, Report, Severity
from fxlint.report import Options
from fxlint.report.identity import fingerprints, uri
from fxlint.report.summary import standing
from fxlint.report.text import one_line
from fxlint.rules import Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "fxlint/v1"

_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report, options: Options) -> str:
    """One run with every rule and the findings that the tracer did not refute; ASCII, as the JSON format is."""
    rules = list(options.rules)
    index = {rule.code: number for number, rule in enumerate(rules)}
    findings = standing(report)
    prints = fingerprints(findings, options)
    run = {
        "tool": {
            "driver": {
                "name": "fxlint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(problem.stage == "input" for problem in report.problems),
                "toolExecutionNotifications": [_notification(problem, options) for problem in report.problems],
            }
        ],
        "results": [
            _result(finding, index[finding.code], fingerprint, options)
            for finding, fingerprint in zip(findings, prints, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix, "markdown": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["torch.fx"], "tracer": rule.tracer},
    }


def _result(finding: Finding, rule_index: int, fingerprint: str, options: Options) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "kind": "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": one_line(finding.message)},
        "locations": [{"physicalLocation": _physical(finding.location, options)}],
        "relatedLocations": [
            {
                "id": number,
                "physicalLocation": _physical(step.location, options),
                "message": {"text": one_line(step.text)},
            }
            for number, step in enumerate(finding.provenance)
        ],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        "properties": {
            "status": finding.confirmation.status,
            "certainty": finding.certainty,
            "modules": list(finding.modules),
        },
    }


def _notification(problem: Problem, options: Options) -> dict[str, Any]:
    told: dict[str, Any] = {
        "level": "error" if problem.stage == "input" else "warning",
        "message": {"text": one_line(problem.message)},
    }
    if problem.path:
        place: dict[str, Any] = {"artifactLocation": {"uri": uri(problem.path, options.base)}}
        if problem.line is not None:
            place["region"] = {"startLine": problem.line}
        told["locations"] = [{"physicalLocation": place}]
    return told


def _physical(location: Location, options: Options) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": uri(location.path, options.base)},
        "region": {
            "startLine": location.line,
            "startColumn": location.column,
            "endLine": location.end_line,
            "endColumn": location.end_column,
        },
    }
