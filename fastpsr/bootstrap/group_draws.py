"""Draws of independent rows of a common weight, as multinomials over the groups of a table."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.row_draws import Layout, RowCounts, present_rows, seed_of
from fastpsr.bootstrap.units import IndependentRows
from fastpsr.counts import count
from fastpsr.counts.sums import AddUp
from fastpsr.data import Floats
from fastpsr.data.steps import Part, Step
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.types import Blocks

_WHOLE = 1 << 62  # rows: groups are not cut

Counts = NDArray[np.int64]


class GroupDraws(RowCounts):
    """Draws of rows for a single layout, whose rows all have the same weight, or weight 0.

    How many draws fall in each group is multinomial. Where rows have terms of sums, groups are cut
    into blocks, and rows are drawn within each. Rows of weight 0 are never drawn.
    """

    def __init__(self, layout: Layout, units: IndependentRows, seed: int, weight: float) -> None:
        self.layout, self.reads, self._rows = layout, layout.reads, units.rows
        self.weight = weight
        self._seed, self._stream = seed, layout.sums[0].stream
        sums = layout.sums[0]
        self.strata = sums.class_of_group if units.by_class else np.zeros(sums.n_groups, np.int64)
        self.are_of_counts = not layout.n_sums

    def totals(self, replicates: range) -> Step[Any]:
        """Return the step that sums rows in replicates: (R, G, 1 + sums)."""
        return _DrawnTotals(self, replicates)

    def group_sizes(self, data: list[Any]) -> Counts:
        """Return the number of rows of each group, (G,)."""
        sums = self.layout.sums[0]
        weight = sums.known_weight
        if weight is None:
            of_groups = [data[place] for place in self.layout.places[0]]
            weight, _ = count(AddUp(sums).over(*of_groups))
        return self._numbers_of_rows(weight)

    def of_counts(self, sizes: Counts, replicates: range) -> Floats:
        """Return (R, G, 1) counts of groups of so many rows."""
        n_replicates, filled = len(replicates), np.flatnonzero(sizes)
        bounds = np.concatenate([[0], np.cumsum(sizes[filled])]).astype(np.int64, copy=False)
        blocks = kernels.resampling.cut_into_blocks(bounds, self.strata[filled], _WHOLE)
        n_draws = np.tile(self._rows.in_strata, (n_replicates, 1))
        drawn = np.zeros((n_replicates, filled.size, 1))
        seed = seed_of(self._seed, (*self._stream, "part", 0))
        kernels.resampling.sum_draws(
            seed, replicates.start, n_draws, blocks, bounds, np.empty((0, 0)), 0, drawn
        )
        drawn *= self.weight
        if filled.size == sizes.size:
            return drawn
        out = np.zeros((n_replicates, sizes.size, 1))
        out[:, filled] = drawn
        return out

    def of_rows(self, part: Part, replicate: int) -> Floats:
        # rows are in groups, which may depend on further row-aligned data
        beside = self.layout.sums[0].beside
        parts = [part, *(Part.whole(data) for data in beside)]
        layout = Layout(self.layout.sums[:1], (tuple(range(len(parts))),))

        def compute() -> tuple[Any, Blocks]:
            bounds, order = self._sorted(layout, parts)
            return order, kernels.resampling.cut_into_blocks(bounds, self.strata)

        order, blocks = self.layout.cache.of(part, "drawn rows", compute)
        seed, n_draws = self.within(part, range(replicate, replicate + 1))
        n = len(part.predictions)
        counts = kernels.resampling.draw_counts(seed, replicate, n_draws, blocks, order, n)
        return np.asarray(counts[:n, 0].astype(np.float64))

    def within(self, part: Part, replicates: range) -> tuple[int, Counts]:
        """Return the seed of a part, and how many draws fall in it, (R, S)."""
        seed = seed_of(self._seed, (*self._stream, "part", part.number))
        n_draws = np.tile(self._rows.in_strata, (len(replicates), 1))
        of_parts = seed_of(self._seed, (*self._stream, "parts"))
        return seed, self._rows.draws_in(part.number, of_parts, replicates.start, n_draws)

    def sorted_rows(self, parts: tuple[Part, ...]) -> tuple[Counts, Blocks, Floats]:
        """Return (G + 1,) bounds of groups, blocks, and columns sorted by group; once in memory."""
        return self.layout.cache.of(  # type: ignore[no-any-return]
            self.layout.part(parts), "sorted rows", lambda: self._sort(parts)
        )

    def _sort(self, parts: tuple[Part, ...]) -> tuple[Counts, Blocks, Floats]:
        bounds, order = self._sorted(self.layout, parts)
        columns = self.layout.columns(parts)
        ordered = np.empty((len(columns), order.size))
        over_blocks(_take, count_blocks(order.size), columns, order, ordered)
        return bounds, kernels.resampling.cut_into_blocks(bounds, self.strata), ordered

    def _sorted(self, layout: Layout, parts: Any) -> tuple[Counts, NDArray[Any]]:
        """Return the (G + 1,) bounds of groups, and the rows sorted by group."""
        groups = layout.groups(parts)
        part = layout.part(parts)
        present = present_rows(part.predictions) if part.predictions.has_weights else None
        if present is not None:
            groups = groups[present]
        weight = layout.sums[0].known_weight if part.is_in_memory else None
        if weight is None:
            counts = np.bincount(groups, minlength=layout.n_groups)
        else:
            counts = self._numbers_of_rows(weight)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        order = kernels.sorting.order_by_group(groups, bounds)
        return bounds, order if present is None else present[order]

    def _numbers_of_rows(self, weight: Floats) -> Counts:
        """Return the number of rows of each group, (G,), given the weights of groups."""
        return np.asarray(np.rint(weight / self.weight), np.int64)


@dataclass(frozen=True, eq=False)
class _DrawnTotals(Step[Any]):
    """Sums of rows that are drawn within groups, in several replicates, (R, G, 1 + sums)."""

    draws: GroupDraws
    replicates: range

    @property
    def reads(self) -> frozenset[str]:
        return self.draws.reads

    def start(self) -> Floats:
        layout = self.draws.layout
        return np.zeros((len(self.replicates), layout.n_groups, 1 + layout.n_sums))

    def add(self, accumulator: Floats, prepared: None, *parts: Part) -> Floats:
        draws = self.draws
        bounds, blocks, columns = draws.sorted_rows(parts)
        seed, n_draws = draws.within(draws.layout.part(parts), self.replicates)
        return kernels.resampling.sum_draws(
            seed, self.replicates.start, n_draws, blocks, bounds, columns, draws.layout.degree,
            accumulator,
        )  # fmt: skip

    def finish(self, accumulator: Floats) -> Floats:
        if self.draws.weight != 1.0:
            accumulator *= self.draws.weight
        return accumulator


def _take(first: int, last: int, columns: list[Floats], order: NDArray[Any], out: Floats) -> None:
    """Write some blocks of the columns in an order."""
    rows = slice(first * BLOCK, last * BLOCK)
    for column, ordered in zip(columns, out, strict=True):
        np.take(column, order[rows], out=ordered[rows], mode="clip")  # others copy the output
