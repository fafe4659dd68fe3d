"""Draws without replacement: units are dealt to shares, of which replicates keep some."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.layout import BootstrapCache, Layout
from fastpsr.bootstrap.streams import seed_of
from fastpsr.bootstrap.unit_counts import CountedTotals, Counts, UnitCounts
from fastpsr.bootstrap.units import Units
from fastpsr.caching import cached_property
from fastpsr.data import Floats
from fastpsr.data.part import Part
from fastpsr.data.steps import Step

_BYTES_OF_TABLES = 1 << 27
_MOST_AT_ONCE = 64  # replicates, each of which adds up as many tables


class SubsetDraws(UnitCounts):
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
        self._dealings = [
            kernels.dealing.shuffle_ranks(
                units.n_in_strata, np.random.default_rng(seed_of(seed, ("dealt units", deal)))
            )
            for deal in range(n_deals)
        ]
        self._cache = BootstrapCache()

    @property
    def n_replicates(self) -> int:
        """Number of replicates of all deals."""
        return int(self._keeps.shape[0]) * self._n_deals

    def totals(self, layouts: tuple[Layout, ...], replicates: range) -> Step:
        if self.units.come_in_pairs:  # a row is in as many shares as it has units
            return super().totals(layouts, replicates)
        return _ShareTotals(layouts, self, replicates)

    def at_once(self, n_numbers: int, n_rows: int) -> int:
        if self.units.come_in_pairs:
            return super().at_once(n_numbers, n_rows)
        return min(max(_BYTES_OF_TABLES // (8 * max(n_numbers, 1)), 4), _MOST_AT_ONCE)

    def by_deal(self, replicates: range) -> list[tuple[int, NDArray[np.bool_]]]:
        """Return the deals of replicates, each with the shares (R, shares) that these keep."""
        n = self._keeps.shape[0]
        edges = [*range(replicates.start - replicates.start % n, replicates.stop, n)]
        return [
            (begin // n, self._keeps[max(replicates.start - begin, 0) : replicates.stop - begin])
            for begin in edges
        ]

    def shares(self, part: Part | None, deal: int) -> NDArray[np.uint16]:
        """Return the share of each unit of a part, (U,)."""
        if part is None:
            return self._deal(part, deal)
        shares: NDArray[np.uint16] = self._cache.of(
            part, f"shares {deal}", lambda: self._deal(part, deal)
        )
        return shares

    def shared(self, replicates: range) -> Counts | None:
        return self._kept(None, replicates) if self.units.n_shared else None

    def of_part(self, part: Part, replicates: range, shared: Counts | None) -> Counts:
        return self._kept(part, replicates) if shared is None else shared

    def _kept(self, part: Part | None, replicates: range) -> Counts:
        """Return which units each replicate keeps, as counts."""
        kept = []
        for deal, keeps in self.by_deal(replicates):
            shares = self.shares(part, deal)
            factor: Floats = np.ones(keeps.shape[0])
            if self.units.come_in_pairs:
                n_kept = keeps @ np.bincount(shares, minlength=keeps.shape[1])
                factor = np.asarray((n_kept - 1.0) / (shares.size - 1.0))
            kept.append(np.vstack([keeps.T[shares], factor]).astype(np.float32))
        return np.ascontiguousarray(np.hstack(kept))

    def _deal(self, part: Part | None, deal: int) -> NDArray[np.uint16]:
        strata, weights, before = self.units.in_strata(part)
        sizes = self.units.n_in_strata
        n_shares = int(self._keeps.shape[1]) // (sizes.size if self._apart else 1)
        nothing = np.zeros(sizes.size, np.int64)
        shares = kernels.dealing.deal_ranks(
            strata, weights, before, sizes, nothing, *self._dealings[deal], n_shares
        )
        if self._apart:
            shares += strata.astype(np.uint16) * np.uint16(n_shares)
        return shares


@dataclass(frozen=True, eq=False)
class _ShareTotals(CountedTotals):
    """Sums of rows by the share of their unit, added up to those that each replicate keeps.

    Of the shares of a deal, those that all of these replicates keep have one table.
    """

    draws: SubsetDraws

    def prepare(self) -> None:
        return None

    @cached_property
    def _merged(self) -> list[tuple[int, NDArray[np.int64], NDArray[np.bool_]]]:
        """Each deal with the table of each share, and the tables (R, T) that replicates keep."""
        merged = []
        for deal, keeps in self.draws.by_deal(self.replicates):
            others = np.flatnonzero(~keeps.all(axis=0))
            table_of_share = np.zeros(keeps.shape[1], np.int64)
            table_of_share[others] = 1 + np.arange(others.size)
            kept_tables = np.ones((keeps.shape[0], 1 + others.size), bool)
            kept_tables[:, 1:] = keeps[:, others]
            merged.append((deal, table_of_share, kept_tables))
        return merged

    def start(self) -> Any:
        return [
            [np.zeros((keeps.shape[1], 1 + one.n_sums, one.n_groups)) for *_, keeps in self._merged]
            for one in self.layouts
        ]  # fmt: skip

    def add(self, accumulator: Any, shared: Any, *parts: Part) -> Any:
        draws = self.draws
        for layout, by_deal in zip(self.layouts, accumulator, strict=True):
            if layout.is_absent(parts):
                continue
            first_unit, _, *terms = draws.terms(layout, parts)
            for (deal, table_of_share, _), tables in zip(self._merged, by_deal, strict=True):
                shares = draws.shares(parts[0], deal)
                rows = (first_unit, *terms)
                kernels.resampling.sum_by_share(shares, table_of_share, rows, layout.degree, tables)
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        for by_deal, more in zip(one, other, strict=True):
            for tables, more_tables in zip(by_deal, more, strict=True):
                tables += more_tables
        return one

    def finish(self, accumulator: Any) -> list[Floats]:
        """Return (R, G, 1 + sums) of each layout."""
        totals = []
        for by_deal in accumulator:
            kept = [
                _kept_sums(tables.reshape(tables.shape[0], -1), keeps)
                for tables, (*_, keeps) in zip(by_deal, self._merged, strict=True)
            ]
            of_layout = kept[0] if len(kept) == 1 else np.concatenate(kept)
            of_layout = of_layout.reshape(-1, *by_deal[0].shape[1:])
            totals.append(np.ascontiguousarray(np.moveaxis(of_layout, 1, 2)))
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
