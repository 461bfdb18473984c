"""SARIF 2.1.0, for code scanning and other viewers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from fxlint import __version__
from fxlint.findings import Finding, Location, Problem, Report, Severity
from fxlint.report import Options
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
    prints = _fingerprints(findings, options)
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
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path, options.base)}}
        if problem.line is not None:
            place["region"] = {"startLine": problem.line}
        told["locations"] = [{"physicalLocation": place}]
    return told


def _physical(location: Location, options: Options) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": _uri(location.path, options.base)},
        "region": {
            "startLine": location.line,
            "startColumn": location.column,
            "endLine": location.end_line,
            "endColumn": location.end_column,
        },
    }


def _uri(path: str, base: Path) -> str:
    """Relative to ``base`` where the file lies below it, which is what code scanning needs; else a file: URI."""
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not pure.is_relative_to(base.as_posix()):
            return "file://" + quote(path, errors="surrogateescape")
        pure = pure.relative_to(base.as_posix())
    return quote(pure.as_posix(), errors="surrogateescape")


def _fingerprints(findings: tuple[Finding, ...], options: Options) -> list[str]:
    """Stable under edits elsewhere in the file: rule, file, roots and the text of the line, not its number.

    The n-th of several that agree in all of these is told apart by n.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    prints: list[str] = []
    for finding in findings:
        place = finding.location
        text = (options.sources.line(place.path, place.line) or "").strip()
        qualnames = sorted(module.rpartition("::")[2] for module in finding.modules)
        key = (finding.code, _uri(place.path, options.base), *qualnames, text)
        prints.append(hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "replace")).hexdigest()[:32])
        seen[key] += 1
    return prints
