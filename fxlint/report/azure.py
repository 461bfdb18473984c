"""Logging commands of Azure Pipelines, which show as issues of a build."""

from __future__ import annotations

from fxlint.findings import Finding, Problem, Report
from fxlint.project.notebook import of_cell
from fxlint.report import Options
from fxlint.report.summary import standing
from fxlint.report.text import one_line, placed, printable


def render(report: Report, options: Options) -> str:
    """Problems, then the findings that the tracer did not refute; an info is a warning, for there is nothing less."""
    problems = (_problem(problem) for problem in report.problems)
    return "".join(f"{row}\n" for row in (*problems, *map(_finding, standing(report))))


def _finding(finding: Finding) -> str:
    place = finding.location
    properties = {
        "type": "error" if finding.severity == "error" else "warning",
        "sourcepath": of_cell(place.path)[0],
        "linenumber": str(place.line),
        "columnnumber": str(place.column),
        "code": finding.code,
    }
    return _command(properties, one_line(finding.message))


def _problem(problem: Problem) -> str:
    properties = {"type": "error" if problem.stage == "input" else "warning"}
    if problem.path:
        properties["sourcepath"] = of_cell(problem.path)[0]
    if problem.line is not None:
        properties["linenumber"] = str(problem.line)
    return _command(properties, placed(problem))


def _command(properties: dict[str, str], message: str) -> str:
    listed = "".join(f"{key}={_escape_property(value)};" for key, value in properties.items())
    return f"##vso[task.logissue {listed}]{_escape(message)}"


def _escape_property(text: str) -> str:
    return _escape(text).replace(";", "%3B").replace("]", "%5D")


def _escape(text: str) -> str:
    return printable(text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A"))
