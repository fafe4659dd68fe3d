"""Estimates of the cost of a computation over parts, from running it on a few of them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.evaluation.evaluate import plans_of_table
from fastpsr.plans import PartitionedPredictions
from fastpsr.plans.budget import limited, memory_budget
from fastpsr.plans.runner import run_all
from fastpsr.plans.sources import Source
from fastpsr.plans.watching import Progress, watched
from fastpsr.predictions import Predictions
from fastpsr.wording import counted

__all__ = ["Explanation", "explain"]

_REHEARSED = 3  # parts, or more where these have fewer rows than this:
_LIKE_MANY = 1 << 15  # rows, from which plans do as with any number


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


def explain(data: PartitionedPredictions, metrics: Any = None) -> Explanation:
    """Rehearse the plans of a table of metrics on one part and on some."""
    n_parts = data.n_parts
    numbers = _spread(_REHEARSED, n_parts)
    first = _rehearse(data, numbers[:1], metrics)  # compiles, and warms the files up
    few = _rehearse(data, numbers, metrics)
    if few.n_rows < _LIKE_MANY and len(numbers) < n_parts:
        numbers = _spread(len(numbers) * -(-_LIKE_MANY // max(few.n_rows, 1)), n_parts)
        few = _rehearse(data, numbers, metrics)
    known = data.source.n_rows
    n_rows = few.n_rows * n_parts // len(numbers) if known is None else known
    growth = (few.n_held_bytes - first.n_held_bytes) / max(few.n_rows - first.n_rows, 1)
    share = n_rows / max(few.n_rows, 1)
    return Explanation(
        n_rows,
        n_parts,
        few.n_reads,
        round(few.n_bytes * share),
        min(
            round(few.n_held_bytes + max(growth, 0.0) * (n_rows - few.n_rows)), 2 * memory_budget()
        ),
        few.largest,
        few.seconds * share,
    )


def _spread(n: int, n_parts: int) -> list[int]:
    """Return the numbers of at most n parts, spread over all."""
    places = np.linspace(0, n_parts - 1, min(n, n_parts)).astype(int)
    return [int(place) for place in np.unique(places)]


class _Rehearsal:
    """What was seen of the reads of a rehearsal."""

    def __init__(self) -> None:
        self.n_rows = self.n_bytes = self.n_held_bytes = self.largest = 0
        self.seconds = 0.0
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


def _rehearse(data: PartitionedPredictions, numbers: Sequence[int], metrics: Any) -> _Rehearsal:
    seen = _Rehearsal()
    few = data.on(_Few(data.source, numbers))
    share = len(numbers) / data.n_parts
    begun = time.perf_counter()
    with watched(seen.see), limited(int(memory_budget() * share)):
        run_all(plans_of_table(few, metrics))
    seen.seconds = time.perf_counter() - begun
    return seen


class _Few(Source):
    """Some parts of a source."""

    def __init__(self, source: Source, numbers: Sequence[int]) -> None:
        self._source, self._numbers = source, numbers
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
        return self._source.load(self._numbers[number], wanted)

    def build(self, loaded: Any, reads: frozenset[str]) -> tuple[Predictions, Mapping[str, Any]]:
        return self._source.build(loaded, reads)


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} TB"
