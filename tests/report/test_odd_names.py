"""Every format takes names of files, classes and code that mean something to it."""

import json
from dataclasses import replace
from typing import get_args
from xml.etree import ElementTree as ET

import pytest

from fxlint.config import Format
from fxlint.findings import Confirmed, ModuleReport, Predicted, Report, Root, Step
from fxlint.report import Options, renderer

NAMES = [
    "größe/数.py", "a b.py", "a:1:2.py", "<x>&'\".py", "%0A::error::x.py", "]]>.py", "-->", "`x`|y.py", "a\tb.py",
    "a\nb.py", "\x1b[31m.py", "\udcff.py", "\u202eyp.py", "nb.ipynb:cell 2", "##vso[x]y;z.py", "x" * 300,
]  # fmt: skip
CONTROL = ("\x1b", "\u202e", "\t", "\x00")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("output_format", get_args(Format))
def test_odd_names(report: Report, options: Options, output_format: Format, name: str):
    odd = name.replace("/", "")
    place = replace(report.findings[0].location, path=name)
    finding = replace(
        report.findings[0],
        location=place,
        message=f"`{odd}` is {odd}",
        modules=(f"{name}::{odd}",),
        provenance=(Step(place, odd),),
    )
    module = ModuleReport(Root(name, odd, 1, "class"), Predicted("fails", place), Confirmed("fails", odd, odd))
    refuted = replace(finding, confirmation=report.findings[3].confirmation)
    told = replace(report, modules=(module,), findings=(finding, refuted))
    text = renderer(output_format)(told, replace(options, show_graph=True))
    text.encode("utf-8", "backslashreplace")
    assert not any(character in text for character in CONTROL)
    if output_format in ("json", "sarif", "gitlab", "rdjson"):
        assert json.loads(text)
    elif output_format == "json-lines":
        assert [json.loads(row)["message"] for row in text.splitlines()] == [f"`{odd}` is {odd}"] * 2
    elif output_format == "junit":
        ET.fromstring(text.encode("utf-8", "backslashreplace"))
    elif output_format in ("concise", "pylint", "azure"):
        expected = 1 + (len(report.problems) if output_format == "azure" else 0)
        assert len(text.splitlines()) == expected
