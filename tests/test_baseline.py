"""Findings that a project lives with."""

import json
from pathlib import Path

import pytest

from fxlint.baseline import compare, write
from fxlint.config import ConfigError
from fxlint.findings import Finding, Location

SOURCE = """\
class Net(Module):
    def forward(self, x):
        return len(x) + len(x)
"""
FILE = Path("base.json")
CODES = frozenset({"FX120", "FX101"})


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def lengths(text: str, path: str = "a.py", code: str = "FX120") -> list[Finding]:
    """Write a file; a finding for each len(...) in it."""
    Path(path).write_text(text)
    rows = text.split("\n")
    found = []
    for number, row in enumerate(rows, 1):
        start = row.find("len(")
        while start >= 0:
            ends = ((line, rows[line - 1].find(")", start if line == number else 0)) for line in range(number, 99))
            line, end = next((line, end) for line, end in ends if end >= 0)
            place = Location(path, number, start + 1, line, end + 2)
            found.append(Finding(code, "r", "error", place, "m", "len.call"))
            start = row.find("len(", start + 1)
    return found


def new(findings: list[Finding], **how: object) -> list[int]:
    """The lines of the findings that are not in the baseline."""
    compared = compare(FILE, findings, ["a.py"], CODES, **{"traced": True, **how})
    return [finding.location.line for finding in compared.findings]


def gone(findings: list[Finding], linted: tuple[str, ...] = ("a.py",), traced: bool = True) -> list[str]:
    return [problem.message for problem in compare(FILE, findings, linted, CODES, traced=traced).gone]


def test_what_is_in_the_baseline_is_not_told():
    write(FILE, lengths(SOURCE))
    compared = compare(FILE, lengths(SOURCE), ["a.py"], CODES, traced=True)
    assert (compared.findings, compared.known, compared.gone) == ((), 2, ())


@pytest.mark.parametrize(
    "edited",
    [
        "import torch\n\n\n" + SOURCE,
        SOURCE.replace("len(x) +", "len( x ) +"),
        SOURCE.replace("return len(x) +", "y = (len(  # why\n            x\n        ) + 1)\n        return y +"),
        SOURCE.replace("    def", "    size = 3\n\n    def"),
    ],
)
def test_edits_above_and_of_the_layout_leave_it_alone(edited):
    write(FILE, lengths(SOURCE))
    assert new(lengths(edited)) == []


@pytest.mark.parametrize(
    "edited",
    [
        SOURCE.replace("len(x) +", "len(x.y) +"),
        SOURCE.replace("forward", "encode"),
        SOURCE.replace("Net", "Other"),
        SOURCE + "        len(x)\n",
    ],
)
def test_other_source_another_function_and_one_more_of_the_same_are_new(edited):
    write(FILE, lengths(SOURCE))
    assert new(lengths(edited))


def test_another_rule_in_the_same_place_is_new():
    write(FILE, lengths(SOURCE))
    assert new(lengths(SOURCE, code="FX101")) == [3, 3]


def test_an_entry_that_is_found_no_more_is_told():
    write(FILE, lengths(SOURCE))
    edited = lengths(SOURCE.replace("len(x) +", "1 +"))
    said = "is found no more: FX120 `len ( x )` in Net.forward, a.py"
    assert gone(edited) == [said]
    assert gone(edited, traced=False) == [f"{said}; nothing was traced, which finds more"]


def test_entries_of_files_that_were_not_linted_are_not_gone_but_those_of_files_that_are_no_more():
    write(FILE, [*lengths(SOURCE), *lengths(SOURCE, "b.py")])
    assert gone(lengths(SOURCE)) == []
    Path("b.py").unlink()
    assert len(gone(lengths(SOURCE))) == 2


def test_entries_of_rules_that_were_off_are_not_gone():
    write(FILE, lengths(SOURCE))
    assert compare(FILE, [], ["a.py"], frozenset(), traced=True).gone == ()


def test_a_baseline_can_be_read_and_compared_by_people_and_moves_with_its_folder():
    write(FILE, lengths(SOURCE))
    assert json.loads(FILE.read_text())["findings"] == [
        {"path": "a.py", "code": "FX120", "function": "Net.forward", "source": "len ( x )", "count": 2}
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "findings": [{}]}', '{"schema": 2}'])
def test_what_is_no_baseline_is_an_error_that_names_the_file(text):
    FILE.write_text(text)
    with pytest.raises(ConfigError, match=r"base\.json: (is no baseline|a baseline of schema 2)"):
        new([])
