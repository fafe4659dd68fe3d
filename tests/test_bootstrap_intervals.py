"""Intervals, standard errors and biases from replicates."""

import inspect
import math
import warnings

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp
from fastpsr.bootstrap.methods import Basic, BCa, Normal, Percentile
from fastpsr.plans import run
from tests import reference_bootstrap as reference
from tests.drawn import acceleration_of, fixed, prepared

METHODS = {each.name: each for each in (Percentile(), Basic(), Normal(), BCa())}
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
INF = math.inf


def acceleration(metrics, data, signs, resampling, seed):
    jobs = [prepared(*pair) for pair in zip(metrics, data, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(lambda: acceleration_of(jobs, signs, resampling, seed))


def interval(value, replicates, level, method, acceleration=0.0):
    return METHODS[method].ends(value, np.sort(replicates), level, acceleration)


def detector(n=300, weights="none", seed=0, unequal=3):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % unequal == 0).astype(int)
    w = {
        "none": None,
        "uneven": rng.uniform(0.5, 2.0, n),
        "integer": rng.integers(0, 4, n) + (np.arange(n) % 5 == 0) * 1.0,
        "wild": 10.0 ** rng.uniform(-9.0, 9.0, n),
    }[weights]
    return fp.Predictions.from_llrs(y, rng.normal(size=n) + 1.5 * y, sample_weight=w)


# Formulas


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 3, 99, 100, 1000])
def test_formulas(method, level, n):
    rng = np.random.default_rng(n)
    for replicates in (rng.normal(size=n), rng.integers(0, 5, n) / 4.0, rng.exponential(size=n)):
        for value in (np.median(replicates), np.sort(replicates)[n // 3], replicates.mean()):
            for skew in (0.0, 0.06, -0.1):
                below = (replicates < value).mean() + 0.5 * (replicates == value).mean()
                if method == "bca" and not 0.0 < below < 1.0:
                    continue
                found = interval(value, replicates, level, method, skew)
                expected = reference.interval(value, replicates, level, method, skew)
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [40, 100, 1000, 9_999])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95, 0.975])
def test_percentiles_are_of_the_inverted_distribution_function(n, level):
    replicates = np.random.default_rng(0).permutation(np.arange(float(n)))
    low, high = interval(0.0, replicates, level, "percentile")
    # what rounding in (1 - level) / 2 must not do: push a whole number of replicates one further
    assert low == math.ceil(round(n * (1.0 - level) / 2.0, 6)) - 1
    assert high == math.ceil(round(n * (1.0 + level) / 2.0, 6)) - 1


def test_infinite_replicates_are_ordered():
    replicates = np.array([INF] * 10 + [-INF] * 10 + list(np.linspace(0.0, 1.0, 80)))
    assert interval(0.5, replicates, 0.9, "percentile") == (-INF, INF)
    assert interval(0.5, replicates, 0.7, "percentile") == reference.interval(
        0.5, replicates, 0.7, "percentile"
    )
    low, high = interval(INF, np.full(50, INF), 0.9, "percentile")
    assert low == high == INF


@pytest.mark.parametrize("method", METHODS)
def test_replicates_that_are_all_the_value(method):
    assert interval(0.25, np.full(99, 0.25), 0.95, method, 0.0) == (0.25, 0.25)


def test_bca_needs_replicates_on_both_sides():
    for value, side in ((0.0, "above"), (2.0, "below")):
        with pytest.raises(ValueError, match=f"all lie {side} {value:.6g}"):
            interval(value, np.linspace(0.5, 1.5, 50), 0.95, "bca")
    low, high = interval(0.5, np.array([0.5, 0.5, 1.0, 1.5]), 0.5, "bca")  # ties count half
    assert (low, high) == tuple(reference.interval(0.5, [0.5, 0.5, 1.0, 1.5], 0.5, "bca"))


def test_bca_without_bias_or_skewness_is_the_percentile_interval():
    replicates = np.concatenate([np.linspace(-1.0, 1.0, 1000), [0.0]])
    assert interval(0.0, replicates, 0.9, "bca") == interval(0.0, replicates, 0.9, "percentile")


# Against SciPy


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("basic", "basic")])
def test_intervals_are_those_of_scipy_but_for_interpolation(method, theirs):
    """On the same replicates: SciPy's quantiles lie within a step of the ordered replicates."""
    data = detector()
    found = fp.bootstrap(fp.BrierScore(False), data, seed=1, n_resamples=999, method=method)
    made = stats.bootstrap(
        (np.zeros(3),), np.mean, n_resamples=0, method=theirs, confidence_level=0.95,
        bootstrap_result=_Replicates(found.replicates),
    )  # fmt: skip
    ordered = np.sort(found.replicates)
    widest = np.diff(ordered)[[*range(15, 35), *range(960, 985)]].max()
    shift = 2.0 * found.value if method == "basic" else 0.0  # theirs is about a mean of 0
    np.testing.assert_allclose(
        found.interval, np.array(made.confidence_interval) + shift, rtol=0.0, atol=2.0 * widest
    )


class _Replicates:
    """What SciPy takes for a result whose replicates are to be used again."""

    def __init__(self, replicates):
        self.bootstrap_distribution = replicates


@pytest.mark.parametrize("n", [30, 200])
def test_bca_is_that_of_scipy(n):
    """For a mean: SciPy's interval on draws of its own, within what the draws leave open."""
    rng = np.random.default_rng(n)
    q = rng.beta(0.6, 3.0, n)
    data = fp.Predictions.from_posteriors(np.zeros(n, int), q)
    ours = fp.bootstrap(
        fp.BrierScore(False), data, seed=2, n_resamples=9_999, method="bca"
    ).interval
    seed = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
    theirs = stats.bootstrap(
        (q**2,), np.mean, n_resamples=9_999, method="BCa", **{seed: np.random.default_rng(3)}
    ).confidence_interval
    # a quantile's standard error: sqrt(p (1 - p) / R) over the density, here about a normal one's
    spread = (q**2).std() / math.sqrt(n)
    error = math.sqrt(0.025 * 0.975 / 9_999) / stats.norm.pdf(1.96) * spread
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=5.0 * math.sqrt(2.0) * 2.0 * error)
    assert ours.high - q.dot(q) / n > q.dot(q) / n - ours.low  # skewed to the right


# Acceleration


def accelerations(metric, data, scheme, ids=None):
    resampling = {
        "iid": fp.IID(), "stratified": fp.Stratified(), "clusters": fp.Clusters(ids)
    }[scheme]  # fmt: skip
    pinned = fixed(metric, data) if hasattr(metric, "fixed_to") else metric
    own = data.weights if data.weights.size else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reference.jackknife_acceleration(
            lambda times: pinned(data.reweighted(times * own)),
            scheme, data.y_true, data.sample_weight, ids,
        )  # fmt: skip
    return acceleration([metric], [data], [1.0], resampling, 0), expected


SMOOTH = [fp.CrossEntropy(), fp.BrierScore(False), fp.BayesRisk(fp.CostMatrix.zero_one(2)),
          fp.ActDCF(0.4), fp.Cllr(), fp.AUC()]  # fmt: skip


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("weights", ["none", "uneven", "integer"])
@pytest.mark.parametrize("scheme", ["iid", "stratified"])
@pytest.mark.parametrize("metric", SMOOTH, ids=lambda m: m.label)
def test_acceleration_is_that_of_the_full_jackknife(metric, scheme, weights):
    """Up to 400 units are left out one by one."""
    found, expected = accelerations(metric, detector(weights=weights), scheme)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("metric", [fp.EER(), fp.MinDCF(0.3), fp.MinCllr()], ids=lambda m: m.label)
@pytest.mark.parametrize("scheme", ["iid", "stratified"])
def test_acceleration_of_metrics_with_kinks(metric, scheme):
    """To one part in three; BCa moves the ends by the acceleration times a few widths."""
    found, expected = accelerations(metric, detector(600), scheme)
    assert found == pytest.approx(expected, rel=0.33)


@pytest.mark.parametrize(
    "metric", [fp.BrierScore(False), fp.EER(), fp.AUC()], ids=lambda m: m.label
)
def test_acceleration_over_clusters(metric):
    ids = np.random.default_rng(1).integers(0, 50, 1_000)
    found, expected = accelerations(metric, detector(1_000), "clusters", ids)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("scheme", ["iid", "stratified", "clusters"])
def test_acceleration_of_metrics_that_need_the_samples(scheme):
    """With fewer units than parts the units are left out one by one: the jackknife itself."""
    data = detector(120)
    ids = np.random.default_rng(1).integers(0, 20, 120)
    refit = fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), fp.CrossFit(2))
    for metric in (refit, fp.DevPAV(), lambda p: fp.EER()(p) ** 2):
        found, expected = accelerations(metric, data, scheme, ids)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_intervals_of_gains_may_lie_below_0():
    gain = fp.BayesRisk([[-1.0, 1.0], [1.0, -1.0]], normalized=False)
    found = fp.bootstrap(gain, detector(), n_resamples=100, seed=0)
    assert found.interval.low < found.value < found.interval.high < 0.0


def test_acceleration_by_parts_of_many_units():
    """1,600 units in 400 parts: skewness of sums of 4, whose own chance spread is 0.0016."""
    data = detector(1_600, seed=3)
    metric = fp.Cllr()
    whole = reference.jackknife_acceleration(
        lambda times: metric(data.reweighted(1.0 * times)), "iid", data.y_true
    )
    for seed in range(3):
        for each in (metric, lambda p: metric(p)):
            parts = acceleration([each], [data], [1.0], fp.IID(), seed)
            # sum of 400 cubes of normal sums over 6 x 400^1.5: sqrt(15 x 400) / (6 x 8000) = 0.0016
            assert parts == pytest.approx(whole, abs=5 * 0.0016)


@pytest.mark.parametrize("exponent", [3, 6, 9])
def test_acceleration_survives_weights_of_any_size(exponent):
    """Of a mean, without each sample in turn."""
    rng = np.random.default_rng(4)
    n = 300
    y = np.arange(n) % 2
    w = 10.0 ** rng.uniform(-exponent, exponent, n)
    for scale in (1.0, 1e200, 1e-200):
        data = fp.Predictions.from_llrs(y, rng.normal(size=n) + y, sample_weight=w * scale)
        loss = (data.posteriors[:, 1] - y) ** 2
        left = [np.average(np.delete(loss, i), weights=np.delete(w, i)) for i in range(n)]
        influence = np.mean(left) - left
        expected = (influence**3).sum() / (6.0 * (influence**2).sum() ** 1.5)
        found = acceleration([fp.BrierScore(False)], [data], [1.0], fp.IID(), 0)
        assert found == pytest.approx(expected, rel=1e-9)


def test_acceleration_where_losses_of_a_class_that_does_not_count_are_infinite():
    y = np.arange(60) % 3
    q = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    q[y == 2] = [0.5, 0.5, 0.0]
    data = fp.Predictions.from_posteriors(y, q, priors=[0.5, 0.5, 0.0])
    found = fp.bootstrap(fp.CrossEntropy(), data, seed=0, n_resamples=200, method="bca")
    assert found.interval.low < found.value < found.interval.high


def test_acceleration_of_a_difference():
    a, b = detector(), detector(seed=1)
    metric = fp.BrierScore(False)
    expected = reference.jackknife_acceleration(
        lambda times: metric(a.reweighted(1.0 * times)) - metric(b.reweighted(1.0 * times)),
        "iid", a.y_true,
    )  # fmt: skip
    pair, signs = [metric, metric], [1.0, -1.0]
    found = acceleration(pair, [a, b], signs, fp.IID(), 0)
    assert found == pytest.approx(expected, rel=0.05)
    assert acceleration(pair, [a, a], signs, fp.IID(), 0) == 0.0


# Results


@pytest.mark.parametrize("method", METHODS)
def test_results_are_of_their_replicates(method):
    data = detector()
    metrics = [fp.Cllr(), fp.EER(), fp.ECE(), lambda p: fp.AUC()(p)]
    for metric, found in zip(
        metrics, fp.bootstrap(metrics, data, seed=5, n_resamples=200, method=method), strict=True
    ):
        is_bca = method == "bca"
        skew = acceleration([metric], [data], [1.0], fp.IID(), 5) if is_bca else 0.0
        expected = reference.interval(found.value, found.replicates, 0.95, method, skew)
        np.testing.assert_allclose(found.interval, expected, rtol=1e-10)
        assert found.value == metric(data)
        assert found.bias == pytest.approx(found.replicates.mean() - found.value)
        assert found.standard_error == pytest.approx(found.replicates.std(ddof=1))
        assert (found.method, found.confidence_level, found.seed) == (method, 0.95, 5)
        assert found.n_undefined == 0


def test_biased_metrics_are_seen_to_be():
    """minCllr is optimistic on its data, and more so on a replicate; ECE has a bias upwards."""
    data = detector(200)
    min_cllr, ece = fp.bootstrap([fp.MinCllr(), fp.ECE()], data, seed=0, n_resamples=400)
    assert min_cllr.bias < -5.0 * min_cllr.standard_error / math.sqrt(400)
    assert ece.bias > 5.0 * ece.standard_error / math.sqrt(400)


@pytest.mark.parametrize("method", METHODS)
def test_infinite_values_get_percentiles_and_a_warning(method):
    data = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 19 + [0.1, 0.0])
    metric = fp.CrossEntropy(False)
    if method == "percentile":
        found = fp.bootstrap(metric, data, seed=1, n_resamples=400)
    else:
        with pytest.warns(RuntimeWarning, match=f"CE is infinite .* by percentile, not {method}"):
            found = fp.bootstrap(metric, data, seed=1, n_resamples=400, method=method)
    assert found.method == "percentile"
    assert found.value == INF
    assert math.isnan(found.bias)
    assert math.isnan(found.standard_error)
    assert found.interval.high == INF
    # the infinite sample is drawn in a share 1 - 1/e of the replicates
    share = np.isinf(found.replicates).mean()
    assert abs(share - (1.0 - (1.0 - 1.0 / 40) ** 40)) < 5.0 * math.sqrt(0.25 / 400)
    assert found.interval.low == reference.quantile(found.replicates, 0.025)
    assert math.isfinite(found.interval.low)


def test_differences_of_infinite_values():
    data = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 19 + [0.1, 0.0])
    fine = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 20)
    found = fp.compare(fp.CrossEntropy(False), fine, data, seed=1)
    assert found.value == -INF
    assert found.interval.low == -INF
    assert found.n_undefined == 0
    with pytest.warns(RuntimeWarning, match="undefined") as caught:
        found = fp.compare(fp.CrossEntropy(False), data, data, seed=1)
    assert "both values are infinite" in str(caught[-1].message)
    assert math.isnan(found.value)
    assert np.isnan(found.interval).all()
    assert 500 < found.n_undefined < 750


def test_undefined_replicates_are_left_out_and_warned_of_once():
    data = fp.Predictions.from_llrs([0] * 30 + [1] * 2, np.linspace(-1.0, 1.0, 32))
    n = 600
    with pytest.warns(RuntimeWarning) as caught:
        found = fp.bootstrap(fp.EER(), data, seed=2, n_resamples=n, method="percentile")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert f"EER is undefined in {found.n_undefined} of 600 replicates" in str(caught[0].message)
    chance = (30 / 32) ** 32 + (2 / 32) ** 32
    assert abs(found.n_undefined / n - chance) < 5.0 * math.sqrt(chance * (1.0 - chance) / n)
    defined = found.replicates[~np.isnan(found.replicates)]
    assert defined.size == n - found.n_undefined
    assert found.interval == reference.interval(found.value, defined, 0.95, "percentile")
    assert found.bias == pytest.approx(defined.mean() - found.value)
    options = {"seed": 2, "n_resamples": n, "method": "percentile"}
    stratified = fp.bootstrap(fp.EER(), data, resampling=fp.Stratified(), **options)
    assert stratified.n_undefined == 0


def test_metrics_that_are_undefined_in_every_replicate():
    data = detector(40)
    calls = iter(range(1000))

    def once(predictions):
        return 1.0 if next(calls) == 0 else float("nan")

    with pytest.warns(RuntimeWarning, match="once is undefined in 50 of 50 replicates"):
        found = fp.bootstrap(once, data, seed=0, n_resamples=50)
    assert found.value == 1.0
    assert np.isnan([*found.interval, found.bias, found.standard_error]).all()


def test_bca_with_all_replicates_on_one_side_warns():
    data = detector(40)
    calls = iter(range(1000))
    with pytest.warns(RuntimeWarning, match="rising has no interval: bca intervals need .* above"):
        found = fp.bootstrap(_named("rising", lambda p: float(next(calls))), data, seed=0,
                             n_resamples=50, method="bca")  # fmt: skip
    assert np.isnan(found.interval).all()
    assert found.bias > 0.0


def _named(name, function):
    function.__name__ = name
    return function


def test_ece_of_zero_lies_on_a_boundary():
    """No interval can reach below it, and the percentile one does not reach it."""
    data = fp.Predictions.from_posteriors([0, 1] * 50, [0.5] * 100)
    found = fp.bootstrap(fp.ECE(1), data, seed=0)
    assert found.value == 0.0
    assert found.interval.low >= 0.0
    assert found.bias > 0.0


def test_printed_results_show_their_level():
    data = detector(400)
    for level, shown in ((0.9, "90% interval"), (0.995, "99.5% interval"), (0.95, "95%")):
        found = fp.bootstrap(fp.EER(), data, seed=0, n_resamples=400, confidence_level=level)
        assert shown in repr(found)
        assert "EER" in repr(found)


def test_bca_of_a_semi_empirical_score():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    z = rng.normal(size=(300, 3)) + np.eye(3)[y]
    data, reference = fp.Predictions.from_logits(y, z), fp.Predictions.from_logits(y, 1.2 * z)
    metric = fp.SemiEmpiricalScore(fp.rules.Log(), reference)
    options = {"n_resamples": 400, "seed": 0}
    found = fp.bootstrap(metric, data, method="bca", **options)
    plain = fp.bootstrap(metric, data, **options)
    assert found.interval.low < found.value < found.interval.high
    assert found.interval == pytest.approx(plain.interval, abs=0.02)
