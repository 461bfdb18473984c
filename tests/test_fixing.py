"""Applying suggestions in rounds: in memory first, then shown or written."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import fxlint
from fxlint.findings import Report
from fxlint.fixing import Changes, diff, fixed, stamps, suppressed, write

TWICE = """\
from torch import nn


class Net(nn.Module):
    # fxlint: inputs=(__import__('torch').randn(2, 8),)
    def forward(self, x):
        return x.view(len(x), -1).reshape(len(x), 4, -1)  # noqa: FX101
"""


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(TWICE)


def lint(held: Mapping[str, bytes], **settings: object) -> Report:
    return fxlint.check("net.py", sources=held, **settings)


def fix(confirm: bool = False, texts: Mapping[str, bytes] | None = None) -> Changes:
    def run(held: Mapping[str, bytes]) -> Report:
        return lint(held, confirm=confirm)

    return fixed(run, texts or {}, can_fix=lambda _: True, unsafe=False)


@pytest.mark.torch
def test_what_has_to_wait_for_another_round_is_in_the_diff_too_and_nothing_is_written():
    changes = fix(confirm=True)
    assert [finding.code for finding, _ in changes.applied] == ["FX120", "FX120", "FX001"]
    added = [row for row in diff(changes) if row.startswith("+ ")]
    assert added == ["+        return x.view(x.size(0), -1).reshape(x.size(0), 4, -1)\n"]
    assert Path("net.py").read_text() == TWICE
    assert write(changes, stamps(["net.py"]))
    assert Path("net.py").read_text() == TWICE.replace("len(x)", "x.size(0)").replace("  # noqa: FX101", "")
    assert changes.report.findings == ()


def test_what_is_held_in_memory_is_changed_there():
    text = TWICE.replace("FX101", "FX102")
    changes = fix(texts={"net.py": text.encode()})
    assert changes.after == {"net.py": text.replace("  # noqa: FX102", "").encode()}


def test_comments_are_written_at_the_end_of_the_logical_line():
    over_two_lines = TWICE.replace(".reshape(", ".reshape(\n            ").replace("  # noqa: FX101", "")
    Path("net.py").write_text(over_two_lines)
    changes = suppressed(lint({}, confirm=False), "small")
    assert write(changes, stamps(["net.py"]))
    assert "            len(x), 4, -1)  # noqa: FX120 small\n" in Path("net.py").read_text()
    assert lint({}, confirm=False).suppressed == 2
