"""Fits of smooth maps at a prior of their own: prior-weighted logistic regression, and others."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import fastpsr as fp
from fastpsr.calibration import CALIBRATORS
from fastpsr.calibration.smooth import SmoothCalibrator
from tests.test_beta_calibration import assert_optimal, drawn

SMOOTH = [kind for kind in CALIBRATORS.values() if issubclass(kind, SmoothCalibrator)]
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
every_kind = pytest.mark.parametrize("kind", KINDS)
every_map = pytest.mark.parametrize("map_", SMOOTH, ids=lambda map_: map_.__name__)
both_sizes = pytest.mark.parametrize("n", [400, BY_SUMS])


def make(kind, n, *, weighted=False, seed=0):
    """Predictions, labels, scores and weights of class 1 three times as rare as class 0."""
    y, x = drawn("two slopes", n, seed)
    w = np.random.default_rng(seed).integers(0, 4, n) / 3.0 if weighted else np.ones(n)
    return KINDS[kind](y, x, sample_weight=w if weighted else None), y, x, w


def training(kind, y, w, prior):
    """What samples weigh, and what is added to scores for log-odds at the prior."""
    totals = np.bincount(y, w)
    mass = w * np.where(y == 1, prior / totals[1], (1.0 - prior) / totals[0])
    of_data = 0.3 if kind == "posteriors with priors" else totals[1] / totals.sum()
    return mass, logit(prior) - (logit(of_data) if "posteriors" in kind else 0.0)


def fitted_of(fitted):
    return {name: getattr(fitted, name) for name in fitted.fitted_names}


def assert_same_fit(one, other, rtol=1e-9):
    for name, value in fitted_of(one).items():
        np.testing.assert_allclose(getattr(other, name), value, rtol=rtol, atol=rtol, err_msg=name)


# Naive references


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("prior", [1e-3, 0.1, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
@both_sizes
@every_kind
def test_it_is_prior_weighted_logistic_regression(kind, n, weighted, prior):
    data, y, x, w = make(kind, n, weighted=weighted)
    mass, offset = training(kind, y, w, prior)
    regression = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1_000)
    regression.fit(x[:, None], y, sample_weight=mass * n)
    fitted = fp.DirectionPreserving(prior=prior).fit(data)
    assert fitted.scale_ == pytest.approx(regression.coef_[0, 0], rel=1e-8)
    bias = regression.intercept_[0] - offset
    assert fitted.bias_[1] - fitted.bias_[0] == pytest.approx(bias, rel=1e-8, abs=1e-8)


@pytest.mark.in_turn(2)
@both_sizes
@every_kind
def test_the_optimum_of_a_temperature(kind, n):
    data, y, x, w = make(kind, n, weighted=True)
    mass, offset = training(kind, y, w, 0.05)

    def loss(scale):
        log_odds = scale * x + offset
        return mass @ np.logaddexp(0.0, np.where(y == 1, -log_odds, log_odds))

    scale = fp.TemperatureScaling(prior=0.05).fit(data).scale_
    assert abs((mass * x) @ (expit(scale * x + offset) - y)) < 1e-9
    assert loss(scale) <= minimize(loss, [1.0], method="Nelder-Mead").fun + 1e-14


@pytest.mark.in_turn(2)
@both_sizes
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "raw scores"])
def test_the_optimum_of_beta(kind, n):
    data, y, x, w = make(kind, n, weighted=True)
    mass, offset = training(kind, y, w, 0.05)
    fitted = fp.BetaCalibration(prior=0.05).fit(data)
    assert_optimal(fitted, x + offset, y, mass)
    assert fitted.prior_log_odds_ == pytest.approx(offset, rel=1e-12)


@pytest.mark.in_turn(2)
@pytest.mark.filterwarnings("ignore:the fitted scale is -")
@pytest.mark.filterwarnings("ignore::fastpsr.SuspicionWarning")
@pytest.mark.parametrize("n_infinite", [0, 5, 20, 40])
@pytest.mark.parametrize("prior", [0.02, 0.9])
@every_kind
def test_the_optimum_under_another_rule(kind, prior, n_infinite):
    """Of the loss at the prior, no worse there than the starting points, which are known."""
    _, y, x, w = make(kind, 400)
    x[np.flatnonzero(y == 1)[:n_infinite]] = -np.inf
    data = KINDS[kind](y, x)
    mass, offset = training(kind, y, w, prior)
    fitted = fp.DirectionPreserving(fp.rules.Brier(), prior=prior).fit(data)
    by_log = fp.DirectionPreserving(prior=prior).fit(data)

    def loss(scale, bias):
        finite = np.clip(x, fitted.floor_, -fitted.floor_)  # which other scales do not take
        scaled = scale * (x if scale > 0.0 else finite)
        return mass @ np.square(y - expit(scaled + bias + offset))

    found = fitted.scale_, fitted.bias_[1] - fitted.bias_[0]
    starts = [(by_log.scale_, by_log.bias_[1] - by_log.bias_[0]), (1.0, 0.0),
              (0.0, logit(prior) - offset)]  # fmt: skip
    assert all(loss(*found) <= loss(*start) + 1e-12 for start in starts)
    if not n_infinite:  # nothing better is near
        assert loss(*found) <= minimize(lambda at: loss(*at), found, tol=1e-12).fun + 1e-9


# What it is the same as


@pytest.mark.in_turn(2)
@both_sizes
@every_map
def test_llrs_are_fitted_as_if_they_were_given_the_prior(map_, n):
    y, x = drawn("two slopes", n)
    at_prior = map_().fit(fp.Predictions.from_llrs(y, x, prior=0.02))
    for data in (fp.Predictions.from_llrs(y, x), fp.Predictions.from_llrs(y, x, prior=0.6)):
        assert_same_fit(map_(prior=0.02).fit(data), at_prior)


@both_sizes
@every_map
def test_posteriors_are_calibrated_as_the_llrs_that_they_stand_for(map_, n):
    if map_ in (fp.TemperatureScaling, fp.Spline):
        pytest.skip("a temperature scales what depends on the prior, knots are on a grid of scores")
    for kind in ("posteriors", "posteriors with priors"):
        data, *_ = make(kind, n)
        to_llrs = logit(data.priors[1])
        posteriors = map_(prior=0.02).fit(data).transform(data).log_odds
        as_llrs = data.as_llrs()
        llrs = map_(prior=0.02).fit(as_llrs).transform(as_llrs).llrs
        np.testing.assert_allclose(posteriors, llrs + to_llrs, rtol=1e-6, atol=1e-6)


@pytest.mark.in_turn(2)
@both_sizes
@every_kind
@every_map
def test_the_prior_of_the_data_is_the_default(map_, kind, n):
    data, y, x, _ = make(kind, n)
    if not map_.suits(data):
        pytest.skip("does not take raw scores")
    prior = y.mean() if data.given_priors is None else 0.3
    one, other = map_().fit(data), map_(prior=prior).fit(data)
    assert_same_fit(one, other)
    new = KINDS[kind](None, x) if "with" in kind or kind == "raw scores" else data
    np.testing.assert_allclose(other.transform(new).scores, one.transform(new).scores, rtol=1e-8)
    assert one.transform(data).kind == other.transform(data).kind


@every_kind
@every_map
def test_weights_multiply(map_, kind):
    """A weight is a repetition, its unit does not matter, and those of 0 are absent."""
    y, x = drawn("plain", 600)
    w = np.random.default_rng(0).integers(0, 4, y.size)
    rows = np.repeat(np.arange(y.size), w)
    calibrator = map_(prior=0.05)
    weighted, scaled, repeated, present = (
        KINDS[kind](y, x, sample_weight=w),
        KINDS[kind](y, x, sample_weight=w * 1e150),
        KINDS[kind](y[rows], x[rows]),
        KINDS[kind](y[w > 0], x[w > 0], sample_weight=w[w > 0]),
    )
    if not map_.suits(weighted):
        pytest.skip("does not take raw scores")
    fitted = calibrator.fit(weighted)
    others = [scaled, present] if map_ is fp.Spline else [scaled, present, repeated]
    for other in others:  # a repeated sample has a penalty and inner folds of its own
        assert_same_fit(fitted, calibrator.fit(other), rtol=1e-8)


@pytest.mark.in_turn(2)
@both_sizes
@every_kind
@every_map
def test_folds_are_separate_fits(map_, kind, n):
    data, y, x, _ = make(kind, n)
    if map_ is fp.Spline or not map_.suits(data):
        pytest.skip("has inner folds of its own, or does not take raw scores")
    calibrator, fold = map_(prior=0.02), np.arange(n) % 7 % 3
    made = fp.cross_fit(calibrator, data, fp.CrossFit(fold)).scores
    for held_out in range(3):
        here = fold == held_out
        one, other = (KINDS[kind](y[rows], x[rows]) for rows in (~here, here))
        alone = calibrator.fit(one).transform(other)
        np.testing.assert_allclose(made[here], alone.scores, rtol=1e-8, atol=1e-8)


# What it is for


@every_map
def test_no_fit_has_less_loss_at_the_prior_where_it_was_fitted(map_):
    if map_ in (fp.BetaCalibration, fp.Spline):
        pytest.skip("at each prior there are other maps, or the loss has a penalty")
    data, *_ = make("llrs", 3_000)
    priors = (0.001, 0.1, 0.5, 0.97)
    calibrated = [map_(prior=prior).fit(data).transform(data) for prior in priors]
    losses = np.array([[fp.Cllr(prior)(each) for each in calibrated] for prior in priors])
    assert (losses.argmin(axis=1) == np.arange(len(priors))).all()


@pytest.mark.in_turn(2)
@every_kind
@every_map
def test_metrics_stay_at_the_priors_of_the_data(map_, kind):
    data, *_ = make(kind, 20_000)
    if data.kind == "raw scores":
        pytest.skip("they have no expected scores")
    fold = np.arange(len(data)) % 3
    for rule in (fp.rules.Log(), fp.rules.Brier()):
        loss = fp.CalibrationLoss(rule, map_(prior=0.02), fp.CrossFit(fold), relative=False)
        score = fp.ExpectedScore(rule, normalized=False)
        calibrated = fp.cross_fit(map_(prior=0.02), data, fp.CrossFit(fold))
        assert calibrated.kind == data.kind
        assert loss(data) == pytest.approx(score(data) - score(calibrated), rel=1e-8)


@pytest.mark.in_turn(2)
@every_map
def test_priors_do_not_share_what_is_kept_with_the_data(map_):
    data, *_ = make("llrs", BY_SUMS)
    fresh, *_ = make("llrs", BY_SUMS)
    for prior in (None, 0.02, 0.5):
        calibrator = map_(prior=prior)
        scores = fp.cross_fit(calibrator, data).scores
        np.testing.assert_array_equal(scores, fp.cross_fit(calibrator, fresh.compact()).scores)


# Options


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.5, np.nan, np.inf, True])
@every_map
def test_priors_that_are_none(map_, prior):
    with pytest.raises(
        fp.ArgumentError, match=f"prior must lie strictly between 0 and 1, not {prior}"
    ):
        map_(prior=prior)
    with pytest.raises(fp.ArgumentError, match="prior must be a number"):
        map_(prior=[0.5, 0.5])


@pytest.mark.parametrize("map_", [fp.DirectionPreserving, fp.TemperatureScaling])
def test_a_prior_is_for_two_classes(map_):
    data = fp.Predictions.from_logits(
        [0, 1, 2, 0, 1, 2], np.random.default_rng(0).normal(size=(6, 3))
    )
    loss = fp.CalibrationLoss(fp.rules.Log(), map_(prior=0.2))
    for run in (map_(prior=0.2).fit, lambda data: fp.cross_fit(map_(prior=0.2), data), loss):
        with pytest.raises(fp.ArgumentError, match=r"prior must be left out .*here 3, not 0\.2"):
            run(data)


@every_map
def test_it_is_shown_and_kept(map_, tmp_path):
    data, *_ = make("llrs", 400)
    calibrator = map_(prior=np.float32(0.25))
    assert type(calibrator.prior) is float
    fitted = calibrator.fit(data)
    fp.save_calibrator(fitted, tmp_path / "saved.json")
    for each in (
        calibrator,
        fitted,
        clone(calibrator),
        fp.load_calibrator(tmp_path / "saved.json"),
    ):
        assert "prior=0.25" in repr(each)
        assert each.prior == 0.25
    y, x = drawn("plain", 400)
    x[y == 1] = np.r_[-np.inf, x[y == 1][1:]]
    data = fp.Predictions.from_llrs(y, x)
    with pytest.warns(fp.SuspicionWarning, match=r"\(prior=0\.25, floor=1e-3\)"):
        calibrator.fit(data)
