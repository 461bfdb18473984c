"""The sessions of the tutorial: one after the other, in a copy of its project."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
SESSIONS = re.compile(r"(?<=```console\n).*?(?=```\n)", re.DOTALL)


@pytest.mark.torch
@pytest.mark.slow
def test_every_session_is_what_fxlint_prints(tmp_path: Path):
    project = tmp_path / "quickstart"
    shutil.copytree(ROOT / "fixtures" / "quickstart", project, ignore=shutil.ignore_patterns("__pycache__"))
    text = TUTORIAL.read_text(encoding="utf-8")
    printed = SESSIONS.sub(lambda session: _session(session[0], project), text)
    if os.environ.get("FXLINT_UPDATE_GOLDEN"):
        TUTORIAL.write_text(printed, encoding="utf-8")
        pytest.fail("the tutorial was rewritten: read the difference")
    assert text == printed


def _session(said: str, project: Path) -> str:
    """The commands of a session, each with what it prints."""
    return "".join(f"$ {line}\n{_run(line, project)}" for line in re.findall(r"(?m)^\$ (.*)", said))


def _run(line: str, project: Path) -> str:
    program, *arguments = shlex.split(line)
    assert program == "fxlint"
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "NO_COLOR")}
    command = [sys.executable, "-m", "fxlint", *arguments]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
