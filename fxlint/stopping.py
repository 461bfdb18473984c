"""Signals that end a run: the first one unwinds it, the next ones do not disturb what then removes processes and files.

SIGKILL cannot be caught; the processes of a run notice by themselves that it is gone.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Final, NoReturn

_SIGNALS: Final[Mapping[int, str]] = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    **({} if sys.platform == "win32" else {signal.SIGHUP: "hung up"}),
}


class Stopped(BaseException):
    """The run was asked to stop; ``exit_code`` is what a shell expects of a process that a signal has ended."""

    def __init__(self, number: int) -> None:
        super().__init__(_SIGNALS[number])
        self.exit_code = 128 + number


raised: list[Stopped] = []
"""What signals have raised, for where other exceptions take its place."""


def stop_on_signals() -> None:
    """From now on the first SIGINT, SIGTERM or SIGHUP raises Stopped in the main thread; an ignored one stays so."""
    heard = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
    run = os.getpid()

    def stop(number: int, _: object) -> NoReturn:
        if os.getpid() != run:
            os._exit(128 + number)  # a process that was forked off a moment ago
        for each in heard:
            signal.signal(each, signal.SIG_IGN)
        raised.append(Stopped(number))
        raise raised[-1]

    for each in heard:
        signal.signal(each, stop)
