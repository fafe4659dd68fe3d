"""Intervals from values without each cluster or speaker, for means of few of them.

Percentile intervals of such a mean are too short: replicates vary less than means of new clusters,
by (G - 1) / G; and where rare clusters with large losses are missing, both the mean and its
measured error are too small.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from fastpsr.bootstrap.estimates import Estimate
from fastpsr.bootstrap.job import Sum
from fastpsr.bootstrap.left_out import degrees_of_freedom, left_out_values, standard_error
from fastpsr.bootstrap.methods import EstimateMethod
from fastpsr.interval_rule import IntervalRule

if TYPE_CHECKING:
    from fastpsr.bootstrap.evidence import Evidence

__all__ = ["Jackknife"]

_LEAST_SHARE = 0.5  # of the groups without which a metric must be defined


class Jackknife(EstimateMethod):
    """The value of a mean, or of a sum of signed means, with its standard error."""

    name = "jackknife"
    needs = (left_out_values,)

    @np.errstate(over="ignore", invalid="ignore")  # of values near the largest float
    def estimate(self, terms: Sum, evidence: "Evidence") -> Estimate:
        left_out = evidence.needed(left_out_values)
        psi = left_out.centered(terms)
        if psi.size < _LEAST_SHARE * left_out.values.shape[1]:
            raise ValueError("it is undefined or infinite without most of the clusters or speakers")
        error = standard_error(psi)
        if not math.isfinite(error):
            raise ValueError("its values without single units are too near the largest float")
        df = degrees_of_freedom(psi) if error else math.nan
        rule = terms.jobs[0].interval_rule if len(terms.jobs) == 1 else IntervalRule()
        return Estimate(evidence.total(terms)[0], error, df, math.inf, rule)
