"""The text format of Pylint, for what reads that."""

from __future__ import annotations

from fxlint.findings import Report
from fxlint.report import Options
from fxlint.report.summary import standing
from fxlint.report.text import one_line, printable


def render(report: Report, options: Options) -> str:
    """``path:line: [CODE(name), ] message`` for each finding that the tracer did not refute."""
    return "".join(
        f"{printable(finding.location.path)}:{finding.location.line}: [{finding.code}({finding.rule}), ] "
        f"{one_line(finding.message)}\n"
        for finding in standing(report)
    )
