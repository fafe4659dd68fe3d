"""Metrics that depend on the order of the scores alone, and their base classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts.ranks import RankTable, pav_blocks, rank_sums
from fastpsr.counts.roc import PavBlocks
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric, Statistic, Summary, Value


class RankStatistic(Statistic[Summary, Value]):
    """A statistic of ranks: by default of the runs of scores of one class."""

    #: What the ranks tell apart, a `Resolution`: an attribute, or a property.
    resolution: Any = "runs"

    def sums(self, data: Data) -> Sums | None:
        return rank_sums(data, self.resolution)


class HullStatistic(RankStatistic[PavBlocks | RankTable, Value]):
    """A statistic of the isotonic fit, whose blocks are found faster than runs."""

    def total(self, data: Data) -> PavBlocks | RankTable:
        return pav_blocks(data)


class PavStatistic(HullStatistic[Value]):
    """A statistic of the isotonic fit at given scores: in a replicate a block begins at one."""

    resolution = "cells"


class RankMetric(RankStatistic[Summary, float], Metric[Summary]):
    """A metric that depends only on the order of the scores."""

    binary_only = True

    _takes = "scores"

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        scores = checks.read("scores", x)
        is_posteriors = scores.ndim == 2 and scores.shape[1] > 1  # of all classes
        make = Predictions.from_posteriors if is_posteriors else Predictions.from_raw_scores
        return make(y_true, scores if isinstance(x, (list, tuple)) else x, **options)


class HullMetric(HullStatistic[float], RankMetric[PavBlocks | RankTable]):
    """A metric of the convex hull of the ROC."""


@dataclass(frozen=True, eq=False)
class PavPosterior(PavStatistic[float], Metric[PavBlocks | RankTable]):
    """Posterior of class 1 at one score after PAV, trained on the evaluated data.

    With :func:`fastpsr.bootstrap` it gives the confidence band of a reliability diagram.

    Parameters
    ----------
    score : float
        Log-odds for posteriors, LLR for likelihoods, or raw score.

    Returns
    -------
    float
        Posterior of the last step whose lowest score is not above `score`; for lower scores of the
        first step.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.9])
    >>> fp.PavPosterior(-0.5)(data)
    0.5
    """

    score: float

    def __post_init__(self) -> None:
        score = checks.as_number("score", self.score)
        if np.isnan(score):
            raise ArgumentError("score", f"must be a number, not {self.score!r}")
        object.__setattr__(self, "score", score)

    @property
    def label(self) -> str:
        return f"PAV({self.score:.4g})"

    meaning = "posterior of class 1 after PAV, trained on the same data"
    unit = "probability"
    value_range = (0.0, 1.0)
    binary_only = True

    example_arguments = ((-1.0,), (0.5,), (float("-inf"),))

    def finish(self, summary: PavBlocks | RankTable) -> float:
        posterior = float(summary.blocks.posteriors_at(np.array([self.score]))[0])
        if np.isnan(posterior):
            raise ArgumentError(
                "priors", "must be positive for isotonic fits: a step weighs nothing"
            )
        return posterior
