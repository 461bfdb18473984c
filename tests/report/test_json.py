"""The JSON that other programs rely on, against a schema of version 1 written down here."""

import json
from pathlib import Path

import jsonschema
import pytest

from fxlint.report.json import render

SCHEMA = json.loads((Path(__file__).parent / "contract.schema.json").read_text())


def validate(document: object) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)


def test_the_whole_output(report, options, golden):
    golden("report.json", render(report, options))


def test_it_keeps_the_contract(report, empty, options):
    validate(json.loads(render(report, options)))
    validate(json.loads(render(empty, options)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("summary", "files"), "3"),
        (("modules", 0, "predicted", "verdict"), "not-run"),
        (("modules", 0, "confirmed", "error", "type"), None),
        (("findings", 0, "column"), 0),
        (("findings", 0, "confirmation", "status"), "fine"),
        (("findings", 1, "suggestions", 0, "checked", "nodes"), "2"),
        (("errors", 0, "line"), "3"),
    ],
)
def test_the_schema_would_notice(report, options, path, value):
    document = json.loads(render(report, options))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_refuted_findings_are_kept(report, options):
    found = json.loads(render(report, options))["findings"]
    assert [finding["confirmation"]["status"] for finding in found].count("refuted") == 1


def test_odd_file_names_cannot_break_it(report, options):
    assert render(report, options).isascii()
