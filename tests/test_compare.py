"""Differences of two systems: p-values, and independent test sets."""

import numpy as np
import pytest
from scipy import stats

import fastpsr as fp

METHODS = ["auto", "percentile", "basic", "bca", "normal"]


def system(rng, y, noise=1.0, first_speaker=0):
    speakers = first_speaker + rng.integers(0, 40, y.size)
    logits = noise * rng.normal(size=y.size) + 2.0 * y - 1.0
    return fp.Predictions.from_logits(y, logits, columns={"speaker": speakers})


def delong(y, a, b):
    """p-value of DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988."""

    def components(scores):
        tar, non = scores[y == 1], scores[y == 0]
        wins = (tar[:, None] > non) + 0.5 * (tar[:, None] == non)
        return wins.mean(axis=1), wins.mean(axis=0)

    difference = [of_a - of_b for of_a, of_b in zip(components(a), components(b), strict=True)]
    error = np.sqrt(sum(part.var(ddof=1) / part.size for part in difference))
    return 2.0 * stats.norm.sf(abs(difference[0].mean()) / error)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", [fp.AUC(), fp.CrossEntropy(), fp.EER(), fp.ECE()])
def test_the_interval_at_one_minus_p_ends_at_zero(metric, method):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    a, b = system(rng, y), system(rng, y, 1.1)
    options = {"method": method, "seed": 0, "n_resamples": 1000}
    result = fp.compare(metric, a, b, **options)
    level = 1.0 - result.p_value
    margin = (
        0.004 if result.method == "percentile" else 1e-6
    )  # replicates are counted with one more
    for is_inside, other in ((True, level + margin), (False, level - margin)):
        if 0.02 < other < 0.98:
            ends = fp.compare(metric, a, b, **options, confidence_level=other).interval
            assert (ends.low <= 0.0 <= ends.high) == is_inside


def test_p_values_of_percentiles_count_replicates():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    result = fp.compare(fp.CrossEntropy(), system(rng, y), system(rng, y, 1.2), seed=0)
    below = np.count_nonzero(result.replicates <= 0.0)
    rarer = min(below, np.count_nonzero(result.replicates >= 0.0))
    assert result.p_value == min(1.0, 2.0 * (rarer + 1) / 1001)
    assert result.excludes_zero == (result.interval.low > 0 or result.interval.high < 0)


def test_equal_systems_do_not_differ_and_metrics_have_no_p_value():
    rng = np.random.default_rng(2)
    data = system(rng, rng.integers(0, 2, 100))
    same = fp.compare(fp.AUC(), data, data, seed=0)
    assert same.p_value == 1.0
    assert not same.excludes_zero
    assert np.isnan(fp.bootstrap(fp.AUC(), data, seed=0).p_value)


def test_p_values_of_the_auc_agree_with_delong():
    rng = np.random.default_rng(3)
    differences = []
    for _ in range(20):
        y = (rng.random(2000) < 0.3).astype(int)
        base = rng.normal(size=2000) + y
        a, b = (base + noise * rng.normal(size=2000) for noise in (0.5, 0.6))
        pair = [fp.Predictions.from_raw_scores(y, scores) for scores in (a, b)]
        differences.append(fp.compare(fp.AUC(), *pair, seed=0).p_value - delong(y, a, b))
    assert np.abs(differences).max() < 0.002


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", [fp.AUC(), fp.CrossEntropy(), fp.EER()])
def test_variances_of_independent_sets_add_up(metric, method):
    rng = np.random.default_rng(4)
    a = system(rng, rng.integers(0, 2, 500))
    b = system(rng, rng.integers(0, 2, 900))
    options = {"method": method, "seed": 0}
    difference = fp.compare(metric, a, b, paired=False, **options)
    assert difference.value == pytest.approx(metric(a) - metric(b))
    widths = [np.diff(fp.bootstrap(metric, data, **options).interval)[0] for data in (a, b)]
    assert np.diff(difference.interval)[0] == pytest.approx(np.hypot(*widths), rel=0.12)


def test_degrees_of_freedom_of_independent_sets_are_welchs():
    rng = np.random.default_rng(5)
    sets = [system(rng, rng.integers(0, 2, n), 1.0, first) for n, first in ((500, 0), (300, 40))]
    options = {"resampling": fp.Clusters("speaker"), "seed": 0, "n_resamples": 40}
    difference = fp.compare(fp.CrossEntropy(), *sets, paired=False, **options)
    each = [fp.bootstrap(fp.CrossEntropy(), data, **options) for data in sets]
    assert difference.method == "jackknife"
    half = [stats.t.ppf(0.975, one.degrees_of_freedom) for one in each]
    plain = [
        np.log(one.interval.high / one.value) * one.value / t
        for one, t in zip(each, half, strict=True)
    ]  # intervals of losses are logarithmic
    squares = np.square(plain)
    freedom = [one.degrees_of_freedom for one in each]
    expected = squares.sum() ** 2 / (squares**2 / freedom).sum()
    assert difference.degrees_of_freedom == pytest.approx(expected, rel=1e-6)


def test_sets_that_are_not_independent_are_refused():
    rng = np.random.default_rng(6)
    a, b = (system(rng, rng.integers(0, 2, n)) for n in (100, 200))
    with pytest.raises(fp.ArgumentError, match="must not share clusters"):
        fp.compare(fp.AUC(), a, b, paired=False, resampling=fp.Clusters("speaker"))
    with pytest.raises(fp.ArgumentError, match="must name a column of both"):
        fp.compare(fp.AUC(), a, b, paired=False, resampling=fp.Clusters(np.arange(100)))
    with pytest.raises(fp.ArgumentError, match="same samples"):
        fp.compare(fp.AUC(), a, b)


def test_tables_of_independent_systems_have_the_differences_of_compare():
    rng = np.random.default_rng(7)
    systems = {"a": system(rng, rng.integers(0, 2, 300)), "b": system(rng, rng.integers(0, 2, 400))}
    metrics = [fp.AUC(), fp.CrossEntropy(), fp.EER()]
    options = {"n_resamples": 200, "seed": 0}
    table = fp.evaluate(systems, metrics, differences="unpaired", **options)
    expected = fp.compare(metrics, *systems.values(), paired=False, **options)
    for difference, result in zip(table.differences, expected, strict=True):
        assert (difference.low, difference.high) == result.interval
        assert difference.p_value == result.p_value
        assert difference.to_dict()["p_value"] == result.p_value


def test_tables_refuse_systems_that_are_not_independent():
    rng = np.random.default_rng(8)
    systems = {name: system(rng, rng.integers(0, 2, 100)) for name in "ab"}
    drawn = {"n_resamples": 40, "resampling": fp.Clusters("speaker")}
    with pytest.raises(fp.ArgumentError, match="'a' and 'b' must not share clusters"):
        fp.evaluate(systems, [fp.AUC()], differences="unpaired", **drawn)
    with pytest.raises(fp.ArgumentError, match="group_differences must be left out"):
        fp.evaluate(systems, [fp.AUC()], differences="unpaired", group_differences="all")
