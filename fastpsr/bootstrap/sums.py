"""Replicates of sums: drawn directly if rows are drawn, else computed from weights of units."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.draws import Draws, NestedDraws, PartDraws, Times
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.subsets import Subset
from fastpsr.bootstrap.units import Kept
from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.sizes import LANES
from fastpsr.plans import LABELS, Plan, Step
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats
from fastpsr.summaries.summands import AddUp, Summands

__all__ = [
    "CountDraws",
    "DrawnSums",
    "Layout",
    "NestedSums",
    "RowDraws",
    "UnitSums",
    "known_counts",
    "sums_of",
]


_WHOLE = 1 << 62  # rows: groups are not cut


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of positive weight sorted by group, with their terms of the sums."""

    bounds: NDArray[np.int64]
    order: NDArray[Any]
    weights: Floats
    columns: Floats  # (C, rows)


@dataclass(frozen=True, eq=False)
class Layout:
    """Summands that share groups, over several row-aligned data: plain data.

    Attributes
    ----------
    summands : tuple of Summands
    places : tuple of tuples of int
        For each of the summands, the index of its data, and of further row-aligned data.
    subset : Subset or None
        The rows of the data, where these are a group of those that are drawn.
    """

    summands: tuple[Summands, ...]
    places: tuple[tuple[int, ...], ...]
    kept: Kept
    subset: Subset | None = None

    @property
    def n_groups(self) -> int:
        return self.summands[0].n_groups

    @property
    def degree(self) -> int:
        return self.summands[0].degree

    @property
    def that_add(self) -> tuple[Summands, ...]:
        """The summands with different columns: with polynomials all of a kind have the same."""
        return self.summands[:1] if self.degree else self.summands

    @property
    def n_sums(self) -> int:
        return sum(s.n_sums for s in self.that_add)

    @property
    def reads(self) -> frozenset[str]:
        return LABELS.union(*(s.reads for s in self.summands))

    def own(self, parts: Sequence[Part]) -> Part:
        """Return the part whose rows are summed."""
        return parts[self.places[0][0]]

    def is_absent(self, parts: Sequence[Part]) -> bool:
        """Whether a part has no row of positive weight of a group, but the whole may."""
        return self.subset is not None and not self.own(parts).has_weight

    def in_whole(self, parts: Sequence[Part], rows: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers that rows have in the part that is drawn."""
        return rows if self.subset is None else self.subset.places(self.own(parts))[rows]

    def spread(self, parts: Sequence[Part], values: NDArray[Any]) -> NDArray[Any]:
        """Return values of rows with 0 at all other rows of the part that is drawn."""
        return values if self.subset is None else self.subset.spread(self.own(parts), values)

    def groups(self, parts: Sequence[Part]) -> NDArray[Any]:
        """Return the group of each row, (n,)."""
        return self.summands[0].groups(*(parts[place] for place in self.places[0]))

    def columns(self, parts: Sequence[Part]) -> list[Floats]:
        """Return all that is summed, (n,) each."""
        return [
            column
            for s, places in zip(self.that_add, self.places, strict=False)
            for column in s.columns(*(parts[place] for place in places))
        ]

    def counts(self, parts: Sequence[Part]) -> NDArray[np.int64]:
        """Return the number of rows of positive weight in each group, (G,)."""
        groups, weights = self.groups(parts), self.own(parts).predictions.weights
        present = groups[weights > 0.0] if weights.size and not weights.all() else groups
        return np.bincount(present, minlength=self.n_groups)

    def rows(self, parts: Sequence[Part]) -> Rows:
        """Return the rows of a part, sorted; in memory they are sorted once."""
        found: Rows = self.kept.of(self.own(parts), ("rows", id(self)), lambda: self._sort(parts))
        return found

    def _sort(self, parts: Sequence[Part]) -> Rows:
        part = self.own(parts)
        weights = part.predictions.weights
        groups = self.groups(parts)
        present = None
        if weights.size and not weights.all():
            present = np.flatnonzero(weights > 0.0)
            groups = groups[present]
        counts: NDArray[Any] | None = None
        if part.is_whole and not weights.size:
            counts = self.summands[0].known_weight
        if counts is None:
            counts = np.bincount(groups, minlength=self.n_groups)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        order = kernels.order_by_group(groups, bounds)
        order = order if present is None else present[order]
        columns = self.columns(parts)
        held = np.empty((len(columns), order.size))
        for place, column in enumerate(columns):
            np.take(column, order, out=held[place])
        return Rows(bounds, order, weights[order] if weights.size else weights, held)


# Rows drawn one by one


class RowDraws(Times):
    """Draws of rows for a single layout."""

    def __init__(self, layout: Layout, sizes: NDArray[np.int64], by_class: bool, seed: int) -> None:
        self._layout, self._seed = layout, seed
        self._stream = layout.summands[0].stream
        self._in_parts = PartDraws(seed, self._stream, sizes)
        self._strata = np.zeros(layout.n_groups, np.int64)
        if by_class:
            self._strata = layout.summands[0].class_of_group
        self.reads = layout.reads

    def blocks(self, part: Part, bounds: NDArray[np.int64]) -> Any:
        """Return the blocks of sorted rows."""
        return kernels.cut_into_blocks(bounds, self._strata)

    def within(self, part: int, first: int, n_replicates: int) -> tuple[int, NDArray[np.int64]]:
        """Return the seed of a part, and how many draws fall in it, (R, S)."""
        seed = seed_of(self._seed, (*self._stream, "part", part))
        return seed, self._in_parts.of(part, first, n_replicates)

    def of_whole(self, counts: NDArray[np.int64]) -> "CountDraws":
        """Return the draws if only the total counts of groups matter."""
        n_strata = int(self._strata[-1]) + 1 if self._strata.size else 1
        sizes = np.bincount(self._strata, counts, n_strata).astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        seed = seed_of(self._seed, (*self._stream, "part", 0))
        blocks = kernels.cut_into_blocks(bounds, self._strata, _WHOLE)
        return CountDraws(seed, sizes, blocks, bounds)

    def times(self, part: Part, replicate: int) -> Floats:
        layout, n = self._layout, len(part.predictions)
        # rows are in groups, which may depend on further row-aligned data
        parts = [part, *(Part.whole(data) for data in layout.summands[0].beside)]
        places = tuple(range(len(parts)))
        alone = Layout(layout.summands[:1], (places,), layout.kept)
        key = ("drawn rows", id(layout))

        def make() -> tuple[Any, Any]:
            counts = alone.counts(parts)
            bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
            groups = alone.groups(parts)
            weights = part.predictions.weights
            present = np.flatnonzero(weights > 0.0) if weights.size else np.arange(n)
            order = present[kernels.order_by_group(groups[present], bounds)]
            return order, self.blocks(part, bounds)

        order, blocks = layout.kept.of(part, key, make)
        seed, n_draws = self.within(part.number, replicate, 1)
        drawn = kernels.draw_units(seed, replicate, n_draws, blocks, order, n)
        return np.asarray(drawn[0, :n, 0].astype(np.float64))


@dataclass(frozen=True, eq=False)
class DrawnSums(Step):
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
        return ("drawn sums", id(self.draws), self.first)

    def start(self) -> Floats:
        layout = self.layout
        return np.zeros((self.n_replicates, layout.n_groups, 1 + layout.n_sums))

    def add(self, accumulator: Floats, prepared: None, *parts: Part) -> Floats:
        layout, part = self.layout, self.layout.own(parts)
        rows = layout.rows(parts)
        blocks = layout.kept.of(part, ("blocks", id(self.draws)),
                                lambda: self.draws.blocks(part, rows.bounds))  # fmt: skip
        seed, n_draws = self.draws.within(part.number, self.first, self.n_replicates)
        return kernels.sum_draws(seed, self.first, n_draws, blocks, rows.bounds, rows.weights,
                                 rows.columns, layout.degree, accumulator)  # fmt: skip

    def merge(self, one: Floats, other: Floats) -> Floats:
        one += other
        return one


def known_counts(layout: Layout, data: tuple[Any, ...]) -> Plan[NDArray[np.int64] | None]:
    """Plan: return the counts of groups if these are sufficient, else None."""
    if layout.n_sums or data[0].has_weights or layout.summands[0].needs_rows:
        return None
    weight = layout.summands[0].known_weight
    if weight is None:
        step = AddUp(layout.summands[0])
        ((weight, _),) = yield [step.over(*(data[place] for place in layout.places[0]))]
    return weight.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CountDraws:
    """Draws of the counts of groups, as multinomials without rows."""

    seed: int
    sizes: NDArray[np.int64]  # of the strata
    blocks: Any
    bounds: NDArray[np.int64]

    def sums(self, first: int, n_replicates: int) -> Floats:
        """Return (R, G, 1) replicates of the counts."""
        n_draws = np.repeat(self.sizes[None], n_replicates, axis=0)
        nothing, no_columns = np.empty(0), np.empty((0, 0))
        out = np.zeros((n_replicates, self.bounds.size - 1, 1))
        return kernels.sum_draws(self.seed, first, n_draws, self.blocks, self.bounds, nothing,
                                 no_columns, 0, out)  # fmt: skip


# Draws that layouts share


@dataclass(frozen=True, eq=False)
class _SharedSums(Step):
    """Sums of several layouts in several replicates, with common draws."""

    layouts: tuple[Layout, ...]
    draws: Draws | NestedDraws
    first: int
    n_replicates: int

    @property
    def reads(self) -> frozenset[str]:
        return self.draws.reads.union(*(layout.reads for layout in self.layouts))

    def start(self) -> list[Floats]:
        n_sets = -(-self.n_replicates // LANES)
        return [np.zeros((n_sets, one.n_groups, 1 + one.n_sums, LANES)) for one in self.layouts]

    def merge(self, one: list[Floats], other: list[Floats]) -> list[Floats]:
        for mine, theirs in zip(one, other, strict=True):
            mine += theirs
        return one

    def finish(self, accumulator: list[Floats]) -> list[Floats]:
        """Return (R, G, 1 + sums) of each layout."""
        found = []
        for sums in accumulator:
            by_replicate = np.ascontiguousarray(np.moveaxis(sums, -1, 1))
            found.append(by_replicate.reshape(-1, *sums.shape[1:3])[: self.n_replicates])
        return found


# Rows weighted by the draw counts of their units


@dataclass(frozen=True, eq=False)
class UnitSums(_SharedSums):
    """Sums with common draws of units."""

    draws: Draws

    @property
    def key(self) -> Hashable:
        return ("sums over units", id(self.draws), self.first)

    def add(self, accumulator: list[Floats], prepared: None, *parts: Part) -> list[Floats]:
        draws, n = self.draws, self.n_replicates
        # if units are rows, their counts in all replicates would take too much memory
        at_once = n if draws.units.are_shared else LANES * thread_count()
        for begin in range(0, n, at_once):
            size = min(at_once, n - begin)
            counts = draws.counts(parts[0], self.first + begin, size)
            sets = slice(begin // LANES, begin // LANES + counts.shape[0])
            for layout, sums in zip(self.layouts, accumulator, strict=True):
                if layout.is_absent(parts):
                    continue
                rows = layout.rows(parts)
                first, second = self._numbers(layout, rows, parts)
                kernels.sum_units(counts, first, second, rows.bounds, rows.weights, rows.columns,
                                  layout.degree, sums[sets])  # fmt: skip
        return accumulator

    def _numbers(self, layout: Layout, rows: Rows, parts: tuple[Part, ...]) -> Any:
        """Return the units of each sorted row."""
        draws = self.draws

        def make() -> list[NDArray[Any]]:
            order = layout.in_whole(parts, rows.order)
            return [numbers[order] for numbers in draws.units.numbers(parts[0])]

        return layout.kept.of(layout.own(parts), ("units", id(layout), id(draws)), make)


# Rows drawn within drawn clusters


@dataclass(frozen=True, eq=False)
class NestedSums(_SharedSums):
    """Sums with common draws of clusters and of rows within them."""

    draws: NestedDraws

    @property
    def key(self) -> Hashable:
        return ("sums in clusters", id(self.draws), self.first)

    def add(self, accumulator: list[Floats], prepared: None, *parts: Part) -> list[Floats]:
        at_once = LANES * thread_count()  # draw counts of all replicates would take much memory
        _, blocks = self.draws.units.order(parts[0])
        for begin in range(0, self.n_replicates, at_once):
            size = min(at_once, self.n_replicates - begin)
            seed, n_rows, times = self.draws.within(parts[0], self.first + begin, size)
            sets = slice(begin // LANES, -(-(begin + size) // LANES))
            for layout, sums in zip(self.layouts, accumulator, strict=True):
                if layout.is_absent(parts):
                    continue
                groups, weights, columns = self._rows(layout, parts)
                kernels.sum_nested(seed, self.first + begin, n_rows, times, blocks, groups, weights,
                                   columns, layout.degree, sums[sets])  # fmt: skip
        return accumulator

    def _rows(self, layout: Layout, parts: tuple[Part, ...]) -> Any:
        """Return group, weight and columns of the rows sorted by cluster; sorted once in memory."""

        def make() -> tuple[NDArray[Any], Floats, Floats]:
            order, _ = self.draws.units.order(parts[0])
            weights, groups = layout.own(parts).predictions.weights, layout.groups(parts)
            if layout.subset is not None and not weights.size:
                weights = np.ones(groups.size)  # rows of other groups have 0
            columns = [layout.spread(parts, column)[order] for column in layout.columns(parts)]
            held = np.array(columns).reshape(-1, order.size)
            own = layout.spread(parts, weights)[order] if weights.size else weights
            return layout.spread(parts, groups)[order], own, held

        return layout.kept.of(layout.own(parts), ("nested", id(layout), id(self.draws)), make)


def sums_of(
    layouts: tuple[Layout, ...], draws: Draws | NestedDraws, first: int, n_replicates: int
) -> UnitSums | NestedSums:
    """Return the step that sums what was drawn."""
    if isinstance(draws, NestedDraws):
        return NestedSums(layouts, draws, first, n_replicates)
    return UnitSums(layouts, draws, first, n_replicates)
