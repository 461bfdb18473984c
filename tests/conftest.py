"""What holds for all tests."""

import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def nothing_is_kept():
    """What one test, or an earlier run of the tests, has found is not what another one asks for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FXLINT_NO_CACHE", "1")
        yield


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard():
    """Tests that run in the background of a shell ignore interrupts, and so would the commands that they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
