"""Room for deep calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

_Result = TypeVar("_Result")

_SLOTS: Final = 2**17
"""Values that fit on the part of the stack that is set aside, and as many again for all calls from there."""


def roomy(run: Callable[[], _Result]) -> _Result:
    """``run()``, with all calls in it on one piece of the interpreter's stack.

    CPython gets its stack from the system in pieces of 16 kB, and gives the last one back with the call that needed it.
    Calls that go back and forth over the end of a piece, in a loop, take longer for that than for what they do. A call
    that needs a large piece has the others of that size with it.
    """
    return run()


roomy.__code__ = roomy.__code__.replace(co_stacksize=_SLOTS)
