"""GitLab's code quality report, which shows on merge requests."""

from __future__ import annotations

import json
from typing import Final

from fxlint.findings import Report, Severity
from fxlint.report import Options
from fxlint.report.identity import fingerprints, relative
from fxlint.report.summary import standing
from fxlint.report.text import one_line

_SEVERITIES: Final[dict[Severity, str]] = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, options: Options) -> str:
    """The findings that the tracer did not refute; paths are relative, as GitLab needs them."""
    findings = standing(report)
    issues = [
        {
            "description": f"{finding.code} {one_line(finding.message)}",
            "check_name": finding.rule,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": relative(finding.location.path, options.base),
                "lines": {"begin": finding.location.line, "end": finding.location.end_line},
            },
        }
        for finding, fingerprint in zip(findings, fingerprints(findings, options), strict=True)
    ]
    return json.dumps(issues, indent=1) + "\n"
