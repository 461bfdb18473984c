"""A confirmed run traces again only what depends on an edit, and says the same as one without a cache."""

import compileall
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fxlint
from fxlint.cache import Cache
from fxlint.cli import main
from fxlint.confirm.kept import Answers, Question
from fxlint.confirm.pool import Worker
from fxlint.project.buffers import holding

NET = """import torch
from torch import nn
{}

class {}(nn.Module):
    def forward(self, x):
        return x * {}
"""
HELPER = "def count(x):\n    return {}\n"


def net(expression="len(x)", name="Net", head=""):
    return NET.format(head, name, expression)


class Project:
    """A folder that is linted and traced by the command."""

    def __init__(self, folder, monkeypatch, capsys):
        self.folder = folder
        self.asked = []
        self.capsys = capsys
        original = Worker.run

        def run(worker, batch, on_message):
            self.asked += [(batch.get("task", "trace"), file["id"]) for file in batch["files"]]
            return original(worker, batch, on_message)

        monkeypatch.setattr(Worker, "run", run)
        monkeypatch.delenv("FXLINT_NO_CACHE")
        monkeypatch.chdir(folder)

    def write(self, **files):
        for name, text in files.items():
            path = self.folder / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, *options):
        """The files that workers were asked to trace, and what was said."""
        self.asked.clear()
        with pytest.raises(SystemExit):
            main(["-j1", "--output-format", "json", ".", *options])
        said = self.capsys.readouterr()
        return sorted(file for task, file in self.asked if task == "trace"), (said.out, said.err)

    def traced(self, *options):
        """As ``run``, of a run that says the same as one without a cache."""
        files, said = self.run(*options)
        _, without = self.run(*options, "--no-cache")
        assert said == without
        return files


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    return Project(tmp_path, monkeypatch, capsys)


@pytest.mark.torch
class TestWhatIsTracedAgain:
    def test_one_package_is_left_alone_by_an_edit_of_another_one(self, project):
        project.write(one____init__="", one__net=net(), two____init__="", two__net=net("x.shape[0]"), alone=net())
        assert project.traced() == ["alone.py", "one/net.py", "two/net.py"]
        assert (project.run()[0], project.asked) == ([], [])
        project.write(one__net=net("int(x)"))
        assert project.traced() == ["one/net.py"]

    def test_nothing_once_python_has_compiled_the_sources(self, project):
        project.write(package____init__="", package__net=net("count(x)", head="from .helper import count"))
        project.write(package__helper=HELPER.format("len(x)"))
        project.run()
        compileall.compile_dir(project.folder, quiet=1)
        assert project.run()[0] == []

    def test_no_worker_is_started_for_another_selection_or_number_of_processes(self, project):
        project.write(net=net())
        project.run()
        project.run("--ignore", "FX120", "-j2")
        assert project.asked == []

    def test_what_imports_an_edited_file_of_its_package(self, project):
        project.write(package____init__="", package__helper=HELPER.format("x.shape[0]"), package__other=net("int(x)"))
        project.write(package__net=net("count(x)", head="from .helper import count"))
        project.run()
        project.write(package__helper=HELPER.format("len(x)"))
        assert project.traced() == ["package/net.py"]

    def test_what_imports_it_through_a_file_that_was_loaded_for_another_one(self, project):
        project.write(
            package____init__="",
            package__a=net("base.count(x)", head="from . import base"),
            package__b=net("count(x)", head="from package.base import count"),
            package__base="from package.helper import count\n",
            package__c=net("int(x)"),
            package__helper=HELPER.format("x.shape[0]"),
        )
        project.run()
        project.write(package__helper=HELPER.format("2"))
        assert project.traced() == ["package/a.py", "package/b.py"]

    def test_what_imports_it_in_a_function_or_by_its_name(self, project):
        late = "def count(x):\n    from helper import count\n    return count(x)\n"
        dynamic = "import importlib\ncount = importlib.import_module('helper').count\n"
        project.write(late=net("count(x)", head=late), dynamic=net("count(x)", head=dynamic), other=net("int(x)"))
        project.write(helper=HELPER.format("2"))
        project.run()
        project.write(helper=HELPER.format("len(x)"))
        assert project.traced() == ["dynamic.py", "late.py"]

    def test_what_imports_it_from_another_folder(self, project, monkeypatch, tmp_path_factory):
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        monkeypatch.setenv("PYTHONPATH", str(elsewhere))
        (elsewhere / "sibling.py").write_text(HELPER.format("2"))
        project.write(net=net("count(x)", head="from sibling import count"), other=net("int(x)"))
        project.run()
        (elsewhere / "sibling.py").write_text(HELPER.format("len(x)"))
        assert project.traced() == ["net.py"]

    def test_what_reads_a_file_of_the_project(self, project):
        head = "import json, pathlib\nSIZE = json.loads(pathlib.Path(__file__).with_name('size.json').read_text())"
        (project.folder / "size.json").write_text("1")
        project.write(net=net("(1 if SIZE < 2 else len(x))", head=head), other=net())
        project.run()
        (project.folder / "size.json").write_text("3")
        assert project.traced() == ["net.py"]

    def test_what_lists_a_folder_of_the_project(self, project):
        head = "import os\nNAMES = os.listdir(os.path.join(os.path.dirname(__file__), 'parts'))"
        (project.folder / "parts").mkdir()
        project.write(net=net("(1 if len(NAMES) < 1 else len(x))", head=head), other=net())
        project.run()
        (project.folder / "parts" / "one.txt").touch()
        assert project.traced() == ["net.py"]

    def test_what_looked_in_vain_for_a_module_that_is_there_now(self, project):
        head = "try:\n    from fast import count\nexcept ImportError:\n    def count(x):\n        return 2\n"
        project.write(net=net("count(x)", head=head), other=net())
        project.run()
        project.write(fast=HELPER.format("len(x)"))
        assert project.traced() == ["net.py"]

    def test_what_a_file_was_put_in_front_of_on_the_search_path(self, project):
        (project.folder / "fxlint.toml").write_text('exclude = ["lib/"]')
        project.write(lib__use=net("colorsys.COUNT", head="import colorsys"))
        project.run("lib/use.py")
        project.write(lib__colorsys="COUNT = 1\n")
        assert project.traced("lib/use.py") == ["lib/use.py"]

    def test_what_could_not_be_imported_until_it_can(self, project):
        project.write(net=net(head="import helper"), helper="raise RuntimeError('not today')\n", other=net())
        project.run()
        assert project.run()[0] == []
        project.write(helper="")
        assert project.traced() == ["net.py"]

    def test_everything_for_other_settings_and_another_environment(self, project, monkeypatch):
        project.write(net=net(), other=net("int(x)"))
        project.run()
        (project.folder / "fxlint.toml").write_text("timeout = 50\n")
        assert project.run()[0] == ["net.py", "other.py"]
        monkeypatch.setenv("PYTORCH_NVFUSER_DISABLE", "anything")
        assert project.run()[0] == ["net.py", "other.py"]

    def test_what_a_limit_cut_short(self, project):
        project.write(net=net(), slow=net().replace("return x * len(x)", "while True:\n            pass"))
        assert project.run("--config", "timeout=2")[0] == ["net.py", "slow.py"]
        assert project.run("--config", "timeout=2")[0] == ["slow.py"]


@pytest.mark.torch
class TestTheFolder:
    def test_what_is_damaged_is_asked_again(self, project):
        project.write(net=net())
        project.run()
        for file in Path(".fxlint_cache").rglob("*.json"):
            file.write_bytes(file.read_bytes()[:-7])
        assert project.traced() == ["net.py"]
        assert project.run()[0] == []

    def test_two_runs_at_once_share_it(self, project, monkeypatch):
        monkeypatch.setenv("PYTHONPATH", str(Path(fxlint.__file__).parents[1]))
        project.write(one____init__="", one__net=net(), alone=net("int(x)"))
        command = [sys.executable, "-m", "fxlint", "-j1", "--output-format", "json", "."]
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        first, second = (run.communicate()[0] for run in runs)
        assert first == second
        assert not [file for file in Path(".fxlint_cache").rglob("*") if ".json." in file.name]
        assert project.run()[0] == []

    def test_one_that_cannot_be_written_costs_time_only(self, project):
        (project.folder / ".fxlint_cache").write_text("a file")
        project.write(net=net())
        assert project.traced() == ["net.py"]
        assert project.traced() == ["net.py"]


class TestAnswers:
    """What is kept of the messages of workers."""

    QUESTION = Question("trace", ("net.py",), {"file": {"id": "net.py"}})

    def told(self, cache, *messages, linted=()):
        answers = Answers(cache, linted)
        listening = answers.listening([self.QUESTION], lambda _: None, lambda: ["signals"])
        for message in messages:
            listening({"file": "net.py", **message})

    def known(self, cache, linted=()):
        heard = []
        answers = Answers(cache, linted)
        left = answers.unanswered([self.QUESTION], heard.append)
        return None if left else (heard, answers.unguarded)

    def test_they_are_told_again_with_the_guards_that_they_went_without(self, tmp_path):
        cache = Cache(str(tmp_path / "kept"))
        self.told(cache, {"kind": "stage"}, {"kind": "stock"}, {"kind": "loads", "files": []}, {"kind": "done"})
        heard = [{"file": "net.py", "kind": "stock"}, {"file": "net.py", "kind": "done"}]
        assert self.known(Cache(str(tmp_path / "kept"))) == (heard, ("signals",))

    @pytest.mark.parametrize(
        "messages",
        [
            [{"kind": "done"}],
            [{"kind": "loads", "files": []}],
            [{"kind": "ended", "cut": True}, {"kind": "loads", "files": []}, {"kind": "done"}],
        ],
        ids=["without what was loaded", "not finished", "cut short"],
    )
    def test_but_not(self, tmp_path, messages):
        cache = Cache(str(tmp_path / "kept"))
        self.told(cache, *messages)
        assert self.known(Cache(str(tmp_path / "kept"))) is None

    def test_nor_where_a_file_was_saved_meanwhile(self, tmp_path):
        cache = Cache(str(tmp_path / "kept"))
        (tmp_path / "net.py").write_text("")
        os.utime(tmp_path / "net.py", (time.time() + 1, time.time() + 1))
        self.told(cache, {"kind": "loads", "files": [str(tmp_path / "net.py")]}, {"kind": "done"})
        assert self.known(Cache(str(tmp_path / "kept"))) is None

    def test_nor_are_they_told_again_while_something_is_held_in_memory(self, tmp_path):
        cache = Cache(str(tmp_path / "kept"))
        self.told(cache, {"kind": "loads", "files": []}, {"kind": "done"})
        with holding({"net.py": b""}):
            assert self.known(Cache(str(tmp_path / "kept"))) is None
        assert self.known(Cache(str(tmp_path / "kept"))) is not None

    def test_nor_where_other_files_are_linted_of_those_that_were_loaded(self, tmp_path):
        (tmp_path / "net.py").write_text("")
        path = str(tmp_path / "net.py")
        cache = Cache(str(tmp_path / "kept"))
        self.told(cache, {"kind": "loads", "files": [path]}, {"kind": "done"}, linted=[path])
        assert self.known(Cache(str(tmp_path / "kept")), linted=[path, "other"]) is not None
        assert self.known(Cache(str(tmp_path / "kept"))) is None
