"""Steps of an isotonic fit, for reliability diagrams and plots of the PAV map."""

from dataclasses import dataclass

import numpy as np

from fastpsr import checks, kernels
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Plan, begin, check_data, run
from fastpsr.predictions import Floats, Kind
from fastpsr.results import Result
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.rank_cells import HighestInSteps, pav_blocks

__all__ = ["PavSteps", "pav_steps", "pav_steps_plan"]


@dataclass(frozen=True, eq=False)
class PavSteps(Result):
    """The steps of a PAV fit to the evaluated data, in ascending order.

    Attributes
    ----------
    lowest, highest : ndarray of float64, shape (B,)
        Lowest and highest score in each step: log-odds for posteriors, LLRs for likelihoods, or raw
        scores. May be infinite.
    log_odds : ndarray of float64, shape (B,)
        Calibrated log-odds of class 1 in each step, at the priors of the evaluation; infinite in
        steps with samples of one class only.
    negatives, positives : ndarray of float64, shape (B,)
        Total sample weight of each class in each step, without adjustment to given priors.
    prior_log_odds : float
        Log-odds of the prior of the evaluation: log-odds minus this are LLRs.
    score_log_odds : float
        Log-odds minus score: 0 for posteriors, nan for raw scores.
    kind : {"posteriors", "likelihoods", "raw scores"}
        Kind of the scores.
    """

    lowest: Floats
    highest: Floats
    log_odds: Floats
    negatives: Floats
    positives: Floats
    prior_log_odds: float
    score_log_odds: float
    kind: Kind

    @property
    def llr(self) -> Floats:
        """Calibrated LLRs of the steps, shape (B,)."""
        return self.log_odds - self.prior_log_odds

    @property
    def posterior(self) -> Floats:
        """Calibrated posteriors of class 1 of the steps (frequencies), shape (B,)."""
        return kernels.sigmoid(self.log_odds)

    @property
    def forecast(self) -> tuple[Floats, Floats]:
        """Lowest and highest input posterior in each step, shape (B,) each."""
        lowest, highest = self.lowest + self.score_log_odds, self.highest + self.score_log_odds
        return kernels.sigmoid(lowest), kernels.sigmoid(highest)

    def score_of(self, posterior: Floats) -> Floats:
        """Return posteriors of class 1, converted to scores."""
        return kernels.log_odds_from_posteriors(posterior) - self.score_log_odds


def pav_steps(predictions: Data) -> PavSteps:
    """Return the steps of the isotonic fit to binary predictions.

    Parameters
    ----------
    predictions : Predictions
        Labeled, of any kind.

    Returns
    -------
    PavSteps

    Raises
    ------
    ValueError
        For more than 2 classes, a class without samples, or a prior of 0.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. Jordan, "Stable reliability diagrams for probabilistic
    classifiers", PNAS 118, 2021, doi:10.1073/pnas.2016191118.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.9])
    >>> steps = fp.pav_steps(data)
    >>> steps.posterior.tolist(), steps.forecast[1].round(4).tolist()
    ([0.0, 0.5, 1.0], [0.1, 0.4, 0.9])
    """
    check_data(predictions)
    return run(lambda: pav_steps_plan(predictions))


def pav_steps_plan(data: Data) -> Plan[PavSteps]:
    """Plan: request the isotonic fit and the highest score in each step, and return the steps."""
    yield from begin(data)
    checks.check_binary("isotonic fits", data.n_classes)
    given = data.given_priors
    if given is not None and not given.all():
        raise ArgumentError("priors", f"must be positive for isotonic fits, not {given.tolist()}")
    require_both_classes("isotonic fits", data.class_weights)
    blocks = yield from pav_blocks(data)
    (highest,) = yield [HighestInSteps(blocks.lowest[1:]).over(data)]
    # not from frequencies, which may underflow
    weights = data.class_weights if given is None else given
    offset = float("nan") if data.kind == "raw scores" else data.log_odds_offset
    return PavSteps(
        blocks.lowest, highest, blocks.log_odds, blocks.negatives, blocks.positives,
        float(np.log(weights[1]) - np.log(weights[0])), offset, data.kind,
    )  # fmt: skip
