"""Files that are held in memory."""

from pathlib import Path

import pytest

from fxlint.processes import in_processes
from fxlint.project.buffers import content, holding, is_held


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_bytes(b"on disk")


def test_what_is_held_goes_before_what_is_on_disk_by_whatever_path():
    with holding({"a.py": b"held"}):
        assert content(str(Path("a.py").absolute())) == content("./a.py") == b"held"
        assert is_held("./a.py")
        assert not is_held("b.py")
    assert content("a.py") == b"on disk"


def test_processes_that_share_the_work_hold_the_same():
    with holding({"a.py": b"held"}):
        assert in_processes(content, ["a.py", "./a.py"]) == [b"held", b"held"]
