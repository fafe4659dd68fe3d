"""Rank cells: all that matters where only the order of binary scores does."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.kernels import blocks
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.merging import require_same
from fastpsr.summaries.pav_blocks import ClassTotals, PavBlocks
from fastpsr.summaries.summands import Summands

__all__ = ["RankCells", "pav_blocks"]

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
        """Count labeled binary predictions into cells on their scale, once for all who ask."""
        cells: Self = predictions.remember("rank cells", lambda: cls._count(predictions))
        return cells

    @classmethod
    def _count(cls, predictions: Predictions) -> Self:
        if predictions.n_classes > 2:
            raise ValueError(f"ranks need a binary task, not {predictions.n_classes} classes")
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

    @classmethod
    def summands(cls, predictions: Predictions) -> Summands:
        """Return what the cells add up: cells of class 0, then those of class 1."""
        cells = cls.of(predictions)
        n_cells = cells.negatives.size

        def groups() -> NDArray[Any]:
            places = kernels.cell_numbers(predictions.scores, cells.edges)
            places[predictions.labels != 0] += n_cells
            return np.asarray(places)

        def assemble(weight: Floats, _: Floats) -> "RankCells":
            return cls(cells.edges, cells.lowest, weight[:n_cells], weight[n_cells:],
                       cells.given_priors)  # fmt: skip

        counts = None
        if not predictions.weights.size:
            counts = np.concatenate([cells.negatives, cells.positives]).astype(np.int64)
        return Summands("rank cells", 2 * n_cells, 2, groups, assemble, known_counts=counts)

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


def pav_blocks(predictions: Predictions) -> PavBlocks:
    """Return the isotonic fit of labeled binary predictions, made once for all who ask."""

    def fit() -> PavBlocks:
        if predictions.n_classes > 2 or predictions.weights.size:
            return RankCells.of(predictions).blocks
        return PavBlocks.of_scores(predictions.scores, predictions.labels, predictions.given_priors)

    fitted: PavBlocks = predictions.remember("PAV blocks", fit)
    return fitted


def _distinct(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct ones of sorted values, and the weight of each."""
    if not values.size:
        return values, values
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    if weights.size:
        return values[starts], np.add.reduceat(weights, starts)
    return values[starts], np.diff(np.append(starts, values.size)).astype(np.float64)
