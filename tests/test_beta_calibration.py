"""Beta calibration against scipy, and what it has in common with direction-preserving maps."""

import numpy as np
import pytest
from scipy.optimize import minimize

import fastpsr as fp
from fastpsr.calibration import axis_fits
from fastpsr.calibration.axis_fits import fits_by_sums
from fastpsr.calibration.folds import OneFold
from fastpsr.calibration.sampling import rough_fit
from fastpsr.plans import run
from tests import samples
from tests.test_calibration_in_parts import cut


def features(log_odds):
    return np.stack([-np.logaddexp(0.0, -log_odds), np.logaddexp(0.0, log_odds)])


def mean_loss(log_odds, y, mass):
    """The loss of (a, b, c) and its gradient, per unit of weight."""
    signs, shares = np.where(y == 1, -1.0, 1.0), mass / mass.sum()
    rows = np.vstack([features(log_odds), np.ones(y.size)])

    def at(parameters):
        margin = signs * (parameters @ rows)
        slopes = shares * signs / (1.0 + np.exp(-margin))
        return float(shares @ np.logaddexp(0.0, margin)), rows @ slopes

    return at


def minimum(loss):
    bounds = [(0.0, None), (0.0, None), (None, None)]
    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 5_000, "maxfun": 20_000}
    ends = [minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            for start in ([1.0, 1.0, 0.0], [0.1, 2.0, 0.0])]  # fmt: skip
    return min(end.fun for end in ends)


def assert_optimal(fitted, log_odds, y, mass):
    """The gradient is 0 but where a bound holds it: of a convex loss, the optimum."""
    loss = mean_loss(log_odds, y, mass)
    value, gradient = loss(fitted.parameters_)
    a, b, _ = fitted.parameters_
    assert a >= 0.0
    assert b >= 0.0
    held = np.array([a == 0.0, b == 0.0, False])
    assert np.abs(gradient[~held]).max() < 1e-9
    assert (gradient[held] >= 0.0).all()
    if y.size < 10_000:  # where a search takes little
        assert value <= minimum(loss) + 1e-14


def drawn(shape, n, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    x = 2.0 * rng.normal(size=n) + 2.0 * y - 2.0
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


SHAPES = ["plain", "tied", "one side", "two slopes", "downward", "nearly separable"]


@pytest.mark.in_turn(4)
@pytest.mark.filterwarnings("ignore:a = b = 0")
@pytest.mark.parametrize("kind", ["posteriors", "llrs"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [60, 3_000, 40_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_optimum(shape, n, weighted, kind):
    y, x = drawn(shape, n)
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


def test_given_priors_weigh_the_classes():
    y, x = drawn("two slopes", 2_000)
    data = fp.Predictions.from_llrs(y, x, prior=0.1)
    fitted = fp.BetaCalibration().fit(data)
    mass = np.where(y == 1, 0.1 / y.mean(), 0.9 / (1.0 - y.mean()))
    assert_optimal(fitted, x + np.log(0.1 / 0.9), y, mass)
    assert fitted.prior_log_odds_ == pytest.approx(np.log(0.1 / 0.9), rel=1e-14)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_posteriors_do_not_tell_a_from_b_it_is_direction_preserving(sign):
    y, x = drawn("plain", 2_000)
    x = x + sign * 80.0
    data = fp.Predictions.from_logits(y, x)
    a, b, c = fp.BetaCalibration().fit(data).parameters_
    affine = fp.DirectionPreserving().fit(data)
    assert a == pytest.approx(affine.scale_, rel=1e-6)
    assert b == pytest.approx(a, rel=1e-6)
    assert c == pytest.approx(affine.bias_[1] - affine.bias_[0], rel=1e-6)


@pytest.mark.parametrize("n", [800, 40_000])
def test_it_is_never_worse_than_direction_preserving_upwards(n):
    for seed in range(5):
        y, x = drawn("two slopes", n, seed)
        data = fp.Predictions.from_logits(y, x)
        losses = [fp.CrossEntropy(False)(calibrator.fit(data).transform(data))
                  for calibrator in (fp.BetaCalibration(), fp.DirectionPreserving())]  # fmt: skip
        assert losses[0] <= losses[1] + 1e-12


def test_the_axis_follows_fits_that_are_steeper_than_that_of_the_sample():
    """Few scores are above posterior 0.5: what a sample says of the slope there is far off."""
    rng = np.random.default_rng(0)
    y = (rng.random(300_000) < 0.005).astype(np.uint8)
    x = 2.0 * rng.normal(size=y.size) + 4.0 * y - 2.0
    data = fp.Predictions.from_llrs(y, np.where(x > 0.0, 0.6 * x, 1.2 * x))
    rough = run(lambda: rough_fit(fp.BetaCalibration(), data))
    fits = run(lambda: fits_by_sums(fp.BetaCalibration(), data, OneFold()))
    assert fits is not None
    assert fits.parameters[0].max() > 2.0 * rough.max()
    assert_optimal(
        fp.BetaCalibration().fit(data), data.llrs + fits.prior_log_odds[0], y, np.ones(y.size)
    )


def test_of_many_rows_more_cells_are_summed(monkeypatch):
    """Of fewer, and where cells may be no more, fits are to the rows."""
    y, x = drawn("plain", 120_000)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.BetaCalibration(), fp.TrainOnTest())

    def fits(rows):
        data = fp.Predictions.from_logits(y[:rows], 100.0 * x[:rows])
        return run(lambda: fits_by_sums(fp.BetaCalibration(), data, OneFold())), data

    assert fits(40_000)[0] is None
    by_sums, data = fits(120_000)
    assert by_sums is not None
    fitted, value = fp.BetaCalibration().fit(data), loss(data)
    monkeypatch.setattr(axis_fits, "most_cells", lambda *_: 4096)
    by_rows, data = fits(120_000)
    assert by_rows is None
    expected = fp.BetaCalibration().fit(data)
    np.testing.assert_allclose(fitted.parameters_, expected.parameters_, rtol=1e-7, atol=1e-9)
    assert value == pytest.approx(loss(data), rel=1e-9)


def test_infinite_scores_are_mapped_to_the_limit():
    y, x = drawn("plain", 400)
    x[:4], y[:4] = [-np.inf, np.inf, np.inf, -np.inf], [0, 1, 0, 1]
    train = fp.Predictions.from_logits(y, x)
    with pytest.warns(fp.SuspicionWarning, match="2 samples have posterior 0"):
        fitted = fp.BetaCalibration().fit(train)
    assert_optimal(fitted, np.clip(x, fitted.floor_, -fitted.floor_), y, np.ones(y.size))
    ends = fitted.transform(fp.Predictions.from_logits(None, [-np.inf, np.inf])).log_odds
    a, b, c = fitted.parameters_
    assert ends.tolist() == [-np.inf if a else c, np.inf if b else c]
    for parameters, expected in [
        ([0.0, 1.0, 2.0], [2.0, np.inf]),
        ([1.0, 0.0, 3.0], [-np.inf, 3.0]),
    ]:
        one_sided = fitted.with_fitted("posteriors", {"parameters_": np.array(parameters)})
        ends = one_sided.transform(fp.Predictions.from_logits(None, [-np.inf, np.inf])).log_odds
        assert ends.tolist() == expected


def test_scores_that_rank_the_wrong_way_get_one_posterior():
    y, x = drawn("downward", 500)
    with pytest.warns(RuntimeWarning, match="a = b = 0"):
        fitted = fp.BetaCalibration().fit(fp.Predictions.from_logits(y, x))
    expected = [0.0, 0.0, np.log(y.mean() / (1.0 - y.mean()))]
    np.testing.assert_allclose(fitted.parameters_, expected, rtol=1e-9)
    same = fitted.transform(fp.Predictions.from_logits(None, [-3.0, 0.0, np.inf])).log_odds
    np.testing.assert_allclose(same, expected[2], rtol=1e-9)


@pytest.mark.parametrize("kind", ["posteriors", "llrs"])
@pytest.mark.parametrize("n", [900, 30_000])
def test_parts_are_as_memory(n, kind):
    y, x = drawn("two slopes", n)
    make = fp.Predictions.from_logits if kind == "posteriors" else fp.Predictions.from_llrs
    data = make(y, x)
    parts = cut(data, {})
    in_memory, in_parts = (fp.BetaCalibration().fit(each) for each in (data, parts))
    np.testing.assert_allclose(in_parts.parameters_, in_memory.parameters_, rtol=1e-8)
    crossed = [fp.cross_fit(fp.BetaCalibration(), each, fp.CrossFit(3)) for each in (data, parts)]
    scores = [fp.CrossEntropy()(each) for each in crossed]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)


def test_what_is_refused():
    y, x = drawn("plain", 200)
    with pytest.raises(fp.ArgumentError, match=r"BetaCalibration need.*not raw scores"):
        fp.BetaCalibration().fit(fp.Predictions.from_raw_scores(y, x))
    with pytest.raises(fp.ArgumentError, match="BetaCalibration"):
        fp.BetaCalibration().fit(samples.make(3).predictions)
    with pytest.raises(fp.ArgumentError, match="separate the classes perfectly"):
        fp.BetaCalibration().fit(fp.Predictions.from_logits([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0]))
    with pytest.raises(fp.ArgumentError, match="must differ between samples"):
        fp.BetaCalibration().fit(fp.Predictions.from_logits([0, 1, 0, 1], [1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(fp.ArgumentError, match=r"no targets|class 1|both classes"):
        fp.BetaCalibration().fit(fp.Predictions.from_logits([0, 0, 0], [1.0, 2.0, 3.0]))
