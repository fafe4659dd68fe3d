"""The ROC and its convex hull, and its miss rates at given false-alarm rates."""

from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.counts import begin, takes_predictions
from fastpsr.counts.ranks import RankTable, rank_cells
from fastpsr.counts.roc import as_posteriors, error_rates, limit_of
from fastpsr.curves.at_points import AtPoints
from fastpsr.data import Data, Floats
from fastpsr.data.one_class import one_against_rest
from fastpsr.metrics.ranks import RankStatistic
from fastpsr.results import Result

_N_RATES = 199  # by default, besides 0 and 1


@dataclass(frozen=True, eq=False)
class Roc(Result):
    """Error rates at thresholds: a score at or above the threshold is accepted.

    Attributes
    ----------
    threshold : ndarray of float64, shape (V,)
        Ascending thresholds on the scale that was passed: posteriors of class 1, log-odds (logits,
        log-posteriors, and one class of several against the rest), LLRs or raw scores. At the
        last one, inf, no sample is accepted, not even one with score inf.
    p_miss : ndarray of float64, shape (V,)
        Fraction of the targets' weight below each threshold, 0 to 1.
    p_fa : ndarray of float64, shape (V,)
        Fraction of the non-targets' weight at or above each threshold, 1 to 0.
    hull : ndarray of int64, shape (H,)
        Indices of the vertices of the lower convex hull of (p_fa, p_miss), ends included.
    log_odds : ndarray of float64, shape (V,), or None
        The thresholds as log-odds, for posteriors and logits; None for LLRs and raw scores.

    Notes
    -----
    Posteriors of shape (N, 2) rank by both columns, more finely than by column 1 if it is
    rounded, for example to 1: then `threshold` repeats, and the rates refer to `log_odds`.

    Scores of the larger class with no score of the smaller class between them form one step. The
    corners of the curve are exact, and no omitted point could be a vertex of the hull.
    """

    threshold: Floats
    p_miss: Floats
    p_fa: Floats
    hull: NDArray[np.int64]
    log_odds: Floats | None = None

    def _columns(self) -> dict[str, Any]:
        """Return the points, and whether each is a vertex of the hull."""
        on_hull = np.zeros(self.threshold.size, bool)
        on_hull[self.hull] = True
        columns = {
            "threshold": self.threshold,
            "p_miss": self.p_miss,
            "p_fa": self.p_fa,
            "on_hull": on_hull,
        }
        return columns if self.log_odds is None else {**columns, "log_odds": self.log_odds}

    @classmethod
    def of(cls, cells: RankTable) -> Self:
        """Return the ROC of rank cells."""
        cells.class_totals("error rates")
        p_miss, p_fa = error_rates(cells.negatives, cells.positives)
        threshold = np.append(cells.lowest, np.inf)
        blocks = kernels.isotonic.pool_adjacent_violators(cells.negatives, cells.positives)
        return cls(threshold, p_miss, p_fa, np.append(blocks, cells.lowest.size))


@takes_predictions
def roc(predictions: Data, *, class_: int | str | None = None) -> Roc:
    """Return the ROC of binary predictions, with its convex hull.

    Parameters
    ----------
    predictions : Predictions
        Labeled, of any kind: posteriors, likelihoods or raw scores.
    class_ : int or str, optional
        The positive class, by its number, 0 to K-1, or its label, scored by the log-odds of its
        posterior; required for more than two classes.

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
    >>> fp.roc(fp.Predictions.from_posteriors([0, 1], [0.2, 0.7])).threshold.tolist()
    [0.2, 0.7, inf]
    """
    begin(predictions)
    data = one_against_rest(predictions, class_)
    checks.check_binary("a ROC", data.n_classes, takes_class=True)
    begin(data)
    curve = Roc.of(rank_cells(data))
    if data.kind != "posteriors":
        return curve
    log_odds = curve.threshold
    passed = as_posteriors(data, log_odds[:-1])
    threshold = log_odds if passed is None else np.append(passed, np.inf)
    return replace(curve, threshold=threshold, log_odds=log_odds)


@dataclass(frozen=True, eq=False)
class MissRateCurve(Result):
    """Miss rates at given false-alarm rates: the steps of the ROC.

    Attributes
    ----------
    p_fa : ndarray of float64, shape (P,)
        False-alarm rates, in the order of the input.
    p_miss : ndarray of float64, shape (P,)
        The lowest miss rate of a threshold whose false-alarm rate is at most `p_fa`, as
        ``MissRate(p_fa)``.
    """

    p_fa: Floats
    p_miss: Floats


def roc_at(data: Data, points: ArrayLike | None) -> AtPoints:
    """Return the miss rates at false-alarm rates, by default in equal steps of the probit.

    The default rates are 0, 1, and 199 from 1 / (n + 2) to 1 - 1 / (n + 2) for n non-targets.
    """
    checks.check_binary("error rates", data.n_classes)
    if points is None:
        normal = NormalDist()
        reach = -normal.inv_cdf(1.0 / (int(data.class_sizes[0]) + 2.0))
        inner = [normal.cdf(probit) for probit in np.linspace(-reach, reach, _N_RATES)]
        points = [0.0, *inner, 1.0]
    rates = checks.as_floats("points", points, 1)
    checks.require("points", rates, 0.0, 1.0, "be false-alarm rates, in 0 to 1")
    return AtPoints(partial(MissRateCurve, rates), {"p_miss": _MissRates(rates)})


@dataclass(frozen=True, eq=False)
class _MissRates(RankStatistic[RankTable, Floats]):
    """Miss rates at false-alarm rates."""

    p_fa: Floats

    label = "roc"

    def finish(self, summary: RankTable) -> Floats:
        summary.class_totals("error rates")
        p_miss, p_fa = error_rates(summary.negatives, summary.positives)
        return np.asarray(p_miss[limit_of("p_fa", self.p_fa).find(p_miss, p_fa) + 1])
