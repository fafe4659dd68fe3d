"""Blocks of the isotonic fit: all that the convex hull of a ROC needs."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.kernels import blocks
from fastpsr.predictions import Floats, class_factors

__all__ = ["ClassTotals", "PavBlocks", "require_both_classes"]

_FEWEST_BUCKETS, _MOST_BUCKETS = 1 << 8, 1 << 16  # the counts of which stay in the cache
_PER_BUCKET = 16  # samples, of which few are then sorted
_SAMPLED = 1 << 14  # scores that tell the range of all
_OUTSIDE = 1000  # one sampled score in so many lies in the first or the last bucket


class ClassTotals:
    """What rank cells and PAV blocks know of the two classes."""

    negatives: Floats
    positives: Floats

    def class_totals(self, what: str) -> Floats:
        """Return the total weight of class 0 and class 1, after checking that neither is absent."""
        totals = np.array([self.negatives.sum(), self.positives.sum()])
        require_both_classes(what, totals)
        return totals


@dataclass(frozen=True, eq=False)
class PavBlocks(ClassTotals):
    """Weights of both classes in the blocks of the isotonic fit, from low scores to high.

    Attributes
    ----------
    lowest : ndarray of float64, shape (B,)
        Lowest score in each block.
    negatives, positives : ndarray of float64, shape (B,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None

    Notes
    -----
    Blocks' ends are the vertices of the ROC's convex hull, whatever the classes weigh. Blocks of
    parts do not make blocks of the whole: only rank cells merge.
    """

    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None

    @classmethod
    def of_scores(cls, scores: Floats, y: NDArray[Any], given_priors: Floats | None) -> Self:
        """Fit scores that count alike, labeled 0 or 1; most are counted and not sorted."""
        low, per_unit, n_buckets = _grid(scores)
        by_part = kernels.count_into_buckets(scores, y, low, per_unit, n_buckets)
        counts = by_part.sum(axis=0)
        undecided = kernels.find_undecided(counts)
        picked = kernels.pick_from_buckets(scores, y, low, per_unit, by_part, undecided)
        blocks.sort_in_place(*picked)
        lowest, negatives, positives = kernels.pool_buckets(counts, undecided, *picked)
        return cls(lowest, negatives, positives, given_priors)

    @classmethod
    def of_cells(
        cls, lowest: Floats, negatives: Floats, positives: Floats, given_priors: Floats | None
    ) -> Self:
        """Pool cells, which come in the order of their scores."""
        starts = kernels.pool_adjacent_violators(negatives, positives)
        return cls(
            lowest[starts],
            np.add.reduceat(negatives, starts),
            np.add.reduceat(positives, starts),
            given_priors,
        )

    @property
    def blocks(self) -> Self:
        """Themselves: a metric asks ranks of either kind for their blocks."""
        return self

    @cached_property
    def hull(self) -> tuple[Floats, Floats]:
        """Miss and false-alarm rates at the vertices of the ROC's convex hull, (0, 1) first."""
        totals = self.class_totals("error rates")
        p_miss = np.concatenate([[0.0], np.cumsum(self.positives) / totals[1]])
        p_fa = np.concatenate([np.cumsum(self.negatives[::-1])[::-1] / totals[0], [0.0]])
        p_miss[-1] = p_fa[0] = 1.0  # not 1 - rounding
        return p_miss, p_fa

    def at_priors(self) -> tuple[Floats, Floats]:
        """Return the weights of class 0 and class 1 with given priors worked in."""
        if self.given_priors is None:
            return self.negatives, self.positives
        totals = np.array([self.negatives.sum(), self.positives.sum()])
        factors = class_factors(totals, self.given_priors)
        return self.negatives * factors[0], self.positives * factors[1]


def require_both_classes(what: str, totals: Floats) -> None:
    """Raise where a class has no weight."""
    absent = np.flatnonzero(totals == 0.0)
    if absent.size:
        name = "targets" if absent[0] == 1 else "non-targets"
        raise ValueError(
            f"y_true must have both classes for {what}, but there are no {name} of positive weight"
        )


def _grid(scores: Floats) -> tuple[float, float, int]:
    """Return (low, per_unit, n_buckets) of buckets of equal width that divide nearly all scores."""
    wanted = scores.size // _PER_BUCKET
    n_buckets = 1 << min(max(wanted, _FEWEST_BUCKETS), _MOST_BUCKETS).bit_length() - 1
    sampled = scores[:: max(1, scores.size // _SAMPLED)]
    sampled = np.sort(sampled[np.isfinite(sampled)])
    outside = sampled.size // _OUTSIDE
    if sampled.size:
        low, high = float(sampled[outside]), float(sampled[-1 - outside])
        if 0.0 < high - low < np.inf and n_buckets / (high - low) < np.inf:
            return low, n_buckets / (high - low), n_buckets
    return 0.0, 0.0, n_buckets  # all in the first
