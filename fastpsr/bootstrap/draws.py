"""Draws of rows: tables of counts under the weights of replicates, and these weights.

There are two engines. `GroupDraws` are multinomials over the groups of one table, or over blocks of
its rows. `UnitDraws` give each row the product of the draw counts of its units; of these,
`SubsetDraws` keep some of the units.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.schemes import Counts, Ints, RowUnits, Units, present_rows, seed_of
from fastpsr.caching import cached_property
from fastpsr.counts import count
from fastpsr.counts.sums import AddUp, Sums
from fastpsr.data import LABELS, Data, Floats, Predictions, Selection
from fastpsr.data.steps import Part, Step
from fastpsr.kernels.blocks import BLOCK, count_blocks, on_threads, over_blocks, thread_count
from fastpsr.kernels.blocks import together as in_threads
from fastpsr.kernels.types import DEGREE, Blocks

_MOST_AT_ONCE = 64  # replicates, whose counts of a unit lie side by side
_FEWEST_AT_ONCE = 4
_BYTES_OF_COUNTS = 1 << 27  # for each thread
_BYTES_OF_SUMS = 1 << 26
_BYTES_OF_SHARES = 1 << 27
_UNCUT = 1 << 62  # rows: groups are not cut into blocks


@dataclass(frozen=True, eq=False)
class Subset:
    """Rows of a group; the scheme draws from all samples.

    Attributes
    ----------
    whole : Predictions or PartitionedPredictions
    rows : ndarray of int64, or Selection
        Row numbers in memory; in parts what the group was made with.
    """

    whole: Data
    rows: NDArray[np.int64] | Selection

    def __reduce__(self) -> tuple[type["Subset"], tuple[Any, ...]]:
        # only parts are sent to other processes, and these know what they were made from
        return Subset, (None, self.rows)

    def whole_of(self, part: Part) -> Part:
        """Return the part of the whole that has the rows of a part of the group."""
        if isinstance(self.rows, Selection):
            assert part.before is not None
            return part.before
        assert isinstance(self.whole, Predictions)
        return Part.whole(self.whole)

    def places(self, part: Part) -> NDArray[np.int64]:
        """Return the row number in the whole's part of each row of a part of the group, (n,)."""
        rows = self.rows
        if not isinstance(rows, Selection):
            return rows
        places: NDArray[np.int64] = part.remember(
            ("rows in the whole", self),
            lambda: np.flatnonzero(rows.rows(self.whole_of(part))),
        )
        return places


@dataclass(frozen=True, eq=False)
class CountTable:
    """Table of sums for several metrics: a weight and sums of each group. Plain data.

    Attributes
    ----------
    sums : tuple of Sums
        With the same groups, over row-aligned data.
    places : tuple of tuples of int
        For each of the sums, the index of its data, and of further row-aligned data.
    subset : Subset or None
        The rows of the data, where these are a group of those that are drawn.
    """

    sums: tuple[Sums, ...]
    places: tuple[tuple[int, ...], ...]
    subset: Subset | None = None

    @property
    def n_groups(self) -> int:
        return int(self.sums[0].n_groups)

    @property
    def degree(self) -> int:
        degree = self.sums[0].degree
        assert degree in (0, DEGREE)  # kernels have written out that one
        return degree

    @property
    def distinct_sums(self) -> tuple[Sums, ...]:
        """The sums with different columns: with polynomials all of a kind have the same."""
        return self.sums[:1] if self.degree else self.sums

    @property
    def n_sums(self) -> int:
        return sum(s.n_sums for s in self.distinct_sums)

    @property
    def n_numbers(self) -> int:
        """Number of weights and sums of all groups."""
        return self.n_groups * (1 + self.n_sums)

    @property
    def reads(self) -> frozenset[str]:
        return LABELS.union(*(s.reads for s in self.sums))

    def part(self, parts: Sequence[Part]) -> Part:
        """Return the part whose rows are summed."""
        return parts[self.places[0][0]]

    def groups(self, parts: Sequence[Part]) -> NDArray[Any]:
        """Return the group of each row, (n,)."""
        return self.sums[0].groups(*(parts[place] for place in self.places[0]))

    def columns(self, parts: Sequence[Part]) -> list[Floats]:
        """Return all that is summed, (n,) each."""
        return [
            column
            for s, places in zip(self.distinct_sums, self.places, strict=False)
            for column in s.columns(*(parts[place] for place in places))
        ]

    def rows(self, parts: Sequence[Part]) -> tuple[Ints, Ints, Floats, Floats]:
        """Return rows of positive weight: row numbers in the part drawn, groups, weights, columns.

        Weights are (n,) or empty, columns (C, n).
        """
        part = self.part(parts)
        weights, present = part.predictions.weights, present_rows(part.predictions)
        groups = self.groups(parts).astype(np.int32, copy=False)
        columns = [np.ascontiguousarray(column, np.float64) for column in self.columns(parts)]
        if present.size < groups.size:
            groups, weights = groups[present], weights[present]
            columns = [column[present] for column in columns]
        joined = columns[0][None] if len(columns) == 1 else np.array(columns)
        numbers = present if self.subset is None else self.subset.places(part)[present]
        return numbers, groups, weights, joined.reshape(len(columns), groups.size)


class GroupDraws:
    """Draws of rows for a single table, whose rows all have the same weight, or weight 0.

    How many draws fall in each group is multinomial. Where rows have terms of sums, groups are cut
    into blocks, and rows are drawn within each. Rows of weight 0 are never drawn.
    """

    def __init__(self, table: CountTable, units: RowUnits, seed: int, weight: float) -> None:
        self.table, self.tables, self.weight = table, [table], weight
        self.reads = table.reads
        self._units, self._seed = units, seed
        sums = table.sums[0]
        self.strata = sums.class_of_group if units.by_class else np.zeros(sums.n_groups, np.int64)
        #: Whether only counts of groups are drawn, and counts of rows are unknown.
        self.are_of_counts = not table.n_sums
        self._sizes: NDArray[np.int64] | None = None

    def totals(self, replicates: range, data: Sequence[Data]) -> list[Floats]:
        """Return the weights and sums of the table in replicates, (R, G, 1 + sums)."""
        if not self.are_of_counts:
            return [count(_DrawnTotals(self, replicates).over(*data))]
        if self._sizes is None:
            self._sizes = self._count_groups(data)
        return [self._draw_groups(self._sizes, replicates)]

    def _count_groups(self, data: Sequence[Data]) -> NDArray[np.int64]:
        """Return the number of rows of each group, (G,)."""
        sums = self.table.sums[0]
        weight = sums.known_weight
        if weight is None:
            weight, _ = count(AddUp(sums).over(*(data[place] for place in self.table.places[0])))
        return self._numbers_of_rows(weight)

    def _draw_groups(self, sizes: NDArray[np.int64], replicates: range) -> Floats:
        """Return (R, G, 1) counts of groups of so many rows."""
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        blocks = kernels.resampling.cut_into_blocks(bounds, self.strata, _UNCUT)
        n_draws = np.tile(self._units.n_in_strata, (len(replicates), 1))
        counts = np.zeros((len(replicates), sizes.size, 1))
        kernels.resampling.sum_draws(
            self._stream("part", 0), replicates.start, n_draws, blocks, bounds, np.empty((0, 0)),
            0, counts,
        )  # fmt: skip
        counts *= self.weight
        return counts

    def of_rows(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        # rows are in groups, which may depend on further row-aligned data
        parts = [part, *(Part.whole(data) for data in self.table.sums[0].companions)]

        def compute() -> tuple[Ints, Blocks]:
            bounds, order = self._sort(part, self.table.sums[0].groups(*parts))
            return order, kernels.resampling.cut_into_blocks(bounds, self.strata)

        order, blocks = part.remember("drawn rows", compute, self)
        seed, n_draws = self.within(part, range(replicate, replicate + 1))
        n = len(part.predictions)
        counts = kernels.resampling.draw_counts(seed, replicate, n_draws, blocks, order, n)
        return np.asarray(counts[:n, 0].astype(np.float64))

    def within(self, part: Part, replicates: range) -> tuple[int, NDArray[np.int64]]:
        """Return the seed of a part, and how many draws fall in it, (R, S)."""
        n_draws = np.tile(self._units.n_in_strata, (len(replicates), 1))
        of_parts = self._stream("parts")
        in_part = self._units.draws_in_part(part, of_parts, replicates.start, n_draws)
        return self._stream("part", part.number), in_part

    def sorted_rows(self, parts: tuple[Part, ...]) -> tuple[NDArray[np.int64], Blocks, Floats]:
        """Return (G + 1,) bounds of groups, blocks, and columns sorted by group."""

        def compute() -> tuple[NDArray[np.int64], Blocks, Floats]:
            bounds, order = self._sort(part, self.table.groups(parts))
            columns = self.table.columns(parts)
            ordered = np.empty((len(columns), order.size))
            over_blocks(_take, count_blocks(order.size), columns, order, ordered)
            return bounds, kernels.resampling.cut_into_blocks(bounds, self.strata), ordered

        part = self.table.part(parts)
        return part.remember("sorted rows", compute, self)

    def _sort(self, part: Part, groups: NDArray[Any]) -> tuple[NDArray[np.int64], Ints]:
        """Return the (G + 1,) bounds of groups, and the rows of positive weight sorted by group."""
        present = present_rows(part.predictions) if part.predictions.has_weights else None
        if present is not None:
            groups = groups[present]
        sums = self.table.sums[0]
        weight = sums.known_weight if part.is_in_memory else None
        if weight is None:
            counts = np.bincount(groups, minlength=sums.n_groups)
        else:
            counts = self._numbers_of_rows(weight)
        bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        order = kernels.sorting.order_by_group(groups, bounds)
        return bounds, order if present is None else present[order]

    def _numbers_of_rows(self, weight: Floats) -> NDArray[np.int64]:
        """Return the number of rows of each group, (G,), given the weights of groups."""
        return np.asarray(np.rint(weight / self.weight), np.int64)

    def _stream(self, *names: str | int) -> int:
        """Return the seed of a stream of the draws of this table."""
        return seed_of(self._seed, (*self.table.sums[0].stream, *names))


@dataclass(frozen=True, eq=False)
class _DrawnTotals(Step[Any]):
    """Sums of rows that are drawn within groups, in several replicates, (R, G, 1 + sums)."""

    draws: GroupDraws
    replicates: range

    @property
    def reads(self) -> frozenset[str]:
        return self.draws.reads

    def start(self) -> Floats:
        table = self.draws.table
        return np.zeros((len(self.replicates), table.n_groups, 1 + table.n_sums))

    def add(self, accumulator: Floats, prepared: None, *parts: Part) -> Floats:
        draws = self.draws
        bounds, blocks, columns = draws.sorted_rows(parts)
        seed, n_draws = draws.within(draws.table.part(parts), self.replicates)
        return kernels.resampling.sum_draws(
            seed, self.replicates.start, n_draws, blocks, bounds, columns, draws.table.degree,
            accumulator,
        )  # fmt: skip

    def finish(self, accumulator: Floats) -> Floats:
        if self.draws.weight != 1.0:
            accumulator *= self.draws.weight
        return accumulator


def _take(first: int, last: int, columns: list[Floats], order: Ints, out: Floats) -> None:
    """Write some blocks of the columns in an order."""
    rows = slice(first * BLOCK, last * BLOCK)
    for column, ordered in zip(columns, out, strict=True):
        np.take(column, order[rows], out=ordered[rows], mode="clip")  # others copy the output


class UnitDraws:
    """Draws of units, which all tables share; the count of a row is that of its units, multiplied.

    Units are drawn with replacement, as the scheme says.
    """

    are_of_counts = False

    def __init__(self, units: Units, seed: int, tables: Sequence[CountTable]) -> None:
        self.units, self.tables = units, tables
        self.reads, self._seed = units.reads, seed

    def shared(self, replicates: range) -> Counts | None:
        """Return the counts of units that all parts share, if any."""
        return self.units.shared_counts(self._seed, replicates)

    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        """Return the counts of the units of a part, given the shared counts."""
        return self.units.counts(part, self._seed, replicates, shared)

    def of_rows(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""
        replicates = range(replicate, replicate + 1)
        counts = self.of_part(part, replicates, self.shared(replicates))[:, 0].astype(np.float64)
        first, second = self.units.of_rows(part)
        return np.asarray(counts[first] * counts[second])

    def totals(self, replicates: range, data: Sequence[Data]) -> list[Floats]:
        """Return the weights and sums of each table in replicates, (R, G, 1 + sums)."""
        totals: list[Floats] = count(_CountedTotals(self, replicates).over(*data))
        return totals

    def at_once(self, n_rows: int) -> int:
        """Return how many replicates of so many rows in memory are best computed together."""
        n_numbers, n_threads = sum(table.n_numbers for table in self.tables), thread_count()
        most = _BYTES_OF_SUMS // (8 * max(n_numbers, 1) * n_threads)
        return n_threads * min(max(most, _FEWEST_AT_ONCE), lanes(self.units.n_shared or n_rows))

    def tables_of(self, parts: tuple[Part, ...]) -> list[tuple[int, CountTable]]:
        """Return the tables with rows in a part, and their places."""
        return [
            (place, table)
            for place, table in enumerate(self.tables)
            if table.subset is None or table.part(parts).has_weight
        ]

    def terms(self, table: CountTable, parts: tuple[Part, ...]) -> tuple[NDArray[Any], ...]:
        """Return both units, groups, weights and columns of the rows of a part."""

        def compute() -> tuple[NDArray[Any], ...]:
            numbers, *terms = table.rows(parts)
            first, second = (units[numbers] for units in self.units.of_rows(parts[0]))
            return first, second, *terms

        return table.part(parts).remember("terms", compute, table)


@dataclass(frozen=True, eq=False)
class _CountedTotals(Step[Any]):
    """Sums of tables in several replicates, of rows weighted by their draw counts."""

    draws: UnitDraws
    replicates: range

    @property
    def reads(self) -> frozenset[str]:
        return self.draws.reads.union(*(table.reads for table in self.draws.tables))

    def prepare(self) -> Counts | None:
        return self.draws.shared(self.replicates)

    def start(self) -> list[Floats]:
        n = len(self.replicates)
        return [np.zeros((table.n_groups, 1 + table.n_sums, n)) for table in self.draws.tables]

    def add(self, accumulator: list[Floats], shared: Counts | None, *parts: Part) -> list[Floats]:
        draws, part = self.draws, parts[0]
        present = [
            (table.degree, accumulator[place], draws.terms(table, parts))
            for place, table in draws.tables_of(parts)
        ]

        def add_some(chunk: range) -> None:
            lane = slice(chunk.start, chunk.stop)
            counts = None if shared is None else np.ascontiguousarray(shared[:, lane])
            with on_threads(1):
                counts = draws.of_part(part, self.replicates[lane], counts)
                for degree, sums, terms in present:
                    # not in place: threads would write to the same lines of the cache
                    sums_here = np.zeros((*sums.shape[:2], len(chunk)))
                    kernels.resampling.sum_counted_rows(counts, terms, degree, sums_here)
                    sums[:, :, lane] += sums_here

        n = len(self.replicates)
        n_units = draws.units.n_shared or len(part.predictions)
        at_once = min(lanes(n_units), -(-n // thread_count()))
        in_threads(*(lambda chunk=chunk: add_some(chunk) for chunk in ranges(n, at_once)))
        return accumulator

    def merge(self, total: list[Floats], other: list[Floats]) -> list[Floats]:
        for sums, more in zip(total, other, strict=True):
            sums += more
        return total

    def finish(self, accumulator: list[Floats]) -> list[Floats]:
        return [np.ascontiguousarray(np.moveaxis(sums, 2, 0)) for sums in accumulator]


class SubsetDraws(UnitDraws):
    """Units dealt at random to shares of equal size; each replicate keeps some shares.

    If rows depend on two units and some are left out, rows of one unit on both sides would be too
    many: they weigh (S' - 1) / (S - 1) there, for S' of S units.

    Parameters
    ----------
    units : Units
    seed : int
    tables : list of CountTable
    keeps : ndarray of bool, shape (R, shares)
        Which shares each replicate keeps.
    deal : int
        Number of the deal: others have other shares.
    by_stratum : bool
        Whether strata have shares of their own, one stratum's after another's; else each share has
        units of all strata.
    """

    def __init__(
        self,
        units: Units,
        seed: int,
        tables: Sequence[CountTable],
        keeps: NDArray[np.bool_],
        deal: int = 0,
        *,
        by_stratum: bool = False,
    ) -> None:
        super().__init__(units, seed, tables)
        self.keeps, self._by_stratum = keeps, by_stratum
        rng = np.random.default_rng(seed_of(seed, ("dealt units", deal)))
        self._order = kernels.dealing.shuffle_ranks(units.n_in_strata, rng)

    def totals(self, replicates: range, data: Sequence[Data]) -> list[Floats]:
        if self.units.come_in_pairs:  # a row is in as many shares as it has units
            return super().totals(replicates, data)
        totals: list[Floats] = count(_ShareTotals(self, replicates).over(*data))
        return totals

    def at_once(self, n_rows: int) -> int:
        if self.units.come_in_pairs:
            return super().at_once(n_rows)
        n_bytes = 8 * max(sum(table.n_numbers for table in self.tables), 1)
        return min(max(_BYTES_OF_SHARES // n_bytes, 4), _MOST_AT_ONCE)

    def shared(self, replicates: range) -> Counts | None:
        return self._kept(self._deal(None), replicates) if self.units.n_shared else None

    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        return self._kept(self.shares(part), replicates) if shared is None else shared

    def _kept(self, shares: NDArray[np.uint16], replicates: range) -> Counts:
        """Return which units of some shares each replicate keeps, as counts."""
        keeps = self.keeps[replicates.start : replicates.stop]
        factor: Floats = np.ones(keeps.shape[0])
        if self.units.come_in_pairs:
            n_kept = keeps @ np.bincount(shares, minlength=keeps.shape[1])
            factor = np.asarray((n_kept - 1.0) / (shares.size - 1.0))
        return np.ascontiguousarray(np.vstack([keeps.T[shares], factor]).astype(np.float32))

    def shares(self, part: Part) -> NDArray[np.uint16]:
        """Return the share of each unit of a part, (U,)."""
        return part.remember("shares", lambda: self._deal(part), self)

    def _deal(self, part: Part | None) -> NDArray[np.uint16]:
        strata, weights, before = self.units.strata(part)
        sizes = self.units.n_in_strata
        n_shares = int(self.keeps.shape[1]) // (sizes.size if self._by_stratum else 1)
        nothing = np.zeros(sizes.size, np.int64)
        shares = kernels.dealing.deal_ranks(
            strata, weights, before, sizes, nothing, *self._order, n_shares
        )
        if self._by_stratum:
            shares += strata.astype(np.uint16) * np.uint16(n_shares)
        return shares


@dataclass(frozen=True, eq=False)
class _ShareTotals(_CountedTotals):
    """Sums of rows by the share of their unit, added over the shares that a replicate keeps.

    The first table is that of the shares that all of these replicates keep.
    """

    draws: SubsetDraws

    def prepare(self) -> None:
        return None

    @property
    def _keeps(self) -> NDArray[np.bool_]:
        return self.draws.keeps[self.replicates.start : self.replicates.stop]

    @cached_property
    def _varying_shares(self) -> NDArray[np.int64]:
        """The shares that some of these replicates do not keep, with a table each, (T - 1,)."""
        return np.flatnonzero(~self._keeps.all(axis=0))

    def start(self) -> list[Floats]:
        n = 1 + self._varying_shares.size
        return [np.zeros((n, 1 + table.n_sums, table.n_groups)) for table in self.draws.tables]

    def add(self, accumulator: list[Floats], shared: Counts | None, *parts: Part) -> list[Floats]:
        draws = self.draws
        table_of_share = np.zeros(draws.keeps.shape[1], np.int64)
        table_of_share[self._varying_shares] = 1 + np.arange(self._varying_shares.size)
        for place, table in draws.tables_of(parts):
            first_unit, _, *terms = draws.terms(table, parts)
            kernels.resampling.sum_by_share(
                draws.shares(parts[0]), table_of_share, (first_unit, *terms), table.degree,
                accumulator[place],
            )  # fmt: skip
        return accumulator

    def finish(self, accumulator: list[Floats]) -> list[Floats]:
        """Return (R, G, 1 + sums) of each table."""
        keeps = np.ones((len(self.replicates), 1 + self._varying_shares.size), bool)
        keeps[:, 1:] = self._keeps[:, self._varying_shares]
        totals = []
        for tables in accumulator:
            kept = _kept_sums(tables.reshape(tables.shape[0], -1), keeps)
            kept = kept.reshape(-1, *tables.shape[1:])
            totals.append(np.ascontiguousarray(np.moveaxis(kept, 1, 2)))
        return totals


def _kept_sums(tables: Floats, keeps: NDArray[np.bool_]) -> Floats:
    """Return (R, M) sums of the tables (T, M) that each replicate (R, T) keeps."""
    if np.array_equal(keeps[:, 1:], ~np.eye(keeps.shape[0], dtype=bool)):
        return _leave_each_out(tables)
    return kernels.axis.add_masked(keeps, tables)


def _leave_each_out(tables: Floats) -> Floats:
    """Return (T - 1, M): sums of the tables (T, M) without each but the first, in turn."""
    out = np.empty((tables.shape[0] - 1, tables.shape[1]))
    before = tables[0].copy()
    for place, table in enumerate(tables[1:]):
        out[place] = before
        before += table
    after = np.zeros_like(before)
    for place in range(out.shape[0] - 1, -1, -1):  # added: inf - inf would be undefined
        out[place] += after
        after += tables[1 + place]
    return out


#: Counts of rows in replicates.
Draws = GroupDraws | UnitDraws


def lanes(n_units: int) -> int:
    """Return how many replicates of so many units a thread counts together."""
    fitting = _BYTES_OF_COUNTS // (4 * max(n_units, 1))
    return min(max(fitting, _FEWEST_AT_ONCE), _MOST_AT_ONCE)


def ranges(n_replicates: int, size: int) -> Iterator[range]:
    """Cut replicates into ranges of a size; the last may be shorter."""
    for first in range(0, n_replicates, size):
        yield range(first, min(first + size, n_replicates))
