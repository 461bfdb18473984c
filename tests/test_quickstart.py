"""The project of the README, through the whole line and the real command."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SESSION = re.compile(r"(<!-- session.*?-->\n```console\n\$ fxlint ([^\n]*)\n)(.*?)(```\n)", re.DOTALL)

FINDINGS = {
    ("fixtures/quickstart/vision/attention.py", 17, "FX120"),
    ("fixtures/quickstart/vision/attention.py", 17, "FX121"),
    ("fixtures/quickstart/vision/blocks.py", 28, "FX101"),
    ("fixtures/quickstart/vision/blocks.py", 41, "FX105"),
    ("fixtures/quickstart/vision/positions.py", 7, "FX122"),
}
VERDICTS = {"ConvBlock": "traces", "Gate": "fails", "Classifier": "fails", "PatchAttention": "fails"}


def fxlint(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "NO_COLOR")}
    command = [sys.executable, "-m", "fxlint", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def places(report: dict) -> set[tuple[str, int, str]]:
    return {(finding["path"], finding["line"], finding["code"]) for finding in report["findings"]}


def test_predicted():
    printed = fxlint("fixtures/quickstart", "--no-confirm", "--output-format", "json")
    assert printed.returncode == 1, printed.stderr
    report = json.loads(printed.stdout)
    assert places(report) == FINDINGS
    assert {module["class"]: module["predicted"]["verdict"] for module in report["modules"]} == VERDICTS
    assert {finding["confirmation"]["status"] for finding in report["findings"]} == {"unconfirmed"}


@pytest.mark.torch
def test_confirmed():
    printed = fxlint("fixtures/quickstart", "--output-format", "json")
    assert printed.returncode == 1, printed.stderr
    report = json.loads(printed.stdout)
    assert places(report) == FINDINGS
    assert {module["class"]: module["confirmed"]["verdict"] for module in report["modules"]} == VERDICTS
    assert {finding["confirmation"]["status"] for finding in report["findings"]} == {"confirmed"}


@pytest.mark.torch
def test_the_session_in_the_readme_is_what_fxlint_prints():
    text = README.read_text(encoding="utf-8")
    shown = SESSION.search(text)
    assert shown, "the README has no session"
    printed = fxlint(*shown[2].split())
    session = printed.stdout + printed.stderr
    if os.environ.get("FXLINT_UPDATE_GOLDEN"):
        README.write_text(text[: shown.start(3)] + session + text[shown.end(3) :], encoding="utf-8")
        pytest.fail("the README was rewritten: read the difference")
    assert shown[3] == session


@pytest.mark.torch
def test_the_picture_in_the_readme_shows_what_fxlint_prints():
    picture = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    drawn, file = picture["draw"](), picture["PICTURE"]
    if os.environ.get("FXLINT_UPDATE_GOLDEN"):
        file.write_text(drawn, encoding="utf-8")
        pytest.fail("the picture was drawn anew: look at it")
    assert f"]({file.relative_to(ROOT).as_posix()})" in README.read_text(encoding="utf-8")
    assert picture["words"](file.read_text(encoding="utf-8")) == picture["words"](drawn)
