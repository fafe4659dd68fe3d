"""Draw counts of rows and units in each replicate."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.units import IdUnits, NestedUnits, RowUnits, Units
from fastpsr.kernels.sizes import LANES
from fastpsr.plans import LABELS, Transform
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats, Predictions

__all__ = [
    "Dealt",
    "Draws",
    "NestedDraws",
    "PartDraws",
    "Reweighted",
    "Times",
    "UnitDraws",
    "draws_of",
]

_TABLE = 256  # replicates
_MOST_TABLES = 8
_COUNTS_AT_ONCE = 1 << 18  # that stay in the second-level cache
_ROWS_AT_ONCE = 1 << 25  # left out, whose groups are held

Counts = NDArray[np.int64]


class Times(ABC):
    """Draw counts of rows, by replicate: plain data."""

    #: What is read of a part.
    reads: frozenset[str]

    @abstractmethod
    def times(self, part: Part, replicate: int) -> Floats:
        """Return the draw count of each row of a part, (n,)."""


class Draws(Times):
    """Draw counts per unit and replicate, shared by all metrics."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.reads = units.reads
        self._batch: tuple[Any, NDArray[np.float32]] | None = None
        self._sets: tuple[Any, NDArray[np.float32]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batch": None, "_sets": None}

    @property
    def n_shared(self) -> int:
        """Number of units that all parts share, whose counts in all replicates are held."""
        return self.units.ids.size if isinstance(self.units, IdUnits) else 0

    def counts(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        """Return (L, U + 1, 8) counts of the units of a part, in sets of 8 replicates.

        `first` is a multiple of 8; replicates beyond the number asked for hold anything.
        """
        key = (self._place(part), first, n_replicates)
        if self._batch is None or self._batch[0] != key:
            self._batch = None  # free it before the next is made
            self._batch = (key, self._draw(part, first, n_replicates))
        return self._batch[1]

    def times(self, part: Part, replicate: int) -> Floats:
        place = self._place(part)
        for held in (self._batch, self._sets):
            if held is not None and held[0][0] == place:
                _, begin, n = held[0]
                if begin <= replicate < begin + n:
                    return self._of_rows(part, held[1][(replicate - begin) // LANES], replicate)
        # the next replicate is likely to be requested next
        room = _COUNTS_AT_ONCE // (LANES * max(self.units.size_in(part), 1))
        n = LANES * min(max(room, 1), 16)
        first = replicate // n * n
        self._sets = None
        self._sets = ((place, first, n), self._draw(part, first, n))
        return self._of_rows(part, self._sets[1][(replicate - first) // LANES], replicate)

    def _of_rows(self, part: Part, counts: NDArray[np.float32], replicate: int) -> Floats:
        first, second = self.units.numbers(part)
        times = counts[:, replicate % LANES].astype(np.float64)
        return np.asarray(times[first] * times[second])

    def _place(self, part: Part) -> int:
        """Return the stream number of the units of a part."""
        return -1 if self.units.are_shared else part.number

    @abstractmethod
    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        """Return the counts as `counts` does."""


class UnitDraws(Draws):
    """Units drawn with replacement, from each stratum as many as it has."""

    def __init__(self, units: Units, seed: int) -> None:
        super().__init__(units)
        self._stream = ("units",) if units.are_shared else ("rows",)
        self._seed = seed
        self._in_parts: PartDraws | None = None
        if isinstance(units, RowUnits):
            self._in_parts = PartDraws(seed, self._stream, units.sizes)

    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        units = self.units
        number = 0 if units.are_shared else part.number
        order, strata = units.order(part)
        # a stratum is cut into blocks as a group is, so that no block has units of two strata
        blocks = kernels.cut_into_blocks(strata, np.arange(strata.size - 1))
        if isinstance(units, RowUnits):
            assert self._in_parts is not None
            n_draws = self._in_parts.of(number, first, n_replicates)
        else:
            assert isinstance(units, IdUnits)
            n_draws = np.full((n_replicates, 1), units.ids.size, np.int64)
        seed = seed_of(self._seed, (*self._stream, "part", number))
        return kernels.draw_units(seed, first, n_draws, blocks, order, units.size_in(part))


class NestedDraws(Times):
    """Clusters drawn with replacement; and from each drawn cluster as many rows as it has.

    All appearances of a cluster in a replicate have the same rows.
    """

    def __init__(self, units: NestedUnits, seed: int) -> None:
        self.units = units
        self.reads = LABELS | units.clusters.reads
        self._of_clusters = UnitDraws(units.clusters, seed)
        self._seed = seed

    @property
    def n_shared(self) -> int:
        return self._of_clusters.n_shared

    def within(
        self, part: Part, first: int, n_replicates: int
    ) -> tuple[int, NDArray[np.int64], NDArray[np.float32]]:
        """Return the seed of a part, and for each cluster the numbers of rows and of its draws.

        Both numbers are (R, C): how many rows of the part are drawn from a cluster that is drawn,
        and how often the cluster is drawn.
        """
        begin = first // LANES * LANES
        sets = self._of_clusters.counts(part, begin, first - begin + n_replicates)[:, :-1]
        times = np.moveaxis(sets, 2, 1).reshape(-1, sets.shape[1])
        times = np.ascontiguousarray(times[first - begin :][:n_replicates])
        units, n_rows = self.units, np.zeros(times.shape, np.int64)
        here, places = units.places(part)
        n_rows[:, here] = kernels.draws_in_part(
            seed_of(self._seed, ("nested", "parts")), first, n_replicates, here, units.bounds,
            places, units.ends,
        )  # fmt: skip
        n_rows[times == 0.0] = 0  # they would not count
        return seed_of(self._seed, ("nested", "part", part.number)), n_rows, times

    def times(self, part: Part, replicate: int) -> Floats:
        n = len(part.predictions)
        seed, n_rows, times = self.within(part, replicate, 1)
        order, blocks = self.units.order(part)
        drawn = kernels.draw_units(seed, replicate, n_rows, blocks, order, n)[0, :n, 0]
        return np.asarray(drawn * times[0].astype(np.float64)[self.units.numbers(part)])


def draws_of(units: Units | NestedUnits, seed: int) -> Draws | NestedDraws:
    """Return the draws of units."""
    return NestedDraws(units, seed) if isinstance(units, NestedUnits) else UnitDraws(units, seed)


class Dealt(Draws):
    """Units dealt at random to shares of equal size, once or more; replicates keep some shares.

    Replicates are those of the first deal, then those of the next. If rows depend on two units and
    some are left out, rows of one unit on both sides would be too many: they weigh
    (S' - 1) / (S - 1) there, for S' of S units.

    Parameters
    ----------
    units : Units
    keeps : ndarray of bool, shape (R, shares)
        Which shares each replicate of a deal keeps.
    n_deals : int
    apart : bool
        Whether strata have shares of their own, one stratum's after another's; else each share has
        units of all strata.
    """

    def __init__(
        self, units: Units, keeps: NDArray[np.bool_], seed: int, n_deals: int = 1, *,
        apart: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(units)
        self._keeps, self._n_deals, self._apart = keeps, n_deals, apart
        self._dealings: list[tuple[Counts, Counts, NDArray[np.uint64]]] = []
        for deal in range(n_deals):
            rng = np.random.default_rng(seed_of(seed, ("dealt units", deal)))
            self._dealings.append(kernels.shuffle_ranks(units.n_in_strata, rng))
        self._dealt: dict[Any, NDArray[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_dealt": {}}

    @property
    def n_replicates(self) -> int:
        """Number of replicates of all deals."""
        return int(self._keeps.shape[0]) * self._n_deals

    @property
    def deals_counts(self) -> bool:
        """Whether replicates can be had from counts of rows alone, by `of_counts`."""
        return not self.units.are_shared and (not self._apart or self.units.n_in_strata.size == 1)

    def of_counts(self, counts: Counts, strata: Counts, most: int) -> Iterator[Floats]:
        """Yield (R, G) numbers of rows of each group that replicates keep, in their order.

        Parameters
        ----------
        counts, strata : ndarray of int64, shape (G,)
            Number of rows of each group, and its stratum.
        most : int
            Number of replicates at once.
        """
        n_shares = self._n_shares
        leaves_one = np.array_equal(self._keeps, ~np.eye(n_shares, dtype=bool))
        at_once = max(1, n_shares * _ROWS_AT_ONCE // max(int(counts.sum()), 1))
        for dealing in self._dealings:
            own = (counts, strata, self.units.n_in_strata, *dealing, n_shares)
            if not leaves_one:
                dealt = kernels.deal_counts(*own)
                for begin in range(0, self._keeps.shape[0], most):
                    yield kernels.sum_shares(dealt, self._keeps[begin : begin + most])
                continue
            for first in range(0, n_shares, at_once):
                some = range(first, min(first + at_once, n_shares))
                groups, bounds = kernels.deal_groups(*own, some)
                for begin in range(0, len(some), most):
                    yield kernels.leave_out(counts, groups, bounds[begin : begin + most + 1])

    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        n_units, n_sets = self.units.size_in(part), -(-n_replicates // LANES)
        per_deal, n_shares = self._keeps.shape
        times = np.zeros((n_sets, n_units + 1, LANES), np.float32)
        for k in range(n_sets):
            replicates = np.arange(first + k * LANES, first + (k + 1) * LANES)
            replicates = replicates[replicates < self.n_replicates]
            for deal in np.unique(replicates // per_deal):
                mine = replicates // per_deal == deal
                lanes = np.flatnonzero(mine)
                keeps = self._keeps[replicates[mine] % per_deal].T.astype(np.float32)
                share = self._shares(part, int(deal))
                if lanes.size == LANES:
                    np.take(keeps, share, axis=0, out=times[k, :n_units])
                else:
                    times[k, :n_units, lanes] = keeps[share].T
                times[k, n_units, lanes] = 1.0
                if self.units.come_in_pairs:
                    kept = np.bincount(share, minlength=n_shares) @ keeps
                    times[k, n_units, lanes] = (kept - 1.0) / (n_units - 1.0)
        return times

    def _shares(self, part: Part, deal: int) -> NDArray[Any]:
        """Return the share of each unit of a part, (U,)."""
        key = (self._place(part), deal)
        if key not in self._dealt:
            self._dealt = {}  # one deal after another
            self._dealt[key] = self._deal(part, deal)
        return self._dealt[key]

    def _deal(self, part: Part, deal: int) -> NDArray[Any]:
        units = self.units
        strata, weights, before = units.in_strata(part)
        sizes = units.n_in_strata
        nothing, n_shares = np.zeros(sizes.size, np.int64), self._n_shares
        share = kernels.deal_ranks(
            strata, weights, before, sizes, nothing, *self._dealings[deal], n_shares
        )
        return share + strata * np.uint16(n_shares) if self._apart else share

    @property
    def _n_shares(self) -> int:
        """Number of shares of a stratum."""
        return int(self._keeps.shape[1]) // (self.units.n_in_strata.size if self._apart else 1)


class PartDraws:
    """Numbers of draws of each replicate in each part, by stratum, given the table of facts."""

    def __init__(self, seed: int, stream: tuple[str | int, ...], sizes: Counts) -> None:
        self._sizes = sizes
        self._key = seed_of(seed, (*stream, "parts"))
        self._held: dict[int, Counts] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_held": {}}

    def of(self, part: int, first: int, n_replicates: int) -> Counts:
        """Return the numbers of draws in a part for replicates from `first` on, (R, S)."""
        if self._sizes.shape[0] == 1:
            return np.repeat(self._sizes, n_replicates, axis=0)
        last = first + n_replicates
        tables = range(first // _TABLE, (last - 1) // _TABLE + 1)
        found = np.concatenate([self._table(number)[:, part] for number in tables])
        begin = first - tables[0] * _TABLE
        return np.ascontiguousarray(found[begin : begin + n_replicates])

    def _table(self, number: int) -> Counts:
        """Return the numbers of draws of 256 replicates in all parts, (256, P, S)."""
        if number not in self._held:
            if len(self._held) >= _MOST_TABLES:
                del self._held[next(iter(self._held))]
            self._held[number] = kernels.divide_over_parts(
                self._key, number * _TABLE, _TABLE, self._sizes
            )
        return self._held[number]


class Reweighted(Transform):
    """Rows weighted by their draw counts in a replicate, times their own weight."""

    keeps_rows = False

    def __init__(self, times: Times, replicate: int) -> None:
        self._times, self._replicate = times, replicate
        self.reads = times.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not len(predictions) or not part.has_weight:
            return predictions
        times = self._times.times(part, self._replicate)
        own = predictions.weights
        return predictions.reweighted(times * own if own.size else times)
