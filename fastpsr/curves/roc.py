"""The ROC and its convex hull."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.plans import Data, Plan, begin, check_data, run
from fastpsr.predictions import Floats
from fastpsr.results import Result
from fastpsr.summaries.rank_cells import RankCells, rank_cells
from fastpsr.summaries.roc_steps import error_rates

__all__ = ["Roc", "roc", "roc_plan"]


@dataclass(frozen=True, eq=False)
class Roc(Result):
    """Error rates at thresholds: a score at or above the threshold is accepted.

    Attributes
    ----------
    threshold : ndarray of float64, shape (V,)
        Ascending thresholds on the scores of the predictions (LLRs, log-odds or raw scores). At the
        last one, inf, no sample is accepted, not even one with score inf.
    p_miss : ndarray of float64, shape (V,)
        Fraction of the targets' weight below each threshold, 0 to 1.
    p_fa : ndarray of float64, shape (V,)
        Fraction of the non-targets' weight at or above each threshold, 1 to 0.
    hull : ndarray of int64, shape (H,)
        Indices of the vertices of the lower convex hull of (p_fa, p_miss), ends included.

    Notes
    -----
    Scores of the larger class with no score of the smaller class between them form one step. The
    corners of the curve are exact, and no omitted point could be a vertex of the hull.
    """

    threshold: Floats
    p_miss: Floats
    p_fa: Floats
    hull: NDArray[np.int64]

    def _columns(self) -> dict[str, Any]:
        """Return the points, and whether each is a vertex of the hull."""
        on_hull = np.zeros(self.threshold.size, bool)
        on_hull[self.hull] = True
        return {
            "threshold": self.threshold,
            "p_miss": self.p_miss,
            "p_fa": self.p_fa,
            "on_hull": on_hull,
        }

    @classmethod
    def of(cls, cells: RankCells) -> Self:
        """Return the ROC of rank cells."""
        cells.class_totals("error rates")
        filled = np.flatnonzero((cells.negatives > 0.0) | (cells.positives > 0.0))
        negatives, positives = cells.negatives[filled], cells.positives[filled]
        p_miss, p_fa = error_rates(negatives, positives)
        threshold = np.append(cells.lowest[filled], np.inf)
        blocks = kernels.pool_adjacent_violators(negatives, positives)
        return cls(threshold, p_miss, p_fa, np.append(blocks, filled.size))


def roc(predictions: Data) -> Roc:
    """Return the ROC of binary predictions, with its convex hull.

    Parameters
    ----------
    predictions : Predictions
        Labeled, of any kind: posteriors, likelihoods or raw scores.

    Returns
    -------
    Roc

    Raises
    ------
    ValueError
        For more than 2 classes, or if a class has no samples.

    Notes
    -----
    The ranks of the scores are computed once and shared by all metrics that use them.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    >>> curve = fp.roc(data)
    >>> curve.threshold.tolist(), curve.p_miss.tolist(), curve.p_fa.tolist()
    ([1.0, 2.0, 3.0, 4.0, inf], [0.0, 0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.5, 0.0, 0.0])
    >>> curve.hull.tolist()
    [0, 1, 3, 4]
    """
    check_data(predictions)
    return run(lambda: roc_plan(predictions))


def roc_plan(data: Data) -> Plan[Roc]:
    """Plan: request the rank cells, and return the ROC."""
    yield from begin(data)
    return Roc.of((yield from rank_cells(data)))
