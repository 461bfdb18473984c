"""Worker processes: started, fed with batches, watched, and ended with all that they started."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .interpreter import NoInterpreterError, environment

WORKER = Path(__file__).parent.parent / "tracer" / "worker.py"
START_SECONDS = 300.0
"""Importing torch from a cold disk can take minutes."""
GRACE_SECONDS = 20.0
"""The worker watches its own processes and says what happened to them; the parent steps in when it has not."""
ONE_FILE_PER_PROCESS = sys.platform != "linux"

Batch = dict[str, Any]
Message = dict[str, Any]


class Worker:
    """One worker process. Raises NoInterpreterError where it does not come up with a usable torch."""

    def __init__(self, python: str, folder: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env=environment(folder),
            start_new_session=True,
        )
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        greeting = self._next(START_SECONDS)
        if greeting is None or "problem" in greeting:
            reason = self._last_error() if greeting is None else greeting["problem"]
            self.close()
            raise NoInterpreterError(f"{python}: {reason}")

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
            if message is None:
                return self._how_it_ended()
            if message.get("kind") == "batch done":
                return None
            allowed = message.get("allow", batch["seconds"])
            on_message(message)

    def close(self) -> None:
        """End the process and everything that it, or the user's code in it, started."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        _kill_session(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _next(self, seconds: float) -> Message | None:
        """The next message, None at the end of the process. Raises queue.Empty when none came in time."""
        return self._messages.get(timeout=seconds)

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in stdout:
                self._messages.put(json.loads(line))
        self._messages.put(None)

    def _how_it_ended(self) -> str:
        status = self._process.wait()
        if status < 0:
            with contextlib.suppress(ValueError):
                return f"crashed with {signal.Signals(-status).name}"
        return f"ended its process with status {status}"

    def _last_error(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace").strip()
        return text.rpartition("\n")[2] or f"the worker ended with status {self._process.returncode}"


class Pool:
    """Does batches on some workers. ``on_message`` is called from one thread at a time."""

    def __init__(self, python: str, jobs: int, on_message: Callable[[Message], None]) -> None:
        self._python = python
        self._jobs = max(1, jobs)
        self._on_message = on_message
        self._lock = threading.Lock()
        self._workers: set[Worker] = set()
        self._stopped = False

    def run(self, batches: Sequence[Batch]) -> None:
        """Do all batches. Raises NoInterpreterError where no worker can be had."""
        todo: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        for batch in batches:
            todo.put(batch)
        with tempfile.TemporaryDirectory(prefix="fxlint-", ignore_cleanup_errors=True) as folder:
            threads = ThreadPoolExecutor(min(self._jobs, max(1, len(batches))))
            try:
                pending = [threads.submit(self._work, todo, folder) for _ in range(threads._max_workers)]
                for future in pending:
                    future.result()
            finally:
                self._stop()
                threads.shutdown()

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            workers = list(self._workers)
        for worker in workers:
            worker.close()

    def _work(self, todo: queue.SimpleQueue[Batch], folder: str) -> None:
        worker: Worker | None = None
        try:
            while not self._stopped:
                try:
                    batch = todo.get_nowait()
                except queue.Empty:
                    return
                worker = worker or self._start(folder)
                worker = self._do(worker, batch, todo)
        finally:
            if worker is not None:
                self._end(worker)

    def _do(self, worker: Worker, batch: Batch, todo: queue.SimpleQueue[Batch]) -> Worker | None:
        """Do one batch; the worker, where it can do another one."""
        done: set[Any] = set()
        current: list[Any] = []

        def on_message(message: Message) -> None:
            current[:] = [message["file"]]
            if message["kind"] in ("done", "failed"):
                done.add(message["file"])
            with self._lock:
                self._on_message(message)

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

    def _start(self, folder: str) -> Worker:
        worker = Worker(self._python, folder)
        with self._lock:
            self._workers.add(worker)
        return worker

    def _end(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()


def _kill_session(leader: int) -> None:
    """Kill every process of a session: the worker is the leader of one, and its forks have groups of their own."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    for entry in Path("/proc").glob("[0-9]*") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            # pid (name, which may hold anything) state ppid pgrp session ...
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == leader:
                os.kill(int(entry.name), signal.SIGKILL)
