"""The parent's side of the workers, with a small script in place of the worker."""

import sys
import tempfile
import textwrap
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from fxlint.confirm import pool, scratch
from fxlint.confirm.interpreter import NoInterpreterError
from fxlint.confirm.pool import Pool

SCRIPT = """
import json, os, sys, time
print(json.dumps(GREETING), flush=True)
for line in sys.stdin:
    batch = json.loads(line)
    for spec in batch["files"]:
        print(json.dumps({"file": spec["id"], "kind": "stage", "pid": os.getpid()}), flush=True)
        if spec["id"].startswith("dies"):
            os._exit(7)
        if spec["id"].startswith("crashes"):
            os.kill(os.getpid(), 11)
        if spec["id"].startswith("hangs"):
            time.sleep(1000)
        print(json.dumps({"file": spec["id"], "kind": "done"}), flush=True)
    print(json.dumps({"kind": "batch done"}), flush=True)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs batches of file ids; the messages."""
    monkeypatch.setattr(pool, "GRACE_SECONDS", 0.5)

    def run(*batches, greeting=None, script=SCRIPT, take=None):
        worker = tmp_path / "worker.py"
        worker.write_text(script.replace("GREETING", repr(greeting or {"torch": "0"})))
        monkeypatch.setattr(pool, "WORKER", worker)
        messages = []
        work = [{"files": [{"id": name} for name in names], "seconds": 1.0} for names in batches]
        with closing(Pool(sys.executable, 2)) as workers:
            workers.run(work, take or messages.append)
        return messages

    return run


def ends(messages):
    return {message["file"]: message.get("reason") for message in messages if message["kind"] in ("done", "failed")}


def test_every_file_is_done(run):
    assert ends(run(["a", "b"], ["c"])) == {"a": None, "b": None, "c": None}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dies", "importing or tracing it ended its process with status 7"),
        ("crashes", "importing or tracing it crashed with SIGSEGV"),
        ("hangs", "importing or tracing it did not finish within 1 s"),
    ],
)
def test_a_worker_that_ends_costs_the_file_it_was_at(run, name, reason):
    assert ends(run(["a", name, "b"])) == {"a": None, name: reason, "b": None}


def test_where_processes_cannot_be_forked_each_file_gets_its_own(run, monkeypatch):
    monkeypatch.setattr(pool, "ONE_FILE_PER_PROCESS", True)
    messages = run(["a"], ["b"], ["c"])
    assert len({message["pid"] for message in messages if message["kind"] == "stage"}) == 3


def test_a_worker_without_torch(run):
    with pytest.raises(NoInterpreterError, match=r"importing torch raised OSError$"):
        run(["a"], greeting={"problem": "importing torch raised OSError"})


def test_a_worker_that_does_not_start(run):
    with pytest.raises(NoInterpreterError, match="RuntimeError: no"):
        run(["a"], script="raise RuntimeError('no')")


TELLS = """
def tell(pid):
    print(json.dumps({"file": "a", "kind": "stage", "pid": pid}), flush=True)
"""
STARTS = """
import subprocess
tell(subprocess.Popen(["sleep", "1000"]).pid)
"""
HIDES = """
import ctypes
ctypes.CDLL(None).prctl(36, 1)  # as the worker does
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, b"%d" % os.getpid())
        time.sleep(1000)
    os._exit(0)
tell(int(os.read(reader, 20)))
"""
LEAVES_AND_KILLS_THE_WORKER = HIDES + "os.kill(os.getpid(), 9)\n"


@pytest.mark.parametrize("what", [STARTS, HIDES, LEAVES_AND_KILLS_THE_WORKER])
def test_what_a_worker_started_is_ended_with_the_run(run, what):
    first = SCRIPT.replace("    for spec in", textwrap.indent(TELLS + what, "    ") + "    for spec in")
    pids = {message["pid"] for message in run(["a"], script=first) if "pid" in message}
    assert pids
    assert not any(runs(pid) for pid in pids)


def runs(pid):
    stat = Path("/proc", str(pid), "stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_a_message_that_the_tracer_does_not_write_costs_the_file(run):
    def take(message):
        if message["kind"] == "done":
            raise KeyError("error")
        messages.append(message)

    messages = []
    run(["a"], take=take)
    assert ends(messages) == {"a": "importing or tracing it wrote a message of the tracer's into its pipe"}


def test_a_worker_that_fills_its_folder_costs_the_file_it_was_at(run, monkeypatch):
    monkeypatch.setattr(pool, "MEASURE_SECONDS", 0.01)
    monkeypatch.setattr(scratch, "MAX_BYTES", 1000)
    fills = SCRIPT.replace("time.sleep(1000)", "time.sleep(0.3); open('large', 'w').write('x' * 2000); time.sleep(99)")
    assert ends(run(["a", "hangs", "b"], script=fills)) == {
        "a": None,
        "hangs": "importing or tracing it wrote too much into its temporary folder",
        "b": None,
    }


def test_words_of_others_in_the_pipe_are_no_messages(run):
    words = SCRIPT.replace(
        '        if spec["id"].startswith("dies")',
        '        print("[1]\\nwords\\n{}", flush=True)\n        if spec["id"].startswith("dies")',
    )
    assert ends(run(["a", "b"], script=words)) == {"a": None, "b": None}


def test_a_worker_that_is_still_starting_is_ended_with_the_pool(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    worker.write_text("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(1000)\n")
    monkeypatch.setattr(pool, "WORKER", worker)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workers = Pool(sys.executable, 1)
    noted = []

    def stop():
        while not any(noted):
            noted[:] = [note.read_text() for note in tmp_path.rglob("pid")]
            time.sleep(0.01)
        workers.close()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(NoInterpreterError):
        workers.run([{"files": [{"id": "a"}], "seconds": 1.0}], lambda _: None)
    stopping.join()
    assert not runs(noted[0])
