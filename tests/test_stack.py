"""Room for deep calls."""

from itertools import pairwise

import pytest

from fxlint.stack import roomy

resource = pytest.importorskip("resource")
CALLS = 1000


def nothing():
    pass


def call_at(depth):
    if depth:
        call_at(depth - 1)
    else:
        for _ in range(CALLS):
            nothing()


def pages_taken():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_what_it_is_given_is_run():
    assert roomy(lambda: 7) == 7


def test_calls_at_no_depth_ask_the_system_for_memory():
    def at_each_depth():
        taken = [pages_taken()]
        for depth in range(150):  # one of them is where a piece of the stack ends
            call_at(depth)
            taken.append(pages_taken())
        return max(after - before for before, after in pairwise(taken))

    roomy(at_each_depth)  # touches it once
    assert roomy(at_each_depth) < CALLS / 2
