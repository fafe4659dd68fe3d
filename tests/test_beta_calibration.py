"""Beta calibration: its optimum, and what it has in common with direction-preserving maps."""

import numpy as np
import pytest
from scipy.special import expit

import fastpsr as fp


def features(log_odds):
    return np.stack([-np.logaddexp(0.0, -log_odds), np.logaddexp(0.0, log_odds)])


def mean_loss(log_odds, y, mass):
    """The loss of (a, b, c) and its gradient, per unit of weight."""
    signs, shares = np.where(y == 1, -1.0, 1.0), mass / mass.sum()
    rows = np.vstack([features(log_odds), np.ones(y.size)])

    def at(parameters):
        margin = signs * (parameters @ rows)
        slopes = shares * signs * expit(margin)
        return float(shares @ np.logaddexp(0.0, margin)), rows @ slopes

    return at


def assert_optimal(fitted, log_odds, y, mass):
    """The gradient is 0 but where a bound holds it: of a convex loss, the optimum."""
    loss = mean_loss(log_odds, y, mass)
    _, gradient = loss(fitted.parameters_)
    a, b, _ = fitted.parameters_
    assert a >= 0.0
    assert b >= 0.0
    at_bound = np.array([a == 0.0, b == 0.0, False])
    assert np.abs(gradient[~at_bound]).max() < 1e-9
    assert (gradient[at_bound] >= 0.0).all()


def draw(shape, n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < (0.005 if shape == "rare" else 0.3)).astype(int)
    x = 2.0 * rng.normal(size=n) + 2.0 * y - 2.0
    if shape == "rare":  # few scores are above even odds
        x += 2.0 * y
        x = np.where(x > 0.0, 0.6 * x, 1.2 * x)
    if shape == "wide":
        x = 100.0 * x
    if shape == "tied":
        x = np.round(x)
    if shape == "one side":  # of non-targets, and the scores tell nothing there: a bound holds
        x = -np.abs(rng.normal(size=n)) + np.where(y == 1, 3.0 * rng.random(n), 0.0)
    if shape == "two slopes":
        x = np.where(x > 0.0, 0.3 * x, 2.0 * x)
    if shape == "downward":
        x = -x
    if shape == "nearly separable":
        x = 8.0 * (2 * y - 1) + rng.normal(size=n)
        x[:2] = [1.0, -1.0]
        y[:2] = [0, 1]
    return y, x


@pytest.mark.filterwarnings("ignore:a = b = 0")
@pytest.mark.parametrize(
    ("shape", "n", "weighted", "kind"),
    [
        ("plain", 3_000, False, "llrs"),
        ("tied", 3_000, True, "llrs"),
        ("one side", 60, False, "llrs"),
        ("one side", 40_000, True, "posteriors"),
        ("two slopes", 40_000, True, "llrs"),
        ("downward", 40_000, False, "llrs"),
        ("nearly separable", 3_000, True, "posteriors"),
        ("rare", 300_000, False, "llrs"),
        ("wide", 40_000, False, "posteriors"),
        ("wide", 120_000, False, "posteriors"),
    ],
)
def test_the_optimum(shape, n, weighted, kind):
    y, x = draw(shape, n)
    mass = np.random.default_rng(1).exponential(size=n) if weighted else np.ones(n)
    weights = mass if weighted else None
    if kind == "posteriors":
        data, log_odds = fp.Predictions.from_logits(y, x, sample_weight=weights), x
    else:
        data = fp.Predictions.from_llrs(y, x, sample_weight=weights)
        log_odds = x + np.log(mass[y == 1].sum() / mass[y == 0].sum())
    fitted = fp.BetaCalibration().fit(data)
    assert_optimal(fitted, log_odds, y, mass)
    calibrated = fitted.transform(data)
    expected = fitted.parameters_[:2] @ features(log_odds) + fitted.parameters_[2]
    np.testing.assert_allclose(calibrated.log_odds, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_posteriors_do_not_tell_a_from_b_it_is_direction_preserving(sign):
    y, x = draw("plain", 2_000)
    x = x + sign * 80.0
    data = fp.Predictions.from_logits(y, x)
    a, b, c = fp.BetaCalibration().fit(data).parameters_
    affine = fp.DirectionPreserving().fit(data)
    assert a == pytest.approx(affine.scale_, rel=1e-6)
    assert b == pytest.approx(a, rel=1e-6)
    assert c == pytest.approx(affine.bias_[1] - affine.bias_[0], rel=1e-6)


def test_infinite_scores_are_mapped_to_the_limit():
    y, x = draw("plain", 400)
    x[:4], y[:4] = [-np.inf, np.inf, np.inf, -np.inf], [0, 1, 0, 1]
    train = fp.Predictions.from_logits(y, x)
    with pytest.warns(fp.SuspicionWarning, match="2 samples have posterior 0"):
        fitted = fp.BetaCalibration().fit(train)
    assert_optimal(fitted, np.clip(x, fitted.floor_, -fitted.floor_), y, np.ones(y.size))
    ends = fp.Predictions.from_logits(None, [-np.inf, np.inf])
    assert fitted.transform(ends).log_odds.tolist() == [-np.inf, np.inf]
    y, x = draw("one side", 400)
    flat_left = fp.BetaCalibration().fit(fp.Predictions.from_logits(y, x))
    a, b, c = flat_left.parameters_
    assert (a == 0.0, b > 0.0) == (True, True)
    assert flat_left.transform(ends).log_odds.tolist() == [c, np.inf]
    flat_right = fp.BetaCalibration().fit(fp.Predictions.from_logits(1 - y, -x))
    a, b, c = flat_right.parameters_
    assert (a > 0.0, b == 0.0) == (True, True)
    assert flat_right.transform(ends).log_odds.tolist() == [-np.inf, c]


@pytest.mark.parametrize(
    ("calibrator", "words"),
    [(fp.BetaCalibration(), "a = b = 0"), (fp.Spline(), "all slopes are 0")],
    ids=["beta", "spline"],
)
def test_scores_that_rank_the_wrong_way_get_one_posterior(calibrator, words):
    y, x = draw("downward", 500)
    with pytest.warns(RuntimeWarning, match=words):
        fitted = calibrator.fit(fp.Predictions.from_logits(y, x))
    same = fitted.transform(fp.Predictions.from_logits(None, [-3.0, 0.0, np.inf])).log_odds
    np.testing.assert_allclose(same, np.log(y.mean() / (1.0 - y.mean())), rtol=1e-9)
