"""What has an interval, and the values that its interval is computed from."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from fastpsr.bootstrap.row_draws import Reweighted, RowCounts, Subset
from fastpsr.bootstrap.units import Units
from fastpsr.caching import ByIdentity, cached_property
from fastpsr.counts import begin
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, mapped
from fastpsr.errors import Subject
from fastpsr.interval_rule import NO_BIAS, IntervalRule
from fastpsr.metrics.base import AnyMetric, Metric, Statistic, name_of


@dataclass(eq=False)
class Job:
    """A metric, or the values of a curve, of some data, and its prepared sums.

    A subset is drawn with its whole; `shape` is that of the value, () for a metric.
    """

    metric: AnyMetric | Statistic[Any, Floats]
    data: Data
    subset: Subset | None = None
    sums: Sums | None = None
    shape: tuple[int, ...] = ()

    @cached_property
    def name(self) -> str:
        """Name of the metric in messages."""
        return name_of(self.metric)

    @property
    def interval_rule(self) -> IntervalRule:
        """How its intervals are computed; functions of the caller have the default."""
        rule: IntervalRule = getattr(self.metric, "interval_rule", Metric.interval_rule)
        return rule

    @property
    def value_range(self) -> tuple[float, float]:
        """Least and greatest value that it can have."""
        ends: tuple[float, float] = getattr(self.metric, "value_range", Metric.value_range)
        return ends

    @property
    def whole(self) -> Data:
        """The data whose units are drawn."""
        return self.data if self.subset is None else self.subset.whole

    def prepare(self) -> None:
        """Find the sums of the metric, of which replicates are computed."""
        if isinstance(self.metric, Statistic):
            begin(self.data)
            if self.data.refit is not None:  # so that scores of replicates are others
                return
            sums = self.metric.sums(self.data)
            if sums is not None and sums.are_reweightable:
                self.sums = sums

    def value_under(self, draws: RowCounts, replicate: int, views: dict[Hashable, Any]) -> Any:
        """Return the value for given draw counts of the rows; nan if it is undefined.

        `views` are draws of rows, and data under these, which jobs share: what is computed once for
        several metrics of the same data is computed once here, too.
        """
        key = ByIdentity(self.data), self.subset, replicate
        try:
            if key not in views:
                drawn = key[1:]
                if drawn not in views:
                    views[drawn] = Reweighted(draws, replicate, self.subset)
                views[key] = mapped(self.data, views[drawn])
            view: Any = views[key]
            if isinstance(self.metric, Statistic):
                value: Any = self.metric.value_on(view)
            else:
                view.require_samples()  # two-way: possibly no trial with both speakers drawn
                value = self.metric(view)
        except ValueError:
            return np.full(self.shape, np.nan)[()]
        except Exception as error:
            raise ValueError(f"metric {self.name} fails on a replicate: {error!r}") from error
        return value if self.shape else as_number(self.name, value)


def as_number(name: str, value: object) -> float:
    """Return the value of a metric as a float; raise if it is not a number."""
    if np.ndim(value) == 0 and not isinstance(value, (str, bytes)):  # type: ignore[arg-type]
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            pass
    raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")


#: What intervals are computed from, besides the value on the data.
Input = Literal["replicates", "subsets", "left out", "left out by stratum", "signed errors"]


class Term(NamedTuple):
    """A prepared metric of some data, its value there, and its sign in a sum."""

    job: Job
    value: float
    sign: float = 1.0


@dataclass(frozen=True, eq=False)
class Estimand:
    """A signed sum of metrics that has an interval: one metric, or the difference of two.

    The intervals of a family hold jointly; those without a family each alone.
    """

    subject: Subject
    terms: tuple[Term, ...]
    family: Hashable = None

    @property
    def value(self) -> float:
        """The value on the data."""
        with np.errstate(invalid="ignore"):  # inf - inf is undefined
            return float(sum(np.float64(term.sign) * term.value for term in self.terms))

    @property
    def rules(self) -> list[IntervalRule]:
        """How the intervals of its metrics are computed."""
        return [term.job.interval_rule for term in self.terms]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Values of a metric, or of a signed sum of metrics, on the data and under draws.

    Attributes
    ----------
    value : float
    value_range : tuple of float
        Least and greatest value that it can have.
    rule : IntervalRule
    class_sizes : ndarray of int64, shape (K,)
    units : Units
        What is drawn.
    draws : dict of Input to ndarray or SignedErrors
        Replicates (R,), values on subsets (deals, 42), values without each group of units
        (S, G), and of calibration errors the signed errors: those that were asked for.
    terms : tuple of (Evidence, float)
        Of a sum: its metrics and their signs.
    """

    value: float
    value_range: tuple[float, float]
    rule: IntervalRule
    class_sizes: Any
    units: Units
    draws: Mapping[Input, Any]
    terms: "tuple[tuple[Evidence, float], ...]" = ()

    @property
    def replicates(self) -> Floats:
        """The replicates, none if they were not asked for."""
        return np.asarray(self.draws.get("replicates", np.empty(0)))

    @property
    def defined(self) -> Floats:
        """The replicates that are not nan."""
        return self.replicates[~np.isnan(self.replicates)]


@np.errstate(invalid="ignore")  # inf - inf is undefined
def signed_sum(value: float, terms: Sequence[tuple[Evidence, float]]) -> Evidence:
    """Return the evidence of a sum of metrics, whose value is given."""
    (first, sign), *others = terms
    if not others and sign == 1.0:
        return first
    low = high = 0.0
    for evidence, sign in terms:
        ends = [sign * end for end in evidence.value_range]
        low, high = low + min(ends), high + max(ends)
    draws: dict[Input, Any] = {
        name: sum(sign * evidence.draws[name] for evidence, sign in terms)
        for name in first.draws
        if name != "signed errors" and all(name in evidence.draws for evidence, _ in terms)
    }
    rules = [evidence.rule for evidence, _ in terms]
    rule = next((rule for rule in rules if rule.center != NO_BIAS), rules[0])
    sizes = np.min([evidence.class_sizes for evidence, _ in terms], axis=0)
    return Evidence(
        value, (low, high), replace(rule, scale="plain"), sizes, first.units, draws, tuple(terms)
    )
