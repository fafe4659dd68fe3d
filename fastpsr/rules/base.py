"""Base class of proper scoring rules, and the rules of closed form: log, Brier, costs."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.caching import ByIdentity
from fastpsr.costs import CostMatrix
from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.options import Options, declared

Floats = NDArray[np.float64]


class ScoringRule(Options, ABC):
    """A proper scoring rule: the loss of a posterior once the class is known.

    The expected loss under a distribution p is minimal if the posterior equals p. The rule is
    strictly proper if this minimum is unique (Ferrer and Ramos, 2024, section 2.3 and Equation 3).

    A rule implements :meth:`class_losses`; other methods may be overridden to be faster.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.
    """

    #: Whether the minimum of the expected loss is unique: an attribute of a class, or a property.
    is_strict: Any = declared()
    #: Short name of the rule's expected score, for tables.
    label: Any = property(lambda self: f"{self!r} score")

    #: Unit of the losses: "nats", or "".
    unit: Any = ""
    #: Name of the losses in kernels that compute or sum them; None without such kernels.
    name_in_kernels: ClassVar[str | None] = None

    #: No loss is below it: 0, or minus infinity.
    least_loss: Any = -np.inf

    #: Whether losses are analytic in the log-odds: close to polynomials over a quarter of a unit.
    is_analytic: Any = False

    @property
    def key(self) -> Hashable:
        """Hashable identity: rules with equal keys have equal losses.

        By default rules are equal only to themselves.
        """
        return ByIdentity(self)

    @abstractmethod
    def class_losses(self, log_q: Floats) -> Floats:
        """Return the losses for each possible true class, (N, K)."""

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        """Return the (N,) losses of log-odds of class 1 against labels."""
        losses = self.class_losses(kernels.log_space.log_sigmoid_columns(log_odds))
        return np.where(y == 0, losses[:, 0], losses[:, 1])

    def losses_at(self, log_q: Floats, y: NDArray[Any]) -> Floats:
        """Return the (N,) losses of log-posteriors against labels."""
        if log_q.shape[1] == 2:
            return self.binary_losses(log_q[:, 1] - log_q[:, 0], y)
        return np.asarray(self.class_losses(log_q)[np.arange(y.size), y])

    def binary_slopes(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats | None:
        """Return the (N,) derivatives of the losses by the log-odds; None if not available."""
        return None

    def slopes(self, log_q: Floats, y: NDArray[Any]) -> Floats | None:
        """Return the (N, K) derivatives of the losses by the logits; None if not available."""
        if log_q.shape[1] > 2:
            return None
        by_log_odds = self.binary_slopes(log_q[:, 1] - log_q[:, 0], y)
        if by_log_odds is None:
            return None
        return np.column_stack([-by_log_odds, by_log_odds])

    def losses_of(self, predictions: Predictions) -> Floats:
        """Return the (N,) losses of labeled predictions."""
        y = predictions.labels
        if predictions.n_classes == 2:
            return self.binary_losses(predictions.log_odds, y)
        if self.name_in_kernels is not None and predictions._logits is not None:
            return predictions._logits.losses(self.name_in_kernels, y)
        return self.losses_at(predictions.log_posteriors, y)

    def summed_losses(self, predictions: Predictions) -> Floats:
        """Return the weighted sum of the losses of each class, shape (K,)."""
        y, weights = predictions.labels, predictions.weights
        q = predictions._values if predictions._has_posteriors else None
        n_classes = predictions.n_classes
        if self.name_in_kernels is None or (q is None and n_classes > 2):
            return kernels.sums.sum_by_class(self.losses_of(predictions), y, weights, n_classes)
        if q is None:
            return kernels.sums.sum_losses_of_log_odds(
                self.name_in_kernels, predictions.log_odds, y, weights
            )
        return kernels.sums.sum_losses_of_posteriors(self.name_in_kernels, q, y, weights)

    def loss(self, y: ArrayLike, log_q: ArrayLike) -> Floats:
        """Return the loss of each sample.

        Parameters
        ----------
        y : array-like of int, shape (N,)
            True classes, 0 to K-1.
        log_q : array-like of float, shape (N, K)
            Normalized log-posteriors: the exponentials of each row sum to 1 within 1e-6.

        Returns
        -------
        ndarray of float64, shape (N,)
            In nats for the log rule, without unit for other rules; may be infinite.

        Raises
        ------
        ValueError
            For labels outside 0 to K-1, rows that do not sum to 1, or arrays of different lengths.

        Examples
        --------
        >>> import numpy as np, fastpsr as fp
        >>> fp.rules.Log().loss([0, 1], np.log([[0.5, 0.5], [0.8, 0.2]])).round(4).tolist()
        [0.6931, 1.6094]
        """
        log_q = checks.as_log_posterior_rows("log_q", log_q)
        labels = checks.as_labels("y", y, *log_q.shape)
        return self.losses_at(log_q, labels)

    def entropy(self, p: ArrayLike) -> Any:
        """Return the generalized entropy: the expected loss of `p` under `p` itself.

        It is the smallest expected loss of any posterior if classes are drawn from `p`.

        Parameters
        ----------
        p : array-like of float, shape (K,) or (N, K)
            Distributions over the classes.

        Returns
        -------
        float, or ndarray of float64 of shape (N,)
            Classes of probability 0 contribute 0, even if their loss is infinite.

        Examples
        --------
        >>> import fastpsr as fp
        >>> round(fp.rules.Brier().entropy([0.8, 0.2]), 4)
        0.16
        """
        array = checks.read("p", p)
        single = array.ndim == 1
        rows = checks.as_posterior_rows("p", np.atleast_2d(array))
        value = self.entropies(rows)
        return float(value[0]) if single else value

    def entropies(self, rows: Floats) -> Floats:
        """Return the generalized entropies (N,) of distributions (N, K) that need no check."""
        return dot_or_zero(rows, self.class_losses(checks.log_of_rows(rows)))

    def divergence(self, r: ArrayLike, q: ArrayLike) -> Floats:
        """Return the score divergence d(r; q): the expected loss of q minus that of r, under r.

        Parameters
        ----------
        r, q : array-like of float, shape (N, K)
            Distributions over the classes, row-aligned; a single row broadcasts.

        Returns
        -------
        ndarray of float64, shape (N,)
            Not negative, and 0 if r = q (Ferrer and Ramos, 2024, Equation 26). May be infinite.

        Examples
        --------
        >>> import fastpsr as fp
        >>> fp.rules.Log().divergence([[0.5, 0.5]], [[0.9, 0.1]]).round(4).tolist()
        [0.5108]
        """
        r_rows, q_rows = _matching_rows(r, q)
        return self.divergence_of_logs(checks.log_of_rows(r_rows), checks.log_of_rows(q_rows))

    def divergence_of_logs(self, log_r: Floats, log_q: Floats) -> Floats:
        """Return the score divergence of log-posteriors, whose posteriors may underflow."""
        of_q, of_r = self.class_losses(log_q), self.class_losses(log_r)
        are_infinite = np.isposinf(of_q) & np.isposinf(of_r)  # r is 0, or a loss overflows
        with np.errstate(invalid="ignore"):
            excess = np.where(are_infinite, np.where(log_q < log_r, np.inf, 0.0), of_q - of_r)
        return np.maximum(dot_or_zero(np.exp(log_r), excess), 0.0)


def _matching_rows(r: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    """Return two row-aligned arrays of posteriors; a single row broadcasts."""
    r_rows = checks.as_posterior_rows("r", np.atleast_2d(checks.read("r", r)))
    q_rows = checks.as_posterior_rows("q", np.atleast_2d(checks.read("q", q)))
    lengths_match = r_rows.shape[0] == q_rows.shape[0] or 1 in (r_rows.shape[0], q_rows.shape[0])
    if r_rows.shape[1] != q_rows.shape[1] or not lengths_match:
        shapes = f"{np.shape(r)}, {np.shape(q)}"
        raise ArgumentError("q", f"must match, not be of shapes {shapes}", name="r and q")
    return r_rows, q_rows


def dot_or_zero(weights: Floats, values: Floats) -> Floats:
    """Return the row-wise sum of weights x values; terms of weight 0 are 0, even for inf or nan."""
    weights, values = np.broadcast_arrays(weights, values)
    terms = np.zeros(values.shape)
    with np.errstate(over="ignore"):  # costs near the largest float
        np.multiply(weights, values, out=terms, where=weights > 0.0)
        return np.asarray(terms.sum(axis=1))


def check_rule(rule: object) -> None:
    """Raise unless this is a scoring rule."""
    checks.check_instance("rule", rule, ScoringRule, "one of fastpsr.rules")


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
    r_rows, q_rows = _matching_rows(r, q)
    return dot_or_zero(np.ones_like(r_rows), np.abs(r_rows - q_rows))
