"""Workflow commands of GitHub Actions, which show as annotations on the lines of a pull request.

GitHub renders the first ten of each level in a step, so the rest is printed as plain lines of the log, and a notice
says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from fxlint.findings import Finding, Problem, Report
from fxlint.project.notebook import of_cell
from fxlint.report import Options
from fxlint.report.concise import line
from fxlint.report.summary import standing, summary_line
from fxlint.report.text import placed, printable

RENDERED = 10
"""Annotations of one level that GitHub shows for one step."""

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, options: Options) -> str:
    """Problems first, for they are what the findings cannot be trusted without; then the findings in order."""
    room = Counter({"error": RENDERED, "warning": RENDERED, "notice": RENDERED - 1})  # one notice is the summary
    annotations: list[str] = []
    rest: list[str] = []
    for problem in report.problems:
        level = "error" if problem.stage == "input" else "warning"
        _place(level, _problem(level, problem), placed(problem), room, annotations, rest)
    for finding in standing(report):
        level = _LEVELS[finding.severity]
        _place(level, _finding(level, finding), line(finding), room, annotations, rest)
    if not annotations:
        return ""
    said = summary_line(report)
    if rest:
        said += f". GitHub shows {RENDERED} annotations of a level; the log of this step lists {len(rest)} more"
    return "".join(f"{row}\n" for row in (*annotations, *rest, _command("notice", {"title": "fxlint"}, said)))


def _place(
    level: str, annotation: str, plain: str, room: Counter[str], annotations: list[str], rest: list[str]
) -> None:
    if room[level]:
        room[level] -= 1
        annotations.append(annotation)
    else:
        rest.append(plain)


def _finding(level: str, finding: Finding) -> str:
    place = finding.location
    properties = {"title": f"{finding.code} {finding.rule}", "file": of_cell(place.path)[0], "line": str(place.line)}
    if place.end_line == place.line:  # columns have no meaning to GitHub across lines
        properties |= {"endLine": str(place.end_line), "col": str(place.column), "endColumn": str(place.end_column)}
    else:
        properties |= {"endLine": str(place.end_line)}
    return _command(level, properties, line(finding))


def _problem(level: str, problem: Problem) -> str:
    properties = {"title": "fxlint"}
    if problem.path:
        properties["file"] = of_cell(problem.path)[0]
    if problem.line is not None:
        properties["line"] = str(problem.line)
    return _command(level, properties, placed(replace(problem, line=None)))


def _command(level: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_escape_property(value)}" for key, value in properties.items())
    return f"::{level} {listed}::{_escape(message)}"


def _escape(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
