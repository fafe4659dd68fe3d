"""PAV with a sample of each class at either infinity, against PAV of data that contain these."""

import numpy as np
import pytest

import fastpsr as fp
from tests.test_calibration_in_parts import KINDS, SCORES, cut, make

BINARY = [kind for kind in KINDS if kind[0] != "3"]


def with_four_more(data, priors):
    """The blocks of PAV, at the priors, of posteriors and weights that contain the four."""
    mass = data.weights if data.weights.size else np.ones(len(data))
    means = [mass[(data.y_true == k) & (mass > 0.0)].mean() for k in (0, 1)]
    y = np.concatenate([data.y_true, [0, 1, 0, 1]])
    scores = np.concatenate([data.scores, [-np.inf, -np.inf, np.inf, np.inf]])
    mass = np.concatenate([mass, means, means])
    if priors is not None:
        totals = data.class_weights
        mass = mass * (priors / totals * totals.sum())[y]
    return fp.PAV().fit(fp.Predictions.from_raw_scores(y, scores, sample_weight=mass))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("weights", ["none", "thirds", "zeros"])
@pytest.mark.parametrize("n", [40, 300, 5_000])
@pytest.mark.parametrize("kind", BINARY)
def test_the_definition(kind, n, weights, scores):
    data, columns = make(kind, n, weights, scores)
    expected = with_four_more(data, data.given_priors)
    for each in (data, cut(data, columns)):
        fitted = fp.PAV(laplace=True).fit(each)
        of_scores = [each.log_odds_[np.searchsorted(each.threshold_, data.scores, "right") - 1]
                     for each in (fitted, expected)]  # fmt: skip
        np.testing.assert_allclose(*of_scores, rtol=1e-11, atol=1e-12)
        assert fitted.posterior_ == pytest.approx(1 / (1 + np.exp(-fitted.log_odds_)), rel=1e-13)
        assert fitted.prior_log_odds_ == fp.PAV().fit(each).prior_log_odds_
        assert np.isfinite(fitted.transform(data).scores).all()


@pytest.mark.parametrize("n", [4, 50])
def test_separable_data_have_finite_llrs(n):
    y = np.arange(n) % 2
    data = fp.Predictions.from_raw_scores(y, 1.0 * y)
    fitted = fp.PAV(laplace=True).fit(data)
    extreme = np.log((n // 2 + 1) / 1.0)
    llrs = fitted.transform(fp.Predictions.from_raw_scores(None, [-np.inf, 0.0, 1.0, np.inf])).llrs
    np.testing.assert_allclose(llrs, [-extreme, -extreme, extreme, extreme])


def test_ties_at_infinity_are_pooled_with_what_is_added():
    y, x = [0, 1, 0, 1, 1], [-np.inf, -np.inf, 0.0, 1.0, np.inf]
    fitted = fp.PAV(laplace=True).fit(fp.Predictions.from_raw_scores(y, x))
    assert fitted.threshold_.tolist() == [-np.inf, 1.0]
    np.testing.assert_allclose(fitted.posterior_, [2 / 5, 3 / 4])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("weights", ["none", "thirds"])
@pytest.mark.parametrize("scores", SCORES)
def test_replicates_of_data_in_parts_are_those_in_memory(weights, scores):
    data, columns = make("llrs", 300, weights, scores)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.PAV(laplace=True), train=fp.TrainOnTest())
    results = [fp.bootstrap(loss, each, n_resamples=40, seed=3, method="percentile")
               for each in (data, fp.from_parts([(data, columns)]))]  # fmt: skip
    np.testing.assert_allclose(results[0].replicates, results[1].replicates, rtol=1e-10)


def test_laplace_must_be_true_or_false():
    with pytest.raises(fp.ArgumentError, match="laplace must be True or False"):
        fp.PAV(laplace="yes")
