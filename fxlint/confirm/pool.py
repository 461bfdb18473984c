"""Worker processes: started, fed with batches, watched, and ended with all that they started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fxlint.tracer.messages import Message, parsed
from fxlint.tracer.process import adopt_orphans, children, kill_strays

from .interpreter import NoInterpreterError, environment
from .scratch import Scratch, is_overfull

SANDBOX = Path(__file__).parent / "sandbox.py"
WORKER = Path(__file__).parent.parent / "tracer" / "worker.py"
START_SECONDS = 300.0
"""Importing torch from a cold disk can take minutes."""
GRACE_SECONDS = 20.0
"""The worker watches its own processes and says what happened to them; the parent steps in when it has not."""
MAX_GENERATIONS = 20
"""How often the processes below a worker are looked for while it is ended."""
MEASURE_SECONDS = 1.0
"""How often the size of a worker's folder is looked at."""
GUARDED = sys.platform == "linux"
ONE_FILE_PER_PROCESS = sys.platform != "linux"

Batch = dict[str, Any]


class WroteTooMuchError(Exception):
    """The temporary folder of a worker is over its bounds."""


class ForgedMessageError(Exception):
    """A message that the tracer does not write: the code under lint did."""


class Worker:
    """One worker process, which has to be greeted first. ``folder`` is its own, and is removed with it.

    After the greeting, ``unguarded`` are the guards that this system does not have.
    """

    def __init__(self, python: str, folder: str) -> None:
        self.unguarded: list[str] = []
        self._folder = folder
        self._next_measure = time.monotonic() + MEASURE_SECONDS
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            _guarded([python, str(WORKER)], folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env=environment(folder),
            start_new_session=True,
        )
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def greet(self) -> str | None:
        """Wait until the worker is ready. Returns None, or why it has no usable torch."""
        try:
            greeting = self._next(START_SECONDS)
            if greeting is not None and "unguarded" in greeting:
                self.unguarded = greeting["unguarded"]
                greeting = self._next(START_SECONDS)
        except queue.Empty:
            return f"importing torch did not finish within {START_SECONDS:g} s"
        return self._last_error() if greeting is None else greeting.get("problem")

    def run(self, batch: Batch, on_message: Callable[[Message], None]) -> str | None:
        """Do a batch. Returns None, or what became of the worker when it did not finish."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(batch).encode() + b"\n")
            stdin.flush()
        except OSError:
            return "ended its process"
        allowed = batch["seconds"]
        while True:
            try:
                message = self._next(allowed + GRACE_SECONDS)
            except queue.Empty:
                return f"did not finish within {allowed:g} s"
            except WroteTooMuchError:
                return "wrote too much into its temporary folder"
            if message is None:
                return self._how_it_ended()
            if message.get("kind") == "batch done":
                return None
            if "kind" in message and "file" in message:
                allowed = message.get("allow", batch["seconds"])
                try:
                    on_message(message)
                except ForgedMessageError:
                    return "wrote a message of the tracer's into its pipe"

    def close(self) -> None:
        """End the process and everything that it, or the user's code in it, started. May be called again."""
        if self._errors.closed:
            return
        _kill_all(self._process.pid)  # before its input ends and it leaves what it has adopted
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _next(self, seconds: float) -> Message | None:
        """The next message, None at the end of the process.

        Raises queue.Empty when none came in time, and WroteTooMuchError.
        """
        deadline = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if self._messages.empty() and now > self._next_measure:
                self._next_measure = now + MEASURE_SECONDS
                if is_overfull(self._folder):
                    raise WroteTooMuchError
            try:
                return self._messages.get(timeout=max(0, min(deadline, self._next_measure) - now))
            except queue.Empty:
                if time.monotonic() >= deadline:
                    raise

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with contextlib.suppress(ValueError, OSError):  # ValueError: it was closed while reading
            for line in stdout:
                message = parsed(line)
                if message is not None:
                    self._messages.put(message)
        self._messages.put(None)

    def _how_it_ended(self) -> str:
        status = self._process.wait()
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"crashed with {signal.Signals(-status).name}"
        return f"ended its process with status {status}"

    def _last_error(self) -> str:
        self._process.wait()
        text = ""
        with contextlib.suppress(ValueError):  # it was closed meanwhile
            self._errors.seek(0)
            text = self._errors.read().decode("utf-8", "replace").strip()
        return text.rpartition("\n")[2] or f"the worker ended with status {self._process.returncode}"


def _guarded(command: list[str], folder: str) -> list[str]:
    """The command to run a command that can write to nothing but its folder and reach no network."""
    if not GUARDED:
        return command
    return [sys.executable, "-I", str(SANDBOX), json.dumps(sys.path), folder, *command]


class Pool:
    """Does batches on some workers, which live until it is closed: importing torch takes seconds.

    ``unguarded`` are the guards that they turned out to be without.
    """

    def __init__(self, python: str, jobs: int) -> None:
        self._python = python
        self._jobs = max(1, jobs)
        self._on_message: Callable[[Message], None] = lambda _: None
        self._lock = threading.Lock()
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []
        self._stopped = False
        self._scratch = Scratch()
        self.unguarded: list[str] = [] if GUARDED else ["files, signals and network (these guards are Linux's)"]
        if sys.platform == "linux":
            adopt_orphans()  # a worker that the code under lint kills cannot end what it has adopted
        self._others = children()

    def close(self) -> None:
        """End all workers."""
        self._stop()
        kill_strays(self._others | {pid for pid in children() if _session(pid) == _session(0)})
        self._scratch.remove()

    def run(self, batches: Sequence[Batch], on_message: Callable[[Message], None]) -> None:
        """Do all batches. ``on_message`` is called from one thread at a time.

        Raises NoInterpreterError where no worker can be had.
        """
        if not batches:
            return
        self._on_message = on_message
        todo: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        for batch in batches:
            todo.put(batch)
        threads = ThreadPoolExecutor(min(self._jobs, len(batches)))
        try:
            pending = [threads.submit(self._work, todo) for _ in range(threads._max_workers)]
            for future in pending:
                future.result()
        except BaseException:
            self._stop()
            raise
        finally:
            threads.shutdown()

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            workers = list(self._workers)
        for worker in workers:
            worker.close()

    def _work(self, todo: queue.SimpleQueue[Batch]) -> None:
        worker: Worker | None = None
        try:
            while not self._stopped:
                try:
                    batch = todo.get_nowait()
                except queue.Empty:
                    return
                worker = worker or self._start()
                worker = self._do(worker, batch, todo)
        finally:
            if worker is not None:
                self._idle.append(worker)

    def _do(self, worker: Worker, batch: Batch, todo: queue.SimpleQueue[Batch]) -> Worker | None:
        """Do one batch; the worker, where it can do another one."""
        done: set[Any] = set()
        current: list[Any] = []

        def on_message(message: Message) -> None:
            current[:] = [message["file"]]
            with self._lock:
                try:
                    self._on_message(message)
                except (LookupError, TypeError, ValueError) as error:
                    raise ForgedMessageError from error
            if message["kind"] in ("done", "failed"):
                done.add(message["file"])

        trouble = worker.run(batch, on_message)
        if trouble is None and not ONE_FILE_PER_PROCESS:
            return worker
        self._end(worker)
        rest = [spec for spec in batch["files"] if spec["id"] not in done]
        if trouble is not None and rest and not self._stopped:
            hit = next((spec for spec in rest if [spec["id"]] == current), rest[0])
            with self._lock:
                reason = f"importing or tracing it {trouble}"
                self._on_message({"file": hit["id"], "kind": "failed", "reason": reason, "place": None})
            rest.remove(hit)
        if rest:
            todo.put({**batch, "files": rest})
        return None

    def _start(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._stopped:
                raise NoInterpreterError("fxlint was stopped")
            worker = Worker(self._python, self._scratch.subfolder())
            self._workers.add(worker)
        problem = worker.greet()
        self.unguarded = worker.unguarded or self.unguarded
        if problem is not None:
            self._end(worker)
            raise NoInterpreterError(f"{self._python}: {problem}")
        return worker

    def _end(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()


def _session(pid: int) -> int | None:
    """The session of a process; only what the workers started is in another one than this process."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _kill_all(leader: int) -> None:
    """Kill a worker with all below it and of its session; it adopts what leaves the session (tracer/process.py)."""
    if sys.platform == "linux":
        for _ in range(MAX_GENERATIONS):  # whose parent is killed becomes a child of the worker
            below = _below(leader)
            if not below:
                break
            for pid in below:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.killpg(leader, signal.SIGKILL)


def _below(leader: int) -> set[int]:
    """The living processes of a session and below its leader, without the leader itself."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # pid (name, which may hold anything) state ppid pgrp session ...
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if fields[0] not in "ZX":
                parents[int(entry.name)] = int(fields[1])
                if int(fields[3]) == leader:
                    found.add(int(entry.name))
    for pid in parents:
        above = pid
        while above in parents and above != leader:
            above = parents[above]
        if above == leader:
            found.add(pid)
    return found - {leader}
