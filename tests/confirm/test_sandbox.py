"""What the kernel denies the code under lint, for as long as the kernel can."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these guards are Linux's")
SANDBOX = Path(__file__).parents[2] / "fxlint" / "confirm" / "sandbox.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("own")


@pytest.fixture
def run(folder):
    """Runs statements in the sandbox; the error that they end with, or an empty string."""

    def run(code, search_path=sys.path):
        sandbox = [sys.executable, "-I", str(SANDBOX), json.dumps(search_path), str(folder)]
        command = [*sandbox, sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        run.unguarded = json.loads(done.stdout.splitlines()[0])["unguarded"]
        return done.stderr.strip().rpartition("\n")[2]

    run.unguarded = None
    return run


@pytest.fixture
def guarded(run):
    run("")
    if run.unguarded:
        pytest.skip(f"this system has no guard of {run.unguarded}")
    return run


CHANGES = {
    "write": "open(path, 'w')",
    "append": "open(path, 'a')",
    "truncate": "os.truncate(path, 0)",
    "remove": "os.remove(path)",
    "remove all": "shutil.rmtree(os.path.dirname(path))",
    "rename": "os.rename(path, path + '2')",
    "take": "os.rename(path, 'taken')",
    "link": "os.symlink('x', path + '2')",
    "create": "open(path + '2', 'w')",
    "make a folder": "os.mkdir(path + '2')",
    "mode": "os.chmod(path, 0)",
    "owner": "os.chown(path, os.getuid(), os.getgid())",
    "attribute": "os.setxattr(path, 'user.x', b'')",
    "by another program": "subprocess.run(['rm', path], check=True)",
}


@pytest.mark.parametrize("code", CHANGES.values(), ids=CHANGES)
def test_files_elsewhere_are_not_changed(guarded, tmp_path, code):
    file = tmp_path / "project.py"
    file.write_text("text")
    assert "Error" in guarded(f"import os, shutil, subprocess; path = {str(file)!r}; {code}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["project.py"]
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("text", 0o644)


def test_its_own_folder_is_its_own(guarded, folder):
    assert guarded("import os; os.mkdir('a'); open('a/b', 'w').write('x'); os.rename('a/b', 'c'); os.rmdir('a')") == ""
    assert (folder / "c").read_text() == "x"


def test_what_every_program_may_do_it_may(guarded):
    assert guarded("import os, socket; open(os.devnull, 'w').write('x'); open(os.__file__); socket.socketpair()") == ""


@pytest.mark.parametrize(("family", "kind"), [("INET", "STREAM"), ("INET", "DGRAM"), ("INET6", "DGRAM")])
def test_there_is_no_network(guarded, family, kind):
    code = f"import socket; socket.socket(socket.AF_{family}, socket.SOCK_{kind})"
    assert guarded(code).startswith("PermissionError")


def test_no_other_process_can_be_signalled(guarded):
    assert guarded(f"import os; os.kill({os.getpid()}, 0)").startswith("PermissionError")


def test_guards_that_cannot_be_had_are_told_and_the_command_runs(run, folder):
    nothing_installed = [path for path in sys.path if "site-packages" not in path]
    assert run("open('ran', 'w')", nothing_installed) == ""
    assert (folder / "ran").exists()
    assert [guard.partition(" (")[0] for guard in run.unguarded] == ["files and signals", "network and modes of files"]
