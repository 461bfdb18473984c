"""Jupyter notebooks, from the file to the report."""

import json
from pathlib import Path

import pytest

import fxlint
from fxlint.cli import main
from fxlint.project.notebook import read_notebook
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


def test_comments_are_not_written_into_a_notebook_and_none_is_claimed(capsys):
    before = notebook("from torch import nn", MODEL)
    Path("nb.ipynb").write_text(before)
    with pytest.raises(SystemExit):
        main(["nb.ipynb", "--no-confirm", "--add-noqa"])
    assert capsys.readouterr().err == "0 findings are suppressed by a comment now\n"
    assert Path("nb.ipynb").read_text() == before


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
