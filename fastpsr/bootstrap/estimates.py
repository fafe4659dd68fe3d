"""Estimates with a standard error, whose intervals are Student's."""

import math
from typing import NamedTuple, Self

from fastpsr.bootstrap.intervals import Interval
from fastpsr.interval_rule import IntervalRule


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
