"""Affine calibration and temperature scaling against slow versions."""

import math

import numpy as np
import pytest

import fastpsr as fp
from tests import reference, samples
from tests.reference import assert_close
from tests.refusal import refuses

OPTIMUM = 1e-8  # relative accuracy where an optimizer decides


# Affine calibration of posteriors


def assert_stationary(sample, fitted, with_bias=True):
    """The gradient of the mean log loss is under 1e-9 (and rounding)."""
    log_rows = reference.finite_for_fitting(sample.log_q)
    _, gradient, _ = reference.affine_objective(log_rows, sample.y, sample.mass, 0.0, with_bias)
    parameters = [fitted.scale_, *(fitted.bias_ - fitted.bias_[0])[1:]] if with_bias else None
    slope = gradient(np.array(parameters if with_bias else [fitted.scale_]))
    assert np.abs(slope).max() < 1.01e-9


@pytest.mark.parametrize(
    ("K", "scores", "weights", "priors"),
    [
        (2, "plain", "wild", True),
        (2, "infinite", "integer", False),
        (2, "tied", "none", True),
        (3, "plain", "integer", False),
        (3, "tied", "none", True),
        (7, "plain", "none", False),
        (7, "infinite", "integer", True),
    ],
)
def test_direction_preserving(K, scores, weights, priors):
    n = 300 if scores == "infinite" else 140
    sample = samples.make(K, n, scores=scores, weights=weights, priors=priors)
    fitted = fp.DirectionPreserving().fit(sample.predictions)
    scale, bias = reference.fit_affine(
        reference.finite_for_fitting(sample.log_q), sample.y, sample.mass
    )
    assert_stationary(sample, fitted)
    assert fitted.bias_.shape == (K,)
    assert abs(fitted.bias_.sum()) < 1e-12
    assert_close(fitted.scale_, scale, rtol=OPTIMUM)
    assert_close(fitted.bias_, bias, rtol=OPTIMUM, atol=OPTIMUM)
    expected = reference.log_softmax(fitted.scale_ * sample.log_q + fitted.bias_)
    calibrated = fitted.transform(sample.predictions)
    assert calibrated.kind == "posteriors"
    assert_close(calibrated.log_posteriors, expected)


@pytest.mark.parametrize("K", [2, 3])
def test_temperature_scaling(K):
    sample = samples.make(K, 100, weights="integer", priors=True)
    fitted = fp.TemperatureScaling().fit(sample.predictions)
    scale, _ = reference.fit_affine(sample.log_q, sample.y, sample.mass, with_bias=False)
    assert_stationary(sample, fitted, with_bias=False)
    assert_close(fitted.scale_, scale, rtol=OPTIMUM)
    expected = reference.log_softmax(fitted.scale_ * sample.log_q)
    assert_close(fitted.transform(sample.predictions).log_posteriors, expected)


def test_cost_rules_cannot_train_an_affine_map():
    with refuses("rule"):
        fp.DirectionPreserving(fp.rules.Cost([[0, 1], [1, 0]])).fit(samples.make(2).predictions)


# Likelihoods and raw scores


@pytest.mark.parametrize(
    ("kind", "options"), [("llrs", {}), ("llrs", {"prior": 0.2}), ("raw scores", {})]
)
def test_affine_calibration_of_scores_gives_llrs(kind, options):
    rng, y, s = samples.make_scores("distinct", 90)
    y[:30] = 0  # a training prior that is not even
    w = rng.integers(1, 4, 90)
    make = fp.Predictions.from_llrs if kind == "llrs" else fp.Predictions.from_raw_scores
    p = [0.8, 0.2] if options else None
    fitted = fp.DirectionPreserving().fit(make(y, s, sample_weight=w, **options))

    mass = reference.sample_mass(y, 2, w, p)
    offset = np.log(reference.class_priors(y, 2, w, p))
    rows = np.column_stack([np.zeros(90), s])
    scale, bias = reference.fit_affine(rows, y, mass, offset)
    assert_close(fitted.scale_, scale, rtol=OPTIMUM)
    assert_close(fitted.bias_, bias, rtol=OPTIMUM)

    new = rng.normal(size=20)
    receiver = {"prior": 0.01} if kind == "llrs" else {}
    calibrated = fitted.transform(make(np.arange(20) % 2, new, **receiver))
    expected = fitted.scale_ * new + fitted.bias_[1] - fitted.bias_[0]
    assert calibrated.kind == "likelihoods"
    assert_close(calibrated.llrs, expected)
    # The receiver's prior makes the posteriors: the given one, else the class frequencies.
    assert_close(calibrated.log_odds, expected + (math.log(0.01 / 0.99) if receiver else 0.0))


# Data without an optimum

SEPARABLE = {
    "apart": ([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0]),
    "apart, reversed": ([1, 1, 0, 0], [-2.0, -1.0, 1.0, 2.0]),
    "touching": ([0, 0, 1, 1, 1], [-2.0, 1.0, 1.0, 2.0, 3.0]),
    "touching, reversed": ([1, 1, 0, 0, 0], [-2.0, 1.0, 1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_data_have_no_fit(name):
    for make in (fp.Predictions.from_logits, fp.Predictions.from_raw_scores):
        with refuses("scores"):
            fp.DirectionPreserving().fit(make(*SEPARABLE[name]))


FEW_AND_MANY = [600, 40_000]  # many are fitted by sums on an axis


@pytest.mark.parametrize(("sign", "step"), [(1.0, 0.5), (-1.0, 0.0)])
def test_many_separable_data_have_no_fit(sign, step):
    """Rounded scores touch: the classes share 4."""
    n = 40_000
    rng = np.random.default_rng(n)
    y = np.arange(n) % 3 == 0
    scores = np.where(y, rng.uniform(4, 7, n), rng.uniform(0, 4 if step else 3, n))
    scores = sign * (np.round(scores / step) * step if step else scores)
    data = fp.Predictions.from_llrs(y.astype(int), scores)
    around_0 = fp.Predictions.from_llrs(y.astype(int), scores - sign * 4.0)
    for fit in (
        lambda: fp.DirectionPreserving().fit(data),
        lambda: fp.cross_fit(fp.DirectionPreserving(), data),
        lambda: fp.CalibrationLoss(fp.rules.Brier(), fp.DirectionPreserving())(data),
        lambda: fp.TemperatureScaling().fit(around_0),
    ):
        with pytest.raises(ValueError, match="separa"):
            fit()


@pytest.mark.parametrize(("n", "far"), [(600, 3e7), (600, 1e12), (40_000, -1e9)])
def test_scores_far_from_zero(n, far):
    rng = np.random.default_rng(1)
    y = (rng.random(n) < 0.3).astype(int)
    scores = np.round(rng.normal(size=n) + 1.5 * y, 3)
    moved = scores + far  # what is left of them
    near = fp.DirectionPreserving().fit(fp.Predictions.from_raw_scores(y, moved - far))
    fitted = fp.DirectionPreserving().fit(fp.Predictions.from_raw_scores(y, moved))
    assert_close(fitted.scale_, near.scale_, rtol=1e-7)
    shift = np.diff(fitted.bias_)[0] + fitted.scale_ * far
    assert_close(shift, np.diff(near.bias_)[0], rtol=0.0, atol=1e-7 + 1e-15 * abs(far))


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_a_scale_below_zero_is_warned_of(n):
    rng = np.random.default_rng(2)
    y = np.arange(n) % 2
    data = fp.Predictions.from_llrs(y, rng.normal(size=n) - 2.0 * y)
    with pytest.warns(RuntimeWarning, match="the fitted scale is -"):
        assert fp.DirectionPreserving().fit(data).scale_ < 0.0
    with pytest.warns(RuntimeWarning, match="the fitted scale is -"):
        fp.CalibrationLoss(fp.rules.Log(), fp.DirectionPreserving())(data)


@pytest.mark.parametrize(("sign", "gap"), [(1.0, 0.0), (-1.0, 0.5)])
def test_separable_data_of_three_classes_raise(sign, gap):
    """Class k's own score is ahead by `gap` on every sample, or level on one."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    z = rng.uniform(-1, 0, (60, 3))
    z[np.arange(60), y] = 0.0
    for c in range(3):  # per pair of classes, the closest sample is at distance `gap`
        for k in {0, 1, 2} - {c}:
            rows = np.flatnonzero(y == c)
            z[rows, k] += -gap - z[rows, k].max()
    with pytest.raises(ValueError, match="separa"):
        fp.DirectionPreserving().fit(fp.Predictions.from_logits(y, sign * z))


def test_touching_classes_are_noticed_in_spite_of_rounding():
    # Scores of small integers, and ties between classes: normalizing them must not pull the
    # classes an ulp into one another.
    z = [[0, -1, -1, -2], [-1, 2, 0, -2], [0, -1, 3, 0], [-1, 1, 0, 0], [2, 1, 0, 0]]
    for shift in (0.0, 0.25, 0.5, 1.0):
        logits = np.array(z, float) + shift * np.arange(4)  # absorbed by the biases
        with pytest.raises(ValueError, match="separa"):
            fp.DirectionPreserving().fit(fp.Predictions.from_logits([0, 1, 2, 3, 1], logits))


@pytest.mark.parametrize(("unit", "last_weight"), [(1.0, 0.0135), (1e-3, 0.014), (1e3, 0.01)])
def test_weights_of_different_size_and_scores_in_any_unit(last_weight, unit):
    y = np.array([0, 1, 2])
    z = np.array([[0.23, -1.74, 0.1], [-1.01, 0.36, 2.91], [1.22, -1.31, -0.32]])
    w = [0.18, 365.0, last_weight]
    fitted = fp.DirectionPreserving().fit(fp.Predictions.from_logits(y, unit * z, sample_weight=w))
    value, _, _ = reference.affine_objective(z, y, w, 0.0, True)
    scale, bias = reference.fit_affine(z, y, w)
    point = np.array([fitted.scale_ * unit, *(fitted.bias_ - fitted.bias_[0])[1:]])
    assert value(point) == pytest.approx(value(np.array([scale, *(bias - bias[0])[1:]])), rel=1e-6)


def test_one_overlapping_pair_of_classes_is_enough_to_fit_where_the_rest_overlap_too():
    # K = 3, classes 0 and 1 apart, but both overlap with 2: the optimum exists.
    rng = np.random.default_rng(5)
    y = np.arange(90) % 3
    z = rng.normal(size=(90, 3))
    z[:, 1] = np.where(y == 0, z[:, 0] - 3, z[:, 1])
    z[:, 0] = np.where(y == 1, z[:, 1] - 3, z[:, 0])
    predictions = fp.Predictions.from_logits(y, z)
    fitted = fp.DirectionPreserving().fit(predictions)
    scale, bias = reference.fit_affine(reference.log_softmax(z), y, np.ones(90))
    assert_close(fitted.scale_, scale, rtol=OPTIMUM)
    assert_close(fitted.bias_, bias, rtol=OPTIMUM)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_data_that_a_threshold_of_zero_separates_have_no_temperature(sign):
    y, s = SEPARABLE["apart"]
    with pytest.raises(ValueError, match="separa"):
        fp.TemperatureScaling().fit(fp.Predictions.from_logits(y, sign * np.array(s)))
    off_zero = np.array(s) + 1.5  # separable, but not by a threshold of zero
    fitted = fp.TemperatureScaling().fit(fp.Predictions.from_logits(y, off_zero))
    rows = reference.log_sigmoid_columns(off_zero)
    assert_close(
        fitted.scale_, reference.fit_affine(rows, y, np.ones(4), with_bias=False)[0], OPTIMUM
    )


# Fits under other rules


@pytest.mark.filterwarnings("ignore:the fitted scale is")
@pytest.mark.parametrize(("scores", "n"), [("extreme", 12), ("tied", 30), ("infinite", 200)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_under_other_rules_are_no_worse_than_any_start(n_classes, scores, n):
    data = samples.make(n_classes, n, scores=scores, weights="integer").predictions
    rules = [fp.rules.Brier()]
    if n_classes == 2 and scores != "infinite":
        rules += [fp.rules.Beta(0.5, 0.5), fp.rules.Beta(3.0, 3.0), fp.rules.Beta(2.0, 1.0)]
    constant = fp.Predictions.from_posteriors(
        data.y_true, np.tile(data.priors, (len(data), 1)), sample_weight=data.sample_weight
    )
    starts = [fp.DirectionPreserving().fit(data).transform(data), data, constant]
    for rule in rules:
        score = fp.ExpectedScore(rule, normalized=False)
        fitted = fp.DirectionPreserving(rule).fit(data)
        best = min(score(start) for start in starts)
        assert score(fitted.transform(data)) <= best * (1.0 + 1e-9) + 1e-12


def test_fits_under_a_rule_whose_weight_jumps_are_to_the_samples():
    """Its losses are no polynomials on a cell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000).astype(np.uint8)
    log_odds = rng.normal(1.5 * y - 0.4, 2.0)
    rule = fp.rules.Weighted(lambda a: 1.0 + 5.0 * (a[:, 1] > 0.37))
    fitted = fp.DirectionPreserving(rule).fit(fp.Predictions.from_logits(y, log_odds))
    scale, shift = fitted.scale_, fitted.bias_[1] - fitted.bias_[0]

    def loss(by_scale=0.0, by_shift=0.0):
        moved = (scale + by_scale) * log_odds + shift + by_shift
        return float(rule.binary_losses(moved, y).mean())

    moves = [(1e-4, 0.0), (-1e-4, 0.0), (0.0, 3e-4), (0.0, -3e-4)]
    assert min(loss(*move) for move in moves) >= loss() - 1e-9


def test_minus_infinity_beside_a_very_high_score_does_not_depend_on_the_sign():
    y = np.array([0, 1, 0, 1, 0, 1, 1, 0])
    llrs = np.array([-np.inf, 200.0, -1.0, 2.0, 0.5, -0.5, 1.0, -2.0])
    fits = [
        fp.DirectionPreserving().fit(fp.Predictions.from_llrs(labels, scores))
        for labels, scores in ((y, llrs), (1 - y, -llrs))
    ]
    assert fits[0].floor_ == fits[1].floor_ == -200.0
    assert fits[0].scale_ == pytest.approx(fits[1].scale_, rel=1e-9)
    np.testing.assert_allclose(fits[0].bias_, fits[1].bias_[::-1], rtol=1e-7)
