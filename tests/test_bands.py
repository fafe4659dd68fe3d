"""Curves with bands, against curves of samples weighted by how often they were drawn."""

import itertools
import json
import warnings

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.bootstrap import RESAMPLINGS, bands
from fastpsr.curves import BANDS
from fastpsr.plans import run
from tests import reference
from tests.drawn import drawn_times

N = 90
RATES = [0.0, 0.01, 0.1, 0.5, 1.0]
ODDS = [2.0, -3.0, 0.0, 2.0]  # in any order
SHARES = [0.2, 0.05, 0.5, 0.97]
SCORES = [0.3, -np.inf, -1.0, 0.0, 2.5, np.inf]
POINTS = {fp.roc: RATES, fp.bayes_error: ODDS, fp.risk_curve: SHARES, fp.pav_steps: SCORES}
IDS = np.random.default_rng(7).integers(0, 30, (2, N))
SCHEMES = [fp.IID(), fp.Stratified(), fp.Clusters(IDS[0]), fp.Nested(IDS[0]), fp.TwoWay(*IDS)]
IN_PARTS = [fp.IID(), fp.Stratified(), fp.Clusters("a"), fp.Nested("a"), fp.TwoWay("a", "b")]
by_curve = pytest.mark.parametrize("curve", list(BANDS), ids=lambda curve: curve.__name__)
by_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return fp.band(*arguments, n_resamples=n, **{"seed": 3, **options})


# Naive curves


def rates_at(data, scores, threshold):
    w = data.weights if data.weights.size else np.ones(len(data))
    y = data.labels == 1
    return (
        w[y & (scores < threshold)].sum() / w[y].sum(),
        w[~y & (scores >= threshold)].sum() / w[~y].sum(),
    )


def all_rates(data):
    distinct = np.unique(data.scores)
    found = [rates_at(data, data.scores, threshold) for threshold in distinct]
    return np.array([*found, (1.0, 0.0)])  # nothing is accepted


def naive(curve, data, points):
    """Name -> values of the curve at points, from its definition."""
    if curve is fp.roc:
        p_miss, p_fa = all_rates(data).T
        return {"p_miss": [p_miss[p_fa <= p * (1 + 1e-12)].min() for p in points]}
    if curve is fp.bayes_error:
        target = 1 / (1 + np.exp(-np.array(points)))
        p_miss, p_fa = all_rates(data).T
        found = {"minimum": [(t * p_miss + (1 - t) * p_fa).min() for t in target]}
        if data.kind != "raw scores":
            actual = [rates_at(data, data.llrs, -x) for x in points]
            pairs = zip(target, actual, strict=True)
            found["actual"] = [t * miss + (1 - t) * fa for t, (miss, fa) in pairs]
        return found
    w = data.weights if data.weights.size else np.ones(len(data))
    priors = None if data.given_priors is None else list(data.given_priors)
    mass = np.array(reference.sample_mass(list(data.labels), 2, list(w), priors))
    mass /= mass.sum()
    if curve is fp.risk_curve:
        y, passed = data.labels == 1, [-data.log_odds < np.log(a) - np.log1p(-a) for a in points]
        # decided for class 1 where the posterior of class 0 is below the point
        return {
            "risk": [
                mass[~y & one].sum() / a + mass[y & ~one].sum() / (1 - a)
                for one, a in zip(passed, points, strict=True)
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


def defined(curve, data, times):
    """Whether a replicate has what the curve needs."""
    w = times * (data.weights if data.weights.size else 1.0)
    both = w[data.labels == 1].sum() > 0 and w[data.labels == 0].sum() > 0
    needs_both = curve is not fp.risk_curve or data.given_priors is not None
    return both if needs_both else w.sum() > 0


@pytest.mark.in_turn(5)
@by_curve
@by_scheme
@pytest.mark.parametrize(
    ("kind", "weights", "priors"),
    [("llrs", False, None), ("llrs", True, (0.9, 0.1)), ("posteriors", True, None),
     ("posteriors", False, (0.2, 0.8)), ("raw scores", True, None)],
)  # fmt: skip
def test_bands_are_quantiles_of_the_curves_of_what_was_drawn(curve, scheme, kind, weights, priors):
    if curve is fp.risk_curve and kind == "raw scores":
        pytest.skip("raw scores have no risks")
    data, points = detector(kind, weights, priors), POINTS[curve]
    found = quiet_band(curve, data, points, resampling=scheme)
    at = run(lambda: BANDS[curve](data, points))
    assert set(found.series) == set(at.statistics)
    own = data.weights if data.weights.size else np.ones(N)
    for name, statistic in at.statistics.items():
        on_data = naive(curve, data, points)[name]
        np.testing.assert_allclose(getattr(found.value, name), on_data, rtol=1e-12, atol=1e-14)
        times = drawn_times(scheme, data, statistic, 3, 40)
        drawn = [each for each in times if defined(curve, data, each)]
        values = [naive(curve, data.reweighted(each * own), points)[name] for each in drawn]
        low, high = naive_ends(np.array(values))
        np.testing.assert_allclose(getattr(found.low, name), low, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(getattr(found.high, name), high, rtol=1e-12, atol=1e-14)
        assert found.n_undefined >= 40 - len(drawn)


def test_every_scheme_is_tested():
    assert tuple(type(scheme) for scheme in SCHEMES) == RESAMPLINGS


@by_scheme
def test_points_are_intervals_of_metrics(scheme):
    data = detector()
    priors = 1 / (1 + np.exp(-np.array(ODDS)))
    for curve, points, series, metrics in (
        (fp.roc, RATES[:-1], "p_miss", [fp.MissRate(p) for p in RATES[:-1]]),
        (fp.bayes_error, ODDS, "normalized_minimum", [fp.MinDCF(p) for p in priors]),
        (fp.pav_steps, SCORES, "posterior", [fp.PavPosterior(score) for score in SCORES]),
    ):
        found = quiet_band(curve, data, points, resampling=scheme)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            ends = [
                each.interval
                for each in fp.bootstrap(
                    metrics, data, n_resamples=40, method="percentile", resampling=scheme, seed=3
                )
            ]
        low, high = getattr(found.low, series), getattr(found.high, series)
        np.testing.assert_allclose(low, [end.low for end in ends], rtol=1e-13)
        np.testing.assert_allclose(high, [end.high for end in ends], rtol=1e-13)


@pytest.mark.in_turn(2)
@by_curve
@pytest.mark.parametrize("scheme", range(len(SCHEMES)))
@pytest.mark.parametrize("weights", [False, True])
def test_bands_in_parts(curve, scheme, weights):
    data = detector(weights=weights)
    cuts = (0, 20, 20, 21, 60, N)
    parts = fp.from_parts(
        (data[a:b], {"a": IDS[0][a:b], "b": IDS[1][a:b]}) for a, b in itertools.pairwise(cuts)
    )
    here = quiet_band(curve, data, POINTS[curve], resampling=SCHEMES[scheme])
    there = quiet_band(curve, parts, POINTS[curve], resampling=IN_PARTS[scheme])
    # draws of rows depend on the parts, other draws do not
    same = ("value",) if scheme in (0, 1, 3) else ("value", "low", "high")
    for side in same:
        for name in here.series:
            one, other = (getattr(getattr(band, side), name) for band in (here, there))
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-14)


@by_curve
def test_default_points(curve):
    data = detector(n=400)
    found = quiet_band(curve, data, simultaneous=True)
    inner = quiet_band(curve, data)
    for name in found.series:
        value, low, high = (getattr(side, name) for side in (found.value, found.low, found.high))
        assert value.shape == low.shape == high.shape
        assert (low <= getattr(inner.low, name)).all()
        assert (high >= getattr(inner.high, name)).all()
        assert (low < high).any()


def test_default_points_of_isotonic_fits_hold_the_ends_of_steps():
    data = detector("posteriors", n=400)
    steps, found = fp.pav_steps(data), quiet_band(fp.pav_steps, data)
    assert np.isin(steps.lowest, found.value.score).all()
    assert np.isin(steps.highest, found.value.score).all()
    at = np.searchsorted(steps.lowest, found.value.score, side="right") - 1
    np.testing.assert_allclose(found.value.llr, steps.llr[at], rtol=1e-12)
    np.testing.assert_allclose(found.value.posterior, steps.posterior[at], rtol=1e-12)
    ends = [found.value.forecast[found.value.score == end] for end in (-np.inf, np.inf)]
    assert np.concatenate(ends).tolist() == [0.0, 1.0]


def test_simultaneous_bands_hold_the_level():
    rng = np.random.default_rng(0)
    for level in (0.5, 0.9, 0.95):
        values = rng.normal(size=(200, 12)).cumsum(axis=1)
        values[:, 3] = np.round(values[:, 3])
        values[:, 4] = 1.0
        values[rng.integers(0, 200, 9), 5] = np.inf
        low, high = bands._ends(values, level, simultaneous=True)
        inside = ((values >= low) & (values <= high)).all(axis=1)
        assert inside.mean() >= level
        ordered = np.sort(values, axis=0)
        k = int((ordered[:, 0] < low[0]).sum())  # replicates below, where none are tied
        narrower = (values >= ordered[k + 1]) & (values <= ordered[-k - 2])
        assert narrower.all(axis=1).mean() < level


def test_simultaneous_bands_of_one_point_are_pointwise():
    values = np.random.default_rng(0).normal(size=(1000, 1))
    both = [bands._ends(values, 0.95, simultaneous=kind) for kind in (False, True)]
    np.testing.assert_array_equal(*both)


@by_curve
def test_threads_and_seeds(curve):
    data = detector(n=3_000)
    found = quiet_band(curve, data)
    with fp.threads(1):
        again = quiet_band(curve, data)
    other = quiet_band(curve, data, seed=4)
    for name in found.series:
        low = getattr(found.low, name)
        np.testing.assert_array_equal(low, getattr(again.low, name))
        assert not np.array_equal(low, getattr(other.low, name))


def test_risks_of_many_classes():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    data = fp.Predictions.from_logits(
        y, np.round(rng.normal(size=(N, 3)) + np.eye(3)[y], 1), priors=[0.5, 0.3, 0.2],
        sample_weight=rng.uniform(0.5, 2.0, N),
    )  # fmt: skip
    points = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    for scheme in SCHEMES:
        found = quiet_band(fp.risk_curve, data, points, resampling=scheme)
        (risks,) = run(lambda: BANDS[fp.risk_curve](data, points)).statistics.values()
        times = drawn_times(scheme, data, risks, 3, 40)
        values = [
            fp.risk_curve(data.reweighted(each * data.weights), points).risk for each in times
        ]
        low, high = naive_ends(np.array(values))
        np.testing.assert_allclose(found.low.risk, low, rtol=1e-12)
        np.testing.assert_allclose(found.high.risk, high, rtol=1e-12)
    with pytest.raises(ValueError, match="points must be given for more than 2 classes"):
        fp.band(fp.risk_curve, data)


def test_undefined_replicates_are_counted_and_left_out():
    data = fp.Predictions.from_llrs([0] * 30 + [1], np.arange(31.0) % 7)
    with pytest.warns(RuntimeWarning, match=r"roc is undefined in \d+ of 200 replicates"):
        found = fp.band(fp.roc, data, [0.5], n_resamples=200, seed=0)
    assert 40 < found.n_undefined < 110
    assert np.isfinite(found.low.p_miss).all()


def test_bands_are_results():
    data = detector(n=300)
    found = quiet_band(fp.bayes_error, data, [-1.0, 1.0], resampling=fp.Stratified())
    kept = found.to_dict()
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
    assert kept["curve"] == "bayes_error"
    assert kept["minimum_low"] == found.low.minimum.tolist()
    assert (kept["n_resamples"], kept["resampling"], kept["seed"]) == (40, "Stratified", 3)
    frame = found.to_frame()
    assert frame["actual_high"].to_list() == found.high.actual.tolist()
    assert frame.shape == (2, 8)
    assert repr(found) == (
        "<band of bayes_error: 95% pointwise at 2 points (percentile, 40 replicates)>"
    )
    raw = quiet_band(fp.bayes_error, detector("raw scores"), [0.0])
    assert raw.series == ("minimum",)
    assert np.isnan([raw.value.actual, raw.low.actual, raw.high.actual]).all()


@pytest.mark.parametrize(
    ("curve", "points", "options", "message"),
    [
        (fp.tippett, None, {}, r"^curve must be one of fp\.roc, .*, not tippett$"),
        ("roc", None, {}, r"^curve must be one of"),
        ([], None, {}, r"^curve must be one of"),
        (fp.roc, [0.5, 1.5], {}, r"^points must be false-alarm rates.*points\[1\] is 1\.5"),
        (fp.bayes_error, [601.0], {}, "^points must lie in -600 to 600"),
        (fp.risk_curve, [0.0], {}, "^points"),
        (fp.pav_steps, [np.nan], {}, "^points must"),
        (fp.roc, None, {"n_resamples": 39}, "^n_resamples must"),
        (fp.roc, None, {"confidence_level": 1.0}, "^confidence_level must"),
        (fp.roc, None, {"resampling": fp.IID}, "^resampling must"),
        (fp.roc, None, {"simultaneous": "yes"}, "^simultaneous must be True or False, not 'yes'"),
    ],
)
def test_bands_refuse(curve, points, options, message):
    with pytest.raises(ValueError, match=message):
        fp.band(curve, detector(), points, **options)


def test_bands_refuse_what_curves_refuse():
    three = fp.Predictions.from_logits([0, 1, 2], np.eye(3))
    for curve in (fp.roc, fp.bayes_error, fp.pav_steps):
        with pytest.raises(ValueError, match="binary"):
            fp.band(curve, three)
    with pytest.raises(ValueError, match="raw scores"):
        fp.band(fp.risk_curve, detector("raw scores"))
    with pytest.raises(ValueError, match="y_true must be given"):
        fp.band(fp.roc, fp.Predictions.from_llrs(None, [0.0, 1.0]))
