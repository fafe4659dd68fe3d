"""Error of Bayes decisions as a function of the prior, for APE and normalized Bayes error plots."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.plans import Data, Part, Plan, Step, begin, check_data, run
from fastpsr.predictions import Floats
from fastpsr.results import Result
from fastpsr.summaries.pav_blocks import require_both_classes
from fastpsr.summaries.rank_cells import pav_blocks

__all__ = ["BayesErrorCurve", "bayes_error", "bayes_error_plan"]

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
    check_data(predictions)
    if prior_log_odds is None:
        prior_log_odds = np.linspace(-10.0, 10.0, 201)
    points = checks.as_floats("prior_log_odds", prior_log_odds, 1)
    checks.require("prior_log_odds", points, -_FARTHEST, _FARTHEST, "lie in -600 to 600")
    return run(lambda: bayes_error_plan(predictions, points))


def bayes_error_plan(data: Data, points: Floats) -> Plan[BayesErrorCurve]:
    """Plan: request the isotonic fit and the weights between thresholds, and return the curve."""
    yield from begin(data)
    target = 1.0 / (1.0 + np.exp(-points))
    nontarget = 1.0 / (1.0 + np.exp(points))
    steps, places = np.unique(-points, return_inverse=True)
    asked: list[Plan[Any]] = [pav_blocks(data)]
    if data.kind != "raw scores" and data.n_classes == 2:
        asked.append(_weights_between(data, steps))
    blocks, *weights = yield asked
    p_miss, p_fa = blocks.hull
    minimum = np.full(points.size, np.inf)
    for miss, fa in _in_parts(p_miss, p_fa, points.size):
        costs = np.outer(target, miss) + np.outer(nontarget, fa)
        minimum = np.minimum(minimum, costs.min(axis=1))
    actual = np.full(points.size, np.nan)
    if weights:
        nontargets, targets = weights[0]
        miss = np.cumsum(targets)[:-1] / targets.sum()
        fa = np.cumsum(nontargets[::-1])[::-1][1:] / nontargets.sum()
        actual = target * miss[places] + nontarget * fa[places]
    return BayesErrorCurve(points, actual, minimum, np.minimum(target, nontarget))


def _weights_between(data: Data, steps: Floats) -> Plan[Floats]:
    require_both_classes("error rates", data.class_weights)
    (weights,) = yield [WeighBetween(steps).over(data)]
    found: Floats = weights
    return found


@dataclass(frozen=True, eq=False)
class WeighBetween(Step):
    """Add the weight of each class up between ascending thresholds of the LLR, (2, P + 1)."""

    thresholds: Floats

    @property
    def key(self) -> Hashable:
        return ("weights between", self.thresholds.tobytes())

    def start(self) -> Floats:
        return np.zeros((2, self.thresholds.size + 1))

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        predictions, n_cells = part.predictions, accumulator.size
        levels = np.arange(self.thresholds.size + 1, dtype=np.float64)
        reached = kernels.step_function(predictions.llrs, self.thresholds, levels).astype(np.int64)
        cells = predictions.labels * np.int64(levels.size) + reached
        if predictions.weights.size:
            weight = kernels.sum_by_cell(predictions.weights, cells, n_cells)
        else:
            weight = np.bincount(cells, minlength=n_cells).astype(np.float64)
        accumulator += weight.reshape(2, -1)
        return accumulator


def _in_parts(p_miss: Floats, p_fa: Floats, n_points: int) -> list[tuple[Floats, Floats]]:
    """Return the vertices in chunks whose costs at all points fit in a few megabytes."""
    size = max(1, (1 << 20) // n_points)
    starts = range(0, p_miss.size, size)
    return [(p_miss[start : start + size], p_fa[start : start + size]) for start in starts]
