"""Rank cells: all that matters where only the order of binary scores does."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.kernels import blocks
from fastpsr.plans import Collect, Data, Part, Plan, Shared
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.merging import require_same
from fastpsr.summaries.pav_blocks import ClassTotals, PavBlocks
from fastpsr.summaries.summands import Summands

__all__ = ["CellSummands", "RankCells", "cell_summands", "pav_blocks", "rank_cells"]

_SORTING_WINS = 1 / 16  # share of the minority from which sorting both classes beats looking up


@dataclass(frozen=True, eq=False)
class RankCells(ClassTotals):
    """Weights of both classes in cells between and at the distinct scores of the minority.

    Attributes
    ----------
    edges : ndarray of float64, shape (m,)
        Distinct scores of the smaller class, ascending. Cell 2 j + 1 is the score ``edges[j]``,
        cell 2 j lies between ``edges[j - 1]`` and ``edges[j]``.
    lowest : ndarray of float64, shape (2 m + 1,)
        Lowest score in each cell, inf where it is empty.
    negatives, positives : ndarray of float64, shape (2 m + 1,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None

    Notes
    -----
    Equal scores share a cell. No block of an isotonic fit, and no vertex of a ROC hull, splits a
    run of samples of one class, so nothing that depends on ranks alone is lost.
    """

    edges: Floats
    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None

    @classmethod
    def of(cls, predictions: Predictions) -> Self:
        """Count labeled binary predictions in memory into cells on their scale."""
        scores, y, weights = predictions.scores, predictions.labels, predictions.weights
        n_positive = int(np.count_nonzero(y))
        minority = int(n_positive <= y.size - n_positive)
        n_members = min(n_positive, y.size - n_positive)
        if not weights.size and n_members > _SORTING_WINS * y.size:
            by_class = kernels.split_by_class(scores, y)
            blocks.sort_in_place(*by_class)
            edges, own = _distinct(by_class[minority], weights)
            totals, lowest = kernels.merge_into_cells(by_class[1 - minority], edges)
            del by_class  # cells of classes of like size are many
        else:
            members = np.flatnonzero(y == minority)  # few: faster than picking by a mask
            if weights.size:
                members = members[weights[members] > 0.0]
                members = members[np.argsort(scores[members], kind="stable")]
                edges, own = _distinct(scores[members], weights[members])
            else:
                edges, own = _distinct(np.sort(scores[members]), weights)
            totals, lowest = kernels.count_into_cells(scores, weights, edges, 1 - minority, y)
        of_minority = np.zeros(totals.size)
        of_minority[1::2] = own
        lowest[1::2] = edges
        negatives, positives = (totals, of_minority) if minority else (of_minority, totals)
        return cls(edges, lowest, negatives, positives, predictions.given_priors)

    @cached_property
    def blocks(self) -> PavBlocks:
        """The blocks of the isotonic fit."""
        return PavBlocks.of_cells(self.lowest, self.negatives, self.positives, self.given_priors)

    def merge(self, other: Self) -> Self:
        """Return the cells of both sets of samples, which must have been counted on one grid."""
        require_same("edges", self.edges, other.edges)
        require_same("given priors", self.given_priors, other.given_priors)
        return type(self)(
            self.edges,
            np.minimum(self.lowest, other.lowest),
            self.negatives + other.negatives,
            self.positives + other.positives,
            self.given_priors,
        )


@dataclass(frozen=True, eq=False)
class CellSummands(Summands):
    """Samples grouped by class and rank cell: cells of class 0, then those of class 1."""

    edges: Floats
    lowest: Floats
    given_priors: Floats | None
    known_counts: NDArray[np.int64] | None

    stream = ("rank cells",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Twice the number of cells."""
        return 2 * self.lowest.size

    @property
    def key(self) -> Hashable:
        return "rank cells"

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        predictions = part.predictions
        places = kernels.cell_numbers(predictions.scores, self.edges)
        places[predictions.labels != 0] += self.lowest.size
        return np.asarray(places)

    def assemble(self, weight: Floats, sums: Floats) -> RankCells:
        n_cells = self.lowest.size
        return RankCells(
            self.edges, self.lowest, weight[:n_cells], weight[n_cells:], self.given_priors
        )


def rank_cells(data: Data) -> Plan[RankCells]:
    """Ask for the rank cells of labeled binary data, counted once for all who ask."""
    if data.n_classes > 2:
        raise ValueError(f"ranks need a binary task, not {data.n_classes} classes")
    (cells,) = yield [Shared("rank cells", data, lambda: _count_cells(data))]
    found: RankCells = cells
    return found


def cell_summands(data: Data) -> Plan[CellSummands]:
    """Ask for the rank cells, and return what they add up."""
    cells = yield from rank_cells(data)
    counts = None
    if not data.has_weights:
        counts = np.concatenate([cells.negatives, cells.positives]).astype(np.int64)
    return CellSummands(cells.edges, cells.lowest, data.given_priors, counts)


def pav_blocks(data: Data) -> Plan[PavBlocks]:
    """Ask for the isotonic fit of labeled binary data, made once for all who ask."""
    if data.n_classes > 2:
        raise ValueError(f"ranks need a binary task, not {data.n_classes} classes")
    (blocks,) = yield [Shared("PAV blocks", data, lambda: _fit(data))]
    found: PavBlocks = blocks
    return found


def _count_cells(data: Data) -> Plan[RankCells]:
    (samples,) = yield [Collect().over(data)]
    return RankCells.of(samples)


def _fit(data: Data) -> Plan[PavBlocks]:
    if data.has_weights:
        return (yield from rank_cells(data)).blocks
    (samples,) = yield [Collect().over(data)]
    return PavBlocks.of_scores(samples.scores, samples.labels, samples.given_priors)


def _distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, and the weight of each."""
    if not values.size:
        return values, values
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weights.size:
        return values[starts], np.add.reduceat(weights, starts)
    return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64)
