"""Confidence intervals from replicates."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from fastpsr.html import table
from fastpsr.predictions import Floats

if TYPE_CHECKING:
    from statistics import NormalDist

__all__ = [
    "METHODS", "FoundBy", "Interval", "Method", "described", "interval", "simultaneous_level"
]  # fmt: skip

#: What may be requested; "auto" takes what covers best for each metric.
Method = Literal["auto", "percentile", "basic", "bca", "normal", "subsampling"]
METHODS: tuple[Method, ...] = get_args(Method)
#: How an interval was computed.
FoundBy = Literal[
    "percentile", "basic", "bca", "normal", "subsampling", "jackknife", "inverted test"
]


def described(
    confidence_level: float,
    metrics: Mapping[str, Sequence[str]],
    n_resamples: int,
    drawn: str,
    seed: int,
) -> str:
    """Return settings of intervals as text, with the metrics by the methods that were used."""
    methods = [*metrics]
    if len(metrics) > 1:
        methods = [f"{method} of {', '.join(names)}" for method, names in metrics.items()]
    between = "; " if len(metrics) > 1 else ", "
    parts = [*methods, f"{n_resamples:,} replicates, resampling {drawn}, seed {seed}"]
    return f"{100.0 * confidence_level:g} % intervals: {between.join(parts)}"


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: float
    high: float

    def _repr_html_(self) -> str:
        return table("Interval", ("low", "high"), [self])


def interval(
    value: float,
    replicates: Floats,
    confidence_level: float,
    method: FoundBy,
    acceleration: float = 0.0,
) -> Interval:
    """Return the interval of a `value` from its defined replicates.

    Parameters
    ----------
    acceleration : float
        For BCa: skewness / 6 of the influence of the drawn units.

    Raises
    ------
    ValueError
        For BCa if all replicates lie on one side of the value.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987,
    doi:10.1080/01621459.1987.10478410; A. Davison and D. Hinkley, "Bootstrap methods and their
    application", 1997, chapter 5.
    """
    ordered = np.sort(replicates)
    low, high = (1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0
    if method == "normal":
        with np.errstate(over="ignore"):  # squares of values near the largest float
            center = 2.0 * value - float(ordered.mean())  # the value minus its bias
            reach = _normal().inv_cdf(high) * float(ordered.std(ddof=1))
        return Interval(center - reach, center + reach)
    if method == "basic":
        return Interval(
            2.0 * value - _quantile(ordered, high), 2.0 * value - _quantile(ordered, low)
        )
    if method == "bca":
        low, high = (
            _corrected(value, ordered, low, acceleration),
            _corrected(value, ordered, high, acceleration),
        )
    return Interval(_quantile(ordered, low), _quantile(ordered, high))


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


def _corrected(value: float, ordered: Floats, share: float, acceleration: float) -> float:
    """Return the quantile level corrected for bias and acceleration."""
    below = float((ordered < value).mean() + 0.5 * (ordered == value).mean())
    if not 0.0 < below < 1.0:
        side = "above" if below == 0.0 else "below"
        raise ValueError(
            f"bca intervals need replicates on both sides of the value; all lie {side} {value:.6g}"
        )
    normal = _normal()
    bias = normal.inv_cdf(below)
    shifted = bias + normal.inv_cdf(share)
    return normal.cdf(bias + shifted / (1.0 - acceleration * shifted))


def _normal() -> "NormalDist":
    from statistics import NormalDist  # with fractions and decimals, which take a while to import

    return NormalDist()
