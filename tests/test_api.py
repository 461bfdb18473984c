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


def test_each_file_goes_by_the_configuration_nearest_to_it():
    for name in ("one", "two", "two/sub"):
        Path(name).mkdir()
        Path(name, "model.py").write_text(MODEL)
    Path("one/fxlint.toml").write_text("select = ['FX105']")
    per_file = "[tool.fxlint.per-file-ignores]\n'sub/' = ['FX']\n"
    Path("two/pyproject.toml").write_text(f"[tool.fxlint]\nignore = ['FX105']\n{per_file}")
    found = [(finding.location.path, finding.code) for finding in fxlint.check(confirm=False).findings]
    assert found == [
        ("model.py", "FX105"), ("model.py", "FX120"), ("one/model.py", "FX105"), ("two/model.py", "FX120")
    ]  # fmt: skip


def test_imports_are_followed_to_files_of_another_configuration():
    for name, text in {
        "lib/src/net/__init__.py": "",
        "lib/src/net/ops.py": "def size(x):\n    return len(x)\n",
        "app/model.py": "from torch import nn\nfrom net.ops import size\n\n\n"
        "class Net(nn.Module):\n    def forward(self, x):\n        return size(x)\n",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    Path("lib/fxlint.toml").touch()
    Path("app/fxlint.toml").touch()
    report = fxlint.check(["app", "lib"], confirm=False)
    assert [(finding.location.path, finding.code) for finding in report.findings] == [("app/model.py", "FX120")]


def test_a_setting_that_cannot_be_used_is_an_error():
    with pytest.raises(ConfigError, match="unknown key 'slect'; did you mean 'select'"):
        fxlint.check(slect=["FX1"])  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="'timeout' must be a number of seconds"):
        fxlint.check(timeout=-1)


@pytest.mark.torch
def test_sources_in_memory_are_traced_for_those_who_ask_for_it():
    for name in ("pkg/__init__.py", "pkg/net.py"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("raise RuntimeError('not this one')")
    texts = {"pkg/__init__.py": "", "pkg/net.py": MODEL.replace("flag=False", "").replace("if flag", "if x.sum()")}
    report = fxlint.check("pkg", sources=texts, confirm=True)
    assert [(one.code, one.confirmation.status) for one in report.findings] == [
        ("FX101", "confirmed"), ("FX120", "confirmed")
    ]  # fmt: skip


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
    assert rows[0].startswith("found 1 file ")


def test_a_report_is_frozen():
    report = fxlint.check(confirm=False)
    with pytest.raises(FrozenInstanceError):
        report.files = 2


def test_two_packages_of_one_name_are_each_what_they_are():
    """As in a folder of several checkouts; the helper of the one is not the helper of the other."""
    model = "from torch import nn\nfrom pkg.helper import step\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"
    for root, result in {"first": "x + 1", "second": "len(x)"}.items():
        package = Path(root, "pkg")
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", encoding="utf-8")
        (package / "model.py").write_text(f"{model}        return step(x)\n", encoding="utf-8")
        (package / "helper.py").write_text(f"def step(x):\n    return {result}\n", encoding="utf-8")
    report = fxlint.check(["first", "second"], confirm=False)
    verdicts = {Path(module.root.path).parts[-3]: module.predicted.verdict for module in report.modules}
    assert verdicts == {"first": "traces", "second": "fails"}


def test_what_is_raised_and_what_could_not_be_linted_need_nothing_else_imported():
    with pytest.raises(fxlint.ConfigError):
        fxlint.check(confirm=False, timeout=-1)
    (problem,) = fxlint.check("nope", confirm=False).problems
    assert (problem.path, problem.message) == ("nope", "no such file or folder")
