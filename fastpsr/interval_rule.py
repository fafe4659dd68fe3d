"""How intervals of a metric are computed: its method, and how values depend on sample size."""

from dataclasses import dataclass
from typing import Literal

#: The best methods in the study of coverage, docs/reference/coverage.md.
RuleMethod = Literal["percentile", "jackknife", "bca", "subsampling", "inverted test"]

#: Coefficients of the value and of its means over halves and quarters of the data.
Center = tuple[float, float, float]

_FIRST = 1.0 / (2.0 ** (2.0 / 3.0) - 1.0)  # a bias of n^(-2/3) is this multiple of (value - half)

NO_BIAS: Center = (1.0, 0.0, 0.0)
IS_LINEAR: Center = (2.0, -1.0, 0.0)  # a bias of 1 / n
ONE_TERM: Center = (1.0 + _FIRST, -_FIRST, 0.0)  # a bias of n^(-2/3)
#: A bias of b n^(-2/3) + d / n, which cancels since the coefficients solve
#: x + y + z = 1, x + 2^(2/3) y + 4^(2/3) z = 0 and x + 2 y + 4 z = 0.
TWO_TERMS: Center = (2.0 + 2.0 * _FIRST, -1.0 - 3.0 * _FIRST, _FIRST)


@dataclass(frozen=True)
class IntervalRule:
    """Methods that "auto" takes for the intervals of a metric.

    Attributes
    ----------
    samples, units : RuleMethod
        Method of "auto" where samples are drawn, and where whole clusters or speakers are.
    scale : {"plain", "log", "logit"}
        Scale on which intervals by subsampling and by the jackknife are symmetric; "logit", the
        logarithm of value / (1 - value), is for values from 0 to 1.
    center, center_of_units : Center
        Of intervals by subsampling: how the bias of a value that is optimized or fitted on the data
        is corrected where samples are drawn, and where clusters or speakers are.
    spread : {"nested", "all", "halves"}
    spread_of_units : {"nested", "halves"}
        Standard error where samples are drawn, and where clusters or speakers are, see
        ``bootstrap/intervals.py``.
    center_of_speakers : Center, optional
        Where speakers of both sides are drawn, with the jackknife over speakers as standard error.
    """

    samples: RuleMethod = "percentile"
    units: RuleMethod = "percentile"
    scale: Literal["plain", "log", "logit"] = "plain"
    center: Center = NO_BIAS
    center_of_units: Center = NO_BIAS
    spread: Literal["nested", "all", "halves"] = "nested"
    spread_of_units: Literal["nested", "halves"] = "nested"
    center_of_speakers: Center | None = None


OF_MEANS = IntervalRule(units="jackknife")
#: Of means of losses that are not negative.
OF_LOSSES = IntervalRule(units="jackknife", scale="log")
#: Of the least cost over all thresholds.
OF_MINIMAL_COSTS = IntervalRule(
    "subsampling", "subsampling", "log", ONE_TERM, ONE_TERM, spread="all",
    center_of_speakers=IS_LINEAR,
)  # fmt: skip
#: Of values that are read off at a point of the data.
AT_A_POINT = IntervalRule(units="subsampling", spread="halves", spread_of_units="halves")
