"""Replicates of sums: drawn directly where samples are drawn, else by the weights of units."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.resampling import Resampling, Units
from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.sizes import LANES
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.summands import Summands

__all__ = [
    "Draws",
    "LeftOut",
    "SampleSums",
    "UnitDraws",
    "UnitSums",
    "chunks_of",
    "seed_of",
]

_DRAWS_PER_CHUNK = 200_000_000  # samples times replicates between looks at the clock: under 0.5 s
_BYTES_PER_CHUNK = 1 << 27


@dataclass(frozen=True, eq=False)
class _Rows:
    """Samples of positive weight sorted by group, with what they add to its sums."""

    bounds: NDArray[np.int64]
    order: NDArray[Any]  # empty where only counts matter
    weights: Floats
    columns: Floats  # (C, rows)
    degree: int

    @classmethod
    def of(
        cls, summands: list[Summands], predictions: Predictions, *, ordered: bool = False
    ) -> "_Rows":
        first = summands[0]
        columns = [column for s in _that_add(summands) for column in s.columns]
        weights = predictions.weights
        counts = first.counts if not weights.size else None
        present = None
        if weights.size and not weights.all():
            present = np.flatnonzero(weights > 0.0)
        if counts is None:
            groups = first.groups if present is None else first.groups[present]
            counts = np.bincount(groups, minlength=first.n_groups)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        if not (ordered or columns or weights.size):
            return cls(bounds, np.empty(0, np.int32), weights, np.empty((0, 0)), 0)
        groups = first.groups if present is None else first.groups[present]
        order = kernels.order_by_group(groups, bounds)
        order = order if present is None else present[order]
        held = np.empty((len(columns), order.size))
        for place, column in enumerate(columns):
            np.take(column, order, out=held[place])
        return cls(bounds, order, weights[order] if weights.size else weights, held, first.degree)


class SampleSums:
    """Sums of one kind of summands where samples are drawn one by one."""

    def __init__(
        self, summands: list[Summands], predictions: Predictions, resampling: Resampling, seed: int
    ) -> None:
        self.n_groups, self.n_sums = summands[0].n_groups, _n_sums(summands)
        self._n_samples = len(predictions)
        self._seed = seed_of(seed, summands[0].kind)
        self._rows = _Rows.of(summands, predictions)
        strata = np.zeros(self.n_groups, np.int64)
        if resampling.by_class:
            strata = summands[0].class_of_group
        self._blocks = kernels.cut_into_blocks(self._rows.bounds, strata)
        self._group_of_row = np.repeat(
            np.arange(self.n_groups, dtype=np.int32), np.diff(self._rows.bounds)
        )

    def draw(self, first: int, n_replicates: int) -> Floats:
        """Return (R, G, 1 + sums) of replicates from `first` on."""
        rows = self._rows
        return np.asarray(
            kernels.sum_draws(self._seed, first, n_replicates, self._blocks, self._group_of_row,
                              rows.weights, rows.columns, rows.degree, self.n_groups)
        )  # fmt: skip

    def sample_times(self, replicate: int) -> Floats:
        """Return how often each sample was drawn in a replicate, (N,)."""
        order = self._rows.order
        drawn = kernels.draw_units(self._seed, replicate, 1, self._blocks, order, self._n_samples)
        return np.asarray(drawn[0, : self._n_samples, 0].astype(np.float64))


class Draws(ABC):
    """How often each unit is there in each replicate, the same for all that ask."""

    def __init__(self, units: Units) -> None:
        self.units = units

    @abstractmethod
    def sets(self, n_replicates: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Return (L, U + 1, 8) counts, in sets of 8 replicates, with the first one's number.

        Replicates beyond the last may come too, to fill the sets.
        """

    def sample_times(self, sets: NDArray[np.float32], place: int) -> Floats:
        """Return how often each sample is there, (N,), in a replicate by its place in the sets."""
        times = sets[place // LANES, :, place % LANES].astype(np.float64)
        return np.asarray(times[self.units.first] * times[self.units.second])


class UnitDraws(Draws):
    """Units drawn with replacement."""

    def __init__(self, units: Units, seed: int) -> None:
        super().__init__(units)
        self._seed = seed_of(seed, "units")
        n_strata = units.strata.size - 1
        # a stratum is cut as a group is; its units share blocks with no other's
        self._blocks = kernels.cut_into_blocks(units.strata, np.arange(n_strata))

    def sets(self, n_replicates: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        order, n_units = self.units.order, self.units.n_units
        n_sets = thread_count()
        for first in range(0, n_replicates, n_sets * LANES):
            used = min(n_sets, -(-(n_replicates - first) // LANES))
            yield first, kernels.draw_units(self._seed, first, used, self._blocks, order, n_units)


class LeftOut(Draws):
    """All units but those of one part, part after part."""

    def __init__(self, units: Units, parts: list[NDArray[Any]]) -> None:
        super().__init__(units)
        self._parts = parts

    def sets(self, n_replicates: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        for first in range(0, n_replicates, LANES):
            times = np.ones((1, self.units.n_units + 1, LANES), np.float32)
            for lane, part in enumerate(self._parts[first : first + LANES]):
                times[0, part, lane] = 0.0
            yield first, times


class UnitSums:
    """Sums of one kind of summands where samples weigh what their units were drawn."""

    def __init__(self, summands: list[Summands], predictions: Predictions, units: Units) -> None:
        self.n_groups, self.n_sums = summands[0].n_groups, _n_sums(summands)
        self._rows = rows = _Rows.of(summands, predictions, ordered=True)
        self._first, self._second = units.first[rows.order], units.second[rows.order]

    def draw(self, drawn: NDArray[np.float32]) -> Floats:
        """Return (8 L, G, 1 + sums) of the replicates of (L, U + 1, 8) counts of units."""
        rows = self._rows
        return np.asarray(
            kernels.sum_units(drawn, self._first, self._second, rows.bounds, rows.weights,
                              rows.columns, rows.degree)
        )  # fmt: skip


def _that_add(summands: list[Summands]) -> list[Summands]:
    """Return the summands whose columns differ: with polynomials, all of a kind have the same."""
    return summands[:1] if summands[0].degree else summands


def _n_sums(summands: list[Summands]) -> int:
    return sum(s.n_sums for s in _that_add(summands))


def seed_of(seed: int, purpose: str) -> int:
    """Return 64 bits for a purpose, so that what is drawn for one tells nothing of another."""
    state = np.random.SeedSequence([seed, crc32(purpose.encode())])
    return int(state.generate_state(1, np.uint64)[0])


def chunks_of(n_resamples: int, n_samples: int, n_numbers: int) -> Iterator[range]:
    """Cut replicates into chunks, of whole lanes, that take little time and memory each."""
    most = min(_DRAWS_PER_CHUNK // max(n_samples, 1), _BYTES_PER_CHUNK // (8 * max(n_numbers, 1)))
    size = max(1, most // LANES) * LANES
    for first in range(0, n_resamples, size):
        yield range(first, min(first + size, n_resamples))
