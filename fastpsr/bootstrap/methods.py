"""Ways to compute an interval: the interface, and those that need replicates alone, or nearly."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fastpsr.bootstrap.estimates import Estimate
from fastpsr.bootstrap.intervals import Interval, UsedMethod, quantile
from fastpsr.bootstrap.job import Job, Sum
from fastpsr.bootstrap.left_out import left_out_by_stratum
from fastpsr.plans import Plan
from fastpsr.predictions import Floats

if TYPE_CHECKING:
    from statistics import NormalDist

    from fastpsr.bootstrap.evidence import Evidence

__all__ = [
    "BCa", "Basic", "Computed", "EstimateMethod", "IntervalMethod", "Need", "Normal", "Percentile",
    "ReplicateMethod",
]  # fmt: skip

#: A plan of prepared jobs, their values, units, and a seed; with ``jointly=``.
Need = Callable[..., Plan[Any]]


class Computed(NamedTuple):
    """An interval, with the degrees of freedom of an estimate, and the corrected value."""

    interval: Interval
    degrees_of_freedom: float = float("nan")
    corrected: float = float("nan")


class IntervalMethod(ABC):
    """A way to compute the interval of a sum of signed metrics."""

    name: ClassVar[UsedMethod]
    #: What it is computed from besides the replicates, once for all metrics.
    needs: ClassVar[tuple[Need, ...]] = ()

    def must_be_finite(self, value: float, replicates: Floats) -> Floats:
        """Return the numbers without which there are percentiles only, if one is infinite."""
        return np.append(replicates, value)

    def companion(self, job: Job) -> Job | None:
        """Return a job whose replicates are needed besides those of a job."""
        return None

    @abstractmethod
    def compute(self, terms: Sum, evidence: "Evidence") -> Computed:
        """Return the interval.

        Raises
        ------
        ValueError
            If there is none.
        """


class EstimateMethod(IntervalMethod):
    """The interval of an estimate with a standard error, which replicates have no part in."""

    #: Whether the estimate is the value corrected for its bias.
    corrects: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, terms: Sum, evidence: "Evidence") -> Estimate:
        """Return the estimate.

        Raises
        ------
        ValueError
            If there is none.
        """

    def must_be_finite(self, value: float, replicates: Floats) -> Floats:
        return np.array([value])

    def compute(self, terms: Sum, evidence: "Evidence") -> Computed:
        estimate = self.estimate(terms, evidence)
        interval = estimate.interval(evidence.intervals.confidence_level)
        corrected = estimate.center if self.corrects else float("nan")
        return Computed(interval, estimate.degrees_of_freedom, corrected)


class ReplicateMethod(IntervalMethod):
    """An interval from the defined replicates of the value."""

    @abstractmethod
    def ends(
        self, value: float, ordered: Floats, level: float, acceleration: float = 0.0
    ) -> Interval:
        """Return the interval from replicates in ascending order; of BCa with its acceleration."""

    def acceleration(self, terms: Sum, evidence: "Evidence") -> float:
        return 0.0

    def compute(self, terms: Sum, evidence: "Evidence") -> Computed:
        value, replicates = evidence.total(terms)
        ordered = np.sort(replicates[~np.isnan(replicates)])
        level = evidence.intervals.confidence_level
        return Computed(self.ends(value, ordered, level, self.acceleration(terms, evidence)))


class Percentile(ReplicateMethod):
    """Quantiles of the replicates."""

    name = "percentile"

    def must_be_finite(self, value: float, replicates: Floats) -> Floats:
        return np.empty(0)

    def ends(
        self, value: float, ordered: Floats, level: float, acceleration: float = 0.0
    ) -> Interval:
        low, high = (1.0 - level) / 2.0, (1.0 + level) / 2.0
        return Interval(quantile(ordered, low), quantile(ordered, high))


class Basic(ReplicateMethod):
    """Quantiles of the replicates, reflected at the value."""

    name = "basic"

    def ends(
        self, value: float, ordered: Floats, level: float, acceleration: float = 0.0
    ) -> Interval:
        low, high = Percentile().ends(value, ordered, level)
        return Interval(2.0 * value - high, 2.0 * value - low)


class Normal(ReplicateMethod):
    """The value minus its bias, plus and minus a multiple of the standard error.

    References
    ----------
    A. Davison and D. Hinkley, "Bootstrap methods and their application", 1997, chapter 5.
    """

    name = "normal"

    def ends(
        self, value: float, ordered: Floats, level: float, acceleration: float = 0.0
    ) -> Interval:
        with np.errstate(over="ignore"):  # squares of values near the largest float
            center = 2.0 * value - float(ordered.mean())
            reach = _normal().inv_cdf((1.0 + level) / 2.0) * float(ordered.std(ddof=1))
        return Interval(center - reach, center + reach)


class BCa(ReplicateMethod):
    """Quantiles of the replicates, corrected for bias and acceleration.

    References
    ----------
    B. Efron, "Better bootstrap confidence intervals", JASA 82, 1987,
    doi:10.1080/01621459.1987.10478410.
    """

    name = "bca"
    needs = (left_out_by_stratum,)

    def ends(
        self, value: float, ordered: Floats, level: float, acceleration: float = 0.0
    ) -> Interval:
        below = float((ordered < value).mean() + 0.5 * (ordered == value).mean())
        if not 0.0 < below < 1.0:
            side = "above" if below == 0.0 else "below"
            raise ValueError(
                f"bca intervals need replicates on both sides of the value; all lie {side} "
                f"{value:.6g}"
            )
        normal = _normal()
        bias = normal.inv_cdf(below)

        def corrected(share: float) -> float:
            shifted = bias + normal.inv_cdf(share)
            return normal.cdf(bias + shifted / (1.0 - acceleration * shifted))

        low, high = corrected((1.0 - level) / 2.0), corrected((1.0 + level) / 2.0)
        return Interval(quantile(ordered, low), quantile(ordered, high))

    @np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
    def acceleration(self, terms: Sum, evidence: "Evidence") -> float:
        """Return skewness / 6 of the influence of the units, by what the value is without them."""
        centered = -evidence.needed(left_out_by_stratum).centered(terms)
        largest = float(np.abs(centered).max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return 0.0
        centered = centered / largest  # skewness does not depend on the scale
        return float((centered**3).sum() / (6.0 * (centered**2).sum() ** 1.5))


def _normal() -> "NormalDist":
    from statistics import NormalDist  # with fractions and decimals, which take a while to import

    return NormalDist()
