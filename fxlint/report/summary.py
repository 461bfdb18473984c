"""The counts of a report, and the line that sums it up."""

from __future__ import annotations

from collections import Counter

from fxlint.config import Confidence
from fxlint.findings import Finding, ModuleReport, PredictedVerdict, Report, Status


def verdict(module: ModuleReport) -> PredictedVerdict:
    """The best that is known: what the tracer did where it ran, else the prediction.

    A prediction of "depends" stands, for one instance proves one configuration.
    """
    if module.predicted.verdict == "depends" or module.confirmed.verdict == "not-run":
        return module.predicted.verdict
    return module.confirmed.verdict


def verdicts(report: Report) -> dict[PredictedVerdict, int]:
    counts = Counter(verdict(module) for module in report.modules)
    return {
        "traces": counts["traces"],
        "fails": counts["fails"],
        "depends": counts["depends"],
        "unknown": counts["unknown"],
    }


def statuses(report: Report) -> dict[Status, int]:
    counts = Counter(finding.confirmation.status for finding in report.findings)
    return {
        "confirmed": counts["confirmed"],
        "refuted": counts["refuted"],
        "unreached": counts["unreached"],
        "unconfirmed": counts["unconfirmed"],
    }


def confidence(finding: Finding) -> Confidence | None:
    """How sure a finding is: met by the tracer, predicted for every instance, or for some; None where it is refuted."""
    if finding.confirmation.status == "refuted":
        return None
    if finding.confirmation.status == "confirmed":
        return "confirmed"
    return "certain" if finding.certainty == "always" else "conditional"


def standing(report: Report) -> tuple[Finding, ...]:
    """The findings that the tracer did not refute: those that formats for other tools show and exit codes count."""
    return tuple(finding for finding in report.findings if finding.confirmation.status != "refuted")


def summary_line(report: Report) -> str:
    """What a person reads last: modules by verdict, findings by status."""
    modules = verdicts(report)
    text = (
        f"{counted(len(report.modules), 'module')} in {counted(report.files, 'file')}: {modules['traces']} trace, "
        f"{modules['fails']} fail, {modules['depends']} depend, {modules['unknown']} unknown; "
        f"{counted(len(report.findings), 'finding')}"
    )
    if report.findings:
        text += f": {', '.join(f'{count} {status}' for status, count in statuses(report).items())}"
    if report.suppressed:
        text += f"; {report.suppressed} suppressed"
    return f"{text}; {report.known} in the baseline" if report.known else text


def counted(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
