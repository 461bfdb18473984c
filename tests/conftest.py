"""What holds for all tests."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard():
    """Tests that run in the background of a shell ignore interrupts, and so would the commands that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
