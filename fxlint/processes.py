"""Work that is shared out among processes."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fxlint.project.buffers import held, hold

_Share = TypeVar("_Share")
_Result = TypeVar("_Result")


def in_processes(work: Callable[[_Share], _Result], shares: Sequence[_Share]) -> list[_Result]:
    """``work`` on each share, in a process of its own; a single share is worked on here."""
    if len(shares) <= 1:
        return [work(share) for share in shares]
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(len(shares), initializer=_as_worker, initargs=({**held()},))
    try:
        parts = [pool.submit(work, share) for share in shares]
        results = [part.result() for part in parts]
    except BaseException:  # an interrupt does not wait for the work
        for process in list(pool._processes.values()):
            process.kill()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return results


def _as_worker(texts: Mapping[str, bytes]) -> None:
    """A terminal interrupts all processes of a run: the parent ends its workers then, and they end when it dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    hold(texts)
    gc.disable()  # it ends with its work, and its garbage with it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
