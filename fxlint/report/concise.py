"""One line per finding: ``path:line:column: CODE message (severity)``, for editors, grep and logs."""

from __future__ import annotations

from fxlint.findings import Finding, Report
from fxlint.report import Options
from fxlint.report.summary import standing
from fxlint.report.text import one_line, printable


def render(report: Report, options: Options) -> str:
    """The findings that the tracer did not refute."""
    return "".join(f"{line(finding)}\n" for finding in standing(report))


def line(finding: Finding) -> str:
    """One finding with its place."""
    place = finding.location
    return f"{printable(place.path)}:{place.line}:{place.column}: {said(finding)}"


def said(finding: Finding) -> str:
    """What is found; at the end its severity, and what the tracer says to it where it says anything."""
    status = finding.confirmation.status
    proof = "" if status == "unconfirmed" else f", {status}"
    return f"{finding.code} {one_line(finding.message)} ({finding.severity}{proof})"
