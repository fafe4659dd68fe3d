"""How near summaries come to the machine's own limit: a streaming read of the same bytes.

Predictions are prepared and nothing is remembered from call to call. The read is timed in the same
rounds, on as many threads.
"""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.data import (
    LARGE,
    LARGE_BALANCED,
    MILLION,
    MILLION_BALANCED,
    SITW,
    SITW_BALANCED,
    SMALL,
    SMALL_BALANCED,
    Size,
    Softmax,
)
from benchmarks.streaming import time_read
from benchmarks.timing import quartiles
from fastpsr.counts.ranks import rank_cells
from fastpsr.kernels.blocks import thread_count

_SECONDS = 1.0  # that the rounds of a case may take,
_FEWEST, _MOST = 5, 41  # and their number
_BINARY = [
    SMALL, SMALL_BALANCED, SITW, SITW_BALANCED, MILLION, MILLION_BALANCED, LARGE, LARGE_BALANCED,
]  # fmt: skip
_CLASSES = [Softmax(1_000_000, 10), Softmax(100_000, 100)]


@dataclass(frozen=True)
class Operation:
    """A summary of prepared predictions.

    Attributes
    ----------
    name : str
    summarize : callable of Predictions
    promised : float or None
        Times a streaming read, at SITW size.
    binary_only : bool
    """

    name: str
    summarize: Callable[[fp.Predictions], Any]
    promised: float | None
    binary_only: bool = False


def _total(metric: fp.metrics.Metric[Any]) -> Callable[[fp.Predictions], Any]:
    """Return the function that sums up what a metric is computed from."""
    return lambda predictions: metric.total(predictions)


def _ece(predictions: fp.Predictions) -> Any:
    on = "class" if predictions.n_classes == 2 else "confidence"
    return _total(fp.ECE(bins=15, on=on))(predictions)


def _rank_cells(predictions: fp.Predictions) -> Any:
    return rank_cells(predictions)


OPERATIONS = [
    Operation("Brier score", _total(fp.BrierScore()), 4),
    Operation("cross-entropy", _total(fp.CrossEntropy()), 8),
    Operation("ECE", _ece, 10),
    Operation("PAV blocks", _total(fp.EER()), None, binary_only=True),
    Operation("rank cells", _rank_cells, 15, binary_only=True),
]


@dataclass(frozen=True)
class Case:
    """Seconds of an operation and of the read, round by round, on a number of threads."""

    operation: Operation
    data: str
    threads: int
    n_bytes: int
    seconds: list[float]
    read: list[float]

    @property
    def ratios(self) -> list[float]:
        return [ours / read for ours, read in zip(self.seconds, self.read, strict=True)]


def measure_limits() -> list[Case]:
    """Time every operation on all data, on one thread and on all."""
    return [case for data in (*_BINARY, *_CLASSES) for case in _measure(data)]


def describe_limits(cases: list[Case]) -> str:
    """Return the tables."""
    most = max(case.threads for case in cases)
    names = [operation.name for operation in OPERATIONS]
    head = [
        f"Summaries of prepared predictions on {most} threads, and in brackets how many times as "
        "long as a streaming read of the same bytes they take: medians over rounds, each of which "
        "times both.",
        "",
        f"| data | bytes | read | {' | '.join(names)} |",
        f"|---|--:|--:|{'--:|' * len(names)}",
    ]
    scaling = [
        f"The same on one thread: its time over that on {most}.",
        "",
        f"| data | read | {' | '.join(names)} |",
        f"|---|--:|{'--:|' * len(names)}",
    ]
    for data in dict.fromkeys(case.data for case in cases):
        own = {(c.operation.name, c.threads): c for c in cases if c.data == data}
        of_read = {
            n: median(s for (_, t), c in own.items() if t == n for s in c.read) for n in (1, most)
        }
        n_bytes = next(iter(own.values())).n_bytes
        head.append(
            f"| {data} | {n_bytes / 1e6:.1f} MB | {_time(of_read[most])} | "
            + " | ".join(_with_ratio(own.get((name, most))) for name in names)
            + " |"
        )
        scaling.append(
            f"| {data} | {of_read[1] / of_read[most]:.1f}x | "
            + " | ".join(_gain(own.get((name, 1)), own.get((name, most))) for name in names)
            + " |"
        )
    promises = [
        f"Promised at SITW size ({SITW}):",
        "",
        "| summary | promised | measured |",
        "|---|--:|--:|",
    ]
    for case in cases:
        if case.data == str(SITW) and case.threads == most and case.operation.promised:
            low, middle, high = quartiles(case.ratios)
            promises.append(
                f"| {case.operation.name} | at most {case.operation.promised:g}x | "
                f"**{middle:.1f}x** ({low:.1f}-{high:.1f}) |"
            )
    return "\n".join([*head, "", *promises, "", *scaling])


def as_figures(case: Case) -> dict[str, Any]:
    """Return a case for JSON."""
    return {
        "summary": case.operation.name,
        "data": case.data,
        "threads": case.threads,
        "bytes": case.n_bytes,
        "seconds": case.seconds,
        "read_seconds": case.read,
        "promised": case.operation.promised,
        "ratio": quartiles(case.ratios),
    }


@contextmanager
def on_threads(n_threads: int) -> Iterator[None]:
    """Run fastpsr on a number of threads."""
    before = os.environ.get("FASTPSR_NUM_THREADS")
    os.environ["FASTPSR_NUM_THREADS"] = str(n_threads)
    try:
        yield
    finally:
        del os.environ["FASTPSR_NUM_THREADS"]
        if before is not None:
            os.environ["FASTPSR_NUM_THREADS"] = before


def _measure(data: Size | Softmax) -> Iterator[Case]:
    made = data.make()
    q = made.posteriors
    predictions = fp.Predictions.from_posteriors(made.y, q)
    _ = predictions.scores  # ranks are those of log-odds
    arrays = [q.ravel(), predictions.labels]
    n_bytes = sum(array.nbytes for array in arrays)
    for operation in OPERATIONS:
        if operation.binary_only and predictions.n_classes > 2:
            continue
        for n_threads in dict.fromkeys((1, thread_count())):
            with on_threads(n_threads):
                seconds, read = _time_both(operation, predictions, arrays)
            yield Case(operation, str(data), n_threads, n_bytes, seconds, read)


def _time_both(
    operation: Operation, predictions: fp.Predictions, arrays: list[NDArray[Any]]
) -> tuple[list[float], list[float]]:
    def ours() -> None:
        operation.summarize(_forgetful(predictions))

    once = max(_timed(ours) and _timed(ours), 1e-6)
    seconds, reads = [], []
    for _ in range(max(_FEWEST, min(_MOST, int(_SECONDS / once)))):
        reads.append(time_read(arrays))
        seconds.append(_timed(ours))
    return seconds, reads


def _forgetful(predictions: fp.Predictions) -> fp.Predictions:
    """Return the same predictions without the summaries that they remember."""
    made = copy.copy(predictions)
    for name in ("_remembered", "class_weights"):
        made.__dict__.pop(name, None)
    return made


def _timed(function: Callable[[], Any]) -> float:
    start = perf_counter()
    function()
    return perf_counter() - start


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def _with_ratio(case: Case | None) -> str:
    if case is None:
        return "-"
    return f"{_time(median(case.seconds))} ({median(case.ratios):.1f}x)"


def _gain(one: Case | None, all_threads: Case | None) -> str:
    if one is None or all_threads is None:
        return "-"
    return f"{median(one.seconds) / median(all_threads.seconds):.1f}x"
