"""Progress of replicates: a callable of the caller, or a line on stderr."""

import sys
import time
from typing import Any

import numpy as np

from fastpsr.bootstrap.job import Progress
from fastpsr.errors import ArgumentError

_QUIET_SECONDS = 1.0  # before a line that nobody asked for
_SECONDS_BETWEEN = 0.2


def as_progress(progress: bool | Progress | None) -> Progress:
    """Return the callable that reports finished replicates.

    None is a line on stderr where somebody sees it, after a second, so that short waits have none.
    """
    if callable(progress):
        return progress
    if progress is not None and not isinstance(progress, (bool, np.bool_)):
        raise ArgumentError("progress", f"must be True, False or a function, not {progress!r}")
    if progress is None and _is_seen(sys.stderr):
        return _ProgressLine(_QUIET_SECONDS)
    return _ProgressLine() if progress else lambda done, total: None


def _is_seen(stream: Any) -> bool:
    """Return whether a stream is a terminal, or that of a notebook."""
    if stream is None:  # Python without a console
        return False
    return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel")


class _ProgressLine:
    """A progress line on stderr."""

    def __init__(self, quiet_seconds: float = 0.0) -> None:
        self._begun = time.monotonic()
        self._last = self._begun + quiet_seconds - _SECONDS_BETWEEN
        self._is_shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        is_due = now - self._last >= _SECONDS_BETWEEN
        if not is_due and not (done == total and self._is_shown):
            return
        self._last, self._is_shown = now, True
        left = f"{(now - self._begun) * (total - done) / max(done, 1):.0f} s left"
        left, end = (left, "") if done < total else ("now the intervals", "\n")
        print(f"\r{done:,} of {total:,} replicates, {left} ", end=end, file=sys.stderr, flush=True)
