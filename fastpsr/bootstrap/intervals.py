"""Confidence intervals as functions of values: of replicates, of an estimate, of errors of bins."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, get_args

import numpy as np

from fastpsr.data import Floats
from fastpsr.interval_rule import IntervalRule
from fastpsr.results import table

if TYPE_CHECKING:
    from statistics import NormalDist

#: What may be requested; "auto" takes what covers best for each metric.
Method = Literal["auto", "percentile", "basic", "bca", "normal", "subsampling"]
METHODS: tuple[Method, ...] = get_args(Method)
#: Of subsampling: how often units are dealt to shares, and the number of subsets of all deals.
N_DEALS = 8
N_SUBSETS = N_DEALS * (14 + 28)
#: How an interval was computed.
UsedMethod = Literal[
    "percentile", "basic", "bca", "normal", "subsampling", "jackknife", "inverted test"
]
#: What an interval is computed from, where it is not the replicates.
_WITHOUT_REPLICATES: dict[str, str] = {
    "subsampling": f"{N_SUBSETS} halves and quarters",
    "jackknife": "units left out in turn",
}
_N_STEPS = 80  # on the way to the largest errors


def drawn_for(method: str, n_resamples: int) -> str:
    """Return what an interval by a method is computed from."""
    return _WITHOUT_REPLICATES.get(method, f"{n_resamples:,} replicates")


def described(
    confidence_level: float,
    metrics: Mapping[str, Sequence[str]],
    n_resamples: int,
    drawn: str,
    seed: int,
) -> str:
    """Return settings of intervals as text, with the metrics by the methods that were used."""
    drawn_by = {method: drawn_for(method, n_resamples) for method in metrics}
    of_replicates = f"{n_resamples:,} replicates"
    methods = [
        (f"{method} of {', '.join(names)}" if len(metrics) > 1 else method)
        + f" ({drawn_by[method]})" * (drawn_by[method] != of_replicates)
        for method, names in metrics.items()
    ]
    between = "; " if len(metrics) > 1 else ", "
    scheme = f"resampling {drawn}, seed {seed}"
    if not metrics or of_replicates in drawn_by.values():
        scheme = f"{of_replicates}, {scheme}"
    return f"{100.0 * confidence_level:g} % intervals: {between.join([*methods, scheme])}"


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float

    def _repr_html_(self) -> str:
        return table("Interval", ("low", "high"), [self])


def percentile(replicates: Floats, level: float) -> Interval:
    """Return quantiles of the replicates, none of which is nan."""
    ordered = np.sort(replicates)
    low, high = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    return Interval(_quantile(ordered, low), _quantile(ordered, high))


def basic(value: float, replicates: Floats, level: float) -> Interval:
    """Return quantiles of the replicates, reflected at the value."""
    low, high = percentile(replicates, level)
    return Interval(2.0 * value - high, 2.0 * value - low)


def normal(value: float, replicates: Floats, level: float) -> Interval:
    """Return the value minus its bias, plus and minus a multiple of the standard error.

    References
    ----------
    A. Davison and D. Hinkley, "Bootstrap methods and their application", 1997, chapter 5.
    """
    with np.errstate(over="ignore"):  # squares of values near the largest float
        center = 2.0 * value - float(replicates.mean())
        reach = _normal().inv_cdf((1.0 + level) / 2.0) * float(replicates.std(ddof=1))
    return Interval(center - reach, center + reach)


def bca(value: float, replicates: Floats, influence: Floats, level: float) -> Interval:
    """Return quantiles of the replicates, corrected for bias and acceleration.

    `influence` is that of the units: minus the centered values without each of them.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987,
    doi:10.1080/01621459.1987.10478410.
    """
    below = float((replicates < value).mean() + 0.5 * (replicates == value).mean())
    if not 0.0 < below < 1.0:
        side = "above" if below == 0.0 else "below"
        raise ValueError(
            f"bca intervals need replicates on both sides of the value; all lie {side} {value:.6g}"
        )
    distribution, acceleration = _normal(), _acceleration(influence)
    bias = distribution.inv_cdf(below)

    def corrected(share: float) -> float:
        shifted = bias + distribution.inv_cdf(share)
        return distribution.cdf(bias + shifted / (1.0 - acceleration * shifted))

    ordered = np.sort(replicates)
    low, high = corrected((1.0 - level) / 2.0), corrected((1.0 + level) / 2.0)
    return Interval(_quantile(ordered, low), _quantile(ordered, high))


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def _acceleration(influence: Floats) -> float:
    """Return skewness / 6 of the influence of the units."""
    largest = float(np.abs(influence).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0
    scaled = influence / largest  # skewness does not depend on the scale
    return float((scaled**3).sum() / (6.0 * (scaled**2).sum() ** 1.5))


def _normal() -> "NormalDist":
    from statistics import NormalDist  # with fractions and decimals, which take a while to import

    return NormalDist()


def simultaneous_level(replicates: Sequence[Floats], confidence_level: float) -> float:
    """Return the level of each of several intervals that together hold at a confidence level.

    It is the least level at which that share of the joint replicates lies in all percentile
    intervals, but at most Bonferroni's, which suffices for any dependence. Ranks alone matter, so
    that a heavy tail of one difference does not change the others. Undefined replicates lie in
    their interval.

    References
    ----------
    R. Beran, "Balanced simultaneous confidence sets", JASA 83, 1988, pages 679-686.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(5, 10_000))
    >>> level = simultaneous_level(rows, 0.95)
    >>> round(level, 3), round(0.95 ** (1 / 5), 3), simultaneous_level(rows[:1], 0.95)
    (0.99, 0.99, 0.95)
    """
    if len(replicates) == 1:
        return confidence_level
    needed = np.zeros(replicates[0].shape)
    for row in replicates:
        is_defined = ~np.isnan(row)
        n, ordered = np.count_nonzero(is_defined), np.sort(row[is_defined])
        low = np.searchsorted(ordered, row[is_defined], "right") - 0.5  # ranks that quantiles reach
        high = np.searchsorted(ordered, row[is_defined], "left") + 0.5
        of_row = np.maximum(1.0 - 2.0 * low / n, 2.0 * high / n - 1.0)
        needed[is_defined] = np.maximum(needed[is_defined], of_row)
    most = 1.0 - (1.0 - confidence_level) / len(replicates)
    return min(max(_quantile(np.sort(needed), confidence_level), confidence_level), most)


def _quantile(ordered: Floats, share: float) -> float:
    """Return the quantile as an order statistic, which is defined for infinite values, too."""
    # rounding must not increase the index by one
    place = int(np.ceil(share * ordered.size * (1.0 - 1e-12))) - 1
    return float(ordered[min(max(place, 0), ordered.size - 1)])


class Estimate(NamedTuple):
    """A value, corrected for its bias, with its standard error and scale.

    The degrees of freedom of the standard error are those that the units leave, nan where it is 0.
    It is also uncertain where it is measured by a finite number of contrasts of halves.
    """

    center: float
    standard_error: float
    degrees_of_freedom: float
    n_contrasts: float
    rule: IntervalRule

    def interval(self, confidence_level: float) -> Interval:
        """Return the interval.

        Raises
        ------
        ValueError
            If the center is not on the scale of the metric.
        """
        from scipy.special import stdtrit  # which takes a while to import

        center, error, of_units, n_contrasts, rule = self
        if error == 0.0:
            return Interval(center, center)
        df = 1.0 / (1.0 / of_units + 1.0 / n_contrasts)
        t = float(stdtrit(df, (1.0 + confidence_level) / 2.0))
        if rule.scale == "plain":
            return Interval(center - t * error, center + t * error)
        rest = 1.0 - center if rule.scale == "log of the rest" else center
        if not rest > 0.0:
            of = "1 minus the value" if rule.scale == "log of the rest" else "the value"
            raise ValueError(
                f"{of} is {rest:.3g} after correction for its bias, and must be positive"
            )
        factor = math.exp(min(t * error / rest, 700.0))
        if rule.scale == "log of the rest":
            return Interval(1.0 - min(rest * factor, 1.0), 1.0 - rest / factor)
        return Interval(center / factor, center * factor)

    def grown(self, factor: float, spread: float) -> Self:
        """Return that of `factor` times the units, with `spread` times the standard error."""
        df = max(factor * self.degrees_of_freedom, 2.0)
        return self._replace(standard_error=spread * self.standard_error, degrees_of_freedom=df)


@dataclass(frozen=True, eq=False)
class SignedErrors:
    """Errors of the bins of a calibration error, which is a norm of them.

    Attributes
    ----------
    errors : ndarray of float64, shape (M,)
        Signed errors of the bins, scaled so that their norm is the calibration error.
    replicates : ndarray of float64, shape (R, M)
        nan where they are undefined.
    norm : {1, 2}
    """

    errors: Floats
    replicates: Floats
    norm: int


def inverted_interval(bins: SignedErrors, level: float, n_units: int | None) -> Interval:
    """Return the calibration errors that a two-sided test does not reject.

    With errors d, their norm T, and noise r = replicate - d, the lower end is the least norm of
    lambda d for which P(norm(lambda d + r) >= T) exceeds half the error level. The upper end is the
    largest norm of lambda u, u = sign(d) max(abs(d), sd(r)), for which P(norm(lambda u + r) <= T)
    does: of all errors, those as even as the noise allows are the hardest to see.

    If whole clusters or speakers are drawn, `n_units` of them, their replicates vary less by
    (n - 1) / n.
    """
    errors, replicates = bins.errors, bins.replicates
    noise = replicates[~np.isnan(replicates).any(axis=1)] - errors
    if n_units is not None:
        noise *= np.sqrt(n_units / (n_units - 1.0))
    tail = (1.0 - level) / 2.0

    def norms(rows: Floats) -> Floats:
        return np.asarray(np.linalg.norm(rows, bins.norm, axis=-1))

    observed = float(norms(errors))
    steps = np.linspace(0.0, 1.0, _N_STEPS)
    above = np.array([(norms(step * errors + noise) >= observed).mean() for step in steps])
    low = observed * _first_crossing(steps, above, tail)
    spread = np.maximum(np.abs(errors), noise.std(axis=0))
    farthest = np.where(errors < 0.0, -spread, spread)
    length = float(norms(farthest))
    if not length > 0.0:
        return Interval(low, observed)
    # beyond, no noise brings the norm down to the observed one
    most = (observed + float(norms(noise).max())) / length
    steps = np.linspace(most, 0.0, _N_STEPS)
    below = np.array([(norms(step * farthest + noise) <= observed).mean() for step in steps])
    if not (below > tail).any():  # even without errors, noise exceeds what was observed
        return Interval(low, observed)
    return Interval(low, length * _first_crossing(steps, below, tail))


def interval_of_difference(a: Interval, b: Interval, replicates: Floats) -> Interval:
    """Return the interval of a difference from those of both sides, and (2, R) replicates of them.

    The square of its half-width is that of a difference of two variables with the half-widths of
    both sides as standard deviations, and the correlation of the replicates.

    References
    ----------
    G. Zou and A. Donner, "Construction of confidence limits about effect measures: a general
    approach", Statistics in Medicine 27, 2008, doi:10.1002/sim.3095.
    """
    defined = replicates[:, ~np.isnan(replicates).any(axis=0)]
    centered = defined - defined.mean(axis=1, keepdims=True)
    deviations = centered.std(axis=1, keepdims=True)
    scaled = np.divide(centered, deviations, out=np.zeros_like(centered), where=deviations > 0.0)
    apart = float(((scaled[0] - scaled[1]) ** 2).mean()) / 2.0  # 1 minus the correlation
    (middle, reach), (other_middle, other_reach) = (
        ((side.low + side.high) / 2.0, (side.high - side.low) / 2.0) for side in (a, b)
    )
    difference = middle - other_middle
    joint = float(np.sqrt((reach - other_reach) ** 2 + 2.0 * apart * reach * other_reach))
    return Interval(difference - joint, difference + joint)


def _first_crossing(steps: Floats, shares: Floats, level: float) -> float:
    """Return where shares first exceed a level, interpolated."""
    k = int(np.argmax(shares > level))
    if k == 0:
        return float(steps[0])
    part = (level - shares[k - 1]) / (shares[k] - shares[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
