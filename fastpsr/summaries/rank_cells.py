"""Rank cells: a summary of binary scores for metrics that depend only on their order."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import Data, Part, PartitionedPredictions, Plan, Shared, Step, run
from fastpsr.plans.budget import memory_budget
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.buckets import (
    PICKED_SHARE,
    Counted,
    Grid,
    PickValues,
    ScoresByClass,
    count_until_few,
    joined_by_number,
    pick,
)
from fastpsr.summaries.pav_blocks import ClassTotals, PavBlocks
from fastpsr.summaries.sums import Sums

__all__ = [
    "CellSums",
    "CollectClass",
    "CountIntoCells",
    "HighestInSteps",
    "RankCells",
    "RankRuns",
    "RunSums",
    "Scores",
    "cell_sums",
    "cells_fit",
    "filled_cells",
    "minority_of",
    "pav_blocks",
    "rank_cells",
    "sorting_wins",
]

_SORTING_WINS = 1 / 16  # share of the minority from which sorting both classes beats looking up
_BYTES_PER_EDGE = 48  # of the two cells that a distinct score of the minority makes
_REMEDY = "set FASTPSR_MEMORY to more, take a sample, or compute values alone (n_resamples=0)"
_EVERYTHING = Grid(0.0, 0.0, 1)  # one bucket


@dataclass(frozen=True)
class Scores:
    """The scores of predictions, as they are or as LLRs."""

    as_llrs: bool = False

    @property
    def key(self) -> Hashable:
        """Identity of these scores."""
        return self.as_llrs

    def __call__(self, predictions: Predictions) -> Floats:
        return predictions.llrs if self.as_llrs else predictions.scores


@dataclass(frozen=True, eq=False)
class RankRuns(ClassTotals):
    """Weights of both classes in runs of scores of one class, or at a score of both.

    Attributes
    ----------
    lowest : ndarray of float64, shape (r,)
        Lowest score in each run, ascending; or a number below it, but above all runs before.
    negatives, positives : ndarray of float64, shape (r,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None

    Notes
    -----
    Equal scores share a run. No block of an isotonic fit, and no vertex of a ROC hull, splits a run
    of samples of one class, also if only some of them are drawn; nor does an area depend on their
    order. So nothing that depends on ranks alone is lost.
    """

    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None

    @cached_property
    def blocks(self) -> PavBlocks:
        """The blocks of the isotonic fit."""
        return PavBlocks.of_cells(self.lowest, self.negatives, self.positives, self.given_priors)

    @property
    def runs(self) -> "RankRuns":
        """The runs, which neighboring groups of one class form."""
        kinds = (self.negatives > 0.0) + 2 * (self.positives > 0.0)
        filled = np.flatnonzero(kinds)
        if not filled.size:
            return self
        kinds = kinds[filled]
        is_first = np.ones(filled.size, bool)
        is_first[1:] = (kinds[1:] == 3) | (kinds[1:] != kinds[:-1])
        starts = filled[is_first]
        negatives, positives = (
            np.add.reduceat(of_class, starts) for of_class in (self.negatives, self.positives)
        )
        return RankRuns(self.lowest[starts], negatives, positives, self.given_priors)


@dataclass(frozen=True, eq=False)
class RankCells(RankRuns):
    """Weights of both classes in cells between and at the distinct scores of the minority.

    Attributes
    ----------
    lowest : ndarray of float64, shape (2 m + 1,)
        Lowest score in each cell, inf where it is empty.
    negatives, positives : ndarray of float64, shape (2 m + 1,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None
    edges : ndarray of float64, shape (m,)
        Distinct scores of the smaller class, ascending. Cell 2 j + 1 is the score ``edges[j]``,
        cell 2 j lies between ``edges[j - 1]`` and ``edges[j]``.
    """

    edges: Floats

    @classmethod
    def of(cls, predictions: Predictions) -> "RankCells":
        """Count labeled binary predictions in memory into cells on their scale."""
        return run(lambda: _count_cells(predictions))


@dataclass(frozen=True, eq=False)
class RunSums(Sums):
    """Samples grouped by class and run: runs of class 0, then those of class 1."""

    lowest: Floats
    given_priors: Floats | None
    known_weight: Floats | None

    stream = ("rank runs",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Twice the number of runs."""
        return 2 * self.lowest.size

    @property
    def key(self) -> Hashable:
        return self.stream

    def numbers(self, part: Part) -> NDArray[Any]:
        """Return the run of each sample of a part, of type `index_type`."""
        scores = part.predictions._kernel_scores
        return kernels.step_numbers(scores, self.lowest[1:], index_type(self.n_groups))

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        places = self.numbers(part)
        places[part.predictions.labels != 0] += self.lowest.size
        return places

    def assemble(self, weight: Floats, sums: Floats) -> RankRuns:
        n_runs = self.lowest.size
        return RankRuns(self.lowest, weight[:n_runs], weight[n_runs:], self.given_priors)


@dataclass(frozen=True, eq=False)
class CellSums(RunSums):
    """Samples grouped by class and rank cell, where it matters at which score a block begins."""

    edges: Floats = field(kw_only=True)

    stream = ("rank cells",)

    def numbers(self, part: Part) -> NDArray[Any]:
        scores = part.predictions._kernel_scores
        return kernels.cell_numbers(scores, self.edges, index_type(self.n_groups))

    def assemble(self, weight: Floats, sums: Floats) -> RankCells:
        n_cells = self.lowest.size
        return RankCells(
            self.lowest, weight[:n_cells], weight[n_cells:], self.given_priors, self.edges
        )


def rank_cells(data: Data) -> Plan[RankCells]:
    """Plan: return the rank cells of labeled binary data; computed once."""
    checks.check_binary("ranks", data.n_classes)
    (cells,) = yield [Shared("rank cells", data, lambda: _count_cells(data))]
    ranked: RankCells = cells
    return ranked


def minority_of(data: Data) -> int:
    """Return the class whose distinct scores are the edges of the rank cells."""
    n_negative, n_positive = data.class_sizes
    return int(n_positive <= n_negative)


def cell_sums(data: Data) -> Plan[CellSums]:
    """Plan: request the rank cells, and return their sums."""
    cells = yield from rank_cells(data)
    weight = np.concatenate([cells.negatives, cells.positives])
    return CellSums(cells.lowest, data.given_priors, weight, edges=cells.edges)


def pav_blocks(data: Data) -> Plan[PavBlocks]:
    """Plan: return the isotonic fit of labeled binary data; computed once."""
    checks.check_binary("ranks", data.n_classes)
    (blocks,) = yield [Shared("PAV blocks", data, lambda: _fit(data))]
    fitted: PavBlocks = blocks
    return fitted


def sorting_wins(data: Data) -> bool:
    """Whether sorting both classes beats placing one among the other, and fits the budget."""
    sizes = data.class_sizes
    n_bytes = 8 * int(sizes.sum())
    if isinstance(data, PartitionedPredictions):  # whose scores are collected first
        n_bytes *= PICKED_SHARE
    are_alike_in_size = int(sizes.min()) > _SORTING_WINS * int(sizes.sum())
    return not data.has_weights and are_alike_in_size and n_bytes <= memory_budget()


def cells_fit(data: Data) -> bool:
    """Whether the cells fit the budget, however many scores are distinct."""
    if not isinstance(data, PartitionedPredictions) or sorting_wins(data):
        return True
    return _BYTES_PER_EDGE * int(data.class_sizes.min()) <= memory_budget()


def filled_cells(data: Data) -> Plan[RankRuns]:
    """Plan: return the rank cells that hold samples; computed once."""
    checks.check_binary("ranks", data.n_classes)
    (cells,) = yield [Shared("filled rank cells", data, lambda: _fill_cells(data))]
    filled: RankRuns = cells
    return filled


def _fill_cells(data: Data) -> Plan[RankRuns]:
    if not sorting_wins(data):
        cells = yield from rank_cells(data)
        filled = np.flatnonzero((cells.negatives > 0.0) | (cells.positives > 0.0))
        lowest, negatives, positives = cells.lowest, cells.negatives, cells.positives
        return RankRuns(lowest[filled], negatives[filled], positives[filled], data.given_priors)
    everything = PickValues(ScoresByClass(), _EVERYTHING, np.ones(1, bool))
    (by_class,) = yield [everything.over(data)]
    kernels.sort_in_place(*by_class)
    minority = minority_of(data)
    lowest, *both = kernels.merge_by_score(by_class[minority], by_class[1 - minority])
    return RankRuns(lowest, both[minority], both[1 - minority], data.given_priors)


def _count_cells(data: Data) -> Plan[RankCells]:
    minority = minority_of(data)
    if sorting_wins(data):
        filled = yield from filled_cells(data)
        by_class = filled.negatives, filled.positives
        is_edge = by_class[minority] > 0.0
        edges, weights_of_edges = filled.lowest[is_edge], by_class[minority][is_edge]
        totals, lowest = np.zeros(2 * edges.size + 1), np.full(2 * edges.size + 1, np.inf)
        cells = 2 * np.cumsum(is_edge) - is_edge
        totals[cells], lowest[cells] = by_class[1 - minority], filled.lowest
    else:
        (members,) = yield [CollectClass(minority, data.has_weights).over(data)]
        edges, weights_of_edges = members
        n_bytes, budget = _BYTES_PER_EDGE * edges.size, memory_budget()
        if isinstance(data, PartitionedPredictions) and n_bytes > budget:
            raise ArgumentError(
                "data",
                f"must have fewer scores of class {minority} for ranks: cells at {edges.size:,} "
                f"distinct ones take {n_bytes:,} bytes, more than the budget of {budget:,}; "
                f"{_REMEDY}",
            )
        (counted,) = yield [CountIntoCells(1 - minority, edges, data.has_weights).over(data)]
        totals, lowest = counted
    of_minority = np.zeros(totals.size)
    of_minority[1::2] = weights_of_edges
    lowest[1::2] = edges
    negatives, positives = (totals, of_minority) if minority else (of_minority, totals)
    return RankCells(lowest, negatives, positives, data.given_priors, edges)


@dataclass(frozen=True, eq=False)
class CollectClass(Step):
    """Collect the distinct scores of a class within bounds, and the weight at each."""

    take: int
    has_weights: bool
    scores: Scores = field(default_factory=Scores)
    what: str = "ranks"
    bounds: tuple[float, float] = (-np.inf, np.inf)

    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("scores of class", self.take, self.scores.key, self.bounds)

    def start(self) -> "_Held":
        return _Held()

    def add(self, accumulator: "_Held", prepared: None, part: Part) -> "_Held":
        predictions = part.predictions
        scores, weights = self.scores(predictions), predictions.weights
        is_member = predictions.labels == self.take
        if self.bounds != (-np.inf, np.inf):
            is_member &= (scores >= self.bounds[0]) & (scores <= self.bounds[1])
        members = np.flatnonzero(is_member)  # faster than by a mask
        if weights.size:
            members = members[weights[members] > 0.0]
            of_members = weights[members]
        else:
            of_members = np.ones(members.size) if self.has_weights else np.empty(0)
        accumulator.add(part.number, scores[members], of_members)
        if not part.is_in_memory:
            accumulator.require_room(self.take, self.what)
        return accumulator

    def merge(self, one: "_Held", other: "_Held") -> "_Held":
        one.take(other)
        one.require_room(self.take, self.what)
        return one

    def finish(self, accumulator: "_Held") -> tuple[Floats, Floats]:
        return accumulator.distinct()


class _Held:
    """Scores of one class as they come, and their distinct values where they are too many."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[Floats, Floats]] = {}
        self._values, self._counts = np.empty(0), np.empty(0)

    def add(self, number: int, scores: Floats, weights: Floats) -> None:
        """Add the scores of a part, with their weights if they have any."""
        self._rows[number] = scores, weights

    def take(self, other: "_Held") -> None:
        """Add what another holds."""
        self._rows.update(other._rows)
        self._count(other._values, other._counts)

    def require_room(self, class_number: int, what: str) -> None:
        """Raise if the scores exceed the budget; unweighted scores are first reduced to counts."""
        budget = memory_budget()
        if self._bytes <= budget // 2:
            return
        if not any(weights.size for _, weights in self._rows.values()):
            self.compress()
        if self._bytes > budget:
            raise ArgumentError(
                "data",
                f"must have fewer scores of class {class_number} for {what}: they take more than "
                f"the budget of {budget:,} bytes; {_REMEDY}",
            )

    @property
    def _bytes(self) -> int:
        rows = sum(scores.nbytes + weights.nbytes for scores, weights in self._rows.values())
        return rows + self._values.nbytes + self._counts.nbytes

    def compress(self) -> None:
        """Replace unweighted scores by their distinct values and counts."""
        scores = [scores for scores, _ in self._rows.values()]
        self._rows = {}
        joined = np.concatenate([np.empty(0), *scores])
        kernels.sort_in_place(joined)
        self._count(*_distinct(joined, np.empty(0)))

    def _count(self, values: Floats, counts: Floats) -> None:
        if not self._values.size or not values.size:
            if values.size:
                self._values, self._counts = values, counts
            return
        joined = np.concatenate([self._values, values])
        order = np.argsort(joined, kind="stable")
        self._values, self._counts = _distinct(
            joined[order], np.concatenate([self._counts, counts])[order]
        )

    def distinct(self) -> tuple[Floats, Floats]:
        """Return the distinct scores, ascending, and the weight of each."""
        if self._values.size:
            self.compress()
            return self._values, self._counts
        if not self._rows:
            return np.empty(0), np.empty(0)
        scores, weights = joined_by_number(self._rows)
        if not weights.size:
            scores = scores.copy()
            kernels.sort_in_place(scores)
            return _distinct(scores, weights)
        order = np.argsort(scores, kind="stable")
        return _distinct(scores[order], weights[order])


@dataclass(frozen=True, eq=False)
class CountIntoCells(Step):
    """Sum the weight of a class in cells between edges, and find the lowest score in each.

    Sums are compensated.
    """

    take: int
    edges: Floats
    has_weights: bool

    @property
    def is_exact(self) -> bool:
        """Counts are; compensated sums are not where weights differ by 2^53."""
        return not self.has_weights

    @property
    def key(self) -> Hashable:
        return ("cells", self.take, self.edges.size, kernels.checksum(self.edges))

    def prepare(self) -> Any:
        return kernels.bucket_grid(self.edges)

    def start(self) -> tuple[Floats, Floats]:
        n_cells = 2 * self.edges.size + 2  # the last takes what is passed over
        return np.zeros((n_cells, 2 if self.has_weights else 1)), np.full(n_cells, np.inf)

    def add(self, accumulator: tuple[Floats, Floats], prepared: Any, part: Part) -> Any:
        predictions = part.predictions
        weights = predictions.weights
        if self.has_weights and not weights.size:
            weights = np.ones(len(predictions))
        kernels.count_into_cells(
            predictions._kernel_scores,
            weights,
            prepared,
            self.take,
            predictions.labels,
            *accumulator,
        )
        return accumulator

    def merge(self, one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> Any:
        kernels.add_cells(one[0], other[0][None])
        np.minimum(one[1], other[1], out=one[1])
        return one

    def finish(self, accumulator: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        cells, lowest = accumulator
        if not self.has_weights:
            return cells[:-1, 0], lowest[:-1]
        total, left_over = cells[:-1].T
        # of sums beyond the largest float nothing is left over
        return np.where(np.isfinite(left_over), total + left_over, total), lowest[:-1]


def _fit(data: Data) -> Plan[PavBlocks]:
    if data.has_weights:
        return (yield from rank_cells(data)).blocks
    column = ScoresByClass()

    def needed(counted: Counted, sums: Floats) -> NDArray[np.bool_]:
        undecided = kernels.find_undecided(counted.counts)
        return undecided & np.isnan(_known_starts(counted))

    counted, _, flags = yield from count_until_few(column, data, needed)
    picked = yield from pick(column, data, counted, flags)
    kernels.sort_in_place(*picked)
    undecided = kernels.find_undecided(counted.counts) if counted.lowest.size else flags
    known = _known_starts(counted) if counted.lowest.size else np.empty(0)
    lowest, negatives, positives = kernels.pool_buckets(counted.counts, undecided, known, *picked)
    return PavBlocks(lowest, negatives, positives, data.given_priors)


def _known_starts(counted: Counted) -> Floats:
    """Return the lowest score of the buckets that no block divides, as is known; nan for others."""
    if not counted.lowest.size:
        return np.full(counted.places.size, np.nan)
    is_of_one_class = (counted.counts == 0).any(axis=1)
    return np.where(counted.are_alike | is_of_one_class, counted.lowest, np.nan)


@dataclass(frozen=True, eq=False)
class HighestInSteps(Step):
    """Find the highest score in each step: before the first edge, and from each edge on."""

    edges: Floats

    is_exact = True

    @property
    def key(self) -> Hashable:
        return ("highest in steps", self.edges.tobytes())

    def prepare(self) -> Any:
        return kernels.bucket_grid(self.edges)

    def start(self) -> Floats:
        return np.full(self.edges.size + 1, -np.inf)

    def add(self, accumulator: Floats, prepared: Any, part: Part) -> Floats:
        predictions = part.predictions
        kernels.highest_in_steps(
            predictions._kernel_scores, predictions.weights, prepared, accumulator
        )
        return accumulator

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.maximum(one, other, out=one)


def _distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, and the weight of each."""
    if not values.size:
        return values, values
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weights.size:
        return values[starts], np.add.reduceat(weights, starts)
    return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64)
