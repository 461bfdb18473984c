"""What bounds the search for instances: work, and not what else the machine does."""

import time

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from fxlint.tracer.instances.survey import IDLE_FACTOR, TooSlowError, alarm  # noqa: E402

SECONDS = 0.2


def busy(seconds):
    started = time.process_time()
    while time.process_time() < started + seconds:
        pass


def test_a_build_may_work_for_so_long():
    with pytest.raises(TooSlowError), alarm(SECONDS):
        busy(10 * SECONDS)


def test_time_that_others_use_does_not_count():
    with alarm(SECONDS):
        time.sleep(2 * SECONDS)  # as where it has no processor
        busy(SECONDS / 4)


def test_a_build_that_waits_ends_too():
    started = time.monotonic()
    with pytest.raises(TooSlowError), alarm(SECONDS):
        time.sleep(60)
    assert time.monotonic() - started < 10 * IDLE_FACTOR * SECONDS


def test_after_it_nothing_rings():
    with alarm(SECONDS):
        pass
    busy(2 * SECONDS)
