"""Samples that are drawn, from all or from each class, and sums of them."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.cache import BootstrapCache
from fastpsr.bootstrap.draws import DrawCounts, PartDraws
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.units import CountedUnits, Ints, present_rows
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import Data, PartitionedPredictions, Step
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats
from fastpsr.summaries.sums import Sums

__all__ = ["IID", "CountDraws", "DrawnTotals", "RowDraws", "RowUnits", "Stratified"]

_WHOLE = 1 << 62  # rows: groups are not cut


@dataclass(frozen=True, eq=False)
class IID(Resampling):
    """Draw samples with replacement (the ordinary bootstrap): for independent samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=fp.IID(), seed=0).value
    0.185
    """

    shares_draws = False

    def units(self, data: Data) -> "RowUnits":
        return RowUnits.of(data, by_class=False)


@dataclass(frozen=True, eq=False)
class Stratified(Resampling):
    """Draw samples with replacement within each class: for class sizes fixed by design.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.Cllr(), data, resampling=fp.Stratified(), seed=0).n_undefined
    0
    """

    shares_draws = False

    def units(self, data: Data) -> "RowUnits":
        return RowUnits.of(data, by_class=True)


@dataclass(frozen=True, eq=False)
class RowUnits(CountedUnits):
    """Rows of positive weight, in one stratum or in one of each class.

    Attributes
    ----------
    rows_of_parts : ndarray of int64, shape (P, S)
        Rows of positive weight of each part, by stratum.
    """

    rows_of_parts: NDArray[np.int64]
    by_class: bool
    cache: BootstrapCache
    name = "samples"
    n_shared = 0

    @classmethod
    def of(cls, data: Data, *, by_class: bool) -> "RowUnits":
        """Return the rows of data as units."""
        if isinstance(data, PartitionedPredictions):
            sizes: NDArray[np.int64] = data.facts.sizes
        else:
            sizes = data.class_sizes[None]
        sizes = sizes if by_class else sizes.sum(axis=1, keepdims=True)
        return cls(sizes, by_class, BootstrapCache())

    @property
    def sizes(self) -> NDArray[np.int64]:
        return self.rows_of_parts

    def draws_alone(self, layout: Layout, seed: int) -> "RowDraws":
        return RowDraws(layout, self, seed)

    def strata_of_groups(self, sums: Sums) -> NDArray[np.int64]:
        return sums.class_of_group if self.by_class else np.zeros(sums.n_groups, np.int64)

    def in_strata(self, part: Part) -> tuple[Ints, Floats, NDArray[np.int64]]:
        labels = part.predictions.labels
        strata = labels if self.by_class else np.zeros_like(labels)
        return strata, part.predictions.weights, self.sizes[: part.number].sum(axis=0)

    def size_in(self, part: Part) -> int:
        return len(part.predictions)

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.cache.of(part, "row numbers", lambda: self._numbers(part))  # type: ignore[no-any-return]

    def _numbers(self, part: Part) -> tuple[Ints, Ints]:
        n = len(part.predictions)
        wide = index_type(n + 1)
        return np.arange(n, dtype=wide), np.full(n, n, wide)

    def order(self, part: Part) -> tuple[Ints, Ints]:
        return self.cache.of(part, "row order", lambda: self._order(part))  # type: ignore[no-any-return]

    def _order(self, part: Part) -> tuple[Ints, Ints]:
        predictions = part.predictions
        wide = index_type(len(predictions) + 1)
        rows = present_rows(predictions)
        if not self.by_class:
            return rows.astype(wide), np.array([0, rows.size])
        y = predictions.labels[rows]
        sizes = np.bincount(y, minlength=self.sizes.shape[1])
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        return rows[kernels.order_by_group(y, bounds)].astype(wide), bounds


class RowDraws(DrawCounts):
    """Draws of rows for a single layout."""

    def __init__(self, layout: Layout, units: RowUnits, seed: int) -> None:
        sums = layout.sums[0]
        self._layout, self._seed, self._stream = layout, seed, sums.stream
        self._in_parts = PartDraws(seed, self._stream, units.sizes)
        self._strata = units.strata_of_groups(sums)
        self.reads = layout.reads

    def blocks(self, bounds: NDArray[np.int64]) -> Any:
        """Return the blocks of sorted rows."""
        return kernels.cut_into_blocks(bounds, self._strata)

    def within(self, part: int, first: int, n_replicates: int) -> tuple[int, NDArray[np.int64]]:
        """Return the seed of a part, and how many draws fall in it, (R, S)."""
        seed = seed_of(self._seed, (*self._stream, "part", part))
        return seed, self._in_parts.of(part, first, n_replicates)

    def of_whole(self, counts: NDArray[np.int64], n_replicates: int) -> "CountDraws":
        """Return the draws if only the total counts of groups matter."""
        n_strata = int(self._strata[-1]) + 1 if self._strata.size else 1
        sizes = np.bincount(self._strata, counts, n_strata).astype(np.int64)
        seed = seed_of(self._seed, (*self._stream, "part", 0))
        n_draws = np.repeat(sizes[None], n_replicates, axis=0)
        return CountDraws.of(seed, n_draws, counts, self._strata)

    def of_piece(self, number: int, sums: Sums, n_draws: NDArray[np.int64]) -> "CountDraws":
        """Return the draws of a piece, of each class of which (R, K) are drawn."""
        assert sums.known_weight is not None
        seed = seed_of(self._seed, (*self._stream, "piece", number))
        counts = sums.known_weight.astype(np.int64)
        return CountDraws.of(seed, n_draws, counts, sums.class_of_group)

    def of_rows(self, part: Part, replicate: int) -> Floats:
        sums, cache = self._layout.sums[:1], self._layout.cache
        # rows are in groups, which may depend on further row-aligned data
        parts = [part, *(Part.whole(data) for data in sums[0].beside)]

        def compute() -> tuple[Any, Any]:
            bounds, order = Layout(sums, (tuple(range(len(parts))),)).sorted_rows(parts)
            return order, self.blocks(bounds)

        order, blocks = cache.of(part, "drawn rows", compute)
        seed, n_draws = self.within(part.number, replicate, 1)
        n = len(part.predictions)
        drawn = kernels.draw_units(seed, replicate, n_draws, blocks, order, n)
        return np.asarray(drawn[0, :n, 0].astype(np.float64))


@dataclass(frozen=True, eq=False)
class DrawnTotals(Step):
    """Sums of one layout in several replicates, (R, G, 1 + sums), if rows are drawn."""

    layout: Layout
    draws: RowDraws
    first: int
    n_replicates: int

    @property
    def reads(self) -> frozenset[str]:
        return self.layout.reads

    @property
    def key(self) -> Hashable:
        return (type(self), self.draws, self.first)

    def start(self) -> Floats:
        layout = self.layout
        return np.zeros((self.n_replicates, layout.n_groups, 1 + layout.n_sums))

    def add(self, accumulator: Floats, prepared: None, *parts: Part) -> Floats:
        layout, part = self.layout, self.layout.part(parts)
        rows = layout.rows(parts)
        blocks = layout.cache.of(part, "blocks", lambda: self.draws.blocks(rows.bounds))
        seed, n_draws = self.draws.within(part.number, self.first, self.n_replicates)
        return kernels.sum_draws(seed, self.first, n_draws, blocks, rows.bounds, rows.weights,
                                 rows.columns, layout.degree, accumulator)  # fmt: skip

    def merge(self, one: Floats, other: Floats) -> Floats:
        one += other
        return one


@dataclass(frozen=True, eq=False)
class CountDraws:
    """Draws of the counts of groups, as multinomials without rows."""

    seed: int
    n_draws: NDArray[np.int64]  # (R, strata)
    n_groups: int
    filled: NDArray[np.int64]  # numbers of the groups that have rows, (F,)
    bounds: NDArray[np.int64]  # (F + 1,)
    blocks: Any

    @classmethod
    def of(
        cls,
        seed: int,
        n_draws: NDArray[np.int64],
        counts: NDArray[np.int64],
        strata: NDArray[np.int64],
    ) -> "CountDraws":
        """Return the draws of groups of so many rows; strata of groups do not decrease."""
        filled = np.flatnonzero(counts)
        bounds = np.concatenate([[0], np.cumsum(counts[filled])]).astype(np.int64, copy=False)
        blocks = kernels.cut_into_blocks(bounds, strata[filled], _WHOLE)
        return cls(seed, n_draws, counts.size, filled, bounds, blocks)

    def totals(self, first: int, n_replicates: int) -> Floats:
        """Return (R, G, 1) replicates of the counts."""
        n_draws = np.ascontiguousarray(self.n_draws[first : first + n_replicates])
        nothing, no_columns = np.empty(0), np.empty((0, 0))
        drawn = np.zeros((n_replicates, self.filled.size, 1))
        kernels.sum_draws(self.seed, first, n_draws, self.blocks, self.bounds, nothing, no_columns,
                          0, drawn)  # fmt: skip
        if self.filled.size == self.n_groups:
            return drawn
        out = np.zeros((n_replicates, self.n_groups, 1))
        out[:, self.filled] = drawn
        return out
