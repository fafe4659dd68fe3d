"""The logarithmic rule, the Brier rule, and the rules of single cost matrices."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.costs import CostMatrix
from fastpsr.rules.base import Floats, ScoringRule, dot_or_zero


@dataclass(frozen=True, eq=False)
class Log(ScoringRule):
    """The logarithmic rule: ``-log q_y``, in nats.

    Strictly proper; infinite if the posterior of the true class is 0 (Ferrer and Ramos, 2024,
    section 2.3.2). Its entropy is the Shannon entropy, its divergence the Kullback-Leibler
    divergence.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.rules.Log().entropy([0.5, 0.5]), 4)
    0.6931
    """

    label = "CE"
    unit = "nats"
    key = "log"
    is_strict = True
    is_analytic = True
    least_loss = 0.0
    name_in_kernels = "log"

    def class_losses(self, log_q: Floats) -> Floats:
        return -log_q

    def losses_at(self, log_q: Floats, y: NDArray[Any]) -> Floats:
        if log_q.shape[1] == 2:
            return super().losses_at(log_q, y)
        return np.asarray(-log_q[np.arange(y.size), y])

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        return kernels.log_space.softplus(np.where(y == 0, log_odds, -log_odds))


@dataclass(frozen=True, eq=False)
class Brier(ScoringRule):
    """The Brier rule: ``sum_i (q_i - [i = y])^2 / K``.

    Strictly proper, and at most 2/K (Ferrer and Ramos, 2024, section 2.3.3). The divergence,
    ``sum_i (r_i - q_i)^2 / K``, has the factor 1/K of the loss, which Ferrer and Ramos (2024)
    omit, so that the expected score is the sum of divergence and entropy.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> fp.rules.Brier().loss([1], np.log([[0.8, 0.2]])).round(4).tolist()
    [0.64]
    """

    label = "BS"
    key = "Brier"
    is_strict = True
    is_analytic = True
    least_loss = 0.0
    name_in_kernels = "brier"

    def class_losses(self, log_q: Floats) -> Floats:
        q = np.exp(log_q)
        one_minus_q = -np.expm1(np.minimum(log_q, 0.0))
        rest = np.maximum((q * q).sum(axis=1, keepdims=True) - q * q, 0.0)
        return np.asarray((rest + one_minus_q * one_minus_q) / q.shape[1])

    def losses_at(self, log_q: Floats, y: NDArray[Any]) -> Floats:
        if log_q.shape[1] == 2:
            return super().losses_at(log_q, y)
        q = np.exp(log_q)
        q[np.arange(y.size), y] = 0.0
        rest = q.sum(axis=1)  # 1 - q_y, without its rounding
        return np.asarray((rest * rest + (q * q).sum(axis=1)) / q.shape[1])

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        wrong = kernels.log_space.sigmoid(np.where(y == 0, log_odds, -log_odds))
        return np.asarray(wrong * wrong)

    def binary_slopes(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        """Return the (N,) derivatives of the losses by the log-odds of class 1."""
        away = np.where(y == 0, log_odds, -log_odds)
        wrong = kernels.log_space.sigmoid(away)
        slopes = 2.0 * wrong * wrong * kernels.log_space.sigmoid(-away)
        return np.where(y == 0, slopes, -slopes)

    def slopes(self, log_q: Floats, y: NDArray[Any]) -> Floats:
        q = np.exp(log_q)
        miss = q.copy()
        miss[np.arange(y.size), y] -= 1.0
        return np.asarray(2.0 / q.shape[1] * q * (miss - (q * miss).sum(axis=1, keepdims=True)))

    def divergence_of_logs(self, log_r: Floats, log_q: Floats) -> Floats:
        return np.asarray(((np.exp(log_r) - np.exp(log_q)) ** 2).mean(axis=1))


@dataclass(frozen=True, eq=False)
class Cost(ScoringRule):
    """The rule of one cost matrix: the cost of the Bayes decision made with the posteriors.

    Proper but not strictly proper: posteriors that lead to the same decisions have the same loss
    (Ferrer and Ramos, 2024, Equation 2). Ties between decisions go to the lowest index.

    Parameters
    ----------
    costs : CostMatrix or array-like of shape (K, M)
        Costs with a row per true class and a column per decision.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> fp.rules.Cost([[0, 1], [10, 0]]).loss([1], np.log([[0.95, 0.05]])).tolist()
    [10.0]
    """

    costs: CostMatrix | ArrayLike
    label = "Risk"
    is_strict = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", CostMatrix.of(self.costs))

    @property
    def key(self) -> Hashable:
        return ("cost", self.matrix.key)

    @property
    def least_loss(self) -> float:
        """A cost may be a gain."""
        return self.matrix.least

    @property
    def matrix(self) -> CostMatrix:
        """The costs, checked."""
        assert isinstance(self.costs, CostMatrix)
        return self.costs

    def class_losses(self, log_q: Floats) -> Floats:
        self.matrix.check_classes(log_q.shape[1])
        return self.matrix.costs_by_class(self.matrix.decisions(np.ascontiguousarray(log_q)))

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        self.matrix.check_classes(2)
        return np.asarray(self.matrix.values[y, self.matrix.decisions(log_odds)])


def l1_distance(r: ArrayLike, q: ArrayLike) -> Floats:
    """Return ``sum_i |r_i - q_i|``, which is *not* a score divergence.

    It is not induced by any proper scoring rule: the constant q with the least expected distance to
    a random r is not the mean of r (Ferrer and Ramos, 2024, appendix B). The expected calibration
    error is based on this distance.

    Parameters
    ----------
    r, q : array-like of float, shape (N, K)
        Distributions over the classes, row-aligned; a single row broadcasts.

    Returns
    -------
    ndarray of float64, shape (N,)

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.rules.l1_distance([[0.5, 0.5]], [[0.9, 0.1]]).round(4).tolist()
    [0.8]
    """
    r_rows, q_rows = checks.as_matching_rows(r, q)
    return dot_or_zero(np.ones_like(r_rows), np.abs(r_rows - q_rows))
