"""Python code run in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import fastpsr as fp

PATHS = os.pathsep.join([str(Path(fp.__file__).parent.parent), str(Path(__file__).parent.parent)])


def run(code, **environment):
    """Return the words that the code prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": PATHS} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
