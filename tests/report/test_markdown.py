"""A summary for a pull request."""

import re
from dataclasses import replace

from fxlint.findings import Confirmation, Finding, Location, Report, Step
from fxlint.report.markdown import MAX_CHAINS, MAX_DIAGRAMS, MAX_ROWS, render


def test_the_whole_output(report, options, golden):
    golden("markdown.md", render(report, options))


def test_nothing_found_is_a_heading_and_the_counts(empty, options):
    assert render(empty, options).splitlines()[0] == "## fxlint: nothing found"


def finding(number: int = 1, text: str = "x.sum()", message: str = "m", module: str = "a.py::Net") -> Finding:
    place = Location("a.py", number, 1, number, 2)
    return Finding("FX101", "branch", "error", place, message, "bool.if", (module,), provenance=(Step(place, text),))


def test_a_table_row_is_one_row_whatever_the_message_holds(options):
    odd = finding(message="`a | b` <script> [x](y)\n| c")
    row = next(line for line in render(Report(1, (), (odd,)), options).splitlines() if "FX101" in line)
    assert row == (
        r"| `a.py:1:1` | error FX101 | `a \| b` \<script\> \[x\]\(y\) \| c | not traced |"
    )  # fmt: skip


def test_a_table_row_is_one_row_whatever_the_path_holds(options):
    place = Location("a\nb\x1b\u202e.py", 1, 1, 1, 2)
    output = render(Report(1, (), (replace(finding(), location=place),)), options)
    assert r"| `a\nb\x1b\u202e.py:1:1` | error FX101 |" in output


def diagrams(output: str) -> list[list[str]]:
    return [block.splitlines() for block in re.findall(r"```mermaid\n(.*?)```", output, re.DOTALL)]


NODE = re.compile(r'    [nf]\d+(\["[^"]*"\]|\{\{"[^"]*"\}\})')
EDGE = re.compile(r"    n\d+ --> [nf]\d+")


def test_a_diagram_leads_from_the_input_to_what_fails_in_the_syntax_of_mermaid(report, options):
    drawn = diagrams(render(report, options))
    assert drawn
    for first, *rows, style, marked in drawn:
        assert first == "flowchart TD"
        assert all(NODE.fullmatch(row) or EDGE.fullmatch(row) for row in rows)
        assert style.startswith("    classDef fails ")
        assert re.fullmatch(r"    class f\d+(,f\d+)* fails", marked)


def test_what_mermaid_could_take_for_syntax_is_given_by_number(options):
    ((_, node, *_),) = diagrams(render(Report(1, (), (finding(text='x["#k"] > 0; end'),)), options))
    assert node == '    n0["x#91;#34;#35;k#34;#93; #62; 0#59; end<br/>line 1"]'


def test_steps_that_findings_share_are_drawn_once(options):
    first, second = finding(), replace(finding(), code="FX102", location=Location("a.py", 9, 1, 9, 2))
    (rows,) = diagrams(render(Report(1, (), (first, second)), options))
    assert [row for row in rows if "-->" in row] == ["    n0 --> f0", "    n0 --> f1"]


def test_a_long_report_is_cut_for_a_comment_takes_so_many_characters(options):
    many = tuple(finding(number, module=f"a.py::N{number // 10}") for number in range(1, 201))
    output = render(Report(1, (), many), options)
    assert output.count("| error FX101 |") == MAX_ROWS
    assert "and 150 more" in output.splitlines()
    drawn = diagrams(output)
    assert len(drawn) == MAX_DIAGRAMS
    assert all(sum("{{" in row for row in rows) <= MAX_CHAINS for rows in drawn)


def test_refuted_findings_are_left_out(options):
    refuted = replace(finding(), confirmation=Confirmation("refuted"))
    assert "FX101" not in render(Report(1, (), (refuted,)), options)
