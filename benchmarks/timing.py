"""Time both sides of a comparison in turn, in one run, and say what was found."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.comparison import Comparison
from benchmarks.streaming import time_read

CALLS = 5  # per round and side; the median of them stands for the round
_SHORT = 1.0  # seconds: a longer call is made once per round
_IMPORTS = 5.0  # seconds: a first call no longer than this may be mostly the peer's imports
_REST = 0.3  # seconds before each side's turn: idle threads of the other may spin for 0.1
_WARM = 0.15  # seconds of calls that do not count: threads move to cores of their own
_ENOUGH = 30.0  # seconds that the peer's rounds may take together, if they are more than
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class Timing:
    """Seconds per call of both sides, and of a streaming read of the same bytes, round by round.

    Besides, the cores that we were given.
    """

    comparison: Comparison
    ours: list[list[float]]
    peer: list[list[float]]
    read: list[list[float]]
    our_cores: list[float]

    @property
    def ratios(self) -> list[float]:
        """How many times as fast as the peer we were in each round."""
        return [
            median(peer) / median(ours) for ours, peer in zip(self.ours, self.peer, strict=True)
        ]

    @property
    def ratio(self) -> float:
        """The median over rounds."""
        return median(self.ratios)

    @property
    def times_the_read(self) -> float:
        """How many times as long as the read we took: the median over rounds."""
        both = zip(self.ours, self.read, strict=True)
        return median(median(ours) / median(read) for ours, read in both)


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
    """Check that both sides agree, then time ours, a read, the peer, ours, a read, the peer, ..."""
    seconds = check(comparison)
    data, arrays = comparison.data(), comparison.arrays()
    ours, peer, read, cores = [], [], [], []
    for _ in range(rounds_for(seconds, asked_rounds)):
        warm_up(comparison.ours, data)
        busy = process_time()
        ours.append([_timed(comparison.ours, data)[0] for _ in range(CALLS)])
        cores.append((process_time() - busy) / sum(ours[-1]))
        read.append([time_read(arrays) for _ in range(CALLS)])
        calls = CALLS if seconds < _SHORT else 1
        if calls > 1:
            warm_up(comparison.peer, data)
        peer.append([_timed(comparison.peer, data)[0] for _ in range(calls)])
    return Timing(comparison, ours, peer, read, cores)


def rest() -> None:
    """Wait until threads of the side that was timed before have stopped spinning."""
    sleep(_REST)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the median between the lower and the upper quartile."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(low), float(middle), float(high)


def describe_timings(timings: list[Timing]) -> str:
    """Return the table."""
    lines = [
        f"Medians and quartiles. In each round fastpsr is called {CALLS} times, then the peer "
        "(once if it is slow), after both were warmed up and found to agree. The ratio is taken "
        "within rounds. Reads: how many times as long as a streaming read of the same bytes, the "
        "machine's own limit, fastpsr took. Cores: CPU seconds per second while it ran; where it "
        "is below the number of cores, other programs were at work, or the call has parts in one "
        "thread.",
        "",
        "| comparison | size | fastpsr | reads | cores | peer | its time | ratio | promised | "
        "rounds |",
        "|---|---|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for timing in timings:
        c = timing.comparison
        promised = f"{c.promised:g}x" if c.promised else "-"
        low, middle, high = quartiles(timing.ratios)
        lines.append(
            f"| {c.name} | {c.size} | {_milliseconds(timing.ours)} | "
            f"{timing.times_the_read:.1f}x | {median(timing.our_cores):.1f} | {c.peer_label} | "
            f"{_milliseconds(timing.peer)} | "
            f"**{middle:.1f}x** ({low:.1f}-{high:.1f}) | {promised} | {len(timing.peer)} |"
        )
    return "\n".join(lines)


def timing_figures(timing: Timing) -> dict[str, Any]:
    """Return a timing for JSON."""
    c = timing.comparison
    return {
        "name": c.name,
        "size": str(c.size),
        **asdict(c.size),
        "peer": c.peer_label,
        "promised": c.promised,
        "our_seconds": timing.ours,
        "our_cores": timing.our_cores,
        "peer_seconds": timing.peer,
        "read_seconds": timing.read,
        "ratio": quartiles(timing.ratios),
    }


def _milliseconds(rounds: list[list[float]]) -> str:
    low, middle, high = (
        1000 * value for value in quartiles([s for calls in rounds for s in calls])
    )
    digits = 0 if middle >= 1000 else 1 if middle >= 1 else 3
    return f"{middle:,.{digits}f} ms ({low:,.{digits}f}-{high:,.{digits}f})"


def warm_up(function: Callable[[Any], Any], data: Any) -> None:
    """Make calls that do not count, after a rest."""
    rest()
    start = perf_counter()
    while perf_counter() - start < _WARM:
        function(data)


def _timed(function: Callable[[Any], Any], data: Any) -> tuple[float, Any]:
    start = perf_counter()
    value = function(data)
    return perf_counter() - start, value
