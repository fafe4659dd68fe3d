"""Scoring rules as weighted integrals over Bayes risks: the Beta family, and general weights."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError
from fastpsr.rules import simplex
from fastpsr.rules.base import Floats, ScoringRule
from fastpsr.rules.panels import Integrand, TailTables

_LARGEST = float(np.finfo(np.float64).max)
_BRIER = 4.0  # a + b of the Brier rule: with more, weight is concentrated


class _Integral(ScoringRule):
    """A rule whose losses of two classes are tabulated integrals."""

    least_loss = 0.0

    _tables: Any

    def class_losses(self, log_q: Floats) -> Floats:
        log_odds = log_q[:, 1] - log_q[:, 0]
        columns = (np.full(log_odds.size, k, np.uint8) for k in (0, 1))
        return np.column_stack([self._tables.look_up(log_odds, y) for y in columns])

    def binary_losses(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        integrals: Floats = self._tables.look_up(log_odds, y)
        return integrals

    def binary_slopes(self, log_odds: Floats, y: NDArray[np.uint8]) -> Floats:
        """Return the (N,) derivatives of the losses by the log-odds of class 1."""
        slopes: Floats = self._tables.look_up(log_odds, y, slopes=True)
        return slopes


@dataclass(frozen=True, eq=False)
class Beta(_Integral):
    """The binary rule that weighs the Bayes risks of all cost ratios by a Beta density.

    With q_0 the posterior of class 0 and ``W(x) = x^(a-1) (1-x)^(b-1) / B(a, b)``::

        loss(0, q) = integral of W(x) / x       over x from q_0 to 1
        loss(1, q) = integral of W(x) / (1 - x) over x from 0 to q_0

    ``Beta(1, 1)`` is the log rule, ``Beta(2, 2)`` is 3 times the Brier rule (with its 1/K), and
    ``Beta(1/2, 1/2)`` is the exponential loss of boosting, ``sqrt((1 - q_y) / q_y)``, times 2 / pi.
    Strictly proper for all parameters.

    Parameters
    ----------
    a, b : float
        Positive, from 1e-6 to 1e6. A larger `a` moves weight to high thresholds on the posterior of
        class 0, a larger `b` to low ones; large values of both concentrate the weight.

    Raises
    ------
    ValueError
        If a parameter is not such a number, or the rule is used with more than two classes.

    Notes
    -----
    Losses have no unit. For class 0 the loss at q_0 = 0 is infinite if ``a <= 1``, else it is
    ``(a + b - 1) / (a - 1)``; for class 1 the loss at q_0 = 1 is infinite if ``b <= 1``, else
    ``(a + b - 1) / (b - 1)``.

    The losses are computed from piecewise polynomials in the log-odds with exponential tails, which
    are tabulated on first use (milliseconds). Their relative error was below 2e-13 for all log-odds
    and a, b from 0.05 to 200, compared with 60-digit arithmetic.

    The rule is the integral over Bayes risks of Ferrer and Ramos (2024, section 2.3.4). Their
    class 1 is class 0 here, and the factor (N - 1) in their cost function is (K - 1) here.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> log_q = np.log([[0.8, 0.2]])
    >>> fp.rules.Beta(1, 1).loss([1], log_q).round(4).tolist()
    [1.6094]
    >>> fp.rules.Beta(2, 2).loss([1], log_q).round(4).tolist()
    [1.92]
    """

    a: float
    b: float

    is_strict = True

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            object.__setattr__(self, name, _parameter(name, getattr(self, name)))

    @property
    def key(self) -> Hashable:
        return ("Beta", self.a, self.b)

    @property
    def is_analytic(self) -> bool:
        return self.a + self.b <= _BRIER

    def class_losses(self, log_q: Floats) -> Floats:
        checks.check_binary("Beta", log_q.shape[1])
        return super().class_losses(log_q)

    @cached_property
    def _tables(self) -> TailTables:
        return TailTables(_beta_integrand(self.a, self.b), _beta_integrand(self.b, self.a))


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(_Integral):
    """The rule that weights the Bayes risks of all cost matrices by a given function.

    With a uniform on the simplex of K classes, and decisions where ``q_i / a_i`` is largest::

        loss(h, q) = mean over a of W(a) [decision is not h] / ((K - 1) a_h)

    Weight 1 is the log rule, for every K (Ferrer and Ramos, 2024, section 2.3.4, with (K - 1) in
    place of (N - 1) in the cost function). In binary tasks this is the integral in :class:`Beta`.

    Parameters
    ----------
    weight : callable
        Takes an (n, K) float64 array of points a of the simplex and returns (n,) finite values,
        none negative: a density relative to the uniform density. Its integral need not be 1.
        It is called with many points at a time, and may be called from several threads.

    Raises
    ------
    ValueError
        If `weight` is not callable; when the rule is used, if `weight` does not return n finite
        values of at least 0, or if its integral is infinite or quadrature fails (binary tasks).

    Notes
    -----
    Losses have no unit; for weight 1 they are in nats.

    *Binary tasks.* Adaptive quadrature, once per rule: panels are bisected, at kinks and jumps too,
    until the error of each is below 1e-13 of the loss beyond it or 1e-16 of the largest weight.
    Losses are accurate to 1e-10, relative for smooth weights, and absolute per unit of the largest
    weight for others. A band of weight narrower than 0.01 in log-odds (0.13 beyond log-odds of 16)
    may be missed. For a_k below e^-690 the weight is extrapolated as a power of a_k: the loss of
    infinite log-odds is infinite unless the weight vanishes at that end. Near a_1 = 1 a weight
    should use ``a[:, 1]``, which is precise, and not ``1 - a[:, 0]``.

    *More classes.* The integral is the log loss times a mean of the weight, which a fixed set of
    2,048 scrambled Sobol points estimates for each sample. The loss is continuous in q, and exact
    for a constant weight. Relative errors (root mean square over samples with vague to confident
    posteriors, compared with 2^17 points): for 0.2 + K sum(a^2) 7e-5 (K = 3), 2e-4 (5), 6e-4 (10);
    for max(a) 9e-5, 3e-4, 1e-3; for a narrow bump 1e-3, 2e-3, 3e-3; for a jump 2e-3, 3e-3, 3e-3;
    for prod(a) 5e-4, 2e-3, 2e-2. For a weight that is unbounded at the edges, such as
    prod(a)^(-1/4), errors are some percent. A posterior of 0 has an infinite loss, unless the
    weight at a_h = e^-660 is below 1e-12 times its mean: then it is assumed to vanish. Computing a
    loss takes 35 to 70 ns for each of up to 2,048 + K points.

    `is_strict` is an approximation: it is true if the weight is positive at 4,097 points with
    log-odds of -16 to 16, or, if the weight raises an error for two classes, at 2,048 points of the
    simplex of the smallest K that it accepts.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rule = fp.rules.Weighted(lambda a: 6 * a[:, 0] * a[:, 1])
    >>> rule.loss([1], np.log([[0.8, 0.2]])).round(4).tolist()
    [1.92]
    >>> only_rare_targets = fp.rules.Weighted(lambda a: (a[:, 1] < 0.05) * 1.0)
    >>> only_rare_targets.is_strict
    False
    """

    weight: Callable[[Floats], ArrayLike]

    def __post_init__(self) -> None:
        if not callable(self.weight):
            raise ArgumentError("weight", f"must be callable, not {self.weight!r}")

    def __repr__(self) -> str:
        return f"Weighted({getattr(self.weight, '__name__', repr(self.weight))})"

    def class_losses(self, log_q: Floats) -> Floats:
        n_rows, n_classes = log_q.shape
        if n_classes == 2:
            return super().class_losses(log_q)
        columns = (self.losses_at(log_q, np.full(n_rows, h)) for h in range(n_classes))
        return np.column_stack(list(columns))

    def losses_at(self, log_q: Floats, y: NDArray[Any]) -> Floats:
        if log_q.shape[1] == 2:
            return super().losses_at(log_q, y)
        # not with class_losses, which would also compute the losses of the other classes
        rows = np.ascontiguousarray(log_q)
        return simplex.losses_of_classes(self._weigh, rows, y.astype(np.int64))

    @cached_property
    def _tables(self) -> TailTables:
        return TailTables(
            _weight_integrand(self._weigh), _weight_integrand(lambda a: self._weigh(a[:, ::-1]))
        )

    @cached_property
    def is_strict(self) -> bool:
        points = _pairs(np.linspace(-16.0, 16.0, 4097))
        for n_classes in range(3, 33):
            try:
                self.weight(points)
                break
            except (IndexError, TypeError, ValueError):  # the weight is for more classes
                points = simplex.spread_points(n_classes)
        return bool((self._weigh(points) > 0.0).all())

    def _weigh(self, points: Floats) -> Floats:
        """Return the validated values of the weight."""
        points = points.view()
        points.flags.writeable = False  # they are used again afterwards
        returned = checks.read("weight(a)", self.weight(points))
        if returned.shape != points.shape[:1]:
            raise ArgumentError(
                "weight",
                f"must return one value per point, shape {points.shape[:1]}, "
                f"not shape {returned.shape}",
            )
        values = np.ascontiguousarray(returned, dtype=np.float64)
        wrong = kernels.checking.find_outside(values, 0.0, _LARGEST)
        if wrong >= 0:
            raise ArgumentError(
                "weight",
                f"must return finite values that are not negative, but it returned "
                f"{values[wrong]} at a = {points[wrong].tolist()}",
            )
        return values


def _parameter(name: str, value: Any) -> float:
    try:
        number = checks.as_number(name, value)
    except ValueError:
        number = np.nan
    if not 1e-6 <= number <= 1e6:
        raise ArgumentError(name, f"must be a positive number, from 1e-6 to 1e6, not {value!r}")
    return number


def _beta_integrand(a: float, b: float) -> Integrand:
    """Return the integrand of class 0 over v = logit a_1: the density of v, divided by a_1.

    The density is relative to its value at the mode and normalized by its own integral, which
    avoids the cancellation of values of the size of a Beta function.
    """
    mode, below, above = np.log(a) - np.log(b), b / (a + b), a / (a + b)

    def density(v: Floats) -> Floats:
        log_falls = a * _log_mix(below, above, mode - v) + b * _log_mix(above, below, v - mode)
        return np.asarray(np.exp(-log_falls))

    low, high = -40.0 - np.log1p(b), 40.0 + np.log1p(a)  # exponential to 1e-17 outside
    near = np.sqrt(1.0 / a + 1.0 / b) * 2.0 ** np.arange(-1, 12)  # so that no peak is missed
    edges = np.concatenate([np.arange(low, high), [high], mode - near, mode + near])
    edges = np.unique(edges[(edges >= low) & (edges <= high)])
    whole = Integrand(density, edges, rise=a, fall=b)
    total = TailTables(whole, whole).look_up(np.array([np.inf]), np.zeros(1, np.uint8))
    return Integrand(lambda v: density(v) / total * (1.0 + np.exp(-v)), edges, a - 1.0, b)


def _log_mix(p: float, one_minus_p: float, d: Floats) -> Floats:
    """Return log(1 - p + p exp(d)), to full accuracy also where p is nearly 0 or 1."""
    excess = p * np.expm1(d)
    low = excess < -0.5
    far = np.log(one_minus_p + p * np.exp(np.where(low, d, 0.0)))
    return np.where(low, far, np.log1p(np.where(low, 0.0, excess)))


def _weight_integrand(weight: Callable[[Floats], Floats]) -> Integrand:
    """Return the integrand of class 0 over v = logit a_1: W(a) a_2."""

    def function(v: Floats) -> Floats:
        points = _pairs(v)
        return weight(points) * points[:, 1]

    outer, inner = np.arange(16.0, 691.0), np.arange(-256.0, 257.0) / 16.0
    edges = np.unique(np.concatenate([-outer, inner, outer]))
    at = weight(_pairs(np.array([-690.0, -626.0, 626.0, 690.0])))
    growth = _exponent(at[3], at[2])
    if growth > 1.0 - 1e-9:
        raise ArgumentError(
            "weight",
            "must have a finite integral, but where a posterior a_k goes to 0 "
            f"it grows as a_k^{-growth:.6g}",
        )
    rise = -_exponent(at[0], at[1])
    floor = 1e-16 * weight(_pairs(inner)).max()  # the accuracy of 1 - a_1 in a weight
    return Integrand(function, edges, rise, 1.0 - growth, max(floor, Integrand.floor))


def _exponent(at_690: float, at_626: float) -> float:
    """Return the power of 1 / a_k that a weight is proportional to as a_k approaches 0."""
    if at_690 == 0.0 or at_626 == 0.0:
        return 0.0
    exponent = float(np.log(at_690) - np.log(at_626)) / 64.0
    return exponent if abs(exponent) > 1e-12 else 0.0  # a constant, but for rounding


def _pairs(v: Floats) -> Floats:
    """Return points (a_1, a_2) for logits of a_1, each coordinate to full relative precision."""
    return np.column_stack([kernels.log_space.sigmoid(v), kernels.log_space.sigmoid(-v)])
