"""Workflow commands."""

import re
from dataclasses import replace

from fxlint.findings import Finding, Location, Problem, Report
from fxlint.report.github import RENDERED, render


def test_the_whole_output(report, options, golden):
    golden("github.txt", render(report, options))


def test_nothing_found_is_an_empty_output(empty, options):
    assert render(empty, options) == ""


def finding(number: int = 1, severity: str = "error", path: str = "a.py", message: str = "m") -> Finding:
    return Finding("FX101", "branch", severity, Location(path, number, 1, number, 2), message, "bool.if")


def test_what_would_end_a_command_or_a_property_is_escaped(options):
    odd = finding(path="a,b:c%\r\n.py", message="50% of `x`, a:b")
    row = render(Report(1, (), (odd,)), options).splitlines()[0]
    assert row == (
        "::error title=FX101 branch,file=a%2Cb%3Ac%25%0D%0A.py,line=1,endLine=1,col=1,endColumn=2"
        "::a,b:c%25\\r\\n.py:1:1: FX101 50%25 of `x`, a:b (error)"
    )


def test_columns_are_left_out_of_a_span_of_several_lines(options):
    long = replace(finding(), location=Location("a.py", 1, 5, 3, 2))
    assert render(Report(1, (), (long,)), options).startswith("::error title=FX101 branch,file=a.py,line=1,endLine=3::")


def levels(output: str) -> list[str]:
    return re.findall(r"^::(\w+) ", output, re.MULTILINE)


def test_ten_annotations_of_a_level_and_the_rest_in_the_log(options):
    findings = (*(finding(number) for number in range(1, 15)), *(finding(number, "info") for number in range(20, 32)))
    output = render(Report(1, (), findings), options)
    assert levels(output).count("error") == RENDERED
    assert levels(output).count("notice") == RENDERED  # the summary is one of them
    plain = [row for row in output.splitlines() if not row.startswith("::")]
    assert plain[0] == "a.py:11:1: FX101 m (error)"
    assert len(plain) == 4 + 3
    last = output.splitlines()[-1]
    assert last.endswith("GitHub shows 10 annotations of a level; the log of this step lists 7 more")


def test_levels_follow_the_severity_and_the_stage(options):
    problems = (Problem("a.py", "m"), Problem("a.py", "m", stage="confirm"))
    findings = (finding(1), finding(2, "warning"), finding(3, "info"))
    assert levels(render(Report(1, (), findings, problems), options)) == [
        "error", "warning", "error", "warning", "notice", "notice"
    ]  # fmt: skip


def test_a_problem_without_a_file_has_no_place(options):
    problem = Problem("", "nothing was traced", stage="confirm")
    rows = render(Report(1, (), (), (problem,)), options).splitlines()
    assert rows[0] == "::warning title=fxlint::nothing was traced"
