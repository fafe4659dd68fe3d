"""Draw counts of units in each replicate, and sums of rows that are weighted by them."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.layout import Layout, Rows
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.subsets import Subset
from fastpsr.kernels.blocks import thread_count
from fastpsr.kernels.sizes import LANES, index_type
from fastpsr.plans import Step, Transform
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions

if TYPE_CHECKING:
    from fastpsr.bootstrap.units import CountedUnits

__all__ = [
    "DrawCounts",
    "Draws",
    "PartDraws",
    "Reweighted",
    "SharedTotals",
    "UnitCounts",
    "UnitDraws",
    "UnitTotals",
]

_TABLE = 256  # replicates
_MOST_TABLES = 8
_MOST_DIVIDED = 64  # sets of replicates
_COUNTS_AT_ONCE = 1 << 18  # that stay in the second-level cache
_PIECE = 4  # blocks of units, whose counts in 8 replicates stay in that cache, too
_SETS_AT_ONCE = 8  # of 8 replicates, for each thread
_BYTES_AT_ONCE = 1 << 24  # of sums, for which memory is used again without new pages

Counts = NDArray[np.int64]


class DrawCounts(ABC):
    """Draw counts of rows, by replicate: plain data."""

    #: What is read of a part.
    reads: frozenset[str]

    @abstractmethod
    def of_rows(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""


class Draws(DrawCounts):
    """Draws of units, shared by all metrics."""

    #: Number of units that all parts share, whose counts in all replicates are held.
    n_shared: int

    @abstractmethod
    def totals(self, layouts: tuple[Layout, ...], first: int, n_replicates: int) -> "SharedTotals":
        """Return the step that sums layouts in replicates from `first` on."""

    def at_once(self, n_numbers: int) -> int:
        """Return how many replicates of so many sums are best computed together in memory."""
        most = max(_BYTES_AT_ONCE // (8 * LANES * max(n_numbers, 1)), thread_count())
        return LANES * min(most, _SETS_AT_ONCE * thread_count())


@dataclass(frozen=True, eq=False)
class SharedTotals(Step):
    """Sums of several layouts in several replicates, with common draws."""

    layouts: tuple[Layout, ...]
    draws: Any
    first: int
    n_replicates: int

    @property
    def key(self) -> Hashable:
        return (type(self), self.draws, self.first)

    @property
    def reads(self) -> frozenset[str]:
        reads: frozenset[str] = self.draws.reads
        return reads.union(*(layout.reads for layout in self.layouts))

    def start(self) -> list[Floats]:
        n_sets = -(-self.n_replicates // LANES)
        return [np.zeros((n_sets, one.n_groups, 1 + one.n_sums, LANES)) for one in self.layouts]

    def merge(self, one: list[Floats], other: list[Floats]) -> list[Floats]:
        for sums, more in zip(one, other, strict=True):
            sums += more
        return one

    def finish(self, accumulator: list[Floats]) -> list[Floats]:
        """Return (R, G, 1 + sums) of each layout."""
        return [
            np.ascontiguousarray(np.moveaxis(sums, -1, 1))
            .reshape(-1, *sums.shape[1:3])[: self.n_replicates]
            for sums in accumulator
        ]  # fmt: skip


class UnitCounts(Draws):
    """Draw counts per unit and replicate."""

    def __init__(self, units: "CountedUnits") -> None:
        self.units = units
        self.reads, self.n_shared = units.reads, units.n_shared
        self._batch: tuple[Any, NDArray[np.float32]] | None = None
        self._sets: tuple[Any, NDArray[np.float32]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batch": None, "_sets": None}

    def pieces(self, part: Part) -> Counts:
        """Return the (P + 1,) bounds of pieces of the units of a part, which lie in `order`."""
        if self.n_shared:
            return np.array([0, self.n_shared])
        start: Counts = self.blocks(part)[0]
        return start[np.minimum(np.arange(0, start.size + _PIECE - 1, _PIECE), start.size - 1)]

    def of_piece(
        self, part: Part, begin: int, end: int, first: int, n_replicates: int
    ) -> NDArray[np.float32]:
        """Return (L, end - begin + 1, 8) counts of a piece, as `counts` does."""
        if self.n_shared:
            return self.counts(part, first, n_replicates)
        return self._draw_piece(part, begin, end, first, n_replicates)

    def blocks(self, part: Part) -> Any:
        """Return the blocks of the units of a part, which lie in `order`."""
        # a stratum is cut into blocks as a group is, so that no block has units of two strata
        _, strata = self.units.order(part)
        return kernels.cut_into_blocks(strata, np.arange(strata.size - 1))

    def totals(self, layouts: tuple[Layout, ...], first: int, n_replicates: int) -> SharedTotals:
        return UnitTotals(layouts, self, first, n_replicates)

    def counts(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        """Return (L, U + 1, 8) counts of the units of a part, in sets of 8 replicates.

        `first` is a multiple of 8; replicates beyond the number asked for hold anything.
        """
        key, batch = (self._place(part), first, n_replicates), self._batch
        if batch is None or batch[0] != key:
            batch = self._batch = None  # free it before the next is made
            batch = self._batch = (key, self._draw(part, first, n_replicates))
        return batch[1]

    def of_rows(self, part: Part, replicate: int) -> Floats:
        counts, place = None, self._place(part)
        for drawn in (self._batch, self._sets):
            if drawn is not None and drawn[0][0] == place:
                _, first, n = drawn[0]
                if first <= replicate < first + n:
                    counts = drawn[1][(replicate - first) // LANES]
                    break
        if counts is None:
            # the next replicate is likely to be requested next
            room = _COUNTS_AT_ONCE // (LANES * max(self.units.size_in(part), 1))
            n = LANES * min(max(room, 1), 16)
            first = replicate // n * n
            drawn = self._sets = None
            drawn = self._sets = ((place, first, n), self._draw(part, first, n))
            counts = drawn[1][(replicate - first) // LANES]
        one, other = self.units.numbers(part)
        of_units = counts[:, replicate % LANES].astype(np.float64)
        return np.asarray(of_units[one] * of_units[other])

    def of_sorted_rows(self, layout: Layout, rows: Rows, parts: tuple[Part, ...]) -> Any:
        """Return the first and second unit of each sorted row of a layout."""

        def compute() -> list[NDArray[Any]]:
            order = layout.in_whole(parts, rows.order)
            return [numbers[order] for numbers in self.units.numbers(parts[0])]

        return layout.cache.of(layout.part(parts), "units", compute)

    def _place(self, part: Part) -> int:
        """Return the stream number of the units of a part."""
        return -1 if self.n_shared else part.number

    @abstractmethod
    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        """Return the counts as `counts` does."""

    @abstractmethod
    def _draw_piece(
        self, part: Part, begin: int, end: int, first: int, n_replicates: int
    ) -> NDArray[np.float32]:
        """Return the counts of a piece of units that parts do not share."""


class UnitDraws(UnitCounts):
    """Units drawn with replacement, from each stratum as many as it has."""

    def __init__(self, units: "CountedUnits", seed: int) -> None:
        super().__init__(units)
        self._stream = ("units",) if units.n_shared else ("rows",)
        self._seed = seed
        self._in_parts = PartDraws(seed, self._stream, units.sizes)
        self._divided: dict[tuple[int, int, int], tuple[int, Counts]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_divided": {}}

    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        order, _ = self.units.order(part)
        start, _, _ = blocks = self.blocks(part)
        seed, in_blocks = self._divide(part, blocks, first, n_replicates)
        n_units = self.units.size_in(part)
        return kernels.draw_in_blocks(seed, first, in_blocks, start, order, n_units, 0)

    def _draw_piece(
        self, part: Part, begin: int, end: int, first: int, n_replicates: int
    ) -> NDArray[np.float32]:
        start, _, _ = blocks = self.blocks(part)
        low, high = np.searchsorted(start, [begin, end])
        key = (part.number, first, n_replicates)
        divided = self._divided.get(key)  # other threads may clear them
        if divided is None:
            if len(self._divided) >= _MOST_DIVIDED:
                self._divided.clear()
            divided = self._divided[key] = self._divide(part, blocks, first, n_replicates)
        seed, in_blocks = divided
        in_piece = np.ascontiguousarray(in_blocks[:, low:high])
        order = np.arange(end - begin, dtype=index_type(end - begin))
        return kernels.draw_in_blocks(
            seed, first, in_piece, start[low : high + 1] - begin, order, end - begin, int(low)
        )

    def _divide(self, part: Part, blocks: Any, first: int, n_replicates: int) -> tuple[int, Counts]:
        """Return the seed of a part, and how many draws fall in each of its blocks, (R, B)."""
        number = 0 if self.n_shared else part.number
        seed = seed_of(self._seed, (*self._stream, "part", number))
        n_draws = self._in_parts.of(number, first, n_replicates)
        return seed, kernels.divide_over_blocks(seed, first, n_draws, blocks)


@dataclass(frozen=True, eq=False)
class _PieceRows:
    """Rows of a piece of units, sorted by group: their units, runs of groups, and terms."""

    units: tuple[NDArray[Any], NDArray[Any]]
    bounds: Counts
    groups: Counts
    weights: Floats
    columns: Floats

    @classmethod
    def of(
        cls, units: tuple[NDArray[Any], NDArray[Any]], group: Counts, rows: Rows, chosen: Any
    ) -> "_PieceRows":
        """Return some of the rows, which lie sorted by group."""
        group = group[chosen]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        bounds = np.append(starts, group.size)
        weights = rows.weights[chosen] if rows.weights.size else rows.weights
        columns = np.ascontiguousarray(rows.columns[:, chosen])
        return cls(units, bounds, group[starts], weights, columns)


@dataclass(frozen=True, eq=False)
class UnitTotals(SharedTotals):
    """Sums of rows weighted by the draw counts of their units."""

    draws: UnitCounts

    def add(self, accumulator: list[Floats], prepared: None, *parts: Part) -> list[Floats]:
        draws, n, part = self.draws, self.n_replicates, parts[0]
        # if units are rows, their counts in all replicates would take too much memory
        at_once = n if draws.n_shared else LANES * _SETS_AT_ONCE * thread_count()
        present = [
            (self._pieces(layout, parts), layout.degree, sums)
            for layout, sums in zip(self.layouts, accumulator, strict=True)
            if not layout.is_absent(parts)
        ]
        for k, (begin, end) in enumerate(pairwise(draws.pieces(part).tolist())):
            for first in range(0, n, at_once):
                size = min(at_once, n - first)
                counts = draws.of_piece(part, begin, end, self.first + first, size)
                sets = slice(first // LANES, first // LANES + counts.shape[0])
                for pieces, degree, sums in present:
                    rows = pieces[k]
                    kernels.sum_units(counts, *rows.units, rows.bounds, rows.groups, rows.weights,
                                      rows.columns, degree, sums[sets])  # fmt: skip
        return accumulator

    def _pieces(self, layout: Layout, parts: tuple[Part, ...]) -> list[_PieceRows]:
        """Return the rows of a layout by the piece of their units; sorted once in memory."""
        return layout.cache.of(layout.part(parts), "pieces", lambda: self._sort(layout, parts))  # type: ignore[no-any-return]

    def _sort(self, layout: Layout, parts: tuple[Part, ...]) -> list[_PieceRows]:
        draws, part = self.draws, parts[0]
        rows, bounds = layout.sort(parts), draws.pieces(part)
        in_whole = layout.in_whole(parts, rows.order)
        one, other = (numbers[in_whole] for numbers in draws.units.numbers(part))
        group = np.repeat(np.arange(layout.n_groups), np.diff(rows.bounds))
        if draws.n_shared:
            return [_PieceRows.of((one, other), group, rows, slice(None))]
        order, _ = draws.units.order(part)
        place = np.zeros(draws.units.size_in(part), order.dtype)
        place[order] = np.arange(order.size, dtype=order.dtype)
        one = place[one]
        piece = np.searchsorted(bounds, one, side="right") - 1
        ends = np.concatenate([[0], np.cumsum(np.bincount(piece, minlength=bounds.size - 1))])
        by_piece, found = kernels.order_by_group(piece, ends), []
        for (begin, end), (low, high) in zip(pairwise(bounds), pairwise(ends), strict=True):
            chosen = by_piece[low:high]
            units = one[chosen] - one.dtype.type(begin)
            found.append(
                _PieceRows.of((units, np.full_like(units, end - begin)), group, rows, chosen)
            )
        return found


class PartDraws:
    """Numbers of draws of each replicate in each part, by stratum, given the table of facts."""

    def __init__(self, seed: int, stream: tuple[str | int, ...], sizes: Counts) -> None:
        self._sizes = sizes
        self._key = seed_of(seed, (*stream, "parts"))
        self._tables: dict[int, Counts] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_tables": {}}

    def of(self, part: int, first: int, n_replicates: int) -> Counts:
        """Return the numbers of draws in a part for replicates from `first` on, (R, S)."""
        if self._sizes.shape[0] == 1:
            return np.repeat(self._sizes, n_replicates, axis=0)
        last = first + n_replicates
        numbers = range(first // _TABLE, (last - 1) // _TABLE + 1)
        n_draws = np.concatenate([self._table(number)[:, part] for number in numbers])
        begin = first - numbers[0] * _TABLE
        return np.ascontiguousarray(n_draws[begin : begin + n_replicates])

    def _table(self, number: int) -> Counts:
        """Return the numbers of draws of 256 replicates in all parts, (256, P, S)."""
        table = self._tables.get(number)
        if table is None:
            if len(self._tables) >= _MOST_TABLES:
                self._tables.pop(next(iter(list(self._tables))), None)
            table = kernels.divide_over_parts(self._key, number * _TABLE, _TABLE, self._sizes)
            self._tables[number] = table
        return table


class Reweighted(Transform):
    """Rows weighted by their draw counts in a replicate, times their own weight.

    Rows of a subset are drawn with those of the whole.
    """

    keeps_rows = False

    def __init__(self, draws: DrawCounts, replicate: int, subset: Subset | None = None) -> None:
        self._draws, self._replicate, self._subset = draws, replicate, subset
        self._counts: Floats | None = None  # of rows in memory, which are the same for all data
        self.reads = draws.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not len(predictions) or not part.has_weight:
            return predictions
        counts = self._counts if part.is_in_memory else None
        if counts is None:
            counts = self.counts_of(part)
            self._counts = counts if part.is_in_memory else None
        weights = predictions.weights
        return predictions.reweighted(counts * weights if weights.size else counts, counts)

    def counts_of(self, part: Part) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        subset = self._subset
        whole = part if subset is None else subset.whole_of(part)
        counts = self._draws.of_rows(whole, self._replicate)
        return counts if subset is None else counts[subset.places(part)]
