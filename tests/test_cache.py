"""Results are kept for later runs: what comes out is the same, and only what depends on an edit is worked out again."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fxlint
import fxlint.predict
from fxlint.cache import ABANDONED_NS, SETTLED_NS, Cache, clean
from fxlint.cli import main
from fxlint.codec import encoded, reader
from fxlint.findings import Report
from fxlint.project.reads import Reads

FIXTURES = Path(__file__).parents[1] / "fixtures"

HEAD = "import torch\nfrom torch import nn\n"
CALLEE = "def count(x):\n    return {}\n"
CALLER = "from helper import count\n" + HEAD
CALLER += "class Net(nn.Module):\n    def forward(self, x):\n        return x * count(x)\n"
ALONE = HEAD + "\nclass Other(nn.Module):\n    def forward(self, x):\n        return len(x)\n"


class Project:
    """A folder that is linted by the command, and by the command without a cache."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.predicted = []
        original = fxlint.predict.predict_file

        def predict_file(project, path, *arguments, **named):
            self.predicted.append(path)
            return original(project, path, *arguments, **named)

        monkeypatch.setattr(fxlint.predict, "predict_file", predict_file)
        monkeypatch.delenv("FXLINT_NO_CACHE")
        monkeypatch.chdir(folder)

    def write(self, **files):
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)

    def run(self, capsys, *options):
        """The files that a run has predicted; it says the same as one without a cache."""
        with_cache, predicted = self._outcome(capsys, *options)
        without, _ = self._outcome(capsys, *options, "--no-cache")
        assert with_cache == without
        return predicted

    def _outcome(self, capsys, *options):
        self.predicted.clear()
        with pytest.raises(SystemExit) as ended:
            main(["--no-confirm", "-j1", "--output-format", "json", ".", *options])
        return (ended.value.code, *capsys.readouterr()), sorted(self.predicted)


@pytest.fixture
def project(tmp_path, monkeypatch):
    return Project(tmp_path, monkeypatch)


class TestWhatIsDoneAgain:
    def test_nothing_while_nothing_changes(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("x.shape[0]"))
        assert project.run(capsys) == ["helper.py", "net.py"]
        assert project.run(capsys) == []

    def test_what_an_edit_touches(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("x.shape[0]"), other=ALONE)
        project.run(capsys)
        project.write(other=ALONE.replace("len(x)", "int(x)"))
        assert project.run(capsys) == ["other.py"]

    def test_what_depends_on_a_function_in_another_file(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("x.shape[0]"), other=ALONE)
        project.run(capsys)
        project.write(helper=CALLEE.format("len(x)"))
        assert project.run(capsys) == ["helper.py", "net.py"]

    def test_what_a_new_file_is_put_in_front_of(self, project, capsys):
        (project.folder / "fxlint.toml").write_text('exclude = ["lib/", ".*/"]')
        (project.folder / "lib").mkdir()
        (project.folder / "lib" / "helper.py").write_text(CALLEE.format("x.shape[0]"))
        project.write(net=CALLER, other=ALONE)
        project.run(capsys)
        project.write(helper=CALLEE.format("len(x)"))
        assert project.run(capsys) == ["helper.py", "net.py"]

    def test_what_a_file_is_taken_from(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("len(x)"), other=ALONE)
        project.run(capsys)
        (project.folder / "helper.py").unlink()
        assert project.run(capsys) == ["net.py"]

    def test_what_a_construction_in_another_file_says_more_of(self, project, capsys):
        layer = "class Block(nn.Module):\n    def __init__(self, layer):\n        super().__init__()\n"
        layer += "        self.layer = layer\n    def forward(self, x):\n        return len(self.layer(x))\n"
        project.write(block=HEAD + layer, other=ALONE)
        project.run(capsys)
        project.write(use=HEAD + "from block import Block\nmade = Block(nn.Linear(2, 2))\n")
        assert "other.py" not in project.run(capsys)

    def test_everything_for_other_settings_of_the_tracer(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("len(x)"))
        project.run(capsys)
        (project.folder / "fxlint.toml").write_text("tracer.bind-defaults = true\n")
        assert project.run(capsys) == ["helper.py", "net.py"]

    def test_no_prediction_for_another_selection(self, project, capsys):
        project.write(net=CALLER, helper=CALLEE.format("len(x)"))
        project.run(capsys)
        assert project.run(capsys, "--ignore", "FX120") == []

    def test_everything_for_other_rules_of_the_project(self, project, capsys):
        shutil.copytree(FIXTURES / "own_rules" / "lint", project.folder / "lint")
        project.write(net=CALLER, helper=CALLEE.format("len(x)"))
        (project.folder / "fxlint.toml").write_text('rules = ["lint"]')
        project.run(capsys)
        for file in sorted((project.folder / "lint").glob("*.toml")):
            file.write_text(file.read_text().replace('why = "', 'why = "Because: '))
        assert project.run(capsys) == ["helper.py", "net.py"]

    def test_what_cannot_be_read_until_it_can(self, project, capsys):
        project.write(net="def broken(:\n", other=ALONE)
        project.run(capsys)
        assert project.run(capsys) == []
        project.write(net=CALLER)
        assert project.run(capsys) == ["net.py"]

    def test_a_baseline_that_changes_is_looked_at(self, project, capsys):
        project.write(other=ALONE)
        project.run(capsys)
        with pytest.raises(SystemExit):
            main(["--no-confirm", ".", "--write-baseline", "known.json"])
        capsys.readouterr()
        project.run(capsys, "--baseline", "known.json")
        (project.folder / "known.json").write_text('{"schema": 1, "findings": []}')
        assert project.run(capsys, "--baseline", "known.json") == []

    def test_a_file_that_only_the_baseline_names_is_looked_for(self, project, capsys):
        project.write(other=ALONE, net=ALONE)
        with pytest.raises(SystemExit):
            main(["--no-confirm", ".", "--write-baseline", "known.json"])
        capsys.readouterr()
        options = ("--baseline", "known.json", "--exclude", "net.py")
        project.run(capsys, *options)
        (project.folder / "net.py").unlink()
        project.run(capsys, *options)

    def test_the_name_of_a_module_that_a_setting_is_for_is_its_new_one(self, project, capsys):
        (project.folder / "package").mkdir()
        (project.folder / "package" / "net.py").write_text(ALONE)
        (project.folder / "fxlint.toml").write_text('exclude = ["__init__.py"]\ninstances = {"net:Other" = "Other()"}')
        project.run(capsys)
        (project.folder / "package" / "__init__.py").touch()
        project.run(capsys)

    def test_a_file_that_a_setting_is_for_is_the_one_behind_a_link(self, project, capsys):
        for name in ("one", "two"):
            (project.folder / f"{name}.txt").write_text(CALLER.replace("from helper import count\n", ""))
        (project.folder / "fxlint.toml").write_text('concrete-args = {"one.txt::Net" = "{\'x\': 1}"}')
        (project.folder / "net.py").symlink_to("one.txt")
        project.run(capsys)
        (project.folder / "net.py").unlink()
        (project.folder / "net.py").symlink_to("two.txt")
        assert project.run(capsys) == ["net.py"]

    def test_an_edit_within_the_same_moment_and_of_the_same_size(self, project, capsys):
        project.write(other=ALONE)
        stamp = time.time_ns()
        os.utime("other.py", ns=(stamp, stamp))
        project.run(capsys)
        project.write(other=ALONE.replace("len(x)", "int(x)"))
        os.utime("other.py", ns=(stamp, stamp))
        assert project.run(capsys) == ["other.py"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quickstart"])
def test_the_output_is_the_same_for_every_format_and_number_of_processes(name, tmp_path, monkeypatch, capsys):
    shutil.copytree(FIXTURES / name, tmp_path / name, ignore=shutil.ignore_patterns(".fxlint_cache"))
    project = Project(tmp_path / name, monkeypatch)
    monkeypatch.setattr("fxlint.project.through.CHUNK", 1)
    for form in ("json", "full", "sarif", "concise"):
        for jobs in ("1", "2"):
            project.run(capsys, "--output-format", form, "-j", jobs)


class TestTheFolder:
    def kept(self, project):
        return sorted((project.folder / ".fxlint_cache").rglob("*.json"))

    def test_it_is_marked_for_what_copies_folders_and_for_git(self, project, capsys):
        project.write(other=ALONE)
        project.run(capsys)
        folder = project.folder / ".fxlint_cache"
        assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
        assert (folder / ".gitignore").read_text() == "*\n"

    def test_it_is_beside_the_configuration_or_where_one_says(self, project, capsys, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "kept"
        project.write(other=ALONE)
        project.run(capsys, "--cache-dir", str(elsewhere))
        assert not (project.folder / ".fxlint_cache").exists()
        assert list(elsewhere.rglob("report-*.json"))

    def test_without_a_cache_nothing_is_written(self, project, capsys):
        project.write(other=ALONE)
        with pytest.raises(SystemExit):
            main(["--no-confirm", ".", "--no-cache"])
        assert [path.name for path in project.folder.iterdir()] == ["other.py"]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda raw: raw[: len(raw) // 2],
            lambda raw: b"",
            lambda raw: raw.replace(b"FX120", b"FX121"),
            lambda raw: b"\xff\xfe" + raw,
        ],
        ids=["truncated", "empty", "changed", "no text"],
    )
    def test_what_is_damaged_is_as_good_as_not_there(self, project, capsys, damage):
        project.write(other=ALONE)
        project.run(capsys)
        for file in self.kept(project):
            file.write_bytes(damage(file.read_bytes()))
        assert project.run(capsys) == ["other.py"]
        assert project.run(capsys) == []

    def test_entries_of_another_shape_are_passed_over(self, project, capsys, monkeypatch):
        project.write(other=ALONE)
        project.run(capsys)
        cache = Cache(str(project.folder / ".fxlint_cache"))
        for file in self.kept(project):
            cache._write(file.stem, ["", [1, 2], {"a": None}])
        assert project.run(capsys) == ["other.py"]

    def test_a_folder_that_cannot_be_written_costs_time_only(self, project, capsys):
        (project.folder / ".fxlint_cache").write_text("a file")
        project.write(other=ALONE)
        assert project.run(capsys) == ["other.py"]
        assert project.run(capsys) == ["other.py"]
        with pytest.raises(SystemExit):
            main(["--no-confirm", "--verbose", "."])
        assert "nothing is kept for the next run" in capsys.readouterr().err

    def test_a_link_out_of_the_project_is_not_followed(self, project, capsys, tmp_path_factory):
        outside = tmp_path_factory.mktemp("outside")
        (project.folder / ".fxlint_cache").symlink_to(outside)
        project.write(other=ALONE)
        project.run(capsys)
        assert not list(outside.iterdir())

    def test_two_runs_at_once_share_it(self, project):
        project.write(net=CALLER, helper=CALLEE.format("len(x)"), other=ALONE)
        command = [sys.executable, "-m", "fxlint", "--no-confirm", "-j1", "--output-format", "json", "."]
        environment = {**os.environ, "PYTHONPATH": str(Path(fxlint.__file__).parents[1])}
        runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
        first, second = (run.communicate()[0] for run in runs)
        assert first == second
        assert not [file for file in Path(".fxlint_cache").rglob("*") if file.is_file() and ".json-" in file.name]

    def test_what_a_run_that_was_killed_has_begun_is_removed(self, project, capsys):
        project.write(other=ALONE)
        project.run(capsys)
        (entry,) = Path(".fxlint_cache").rglob("report-*.json")
        old, new = (entry.with_name(f"{entry.name}.{pid}-0") for pid in (1, 2))
        for path, age in ((old, 2 * ABANDONED_NS), (new, 0)):
            path.touch()
            os.utime(path, ns=(time.time_ns() - age, time.time_ns() - age))
        project.write(other=ALONE.replace("len(x)", "int(x)"))
        project.run(capsys)
        assert (old.exists(), new.exists()) == (False, True)

    def test_reports_of_many_sets_of_files_do_not_pile_up(self, project, capsys, monkeypatch):
        monkeypatch.setattr("fxlint.cache.MAX_REPORTS", 2)
        project.write(net=CALLER, helper=CALLEE.format("len(x)"), other=ALONE)
        for names in (["net.py"], ["helper.py"], ["other.py"]):
            for name in names:
                past = time.time_ns() - 2 * SETTLED_NS
                os.utime(name, ns=(past, past))
            with pytest.raises(SystemExit):
                main(["--no-confirm", "-j1", *names])
        assert len(list(Path(".fxlint_cache").rglob("report-*.json"))) <= 3


class TestClean:
    def test_it_removes_all_of_it(self, project, capsys):
        project.write(other=ALONE)
        project.run(capsys)
        with pytest.raises(SystemExit) as ended:
            main(["clean"])
        assert (ended.value.code, capsys.readouterr().err) == (0, f"removed {project.folder}/.fxlint_cache\n")
        assert [path.name for path in project.folder.iterdir()] == ["other.py"]
        assert project.run(capsys) == ["other.py"]

    def test_it_leaves_alone_what_is_not_ours(self, project, capsys):
        (project.folder / "kept").mkdir()
        (project.folder / "kept" / "mine.txt").write_text("mine")
        project.write(other=ALONE)
        project.run(capsys, "--cache-dir", "kept")
        with pytest.raises(SystemExit):
            main(["clean", "--cache-dir", "kept"])
        assert [path.name for path in (project.folder / "kept").iterdir()] == ["mine.txt"]

    def test_it_leaves_alone_versions_of_something_else(self, project, capsys, monkeypatch):
        monkeypatch.setattr("fxlint.cache.MAX_VERSIONS", 0)
        (project.folder / "docs" / "v-1.0").mkdir(parents=True)
        project.write(other=ALONE)
        project.run(capsys, "--cache-dir", "docs")
        with pytest.raises(SystemExit):
            main(["clean", "--cache-dir", "docs"])
        assert [path.name for path in (project.folder / "docs").iterdir()] == ["v-1.0"]

    def test_it_follows_no_link(self, tmp_path):
        made = tmp_path / "real" / f"v-{'0' * 16}"
        made.mkdir(parents=True)
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert not clean(str(tmp_path / "link"))
        assert made.exists()


def test_what_is_held_in_memory_is_not_kept(project):
    project.write(other=ALONE)
    fxlint.check("other.py", sources={"other.py": ALONE.replace("len(x)", "int(x)")})
    assert not Path(".fxlint_cache").exists()


def test_what_changed_while_it_was_read_is_not_kept(tmp_path):
    reads = Reads()
    reads.note({"file": "one content"})
    reads.note({"file": "another"})
    cache = Cache(str(tmp_path / "kept"))
    cache.keep("file", "key", "given", reads, "result")
    assert not list(tmp_path.iterdir())


def test_a_report_is_the_same_after_it_was_written_and_read(project):
    project.write(net=CALLER, helper=CALLEE.format("len(x)"))
    report = fxlint.check(".", confirm=False, cache=False)
    assert report.findings[0].suggestions
    assert reader(Report)(json.loads(json.dumps(encoded(report)))) == report


def test_a_warm_run_reads_no_syntax(project):
    project.write(net=CALLER, helper=CALLEE.format("len(x)"))
    code = """
import sys
from fxlint.cli import main
try:
    main(["--no-confirm", "--output-format", "concise", "."])
finally:
    assert not {"fxlint.predict", "fxlint.fix", "fxlint.transforms", "torch"} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(fxlint.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    cold, warm = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=False) for _ in range(2)
    )
    assert "AssertionError" in cold.stderr
    assert (warm.returncode, "AssertionError" in warm.stderr) == (1, False)
