"""A pytest plugin that skips tests as soon as they have taken some seconds: ``-p tests.brief``.

For runs without compilation, where a test may take a thousand times as long.
"""

import os
import signal

import pytest

SECONDS = int(os.environ.get("FASTPSR_BRIEF_SECONDS", "2"))
LONGER = ("test_same_bits_again", "test_small_samples", "test_hostile_arguments")


def stop(*_):
    pytest.skip(f"takes more than {SECONDS} s without compilation")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    if not item.name.startswith(LONGER):
        signal.signal(signal.SIGALRM, stop)
        signal.alarm(SECONDS)
    yield
    signal.alarm(0)
