"""Names of files that would drive a terminal or break a line, in every format that people read."""

from dataclasses import replace

import pytest

from fxlint.findings import Confirmation, Confirmed, Failure, Problem, Report, Step
from fxlint.report import renderer
from fxlint.report.text import placed, printable

ODD = "a\x1b[31m\nb\u2028\u202e.py"
TOLD = "a\\x1b[31m\\nb\\u2028\\u202e.py"


@pytest.mark.parametrize("name", ["concise", "full", "github"])
def test_they_are_shown_with_escapes(report, options, name):
    finding, module = report.findings[0], report.modules[0]
    place = replace(finding.location, path=ODD)
    error = Failure("TraceError", "no", ODD, 1, 2)
    odd = replace(
        finding, location=place, provenance=(Step(place, "x"),), confirmation=Confirmation("confirmed", None, error)
    )
    failed = replace(module, root=replace(module.root, path=ODD), confirmed=Confirmed("fails", None, "Net()", error))
    text = renderer(name)(Report(1, (failed,), (odd,), (Problem(ODD, "no"),)), options)
    assert TOLD in text
    assert not set("\x1b\u2028\u202e") & set(text)
    assert not [row for row in text.splitlines() if row.startswith("b")]


def test_those_of_problems_too():
    assert placed(Problem(ODD, "could not parse", 3)) == f"{TOLD}:3: could not parse"


def test_other_names_are_as_they_are():
    assert printable("größe 数\\n.py") == "größe 数\\n.py"
