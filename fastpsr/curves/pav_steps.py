"""Steps of an isotonic fit, for reliability diagrams and plots of the PAV map."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.counts import begin, count, takes_predictions
from fastpsr.counts.ranks import RankTable, pav_blocks
from fastpsr.counts.roc import PavBlocks, require_both_classes
from fastpsr.counts.scores import HighestInSteps
from fastpsr.curves.at_points import AtPoints
from fastpsr.data import Data, Floats, Kind
from fastpsr.data.one_class import one_against_rest
from fastpsr.errors import ArgumentError
from fastpsr.metrics.ranks import PavStatistic
from fastpsr.results import Result

_MOST_STEPS = 100  # whose ends are points by default


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
        return kernels.log_space.sigmoid(self.log_odds)

    @property
    def forecast(self) -> tuple[Floats, Floats]:
        """Lowest and highest input posterior in each step, shape (B,) each."""
        lowest, highest = self.lowest + self.score_log_odds, self.highest + self.score_log_odds
        return kernels.log_space.sigmoid(lowest), kernels.log_space.sigmoid(highest)

    def score_of(self, posterior: Floats) -> Floats:
        """Return posteriors of class 1, converted to scores."""
        return kernels.log_space.log_odds_from_posteriors(posterior) - self.score_log_odds


@takes_predictions
def pav_steps(predictions: Data, *, class_: int | str | None = None) -> PavSteps:
    """Return the steps of the isotonic fit to binary predictions.

    Parameters
    ----------
    predictions : Predictions
        Labeled, of any kind.
    class_ : int or str, optional
        The positive class, by its number, 0 to K-1, or its label, scored by the log-odds of its
        posterior; required for more than two classes.

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
    begin(predictions)
    data = one_against_rest(predictions, class_)
    checks.check_binary("isotonic fits", data.n_classes, takes_class=True)
    begin(data)
    given_priors = data.given_priors
    if given_priors is not None and not given_priors.all():
        raise ArgumentError(
            "priors", f"must be positive for isotonic fits, not {given_priors.tolist()}"
        )
    require_both_classes("isotonic fits", data.class_weights)
    blocks = pav_blocks(data)
    highest = count(HighestInSteps(blocks.lowest[1:]).over(data))
    # frequencies may underflow
    weights = data.class_weights if given_priors is None else given_priors
    offset = float("nan") if data.kind == "raw scores" else data.log_odds_offset
    return PavSteps(
        blocks.lowest, highest, blocks.log_odds, blocks.negatives, blocks.positives,
        float(np.log(weights[1]) - np.log(weights[0])), offset, data.kind,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PavMap(Result):
    """A PAV fit to the evaluated data, at given scores.

    Attributes
    ----------
    score : ndarray of float64, shape (P,)
        Log-odds for posteriors, LLRs for likelihoods, or raw scores; in the order of the input.
    forecast : ndarray of float64, shape (P,)
        Input posterior of class 1 at each score; nan for raw scores.
    llr : ndarray of float64, shape (P,)
        Calibrated LLR, natural logarithm, of the last step whose lowest score is not above
        `score`, for lower scores of the first step; infinite in steps of one class.
    posterior : ndarray of float64, shape (P,)
        Calibrated posterior of class 1 (frequency), as ``PavPosterior(score)``.
    """

    score: Floats
    forecast: Floats
    llr: Floats
    posterior: Floats


def pav_steps_at(data: Data, points: ArrayLike | None) -> AtPoints:
    """Return the isotonic fit at scores, by default at and between the ends of its steps."""
    steps = pav_steps(data)
    scores = checks.as_floats("points", _points(steps) if points is None else points, 1)
    checks.require("points", scores, -np.inf, np.inf, "be scores, not nan")
    make = partial(PavMap, scores, kernels.log_space.sigmoid(scores + steps.score_log_odds))
    return AtPoints(make, {"llr": _Llrs(scores), "posterior": _Posteriors(scores)})


def _points(steps: PavSteps) -> Floats:
    """Return the ends of steps, and scores between them at equal distances.

    The steps are 100 evenly among all. Between are 201 scores, and those of 199 posteriors.
    """
    last = steps.lowest.size - 1
    places = np.unique(np.linspace(0, last, min(last + 1, _MOST_STEPS)).round().astype(np.int64))
    ends = np.union1d(steps.lowest[places], steps.highest[places])
    finite = ends[np.isfinite(ends)]
    between = [np.linspace(finite[0], finite[-1], 201)] if finite.size else []
    if steps.kind != "raw scores":
        between.append(steps.score_of(np.arange(1, 200) / 200))
    inner = np.concatenate([ends, *between])
    return np.unique(inner[(inner >= ends[0]) & (inner <= ends[-1])])


@dataclass(frozen=True, eq=False)
class _Llrs(PavStatistic[Floats]):
    """LLRs of the isotonic fit at scores."""

    scores: Floats

    label = "isotonic fit"

    def finish(self, summary: PavBlocks | RankTable) -> Floats:
        blocks = summary.blocks
        totals = blocks.class_totals("isotonic fits")
        logs = checks.log_of_rows(blocks.positives) - checks.log_of_rows(blocks.negatives)
        llrs = logs - (np.log(totals[1]) - np.log(totals[0]))
        return np.asarray(llrs[blocks.steps_at(self.scores)])


@dataclass(frozen=True, eq=False)
class _Posteriors(PavStatistic[Floats]):
    """Posteriors of the isotonic fit at scores."""

    scores: Floats

    label = "isotonic fit"

    def finish(self, summary: PavBlocks | RankTable) -> Floats:
        return summary.blocks.posteriors_at(self.scores)
