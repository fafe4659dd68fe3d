"""Draws without replacement: units are dealt to shares, of which replicates keep some."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.draws import Counts, SharedTotals, UnitCounts
from fastpsr.bootstrap.layout import Layout
from fastpsr.bootstrap.streams import seed_of
from fastpsr.caching import cached_property
from fastpsr.kernels.sizes import LANES
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.part import Part
from fastpsr.predictions import Floats

if TYPE_CHECKING:
    from fastpsr.bootstrap.units import CountedUnits

__all__ = ["ShareTotals", "SubsetDraws"]

_SHARE_OF_ROWS = 32  # of the bytes of the budget: rows left out, whose groups are held
_BYTES_OF_SHARES = 1 << 27


class SubsetDraws(UnitCounts):
    """Units dealt at random to shares of equal size, once or more; replicates keep some shares.

    Replicates are those of the first deal, then those of the next. If rows depend on two units and
    some are left out, rows of one unit on both sides would be too many: they weigh
    (S' - 1) / (S - 1) there, for S' of S units.

    Parameters
    ----------
    units : CountedUnits
    keeps : ndarray of bool, shape (R, shares)
        Which shares each replicate of a deal keeps.
    n_deals : int
    apart : bool
        Whether strata have shares of their own, one stratum's after another's; else each share has
        units of all strata.
    """

    def __init__(
        self, units: "CountedUnits", keeps: NDArray[np.bool_], seed: int, n_deals: int = 1, *,
        apart: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(units)
        self._keeps, self._n_deals, self._apart = keeps, n_deals, apart
        self._dealings: list[tuple[Counts, Counts, NDArray[np.uint64]]] = []
        for deal in range(n_deals):
            rng = np.random.default_rng(seed_of(seed, ("dealt units", deal)))
            self._dealings.append(kernels.shuffle_ranks(units.n_in_strata, rng))
        self._dealt: tuple[int, dict[int, NDArray[Any]]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_dealt": None}

    @property
    def n_replicates(self) -> int:
        """Number of replicates of all deals."""
        return int(self._keeps.shape[0]) * self._n_deals

    def strata_of_groups(self, layout: Layout) -> Counts | None:
        """Return the stratum of each group, if counts of the groups may be dealt; else None."""
        strata = self.units.strata_of_groups(layout.sums[0])
        return None if self._apart and self.units.n_in_strata.size > 1 else strata

    def totals(self, layouts: tuple[Layout, ...], first: int, n_replicates: int) -> SharedTotals:
        if self.units.come_in_pairs:  # a row is in as many shares as it has units
            return super().totals(layouts, first, n_replicates)
        return ShareTotals(layouts, self, first, n_replicates)

    def at_once(self, n_numbers: int) -> int:
        if self.units.come_in_pairs:
            return super().at_once(n_numbers)
        return max(LANES, _BYTES_OF_SHARES // (8 * max(n_numbers, 1)))

    def merged_shares(self, first: int, n_replicates: int) -> list["_MergedShares"]:
        """Return by deal what replicates from `first` on keep; shares that go together are one."""
        per_deal = self._keeps.shape[0]
        replicates = np.arange(first, first + n_replicates)
        merged = []
        for deal in np.unique(replicates // per_deal).tolist():
            of_deal = replicates[replicates // per_deal == deal] % per_deal
            keeps, place = np.unique(self._keeps[of_deal], axis=1, return_inverse=True)
            merged.append(_MergedShares(deal, place.ravel().astype(np.uint16), keeps))
        return merged

    def shares(self, part: Part, deal: int) -> NDArray[Any]:
        """Return the share of each unit of a part, (U,); one part is needed after another."""
        place, dealt = self._place(part), self._dealt
        if dealt is None or dealt[0] != place:
            dealt = self._dealt = (place, {})
        of_deals = dealt[1]
        if deal not in of_deals:
            of_deals[deal] = self._deal(part, deal)
        return of_deals[deal]

    def of_counts(self, counts: Counts, sections: Counts, most: int) -> Iterator[Floats]:
        """Yield (R, G) numbers of rows of each group that replicates keep, in their order.

        Parameters
        ----------
        counts : ndarray of int64, shape (G,)
            Number of rows of each group.
        sections : ndarray of int64, shape (S, 3)
            Stratum, rank of the first row in it, and number of rows, one section after another.
        most : int
            Number of replicates at once.
        """
        filled = np.flatnonzero(counts)  # most groups of a class may be those of another
        for some in self._of_filled(counts[filled], sections, most):
            if filled.size == counts.size:
                yield some
                continue
            kept = np.zeros((some.shape[0], counts.size))
            kept[:, filled] = some
            yield kept

    def _of_filled(self, counts: Counts, sections: Counts, most: int) -> Iterator[Floats]:
        n_shares = self._n_shares
        leaves_one = np.array_equal(self._keeps, ~np.eye(n_shares, dtype=bool))
        most_rows, n_rows = memory_budget() // _SHARE_OF_ROWS, max(int(counts.sum()), 1)
        at_once = max(1, n_shares * most_rows // n_rows)
        for dealing in self._dealings:
            settings = (counts, sections, self.units.n_in_strata, *dealing, n_shares)
            if not leaves_one:
                dealt = kernels.deal_counts(*settings)
                for begin in range(0, self._keeps.shape[0], most):
                    yield kernels.sum_shares(dealt, self._keeps[begin : begin + most])
                continue
            for first in range(0, n_shares, at_once):
                some = range(first, min(first + at_once, n_shares))
                groups, bounds = kernels.deal_groups(*settings, some)
                for begin in range(0, len(some), most):
                    yield kernels.leave_out(counts, groups, bounds[begin : begin + most + 1])

    def _draw(self, part: Part, first: int, n_replicates: int) -> NDArray[np.float32]:
        return self._kept(part, slice(None), self.units.size_in(part), first, n_replicates)

    def _draw_piece(
        self, part: Part, begin: int, end: int, first: int, n_replicates: int
    ) -> NDArray[np.float32]:
        order, _ = self.units.order(part)
        return self._kept(part, order[begin:end], end - begin, first, n_replicates)

    def _kept(
        self, part: Part, chosen: Any, n_units: int, first: int, n_replicates: int
    ) -> NDArray[np.float32]:
        """Return the counts of some of the units of a part."""
        n_sets, (per_deal, n_shares) = -(-n_replicates // LANES), self._keeps.shape
        counts = np.zeros((n_sets, n_units + 1, LANES), np.float32)
        for k in range(n_sets):
            replicates = np.arange(first + k * LANES, first + (k + 1) * LANES)
            replicates = replicates[replicates < self.n_replicates]
            for deal in np.unique(replicates // per_deal):
                is_of_deal = replicates // per_deal == deal
                lanes = np.flatnonzero(is_of_deal)
                keeps = self._keeps[replicates[is_of_deal] % per_deal].T.astype(np.float32)
                share = self.shares(part, int(deal))[chosen]
                if lanes.size == LANES:
                    np.take(keeps, share, axis=0, out=counts[k, :n_units])
                else:
                    counts[k, :n_units, lanes] = keeps[share].T
                counts[k, n_units, lanes] = 1.0
                if self.units.come_in_pairs:
                    n_kept = np.bincount(share, minlength=n_shares) @ keeps
                    counts[k, n_units, lanes] = (n_kept - 1.0) / (n_units - 1.0)
        return counts

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


@dataclass(frozen=True, eq=False)
class _MergedShares:
    """Shares of a deal, of which those that replicates keep together are one."""

    deal: int
    place: NDArray[np.uint16]  # of each share among the merged ones
    keeps: NDArray[np.bool_]  # (R, merged shares)

    def add_up(self, sums: Floats) -> Floats:
        """Return (R, G, 1 + sums) of what each replicate keeps of (G, shares, 1 + sums)."""
        by_share = np.ascontiguousarray(np.moveaxis(sums, 1, 0))
        flat = by_share.reshape(by_share.shape[0], -1)
        if (self.keeps.sum(axis=1) == self.keeps.shape[1] - 1).all():
            kept = _without_each(flat)[self.keeps.argmin(axis=1)]
        else:
            kept = kernels.sum_shares(flat, self.keeps)
        return np.asarray(kept.reshape(-1, *by_share.shape[1:]))


def _without_each(shares: Floats) -> Floats:
    """Return (S, M) sums of the shares before and after each, as inf - inf is undefined."""
    out = np.zeros_like(shares)
    np.cumsum(shares[:-1], axis=0, out=out[1:])
    after = np.zeros_like(shares[0])
    for share, sums in zip(out[::-1], shares[::-1], strict=True):
        share += after
        after += sums
    return out


@dataclass(frozen=True, eq=False)
class ShareTotals(SharedTotals):
    """Sums of rows by the share of their unit, added up to those that each replicate keeps."""

    draws: SubsetDraws

    @cached_property
    def _merged(self) -> list[_MergedShares]:
        return self.draws.merged_shares(self.first, self.n_replicates)

    def start(self) -> Any:
        return [
            [np.zeros((one.n_groups, each.keeps.shape[1], 1 + one.n_sums)) for each in self._merged]
            for one in self.layouts
        ]  # fmt: skip

    def add(self, accumulator: Any, prepared: None, *parts: Part) -> Any:
        for k, merged in enumerate(self._merged):
            places = merged.place[self.draws.shares(parts[0], merged.deal)]
            for layout, by_deal in zip(self.layouts, accumulator, strict=True):
                if layout.is_absent(parts):
                    continue
                rows = layout.rows(parts)
                units, _ = self.draws.of_sorted_rows(layout, rows, parts)
                kernels.sum_by_share(places[units], rows.bounds, rows.weights, rows.columns,
                                     layout.degree, by_deal[k])  # fmt: skip
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        for by_deal, more in zip(one, other, strict=True):
            super().merge(by_deal, more)
        return one

    def finish(self, accumulator: Any) -> list[Floats]:
        """Return (R, G, 1 + sums) of each layout."""
        return [
            np.concatenate([
                merged.add_up(sums) for merged, sums in zip(self._merged, by_deal, strict=True)
            ])
            for by_deal in accumulator
        ]  # fmt: skip
