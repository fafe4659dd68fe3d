"""What has an interval, and the values that its interval is computed from."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from fastpsr.bootstrap.job import Job
from fastpsr.bootstrap.units import Units
from fastpsr.data import Floats
from fastpsr.errors import Subject
from fastpsr.interval_rule import NO_BIAS, IntervalRule

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
