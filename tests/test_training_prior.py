"""Fits of smooth maps at a prior of their own: prior-weighted logistic regression, and others."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

import fastpsr as fp
from tests.refusal import refuses
from tests.test_beta_calibration import draw

SMOOTH = (fp.DirectionPreserving, fp.TemperatureScaling, fp.BetaCalibration, fp.Spline)
BY_SUMS = 20_000  # so many that sums on an axis replace the samples
KINDS = {
    "llrs": fp.Predictions.from_llrs,
    "llrs with prior": lambda *xs, **options: fp.Predictions.from_llrs(*xs, prior=0.3, **options),
    "raw scores": fp.Predictions.from_raw_scores,
    "posteriors": fp.Predictions.from_logits,
    "posteriors with priors": lambda *xs, **options: fp.Predictions.from_logits(
        *xs, priors=[0.7, 0.3], **options
    ),
}
every_map = pytest.mark.parametrize("map_", SMOOTH, ids=lambda map_: map_.__name__)


def make(kind, n, *, weighted=False, seed=0):
    """Predictions, labels, scores and weights of class 1 three times as rare as class 0."""
    y, x = draw("two slopes", n, seed)
    w = np.random.default_rng(seed).integers(0, 4, n) / 3.0 if weighted else np.ones(n)
    return KINDS[kind](y, x, sample_weight=w if weighted else None), y, x, w


def training(kind, y, w, prior):
    """What samples weigh, and what is added to scores for log-odds at the prior."""
    totals = np.bincount(y, w)
    mass = w * np.where(y == 1, prior / totals[1], (1.0 - prior) / totals[0])
    of_data = 0.3 if kind == "posteriors with priors" else totals[1] / totals.sum()
    return mass, logit(prior) - (logit(of_data) if "posteriors" in kind else 0.0)


def assert_same_fit(fitted, expected):
    for name in expected.fitted_names:
        np.testing.assert_allclose(
            getattr(fitted, name), getattr(expected, name), rtol=1e-9, atol=1e-9, err_msg=name
        )


# Naive references


@pytest.mark.parametrize(
    ("kind", "n", "weighted", "prior"),
    [
        ("llrs", BY_SUMS, True, 1e-3),
        ("raw scores", 400, True, 0.9),
        ("raw scores", BY_SUMS, False, 0.1),
        ("posteriors", 400, True, 0.1),
        ("posteriors with priors", BY_SUMS, False, 0.9),
    ],
)
def test_it_is_prior_weighted_logistic_regression(kind, n, weighted, prior):
    data, y, x, w = make(kind, n, weighted=weighted)
    mass, offset = training(kind, y, w, prior)
    regression = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1_000)
    regression.fit(x[:, None], y, sample_weight=mass * n)
    fitted = fp.DirectionPreserving(prior=prior).fit(data)
    assert fitted.scale_ == pytest.approx(regression.coef_[0, 0], rel=1e-8)
    bias = regression.intercept_[0] - offset
    assert fitted.bias_[1] - fitted.bias_[0] == pytest.approx(bias, rel=1e-8, abs=1e-8)


# What it is the same as


@pytest.mark.parametrize("n", [400, BY_SUMS])
@every_map
def test_llrs_are_fitted_as_if_they_were_given_the_prior(map_, n):
    y, x = draw("two slopes", n)
    at_prior = map_().fit(fp.Predictions.from_llrs(y, x, prior=0.02))
    for data in (fp.Predictions.from_llrs(y, x), fp.Predictions.from_llrs(y, x, prior=0.6)):
        assert_same_fit(map_(prior=0.02).fit(data), at_prior)


@pytest.mark.parametrize(
    ("map_", "kind", "n"),
    [
        (fp.DirectionPreserving, "posteriors", BY_SUMS),
        (fp.BetaCalibration, "posteriors with priors", 400),
        (fp.BetaCalibration, "posteriors", BY_SUMS),
    ],
)
def test_posteriors_are_calibrated_as_the_llrs_that_they_stand_for(map_, kind, n):
    data, *_ = make(kind, n)
    posteriors = map_(prior=0.02).fit(data).transform(data).log_odds
    as_llrs = data.as_llrs()
    llrs = map_(prior=0.02).fit(as_llrs).transform(as_llrs).llrs
    np.testing.assert_allclose(posteriors, llrs + logit(data.priors[1]), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("map_", [fp.DirectionPreserving, fp.BetaCalibration])
def test_priors_do_not_share_what_is_kept_with_the_data(map_):
    data, *_ = make("llrs", BY_SUMS)
    for prior in (None, 0.02, 0.5):
        fresh, *_ = make("llrs", BY_SUMS)
        calibrator = map_(prior=prior)
        scores = fp.cross_fit(calibrator, data).scores
        np.testing.assert_array_equal(scores, fp.cross_fit(calibrator, fresh).scores)


# Options


@pytest.mark.parametrize("map_", [fp.DirectionPreserving, fp.TemperatureScaling])
def test_a_prior_is_for_two_classes(map_):
    scores = np.random.default_rng(0).normal(size=(6, 3))
    data = fp.Predictions.from_logits([0, 1, 2, 0, 1, 2], scores)
    loss = fp.CalibrationLoss(fp.rules.Log(), map_(prior=0.2))
    for fit in (map_(prior=0.2).fit, lambda data: fp.cross_fit(map_(prior=0.2), data), loss):
        with refuses("prior"):
            fit(data)
