"""A pytest plugin that skips tests that compute for longer than half a second: ``-p tests.brief``.

For runs without compilation, where a test may take a thousand times as long.
"""

import os
import signal
from pathlib import Path

import pytest

import fastpsr
import tests

SECONDS = float(os.environ.get("FASTPSR_BRIEF_SECONDS", "0.5"))
LONGER = ("test_same_bits_again", "test_small_samples", "test_hostile_arguments")
OURS = tuple(str(Path(module.__file__).parent) for module in (fastpsr, tests))


def stop(_, frame):
    # others may hold a lock, or swallow what is raised in them
    if not frame.f_code.co_filename.startswith(OURS):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
        return
    pytest.skip(f"takes more than {SECONDS:g} s without compilation")


@pytest.hookimpl(hookwrapper=True)
def limited(item):
    if not item.name.startswith(LONGER):
        signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


pytest_runtest_setup = pytest_runtest_call = limited
