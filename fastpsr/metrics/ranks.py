"""Base classes of statistics that depend only on the order of the scores."""

from typing import Any

from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts.ranks import RankTable, pav_blocks, rank_sums
from fastpsr.counts.roc import PavBlocks
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Predictions
from fastpsr.metrics.base import Metric, Statistic, Summary, Value


class RankStatistic(Statistic[Summary, Value]):
    """A statistic of the runs of scores of one class."""

    def sums(self, data: Data) -> Sums | None:
        return rank_sums(data, "runs")


class HullStatistic(RankStatistic[PavBlocks | RankTable, Value]):
    """A statistic of the isotonic fit, whose blocks are found faster than runs."""

    def total(self, data: Data) -> PavBlocks | RankTable:
        return pav_blocks(data)


class PavStatistic(HullStatistic[Value]):
    """A statistic of the isotonic fit at given scores: in a replicate a block begins at one."""

    def sums(self, data: Data) -> Sums | None:
        return rank_sums(data, "cells")


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
