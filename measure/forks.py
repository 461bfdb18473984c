"""Do one piece of work per process: a crash, a hang or changed global state costs one name."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

SECONDS = 60


@dataclass
class _Child:
    pid: int
    name: str
    deadline: float
    output: bytearray = field(default_factory=bytearray)


def in_forks(work: Callable[[str], Any], names: Sequence[str], jobs: int) -> dict[str, Any]:
    """The true results of ``work(name)``, each computed in a fork of this process within the time limit."""
    results: dict[str, Any] = {}
    waiting = list(reversed(names))
    running: dict[int, _Child] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name = waiting.pop()
            pid, pipe = _fork(work, name)
            running[pipe] = _Child(pid, name, time.monotonic() + SECONDS)
        for pipe in select.select(list(running), [], [], 0.5)[0]:
            child = running[pipe]
            if chunk := os.read(pipe, 1 << 20):
                child.output += chunk
                continue
            os.close(pipe)
            os.waitpid(child.pid, 0)
            del running[pipe]
            if child.output and (result := pickle.loads(bytes(child.output))):
                results[child.name] = result
        for child in running.values():
            if time.monotonic() > child.deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)
    return results


def _fork(work: Callable[[str], Any], name: str) -> tuple[int, int]:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    status = 1
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        result = work(name)
        with os.fdopen(write, "wb") as out:
            pickle.dump(result, out)
        status = 0
    finally:
        os._exit(status)  # neither the exit handlers nor the traceback of the parent's copy are wanted here
