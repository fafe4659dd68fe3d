"""Intervals of every method under every scheme, next to those of the central limit theorem."""

import numpy as np
import pytest

import fastpsr as fp
from tests.contract import registry
from tests.contract.comparison import outcome, require_same
from tests.contract.data import Case

CASE = Case("posteriors", n=300, seed=5)
OPTIONS = {"n_resamples": 1_000, "confidence_level": 0.9, "seed": 0}
WIDTH = 2.0 * 1.6449  # of an interval of 90 %, in standard errors
#: How far widths may be off; subsampling and `auto` allow for few units.
TOLERANCE = dict.fromkeys(registry.METHODS, 0.1) | {"subsampling": 0.75, "auto": 0.2}
each_scheme = pytest.mark.parametrize("scheme", registry.RESAMPLING_KINDS)
each_method = pytest.mark.parametrize("method", registry.METHODS)


def standard_error(scheme):
    """Return the standard error of the mean log loss under the law of a scheme."""
    y, q = CASE.rows["y"], CASE.rows["scores"]
    losses = -np.log(np.where(y == 1, q, 1.0 - q))
    residuals = losses - losses.mean()
    if scheme == "Stratified":
        residuals = losses - np.array([losses[y == k].mean() for k in (0, 1)])[y]
    if scheme in ("IID", "Stratified"):
        return np.sqrt((residuals**2).sum()) / CASE.n
    if scheme == "TwoWay":
        sides = [CASE.rows["left"], CASE.rows["right"]]
        sums = [sum((residuals[side == s].sum() for side in sides), 0.0) for s in np.unique(sides)]
        return np.sqrt(np.sum(np.square(sums)) + (residuals**2).sum()) / CASE.n
    units = CASE.rows["unit"]
    between = sum(residuals[units == unit].sum() ** 2 for unit in np.unique(units))
    within = sum(
        ((losses[units == u] - losses[units == u].mean()) ** 2).sum() for u in np.unique(units)
    )
    return np.sqrt(between + (within if scheme == "Nested" else 0.0)) / CASE.n


@each_method
@each_scheme
def test_a_mean_has_the_interval_of_its_standard_error(scheme, method):
    resampling = registry.resampling(scheme, CASE.columns)
    metric = fp.CrossEntropy(normalized=False)
    result = outcome(
        fp.bootstrap, metric, CASE.predictions(), method=method, resampling=resampling, **OPTIONS
    )
    if method == "bca" and scheme in ("Nested", "TwoWay"):
        assert result.argument == "method"
        return
    error = standard_error(scheme)
    assert result.standard_error == pytest.approx(error, rel=0.07)
    low, high = result.interval
    assert low < result.value < high
    assert high - low == pytest.approx(WIDTH * error, rel=TOLERANCE[method])
    assert abs(0.5 * (low + high) - result.value) < 0.6 * error


@each_method
def test_intervals_by_clusters_are_the_same_in_parts(method):
    for metric in (fp.EER(), fp.BrierScore(False), fp.ECE()):
        here, there = (
            outcome(
                fp.bootstrap, metric, data, method=method, resampling=fp.Clusters(ids), **OPTIONS
            )
            for data, ids in ((CASE.predictions(), CASE.rows["unit"]), (CASE.parts(), "unit"))
        )
        require_same([*there.interval], [*here.interval], 1e-9)
