"""What holds for the interval of every metric, under every scheme."""

from functools import cache

import numpy as np
import pytest

import fastpsr as fp
from fastpsr.metrics import METRICS
from tests.replicates import quietly, schemes

N = 140
SCHEMES = schemes(*(np.random.default_rng(n).integers(100, 115, N) for n in (1, 2)))
FEW = {"n_resamples": 10, "confidence_level": 0.8, "seed": 3}


@cache
def sample(n_classes=2):
    """Tied scores of overlapping classes."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(N) * 7 % 11 % n_classes
    z = np.round(2.0 * (rng.normal(size=(N, n_classes)) + np.eye(n_classes)[y])) / 2.0
    weights = np.arange(N) % 5 % 3 * 1.5
    if n_classes > 2:
        return fp.Predictions.from_logits(y, z, sample_weight=weights)
    return fp.Predictions.from_llrs(y, z[:, 1] - z[:, 0], sample_weight=weights)


def is_slow(metric):
    """Whether each replicate is a fit or a sort of its own."""
    return (
        isinstance(metric, (fp.CalibrationLoss, fp.ExpectedDivergence, fp.DevPAV))
        or getattr(metric, "binning", "") == "quantile"
    )


@cache
def metrics(n_classes=2, slow=True):
    """Example metrics of each class, of slow ones one of each way to train."""
    chosen, trained = [], set()
    for kind in METRICS:
        if kind.binary_only and n_classes > 2:
            continue
        for metric in kind.examples(sample(n_classes)):
            if is_slow(metric):
                key = kind, type(getattr(metric, "train", None))
                if key in trained or not slow:
                    continue
                trained.add(key)
            chosen.append(metric)
    return chosen


def documented(metric, scheme):
    """The methods of "auto" in the table of docs/reference/intervals.md."""
    train = getattr(metric, "train", None)
    if isinstance(metric, fp.ECE):
        return "percentile" if metric.norm == "max" else "inverted test"
    if isinstance(metric, (fp.AUC, fp.AveragePrecision)):
        return "jackknife"
    if isinstance(train, fp.CrossFit):
        return "percentile" if scheme in ("Nested", "TwoWay") else "bca"
    is_mean = isinstance(
        metric,
        (
            fp.ExpectedScore,
            fp.SemiEmpiricalScore,
            fp.BayesRisk,
            fp.Cllr,
            fp.ActDCF,
            fp.ActADCF,
            fp.DecisionRate,
        ),
    )
    of_point = getattr(metric, "metric", metric)  # or its threshold
    if scheme in ("Clusters", "TwoWay"):
        if is_mean or isinstance(train, fp.HeldOut):
            return "jackknife"
        if isinstance(of_point, (fp.EER, fp.MissRate, fp.FalseAlarmRate, fp.RecallAtPrecision)):
            return "subsampling"
    optimized = isinstance(metric, (fp.MinDCF, fp.MinADCF, fp.MinTDCF, fp.MinCllr))
    is_hull = isinstance(of_point, fp.EER) and of_point.definition == "hull"
    if optimized or is_hull or isinstance(train, fp.TrainOnTest):
        return "subsampling"
    return "percentile"


@pytest.mark.parametrize(
    ("scheme", "n_classes"), [*((scheme, 2) for scheme in SCHEMES), ("IID", 3), ("Clusters", 3)]
)
def test_auto_takes_what_is_documented(scheme, n_classes):
    """And its ends are in the range of the metric."""
    data, chosen = sample(n_classes), metrics(n_classes)
    results = quietly(fp.bootstrap, chosen, data, **FEW, resampling=SCHEMES[scheme])
    for metric, result in zip(chosen, results, strict=True):
        least, most = metric.value_range
        low, high = result.interval
        value = quietly(metric, data)
        assert result.value == value
        assert least - 1e-12 <= value <= most + 1e-12
        if np.isnan(low):
            continue
        where = f"{metric}: see `documented` above, and the table of docs/reference/intervals.md"
        assert result.method == documented(metric, scheme), where
        assert least <= low <= high <= most, metric
        has_df = result.method in ("subsampling", "jackknife") and low < high
        assert np.isnan(result.degrees_of_freedom) != has_df
        assert not has_df or 2.0 <= result.degrees_of_freedom < N


@pytest.mark.parametrize("scheme", ["IID", "TwoWay"])
def test_higher_levels_contain_lower_ones(scheme):
    data, chosen = sample(), metrics(slow=False)
    options = {**FEW, "resampling": SCHEMES[scheme]}
    wide = quietly(fp.bootstrap, chosen, data, **options)
    narrow = quietly(fp.bootstrap, chosen, data, **{**options, "confidence_level": 0.5})
    for outer, inner in zip(wide, narrow, strict=True):
        np.testing.assert_array_equal(outer.replicates, inner.replicates)
        ends = [outer.interval.low, *inner.interval, outer.interval.high]
        if outer.method == "inverted test" and inner.interval.high == outer.value:
            ends[3] = max(ends[3], outer.value)  # the lower level accepts nothing
        assert np.isnan(ends).all() or ends == sorted(ends), outer.name


def test_ends_of_differences_lie_in_what_both_ranges_allow():
    data, chosen = sample(), metrics(slow=False)
    noise = np.round(np.random.default_rng(0).normal(size=N))
    other = fp.Predictions.from_llrs(
        data.y_true, data.scores + noise, sample_weight=data.sample_weight
    )
    for method in ("basic", "subsampling"):
        results = quietly(fp.compare, chosen, data, other, method=method, **FEW)
        for metric, result in zip(chosen, results, strict=True):
            least, most = metric.value_range
            low, high = result.interval
            assert np.isnan(low) or least - most <= low <= high <= most - least, metric


def test_the_bound_on_these_samples_has_an_interval_of_the_population_only_when_asked_for():
    rng = np.random.default_rng(0)
    y = rng.random(3_000) < 0.3
    data = fp.Predictions.from_logits(y, 2.0 * rng.normal(size=y.size) + 4.0 * y - 2.8)
    row = fp.evaluate(data, n_resamples=40, seed=0).row("RCL bound")
    assert row.low is None
    assert "optimistic bound on these samples" in row.note
    bound = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())
    result = fp.bootstrap(bound, data, n_resamples=40, seed=0)
    assert 0.0 <= result.interval.low <= result.corrected <= result.interval.high < result.value
    asked = fp.evaluate(data, [bound], n_resamples=40, seed=0).rows[0]
    assert (asked.low, asked.high) == tuple(result.interval)
    assert asked.corrected == result.corrected
    assert "once corrected for optimism" in asked.note
