"""SARIF, against those parts of the published 2.1.0 schema that are in use, with no other property allowed."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema

from fxlint.findings import Problem, Report
from fxlint.report.sarif import render
from fxlint.report.sources import Sources

SCHEMA = json.loads((Path(__file__).parent / "sarif-2.1.0.trimmed.schema.json").read_text())


def run(report: Report, options) -> dict:
    document = json.loads(render(report, options))
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    return document["runs"][0]


def test_the_whole_output(report, options, golden):
    golden("report.sarif", render(report, options))


def test_it_is_valid(report, empty, options):
    run(report, options)
    assert run(empty, options)["results"] == []


def test_columns_are_declared_to_count_code_points(report, options):
    result = run(report, options)
    assert result["columnKind"] == "unicodeCodePoints"
    region = result["results"][1]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 8, "startColumn": 27, "endLine": 8, "endColumn": 33}


def test_every_result_points_at_the_metadata_of_its_rule(report, options):
    result = run(report, options)
    rules = result["tool"]["driver"]["rules"]
    assert [rules[found["ruleIndex"]]["id"] for found in result["results"]] == ["FX101", "FX120", "FX105", "FX123"]
    assert {rule["id"]: rule["defaultConfiguration"]["level"] for rule in rules} == {
        "FX101": "error", "FX105": "error", "FX120": "error", "FX122": "warning", "FX123": "note"
    }  # fmt: skip


def test_the_provenance_is_the_related_locations(report, options):
    related = run(report, options)["results"][0]["relatedLocations"]
    assert [(place["id"], place["message"]["text"]) for place in related] == [(0, "x"), (1, "x.sum()"), (2, "f(x)")]
    assert related[2]["physicalLocation"]["artifactLocation"]["uri"] == "pkg/util.py"


def test_problems_are_notifications_and_an_unread_file_is_no_success(report, empty, options):
    (invocation,) = run(report, options)["invocations"]
    assert [notice["level"] for notice in invocation["toolExecutionNotifications"]] == ["error", "warning"]
    assert not invocation["executionSuccessful"]
    only_confirm = replace(report, problems=report.problems[1:])
    assert run(only_confirm, options)["invocations"][0]["executionSuccessful"]


def uris(report: Report, options, path: str) -> str:
    moved = replace(report.findings[0], location=replace(report.findings[0].location, path=path))
    result = run(replace(report, findings=(moved,)), options)["results"][0]
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_uris_are_relative_and_escaped(report, options):
    assert uris(report, options, "./pkg/a b#ü.py") == "pkg/a%20b%23%C3%BC.py"
    assert uris(report, options, f"{options.base.as_posix()}/pkg/a.py") == "pkg/a.py"
    assert uris(report, options, "/elsewhere/a.py") == "file:///elsewhere/a.py"
    assert uris(report, options, "pkg/\udcff.py") == "pkg/%FF.py"


def fingerprints(report: Report, options) -> list[str]:
    results = run(report, replace(options, sources=Sources()))["results"]
    return [result["partialFingerprints"]["fxlint/v1"] for result in results]


def test_fingerprints_stay_when_lines_move(report, options):
    before = fingerprints(report, options)
    model = options.base / "pkg" / "model.py"
    model.write_text("\n\n" + model.read_text())
    down = [
        replace(finding, location=replace(place, line=place.line + 2, end_line=place.end_line + 2))
        for finding in report.findings
        for place in [finding.location]
    ]
    assert fingerprints(replace(report, findings=tuple(down)), options) == before


def test_fingerprints_differ_between_findings_on_equal_lines(report, options):
    twice = replace(report, findings=(report.findings[0], report.findings[0]))
    first, second = fingerprints(twice, options)
    assert first != second


def test_a_problem_without_a_file_has_no_location(empty, options):
    problem = Problem("", "nothing was traced", stage="confirm")
    (invocation,) = run(replace(empty, problems=(problem,)), options)["invocations"]
    assert "locations" not in invocation["toolExecutionNotifications"][0]
