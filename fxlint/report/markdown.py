"""A summary in Markdown, for a comment on a pull request or the summary of a job.

What fails is drawn as far as the graph would have got: a Mermaid diagram of how traced values reach each construct.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from fxlint.findings import Finding, Report, Step
from fxlint.report import Options
from fxlint.report.identity import relative
from fxlint.report.summary import standing, summary_line
from fxlint.report.text import check, one_line, placed, printable

MAX_ROWS: Final = 50
"""Findings in the table: a comment on GitHub takes 65,536 characters."""
MAX_DIAGRAMS: Final = 5
MAX_CHAINS: Final = 5
"""Findings in the diagram of one module."""
MAX_LABEL: Final = 60

_MARKS: Final = {"confirmed": "confirmed", "unreached": "unreached", "unconfirmed": "not traced", "refuted": "refuted"}
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>()#|~!&]")
_NOT_PLAIN: Final = re.compile(r"[^\w .,:+*/=-]")


def render(report: Report, options: Options) -> str:
    """The counts, a table of the findings that the tracer did not refute, what may help, and diagrams."""
    findings = standing(report)
    rows = [f"## fxlint: {_headline(findings)}", "", _escaped(summary_line(report))]
    if report.problems:
        rows += ["", *(f"- {_escaped(placed(problem))}" for problem in report.problems)]
    if findings:
        rows += ["", "| place | rule | what | tracer |", "| --- | --- | --- | --- |"]
        rows += [_row(finding, options) for finding in findings[:MAX_ROWS]]
        if len(findings) > MAX_ROWS:
            rows += ["", f"and {len(findings) - MAX_ROWS} more"]
        rows += _helps(findings)
        rows += _diagrams(findings)
    return "".join(f"{row}\n" for row in rows)


def _headline(findings: Sequence[Finding]) -> str:
    if not findings:
        return "nothing found"
    return "1 finding" if len(findings) == 1 else f"{len(findings)} findings"


def _row(finding: Finding, options: Options) -> str:
    place = finding.location
    where = f"{printable(relative(place.path, options.base))}:{place.line}:{place.column}"
    mark = _MARKS[finding.confirmation.status]
    return f"| {_code(where)} | {finding.severity} {finding.code} | {_message(finding.message)} | {mark} |"


def _helps(findings: Sequence[Finding]) -> list[str]:
    """The first way out of each finding that was seen to trace, and not to compute something else."""
    told: list[str] = []
    for finding in findings[:MAX_ROWS]:
        for one in finding.suggestions:
            if one.checked is not None and one.checked.helps:
                place = f"{finding.code}, line {finding.location.line}"
                told.append(f"- {place}: {_message(one.text)} ({_escaped(check(one.checked))})")
                break
    return ["", "### What helps", "", *told] if told else []


def _diagrams(findings: Sequence[Finding]) -> list[str]:
    by_module: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.provenance and finding.modules:
            by_module.setdefault(finding.modules[0], []).append(finding)
    rows: list[str] = []
    for module, of_module in list(by_module.items())[:MAX_DIAGRAMS]:
        name = _escaped(one_line(module.rpartition("::")[2]))
        rows += ["", "<details>", f"<summary>Where tracing {name} fails</summary>", ""]
        rows += ["```mermaid", *_diagram(of_module[:MAX_CHAINS]), "```", "", "</details>"]
    return rows


def _diagram(findings: Sequence[Finding]) -> list[str]:
    """One node for each step of the chains, one edge between neighbours, and the constructs that fail in red."""
    numbers: dict[tuple[object, str], str] = {}
    nodes: list[str] = []
    edges: dict[str, None] = {}

    def node(step: Step) -> str:
        key = (step.location, step.text)
        if key not in numbers:
            numbers[key] = f"n{len(numbers)}"
            nodes.append(f'    {numbers[key]}["{_label(step.text)}<br/>line {step.location.line}"]')
        return numbers[key]

    failing: list[str] = []
    for number, finding in enumerate(findings):
        chain = [node(step) for step in finding.provenance]
        end = f"f{number}"
        nodes.append(f'    {end}{{{{"{finding.code} {_label(finding.rule)}<br/>line {finding.location.line}"}}}}')
        failing.append(end)
        path = [*chain, end]
        edges.update(dict.fromkeys(f"    {one} --> {two}" for one, two in pairwise(path)))
    style = ["    classDef fails stroke:#d00,stroke-width:3px", f"    class {','.join(failing)} fails"]
    return ["flowchart TD", *nodes, *edges, *style]


def _label(text: str) -> str:
    """Text for a node: what Mermaid could take for its own syntax is given by number."""
    short = one_line(text)
    short = short if len(short) <= MAX_LABEL else short[: MAX_LABEL - 3] + "..."
    return _NOT_PLAIN.sub(lambda found: f"#{ord(found[0])};", short)


def _message(text: str) -> str:
    """A message, whose quoted source stays code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        return _escaped(one_line(text))
    return "".join(_code(part) if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _code(text: str) -> str:
    """Inline code; within a table a bar needs a backslash even there."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.replace('|', chr(92) + '|')}{fence}" if text else ""


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
