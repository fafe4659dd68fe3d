"""Spline calibration against scipy on a naive basis, its choice of a penalty, and its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import fastpsr as fp
from tests.dealt_folds import fold_numbers, folds_of
from tests.refusal import refuses
from tests.test_beta_calibration import draw

INFINITE_PENALTY = -1.0  # as it is kept with what was fitted


def basis(knots, start, x):
    """What slopes at the knots and the height at `start` are multiplied with, at each score.

    A slope multiplies the integral from `start` of the hat function of its knot, which is constant
    beyond the first and the last knot.
    """

    def integral_from_the_first_knot(x):
        hats, widths = np.eye(knots.size), np.diff(knots)[:, None]
        areas = np.cumsum(0.5 * (hats[1:] + hats[:-1]) * widths, axis=0)
        areas = np.vstack([np.zeros(knots.size), areas])
        changes = np.vstack([np.diff(hats, axis=0) / widths, np.zeros(knots.size)])
        place = np.searchsorted(knots, x, "right") - 1
        changes = np.where(place[:, None] < 0, 0.0, changes[place])
        place = np.maximum(place, 0)
        beyond = (x - knots[place])[:, None]
        return areas[place] + hats[place] * beyond + 0.5 * changes * beyond**2

    rows = integral_from_the_first_knot(x) - integral_from_the_first_knot(np.array([start]))
    return np.vstack([rows.T, np.ones(x.size)])


def objective(rows, knots, y, mass, strength, offset=0.0):
    """Mean loss plus the penalty as a function of slopes and height, with its gradient."""
    signs, shares = np.where(y == 1, -1.0, 1.0), mass / mass.sum()

    def at(parameters):
        # not by BLAS, whose threads take longer than this
        margin = signs * (np.einsum("k,ki", parameters, rows) + offset)
        slopes = shares * signs * expit(margin)
        bend = np.diff(parameters[:-1]) / np.diff(knots)
        rough = strength * float((bend**2 * np.diff(knots)).sum())
        gradient = np.einsum("ki,i", rows, slopes)
        gradient[:-2] -= 2.0 * strength * bend
        gradient[1:-1] += 2.0 * strength * bend
        return float(shares @ np.logaddexp(0.0, margin)) + rough, gradient

    return at


def minimum(at, start, gtol=1e-11):
    bounds = [(0.0, None)] * (start.size - 1) + [(None, None)]
    options = {"ftol": 1e-16, "gtol": gtol, "maxiter": 20_000, "maxfun": 40_000}
    with np.errstate(over="ignore"):  # of steps too long
        return minimize(at, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def parts_of(parameters):
    """Return the distinct knots, the start, the slopes and height as one array, the penalty."""
    knots, first = np.unique(parameters[:20], return_index=True)
    return knots, parameters[10], np.r_[parameters[20:40][first], parameters[40]], parameters[41]


@pytest.mark.parametrize(
    ("shape", "n", "seed", "weighted", "prior", "penalty"),
    [
        ("plain", 300, 2, True, None, 0.1),
        ("tied", 300, 0, False, None, 1.0),
        ("tied", 300, 0, True, None, 10.0),
        ("one side", 300, 2, True, None, 1e-2),
        ("one side", 300, 1, False, None, 1e-4),
        ("two slopes", 300, 3, True, 0.1, 1.0),
        ("two slopes", 1_000, 2, True, None, 1e3),
        ("two slopes", 40_000, 2, False, None, 1.0),
    ],
)
def test_the_optimum_at_the_chosen_penalty(shape, n, seed, weighted, prior, penalty):
    y, x = draw(shape, n, seed)
    mass = np.random.default_rng(1).exponential(size=n) if weighted else np.ones(n)
    data = fp.Predictions.from_logits(y, x, sample_weight=mass if weighted else None)
    fitted = fp.Spline(prior=prior).fit(data)
    knots, start, point, selected = parts_of(fitted.parameters_)
    assert selected == pytest.approx(penalty)
    offset = 0.0
    if prior is not None:
        totals = np.bincount(y, mass)
        mass = mass * np.where(y == 1, prior / totals[1], (1.0 - prior) / totals[0])
        offset = np.log(prior / (1.0 - prior) * totals[0] / totals[1])
    rows = basis(knots, start, x)
    at = objective(rows, knots, y, mass, penalty / n, offset)
    value, gradient = at(point)
    at_bound = np.r_[point[:-1] == 0.0, False]
    unit = np.maximum(1.0, np.abs(rows).max(axis=1))
    assert np.abs(gradient / unit)[~at_bound].max() < 1e-9
    assert (gradient[at_bound] >= 0.0).all()
    if penalty == 1.0 and n == 300:  # of a convex objective, such a point is the minimum
        assert value <= minimum(at, np.ones(point.size)).fun + 1e-12
    np.testing.assert_allclose(fitted.transform(data).log_odds, point @ rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "seed"), [(60, 0), (1_000, 0), (20_000, 2)])
def test_an_infinite_penalty_is_direction_preserving_calibration(n, seed):
    y, x = draw("plain", n, seed)
    for data in (fp.Predictions.from_logits(y, x), fp.Predictions.from_llrs(y, x, prior=0.2)):
        fitted = fp.Spline().fit(data)
        assert fitted.parameters_[41] == INFINITE_PENALTY
        expected = fp.DirectionPreserving().fit(data).transform(data).scores
        np.testing.assert_allclose(fitted.transform(data).scores, expected, rtol=1e-8, atol=1e-8)


def test_inner_folds_choose_the_penalty():
    y, x = draw("two slopes", 300, 1)
    data = fp.Predictions.from_logits(y, x)
    fold = fold_numbers(y, fp.CrossFit(5))
    knots, start, _, selected = parts_of(fp.Spline().fit(data).parameters_)
    rows = basis(knots, start, x)

    def held_out_loss(penalty):
        loss = 0.0
        for held_out in range(5):
            train, test = fold != held_out, fold == held_out
            at = objective(rows[:, train], knots, y[train], np.ones(train.sum()), penalty / x.size)
            end = minimum(at, np.r_[np.ones(knots.size), 0.0], gtol=1e-6).x
            margin = np.where(y[test] == 1, -1.0, 1.0) * (end @ rows[:, test])
            loss += np.logaddexp(0.0, margin).sum()
        return loss

    least = held_out_loss(selected)
    assert least < min(held_out_loss(selected * 10.0), held_out_loss(selected / 10.0))
    lines = fp.cross_fit(fp.DirectionPreserving(), data, fp.CrossFit(folds=fold))
    assert least < fp.CrossEntropy(False)(lines) * x.size


def test_infinite_scores_are_mapped_to_the_limit():
    y, x = draw("plain", 400)
    x[:4], y[:4] = [-np.inf, np.inf, np.inf, -np.inf], [0, 1, 0, 1]
    with pytest.warns(fp.SuspicionWarning, match="2 samples have posterior 0"):
        fitted = fp.Spline().fit(fp.Predictions.from_logits(y, x))
    ends = fp.Predictions.from_logits(None, [-np.inf, np.inf])
    assert (fitted.parameters_[[20, 39]] > 0.0).all()
    assert fitted.transform(ends).log_odds.tolist() == [-np.inf, np.inf]
    rng = np.random.default_rng(0)
    x = rng.uniform(-6.0, 6.0, 400)
    y = (rng.random(400) < 1.0 / (1.0 + np.exp(-2.0 * np.clip(x, -1.0, 1.0)))).astype(int)
    for end, data in enumerate(
        (fp.Predictions.from_logits(y, x), fp.Predictions.from_logits(1 - y, -x))
    ):
        flat = fp.Spline().fit(data)
        knots, _, point, _ = parts_of(flat.parameters_)
        assert (point[[0, -2]] == 0.0).tolist() == [end == 0, end == 1]
        outer = fp.Predictions.from_logits(None, knots[[0, -1]])
        limits = flat.transform(outer).log_odds
        limits[1 - end] = [np.inf, -np.inf][end]
        np.testing.assert_allclose(flat.transform(ends).log_odds, limits, rtol=1e-12)


def test_pairs_of_speakers_stay_apart():
    trials = fp.simulate.trial_list(n_speakers=40, n_targets=200, n_nontargets=600, seed=3)
    y, llr = trials.y_true, trials.llr
    train = fp.CrossFit(4, groups=(trials.enroll, trials.test))
    largest = max(folds_of(y, train), key=lambda fold: fold.served.sum())
    unrelated = np.flatnonzero(~largest.training & ~largest.served)  # they share a speaker's fold
    changed = llr.copy()
    changed[unrelated] = changed[np.random.default_rng(0).permutation(unrelated)]
    before, after = (
        fp.cross_fit(fp.Spline(), fp.Predictions.from_llrs(y, scores), train).llrs
        for scores in (llr, changed)
    )
    served = largest.served
    np.testing.assert_allclose(after[served], before[served], rtol=1e-8, atol=1e-8)
    assert (np.abs(after - before)[largest.training] > 1e-6).any()


def test_scores_whose_range_is_no_float_are_refused():
    y, x = np.arange(60) % 2, np.random.default_rng(0).normal(size=60)
    x[:4] = [1.7e308, -1.7e308, -1.7e308, 1.7e308]
    with refuses("scores"):
        fp.Spline().fit(fp.Predictions.from_llrs(y, x))
