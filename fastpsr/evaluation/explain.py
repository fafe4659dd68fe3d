"""Estimates of the cost of a computation over parts, from running it on a few of them."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.silence import in_silence
from fastpsr.evaluation.evaluate import evaluate_systems, plans_of_table
from fastpsr.plans import PartitionedPredictions
from fastpsr.plans.budget import budget_of_all, limited, memory_budget
from fastpsr.plans.runner import run_all
from fastpsr.plans.sources import Source
from fastpsr.plans.watching import Progress, watched
from fastpsr.predictions import Predictions
from fastpsr.wording import counted

__all__ = ["Explanation", "explain", "explain_table"]

_REHEARSED = 3  # parts, or more where these have fewer rows than this:
_LIKE_MANY = 1 << 15  # rows, from which plans do as with any number
_FEW_ROWS, _MANY_ROWS = 1 << 15, 1 << 18  # of which replicates are rehearsed
_FEWEST = 40  # replicates
_MOST_GROWTH = 1.2  # power of the rows: what leaves the cache takes longer


@dataclass(frozen=True)
class Explanation:
    """Estimated cost of a computation over data in parts; prints as a sentence.

    Attributes
    ----------
    n_rows, n_parts : int
    reads : int
        Number of reads of all parts, including the first read of labels and weights.
    n_bytes : int
        Bytes of the columns in memory, summed over all reads.
    memory : int
        Largest memory of counts in bytes, in addition to up to three parts.
    part_bytes : int
        Bytes of a part.
    seconds : float
        Time on this machine, with compiled kernels.
    """

    n_rows: int
    n_parts: int
    reads: int
    n_bytes: int
    memory: int
    part_bytes: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{counted(self.n_rows, 'row')} in {counted(self.n_parts, 'part')} of "
            f"{_size(self.part_bytes)}: {counted(self.reads, 'read')}, {_size(self.n_bytes)} in "
            f"all, about {self.seconds:.3g} s on this machine; counts hold up to "
            f"{_size(self.memory)}, parts {_size(3 * self.part_bytes)}"
        )


def explain(
    data: PartitionedPredictions,
    metrics: Any = None,
    n_resamples: int = 0,
    method: Method = "auto",
    resampling: Resampling | None = None,
) -> Explanation:
    """Rehearse the plans of a table of metrics, and of its intervals if there are replicates."""
    seed = 0 if n_resamples else None
    intervals = Intervals.if_any(n_resamples, 0.95, method, resampling, seed)
    return explain_table(data, metrics, intervals)


def explain_table(
    data: PartitionedPredictions, metrics: Any, intervals: Intervals | None
) -> Explanation:
    """Rehearse the plans of a table on one part and on some, with validated settings."""
    of_values, numbers = _values(data, metrics)
    if intervals is None:
        return of_values
    return _with_replicates(of_values, data, metrics, intervals, numbers)


def _values(data: PartitionedPredictions, metrics: Any) -> tuple[Explanation, list[int]]:
    """Return the cost of values alone, and the parts on which it was seen."""

    def rehearse(numbers: Sequence[int]) -> _Rehearsal:
        few = data.on(_Few(data.source, numbers))
        share = len(numbers) / n_parts
        return _rehearse(share, lambda: run_all(plans_of_table(few, metrics)))

    n_parts = data.n_parts
    numbers = _spread(_REHEARSED, n_parts)
    first = rehearse(numbers[:1])  # compiles, and warms the files up
    few = rehearse(numbers)
    if few.n_rows < _LIKE_MANY and len(numbers) < n_parts:
        numbers = _spread(len(numbers) * -(-_LIKE_MANY // max(few.n_rows, 1)), n_parts)
        few = rehearse(numbers)
    known = data.source.n_rows
    n_rows = few.n_rows * n_parts // len(numbers) if known is None else known
    share = n_rows / max(few.n_rows, 1)
    growth = (few.n_held_bytes - first.n_held_bytes) / max(few.n_rows - first.n_rows, 1)
    held = few.n_held_bytes + max(growth, 0.0) * (n_rows - few.n_rows)
    explanation = Explanation(
        n_rows, n_parts, few.n_reads, round(few.n_bytes * share),
        min(round(held), 2 * memory_budget()), few.largest, few.seconds * share,
    )  # fmt: skip
    return explanation, numbers


def _with_replicates(
    of_values: Explanation,
    data: PartitionedPredictions,
    metrics: Any,
    intervals: Intervals,
    numbers: list[int],
) -> Explanation:
    """Add the cost of replicates, of which it is seen on some of the rows how it grows."""
    n_rows, n_known = of_values.n_rows, len(numbers)
    n_there = max(1, n_rows * n_known // of_values.n_parts)
    loaded: dict[Hashable, Any] = {}

    def rehearse(most: int, drawn: Intervals | None) -> _Rehearsal:
        few = data.on(_Few(data.source, numbers, -(-n_there // most), loaded))
        share = min(1.0, most / n_there) * n_known / of_values.n_parts
        return _rehearse(share, lambda: evaluate_systems({None: few}, metrics, intervals=drawn))

    fewest = replace(intervals, n_resamples=min(_FEWEST, intervals.n_resamples))
    with in_silence():
        rehearse(_FEW_ROWS, fewest)  # compiles, and reads the parts
        few = rehearse(_FEW_ROWS, intervals)
        many = rehearse(_MANY_ROWS, intervals)
        alone = rehearse(_MANY_ROWS, None)
    share = n_rows / max(many.n_rows, 1)
    more = many.n_rows / max(few.n_rows, 1)
    cpu_seconds = few.cpu_between_reads, many.cpu_between_reads
    between_reads = _grown(*cpu_seconds, more, share, _MOST_GROWTH)
    in_reads = max(many.cpu_of_reads - alone.cpu_of_reads, 0.0) * share
    in_tree = (2 + of_values.n_parts.bit_length()) / (2 + n_known.bit_length())
    held = _grown(few.n_held_bytes, many.n_held_bytes, more, share) * in_tree
    return replace(
        of_values,
        reads=of_values.reads + many.n_reads - alone.n_reads,
        n_bytes=of_values.n_bytes + round((many.n_bytes - alone.n_bytes) * share),
        memory=max(of_values.memory, min(round(held), 2 * budget_of_all())),
        seconds=of_values.seconds + (in_reads + between_reads) * many.seconds / many.cpu_seconds,
    )


def _grown(few: float, many: float, more: float, share: float, most: float = 1.0) -> float:
    """Return `many` times a power of `share`, at most `most`, as it grew with `more` rows."""
    if not few < many or more <= 1.0:
        return many
    return float(many * share ** min(np.log(many / max(few, 1e-9)) / np.log(more), most))


def _spread(n: int, n_parts: int) -> list[int]:
    """Return the numbers of at most n parts, spread over all."""
    places = np.linspace(0, n_parts - 1, min(n, n_parts)).astype(int)
    return [int(place) for place in np.unique(places)]


class _Rehearsal:
    """What was seen of the reads of a rehearsal."""

    def __init__(self) -> None:
        self.n_rows = self.n_bytes = self.n_held_bytes = self.largest = 0
        self.seconds = self.cpu_seconds = self.cpu_of_reads = 0.0
        self._reads: set[int] = set()
        self._rows: dict[int, int] = {}

    def see(self, progress: Progress) -> None:
        if not progress.is_sample:
            self._reads.add(progress.read)
            self.n_bytes += progress.n_bytes
            rows = self._rows[progress.read] = self._rows.get(progress.read, 0) + progress.n_rows
            self.n_rows = max(self.n_rows, rows)
        self.largest = max(self.largest, progress.n_bytes)
        self.n_held_bytes = max(self.n_held_bytes, progress.n_held_bytes)

    @property
    def n_reads(self) -> int:
        """Number of reads of all parts."""
        return len(self._reads)

    @property
    def cpu_between_reads(self) -> float:
        """Seconds of the processor that are spent on what was read."""
        return max(self.cpu_seconds - self.cpu_of_reads, 0.0)


def _rehearse(share: float, compute: Callable[[], object]) -> _Rehearsal:
    """Return what is seen of a computation on a share of the rows, with that of the budget."""
    seen = _Rehearsal()
    begun, cpu_begun = time.perf_counter(), time.process_time()
    with watched(seen.see) as watch, limited(int(memory_budget() * share)):
        compute()
    seen.seconds = time.perf_counter() - begun
    seen.cpu_seconds, seen.cpu_of_reads = time.process_time() - cpu_begun, watch.cpu_of_reads
    seen.n_held_bytes = max(seen.n_held_bytes, watch.n_held_bytes)
    return seen


class _Few(Source):
    """Some parts of a source, or every n-th row of each class of these."""

    def __init__(
        self,
        source: Source,
        numbers: Sequence[int],
        every: int = 1,
        held: dict[Hashable, Any] | None = None,
    ) -> None:
        """Take what was read of parts from `held`, and leave it there."""
        self._source, self._numbers, self._every, self._held = source, numbers, every, held
        self.kind, self.n_classes = source.kind, source.n_classes
        self.given_priors, self.columns = source.given_priors, source.columns
        self.n_parts = len(numbers)

    @property
    def n_parts_in_all(self) -> int:
        return self._source.n_parts

    def name_of(self, number: int) -> str:
        return self._source.name_of(self._numbers[number])

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        return self._source.wanted(reads)

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        if self._held is None:
            return self._source.load(self._numbers[number], wanted)
        if (number, wanted) not in self._held:
            self._held[number, wanted] = self._source.load(self._numbers[number], wanted)
        return self._held[number, wanted]

    def build(self, loaded: Any, reads: frozenset[str]) -> tuple[Predictions, Mapping[str, Any]]:
        predictions, columns = self._source.build(loaded, reads)
        if self._every == 1 or not len(predictions):
            return predictions, columns
        of_class = [np.flatnonzero(predictions.labels == k) for k in range(self.n_classes)]
        rows = np.sort(np.concatenate([each[:: self._every] for each in of_class]))
        return predictions[rows], {name: ids[rows] for name, ids in columns.items()}


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} TB"
