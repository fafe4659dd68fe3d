"""Empirical lower and upper bounds of LLRs (ELUB)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.calibration.base import require_weights
from fastpsr.counts import begin, count
from fastpsr.counts.ranks import distinct_scores
from fastpsr.counts.scores import ClassCounts
from fastpsr.data import Data, Floats, check_data
from fastpsr.errors import ArgumentError
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class LLRBounds(Result):
    """The range of LLRs that the test data of a system support.

    Attributes
    ----------
    low, high : float
        Natural logarithms; ``low <= 0 <= high``.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    >>> bounds = fp.elub(fp.Predictions.from_llrs(trials.y_true, trials.llr))
    >>> bounds.clip([-100.0, 0.5, 100.0]).round(3).tolist()
    [-4.797, 0.5, 7.179]
    """

    low: float
    high: float

    def clip(self, llrs: ArrayLike) -> Floats:
        """Return LLRs (N,), clipped to the bounds.

        Raises
        ------
        ValueError
            For nan.
        """
        values = checks.as_scores("llrs", llrs)
        return np.asarray(np.clip(values, self.low, self.high, dtype=np.float64))


def elub(predictions: Data) -> LLRBounds:
    """Return the empirical lower and upper bounds of LLRs (ELUB).

    An LLR beyond what the number of comparisons can support is extrapolation. At each threshold,
    the cost of Bayes decisions by the LLRs, to which the most misleading LLR is added on both
    sides, is compared with the cost of decisions without LLRs. The bounds enclose the thresholds
    around 0 at which the LLRs are no worse (Vergeer et al., 2016).

    Parameters
    ----------
    predictions : Predictions or PartitionedPredictions
        Binary and labeled: LLRs, or posteriors, which become LLRs at their priors.

    Returns
    -------
    LLRBounds
        In nats; a bound is 0 where LLRs are worse than none from the start.

    Raises
    ------
    ValueError
        For raw scores, more than two classes, and if a class is missing.

    Notes
    -----
    The bounds are exact: cost curves are followed from score to score, without a grid. The LLRs
    that are added weigh the mean of their class. Since there are finitely many comparisons, the
    upper bound is at most ``log(N_non + 1)`` and the lower bound at least ``-log(N_tar + 1)``. The
    cost is a sort of the scores.

    References
    ----------
    P. Vergeer, A. van Es, A. de Jongh, I. Alberink and R. Stoel, "Numerical likelihood ratios
    outputted by LR systems are often based on extrapolation: when to stop extrapolating?", Science
    and Justice 56, 2016, doi:10.1016/j.scijus.2016.06.003.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    >>> bounds = fp.elub(fp.Predictions.from_llrs(trials.y_true, trials.llr))
    >>> round(bounds.low, 3), round(bounds.high, 3)
    (-4.797, 7.179)
    """
    check_data(predictions)
    checks.check_binary("elub", predictions.n_classes)
    if predictions.kind == "raw scores":
        raise ArgumentError(
            "predictions", "must be LLRs or posteriors for bounds of LLRs, not raw scores"
        )
    data = predictions
    begin(data)
    require_weights(data)
    table = distinct_scores(data, "ELUB")
    counts = count(ClassCounts(2).over(data))
    scores, negatives, positives = table.lowest, table.negatives, table.positives
    if data.kind == "posteriors":
        if not data.priors.all():
            raise ArgumentError("priors", "must both be above 0 for LLRs of posteriors")
        scores = scores - (np.log(data.priors[1]) - np.log(data.priors[0]))
    added = data.class_weights / counts
    high = _upper(scores, negatives, positives, *added)
    low = 0.0 - _upper(-scores[::-1], positives[::-1], negatives[::-1], *added[::-1])
    return LLRBounds(low=low, high=high)


def _upper(
    scores: Floats, negatives: Floats, positives: Floats, added_0: float, added_1: float
) -> float:
    """Return the least threshold from 0 on at which decisions cost more than rejecting all.

    There the threshold is above the log of the ratio of the shares that are accepted, which is
    constant from one score to the next.
    """
    n_below = int(np.searchsorted(scores, 0.0, side="right"))
    starts = np.concatenate([[0.0], scores[n_below:]])
    above = [
        np.append(of_class[n_below:][::-1].cumsum()[::-1], 0.0)
        for of_class in (negatives, positives)
    ]
    accepted_0 = (above[0] + added_0) / (negatives.sum() + added_0)
    accepted_1 = above[1] / (positives.sum() + added_1)
    with np.errstate(divide="ignore"):
        limits = np.log(accepted_1) - np.log(accepted_0)
    first = int(np.argmax(limits < np.append(starts[1:], np.inf)))
    return float(max(starts[first], limits[first]))
