"""Error of Bayes decisions as a function of the prior, for APE and normalized Bayes error plots."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts import takes_predictions
from fastpsr.counts.decisions import ThresholdSums, llrs_of, rates_at_steps
from fastpsr.counts.ranks import RankTable
from fastpsr.counts.roc import PavBlocks, require_both_classes
from fastpsr.curves.at_points import AtPoints
from fastpsr.data import Data, Floats
from fastpsr.metrics.base import Statistic
from fastpsr.metrics.ranks import HullStatistic
from fastpsr.results import Result

_FARTHEST = 600.0  # log-odds whose priors are still represented with full precision


@dataclass(frozen=True, eq=False)
class BayesErrorCurve(Result):
    """Error probabilities ``pi P_miss + (1 - pi) P_fa`` as a function of the target prior pi.

    Attributes
    ----------
    prior_log_odds : ndarray of float64, shape (P,)
        ``log(pi / (1 - pi))``, natural logarithm, in the order of the input.
    actual : ndarray of float64, shape (P,)
        Error of Bayes decisions: trials with an LLR of at least minus the prior log-odds are
        accepted. nan for raw scores, for which Bayes decisions are not defined.
    minimum : ndarray of float64, shape (P,)
        Error at the best threshold on the evaluated data.
    default : ndarray of float64, shape (P,)
        Error of the best constant decision, ``min(pi, 1 - pi)``.
    """

    prior_log_odds: Floats
    actual: Floats
    minimum: Floats
    default: Floats

    @property
    def normalized_actual(self) -> Floats:
        """`actual` / `default`: the actual normalized DCF, with costs of 1."""
        return np.asarray(self.actual / self.default)

    @property
    def normalized_minimum(self) -> Floats:
        """`minimum` / `default`: the minimum normalized DCF, with costs of 1."""
        return np.asarray(self.minimum / self.default)


@takes_predictions
def bayes_error(predictions: Data, prior_log_odds: ArrayLike | None = None) -> BayesErrorCurve:
    """Return actual and minimum error probabilities as functions of the prior.

    Divided by the error of the best constant decision they are the normalized Bayes error, equal to
    ``ActDCF(pi)`` and ``MinDCF(pi)`` at each point. Costs other than 1 correspond to another prior:
    add ``log(c_miss / c_fa)`` to the prior log-odds.

    Parameters
    ----------
    predictions : Predictions
        Labeled, binary. For raw scores only the minimum is computed.
    prior_log_odds : array-like of float, shape (P,), optional
        Natural log-odds of the target prior, from -600 to 600; by default 201 points from -10 to
        10.

    Returns
    -------
    BayesErrorCurve

    Raises
    ------
    ValueError
        For more than 2 classes, a class without samples, or log-odds out of range.

    Notes
    -----
    All points are computed in one pass over the samples. Weights are used within each class; given
    priors have no effect.

    References
    ----------
    N. Brummer and E. de Villiers, "The BOSARIS Toolkit user guide", 2011; N. Brummer and
    J. du Preez, "Application-independent evaluation of speaker detection", Computer Speech and
    Language 20, 2006, doi:10.1016/j.csl.2005.08.001.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    >>> curve = fp.bayes_error(data, [0.0, 1.2])
    >>> curve.normalized_actual.round(4).tolist(), curve.normalized_minimum.round(4).tolist()
    ([0.6667, 0.6667], [0.3333, 0.3333])
    """
    at = bayes_error_at(predictions, prior_log_odds, "prior_log_odds")
    curve: BayesErrorCurve = at.value_on(predictions)
    return curve


def bayes_error_at(data: Data, points: ArrayLike | None, argument: str = "points") -> AtPoints:
    """Return the curve at prior log-odds, by default the points of :func:`bayes_error`."""
    points = np.linspace(-10.0, 10.0, 201) if points is None else points
    points = checks.as_floats(argument, points, 1)
    checks.require(argument, points, -_FARTHEST, _FARTHEST, "lie in -600 to 600")
    target = 1.0 / (1.0 + np.exp(-points))
    nontarget = 1.0 / (1.0 + np.exp(points))
    statistics: dict[str, Statistic[Any, Floats]] = {"minimum": _Minimum(target, nontarget)}
    if data.kind != "raw scores" and data.n_classes == 2:
        statistics["actual"] = _Actual(target, nontarget, -points)
    default = np.minimum(target, nontarget)
    return AtPoints(partial(_curve, points, default), statistics)


def _curve(
    points: Floats, default: Floats, minimum: Floats, actual: Floats | None = None
) -> BayesErrorCurve:
    if actual is None:
        actual = np.full(points.size, np.nan)
    return BayesErrorCurve(points, actual, minimum, default)


@dataclass(frozen=True, eq=False)
class _Minimum(HullStatistic[Floats]):
    """Error at the best threshold, for weights of a miss and of a false alarm."""

    target: Floats
    nontarget: Floats

    label = "minimum Bayes error"

    def finish(self, summary: PavBlocks | RankTable) -> Floats:
        p_miss, p_fa = summary.blocks.hull
        minimum = np.full(self.target.size, np.inf)
        for miss, fa in _in_parts(p_miss, p_fa, self.target.size):
            costs = np.outer(self.target, miss) + np.outer(self.nontarget, fa)
            minimum = np.minimum(minimum, costs.min(axis=1))
        return minimum


@dataclass(frozen=True, eq=False)
class _Actual(Statistic[Floats, Floats]):
    """Error at given thresholds of the LLR, for weights of a miss and of a false alarm."""

    target: Floats
    nontarget: Floats
    thresholds: Floats

    label = "actual Bayes error"

    def sums(self, data: Data) -> ThresholdSums:
        require_both_classes("error rates", data.class_weights)
        return ThresholdSums(llrs_of, np.unique(self.thresholds), data.has_fixed_llrs)

    def finish(self, summary: Floats) -> Floats:
        miss, fa = rates_at_steps(summary)
        _, places = np.unique(self.thresholds, return_inverse=True)
        return np.asarray(self.target * miss[places] + self.nontarget * fa[places])


def _in_parts(p_miss: Floats, p_fa: Floats, n_points: int) -> list[tuple[Floats, Floats]]:
    """Return the vertices in chunks whose costs at all points fit in a few megabytes."""
    size = max(1, (1 << 20) // n_points)
    starts = range(0, p_miss.size, size)
    return [(p_miss[start : start + size], p_fa[start : start + size]) for start in starts]
