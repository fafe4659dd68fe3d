"""A statistic names its sums once: what is added up and assembled is what `total` returns."""

import warnings

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.curves import BANDS
from fastpsr.metrics.base import Statistic
from fastpsr.metrics.ranks import RankStatistic
from fastpsr.plans import begin, run
from fastpsr.summaries.sums import AddUp, Sums
from tests import everything

#: Summaries that are smaller or faster to compute than the sums, as one weighting is fixed.
OVERRIDES = {
    "Metric": "summaries of a user's own",
    "HullStatistic": "hull of the ROC, by buckets",
    "_StepMetric": "a step of the ROC, by buckets",
    "EER": "on the hull, or at a step",
    "Threshold": "the score at that step",
    "AUC": "of several classes",
    "DevPAV": "highest scores of the blocks",
    "ECE": "quantile bins",
    "CalibrationLoss": "refits",
    "ExpectedDivergence": "refits",
    "_TableOfLosses": "refits",
    "_Term": "refits",
    "ErrorsOfBins": "that of the calibration error",
}
N = 4_000
DATA = {
    "posteriors": everything.binary(N),
    "weighted": everything.binary(N, weighted=True),
    "llrs": everything.binary(N, kind="llrs"),
    "many llrs": everything.binary(40_000, kind="llrs"),
    "priors": fp.Predictions.from_posteriors(
        everything.binary(N).y_true, everything.binary(N).posteriors, priors=[0.2, 0.8]
    ),
    "three classes": everything.multiclass(999),
}


def statistics(data):
    """Return name -> statistic: all metrics, and all values of curves that have bands."""
    found = dict(everything.metrics(data))
    if data.n_classes == 2:
        for curve, at_points in BANDS.items():
            at = run(lambda at_points=at_points: _begun(data, at_points))
            found |= {f"{curve.__name__}: {name}": each for name, each in at.statistics.items()}
    return found


def _begun(data, at_points):
    yield from begin(data)
    return (yield from at_points(data, None))


class _Polynomials(AddUp):
    """Add up the polynomials of the last column, which only the bootstrap does."""

    def start(self):
        n_groups = self.sums.n_groups
        return np.zeros(n_groups), np.zeros((n_groups, self.sums.n_sums))

    def add(self, accumulator, prepared, *parts):
        groups, weights = self.sums.groups(*parts), parts[0].predictions.weights
        weights = weights if weights.size else np.ones(groups.size)
        *columns, x = self.sums.columns(*parts)
        angle = np.arccos(np.clip(x, -1.0, 1.0))
        columns += [np.cos(k * angle) for k in range(1, self.sums.degree + 1)]
        n = self.sums.n_groups
        sums = np.column_stack([np.bincount(groups, weights * c, n) for c in columns])
        return np.bincount(groups, weights, n), sums


def _both(statistic, data):
    """Plan: return the value from the total, and from the added sums; None if it has none."""
    yield from begin(data)
    sums = yield from statistic.sums(data)
    if sums is None:
        return None
    assert isinstance(sums, Sums)
    step = (_Polynomials if sums.degree else AddUp)(sums)
    (added,) = yield [step.over(data, *sums.beside)]
    total = yield from statistic.total(data)
    return statistic.finish(total), statistic.finish(sums.assemble(*added))


@pytest.mark.parametrize("name", DATA)
def test_values_of_totals_are_those_of_added_sums(name):
    data = DATA[name]
    compared = 0
    for label, statistic in statistics(data).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = run(lambda statistic=statistic: _both(statistic, data))
        if found is None:
            continue
        compared += 1
        value, of_sums = found
        if isinstance(statistic, RankStatistic) and not data.has_weights:
            np.testing.assert_array_equal(value, of_sums, err_msg=label)
        else:
            is_fit = isinstance(statistic, (fp.CalibrationLoss, fp.ExpectedDivergence))
            tolerance = 1e-9 if is_fit else 1e-12
            np.testing.assert_allclose(
                value, of_sums, rtol=tolerance, atol=tolerance, err_msg=label
            )
    assert compared > (5 if data.n_classes > 2 else 20)


def test_totals_are_overridden_where_it_is_listed():
    def classes(of):
        return {of}.union(*map(classes, of.__subclasses__()))

    own = {each for each in classes(Statistic) if each.__module__.startswith("fastpsr.")}
    assert {each.__name__ for each in own - {Statistic} if "total" in vars(each)} == set(OVERRIDES)
