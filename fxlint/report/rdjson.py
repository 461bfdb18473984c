"""Reviewdog's diagnostic format: a comment for each finding, with its edits as suggestions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from fxlint.findings import Edit, Finding, Location, Report, Severity
from fxlint.report import Options
from fxlint.report.identity import relative
from fxlint.report.sources import Sources
from fxlint.report.summary import standing
from fxlint.report.text import one_line

_SEVERITIES: Final[dict[Severity, str]] = {"error": "ERROR", "warning": "WARNING", "info": "INFO"}


def render(report: Report, options: Options) -> str:
    """The findings that the tracer did not refute; columns count the bytes of UTF-8 from 1, as reviewdog does."""
    document = {
        "source": {"name": "fxlint"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(finding, options) for finding in standing(report)],
    }
    return json.dumps(document, indent=1) + "\n"


def _diagnostic(finding: Finding, options: Options) -> dict[str, Any]:
    return {
        "message": one_line(finding.message),
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
        "location": {
            "path": relative(finding.location.path, options.base),
            "range": _range(finding.location, options.sources),
        },
        "suggestions": [
            {"range": _range(edit.location, options.sources), "text": edit.text} for edit in _alternatives(finding)
        ],
    }


def _alternatives(finding: Finding) -> Iterator[Edit]:
    """Edits that can be accepted one by one: each is all of a suggestion, in this file, that may be taken."""
    for suggestion in finding.suggestions:
        helps = suggestion.safe or (suggestion.checked is not None and suggestion.checked.helps)
        if helps and len(suggestion.edits) == 1 and suggestion.edits[0].location.path == finding.location.path:
            yield suggestion.edits[0]


def _range(place: Location, sources: Sources) -> dict[str, Any]:
    return {
        "start": _position(place.path, place.line, place.column, sources),
        "end": _position(place.path, place.end_line, place.end_column, sources),
    }


def _position(path: str, line: int, column: int, sources: Sources) -> dict[str, int]:
    before = (sources.line(path, line) or "")[: column - 1]
    return {"line": line, "column": column + len(before.encode("utf-8", "surrogatepass")) - len(before)}
