"""When cyclic garbage is looked for: not while syntax trees and what refers to them are being built."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """A collection goes through all nodes of all trees, which hold no cycles: a quarter of the time for nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
