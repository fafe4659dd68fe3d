"""ELUB bounds against a grid of thresholds."""

import numpy as np
import pytest

import fastpsr as fp
from tests.refusal import refuses


def on_a_grid(y, llrs, weights, step=1e-4):
    """Bounds by the definition, at thresholds of a grid: (low, high)."""
    added = [weights[y == k].mean() for k in (0, 1)]
    shares = {}
    for k, beyond in ((0, np.inf), (1, -np.inf)):
        scores, mass = np.r_[llrs[y == k], beyond], np.r_[weights[y == k], added[k]]
        order = np.argsort(scores)
        shares[k] = scores[order], np.r_[0.0, np.cumsum(mass[order])] / mass.sum()

    def first_worse(thresholds):
        up_to = [shares[k][1][np.searchsorted(shares[k][0], thresholds, "right")] for k in (0, 1)]
        odds = np.exp(thresholds)
        risk, naive = up_to[1] + odds * (1.0 - up_to[0]), np.minimum(1.0, odds)
        return thresholds[np.flatnonzero(risk > naive * (1.0 + 1e-13))[0]]

    widest = np.arange(0.0, np.log(y.size) + 1.0, step)
    return first_worse(-widest), first_worse(widest)


def draw(n, seed, shift=1.5):
    rng = np.random.default_rng([n, seed])
    y = (rng.random(n) < 0.4).astype(int)
    y[:2] = [0, 1]
    return y, rng.normal(size=n) + shift * (y - 0.5) * 2.0


@pytest.mark.parametrize("shape", ["plain", "tied", "infinite", "weighted", "useless"])
@pytest.mark.parametrize("n", [4, 300])
def test_the_definition(n, shape):
    for seed in range(4):
        y, x = draw(n, seed, -0.5 if shape == "useless" else 1.5)
        weights = np.ones(n)
        if shape == "tied":
            x = np.round(x)
        if shape == "infinite":
            x[:4] = [-np.inf, np.inf, np.inf, -np.inf]
        if shape == "weighted":
            weights = np.random.default_rng(seed).exponential(size=n)
        bounds = fp.elub(
            fp.Predictions.from_llrs(y, x, sample_weight=weights if shape == "weighted" else None)
        )
        low, high = on_a_grid(y, x, weights)
        assert bounds.low - 1e-4 - 1e-9 <= low <= bounds.low + 1e-9
        assert bounds.high - 1e-9 <= high <= bounds.high + 1e-4 + 1e-9
        assert -np.log((y == 1).sum() + 1) - 1e-12 <= bounds.low <= 0.0
        assert 0.0 <= bounds.high <= np.log((y == 0).sum() + 1) + 1e-12


@pytest.mark.parametrize("shift", [-0.5, 0.0, 1.5])
def test_bounds_change_sides_with_the_classes(shift):
    """Also where scores are tied at a threshold, even at 0."""
    for seed in range(20):
        y, x = draw(12, seed, shift)
        bounds = fp.elub(fp.Predictions.from_llrs(y, np.round(x)))
        mirrored = fp.elub(fp.Predictions.from_llrs(1 - y, -np.round(x)))
        assert (bounds.low, bounds.high) == pytest.approx(
            (-mirrored.high, -mirrored.low), abs=1e-12
        )


def test_posteriors_are_bounded_as_their_llrs():
    y, x = draw(200, 0)
    odds = np.log(0.2 / 0.8)
    llrs = fp.elub(fp.Predictions.from_llrs(y, x))
    posteriors = fp.elub(fp.Predictions.from_logits(y, x + odds, priors=[0.8, 0.2]))
    assert (posteriors.low, posteriors.high) == pytest.approx((llrs.low, llrs.high), rel=1e-12)


def test_clipping_leaves_the_argument_as_it_is():
    x = np.array([-30.0, 0.1, 30.0])
    bounds = fp.elub(fp.Predictions.from_llrs(*draw(200, 0)))
    assert bounds.clip(x).tolist() == [bounds.low, 0.1, bounds.high]
    assert x.tolist() == [-30.0, 0.1, 30.0]
    with refuses("llrs"):
        bounds.clip([0.0, np.nan])
