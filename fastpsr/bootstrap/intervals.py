"""Confidence intervals from replicates."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from fastpsr.html import table
from fastpsr.predictions import Floats

__all__ = [
    "METHODS", "N_DEALS", "N_SUBSETS", "Interval", "Method", "UsedMethod", "described", "drawn_for",
    "quantile", "simultaneous_level",
]  # fmt: skip

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
    return min(max(quantile(np.sort(needed), confidence_level), confidence_level), most)


def quantile(ordered: Floats, share: float) -> float:
    """Return the quantile as an order statistic, which is defined for infinite values, too."""
    # rounding must not increase the index by one
    place = int(np.ceil(share * ordered.size * (1.0 - 1e-12))) - 1
    return float(ordered[min(max(place, 0), ordered.size - 1)])
