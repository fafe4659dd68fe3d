"""Intervals, standard errors and biases from replicates."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp
from tests import reference_bootstrap as reference
from tests.replicates import quietly, values_at

METHODS = ("percentile", "basic", "normal", "bca")
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()
INF = math.inf


class Prescribed:
    """A metric with a given value, values of replicates in turn, and values without each sample."""

    def __init__(self, value, replicates, without=()):
        self.value, self.replicates, self.without = value, iter(replicates), without

    def __call__(self, predictions):
        weights = predictions.sample_weight
        if weights is None:
            return self.value
        if np.count_nonzero(weights == 0.0) == 1 and weights.max() == 1.0:
            return self.without[int(weights.argmin())]
        return next(self.replicates)


FEW = fp.Predictions.from_llrs(np.arange(30) % 2, np.arange(30.0))


def interval(value, replicates, level, method, without=None):
    """The interval of given replicates."""
    without = np.linspace(-1.0, 1.0, 30) if without is None else without
    metric = Prescribed(value, np.asarray(replicates, float).tolist(), without)
    result = quietly(
        fp.bootstrap, metric, FEW, n_resamples=len(replicates), confidence_level=level,
        method=method,
    )  # fmt: skip
    assert result.method == method
    return result.interval


def acceleration(without):
    """A sixth of the skewness of the influences."""
    influences = np.mean(without) - without
    return float((influences**3).sum() / (6.0 * (influences**2).sum() ** 1.5))


def detector(n=300, weights="none", seed=0, unequal=3):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % unequal == 0).astype(int)
    w = {
        "none": None,
        "uneven": rng.uniform(0.5, 2.0, n),
        "integer": rng.integers(0, 4, n) + (np.arange(n) % 5 == 0) * 1.0,
        "wild": 10.0 ** rng.uniform(-6.0, 6.0, n),
    }[weights]
    return fp.Predictions.from_logits(y, rng.normal(size=n) + 1.5 * y - 0.7, sample_weight=w)


# Formulas


@pytest.mark.parametrize(("n", "level"), [(4, 0.5), (40, 0.95), (99, 0.9), (100, 0.9), (200, 0.99)])
@pytest.mark.parametrize("method", METHODS)
def test_formulas(method, n, level):
    rng = np.random.default_rng(n)
    for replicates in (rng.normal(size=n), rng.integers(0, 5, n) / 4.0, rng.exponential(size=n)):
        for value in (np.median(replicates), np.sort(replicates)[n // 3]):
            below = (replicates < value).mean() + 0.5 * (replicates == value).mean()
            if method == "bca" and not 0.0 < below < 1.0:
                continue
            for power in (1, 4, -3):
                without = np.sign(power) * np.linspace(0.1, 1.0, 30) ** abs(power)
                skew = acceleration(without)
                result = interval(value, replicates, level, method, without)
                expected = reference.interval(value, replicates, level, method, skew)
                np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_percentiles_are_of_the_inverted_distribution_function():
    for n in (40, 99, 100, 1_000):
        replicates = np.random.default_rng(0).permutation(np.arange(float(n)))
        for level in (0.8, 0.9, 0.95):
            low, high = interval(0.0, replicates, level, "percentile")
            # rounding in (1 - level) / 2 must not push a whole number of replicates one further
            assert low == math.ceil(round(n * (1.0 - level) / 2.0, 6)) - 1
            assert high == math.ceil(round(n * (1.0 + level) / 2.0, 6)) - 1


def test_infinite_replicates_are_ordered():
    replicates = np.array([INF] * 10 + [-INF] * 10 + list(np.linspace(0.0, 1.0, 80)))
    assert interval(0.5, replicates, 0.9, "percentile") == (-INF, INF)
    expected = reference.interval(0.5, replicates, 0.7, "percentile")
    assert interval(0.5, replicates, 0.7, "percentile") == expected
    assert interval(INF, np.full(50, INF), 0.9, "percentile") == (INF, INF)


@pytest.mark.parametrize("method", METHODS)
def test_replicates_that_are_all_the_value(method):
    assert interval(0.25, np.full(99, 0.25), 0.95, method) == (0.25, 0.25)


def test_bca_needs_replicates_on_both_sides():
    for value, side in ((0.0, "above"), (2.0, "below")):
        metric = Prescribed(value, np.linspace(0.5, 1.5, 50).tolist(), np.linspace(0.0, 1.0, 30))
        with pytest.warns(RuntimeWarning, match=f"has no interval: .* all lie {side} {value:.6g}"):
            result = fp.bootstrap(metric, FEW, n_resamples=50, method="bca")
        assert np.isnan(result.interval).all()
        assert result.bias == pytest.approx(1.0 - value)
    ties = [0.5, 0.5, 1.0, 1.5]  # which count half
    assert interval(0.5, ties, 0.5, "bca") == tuple(reference.interval(0.5, ties, 0.5, "bca"))


@pytest.mark.parametrize("method", METHODS)
def test_results_are_of_their_replicates(method):
    data = detector()
    metrics = [fp.Cllr(), fp.EER(), fp.ECE(), lambda p: fp.AUC()(p)]
    options = {"seed": 5, "n_resamples": 200, "method": method}
    for metric, result in zip(metrics, fp.bootstrap(metrics, data, **options), strict=True):
        if method != "bca":
            expected = reference.interval(result.value, result.replicates, 0.95, method)
            np.testing.assert_allclose(result.interval, expected, rtol=1e-10)
        assert result.value == metric(data)
        assert result.bias == pytest.approx(result.replicates.mean() - result.value)
        assert result.standard_error == pytest.approx(result.replicates.std(ddof=1))
        assert (result.method, result.confidence_level, result.seed) == (method, 0.95, 5)
        assert (result.n_undefined, result.n_resamples) == (0, 200)
        assert np.isnan([result.degrees_of_freedom, result.corrected]).all()


def test_bca_is_that_of_scipy():
    """For a mean: SciPy's interval on draws of its own, within what the draws leave open."""
    n = 30
    q = np.random.default_rng(n).beta(0.6, 3.0, n)
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


def values_without(metrics, data, scheme, ids):
    """Values without each unit, by stratum of units."""
    weights = data.sample_weight
    strata, units = reference.units_of(scheme, data.y_true, weights, ids)
    weights = np.ones(len(data)) if weights is None else weights
    return [
        values_at(
            metrics, data, [weights * [unit not in of_row for of_row in units] for unit in stratum]
        )
        for stratum in strata
    ]


def assert_bca_by_the_jackknife(metrics, data, scheme, ids=None, n_resamples=2_000):
    resampling = {
        "iid": fp.IID(), "stratified": fp.Stratified(), "clusters": fp.Clusters(ids)
    }[scheme]  # fmt: skip
    results = quietly(
        fp.bootstrap, metrics, data, method="bca", resampling=resampling, n_resamples=n_resamples,
        seed=0,
    )  # fmt: skip
    strata = values_without(metrics, data, scheme, ids)
    for k, (metric, result) in enumerate(zip(metrics, results, strict=True)):
        # influences are centered within their stratum
        influences = np.concatenate([values[k] - values[k].mean() for values in strata])
        expected = reference.interval(
            result.value, result.replicates, 0.95, "bca", acceleration(influences)
        )
        np.testing.assert_allclose(result.interval, expected, rtol=1e-12, err_msg=str(metric))


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [("iid", "none"), ("iid", "integer"), ("stratified", "uneven"), ("clusters", "none")],
)
def test_acceleration_is_that_of_the_full_jackknife(scheme, weights):
    """Up to 400 units are left out one by one."""
    metrics = [
        fp.CrossEntropy(), fp.BrierScore(False), fp.BayesRisk(fp.CostMatrix.zero_one(2)),
        fp.ActDCF(0.4), fp.Cllr(), fp.AUC(), fp.EER(), fp.MinDCF(0.3), fp.MinCllr(),
    ]  # fmt: skip
    ids = np.random.default_rng(1).integers(0, 40, 100)
    assert_bca_by_the_jackknife(metrics, detector(100, weights), scheme, ids)


@pytest.mark.parametrize("scheme", ["iid", "clusters"])
def test_acceleration_of_metrics_that_need_the_samples(scheme):
    data = detector(120)
    ids = np.random.default_rng(1).integers(0, 20, 120)
    folds = fp.CrossFit(folds=np.arange(120) % 2)
    refit = fp.CalibrationLoss(BRIER, fp.DirectionPreserving(), folds)
    metrics = [refit, fp.DevPAV(), lambda p: fp.EER()(p) ** 2]
    assert_bca_by_the_jackknife(metrics, data, scheme, ids, n_resamples=400)


def test_acceleration_of_a_difference():
    a, b = detector(), detector(seed=1)
    result = fp.compare(fp.BrierScore(False), a, b, method="bca", n_resamples=4_000, seed=0)
    (of_a,), (of_b,) = (values_without([fp.BrierScore(False)], x, "iid", None)[0] for x in (a, b))
    skew = acceleration(of_a - of_b)
    expected = reference.interval(result.value, result.replicates, 0.95, "bca", skew)
    np.testing.assert_allclose(result.interval, expected, rtol=1e-12)


def test_acceleration_by_parts_of_many_units():
    """1,600 units in 400 parts: skewness of sums of 4, whose chance spread is 0.0016."""
    data = detector(1_600, seed=3)
    llrs, y = data.log_odds, data.y_true
    losses = np.logaddexp(0.0, np.where(y == 1, -llrs, llrs))
    total = losses.sum()
    skew = acceleration((total - losses) / (losses.size - 1))
    metrics = [fp.CrossEntropy(False), lambda p: fp.CrossEntropy(False)(p)]
    for result in fp.bootstrap(metrics, data, method="bca", n_resamples=4_000, seed=1):
        # sum of 400 cubes of normal sums over 6 x 400^1.5: sqrt(15 x 400) / (6 x 8000) = 0.0016
        least, greatest = (
            reference.interval(result.value, result.replicates, 0.95, "bca", skew + shift)
            for shift in (-5 * 0.0016, 5 * 0.0016)
        )
        assert least[0] <= result.interval.low <= greatest[0]
        assert least[1] <= result.interval.high <= greatest[1]
        assert result.interval.high > reference.interval(
            result.value, result.replicates, 0.95, "bca"
        )[1]  # fmt: skip


def test_acceleration_where_losses_of_a_class_that_does_not_count_are_infinite():
    y = np.arange(60) % 3
    q = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    q[y == 2] = [0.5, 0.5, 0.0]
    data = fp.Predictions.from_posteriors(y, q, priors=[0.5, 0.5, 0.0])
    result = fp.bootstrap(fp.CrossEntropy(), data, seed=0, n_resamples=200, method="bca")
    assert result.interval.low < result.value < result.interval.high


# Values without an interval


def test_intervals_of_gains_may_lie_below_0():
    gain = fp.BayesRisk([[-1.0, 1.0], [1.0, -1.0]], normalized=False)
    result = fp.bootstrap(gain, detector(), n_resamples=100, seed=0)
    assert result.interval.low < result.value < result.interval.high < 0.0


def test_biased_metrics_are_seen_to_be():
    """minCllr is optimistic on its data, and more so on a replicate; ECE has a bias upwards."""
    min_cllr, ece = fp.bootstrap([fp.MinCllr(), fp.ECE()], detector(200), seed=0, n_resamples=400)
    assert min_cllr.bias < -5.0 * min_cllr.standard_error / math.sqrt(400)
    assert ece.bias > 5.0 * ece.standard_error / math.sqrt(400)


@pytest.mark.parametrize("method", METHODS)
def test_infinite_values_get_percentiles_and_a_warning(method):
    data = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 19 + [0.1, 0.0])
    metric, options = fp.CrossEntropy(False), {"seed": 1, "n_resamples": 400}
    if method == "percentile":
        result = fp.bootstrap(metric, data, **options)
    else:
        with pytest.warns(RuntimeWarning, match=f"CE is infinite .* by percentile, not {method}"):
            result = fp.bootstrap(metric, data, method=method, **options)
    assert result.method == "percentile"
    assert result.value == result.interval.high == INF
    assert np.isnan([result.bias, result.standard_error]).all()
    # the infinite sample is drawn in a share 1 - 1/e of the replicates
    share = np.isinf(result.replicates).mean()
    assert abs(share - (1.0 - (1.0 - 1.0 / 40) ** 40)) < 5.0 * math.sqrt(0.25 / 400)
    assert result.interval.low == reference.quantile(result.replicates, 0.025)
    assert math.isfinite(result.interval.low)


def test_differences_of_infinite_values():
    data = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 19 + [0.1, 0.0])
    fine = fp.Predictions.from_posteriors([0, 1] * 20, [0.2, 0.7] * 20)
    result = fp.compare(fp.CrossEntropy(False), fine, data, seed=1)
    assert result.value == result.interval.low == -INF
    assert result.n_undefined == 0
    with pytest.warns(RuntimeWarning, match="undefined") as caught:
        result = fp.compare(fp.CrossEntropy(False), data, data, seed=1)
    assert "both values are infinite" in str(caught[-1].message)
    assert np.isnan([result.value, *result.interval]).all()
    assert 500 < result.n_undefined < 750


def test_undefined_replicates_are_left_out_and_warned_of_once():
    data = fp.Predictions.from_llrs([0] * 30 + [1] * 2, np.linspace(-1.0, 1.0, 32))
    n, options = 600, {"seed": 2, "n_resamples": 600, "method": "percentile"}
    with pytest.warns(RuntimeWarning) as caught:
        result = fp.bootstrap(fp.EER(), data, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert f"EER is undefined in {result.n_undefined} of 600 replicates" in str(caught[0].message)
    chance = (30 / 32) ** 32 + (2 / 32) ** 32
    assert abs(result.n_undefined / n - chance) < 5.0 * math.sqrt(chance * (1.0 - chance) / n)
    defined = result.replicates[~np.isnan(result.replicates)]
    assert defined.size == n - result.n_undefined
    assert result.interval == reference.interval(result.value, defined, 0.95, "percentile")
    assert result.bias == pytest.approx(defined.mean() - result.value)
    stratified = fp.bootstrap(fp.EER(), data, resampling=fp.Stratified(), **options)
    assert stratified.n_undefined == 0


def test_metrics_that_are_undefined_in_every_replicate():
    with pytest.warns(RuntimeWarning, match="is undefined in 50 of 50 replicates"):
        result = fp.bootstrap(Prescribed(1.0, [math.nan] * 50), FEW, seed=0, n_resamples=50)
    assert result.value == 1.0
    assert np.isnan([*result.interval, result.bias, result.standard_error]).all()
