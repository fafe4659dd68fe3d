"""Venn-Abers calibration against isotonic fits with each sample added, one after another."""

import numpy as np
import pytest

import fastpsr as fp


def isotonic(scores, y, weights, at):
    """The isotonic posterior at a score, by the max-min formula."""
    lower, upper = np.unique(scores[scores <= at]), np.unique(scores[scores >= at])
    best = -np.inf
    for low in lower:
        means = []
        for high in upper:
            inside = (scores >= low) & (scores <= high)
            if weights[inside].sum() > 0.0:
                means.append(weights[inside] @ y[inside] / weights[inside].sum())
        best = max(best, min(means))
    return best


def both_ends(scores, y, weights, at):
    """p0 and p1 of a score."""
    return [
        isotonic(np.append(scores, at), np.append(y, label), np.append(weights, 1.0), at)
        for label in (0, 1)
    ]


def draw(n, shape, seed=0):
    rng = np.random.default_rng([n, seed])
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = [0, 1]
    x = rng.normal(size=n) + 1.5 * y
    if shape == "tied":
        x = np.round(x)
    if shape == "infinite":
        x[:4] = [np.inf, -np.inf, -np.inf, np.inf]
    if shape == "separable":
        x += 10.0 * y
    if shape == "constant":
        x[:] = 1.0
    return y, x


MAKERS = {
    "posteriors": fp.Predictions.from_logits,
    "llrs": fp.Predictions.from_llrs,
    "raw scores": fp.Predictions.from_raw_scores,
}


@pytest.mark.parametrize(
    ("kind", "n", "shape"),
    [
        ("posteriors", 3, "plain"),
        ("posteriors", 9, "infinite"),
        ("posteriors", 16, "tied"),
        ("llrs", 16, "infinite"),
        ("llrs", 9, "constant"),
        ("raw scores", 9, "tied"),
        ("raw scores", 9, "separable"),
    ],
)
def test_the_definition(kind, n, shape):
    for seed in range(2):
        y, x = draw(n, shape, seed)
        fitted = fp.VennAbers().fit(MAKERS[kind](y, x))
        at = np.concatenate([x, x[np.isfinite(x)] - 0.3, [-50.0, 50.0, -np.inf, np.inf]])
        p0, p1 = np.transpose([both_ends(x, y, np.ones(y.size), score) for score in at])
        new = MAKERS[kind](None, at)
        expected = np.log(p1) - np.log(1.0 - p0)
        odds = np.log(y.mean() / (1.0 - y.mean()))
        calibrated = fitted.transform(new)
        scores = calibrated.log_odds if kind == "posteriors" else calibrated.llrs + odds
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
        if kind != "llrs":  # whose intervals are at the prior of the new data
            interval = fitted.interval(new)
            np.testing.assert_allclose(interval.low, p0, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(interval.high, p1, rtol=1e-12)


@pytest.mark.parametrize("kind", ["posteriors", "llrs"])
def test_given_priors_shift_the_log_odds(kind):
    y, x = draw(300, "plain")
    plain = fp.VennAbers().fit(fp.Predictions.from_logits(y, x))
    log_odds = plain.transform(fp.Predictions.from_logits(None, x)).log_odds
    shifted = log_odds - np.log(y.mean() / (1.0 - y.mean())) + np.log(0.2 / 0.8)
    if kind == "posteriors":
        data = fp.Predictions.from_logits(y, x, priors=[0.8, 0.2])
    else:
        data = fp.Predictions.from_llrs(y, x, prior=0.2)
    fitted = fp.VennAbers().fit(data)
    calibrated, interval = fitted.transform(data), fitted.interval(data)
    np.testing.assert_allclose(calibrated.log_odds, shifted, rtol=1e-12, atol=1e-12)
    assert (interval.low <= calibrated.positive_posteriors).all()
    assert (calibrated.positive_posteriors <= interval.high).all()
