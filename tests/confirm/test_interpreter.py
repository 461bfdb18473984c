"""Which interpreter is taken, and the environment it gets."""

import sys
from pathlib import Path

import pytest

from fxlint.confirm import interpreter
from fxlint.confirm.interpreter import NoInterpreterError, environment, find_interpreter


@pytest.fixture
def with_torch(monkeypatch):
    """The interpreters that are to have torch."""
    names = set()
    monkeypatch.setattr(interpreter, "_has_torch", lambda python: python in names)
    return names


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Three environments: the active one, the project's and conda's."""
    found = {}
    for name in ("active", "project/.venv", "conda"):
        python = tmp_path / name / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
        found[name] = str(python)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    return [found["active"], found["project/.venv"], found["conda"], sys.executable]


@pytest.mark.parametrize("first", range(4))
def test_the_first_that_has_torch(folders, with_torch, tmp_path, first):
    with_torch.update(folders[first:])
    assert find_interpreter(None, [str(tmp_path / "project")]) == folders[first]


def test_the_one_that_was_asked_for_and_no_other(folders, with_torch):
    with_torch.update(folders)
    with pytest.raises(NoInterpreterError, match=r"torch is not installed for /asked/python; name an interpreter"):
        find_interpreter("/asked/python", [])


def test_those_that_were_tried_are_named(folders, with_torch):
    with pytest.raises(NoInterpreterError) as error:
        find_interpreter(None, [])
    assert all(name in str(error.value) for name in (folders[0], folders[2], sys.executable))


def test_an_interpreter_that_cannot_be_run(tmp_path):
    with pytest.raises(NoInterpreterError, match="cannot be run"):
        find_interpreter(str(tmp_path / "python"), [])


class TestEnvironment:
    def test_an_empty_torch_logs_is_unset(self, monkeypatch):
        monkeypatch.setenv("TORCH_LOGS", "")
        assert "TORCH_LOGS" not in environment()
        monkeypatch.setenv("TORCH_LOGS", "+dynamo")
        assert environment()["TORCH_LOGS"] == "+dynamo"

    def test_relative_paths_mean_the_same_in_another_folder(self, monkeypatch):
        monkeypatch.setenv("PYTHONPATH", "src")
        assert environment("/elsewhere")["PYTHONPATH"] == str(Path("src").absolute())

    def test_no_bytecode_is_written(self):
        assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"
