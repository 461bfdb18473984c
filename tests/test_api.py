"""fxlint from Python."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import fxlint
from fxlint.config import Config, ConfigError

MODEL = """\
from torch import nn


class Net(nn.Module):
    def forward(self, x, flag=False):
        if flag:
            return x
        return len(x)
"""


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)


def codes(report: fxlint.Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize("paths", ["model.py", Path("model.py"), ["model.py"], [Path()], "."])
def test_files_and_folders_are_linted(paths):
    report = fxlint.check(paths, confirm=False)
    assert codes(report) == ["FX105", "FX120"]
    assert (report.files, report.modules[0].root.qualname) == (1, "Net")


def test_settings_go_before_the_nearest_configuration():
    Path("fxlint.toml").write_text("ignore = ['FX105']\nconfirm = false")
    assert codes(fxlint.check()) == ["FX120"]
    assert codes(fxlint.check(select=("FX105",))) == ["FX105"]
    assert codes(fxlint.check(per_file_ignores={"model.py": ("FX1",)})) == []
    assert codes(fxlint.check(config=Config(Path.cwd()), confirm=False)) == ["FX105", "FX120"]


def test_a_setting_that_cannot_be_used_is_an_error():
    with pytest.raises(ConfigError, match="unknown key 'slect'; did you mean 'select'"):
        fxlint.check(slect=["FX1"])  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="'timeout' must be a number of seconds"):
        fxlint.check(timeout=-1)


def test_sources_in_memory_are_read_instead_of_the_disk_and_not_run():
    report = fxlint.check("model.py", sources={"model.py": MODEL.replace("len(x)", "x")})
    assert codes(report) == ["FX105"]
    assert report.modules[0].confirmed.verdict == "not-run"


def test_what_cannot_be_linted_is_a_problem_of_the_report():
    Path("broken.py").write_text("def f(:\n")
    report = fxlint.check(confirm=False)
    assert [(problem.path, problem.stage) for problem in report.problems] == [("broken.py", "input")]


def test_the_log_tells_each_stage():
    rows: list[str] = []
    fxlint.check(confirm=False, log=rows.append)
    assert rows[0].startswith("found 1 files")


def test_a_report_is_frozen():
    report = fxlint.check(confirm=False)
    with pytest.raises(FrozenInstanceError):
        report.files = 2
