"""Isotonic calibration by pool adjacent violators."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.base import (
    Calibrator,
    check_floor,
    clip_log_odds,
    log_odds_of,
    prior_log_odds,
    require_fitted,
)
from fastpsr.calibration.folds import Plan
from fastpsr.calibration.step_sums import step_summands
from fastpsr.plans import run
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.rank_cells import RankCells, pav_blocks
from fastpsr.summaries.summands import Summands

__all__ = ["PAV"]


@dataclass(frozen=True, eq=False)
class PAV(Calibrator):
    """The non-decreasing step function that is best on its training data, for every rule at once.

    Binary tasks only. The posterior of a block is the (weighted) frequency of class 1 in it, also
    in the end blocks, where it may be 0 or 1. Trained on the data that it is evaluated on, it
    bounds what any monotone calibration could reach, and overfits (the paper's section 2.4.2).

    Parameters
    ----------
    floor : float
        Calibrated posteriors are clipped to [floor, 1 - floor]; by default not at all.

    Attributes
    ----------
    threshold_ : ndarray of float64, shape (B,)
        Lowest training score of each block, ascending: log-odds for posterior input, else LLRs or
        raw scores. A score belongs to the last block whose threshold it reaches; scores below the
        first belong to the first.
    posterior_ : ndarray of float64, shape (B,)
        Posterior of class 1 in each block, at the training prior.
    log_odds_ : ndarray of float64, shape (B,)
        Its log-odds, which stay exact near 1.
    prior_log_odds_ : float
        What turns log-odds into LLRs; 0 for posterior input.

    Notes
    -----
    Equal scores share a block. Weight is repetition. O(N) and a sort of the smaller class.

    References
    ----------
    Ayer et al. (1955), doi:10.1214/aoms/1177728423.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 1, 0, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> pav = fp.PAV().fit(data)
    >>> pav.threshold_.tolist(), pav.posterior_.tolist()
    ([1.0, 2.0, 4.0], [0.0, 0.5, 1.0])
    """

    floor: float = 0.0
    threshold_: Floats = field(init=False, repr=False)
    posterior_: Floats = field(init=False, repr=False)
    log_odds_: Floats = field(init=False, repr=False)
    prior_log_odds_: float = field(init=False, repr=False)
    binary_only = True
    fitted_names = ("threshold_", "posterior_", "log_odds_", "prior_log_odds_")

    def __post_init__(self) -> None:
        check_floor(self.floor)

    def check_fitted(self) -> None:
        threshold, posterior, log_odds = self.threshold_, self.posterior_, self.log_odds_
        require_fitted(
            "threshold_", np.size(threshold) > 0 and np.all(threshold[1:] > threshold[:-1])
        )
        require_fitted("posterior_", np.shape(posterior) == np.shape(threshold))
        require_fitted("posterior_", np.all((posterior >= 0.0) & (posterior <= 1.0)))
        require_fitted("log_odds_", np.shape(log_odds) == np.shape(threshold))
        require_fitted("log_odds_", not np.isnan(log_odds).any())
        require_fitted("threshold_", not np.isnan(threshold).any())
        require_fitted("prior_log_odds_", np.isfinite(self.prior_log_odds_))

    def refit_summands(
        self, rule: ScoringRule, plan: Plan, predictions: Predictions
    ) -> Summands | None:
        if predictions.n_classes > 2 or not predictions.class_weights.all():
            return None
        cells = RankCells.of(predictions)
        # steps begin at targets, so cells between targets are never divided
        if plan.trains.shape[0] > 1 and not np.array_equal(
            np.flatnonzero(cells.positives), 2 * np.arange(cells.edges.size) + 1
        ):
            return None

        def levels(negatives: Floats, positives: Floats) -> Floats:
            starts = kernels.pool_adjacent_violators(negatives, positives)
            log_odds = log_odds_of(np.add.reduceat(positives, starts),
                                   np.add.reduceat(negatives, starts))  # fmt: skip
            block = np.zeros(negatives.size, np.int64)
            block[starts[1:]] = 1
            return clip_log_odds(log_odds, self.floor)[np.cumsum(block)]

        return step_summands(
            f"PAV {self.floor}", rule, plan, predictions,
            lambda: kernels.cell_numbers(predictions.scores, cells.edges), cells.lowest.size,
            levels,
        )  # fmt: skip

    def _fit(self, samples: Predictions, start: Self | None) -> dict[str, Any]:
        blocks = run(lambda: pav_blocks(samples))
        below, above = blocks.at_priors()  # which do not change the order of odds
        above = np.where(below + above > 0.0, above, blocks.positives)  # priors that underflow
        return {
            "threshold_": blocks.lowest,
            "posterior_": above / (below + above),
            "log_odds_": log_odds_of(above, below),
            "prior_log_odds_": prior_log_odds(samples),
        }

    def _transform(self, predictions: Predictions) -> Predictions:
        levels = clip_log_odds(self.log_odds_, self.floor) - self.prior_log_odds_
        values = kernels.step_function(predictions.scores, self.threshold_[1:], levels)
        return predictions.replace_scores(self.output_kind, values)
