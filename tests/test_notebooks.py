"""Jupyter notebooks, from the file to the report."""

import json
from pathlib import Path

import pytest

import fxlint
from fxlint.cli import main
from fxlint.project.notebook import read_notebook, with_cells
from fxlint.report import Options, renderer
from fxlint.report.sources import Sources
from fxlint.rules import load_rules

RULES = load_rules()
MODEL = """\
class Net(nn.Module):
    def forward(self, x):
        return len(x)"""


def notebook(*cells: str, language: str = "python", **more: object) -> str:
    """A notebook with these code cells, and a text between each two."""
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": []} for cell in cells]
    text = {"cell_type": "markdown", "source": "# a heading", "metadata": {}}
    both = [each for cell in code for each in (text, cell)]
    return json.dumps({"nbformat": 4, "metadata": {"kernelspec": {"language": language}}, "cells": both, **more})


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def lint(*cells: str, **settings: object) -> fxlint.Report:
    Path("nb.ipynb").write_text(notebook(*cells))
    return fxlint.check("nb.ipynb", **{"confirm": False, **settings})


def text(*cells: str) -> list[str]:
    return read_notebook(notebook(*cells).encode()).text.split("\n")[:-1]


@pytest.mark.parametrize(
    ("cell", "rows"),
    [
        ("%matplotlib inline\nx = 1", ["", "x = 1"]),
        ("if True:\n    !ls \\\n  -l\ny", ["if True:", "    pass", "", "y"]),
        ("files = !ls\na, b = %time f()", ["files = None", "a, b = None"]),
        ("nn.Module?\n?nn.Module", ["", ""]),
        ("%%time\nx = 1", ["", "x = 1"]),
        ("%%bash\nls", ["", ""]),
        ('s = """\n%d\n"""', ['s = """', "%d", '"""']),
        ("y = (x\n% 2)", ["y = (x", "% 2)"]),
    ],
)
def test_magics_are_statements_that_do_nothing_on_their_line(cell, rows):
    assert text(cell) == rows


def test_cells_share_their_names_and_each_finding_is_told_in_its_cell():
    report = lint("%pip install torch\nfrom torch import nn", MODEL, "net = Net()")
    (finding,) = report.findings
    place = finding.location
    assert (place.path, place.line, place.column, place.end_line) == ("nb.ipynb:cell 2", 3, 16, 3)
    assert [step.location.path for step in finding.provenance] == ["nb.ipynb:cell 2"]
    assert [(module.root.path, module.root.line) for module in report.modules] == [("nb.ipynb:cell 2", 1)]


def shown(report: fxlint.Report, output_format: str) -> str:
    return renderer(output_format)(report, Options(RULES, Sources(), base=Path.cwd()))


def test_formats_tell_the_cell_or_the_file_as_their_readers_need_it():
    report = lint("from torch import nn", MODEL)
    assert shown(report, "concise").startswith("nb.ipynb:cell 2:3:16: FX120 ")
    assert "      3 |         return len(x)\n        |                ^^^^^^\n" in shown(report, "full")
    (told,) = json.loads(shown(report, "json"))["findings"]
    assert (told["path"], told["cell"], told["line"]) == ("nb.ipynb", 2, 3)
    assert "file=nb.ipynb,line=3" in shown(report, "github")
    (issue,) = json.loads(shown(report, "gitlab"))
    assert issue["location"]["path"] == "nb.ipynb"
    (result,) = json.loads(shown(report, "sarif"))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "nb.ipynb"


def test_comments_suppress_in_cells():
    report = lint("from torch import nn", MODEL + "  # noqa: FX120")
    assert (report.findings, report.suppressed) == ((), 1)


def test_a_syntax_error_is_told_in_its_cell():
    (problem,) = lint("x = 1", "def f(:").problems
    assert (problem.path, problem.line) == ("nb.ipynb:cell 2", 1)


def test_await_at_the_top_of_a_cell_is_no_error():
    assert lint("await f()").problems == ()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"cells": 1}', '{"cells": [{"cell_type": "code"}]}'])
def test_what_is_no_notebook_is_a_problem(content):
    Path("nb.ipynb").write_text(content)
    (problem,) = fxlint.check(confirm=False).problems
    assert problem.message == "could not parse: it is no Jupyter notebook of version 4"


def test_other_languages_are_passed_over():
    Path("nb.ipynb").write_text(notebook("x <- 1", language="R"))
    assert fxlint.check(confirm=False).problems == ()


@pytest.mark.parametrize(
    ("metadata", "cells"),
    [
        ({"kernelspec": None}, 1),
        ({"kernelspec": {"name": "python3", "language": None}}, 1),
        (None, 1),
        ({"language_info": {"name": "R"}}, 0),
        ({"kernelspec": None, "language_info": {"name": "python"}}, 1),
    ],
)
def test_the_language_where_the_kernel_does_not_say_it(metadata, cells):
    assert len(read_notebook(notebook("x = 1", metadata=metadata).encode()).starts) == cells


def test_sources_that_are_split_anywhere_and_line_ends_of_any_kind():
    pieces = [{"cell_type": "code", "source": ["x =", " 1\ny ", "= 2\r\nz = 3\rw = 4"]}]
    raw = notebook(cells=pieces).encode()
    assert read_notebook(raw).text == "x = 1\ny = 2\nz = 3\nw = 4\n"


def test_a_byte_order_mark_stays():
    mark = b"\xef\xbb\xbf"
    raw = mark + notebook("x = 1").encode()
    assert read_notebook(raw).text == "x = 1\n"
    assert with_cells(raw, {1: lambda _: "x = 2"}) == raw.replace(b"x = 1", b"x = 2")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["nb.ipynb", *arguments])
    code = stop.value.code
    assert isinstance(code, int)
    return code


def test_comments_are_written_into_cells_and_all_else_stays(capsys):
    before = notebook("%time\nfrom torch import nn", MODEL)
    Path("nb.ipynb").write_text(before)
    run("--no-confirm", "--add-noqa")
    assert capsys.readouterr().err == "1 finding is suppressed by a comment now\n"
    assert Path("nb.ipynb").read_text() == before.replace('len(x)"', 'len(x)  # noqa: FX120"')
    assert run("--no-confirm") == 0


def test_fixes_are_shown_by_cell(capsys):
    Path("nb.ipynb").write_text(notebook("import os", "x = 1\ny = 2  # noqa: FX101\nz = 3"))
    assert run("--no-confirm", "--diff") == 1
    assert capsys.readouterr().out.splitlines() == [
        "--- nb.ipynb:cell 2", "+++ nb.ipynb:cell 2", "@@ -1,3 +1,3 @@",
        " x = 1", "-y = 2  # noqa: FX101", "+y = 2", " z = 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "after"),
    [
        (r'["x = 1\n",   "y = \u00e4  # noqa: FX101"]', r'["x = 1\n",   "y = \u00e4"]'),
        (r'"x = 1\ny = 2  # noqa: FX101\n"', r'"x = 1\ny = 2\n"'),
        (r'["s = \"\u00e4\"  # noqa: FX101"]', r'["s = \"\u00e4\""]'),
        (r'["s = \"数\"  # noqa: FX101"]', r'["s = \"数\""]'),
        (r'["\u0078 = 1\r\n", "y = 2  # noqa: FX101\r\n"]', r'["\u0078 = 1\r\n", "y = 2\r\n"]'),
        ('[\n  "x = 1\\n",\n  "# fxlint: ignore[FX101]\\n",\n  "y"\n ]', '[\n  "x = 1\\n",\n  "y"\n ]'),
    ],
)
def test_fixes_change_the_source_of_a_cell_and_no_other_byte(written, after):
    text = '{"source": "# text", "cell_type": "markdown"}'
    document = '{"cells" :[ ' + text + ' ,\n{"source":%s, "x" :1e3,"cell_type":"code"}], "y": [] }\t'
    Path("nb.ipynb").write_text(document % written, encoding="utf-8", newline="")
    run("--no-confirm", "--fix")
    assert Path("nb.ipynb").read_text(encoding="utf-8") == document % after


def test_a_baseline_knows_findings_in_cells(capsys):
    Path("nb.ipynb").write_text(notebook("from torch import nn", MODEL))
    run("--no-confirm", "--write-baseline", "base.json")
    Path("nb.ipynb").write_text(notebook("from torch import nn", "x = 1\n" * 3, MODEL))
    assert run("--no-confirm", "--baseline", "base.json") == 0


@pytest.mark.torch
def test_a_notebook_is_traced_as_its_cells_stand_and_its_rewrites_are_tried():
    model = MODEL.replace("len(x)", "x.view(len(x), -1)")
    report = lint("%pip install torch\nfrom torch import nn", model, confirm=True)
    (module,), (finding,) = report.modules, report.findings
    assert (module.confirmed.verdict, finding.confirmation.status) == ("fails", "confirmed")
    error = finding.confirmation.error
    assert error is not None
    assert (error.path, error.line) == ("nb.ipynb:cell 2", 3)
    tried = next(one for one in finding.suggestions if one.edits)
    assert tried.checked is not None
    assert (tried.edits[0].location.path, tried.checked.verdict) == ("nb.ipynb:cell 2", "traces")
    assert "Net fails" not in shown(report, "full")
    assert report.problems == ()


@pytest.mark.torch
def test_a_statement_that_raises_costs_what_needs_it():
    needs_data = MODEL.replace("Net(nn.Module)", "Other(nn.Module, size=data)")
    report = lint("from torch import nn", "data = open('none.csv')", MODEL, needs_data, confirm=True)
    net, other = report.modules
    assert net.confirmed.verdict == "fails"
    said = "importing nb defines no Other here: nb.ipynb:cell 2:1 raised FileNotFoundError: "
    assert (other.confirmed.reason or "").startswith(said)


@pytest.mark.torch
def test_a_notebook_in_a_package_stands_alone():
    Path("__init__.py").touch()
    assert lint("from torch import nn", MODEL, confirm=True).modules[0].confirmed.verdict == "fails"
