"""Confidence intervals as functions of values: of replicates, of subsets, of units left out.

The bias of a metric that optimizes on the data goes as n^(-2/3), which the bootstrap does not
repair: resampled data have ties. Halves and quarters of the data show how large it is, and how much
the corrected value varies. Values without each unit show how much each unit counts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from fastpsr.data import Floats
from fastpsr.interval_rule import ONE_TERM, Center, IntervalRule
from fastpsr.results import table

#: Methods to request; "auto" takes the method that covers best for each metric.
Method = Literal["auto", "percentile", "basic", "bca", "normal", "subsampling"]
METHODS: tuple[Method, ...] = get_args(Method)
#: Of subsampling: how often units are dealt to shares, and the number of subsets of all deals.
N_DEALS = 8
N_SUBSETS = N_DEALS * (14 + 28)
FEWEST = 8  # samples of a class, clusters or speakers
_N_SHARES = 8
_N_HALVES = 7  # complementary pairs
_LEAST_SHARE = 0.5  # of subsets, or of groups left out, in which a metric must be defined
#: How an interval was computed.
UsedMethod = Literal[
    "percentile", "basic", "bca", "normal", "subsampling", "jackknife", "inverted test"
]
#: Why a metric has no interval that has no error to measure.
SEPARATED = (
    "it has the same value in all subsets of the data, as where classes are separated; test more "
    "samples, until some are wrong"
)
_HALVINGS = 53  # of levels, down to adjacent floats: a p-value never contradicts its interval
_N_STEPS = 80  # on the way to the largest errors


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float

    def _repr_html_(self) -> str:
        return table("Interval", ("low", "high"), [self])


def percentile(replicates: Floats, level: float) -> Interval:
    """Return quantiles of the replicates; none may be nan."""
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
    from statistics import NormalDist  # with fractions and decimals, which take a while to import

    with np.errstate(over="ignore"):  # squares of values near the largest float
        center = 2.0 * value - float(replicates.mean())
        reach = NormalDist().inv_cdf((1.0 + level) / 2.0) * float(replicates.std(ddof=1))
    return Interval(center - reach, center + reach)


def bca(value: float, replicates: Floats, influence: Floats, level: float) -> Interval:
    """Return quantiles of the replicates, corrected for bias and acceleration.

    `influence` is that of the units: minus the centered values without each of them.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987,
    doi:10.1080/01621459.1987.10478410.
    """
    from statistics import NormalDist

    below = float((replicates < value).mean() + 0.5 * (replicates == value).mean())
    if not 0.0 < below < 1.0:
        side = "above" if below == 0.0 else "below"
        raise ValueError(
            f"bca intervals need replicates on both sides of the value; all lie {side} {value:.6g}"
        )
    distribution, acceleration = NormalDist(), _acceleration(influence)
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


def p_value_of(interval_at: Callable[[float], Interval], n_replicates: int) -> float:
    """Return 1 minus the least level at which an interval contains 0, at least 2 / (R + 1)."""
    least = 2.0 / (n_replicates + 1.0)
    low, high = 0.0, 1.0 - least
    for _ in range(_HALVINGS):
        level = (low + high) / 2.0
        ends = interval_at(level)
        low, high = (low, level) if ends.low <= 0.0 <= ends.high else (level, high)
    return max(1.0 - high, least)


def percentile_p_value(replicates: Floats) -> float:
    """Return the two-sided p-value of 0: the value counts as one more replicate."""
    rarer = int(min(np.count_nonzero(replicates <= 0.0), np.count_nonzero(replicates >= 0.0)))
    return min(1.0, 2.0 * (rarer + 1.0) / (replicates.size + 1.0))


def within(value: float, value_range: tuple[float, float]) -> float:
    """Return the nearest value in a range; nan stays."""
    return value if math.isnan(value) else min(max(value, value_range[0]), value_range[1])


def _quantile(ordered: Floats, share: float) -> float:
    """Return the quantile as an order statistic, also defined for infinite values."""
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

        center, error, rule = self.center, self.standard_error, self.rule
        if error == 0.0:
            return Interval(center, center)
        t = float(stdtrit(self.total_degrees_of_freedom, (1.0 + confidence_level) / 2.0))
        if rule.scale == "plain":
            return Interval(center - t * error, center + t * error)
        scale = center * (1.0 - center) if rule.scale == "logit" else center
        if not scale > 0.0:
            where = "lie in 0 to 1" if rule.scale == "logit" else "be positive"
            raise ValueError(f"it is {center:.3g} after correction for its bias, and must {where}")
        factor = math.exp(min(t * error / scale, 700.0))
        if rule.scale == "log":
            return Interval(center / factor, center * factor)
        odds = center / (1.0 - center)
        return Interval(odds / (factor + odds), odds * factor / (1.0 + odds * factor))

    @property
    def total_degrees_of_freedom(self) -> float:
        """Degrees of freedom of the units and of the contrasts together."""
        return 1.0 / (1.0 / self.degrees_of_freedom + 1.0 / self.n_contrasts)

    def p_value(self) -> float:
        """Return the p-value of the value 0, on the plain scale."""
        from scipy.special import stdtr

        if self.standard_error == 0.0:
            return float(self.center == 0.0)
        t = abs(self.center) / self.standard_error
        return float(2.0 * stdtr(self.total_degrees_of_freedom, -t))

    def minus(self, other: Self) -> Self:
        """Return the difference from an independent estimate, with Welch's degrees of freedom."""
        squares = self.standard_error**2, other.standard_error**2
        shares = [
            square**2 / estimate.total_degrees_of_freedom
            for square, estimate in zip(squares, (self, other), strict=True)
            if square
        ]
        return self._replace(
            center=self.center - other.center,
            standard_error=math.sqrt(sum(squares)),
            degrees_of_freedom=sum(squares) ** 2 / sum(shares) if shares else math.nan,
            n_contrasts=math.inf,
            rule=replace(self.rule, scale="plain"),
        )

    def grown(self, factor: float, spread: float) -> Self:
        """Return the estimate for `factor` times the units, `spread` times the standard error."""
        df = max(factor * self.degrees_of_freedom, 2.0)
        return self._replace(standard_error=spread * self.standard_error, degrees_of_freedom=df)


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def centered(left_out: Floats) -> Floats:
    """Return the defined values of (S, G) values without each group, minus their stratum's mean."""
    strata = [values[~np.isnan(values)] for values in left_out]
    return np.concatenate([values - values.mean() if values.size else values for values in strata])


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def degrees_of_freedom(psi: Floats) -> float:
    """Return the degrees of freedom of a standard error, from the kurtosis of influences."""
    if psi.size < 3:
        return 2.0
    largest = float(np.abs(psi).max())
    if not largest > 0.0:
        return 2.0
    scaled = psi / largest  # the ratio does not depend on it
    excess = float((scaled**4).sum() / (scaled**2).sum() ** 2) - 1.0 / psi.size
    most = psi.size - 1.0
    # 0 but for rounding where all units count alike
    return min(max(2.0 / excess, 2.0), most) if excess > 2.0 / most else most


def standard_error(psi: Floats) -> float:
    """Return the jackknife's, from centered values without each unit."""
    return math.sqrt((psi.size - 1.0) / max(psi.size, 1) * float((psi**2).sum()))


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def jackknife(value: float, left_out: Floats, rule: IntervalRule) -> Estimate:
    """Return the value of a mean, or of a sum of signed means, with its standard error.

    Percentile intervals of a mean over few clusters are too short: replicates vary less than means
    of new clusters, by (G - 1) / G; and where rare clusters with large losses are missing, both the
    mean and its measured error are too small.
    """
    psi = centered(left_out)
    if psi.size < _LEAST_SHARE * left_out.size:
        raise ValueError("it is undefined or infinite without most of the units in turn")
    error = standard_error(psi)
    if not math.isfinite(error):
        raise ValueError("its values without single units are too near the largest float")
    if not error and rule.scale == "logit":
        raise ValueError(SEPARATED)
    df = degrees_of_freedom(psi) if error else math.nan
    return Estimate(value, error, df, math.inf, rule)


def _split() -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which shares each subset keeps, (42, 8), and the quarters of halves, (7, 2, 3, 2).

    Halves are the rows of a Hadamard matrix of order 8 but the first; quarters are all pairs of
    shares. Each half is split into two quarters in three ways.
    """
    number = np.arange(_N_SHARES)
    parity = np.array([[bin(row & n).count("1") % 2 for n in number] for row in range(1, 8)])
    halves = np.array([[np.flatnonzero(row == side) for side in (0, 1)] for row in parity])
    quarters = list(combinations(range(_N_SHARES), 2))
    keeps = np.zeros((2 * _N_HALVES + len(quarters), _N_SHARES), bool)
    for place, shares in enumerate([*halves.reshape(-1, 4).tolist(), *quarters]):
        keeps[place, list(shares)] = True
    place_of = {pair: place for place, pair in enumerate(quarters)}
    splits = [
        [
            [
                place_of[shares_of_half[0], shares_of_half[k]],
                place_of[tuple(np.delete(shares_of_half, [0, k]))],
            ]
            for k in (1, 2, 3)
        ]
        for pair in halves
        for shares_of_half in pair
    ]
    return keeps, np.array(splits).reshape(_N_HALVES, 2, 3, 2)


#: Shares of each subset, and the places of the quarters of each half.
KEEPS, SPLITS = _split()


def halves_and_quarters(subsets: Floats) -> tuple[Floats, Floats]:
    """Return the values on complementary halves, (deals, 7, 2), and on quarters, (deals, 28)."""
    halves, quarters = np.split(subsets, [2 * _N_HALVES], axis=1)
    return halves.reshape(-1, _N_HALVES, 2), quarters


def check_sizes(unit: str, n_units: int, class_sizes: Sequence[int]) -> None:
    """Raise if units, or samples of one of two classes, are too few for subsets."""
    numbers = {unit: n_units}
    if len(class_sizes) == 2:
        numbers["samples of each class"] = min(class_sizes)
    for name, n in numbers.items():
        if n < FEWEST:
            raise ValueError(
                f"at least {FEWEST} {name} are needed, not {n}; percentile intervals need no "
                "subsets, but are too narrow for so few"
            )


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def corrected_value(value: float, subsets: Floats, rule: IntervalRule, unit: str) -> float:
    """Return the value of a metric, corrected for its bias by the values on subsets."""
    _check_defined(subsets)
    halves, quarters = halves_and_quarters(subsets)
    of_value, of_halves, of_quarters = _center_of(rule, unit)
    corrections = of_halves * np.nanmean(halves) + of_quarters * np.nanmean(quarters)
    return of_value * value + float(corrections)


def _center_of(rule: IntervalRule, unit: str) -> Center:
    """Return the coefficients of a rule where samples, clusters or speakers are drawn."""
    if unit == "samples":
        return rule.center
    if unit == "speakers" and rule.center_of_speakers is not None:
        return rule.center_of_speakers
    return rule.center_of_units


@np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
def subsampling(
    center: float, subsets: Floats, left_out: Floats, rule: IntervalRule, unit: str
) -> Estimate:
    """Return the corrected value of a metric, or of a signed sum, with its standard error."""
    _check_defined(subsets)
    psi = centered(left_out)
    if unit == "speakers" and rule.center_of_speakers is not None:
        error, n_contrasts = standard_error(psi), math.inf
    else:
        spread = rule.spread if unit == "samples" else rule.spread_of_units
        error = _error_of_subsets(subsets, spread)
        n_contrasts = N_DEALS * _N_HALVES
    if not math.isfinite(center) or not math.isfinite(error):
        raise ValueError("its values on subsets are too near the largest float")
    if not error > 0.0:
        if rule.scale == "plain":  # as for the difference of equal systems
            return Estimate(center, 0.0, math.nan, n_contrasts, rule)
        raise ValueError(SEPARATED)
    return Estimate(center, error, degrees_of_freedom(psi), n_contrasts, rule)


def _check_defined(subsets: Floats) -> None:
    """Raise where a metric is undefined or infinite in most halves, or in most quarters."""
    for values in halves_and_quarters(subsets):
        if np.isnan(values).mean() > 1.0 - _LEAST_SHARE:
            raise ValueError(
                "it is undefined or infinite in most subsets of the data; percentile intervals "
                "need no subsets"
            )


def _error_of_subsets(subsets: Floats, spread: str) -> float:
    """Return the standard error of the corrected value, from complementary halves."""
    halves, quarters = halves_and_quarters(subsets)
    if spread == "halves":
        return _root_mean_square(np.diff(halves) / 2.0)
    of_halves = quarters[:, SPLITS].mean(axis=-1)  # (deals, 7, 2, 3)
    mine, theirs, _ = ONE_TERM
    corrected = mine * halves[..., None] + theirs * of_halves
    differences = (corrected[:, :, 0] - corrected[:, :, 1]) / 2.0  # (deals, 7, 3)
    if spread == "nested":
        defined = ~np.isnan(differences)
        n = defined.sum(axis=-1)
        total = np.where(defined, differences, 0.0).sum(axis=-1)
        differences = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    return _root_mean_square(differences)


def _root_mean_square(differences: Floats) -> float:
    """Return it of the values that are not nan."""
    if np.isnan(differences).all():
        raise ValueError("no pair of complementary subsets of the data has a value in both")
    return math.sqrt(float(np.nanmean(differences**2)))


def inverted_test(
    errors: Floats, replicates: Floats, norm: int, level: float, n_units: int | None
) -> Interval:
    """Return the calibration errors that a two-sided test does not reject.

    A calibration error is the norm, 1 or 2, of signed errors of bins, (M,), with replicates (R, M).
    With errors d, their norm T, and noise r = replicate - d, the lower end is the least norm of
    lambda d for which P(norm(lambda d + r) >= T) exceeds half the error level. The upper end is the
    largest norm of lambda u, u = sign(d) max(abs(d), sd(r)), for which P(norm(lambda u + r) <= T)
    does: of all errors, those as even as the noise allows are the hardest to see.

    If whole clusters or speakers are drawn, `n_units` of them, their replicates vary less by
    (n - 1) / n.
    """
    noise = replicates[~np.isnan(replicates).any(axis=1)] - errors
    if n_units is not None:
        noise *= np.sqrt(n_units / (n_units - 1.0))
    tail = (1.0 - level) / 2.0

    def norms(rows: Floats) -> Floats:
        return np.asarray(np.linalg.norm(rows, norm, axis=-1))

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
    """Return the interval of a difference from both intervals and their (2, R) replicates.

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
    decorrelation = float(((scaled[0] - scaled[1]) ** 2).mean()) / 2.0  # 1 minus the correlation
    (middle, reach), (other_middle, other_reach) = (
        ((side.low + side.high) / 2.0, (side.high - side.low) / 2.0) for side in (a, b)
    )
    difference = middle - other_middle
    joint = float(np.sqrt((reach - other_reach) ** 2 + 2.0 * decorrelation * reach * other_reach))
    return Interval(difference - joint, difference + joint)


def _first_crossing(steps: Floats, shares: Floats, level: float) -> float:
    """Return where shares first exceed a level, interpolated."""
    k = int(np.argmax(shares > level))
    if k == 0:
        return float(steps[0])
    part = (level - shares[k - 1]) / (shares[k] - shares[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
