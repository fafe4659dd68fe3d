"""Time both sides of a comparison in turn, in one run."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.comparison import Comparison

CALLS = 5  # per round and side; the median of them stands for the round
_SHORT = 1.0  # seconds: a longer call is made once per round
_IMPORTS = 5.0  # seconds: a first call no longer than this may be mostly the peer's imports
_REST = 0.3  # seconds before each side's turn: idle threads of the other may spin for 0.1
_WARM = 0.15  # seconds of calls that do not count: threads move to cores of their own
_ENOUGH = 30.0  # seconds that the peer's rounds may take together, if they are more than
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class Timing:
    """Seconds per call of both sides, a list for each round; and the cores that we were given."""

    comparison: Comparison
    ours: list[list[float]]
    peer: list[list[float]]
    our_cores: list[float]

    @property
    def ratios(self) -> list[float]:
        """How many times as fast as the peer we were in each round."""
        return [
            median(peer) / median(ours) for ours, peer in zip(self.ours, self.peer, strict=True)
        ]


def check(comparison: Comparison) -> float:
    """Compute both sides once, which warms them up; raise unless they agree.

    Returns the seconds that the peer takes.
    """
    data = comparison.data()
    ours = comparison.ours(data)
    seconds, peer = _timed(comparison.peer, data)
    comparison.agree(data, ours, peer)
    if seconds < _IMPORTS:
        seconds, _ = _timed(comparison.peer, data)
    return seconds


def rounds_for(seconds: float, asked: int) -> int:
    """Return how many rounds to take where the peer needs so long for one."""
    return max(min(_FEWEST, asked), min(asked, int(_ENOUGH / seconds)))


def time_both(comparison: Comparison, asked_rounds: int) -> Timing:
    """Check that both sides agree, then time ours, the peer, ours, the peer, ..."""
    seconds = check(comparison)
    data = comparison.data()
    ours, peer, cores = [], [], []
    for _ in range(rounds_for(seconds, asked_rounds)):
        _warm_up(comparison.ours, data)
        busy = process_time()
        ours.append([_timed(comparison.ours, data)[0] for _ in range(CALLS)])
        cores.append((process_time() - busy) / sum(ours[-1]))
        calls = CALLS if seconds < _SHORT else 1
        if calls > 1:
            _warm_up(comparison.peer, data)
        peer.append([_timed(comparison.peer, data)[0] for _ in range(calls)])
    return Timing(comparison, ours, peer, cores)


def rest() -> None:
    """Wait until threads of the side that was timed before have stopped spinning."""
    sleep(_REST)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the median between the lower and the upper quartile."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(low), float(middle), float(high)


def _warm_up(function: Callable[[Any], Any], data: Any) -> None:
    rest()
    start = perf_counter()
    while perf_counter() - start < _WARM:
        function(data)


def _timed(function: Callable[[Any], Any], data: Any) -> tuple[float, Any]:
    start = perf_counter()
    value = function(data)
    return perf_counter() - start, value
