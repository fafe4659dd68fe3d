"""Curves with bands, against curves of samples weighted by how often they were drawn."""

import itertools

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.curves import BANDS
from tests import reference
from tests.replicates import quietly, recorded, schemes

N = 90
RATES = [0.0, 0.01, 0.1, 0.5, 1.0]
ODDS = [2.0, -3.0, 0.0, 2.0]  # in any order
SHARES = [0.2, 0.05, 0.5, 0.97]
SCORES = [0.3, -np.inf, -1.0, 0.0, 2.5, np.inf]
POINTS = {fp.roc: RATES, fp.bayes_error: ODDS, fp.risk_curve: SHARES, fp.pav_steps: SCORES}
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


def weights_drawn(data, scheme, n=40):
    """The weights of the replicates of clusters and speakers by the same seed."""
    _, weights, _ = recorded(
        [], data, resampling=SCHEMES[scheme], seed=3, n_resamples=n, method="percentile"
    )
    return weights


# Naive curves


def rates_at(data, w, scores, threshold):
    y = data.labels == 1
    return (
        w[y & (scores < threshold)].sum() / w[y].sum(),
        w[~y & (scores >= threshold)].sum() / w[~y].sum(),
    )


def all_rates(data, w):
    distinct = np.unique(data.scores)
    rates = [rates_at(data, w, data.scores, threshold) for threshold in distinct]
    return np.array([*rates, (1.0, 0.0)])  # nothing is accepted


def naive(curve, data, w, points):
    """Name -> values of the curve at points, from its definition, at given weights."""
    if curve is fp.roc:
        p_miss, p_fa = all_rates(data, w).T
        return {"p_miss": [p_miss[p_fa <= p * (1 + 1e-12)].min() for p in points]}
    if curve is fp.bayes_error:
        target = 1 / (1 + np.exp(-np.array(points)))
        p_miss, p_fa = all_rates(data, w).T
        errors = {"minimum": [(t * p_miss + (1 - t) * p_fa).min() for t in target]}
        if data.kind != "raw scores":
            llrs = data.llrs
            if data.kind == "posteriors" and data.given_priors is None:  # those of the replicate
                llrs = data.log_odds - np.log(w[data.labels == 1].sum() / w[data.labels == 0].sum())
            actual = [rates_at(data, w, llrs, -x) for x in points]
            pairs = zip(target, actual, strict=True)
            errors["actual"] = [t * miss + (1 - t) * fa for t, (miss, fa) in pairs]
        return errors
    priors = None if data.given_priors is None else list(data.given_priors)
    mass = np.array(reference.sample_mass(list(data.labels), 2, list(w), priors))
    mass /= mass.sum()
    if curve is fp.risk_curve:
        y, passed = data.labels == 1, [-data.log_odds < np.log(a) - np.log1p(-a) for a in points]
        # decided for class 1 where the posterior of class 0 is below the point
        return {
            "risk": [
                mass[~y & is_1].sum() / a + mass[y & ~is_1].sum() / (1 - a)
                for is_1, a in zip(passed, points, strict=True)
            ]
        }
    present = w > 0
    y, scores = list(data.labels[present]), list(data.scores[present])
    blocks = reference.pool_adjacent_violators(scores, y, list(mass[present]))
    _, above, below = np.array([reference.apply_blocks(blocks, s) for s in points]).T
    totals = [mass[data.labels == k].sum() for k in range(2)]
    with np.errstate(divide="ignore"):
        llr = np.log(above / totals[1]) - np.log(below / totals[0])
    return {"posterior": above / (above + below), "llr": llr}


def naive_ends(values, level=0.95):
    """Order statistics at each point."""
    ordered = np.sort(values, axis=0)
    n = len(ordered)
    low, high = (int(np.ceil(share * n - 1e-9)) - 1 for share in ((1 - level) / 2, (1 + level) / 2))
    return ordered[max(low, 0)], ordered[high]


def is_defined(curve, data, w):
    """Whether a replicate has what the curve needs."""
    both = w[data.labels == 1].sum() > 0 and w[data.labels == 0].sum() > 0
    needs_both = curve is not fp.risk_curve or data.given_priors is not None
    return both if needs_both else w.sum() > 0


@pytest.mark.parametrize(
    ("scheme", "kind", "weights", "priors"),
    [("Clusters", "llrs", False, None), ("TwoWay", "llrs", True, (0.9, 0.1)),
     ("Nested", "posteriors", True, None), ("TwoWay", "posteriors", False, (0.2, 0.8)),
     ("Clusters", "raw scores", True, None)],
)  # fmt: skip
def test_bands_are_quantiles_of_the_curves_of_what_was_drawn(scheme, kind, weights, priors):
    data = detector(kind, weights, priors)
    drawn = weights_drawn(data, scheme)
    whole = data.weights if data.weights.size else np.ones(N)
    for curve, points in POINTS.items():
        if curve is fp.risk_curve and kind == "raw scores":
            continue  # have no risks
        band = quiet_band(curve, data, points, resampling=SCHEMES[scheme])
        defined = [w for w in drawn if is_defined(curve, data, w)]
        assert band.n_undefined >= 40 - len(defined)
        replicates = [naive(curve, data, w, points) for w in defined]
        on_data = naive(curve, data, whole, points)
        for name, value in on_data.items():
            close = {"rtol": 1e-12, "atol": 1e-14, "err_msg": name}
            np.testing.assert_allclose(getattr(band.value, name), value, **close)
            low, high = naive_ends(np.array([each[name] for each in replicates]))
            np.testing.assert_allclose(getattr(band.low, name), low, **close)
            np.testing.assert_allclose(getattr(band.high, name), high, **close)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_points_are_intervals_of_metrics(scheme):
    data, options = detector(), {"resampling": SCHEMES[scheme], "seed": 3, "n_resamples": 40}
    priors = 1 / (1 + np.exp(-np.array(ODDS)))
    for curve, points, series, metrics in (
        (fp.roc, RATES[:-1], "p_miss", [fp.MissRate(p) for p in RATES[:-1]]),
        (fp.bayes_error, ODDS, "normalized_minimum", [fp.MinDCF(p) for p in priors]),
        (fp.pav_steps, SCORES, "posterior", [fp.PavPosterior(score) for score in SCORES]),
    ):
        band = quiet_band(curve, data, points, resampling=SCHEMES[scheme])
        results = quietly(fp.bootstrap, metrics, data, method="percentile", **options)
        low, high = np.transpose([result.interval for result in results])
        np.testing.assert_allclose(getattr(band.low, series), low, rtol=1e-13)
        np.testing.assert_allclose(getattr(band.high, series), high, rtol=1e-13)


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


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_simultaneous_bands_hold_the_level(level):
    data = fp.Predictions.from_llrs(np.arange(N) % 2, np.sin(np.arange(N)) + np.arange(N) % 2)
    weights, options = weights_drawn(data, "Clusters", 200), {"confidence_level": level, "n": 200}
    options["resampling"] = SCHEMES["Clusters"]
    for curve, name in ((fp.bayes_error, "actual"), (fp.pav_steps, "llr"), (fp.roc, "p_miss")):
        points = POINTS[curve]
        band = quiet_band(curve, data, points, simultaneous=True, **options)
        low, high = (getattr(side, name) for side in (band.low, band.high))
        values = np.array([naive(curve, data, w, points)[name] for w in weights])
        tolerance = 1e-12
        inside = ((values >= low - tolerance) & (values <= high + tolerance)).all(axis=1)
        assert inside.mean() >= level
        ordered = np.sort(values, axis=0)
        for k in range(1, 100):  # the next narrower band that is not pointwise
            narrower = (values >= ordered[k]) & (values <= ordered[-k - 1])
            if narrower.all(axis=1).mean() < level:
                break
        pointwise = naive_ends(values, level)
        np.testing.assert_allclose(low, np.minimum(pointwise[0], ordered[k - 1]), rtol=1e-12)
        np.testing.assert_allclose(high, np.maximum(pointwise[1], ordered[-k]), rtol=1e-12)


def test_risks_of_many_classes():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    z = np.round(rng.normal(size=(N, 3)) + np.eye(3)[y], 1)
    options = {"priors": [0.5, 0.3, 0.2]}
    data = fp.Predictions.from_logits(y, z, sample_weight=rng.uniform(0.5, 2.0, N), **options)
    points = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    band = quiet_band(fp.risk_curve, data, points, resampling=SCHEMES["Clusters"])
    values = [
        fp.risk_curve(fp.Predictions.from_logits(y, z, sample_weight=w, **options), points).risk
        for w in weights_drawn(data, "Clusters")
    ]
    low, high = naive_ends(np.array(values))
    np.testing.assert_allclose(band.low.risk, low, rtol=1e-12)
    np.testing.assert_allclose(band.high.risk, high, rtol=1e-12)
    with pytest.raises(ValueError, match="points must be given for more than 2 classes"):
        fp.band(fp.risk_curve, data)


def test_undefined_replicates_are_counted_and_left_out():
    data = fp.Predictions.from_llrs([0] * 30 + [1], np.arange(31.0) % 7)
    with pytest.warns(RuntimeWarning, match=r"roc is undefined in \d+ of 200 replicates"):
        band = fp.band(fp.roc, data, [0.5], n_resamples=200, seed=0)
    assert 40 < band.n_undefined < 110
    assert np.isfinite(band.low.p_miss).all()


def test_bands_are_results():
    data = detector(n=300)
    band = quiet_band(fp.bayes_error, data, [-1.0, 1.0], resampling=fp.Stratified())
    content, frame = band.to_dict(), band.to_frame()
    assert content["minimum_low"] == band.low.minimum.tolist()
    assert (content["n_resamples"], content["resampling"], content["seed"]) == (40, "Stratified", 3)
    assert frame["actual_high"].to_list() == band.high.actual.tolist()
    raw = quiet_band(fp.bayes_error, detector("raw scores"), [0.0])
    assert raw.series == ("minimum",)
    assert np.isnan([raw.value.actual, raw.low.actual, raw.high.actual]).all()
