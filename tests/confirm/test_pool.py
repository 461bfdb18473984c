"""The parent's side of the workers, with a small script in place of the worker."""

import sys
import threading
import time
from contextlib import closing

import pytest

from fxlint.confirm import pool
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

    def run(*batches, greeting=None, script=SCRIPT):
        worker = tmp_path / "worker.py"
        worker.write_text(script.replace("GREETING", repr(greeting or {"torch": "0"})))
        monkeypatch.setattr(pool, "WORKER", worker)
        messages = []
        work = [{"files": [{"id": name} for name in names], "seconds": 1.0} for names in batches]
        with closing(Pool(sys.executable, 2)) as workers:
            workers.run(work, messages.append)
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


def test_what_the_worker_started_is_ended_with_it(run, tmp_path):
    note = tmp_path / "pid"
    start = (
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
    )
    run(["a"], script=start + SCRIPT)
    stat = tmp_path.joinpath("/proc", note.read_text(), "stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_neither_session_nor_parent_hides_a_process_from_its_end(run, tmp_path):
    note = tmp_path / "pid"
    start = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1)  # as the worker does
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(note)!r}, 'w').write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
while not os.path.exists({str(note)!r}):
    time.sleep(0.01)
"""
    run(["a"], script=start + SCRIPT)
    stat = tmp_path.joinpath("/proc", note.read_text(), "stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_words_of_others_in_the_pipe_are_no_messages(run):
    words = SCRIPT.replace(
        '        if spec["id"].startswith("dies")',
        '        print("[1]\\nwords\\n{}", flush=True)\n        if spec["id"].startswith("dies")',
    )
    assert ends(run(["a", "b"], script=words)) == {"a": None, "b": None}


def test_a_worker_that_is_still_starting_is_ended_with_the_pool(tmp_path, monkeypatch):
    worker = tmp_path / "worker.py"
    note = tmp_path / "pid"
    worker.write_text(f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)\n")
    monkeypatch.setattr(pool, "WORKER", worker)
    workers = Pool(sys.executable, 1)

    def stop():
        while not note.exists() or not note.read_text():
            time.sleep(0.01)
        workers.close()

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(NoInterpreterError):
        workers.run([{"files": [{"id": "a"}], "seconds": 1.0}], lambda _: None)
    stopping.join()
    assert not tmp_path.joinpath("/proc", note.read_text()).exists()
