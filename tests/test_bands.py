"""Curves with bands, whose points are intervals of metrics in the same draws."""

import itertools

import numpy as np
import pytest
from scipy.special import logit

import fastpsr as fp
from fastpsr.curves import BANDS
from tests.replicates import quietly, schemes

N = 90
RATES = [0.0, 0.01, 0.1, 0.5]
ODDS = [2.03, -2.96, 0.0, 2.03]  # in any order, and at no score but 0
PRIORS = 1.0 / (1.0 + np.exp(-np.array(ODDS)))
SHARES = [0.2, 0.05, 0.5, 0.97]
SCORES = [0.3, -np.inf, -1.0, 0.0, 2.5, np.inf]


def risk_at(*a):
    """The risk under the paper's costs C_a."""
    costs = np.tile(1.0 / ((len(a) - 1.0) * np.array(a)), (len(a), 1)).T
    return fp.BayesRisk(costs * (1.0 - np.eye(len(a))), normalized=False)


#: Curve, points, a series of the curve, and metrics that have its values.
OF_RANKS = [
    (fp.roc, RATES, "p_miss", [fp.MissRate(p) for p in RATES]),
    (fp.bayes_error, ODDS, "normalized_minimum", [fp.MinDCF(p) for p in PRIORS]),
    (fp.pav_steps, SCORES, "posterior", [fp.PavPosterior(score) for score in SCORES]),
]
OF_COUNTS = [
    (fp.bayes_error, ODDS, "normalized_actual", [fp.ActDCF(p) for p in PRIORS]),
    (fp.risk_curve, SHARES, "risk", [risk_at(a, 1.0 - a) for a in SHARES]),
]
SCHEMES = schemes(*np.random.default_rng(7).integers(0, 30, (2, N)))
by_curve = pytest.mark.parametrize("curve", list(BANDS), ids=lambda curve: curve.__name__)


def detector(kind="llrs", weights=False, priors=None, seed=0, n=N):
    """Tied scores, some of them infinite, and samples without weight."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    x = np.round(rng.normal(size=n) + 1.5 * y - 0.8, 1)
    x[rng.integers(0, n, 3)] = -np.inf, np.inf, np.inf
    w = rng.choice([0.0, 0.3, 1.0, 2.5], n) if weights else None
    if kind == "raw scores":
        return fp.Predictions.from_raw_scores(y, x, sample_weight=w)
    if kind == "posteriors":
        q = 1.0 / (1.0 + np.exp(-x))
        return fp.Predictions.from_posteriors(y, q, sample_weight=w, priors=priors)
    prior = None if priors is None else priors[1]
    return fp.Predictions.from_llrs(y, x, prior=prior, sample_weight=w)


def quiet_band(*arguments, n=40, **options):
    return quietly(fp.band, *arguments, n_resamples=n, **{"seed": 3, **options})


def intervals(metrics, data, scheme, n=40, **options):
    return quietly(
        fp.bootstrap, metrics, data, resampling=SCHEMES[scheme], method="percentile", seed=3,
        n_resamples=n, **options,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "kind", "weights", "priors"),
    [
        ("IID", "llrs", False, None), ("Stratified", "llrs", True, None),
        ("Clusters", "llrs", False, None), ("TwoWay", "llrs", True, (0.9, 0.1)),
        ("Nested", "posteriors", True, None), ("TwoWay", "posteriors", False, (0.2, 0.8)),
        ("Clusters", "raw scores", True, None),
    ],
)  # fmt: skip
def test_points_are_intervals_of_metrics(scheme, kind, weights, priors):
    data = detector(kind, weights, priors)
    draws_ids = scheme not in ("IID", "Stratified")  # else metrics of counts have other draws
    has_counts = draws_ids and kind != "raw scores"
    for curve, points, series, metrics in OF_RANKS + (OF_COUNTS if has_counts else []):
        band = quiet_band(curve, data, points, resampling=SCHEMES[scheme])
        if curve is fp.bayes_error and kind == "raw scores":
            assert band.series == ("minimum",)
        results = intervals(metrics, data, scheme)
        low, high = np.transpose([result.interval for result in results])
        close = {"rtol": 1e-12, "atol": 1e-14, "err_msg": series}
        values = [result.value for result in results]
        np.testing.assert_allclose(getattr(band.value, series), values, **close)
        np.testing.assert_allclose(getattr(band.low, series), low, **close)
        np.testing.assert_allclose(getattr(band.high, series), high, **close)
        assert {result.n_undefined for result in results} == {band.n_undefined}


@pytest.mark.parametrize("scheme", ["Clusters", "TwoWay"])
def test_llrs_of_isotonic_fits_do_not_depend_on_priors(scheme):
    """At given priors they follow from the posteriors."""
    options = {"resampling": SCHEMES[scheme]}
    of_data, at_prior = (
        quiet_band(fp.pav_steps, detector("llrs", True, priors), SCORES, **options)
        for priors in (None, (0.9, 0.1))
    )
    for end in ("low", "high"):
        posterior, llr = getattr(at_prior, end).posterior, getattr(of_data, end).llr
        np.testing.assert_allclose(getattr(at_prior, end).llr, llr, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(logit(posterior) - logit(0.1), llr, rtol=1e-12, atol=1e-12)


def test_risks_of_many_classes():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    z = np.round(rng.normal(size=(N, 3)) + np.eye(3)[y], 1)
    weights = rng.uniform(0.5, 2.0, N)
    data = fp.Predictions.from_logits(y, z, sample_weight=weights, priors=[0.5, 0.3, 0.2])
    points = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    band = quiet_band(fp.risk_curve, data, points, resampling=SCHEMES["Clusters"])
    results = intervals([risk_at(*a) for a in points], data, "Clusters")
    low, high = np.transpose([result.interval for result in results])
    np.testing.assert_allclose(band.low.risk, low, rtol=1e-12)
    np.testing.assert_allclose(band.high.risk, high, rtol=1e-12)
    with pytest.raises(ValueError, match="points must be given for more than 2 classes"):
        fp.band(fp.risk_curve, data)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_simultaneous_bands_hold_the_level(level):
    data = fp.Predictions.from_llrs(np.arange(N) % 2, np.sin(np.arange(N)) + np.arange(N) % 2)
    options = {"confidence_level": level, "n": 200}
    for curve, points, series, metrics in (OF_RANKS[0], OF_RANKS[2], OF_COUNTS[0]):
        band = quiet_band(
            curve, data, points, simultaneous=True, resampling=SCHEMES["Clusters"], **options
        )
        low, high = (getattr(side, series) for side in (band.low, band.high))
        results = intervals(metrics, data, "Clusters", **options)
        values = np.array([result.replicates for result in results]).T
        tolerance = 1e-12
        inside = ((values >= low - tolerance) & (values <= high + tolerance)).all(axis=1)
        assert inside.mean() >= level
        ordered = np.sort(values, axis=0)
        for k in range(1, 100):  # the next narrower band that is not pointwise
            narrower = (values >= ordered[k]) & (values <= ordered[-k - 1])
            if narrower.all(axis=1).mean() < level:
                break
        pointwise = np.transpose([result.interval for result in results])
        np.testing.assert_allclose(low, np.minimum(pointwise[0], ordered[k - 1]), rtol=1e-12)
        np.testing.assert_allclose(high, np.maximum(pointwise[1], ordered[-k]), rtol=1e-12)


@by_curve
def test_bands_contain_those_of_lower_levels_and_pointwise_ones(curve):
    """At default points."""
    data = detector(n=400)
    band, low_level, joint = (
        quiet_band(curve, data, **options)
        for options in ({}, {"confidence_level": 0.5}, {"simultaneous": True})
    )
    for name in band.series:
        ends = [
            getattr(side, name)
            for side in (
                joint.low, band.low, low_level.low, low_level.high, band.high, joint.high,
            )
        ]  # fmt: skip
        for lower, upper in itertools.pairwise(ends):
            assert (lower <= upper).all()
        assert getattr(band.value, name).shape == ends[0].shape
        assert (ends[1] < ends[4]).any()
        assert (ends[0] < ends[1]).any() or (ends[4] < ends[5]).any()


def test_default_points_of_isotonic_fits_hold_the_ends_of_steps():
    data = detector("posteriors", n=400)
    steps, band = fp.pav_steps(data), quiet_band(fp.pav_steps, data)
    assert np.isin(steps.lowest, band.value.score).all()
    assert np.isin(steps.highest, band.value.score).all()
    at = np.searchsorted(steps.lowest, band.value.score, side="right") - 1
    np.testing.assert_allclose(band.value.llr, steps.llr[at], rtol=1e-12)
    np.testing.assert_allclose(band.value.posterior, steps.posterior[at], rtol=1e-12)
    ends = [band.value.forecast[band.value.score == end] for end in (-np.inf, np.inf)]
    assert np.concatenate(ends).tolist() == [0.0, 1.0]


def test_undefined_replicates_are_counted_and_left_out():
    data = fp.Predictions.from_llrs([0] * 30 + [1], np.arange(31.0) % 7)
    with pytest.warns(RuntimeWarning, match=r"roc is undefined in \d+ of 200 replicates"):
        band = fp.band(fp.roc, data, [0.5], n_resamples=200, seed=0)
    assert 40 < band.n_undefined < 110
    assert np.isfinite(band.low.p_miss).all()
