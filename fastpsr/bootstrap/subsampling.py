"""Intervals from subsets of units drawn without replacement, and from units left out in turn.

The bias of a metric that optimizes on the data goes as n^(-2/3), which the bootstrap does not
repair: resampled data have ties. Halves and quarters of the data show how large it is, and how much
the corrected value varies. Values without each unit show how much each unit counts.
"""

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.bootstrap.evidence import Evidence, Job
from fastpsr.bootstrap.intervals import N_DEALS, Estimate
from fastpsr.bootstrap.replicates import values_under
from fastpsr.bootstrap.row_draws import (
    BootstrapCache,
    CountedTotals,
    Counts,
    Layout,
    UnitCounts,
    seed_of,
)
from fastpsr.bootstrap.units import Units
from fastpsr.caching import cached_property
from fastpsr.data import Floats
from fastpsr.data.steps import Part, Step
from fastpsr.interval_rule import ONE_TERM, Center, IntervalRule

_BYTES_OF_TABLES = 1 << 27
_MOST_AT_ONCE = 64  # replicates, each of which adds up as many tables
_MOST_GROUPS = 400  # that are left out in turn, if there are more units
FEWEST = 8  # samples of a class, clusters or speakers
_N_SHARES = 8
_N_HALVES = 7  # complementary pairs
_LEAST_SHARE = 0.5  # of subsets, or of groups left out, in which a metric must be defined


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

    def totals(self, layouts: tuple[Layout, ...], replicates: range) -> Step[Any]:
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


def left_out_values(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs without each unit, (J, 1, G).

    If there are more than 400 units, they are dealt to 400 groups, each with units of all strata.
    Values are nan where a metric is undefined or infinite.
    """
    n_groups = min(_MOST_GROUPS, int(units.n_in_strata.sum()))
    draws = SubsetDraws(units, ~np.eye(n_groups, dtype=bool), seed)
    values = values_under(jobs, draws, draws.n_replicates)
    return np.where(np.isinf(values), np.nan, values)[:, None]


def left_out_by_stratum(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the same values, but of groups of units of one stratum each, (J, S, G)."""
    sizes = units.n_in_strata
    if sizes.size == 1:
        return left_out_values(jobs, units, seed)
    n_groups = max(_MOST_GROUPS // max(int(np.count_nonzero(sizes)), 1), 2)
    has_units = np.arange(n_groups) < sizes[:, None]  # groups of a stratum are dealt to in turn
    keeps = ~np.eye(has_units.size, dtype=bool)[has_units.ravel()]
    draws = SubsetDraws(units, keeps, seed, apart=True)
    values = np.full((len(jobs), *has_units.shape), np.nan)
    values[:, has_units] = values_under(jobs, draws, draws.n_replicates)
    values[np.isinf(values)] = np.nan
    return values


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def centered(left_out: Floats) -> Floats:
    """Return the defined values of (S, G) values without each group, minus their stratum's mean."""
    strata = [values[~np.isnan(values)] for values in left_out]
    return np.concatenate([values - values.mean() if values.size else values for values in strata])


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def degrees_of_freedom(psi: Floats) -> float:
    """Return those of a standard error, from the kurtosis of the centered influence of units."""
    if psi.size < 3:
        return 2.0
    largest = float(np.abs(psi).max())
    if not largest > 0.0:
        return 2.0
    scaled = psi / largest  # the ratio does not depend on it
    excess = float((scaled**4).sum() / (scaled**2).sum() ** 2) - 1.0 / psi.size
    most = psi.size - 1.0
    # 0 but for rounding where all units count alike
    return min(max(2.0 / excess, 2.0), most) if excess > 2.0 / most else most


def standard_error(psi: Floats) -> float:
    """Return the jackknife's, from centered values without each unit."""
    return math.sqrt((psi.size - 1.0) / max(psi.size, 1) * float((psi**2).sum()))


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def jackknife(value: float, left_out: Floats, rule: IntervalRule) -> Estimate:
    """Return the value of a mean, or of a sum of signed means, with its standard error.

    Percentile intervals of a mean over few clusters are too short: replicates vary less than means
    of new clusters, by (G - 1) / G; and where rare clusters with large losses are missing, both the
    mean and its measured error are too small.
    """
    psi = centered(left_out)
    if psi.size < _LEAST_SHARE * left_out.size:
        raise ValueError("it is undefined or infinite without most of the clusters or speakers")
    error = standard_error(psi)
    if not math.isfinite(error):
        raise ValueError("its values without single units are too near the largest float")
    df = degrees_of_freedom(psi) if error else math.nan
    return Estimate(value, error, df, math.inf, rule)


def _split() -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which shares each subset keeps, (42, 8), and the quarters of halves, (7, 2, 3, 2).

    Halves are the rows of a Hadamard matrix of order 8 but the first; quarters are all pairs of
    shares. Each half is split into two quarters in three ways.
    """
    number = np.arange(_N_SHARES)
    parity = np.array([[bin(row & n).count("1") % 2 for n in number] for row in range(1, 8)])
    halves = np.array([[np.flatnonzero(row == side) for side in (0, 1)] for row in parity])
    quarters = list(combinations(range(_N_SHARES), 2))
    keeps = np.zeros((2 * _N_HALVES + len(quarters), _N_SHARES), bool)
    for place, shares in enumerate([*halves.reshape(-1, 4).tolist(), *quarters]):
        keeps[place, list(shares)] = True
    place_of = {pair: place for place, pair in enumerate(quarters)}
    splits = [
        [[place_of[one[0], one[k]], place_of[tuple(np.delete(one, [0, k]))]] for k in (1, 2, 3)]
        for pair in halves
        for one in pair
    ]
    return keeps, np.array(splits).reshape(_N_HALVES, 2, 3, 2)


#: What each subset keeps, and the places among the quarters of those of each half.
_KEEPS, SPLITS = _split()


def subset_values(jobs: list[Job], units: Units, seed: int) -> Floats:
    """Return the values of prepared jobs on subsets of units, (J, deals, 42).

    Units are dealt 8 times to 8 shares. Values are nan where a metric is undefined or infinite.
    """
    draws = SubsetDraws(units, _KEEPS, seed, N_DEALS)
    values = values_under(jobs, draws, draws.n_replicates)
    return np.where(np.isinf(values), np.nan, values).reshape(len(jobs), N_DEALS, -1)


def halves_and_quarters(subsets: Floats) -> tuple[Floats, Floats]:
    """Return the values on complementary halves, (deals, 7, 2), and on quarters, (deals, 28)."""
    halves, quarters = np.split(subsets, [2 * _N_HALVES], axis=1)
    return halves.reshape(-1, _N_HALVES, 2), quarters


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def subsampling(evidence: Evidence) -> Estimate:
    """Return the corrected value of a metric, or of a signed sum, with its standard error."""
    _check_sizes(evidence)
    units, rule = evidence.units.independent.name, evidence.rule
    halves, quarters = halves_and_quarters(evidence.draws["subsets"])
    for values in (halves, quarters):
        if np.isnan(values).mean() > 1.0 - _LEAST_SHARE:
            raise ValueError(
                "it is undefined or infinite in most subsets of the data; percentile intervals "
                "need no subsets"
            )
    center = _center(evidence, units)
    if not evidence.terms:
        center = min(center, evidence.value_range[1])
    psi = centered(evidence.draws["left out"])
    if units == "speakers" and rule.center_of_speakers is not None:
        error, n_contrasts = standard_error(psi), math.inf
    else:
        error = _standard_error(halves, quarters, rule, units)
        n_contrasts = N_DEALS * _N_HALVES
    if not math.isfinite(center) or not math.isfinite(error):
        raise ValueError("its values on subsets are too near the largest float")
    if not error > 0.0:
        if rule.scale == "plain":  # as for the difference of equal systems
            return Estimate(center, 0.0, math.nan, n_contrasts, rule)
        raise ValueError(
            "it has the same value in all subsets of the data, as where classes are separated; "
            "test more samples, until some are wrong"
        )
    return Estimate(center, error, degrees_of_freedom(psi), n_contrasts, rule)


def _check_sizes(evidence: Evidence) -> None:
    units = evidence.units.independent
    n_units = int(units.n_in_strata.sum())
    if n_units < FEWEST:
        raise ValueError(_too_few(units.name, n_units))
    sizes = evidence.class_sizes
    if len(sizes) == 2 and min(sizes) < FEWEST:
        raise ValueError(_too_few("samples of each class", min(sizes)))


def _too_few(what: str, n: int) -> str:
    return (
        f"at least {FEWEST} {what} are needed, not {n}; percentile intervals need no subsets, but "
        "are too narrow for so few"
    )


def _center(evidence: Evidence, units: str) -> float:
    """Return the value corrected for its bias; that of a sum is the sum of those of its metrics."""
    if evidence.terms:
        return sum(sign * _center(term, units) for term, sign in evidence.terms)
    halves, quarters = halves_and_quarters(evidence.draws["subsets"])
    of_value, of_halves, of_quarters = _coefficients(evidence.rule, units)
    corrections = of_halves * np.nanmean(halves) + of_quarters * np.nanmean(quarters)
    return of_value * evidence.value + float(corrections)


def _coefficients(rule: IntervalRule, units: str) -> Center:
    if units == "samples":
        return rule.center
    if units == "speakers" and rule.center_of_speakers is not None:
        return rule.center_of_speakers
    return rule.center_of_units


def _standard_error(halves: Floats, quarters: Floats, rule: IntervalRule, units: str) -> float:
    """Return the standard error of the corrected value, from complementary halves."""
    spread = rule.spread if units == "samples" else rule.spread_of_units
    if spread == "halves":
        return _root_mean_square(np.diff(halves) / 2.0)
    of_halves = quarters[:, SPLITS].mean(axis=-1)  # (deals, 7, 2, 3)
    mine, theirs, _ = ONE_TERM
    corrected = mine * halves[..., None] + theirs * of_halves
    differences = (corrected[:, :, 0] - corrected[:, :, 1]) / 2.0  # (deals, 7, 3)
    if spread == "nested":
        defined = ~np.isnan(differences)
        n = defined.sum(axis=-1)
        total = np.where(defined, differences, 0.0).sum(axis=-1)
        differences = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return _root_mean_square(differences)


def _root_mean_square(differences: Floats) -> float:
    """Return it of the values that are not nan."""
    if np.isnan(differences).all():
        raise ValueError("no pair of complementary subsets of the data has a value in both")
    return math.sqrt(float(np.nanmean(differences**2)))
