"""Replicates are distributed as the schemes say: every outcome of small sets."""

from functools import partial

import numpy as np
import pytest

import fastpsr as fp
from tests import reference_bootstrap as reference
from tests.replicates import of_repeated_rows, quietly

LOG, BRIER = fp.rules.Log(), fp.rules.Brier()


def scheme_of(scheme, ids):
    if scheme == "two-way":
        return fp.TwoWay(*ids)
    if scheme == "nested":
        return fp.Nested(ids)
    return {"iid": fp.IID(), "stratified": fp.Stratified()}[scheme]


def replicates(metrics, predictions, n, **options):
    options = {"method": "percentile", **options}
    results = quietly(fp.bootstrap, metrics, predictions, n_resamples=n, **options)
    return [result.replicates for result in results]


def small(scheme, weights=False):
    """A few samples with ties, with the ids that a scheme needs."""
    y = np.array([0, 1, 0, 1, 1, 0])
    llr = np.array([-1.0, -1.0, 0.5, 2.0, 0.5, -2.5])
    w = np.array([1.0, 2.0, 0.5, 0.0, 1.0, 3.0]) if weights else None
    data = fp.Predictions.from_llrs(y, llr, sample_weight=w)
    ids = None
    if scheme == "nested":
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
        expected = reference.distribution(partial(of_repeated_rows, metric, data), outcomes)
        assert len(expected) > 1, metric
        reference.assert_distributed(list(map(reference.key_of, values)), expected)


@pytest.mark.parametrize(
    ("metrics", "scheme", "weights"),
    [
        (RANKS + MEANS + REFITS, "iid", True), (RANKS + MEANS + REFITS, "two-way", True),
        (RANKS + MEANS + REFITS, "nested", False), (STEPS, "iid", True),
        (STEPS, "stratified", False), (OTHERS, "stratified", False),
    ],
)  # fmt: skip
def test_every_outcome_is_as_frequent_as_it_should_be(metrics, scheme, weights):
    data, w, ids = small(scheme, weights)
    check_all_outcomes(
        metrics, data, w, scheme, ids, n=600 if metrics in (STEPS, OTHERS) else 1_200
    )


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
