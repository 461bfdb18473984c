"""``--watch`` lints again what is saved, until it is interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fxlint
from fxlint.cli import main

pytest.importorskip("watchfiles")

NET = "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return {}(x)\n"


class Watched:
    """A run in the background, in a session of its own."""

    def __init__(self, folder, *options):
        said = ["--no-confirm", "--output-format", "concise", "--watch", *options]
        own = str(Path(fxlint.__file__).parents[1])
        paths = os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "fxlint", *said],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def lines(self):
        """What is said until it watches."""
        found = []
        for line in self.process.stdout:
            if line.startswith("watching"):
                return found
            found.append(line)
        raise AssertionError(f"it ended: {found}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "net.py").write_text(NET.format("len"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_lints_again_what_is_saved_and_ends_with_a_signal(folder, number, code):
    with Watched(folder) as run:
        assert run.lines()[0].startswith("net.py:5:16: FX120")
        (folder / "net.py").write_text(NET.format("int"))
        assert run.lines()[0].startswith("net.py:5:16: FX122")
        (folder / "fxlint.toml").write_text("select = [")  # a slip is told, and it goes on
        assert "not valid TOML" in "".join(run.lines())
        (folder / "fxlint.toml").write_text('ignore = ["FX122"]')
        assert "FX122" not in "".join(run.lines())
        run.process.send_signal(number)
        assert run.process.wait(30) == code


@pytest.mark.parametrize("option", ["--fix", "--diff", "--add-noqa"])
def test_it_changes_nothing(folder, monkeypatch, capsys, option):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as ended:
        main(["--watch", option])
    assert (ended.value.code, "--watch reports what is in files" in capsys.readouterr().err) == (2, True)
