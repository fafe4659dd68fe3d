"""ECE, semi-empirical scores, expected divergence and calibration loss against slow versions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastpsr as fp
from tests import reference, samples
from tests.reference import assert_close
from tests.refusal import refuses

RULES = {
    "log": (fp.rules.Log(), reference.log_class_losses),
    "brier": (fp.rules.Brier(), reference.brier_class_losses),
}
every_rule = pytest.mark.parametrize("rule_name", RULES)


# Expected calibration error


@settings(max_examples=60, deadline=None)
@given(
    target=st.sampled_from([(2, "class"), (2, "confidence"), (7, "confidence")]),
    norm=st.sampled_from([1, 2]),
    binning=st.sampled_from(["uniform", "quantile"]),
    scores=st.sampled_from(samples.SCORES),
    weights=st.sampled_from(samples.WEIGHTS),
    priors=st.booleans(),
    seed=st.integers(0, 9),
)
def test_ece(target, norm, binning, scores, weights, priors, seed):
    K, on = target
    sample = samples.make(K, scores=scores, weights=weights, priors=priors, seed=seed)
    q = np.exp(sample.log_q)
    metric = fp.ECE(bins=6, on=on, norm=norm, binning=binning)  # which divides 60
    value = metric(sample.y, q, priors=sample.priors, sample_weight=sample.weights)
    options = {"on": on, "bins": 6, "norm": norm, "binning": binning}
    assert_close(value, reference.ece(sample.y, q.tolist(), sample.mass, **options))


@pytest.mark.parametrize(("bins", "norm"), [(1, 2), (3, 1), (10, 1), (15, 2), (49, 2), (100, 1)])
def test_ece_of_posteriors_on_and_beside_the_edges(bins, norm):
    edges = np.arange(bins + 1) / bins
    q = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    q = np.random.default_rng(bins).permutation(q)
    y = np.arange(q.size) % 2
    expected = reference.calibration_error(q.tolist(), y, np.ones(q.size), bins=bins, norm=norm)
    assert_close(fp.ECE(bins=bins, norm=norm)(y, q), expected)


def test_ece_bins_posteriors_as_given():
    # Neither divided by their sum, nor taken to log-odds and back, nor as 1 - (1 - q).
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    positive = rng.integers(1, 20, 400) / 20
    rows = np.column_stack([1 - positive + rng.uniform(-9e-7, 9e-7, 400), positive])
    expected = reference.calibration_error(positive.tolist(), y, np.ones(400), bins=20)
    assert_close(fp.ECE(bins=20)(y, rows), expected)
    assert_close(fp.ECE(bins=20)(y, positive), expected)


def test_ece_counts_the_first_of_equal_confidences_as_the_decision():
    q = [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]]
    assert_close(fp.ECE(on="confidence")([0, 0], q), 0.6)
    assert_close(fp.ECE(on="confidence")([1, 1], q), 0.4)
    assert_close(fp.ECE(on="confidence")([0, 1], [0.5, 0.5]), 0.0)


@pytest.mark.parametrize("edges", [np.arange(16) / 15, np.array([0.0, 0.1, 0.35, 0.8, 1.0])])
def test_largest_and_class_wise_errors_are_those_of_naive_code(edges):
    rng = np.random.default_rng(0)
    y, q, weights = rng.integers(0, 3, 200), rng.dirichlet(np.ones(3), 200), rng.random(200)
    data = fp.Predictions.from_posteriors(y, q, sample_weight=weights)

    def totals(values, hits):
        return np.transpose(reference.totals_of_bins(values, hits, weights, edges[1:]))

    of_classes = [totals(q[:, k], y == k)[1] for k in range(3)]
    mass, gap = totals(q.max(axis=1), q.argmax(axis=1) == y)
    bins = 15 if edges.size == 16 else edges
    for form in (data, fp.from_parts([data[:50], data[50:]])):
        class_wise = fp.ECE(bins, "classwise")(form)
        assert class_wise == pytest.approx(np.abs(of_classes).sum() / 3 / weights.sum())
        largest = fp.ECE(bins, "confidence", "max")(form)
        assert largest == pytest.approx(np.abs(gap[mass > 0] / mass[mass > 0]).max())


def test_ece_refuses_bad_edges():
    for bins in ([0.0, 0.5], [0.0, 0.5, 0.5, 1.0], [0.1, 1.0], [0.0, 2.0]):
        with pytest.raises(fp.ArgumentError, match="edges from 0 to 1"):
            fp.ECE(bins)
    with pytest.raises(fp.ArgumentError, match="binning must be left out"):
        fp.ECE([0.0, 1.0], binning="quantile")
    with pytest.raises(fp.ArgumentError, match="norm must be 1 for classwise"):
        fp.ECE(on="classwise", norm=2)


def test_ece_of_many_classes_is_of_the_confidence():
    with pytest.raises(ValueError, match="confidence"):
        fp.ECE()(samples.make(3).predictions)


# Semi-empirical scores


@pytest.mark.parametrize(
    ("K", "scores", "weights", "normalized"),
    [
        (2, "plain", "wild", True),
        (2, "infinite", "none", False),
        (3, "extreme", "none", True),
        (3, "infinite", "wild", True),
        (7, "tied", "wild", False),
    ],
)
@every_rule
def test_semi_empirical_score(rule_name, K, scores, weights, normalized):
    sample = samples.make(K, scores=scores, weights=weights)
    r = np.random.default_rng(K).dirichlet(np.ones(K), sample.y.size)
    if scores == "infinite":  # half the rows: no reference probability where the posterior is 0
        r = np.where(np.isneginf(sample.log_q) & (np.arange(len(r)) % 2 == 0)[:, None], 0.0, r)
        r /= r.sum(axis=1, keepdims=True)
    rule, class_losses = RULES[rule_name]
    expected = reference.semi_empirical_score(
        sample.log_q, r, class_losses, sample.mass, normalized=normalized
    )
    as_reference = fp.Predictions.from_posteriors(None, r)
    metric = fp.SemiEmpiricalScore(rule, as_reference, normalized=normalized)
    assert_close(metric(sample.predictions), expected)


def test_semi_empirical_score_needs_a_reference_per_sample():
    r = fp.Predictions.from_posteriors(None, [0.1, 0.2, 0.3])
    with refuses("reference"):
        fp.SemiEmpiricalScore(fp.rules.Log(), r)(samples.make(2).predictions)


# Expected divergence


@pytest.mark.parametrize(
    ("rule_name", "calibrator"), [("log", fp.DirectionPreserving()), ("brier", fp.PAV())]
)
def test_expected_divergence_decomposes_the_semi_empirical_score(rule_name, calibrator):
    sample = samples.make(2, 120, weights="integer")
    rule, class_losses = RULES[rule_name]
    folds = fp.CrossFit(folds=np.arange(120) // 2 % 4)
    metric = fp.ExpectedDivergence(rule, calibrator, folds)
    parts = metric.decompose(sample.predictions)
    r = fp.cross_fit(calibrator, sample.predictions, folds).posteriors
    score = reference.semi_empirical_score(
        sample.log_q, r, class_losses, sample.mass, normalized=False
    )
    q = np.exp(sample.log_q)
    divergences = [reference.divergence(a, b, class_losses) for a, b in zip(r, q, strict=True)]
    entropies = [reference.entropy(row, class_losses) for row in r]
    assert_close(parts.score, score, rtol=1e-11)
    assert_close(parts.divergence, reference.weighted_mean(divergences, sample.mass), rtol=1e-11)
    assert_close(parts.refinement, reference.weighted_mean(entropies, sample.mass), rtol=1e-11)
    assert_close(parts.score, parts.divergence + parts.refinement)
    assert metric(sample.predictions) == parts.divergence


def test_expected_divergence_of_impossible_samples_is_infinite():
    # A posterior of 0 where the calibrated frequency is not.
    predictions = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.0, 0.0, 0.5, 0.5])
    metric = fp.ExpectedDivergence(fp.rules.Log(), fp.PAV(), fp.TrainOnTest())
    parts = metric.decompose(predictions)
    assert parts.score == parts.divergence == math.inf
    assert_close(parts.refinement, math.log(2))


# Calibration loss


def test_calibration_loss_is_the_gain_of_calibrating():
    sample, held_out = samples.make(2, 80, weights="integer"), samples.make(2, 90, seed=1)
    data, score = sample.predictions, fp.BrierScore(normalized=False)
    for train, calibrator in (
        (fp.TrainOnTest(), fp.PAV(floor=1e-3)),
        (fp.HeldOut(held_out.predictions), fp.HistogramBinning()),
        (fp.CrossFit(np.arange(80) // 2 % 4), fp.DirectionPreserving()),
    ):
        raw, calibrated = score(data), score(fp.cross_fit(calibrator, data, train))
        relative = fp.CalibrationLoss(fp.rules.Brier(), calibrator, train)
        absolute = fp.CalibrationLoss(fp.rules.Brier(), calibrator, train, relative=False)
        assert_close(relative(data), 100 * (raw - calibrated) / raw, rtol=1e-8)
        assert_close(absolute(data), raw - calibrated, rtol=1e-8)


def test_an_infinite_score_stays_infinite_in_the_calibration_loss():
    predictions = fp.Predictions.from_posteriors([0, 1, 0, 1, 1], [0.0, 0.0, 0.5, 0.6, 0.3])
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(), fp.TrainOnTest(), relative=False)
    assert loss(predictions) == math.inf
