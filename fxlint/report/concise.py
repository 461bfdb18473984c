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
    """One finding; at the end its severity, and what the tracer says to it where it says anything."""
    place = finding.location
    status = finding.confirmation.status
    proof = "" if status == "unconfirmed" else f", {status}"
    said = f"{finding.code} {one_line(finding.message)} ({finding.severity}{proof})"
    return f"{printable(place.path)}:{place.line}:{place.column}: {said}"
