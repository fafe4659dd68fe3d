"""Intervals of means of clusters and speakers, against the formulas of docs/reference."""

import math

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp
from tests.replicates import quietly, schemes

N, N_IDS = 400, 25

#: Means, and whether their scale is logarithmic.
MEANS = {
    fp.CrossEntropy(): True,
    fp.BrierScore(normalized=False): True,
    fp.Cllr(): True,
    fp.ActDCF(0.2): True,
    fp.BayesRisk([[0.0, 1.0], [3.0, 0.0]]): True,
    fp.BayesRisk([[-2.0, 1.0], [3.0, -1.0]], normalized=False): False,
    fp.ExpectedScore(fp.rules.Beta(2.0, 1.0)): False,
}


def sample(seed=0, *, weights=False):
    """Log-odds that the first id shifts most."""
    rng = np.random.default_rng(seed)
    enroll, test = ids()
    y = (rng.random(N) < 0.3).astype(int)
    effects = rng.exponential(1.0, N_IDS)
    z = 2.0 * rng.normal(size=N) + 3.0 * y - 1.5 - effects[enroll] * (2 * y - 1)
    w = rng.choice([0.0, 0.4, 1.0, 2.5], N) if weights else None
    return fp.Predictions.from_logits(y, z + 0.3 * effects[test], sample_weight=w)


def ids():
    return np.random.default_rng(9).integers(0, N_IDS, (2, N))


def without_each(metric, data, scheme):
    """The metric without each cluster, or each speaker of either side."""
    enroll, test = ids()
    weights = np.ones(N) if data.sample_weight is None else data.sample_weight
    present = weights > 0.0
    is_pair = (enroll != test) & (scheme == "TwoWay")
    units = np.unique(np.append(enroll[present], test[present] if scheme == "TwoWay" else []))
    weights = weights * np.where(is_pair, (units.size - 1) / (units.size - 2), 1.0)
    values = []
    for unit in units:
        kept = present & (enroll != unit) & ((test != unit) | (scheme == "Clusters"))
        values.append(
            metric(fp.Predictions.from_logits(
                data.y_true[kept], data.scores[kept], sample_weight=weights[kept]
            ))
        )  # fmt: skip
    return np.array(values)


def expected_interval(value, without, level, *, is_log=False):
    """The interval and its degrees of freedom."""
    psi = without - without.mean()
    error = math.sqrt((psi.size - 1) / psi.size * (psi**2).sum())
    kappa = (psi**4).sum() / (psi**2).sum() ** 2
    df = float(np.clip(2.0 / (kappa - 1.0 / psi.size), 2.0, psi.size - 1.0))
    reach = stats.t(df).ppf((1.0 + level) / 2.0) * error
    if is_log:
        return value * math.exp(-reach / value), value * math.exp(reach / value), df
    return value - reach, value + reach, df


def assert_interval(result, expected):
    low, high, df = expected
    assert result.method == "jackknife"
    assert result.degrees_of_freedom == pytest.approx(df, rel=1e-7)
    np.testing.assert_allclose(result.interval, [low, high], rtol=1e-8)  # of the quantile


@pytest.mark.parametrize(
    ("scheme", "weights", "level", "n_resamples"),  # the fewest at each level
    [("Clusters", False, 0.5, 4), ("Clusters", True, 0.95, 40), ("TwoWay", False, 0.99, 200),
     ("TwoWay", True, 0.5, 4)],
)  # fmt: skip
def test_intervals_follow_the_formulas(scheme, weights, level, n_resamples):
    data = sample(weights=weights)
    results = fp.bootstrap(
        list(MEANS), data, resampling=schemes(*ids())[scheme], confidence_level=level,
        n_resamples=n_resamples, seed=0,
    )  # fmt: skip
    for (metric, is_log), result in zip(MEANS.items(), results, strict=True):
        without = without_each(metric, data, scheme)
        assert_interval(result, expected_interval(metric(data), without, level, is_log=is_log))


@pytest.mark.parametrize("scheme", ["Clusters", "TwoWay"])
def test_differences_are_paired(scheme):
    a, metrics = sample(), list(MEANS)
    b = fp.Predictions.from_logits(a.y_true, 0.5 * a.scores + sample(1).scores)
    options = {"resampling": schemes(*ids())[scheme], "n_resamples": 40, "seed": 0}
    for metric, result in zip(metrics, fp.compare(metrics, a, b, **options), strict=True):
        without = without_each(metric, a, scheme) - without_each(metric, b, scheme)
        assert_interval(result, expected_interval(metric(a) - metric(b), without, 0.95))
    for equal in fp.compare(metrics, a, a, **options):
        assert equal.interval == (0.0, 0.0)


def test_a_cluster_with_all_errors_leaves_the_upper_end_open():
    scheme = fp.Clusters(np.repeat(np.arange(20), 10))
    y = np.tile([0, 1], 100)
    scores = np.where(y == 1, 3.0, -3.0)
    scores[:10] *= -1.0
    data = fp.Predictions.from_logits(y, scores)
    with pytest.warns(RuntimeWarning, match=r"few samples or speakers .* actDCF\(0.5\) \(2\.\d\)"):
        result = fp.bootstrap(fp.ActDCF(0.5), data, resampling=scheme, seed=0)
    assert result.value == 0.1
    assert result.interval.low > 0.0
    assert result.interval.high > max(result.replicates)


def test_without_errors_the_interval_has_no_width():
    y = sample().y_true
    data = fp.Predictions.from_logits(y, np.where(y == 1, 2.0, -2.0))
    for scheme in ("Clusters", "TwoWay"):
        resampling = schemes(*ids())[scheme]
        result = fp.bootstrap(fp.ActDCF(0.5), data, resampling=resampling, n_resamples=40, seed=0)
        assert result.interval == (0.0, 0.0)
        assert math.isnan(result.degrees_of_freedom)


def test_an_undefined_metric_has_no_interval():
    """All targets are of one cluster, without which there is no target."""
    y = (np.arange(60) < 4).astype(int)
    data = fp.Predictions.from_logits(y, np.linspace(-1.0, 1.0, 60))
    three = fp.Clusters(np.arange(60) // 4 * (np.arange(60) < 8) + 1)
    result = quietly(fp.bootstrap, fp.Cllr(), data, resampling=three, seed=0)
    assert not math.isnan(result.interval.low)  # without another cluster it is defined
    with pytest.warns(RuntimeWarning) as caught:
        result = fp.bootstrap(
            fp.Cllr(), data, resampling=fp.Clusters(np.where(y == 1, 0, 1)), seed=0
        )
    assert math.isnan(result.interval.low)
    assert any("without most of the units" in str(each.message) for each in caught)
