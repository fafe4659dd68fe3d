"""A pytest plugin that ends tests that compute for longer than half a second: ``-p tests.brief``.

For runs without compilation, where a test may take a thousand times as long. Those that cover most
are given longer; what ran of a test that is ended counts, and it is skipped.
"""

import os
import signal
from pathlib import Path

import pytest

import fastpsr
import tests

SECONDS = float(os.environ.get("FASTPSR_BRIEF_SECONDS", "0.5"))
LONGER = {"test_same_bits_again": 60.0, "test_small_samples": 60.0, "test_hostile_arguments": 1.0}
OURS = tuple(str(Path(module.__file__).parent) for module in (fastpsr, tests))


def stop(_, frame):
    # others may hold a lock, or swallow what is raised in them
    if not frame.f_code.co_filename.startswith(OURS):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
        return
    pytest.skip("takes too long without compilation")


@pytest.hookimpl(hookwrapper=True)
def limited(item):
    name = item.name.partition("[")[0]
    seconds = next((LONGER[start] for start in LONGER if name.startswith(start)), SECONDS)
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


pytest_runtest_setup = pytest_runtest_call = limited
