"""PAV with a sample of each class at either infinity, against PAV of data that contain these."""

import numpy as np
import pytest

import fastpsr as fp
from tests.refusal import refuses


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


def from_logits_at_priors(y, x, sample_weight):
    return fp.Predictions.from_logits(y, x, priors=[0.3, 0.7], sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("make", "n", "weights", "infinite"),
    [
        (fp.Predictions.from_logits, 40, "thirds", False),
        (from_logits_at_priors, 300, "zeros", False),
        (from_logits_at_priors, 40, "none", True),
        (fp.Predictions.from_llrs, 5_000, "none", False),
        (fp.Predictions.from_llrs, 300, "thirds", True),
        (fp.Predictions.from_raw_scores, 40, "zeros", True),
        (fp.Predictions.from_raw_scores, 5_000, "thirds", False),
    ],
)
def test_the_definition(make, n, weights, infinite):
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=n) + 1.3 * y
    y[:4], x[:4] = [0, 1, 0, 1], [np.inf, -np.inf, -np.inf, np.inf] if infinite else x[:4]
    w = {
        "none": None,
        "thirds": rng.integers(1, 9, n) / 3.0,
        "zeros": rng.integers(0, 3, n) / 7.0,
    }[weights]
    data = make(y, x, sample_weight=w)
    fitted, expected = fp.PAV(laplace=True).fit(data), with_four_more(data, data.given_priors)
    of_scores = [
        pav.log_odds_[np.searchsorted(pav.threshold_, data.scores, "right") - 1]
        for pav in (fitted, expected)
    ]
    np.testing.assert_allclose(*of_scores, rtol=1e-11, atol=1e-12)
    assert fitted.posterior_ == pytest.approx(1 / (1 + np.exp(-fitted.log_odds_)), rel=1e-13)
    assert fitted.prior_log_odds_ == fp.PAV().fit(data).prior_log_odds_
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


def test_laplace_must_be_true_or_false():
    with refuses("laplace"):
        fp.PAV(laplace="yes")
