"""A run that is stopped leaves no processes and no folders, and does not wait for what is under way."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the signals of POSIX")
SECONDS = 30

SLOW_PREDICTION = """
import os, sys, time
from pathlib import Path
import fxlint.project.through as through
from fxlint.cli import main

def _share(*_, **__):
    Path(os.environ["NOTES"], f"{os.getpid()}.pid").touch()
    time.sleep(1000)

_share.__module__ = "fxlint.project.through"  # by this name it is sent to the workers
through._share = _share
through.CHUNK = 1  # a file for each worker
through.os.cpu_count = lambda: 2
main(["--no-confirm", "project"])
"""
HANGS = """
import os, tempfile, time
from pathlib import Path
from torch import nn

Path(tempfile.gettempdir(), f"{os.getpid()}.pid").touch()
time.sleep(1000)

class Net(nn.Module):
    def forward(self, x):
        return x
"""


class Run:
    """fxlint on a project of two files, in a session of its own."""

    def __init__(self, folder, arguments, text):
        for name in ("project", "notes", "tmp"):
            (folder / name).mkdir()
        for name in ("a.py", "b.py"):
            (folder / "project" / name).write_text(text)
        self.folder, self.tmp = folder, folder / "tmp"
        self.workers = set()
        own = {"NOTES": str(folder / "notes"), "TMPDIR": str(self.tmp), "PYTHONPATH": str(Path(__file__).parents[1])}
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for_workers(self, count):
        def noted():
            self.workers |= {int(note.stem) for note in self.folder.rglob("*.pid")}
            return len(self.workers) >= count

        until(noted)

    def ended(self):
        """(exit code, standard error)"""
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors

    def interrupt(self):
        """What Ctrl-C in a terminal does."""
        os.killpg(self.process.pid, signal.SIGINT)

    def left(self):
        """Processes and folders that are still there."""
        return [pid for pid in self.workers if runs(pid)], list(self.tmp.iterdir())

    def close(self):
        for pid in (self.process.pid, *self.workers):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()


def until(condition):
    give_up = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


@pytest.fixture
def run(tmp_path):
    with contextlib.ExitStack() as stack:

        def start(*arguments, text="x = 1\n"):
            started = Run(tmp_path, arguments, text)
            stack.callback(started.close)
            return started

        yield start


@pytest.mark.skipif(multiprocessing.get_start_method() != "fork", reason="only there do workers get the stand-in")
class TestWhilePredicting:
    @pytest.fixture
    def predicting(self, run):
        started = run("-c", SLOW_PREDICTION)
        started.wait_for_workers(2)
        return started

    def test_an_interrupt_ends_all_at_once(self, predicting):
        predicting.interrupt()
        assert predicting.ended() == (130, "interrupted\n")
        assert predicting.left() == ([], [])

    def test_so_does_sigterm(self, predicting):
        predicting.process.terminate()
        assert predicting.ended() == (143, "terminated\n")
        assert predicting.left() == ([], [])

    def test_the_workers_notice_that_the_parent_was_killed(self, predicting):
        predicting.process.kill()
        until(lambda: predicting.left() == ([], []))


@pytest.mark.torch
@pytest.mark.slow
class TestWhileConfirming:
    @pytest.fixture
    def confirming(self, run):
        pytest.importorskip("torch")
        started = run("-m", "fxlint", "--python", sys.executable, "project", text=HANGS)
        started.wait_for_workers(1)
        return started

    def test_not_even_the_second_interrupt_leaves_something(self, confirming):
        for _ in range(5):
            with contextlib.suppress(ProcessLookupError):
                confirming.interrupt()
            time.sleep(0.02)
        assert confirming.ended() == (130, "interrupted\n")
        assert confirming.left() == ([], [])

    def test_sigterm_leaves_nothing_either(self, confirming):
        confirming.process.terminate()
        assert confirming.ended() == (143, "terminated\n")
        assert confirming.left() == ([], [])

    def test_the_workers_notice_that_the_parent_was_killed_and_the_next_run_removes_their_folder(self, confirming):
        confirming.process.kill()
        until(lambda: not confirming.left()[0])
        environment = {**os.environ, "TMPDIR": str(confirming.tmp), "PYTHONPATH": str(Path(__file__).parents[1])}
        (confirming.folder / "project" / "a.py").write_text(HANGS.replace("time.sleep(1000)", ""))
        again = [sys.executable, "-m", "fxlint", "--python", sys.executable, "project/a.py"]
        subprocess.run(again, cwd=confirming.folder, env=environment, check=True, capture_output=True)
        assert confirming.left() == ([], [])
