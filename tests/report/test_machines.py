"""The formats that other tools read, each against what is published about it."""

import json
import re
from dataclasses import replace
from typing import ClassVar
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from fxlint.findings import Finding, Location, Problem, Report
from fxlint.report import azure, gitlab, json_lines, junit, pylint, rdjson
from fxlint.report.json import document

ODD = Finding("FX101", "branch", "info", Location("a;b]c.py", 1, 2, 1, 3), "100% of `x<y>&z`\nend", "bool.if")


def shifted(report: Report, lines: int) -> Report:
    """The findings as they are after an edit above them."""
    return replace(
        report,
        findings=tuple(
            replace(one, location=replace(one.location, line=one.location.line + lines)) for one in report.findings
        ),
    )


class TestJsonLines:
    def test_each_line_is_a_finding_as_in_the_json_format(self, report, options):
        rows = json_lines.render(report, options).splitlines()
        assert [json.loads(row) for row in rows] == document(report, options)["findings"]

    def test_nothing_found_is_an_empty_output(self, empty, options):
        assert json_lines.render(empty, options) == ""


class TestGitLab:
    ISSUES: ClassVar[dict] = {  # the fields that GitLab's documentation lists
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": {"type": "string"},
                "check_name": {"type": "string"},
                "fingerprint": {"type": "string"},
                "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": {"type": "string", "pattern": "^[^./]"},
                        "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"minimum": 1}}},
                    },
                },
            },
        },
    }

    def test_the_whole_output(self, report, options, golden):
        golden("gitlab.json", gitlab.render(report, options))

    def test_it_has_the_fields_that_gitlab_lists(self, report, empty, options):
        jsonschema.validate(json.loads(gitlab.render(report, options)), self.ISSUES)
        assert json.loads(gitlab.render(empty, options)) == []

    def test_absolute_paths_below_the_working_directory_become_relative(self, options):
        inside = replace(ODD, location=replace(ODD.location, path=f"{options.base.as_posix()}/a.py"))
        (issue,) = json.loads(gitlab.render(Report(1, (), (inside,)), options))
        assert issue["location"]["path"] == "a.py"

    def test_fingerprints_are_unique_and_stable_under_edits_above(self, report, options):
        def prints(of: Report) -> list[str]:
            return [issue["fingerprint"] for issue in json.loads(gitlab.render(of, options))]

        twice = replace(report, findings=(*report.findings, *report.findings))
        assert len(set(prints(twice))) == len(prints(twice))
        before = prints(report)
        model = options.base / "pkg" / "model.py"
        model.write_text("\n\n" + model.read_text(encoding="utf-8"), encoding="utf-8")
        options.sources._lines.clear()
        assert prints(shifted(report, 2))[:3] == before[:3]


class TestRdjson:
    POSITION: ClassVar[dict] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
    }
    RANGE: ClassVar[dict] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["start"],
        "properties": {"start": POSITION, "end": POSITION},
    }
    SEVERITY: ClassVar[dict] = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
    RESULT: ClassVar[dict] = {  # the parts of reviewdog's schema that are in use, with no other property allowed
        "type": "object",
        "additionalProperties": False,
        "required": ["diagnostics"],
        "properties": {
            "source": {"type": "object", "properties": {"name": {"type": "string"}}},
            "severity": SEVERITY,
            "diagnostics": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "message": {"type": "string"},
                        "severity": SEVERITY,
                        "code": {"type": "object", "properties": {"value": {"type": "string"}}},
                        "location": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {"path": {"type": "string"}, "range": RANGE},
                        },
                        "suggestions": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "additionalProperties": False,
                                "properties": {"range": RANGE, "text": {"type": "string"}},
                            },
                        },
                    },
                },
            },
        },
    }

    def test_the_whole_output(self, report, options, golden):
        golden("rdjson.json", rdjson.render(report, options))

    def test_it_is_valid(self, report, empty, options):
        jsonschema.validate(json.loads(rdjson.render(report, options)), self.RESULT)
        assert json.loads(rdjson.render(empty, options))["diagnostics"] == []

    def test_columns_count_the_bytes_of_utf_8(self, report, options):
        length = json.loads(rdjson.render(report, options))["diagnostics"][1]
        before = '        größe = "数数"; n = '
        assert length["location"]["range"]["start"] == {"line": 8, "column": len(before.encode()) + 1}

    def test_only_what_can_be_accepted_by_itself_is_suggested(self, report, options):
        length = json.loads(rdjson.render(report, options))["diagnostics"][1]
        assert [one["text"] for one in length["suggestions"]] == ["x.size(0)"]


class TestPylint:
    def test_the_whole_output(self, report, options, golden):
        golden("pylint.txt", pylint.render(report, options))

    def test_every_line_has_the_form_that_parsers_of_pylint_know(self, report, options):
        form = re.compile(r"(.+):(\d+): \[([A-Z]+\d+)\(([\w-]+)\), ([^\]]*)\] (.*)")
        assert all(form.fullmatch(row) for row in pylint.render(report, options).splitlines())


class TestAzure:
    def test_the_whole_output(self, report, options, golden):
        golden("azure.txt", azure.render(report, options))

    def test_what_would_end_a_property_or_a_command_is_escaped(self, options):
        assert azure.render(Report(1, (), (ODD,)), options) == (
            "##vso[task.logissue type=warning;sourcepath=a%3Bb%5Dc.py;linenumber=1;columnnumber=2;code=FX101;]"
            "100%AZP25 of `x<y>&z` end\n"
        )


class TestJUnit:
    ELEMENTS: ClassVar[dict] = {  # name: (required attributes, all attributes, children), from Jenkins' junit-10.xsd
        "testsuites": (set(), {"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
        "testsuite": (
            {"name", "tests", "failures", "errors"},
            {"name", "tests", "failures", "errors", "skipped", "time"},
            {"testcase"},
        ),
        "testcase": ({"name"}, {"name", "classname", "time"}, {"failure", "error"}),
        "failure": (set(), {"type", "message"}, set()),
        "error": (set(), {"type", "message"}, set()),
    }

    def test_the_whole_output(self, report, options, golden):
        golden("junit.xml", junit.render(report, options))

    @pytest.mark.parametrize("which", ["report", "empty"])
    def test_it_is_valid(self, request, options, which):
        root = ET.fromstring(junit.render(request.getfixturevalue(which), options))
        assert root.tag == "testsuites"
        for element in root.iter():
            required, known, children = self.ELEMENTS[element.tag]
            assert required <= set(element.attrib) <= known
            assert {child.tag for child in element} <= children

    def test_counts_are_those_of_the_cases(self, report, options):
        for suite in ET.fromstring(junit.render(report, options)):
            cases = list(suite)
            assert int(suite.get("tests", "")) == len(cases)
            assert int(suite.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
            assert int(suite.get("errors", "")) == sum(case.find("error") is not None for case in cases)

    def test_nothing_found_is_one_case_that_passes_for_ci_takes_no_case_for_a_failure(self, empty, options):
        (case,) = ET.fromstring(junit.render(empty, options)).iter("testcase")
        assert list(case) == []

    def test_an_input_that_could_not_be_linted_is_an_error(self, options):
        report = Report(0, (), (), (Problem("a.py", "could not parse: <", 3), Problem("a.py", "m", stage="confirm")))
        (error,) = ET.fromstring(junit.render(report, options)).iter("error")
        assert error.text == "a.py:3: could not parse: <"
