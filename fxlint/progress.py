"""How far a run has come: a bar on a terminal, which is gone when the run is over, and nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Progress = Callable[[int, int], None]
"""Takes how many modules are traced, of how many."""


def unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""


@contextmanager
def bar(stream: TextIO | None) -> Iterator[Progress]:
    """A bar on a stream; Python has none where the descriptor is closed."""
    if stream is None or not stream.isatty():
        yield unseen
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    columns = (TextColumn("tracing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Display(*columns, console=Console(file=stream), transient=True) as display:
        task = display.add_task("", total=None, visible=False)

        def show(done: int, total: int) -> None:
            display.update(task, completed=done, total=total, visible=True)

        yield show
