"""JUnit's XML, which nearly every CI service shows as test results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fxlint.findings import Finding, Problem, Report
from fxlint.report import Options
from fxlint.report.concise import line
from fxlint.report.summary import standing
from fxlint.report.text import one_line, placed, printable


def render(report: Report, options: Options) -> str:
    """A suite for each file with findings, in which each one is a failed case; one passed case where there are none."""
    findings = standing(report)
    root = Element("testsuites", name="fxlint")
    for path, of_file in groupby(findings, key=lambda finding: finding.location.path):
        _suite(root, path, list(of_file))
    inputs = [problem for problem in report.problems if problem.stage == "input"]
    if inputs:
        suite = _counted(root, "fxlint", tests=len(inputs), failures=0, errors=len(inputs))
        for problem in inputs:
            _problem(suite, problem)
    if not findings and not inputs:
        suite = _counted(root, "fxlint", tests=1, failures=0, errors=0)
        SubElement(suite, "testcase", name="nothing found", classname="fxlint")
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _suite(root: Element, path: str, findings: Sequence[Finding]) -> None:
    suite = _counted(root, printable(path), tests=len(findings), failures=len(findings), errors=0)
    for finding in findings:
        place = finding.location
        name = f"{finding.code} {finding.rule} at {place.line}:{place.column}"
        case = SubElement(suite, "testcase", name=name, classname=printable(path))
        failure = SubElement(case, "failure", type=finding.severity, message=one_line(finding.message))
        failure.text = line(finding)


def _problem(suite: Element, problem: Problem) -> None:
    case = SubElement(suite, "testcase", name=printable(problem.path), classname="fxlint")
    error = SubElement(case, "error", type="input", message=one_line(problem.message))
    error.text = placed(problem)


def _counted(root: Element, name: str, *, tests: int, failures: int, errors: int) -> Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors)}
    return SubElement(root, "testsuite", {"name": name, **counts})
