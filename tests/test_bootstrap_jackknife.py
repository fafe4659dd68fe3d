"""Intervals of means of clusters and speakers, against a reference that goes the long way."""

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp

N, N_IDS = 400, 25

#: Means, and whether their scale is logarithmic.
MEANS = {
    "NCE": (fp.CrossEntropy(), True),
    "BS": (fp.BrierScore(normalized=False), True),
    "Cllr": (fp.Cllr(), True),
    "actDCF": (fp.ActDCF(0.2), True),
    "risk": (fp.BayesRisk([[0.0, 1.0], [3.0, 0.0]]), True),
    "gain": (fp.BayesRisk([[-2.0, 1.0], [3.0, -1.0]], normalized=False), False),
    "beta": (fp.ExpectedScore(fp.rules.Beta(2.0, 1.0)), False),
}


def sample(seed=0, *, weights=False):
    """Log-odds that the first id shifts most."""
    rng = np.random.default_rng(seed)
    one, other = ids()
    y = (rng.random(N) < 0.3).astype(int)
    effects = rng.exponential(1.0, N_IDS)
    z = 2.0 * rng.normal(size=N) + 3.0 * y - 1.5 - effects[one] * (2 * y - 1) + 0.3 * effects[other]
    w = rng.choice([0.0, 0.4, 1.0, 2.5], N) if weights else None
    return fp.Predictions.from_logits(y, z, sample_weight=w)


def ids():
    return np.random.default_rng(9).integers(0, N_IDS, (2, N))


def schemes():
    one, other = ids()
    return {"clusters": fp.Clusters(one), "two-way": fp.TwoWay(one, other)}


def without_each(metric, data, scheme):
    """The metric without each cluster, or each speaker of either side."""
    one, other = ids()
    given = np.ones(N) if data.sample_weight is None else data.sample_weight
    present = given > 0.0
    is_pair = (one != other) & (scheme == "two-way")
    units = np.unique(np.append(one[present], other[present] if scheme == "two-way" else []))
    found = []
    for unit in units:
        kept = present & (one != unit) & ((other != unit) | (scheme == "clusters"))
        weights = given * np.where(is_pair, (units.size - 1) / (units.size - 2), 1.0)
        found.append(
            metric(fp.Predictions.from_logits(
                data.y_true[kept], data.scores[kept], sample_weight=weights[kept]
            ))
        )  # fmt: skip
    return np.array(found)


def reference(value, without, level, *, is_log=False):
    """The interval and its degrees of freedom, from the formulas of docs/reference/intervals.md."""
    psi = without - without.mean()
    error = math.sqrt((psi.size - 1) / psi.size * (psi**2).sum())
    kappa = (psi**4).sum() / (psi**2).sum() ** 2
    df = float(np.clip(2.0 / (kappa - 1.0 / psi.size), 2.0, psi.size - 1.0))
    reach = stats.t(df).ppf((1.0 + level) / 2.0) * error
    if is_log:
        return value * math.exp(-reach / value), value * math.exp(reach / value), df
    return value - reach, value + reach, df


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("scheme", schemes())
@pytest.mark.parametrize("name", MEANS)
def test_intervals_follow_the_formulas(name, scheme, weights):
    (metric, is_log), data = MEANS[name], sample(weights=weights)
    without = without_each(metric, data, scheme)
    for level, n_resamples in ((0.5, 4), (0.95, 40), (0.99, 200)):  # the fewest
        found = fp.bootstrap(
            metric, data, resampling=schemes()[scheme], confidence_level=level,
            n_resamples=n_resamples, seed=0,
        )  # fmt: skip
        low, high, df = reference(metric(data), without, level, is_log=is_log)
        assert found.method == "jackknife"
        assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)
        np.testing.assert_allclose(found.interval, [low, high], rtol=1e-8)  # of the quantile


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scheme", schemes())
@pytest.mark.parametrize("name", MEANS)
def test_differences_are_paired(name, scheme):
    (metric, _), a = MEANS[name], sample()
    b = fp.Predictions.from_logits(a.y_true, 0.5 * a.scores + sample(1).scores)
    found = fp.compare(metric, a, b, resampling=schemes()[scheme], n_resamples=40, seed=0)
    without = [without_each(metric, each, scheme) for each in (a, b)]
    low, high, df = reference(metric(a) - metric(b), without[0] - without[1], 0.95)
    assert found.method == "jackknife"
    assert found.degrees_of_freedom == pytest.approx(df, rel=1e-7)
    np.testing.assert_allclose(found.interval, [low, high], rtol=1e-8)  # of the quantile
    equal = fp.compare(metric, a, a, resampling=schemes()[scheme], n_resamples=40, seed=0)
    assert equal.interval == (0.0, 0.0)


def test_of_equal_clusters_it_is_students_interval():
    """Half of the clusters are all wrong: influences have one size."""
    n_ids = 30
    losses = np.repeat([0.9, 0.1], 2 * n_ids)
    data = fp.Predictions.from_posteriors(np.ones(losses.size), 1.0 - losses)
    metric = fp.ExpectedScore(fp.rules.Cost([[0.0, 1.0], [1.0, 0.0]]), normalized=False)
    scheme = fp.Clusters(np.repeat(np.arange(n_ids), 4))
    found = fp.bootstrap(metric, data, resampling=scheme, n_resamples=40, seed=0)
    assert found.degrees_of_freedom == n_ids - 1
    reach = stats.t(n_ids - 1).ppf(0.975) * 0.5 / math.sqrt(n_ids - 1)
    np.testing.assert_allclose(found.interval, [0.5 - reach, 0.5 + reach], rtol=1e-8)


def test_a_cluster_with_all_errors_leaves_the_upper_end_open():
    scheme = fp.Clusters(np.repeat(np.arange(20), 10))
    y = np.tile([0, 1], 100)
    scores = np.where(y == 1, 3.0, -3.0)
    scores[:10] *= -1.0
    data = fp.Predictions.from_logits(y, scores)
    with pytest.warns(RuntimeWarning, match=r"few samples or speakers .* actDCF\(0.5\) \(2\.\d\)"):
        found = fp.bootstrap(fp.ActDCF(0.5), data, resampling=scheme, seed=0)
    assert found.value == 0.1
    assert found.interval.low > 0.0
    assert found.interval.high > max(found.replicates)


def test_without_errors_the_interval_has_no_width():
    one, other = ids()
    y = sample().y_true
    data = fp.Predictions.from_logits(y, np.where(y == 1, 2.0, -2.0))
    for scheme in (fp.Clusters(one), fp.TwoWay(one, other)):
        found = fp.bootstrap(fp.ActDCF(0.5), data, resampling=scheme, n_resamples=40, seed=0)
        assert found.interval == (0.0, 0.0)
        assert math.isnan(found.degrees_of_freedom)


def test_an_undefined_metric_has_no_interval():
    """All targets are of one cluster, but without it there is no target."""
    y = (np.arange(60) < 4).astype(int)
    data = fp.Predictions.from_logits(y, np.linspace(-1.0, 1.0, 60))
    two = fp.Clusters(np.arange(60) // 4 * (np.arange(60) < 8) + 1)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = fp.bootstrap(fp.Cllr(), data, resampling=two, seed=0)
    assert not math.isnan(found.interval.low)  # without the other cluster it is defined
    few = fp.Clusters(np.where(y == 1, 0, 1))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = fp.bootstrap(fp.Cllr(), data, resampling=few, seed=0)
    assert math.isnan(found.interval.low)
    assert any("without most of the clusters" in str(each.message) for each in said)


def test_more_than_400_units_are_left_out_in_groups():
    rng = np.random.default_rng(0)
    y = np.arange(6_000) % 3 == 0
    z = 2.0 * rng.normal(size=y.size) + 2.0 * y - 1.0
    data = fp.Predictions.from_logits(y, z)
    each = fp.Clusters(np.arange(y.size))
    found = fp.bootstrap(fp.BrierScore(), data, resampling=each, n_resamples=400, seed=0)
    single = fp.bootstrap(fp.BrierScore(), data, n_resamples=4_000, seed=0)
    assert found.method == "jackknife"
    assert found.degrees_of_freedom < 400.0
    width, narrow = np.diff([found.interval, single.interval]).ravel()
    assert width == pytest.approx(narrow, rel=0.12)


def test_metrics_of_your_own_keep_percentiles():
    def mean(predictions):
        return fp.Cllr()(predictions)

    scheme = schemes()["clusters"]
    found = fp.bootstrap(mean, sample(), resampling=scheme, n_resamples=40, seed=0)
    assert found.method == "percentile"
