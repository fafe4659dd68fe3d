"""Spline calibration against scipy on a naive basis, its choice of a penalty, and its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

import fastpsr as fp
from fastpsr.calibration import spline
from fastpsr.plans import Part
from tests import samples
from tests.test_beta_calibration import drawn
from tests.test_calibration_in_parts import cut

PENALTIES = [1e4, 100.0, 1.0, 1e-2]


def integral_of_hat(knots, k, x):
    """Integral from the middle of 20 knots to x of the hat of a distinct knot, by steps."""
    start = knots[min(10, knots.size - 1)]
    low, high = min(start, x), max(start, x)
    grid = np.concatenate([[low], knots[(knots > low) & (knots < high)], [high]])
    heights = np.interp(grid, knots, np.eye(knots.size)[k])
    return np.sign(x - start) * float((0.5 * (heights[1:] + heights[:-1]) * np.diff(grid)).sum())


def basis(knots, x):
    """What slopes at the knots and a height are multiplied with, at each score."""
    rows = [[integral_of_hat(knots, k, value) for value in x] for k in range(knots.size)]
    return np.vstack([rows, np.ones(x.size)])


def objective(rows, knots, y, mass, strength, offset=0.0):
    """Mean loss plus the penalty as a function of slopes and height, with its gradient."""
    signs, shares = np.where(y == 1, -1.0, 1.0), mass / mass.sum()

    def at(parameters):
        # not by BLAS, whose threads take longer than this
        margin = signs * (np.einsum("k,ki", parameters, rows) + offset)
        slopes = shares * signs / (1.0 + np.exp(-margin))
        bend = np.diff(parameters[:-1]) / np.diff(knots)
        rough = strength * float((bend**2 * np.diff(knots)).sum())
        gradient = np.einsum("ki,i", rows, slopes)
        gradient[:-2] -= 2.0 * strength * bend
        gradient[1:-1] += 2.0 * strength * bend
        return float(shares @ np.logaddexp(0.0, margin)) + rough, gradient

    return at


def minimum(at, n_knots):
    start = np.r_[np.ones(n_knots), 0.0]
    bounds = [(0.0, None)] * n_knots + [(None, None)]
    options = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 20_000, "maxfun": 40_000}
    return minimize(at, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def parts_of(parameters):
    """Return the distinct knots, the slopes at them, the height and the penalty."""
    knots, first = np.unique(parameters[:20], return_index=True)
    return knots, parameters[20:40][first], parameters[40], parameters[41]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize(("weighted", "prior"), [(False, None), (True, None), (True, 0.1)])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("shape", ["plain", "tied", "one side", "two slopes"])
def test_the_optimum(monkeypatch, shape, penalty, weighted, prior):
    monkeypatch.setattr(spline, "_PENALTIES", (np.inf, penalty))
    monkeypatch.setattr(spline, "_held_out_loss", lambda sums, path, pairs: -path.parameters()[-1])
    y, x = drawn(shape, 300)
    mass = np.random.default_rng(1).exponential(size=x.size) if weighted else np.ones(x.size)
    data = fp.Predictions.from_logits(y, x, sample_weight=mass if weighted else None)
    fitted = fp.Spline(prior=prior).fit(data)
    knots, slopes, height, chosen = parts_of(fitted.parameters_)
    assert chosen == penalty
    offset = 0.0
    if prior is not None:
        totals = np.bincount(y, mass)
        mass = mass * np.where(y == 1, prior / totals[1], (1.0 - prior) / totals[0])
        offset = np.log(prior / (1.0 - prior) * totals[0] / totals[1])
    rows = basis(knots, x)
    at = objective(rows, knots, y, mass, penalty / x.size, offset)
    point = np.r_[slopes, height]
    value, gradient = at(point)
    held = np.r_[slopes == 0.0, False]
    unit = np.maximum(1.0, np.abs(rows).max(axis=1))
    assert np.abs(gradient / unit)[~held].max() < 1e-9
    assert (gradient[held] >= 0.0).all()
    if penalty == 1.0:  # of a convex objective, such a point is the minimum
        assert value <= minimum(at, knots.size).fun + 1e-12
    np.testing.assert_allclose(fitted.transform(data).log_odds, point @ rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [600, 40_000])
def test_an_infinite_penalty_is_direction_preserving_calibration(monkeypatch, n):
    monkeypatch.setattr(spline, "_PENALTIES", (np.inf,))
    y, x = drawn("two slopes", n)
    for data in (fp.Predictions.from_logits(y, x), fp.Predictions.from_llrs(y, x, prior=0.2)):
        made = [calibrator.fit(data).transform(data).scores
                for calibrator in (fp.Spline(), fp.DirectionPreserving())]  # fmt: skip
        np.testing.assert_allclose(*made, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_inner_folds_choose_the_penalty(seed):
    y, x = drawn("two slopes", 240, seed)
    data = fp.Predictions.from_logits(y, x)
    fold = fp.CrossFit(5).folds_of(data).fold_of_rows(Part.whole(data))
    knots, _, _, chosen = parts_of(fp.Spline().fit(data).parameters_)
    rows = basis(knots, x)

    def loss_of(penalty):
        loss = 0.0
        for held_out in range(5):
            train, test = fold != held_out, fold == held_out
            at = objective(rows[:, train], knots, y[train], np.ones(train.sum()), penalty / x.size)
            end = minimum(at, knots.size).x
            margin = np.where(y[test] == 1, -1.0, 1.0) * (end @ rows[:, test])
            loss += np.logaddexp(0.0, margin).sum()
        return loss

    lines = fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds=fold))
    best, least, n_worse = -1.0, fp.CrossEntropy(False)(lines) * x.size, 0
    for penalty in 10.0 ** np.arange(4.0, -5.0, -1.0):
        loss = loss_of(penalty)
        best, least, n_worse = (penalty, loss, 0) if loss < least else (best, least, n_worse + 1)
        if n_worse == 2:
            break
    assert chosen == best


def test_it_follows_a_bend_that_affine_maps_cannot():
    rng = np.random.default_rng(1)
    y = np.arange(20_000) % 2
    llr = np.sinh(rng.normal(2.0 * y - 1.0, 1.0))
    data = fp.Predictions.from_llrs(y, llr)
    others = [fp.PAV(floor=1e-4), fp.DirectionPreserving(), fp.BetaCalibration()]
    of_spline, *of_others = (
        fp.CrossEntropy()(fp.cross_fit(calibrator, data)) for calibrator in (fp.Spline(), *others)
    )
    assert of_spline < min(of_others)
    true = fp.CrossEntropy()(fp.Predictions.from_llrs(y, 2.0 * np.arcsinh(llr)))
    assert of_spline == pytest.approx(true, abs=0.001)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", ["posteriors", "llrs"])
@pytest.mark.parametrize("n", [900, 30_000])
def test_parts_are_as_memory(n, kind):
    y, x = drawn("two slopes", n)
    make = fp.Predictions.from_logits if kind == "posteriors" else fp.Predictions.from_llrs
    data = make(y, x)
    parts = cut(data, {})
    in_memory, in_parts = (fp.Spline().fit(each) for each in (data, parts))
    np.testing.assert_array_equal(in_parts.parameters_[:20], in_memory.parameters_[:20])
    at = make(None, np.linspace(-9.0, 9.0, 50))
    np.testing.assert_allclose(
        in_parts.transform(at).scores, in_memory.transform(at).scores, rtol=1e-7, atol=1e-7
    )
    crossed = [fp.cross_fit(fp.Spline(), each, fp.CrossFit(3)) for each in (data, parts)]
    scores = [fp.CrossEntropy()(each) for each in crossed]
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)


def test_infinite_scores_are_mapped_to_the_limit():
    y, x = drawn("plain", 400)
    x[:4], y[:4] = [-np.inf, np.inf, np.inf, -np.inf], [0, 1, 0, 1]
    data = fp.Predictions.from_logits(y, x)
    with pytest.warns(fp.SuspicionWarning, match="2 samples have posterior 0"):
        fitted = fp.Spline().fit(data)
    ends = fitted.transform(fp.Predictions.from_logits(None, [-np.inf, np.inf])).log_odds
    knots, slopes, _, _ = parts_of(fitted.parameters_)
    inner = fitted.transform(fp.Predictions.from_logits(None, knots[[0, -1]])).log_odds
    assert ends.tolist() == [-np.inf if slopes[0] else inner[0], np.inf if slopes[-1] else inner[1]]
    flat = fitted.parameters_.copy()
    flat[20], flat[39] = 0.0, 0.0
    flat[20:40][fitted.parameters_[:20] == knots[-1]] = 0.0
    limited = fitted.with_fitted("posteriors", {"parameters_": flat})
    ends = limited.transform(fp.Predictions.from_logits(None, [-np.inf, np.inf])).log_odds
    inner = limited.transform(fp.Predictions.from_logits(None, knots[[0, -1]])).log_odds
    np.testing.assert_allclose(ends, inner, rtol=1e-12)
    assert np.isfinite(ends).all()


def test_pairs_of_speakers_stay_apart():
    trials = fp.simulate.trial_list(n_speakers=40, n_targets=300, n_nontargets=1_500, seed=3)
    data = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    train = fp.CrossFit(5, groups=(trials.enroll, trials.test))
    calibrated = fp.cross_fit(fp.Spline(), data, train)
    folds = train.folds_of(data)
    fold_of_row = folds.fold_of_rows(Part.whole(data))
    mine = fold_of_row == np.bincount(fold_of_row).argmax()
    trains_mine = folds.training_mask[fold_of_row[mine][0], fold_of_row]
    others = np.flatnonzero(~trains_mine & ~mine)  # they share a speaker's fold with these
    changed = trials.llr.copy()
    changed[others] = changed[np.random.default_rng(0).permutation(others)]
    again = fp.cross_fit(fp.Spline(), fp.Predictions.from_llrs(trials.y_true, changed), train)
    np.testing.assert_allclose(again.llrs[mine], calibrated.llrs[mine], rtol=1e-8, atol=1e-8)
    rest = trains_mine
    assert (np.abs(again.llrs[rest] - calibrated.llrs[rest]) > 1e-6).any()


def test_two_folds_choose_by_samples():
    y, x = drawn("two slopes", 3_000)
    data = fp.Predictions.from_logits(y, x)
    train = fp.CrossFit(2)
    fold = train.folds_of(data).fold_of_rows(Part.whole(data))
    made = fp.cross_fit(fp.Spline(), data, train).scores
    for held_out in (0, 1):
        alone = fp.Spline().fit(data[fold != held_out]).transform(data[fold == held_out]).scores
        np.testing.assert_allclose(made[fold == held_out], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("train", [fp.CrossFit(4), fp.TrainOnTest()])
def test_replicates_are_fits_to_draws(train):
    y, x = drawn("two slopes", 300)
    metric = fp.CalibrationLoss(fp.rules.Log(), fp.Spline(), train)
    data = fp.Predictions.from_logits(y, x)
    folds = train.folds_of(data)
    options = {"n_resamples": 12, "confidence_level": 0.8, "method": "normal", "seed": 3}
    result = fp.bootstrap(metric, data, **options)
    assert result.n_undefined == 0
    assert result.value == pytest.approx(metric(data), rel=1e-9)
    assert result.interval.low < result.value < result.interval.high or folds.n_calibrators == 1


def test_scores_that_rank_the_wrong_way_get_one_posterior():
    y, x = drawn("downward", 500)
    with pytest.warns(RuntimeWarning, match="all slopes are 0"):
        fitted = fp.Spline().fit(fp.Predictions.from_logits(y, x))
    same = fitted.transform(fp.Predictions.from_logits(None, [-3.0, 0.0, np.inf])).log_odds
    np.testing.assert_allclose(same, np.log(y.mean() / (1.0 - y.mean())), rtol=1e-9)


def test_scores_whose_range_is_no_float_are_refused():
    y, x = np.arange(60) % 2, np.random.default_rng(0).normal(size=60)
    x[:4] = [1.7e308, -1.7e308, -1.7e308, 1.7e308]
    with pytest.raises(fp.ArgumentError, match="must be of a magnitude whose squares are finite"):
        fp.Spline().fit(fp.Predictions.from_llrs(y, x))


def test_what_is_refused():
    y, x = drawn("plain", 200)
    with pytest.raises(fp.ArgumentError, match=r"Spline need.*not raw scores"):
        fp.Spline().fit(fp.Predictions.from_raw_scores(y, x))
    with pytest.raises(fp.ArgumentError, match="Spline"):
        fp.Spline().fit(samples.make(3).predictions)
    with pytest.raises(fp.ArgumentError, match="separate the classes perfectly"):
        fp.Spline().fit(fp.Predictions.from_logits([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0]))
    with pytest.raises(fp.ArgumentError, match="must differ between samples"):
        fp.Spline().fit(fp.Predictions.from_logits([0, 1, 0, 1], [1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(fp.ArgumentError, match="class 1"):
        fp.Spline().fit(fp.Predictions.from_logits([0, 0, 0], [1.0, 2.0, 3.0]))
