"""Replicates are distributed as the schemes say: every outcome of small sets, and large ones."""

import warnings

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_bootstrap as reference
from tests.replicates import quietly, values_at

SCHEMES = ("iid", "stratified", "clusters", "nested", "two-way")
LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


def scheme_of(scheme, ids=None):
    if scheme == "iid":
        return fp.IID()
    if scheme == "stratified":
        return fp.Stratified()
    if scheme == "two-way":
        return fp.TwoWay(*ids)
    return fp.Clusters(ids) if scheme == "clusters" else fp.Nested(ids)


def value_at(metric, predictions):
    """Return the function of draw counts that is the metric of rows that are repeated."""

    def value(times):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return float(metric(predictions[np.repeat(np.arange(times.size), times)]))
        except ValueError:
            return float("nan")

    return value


def replicates(metrics, predictions, n, **options):
    options = {"method": "percentile", **options}
    results = quietly(fp.bootstrap, metrics, predictions, n_resamples=n, **options)
    return [result.replicates for result in results]


def small(scheme, kind="llrs", weights=False):
    """A few samples with ties, with the ids that a scheme needs."""
    y = np.array([0, 1, 0, 1, 1, 0])
    llr = np.array([-1.0, -1.0, 0.5, 2.0, 0.5, -2.5])
    w = np.array([1.0, 2.0, 0.5, 0.0, 1.0, 3.0]) if weights else None
    if kind == "posteriors":
        data = fp.Predictions.from_posteriors(y, 1.0 / (1.0 + np.exp(-llr)), sample_weight=w)
    elif kind == "raw":
        data = fp.Predictions.from_raw_scores(y, llr, sample_weight=w)
    else:
        data = fp.Predictions.from_llrs(y, llr, sample_weight=w)
    ids = None
    if scheme in ("clusters", "nested"):
        ids = np.array([7, 7, -1, 2, 5, 2])
    elif scheme == "two-way":  # a trial of one speaker against himself among them
        ids = (np.array(list("abacbd")), np.array(list("bbcdcc")))
    return data, w, ids


RANKS = [fp.EER(), fp.MinDCF(0.2), fp.MinCllr(), fp.AUC()]
STEPS = [fp.EER("crossing"), fp.EER("nearest"), fp.MissRate(0.4), fp.FalseAlarmRate(0.4),
         fp.Threshold(fp.EER("nearest")), fp.Threshold(fp.MissRate(0.4)),
         fp.Threshold(fp.FalseAlarmRate(0.4)), fp.Threshold(fp.EER()),
         fp.Threshold(fp.MinDCF(0.2)), fp.Threshold(fp.MinDCF(0.7))]  # fmt: skip
MEANS = [fp.BrierScore(), fp.CrossEntropy(normalized=False), fp.ECE(3), fp.ECE(2, norm=2),
         fp.BayesRisk(fp.CostMatrix.zero_one(2)), fp.ActDCF(0.45), fp.Cllr(0.2)]  # fmt: skip
REFITS = [fp.CalibrationLoss(BRIER, fp.PAV(), fp.TrainOnTest()),
          fp.CalibrationLoss(LOG, fp.PAV(0.01), fp.TrainOnTest(), relative=False)]  # fmt: skip
OTHERS = [fp.DevPAV(), fp.ECE(2, binning="quantile"),
          lambda p: fp.EER()(p) ** 2,
          fp.ExpectedDivergence(BRIER, fp.PAV(), fp.TrainOnTest())]  # fmt: skip


def check_all_outcomes(metrics, data, weights, scheme, ids, n=1_200):
    drawn = replicates(metrics, data, n, resampling=scheme_of(scheme, ids), seed=3)
    outcomes = list(reference.every_replicate(scheme, data.y_true, weights, ids))
    assert abs(sum(p for _, p in outcomes) - 1.0) < 1e-12
    for metric, values in zip(metrics, drawn, strict=True):
        expected = reference.distribution(value_at(metric, data), outcomes)
        assert len(expected) > 1, metric
        reference.assert_distributed(list(map(reference.key_of, values)), expected)


@pytest.mark.parametrize(
    ("scheme", "weights"), [("iid", True), ("two-way", True), ("nested", False)]
)
def test_every_outcome_of_metrics_of_llrs(scheme, weights):
    data, w, ids = small(scheme, weights=weights)
    check_all_outcomes(RANKS + MEANS + REFITS, data, w, scheme, ids)


def test_every_outcome_of_metrics_of_posteriors():
    data, w, ids = small("iid", "posteriors", weights=True)
    binning = fp.CalibrationLoss(BRIER, fp.HistogramBinning(3), fp.TrainOnTest())
    metrics = [fp.BrierScore(), fp.ECE(3), fp.ECE(4, on="confidence"), fp.AUC(), binning]
    check_all_outcomes(metrics, data, w, "iid", ids)


def test_every_outcome_of_metrics_that_need_the_samples():
    data, w, ids = small("stratified")
    check_all_outcomes(OTHERS, data, w, "stratified", ids, n=600)


@pytest.mark.parametrize(("scheme", "weights"), [("iid", True), ("stratified", False)])
def test_every_outcome_of_operating_points(scheme, weights):
    data, w, ids = small(scheme, weights=weights)
    check_all_outcomes(STEPS, data, w, scheme, ids, n=600)


def test_every_outcome_of_raw_scores():
    data, w, ids = small("stratified", "raw", weights=True)
    check_all_outcomes(RANKS, data, w, "stratified", ids)


def test_every_outcome_of_three_classes():
    y = np.array([0, 1, 2, 1, 2])
    q = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    data = fp.Predictions.from_posteriors(y, q)
    metrics = [
        fp.CrossEntropy(), fp.BrierScore(False), fp.ECE(3, on="confidence"), fp.AUC(2),
        fp.BayesRisk(fp.CostMatrix.zero_one(3), normalized=False),
    ]  # fmt: skip
    check_all_outcomes(metrics, data, None, "iid", None)


def test_replicates_without_any_trial_are_undefined():
    """No trial has both its speakers drawn: not a score of 0 over no samples."""
    data = fp.Predictions.from_llrs([0, 1, 0, 1], [-1.0, 2.0, 0.5, 1.0])
    ids = (np.array(list("aabc")), np.array(list("bccd")))
    metrics = [fp.CrossEntropy(False), fp.ECE(3), fp.ECE(2, binning="quantile"), *REFITS,
               fp.BayesRisk(fp.CostMatrix.zero_one(2), normalized=False),
               lambda p: float(p.weights.sum())]  # fmt: skip
    outcomes = list(reference.every_replicate("two-way", data.y_true, None, ids))
    empty = sum(p for times, p in outcomes if not times.any())
    assert empty > 0.1
    n = 1_000
    for values in replicates(metrics, data, n, resampling=fp.TwoWay(*ids), seed=1):
        share = np.isnan(values).mean()
        assert share > empty - 5.0 * np.sqrt(empty / n)
    assert abs(share - empty) < 5.0 * np.sqrt(empty / n)  # the last one is always defined else
    check_all_outcomes([fp.CrossEntropy(False), fp.ECE(3)], data, None, "two-way", ids)
    # nor where only samples of weight 0 are drawn
    w = np.array([1.0, 1.0, 1.0, 0.0])
    data = fp.Predictions.from_llrs([0, 1, 0, 1], [-1.0, 2.0, 0.5, 1.0], sample_weight=w)
    metrics = [fp.CrossEntropy(False), fp.ECE(3), lambda p: float(p.weights.sum())]
    check_all_outcomes(metrics, data, w, "two-way", ids)


# Sets of many blocks, against a naive bootstrap


def large(n=5_000):
    """Posteriors of more than a block of samples, with clusters and speakers that matter."""
    rng = np.random.default_rng(6)
    enroll, test = rng.integers(0, 40, (2, n))
    y = (rng.random(n) < np.where(enroll == test, 0.9, 0.15)).astype(int)
    effect = rng.normal(size=40)
    z = 2.0 * y - 1.0 + rng.normal(size=n) + 0.7 * effect[enroll] + 0.7 * effect[test]
    return y, np.round(z, 2), enroll, test


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [("iid", True), ("two-way", False)],
)
def test_large_sets_against_a_naive_bootstrap(scheme, weights):
    """Means, counts, bins and ranks: their whole distribution, and the first two moments."""
    y, z, enroll, test = large()
    rng = np.random.default_rng(7)
    w = rng.integers(0, 4, y.size).astype(float) if weights else np.ones(y.size)
    data = fp.Predictions.from_logits(y, z, sample_weight=w if weights else None)
    ids = {"nested": enroll, "two-way": (enroll, test)}.get(scheme)
    n, n_naive = 800, 150
    metrics = [fp.BrierScore(), fp.EER(), fp.ECE(), fp.BayesRisk(fp.CostMatrix.zero_one(2)),
               fp.EER("crossing"), fp.EER("nearest"), fp.MissRate(0.1), fp.FalseAlarmRate(0.01),
               fp.Threshold(fp.MissRate(0.1)), fp.Threshold(fp.FalseAlarmRate(0.1)),
               fp.Threshold(fp.EER()), fp.Threshold(fp.MinDCF(0.1))]  # fmt: skip
    drawn = np.array(replicates(metrics, data, n, resampling=scheme_of(scheme, ids), seed=8))
    strata, units = reference.units_of(scheme, y, w, ids)
    codes = {unit: k for k, unit in enumerate(sorted(set().union(*strata)))}
    first = np.array([codes.get(u[0], 0) for u in units])
    second = np.array([codes.get(u[-1], 0) if len(u) > 1 else -1 for u in units])
    strata = [np.array([codes[u] for u in stratum]) for stratum in strata]
    times = np.zeros((n_naive, len(codes) + 1))
    times[:, -1] = 1.0
    for of_replicate in times:
        for stratum in strata:
            picked = stratum[rng.integers(0, stratum.size, stratum.size)]
            of_replicate[:-1] += np.bincount(picked, minlength=len(codes))
    naive = values_at(metrics, data, times[:, first] * times[:, second] * w)
    for values, expected in zip(drawn, naive, strict=True):
        reference.assert_same_distribution(values, expected)
        error = np.sqrt(values.var() / n + expected.var() / n_naive)
        assert abs(values.mean() - expected.mean()) < 5.0 * error
        # a standard deviation's standard error is about a share (2 n)^-1/2 of it
        spread = np.log(values.std() / expected.std())
        assert abs(spread) < 5.0 * np.sqrt(0.5 / n + 0.5 / n_naive)


def test_the_spread_of_a_mean_is_that_of_theory():
    """Variance of the mean under IID: that of the losses over N; Stratified: within classes."""
    y, z, _, _ = large()
    data = fp.Predictions.from_logits(y, z)
    losses = -np.where(y == 1, data.log_posteriors[:, 1], data.log_posteriors[:, 0])
    n = 4_000
    expected = {
        fp.IID(): losses.var() / y.size,
        fp.Stratified(): sum(losses[y == k].var() * (y == k).mean() for k in (0, 1)) / y.size,
    }
    for resampling, variance in expected.items():
        (values,) = replicates([fp.CrossEntropy(False)], data, n, resampling=resampling, seed=9)
        assert abs(values.mean() - losses.mean()) < 5.0 * np.sqrt(variance / n)
        assert abs(values.var() / variance - 1.0) < 5.0 * np.sqrt(2.0 / n)


def test_the_spread_under_nested_draws_is_that_of_theory():
    """With clusters of equal size n: (s_b^2 + s_w^2 / n) / C, s_b of means."""
    rng = np.random.default_rng(11)
    n_clusters, size = 60, 25
    ids = np.repeat(np.arange(n_clusters), size)
    q = 0.5 + 0.03 * rng.normal(size=n_clusters)[ids] + 0.1 * rng.normal(size=ids.size)
    q = np.clip(q, 0.0, 1.0)
    data = fp.Predictions.from_posteriors(np.zeros(ids.size, int), q)
    losses = (q**2).reshape(n_clusters, size)
    n = 4_000
    (values,) = replicates([fp.BrierScore(False)], data, n, resampling=fp.Nested(ids), seed=1)
    within = losses.var(axis=1).mean() / size
    variance = (losses.mean(axis=1).var() + within) / n_clusters
    assert within > 0.2 * losses.mean(axis=1).var()
    assert abs(values.mean() - losses.mean()) < 5.0 * np.sqrt(variance / n)
    assert abs(values.var() / variance - 1.0) < 5.0 * np.sqrt(2.0 / n)
