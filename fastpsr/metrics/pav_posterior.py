"""The value of an isotonic fit at one score, as a metric, so that it can be bootstrapped."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.counts.ranks import RankTable
from fastpsr.counts.roc import PavBlocks
from fastpsr.data import Data
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric
from fastpsr.metrics.ranks import PavStatistic


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
        Posterior of the last step whose lowest score is not above `score`; for lower scores that of
        the first step.

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

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(-1.0), cls(0.5), cls(float("-inf"))]

    def finish(self, summary: PavBlocks | RankTable) -> float:
        posterior = float(summary.blocks.posteriors_at(np.array([self.score]))[0])
        if np.isnan(posterior):
            raise ArgumentError(
                "priors", "must be positive for isotonic fits: a step weighs nothing"
            )
        return posterior
