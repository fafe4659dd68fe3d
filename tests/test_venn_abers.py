"""Venn-Abers calibration against isotonic fits with each sample added, one after another."""

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels
from tests import samples
from tests.test_calibration_in_parts import cut


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
    return [isotonic(np.append(scores, at), np.append(y, label), np.append(weights, 1.0), at)
            for label in (0, 1)]  # fmt: skip


def drawn(n, shape, seed=0):
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


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shape", ["plain", "tied", "infinite", "separable", "constant"])
@pytest.mark.parametrize("n", [2, 3, 9, 30])
@pytest.mark.parametrize("kind", MAKERS)
def test_the_definition(kind, n, shape):
    for seed in range(4):
        y, x = drawn(max(n, 4) if shape == "infinite" else n, shape, seed)
        fitted = fp.VennAbers().fit(MAKERS[kind](y, x))
        at = np.concatenate([x, x[np.isfinite(x)] - 0.3, [-50.0, 50.0, -np.inf, np.inf]])
        p0, p1 = np.transpose([both_ends(x, y, np.ones(y.size), each) for each in at])
        asked = MAKERS[kind](None, at)
        expected = np.log(p1) - np.log(1.0 - p0)
        odds = np.log(y.mean() / (1.0 - y.mean()))
        calibrated = fitted.transform(asked)
        scores = calibrated.log_odds if kind == "posteriors" else calibrated.llrs + odds
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
        if kind == "posteriors":
            interval = fitted.interval(asked)
            np.testing.assert_allclose(interval.low, p0, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(interval.high, p1, rtol=1e-12)


@pytest.mark.parametrize("shape", ["plain", "tied", "infinite"])
@pytest.mark.parametrize("n", [8, 900, 20_000])
def test_pav_is_between(n, shape):
    y, x = drawn(n, shape)
    data = fp.Predictions.from_logits(y, x)
    interval = fp.VennAbers().fit(data).interval(data)
    between = fp.PAV().fit(data).transform(data).positive_posteriors
    assert (interval.low <= between + 1e-15).all()
    assert (between <= interval.high + 1e-15).all()
    posterior = fp.VennAbers().fit(data).transform(data).positive_posteriors
    assert (interval.low <= posterior).all()
    assert (posterior <= interval.high).all()


def test_the_kernel_against_the_definition_with_weights():
    rng = np.random.default_rng(3)
    for _ in range(200):
        m = int(rng.integers(1, 9))
        below, above = rng.integers(0, 3, (2, m)).astype(float)
        cells = np.repeat(np.arange(m), 2)
        y = np.tile([0, 1], m)
        weights = np.stack([below, above], axis=1).ravel()
        p0, p1 = np.transpose([both_ends(cells, y, weights, at) for at in range(m)])
        upper, lower = kernels.isotonic_with_one_more(below, above)
        np.testing.assert_allclose(upper, p1, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(lower, 1.0 - p0, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kind", ["posteriors", "llrs"])
def test_given_priors_shift_the_log_odds(kind):
    y, x = drawn(300, "plain")
    plain = fp.VennAbers().fit(fp.Predictions.from_logits(y, x))
    log_odds = plain.transform(fp.Predictions.from_logits(None, x)).log_odds
    llrs = log_odds - np.log(y.mean() / (1.0 - y.mean()))
    shifted = llrs + np.log(0.2 / 0.8)
    if kind == "posteriors":
        data = fp.Predictions.from_logits(y, x, priors=[0.8, 0.2])
        scores = fp.VennAbers().fit(data).transform(data).log_odds
    else:
        data = fp.Predictions.from_llrs(y, x, prior=0.2)
        fitted = fp.VennAbers().fit(data)
        scores = fitted.transform(data).log_odds
        interval = fitted.interval(data)
        posterior = fitted.transform(data).positive_posteriors
        assert (interval.low <= posterior).all()
        assert (posterior <= interval.high).all()
    np.testing.assert_allclose(scores, shifted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("shape", ["plain", "tied"])
def test_parts_are_as_memory(kind, shape):
    y, x = drawn(9_000, shape)
    data = MAKERS[kind](y, x)
    parts = cut(data, {})
    in_memory, in_parts = (fp.VennAbers().fit(each) for each in (data, parts))
    for name in fp.VennAbers.fitted_names:
        np.testing.assert_array_equal(getattr(in_memory, name), getattr(in_parts, name))
    losses = [fp.CalibrationLoss(fp.rules.Log(), fp.VennAbers(), train=fp.CrossFit(3))
              for _ in range(2)]  # fmt: skip
    if kind != "raw scores":
        values = [loss(each) for loss, each in zip(losses, (data, parts), strict=True)]
        assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_a_sample_that_is_drawn_twice_counts_as_two():
    y, x = drawn(40, "plain")
    counts = np.random.default_rng(0).integers(0, 3, y.size)
    times = counts.astype(float)
    drawn_data = fp.Predictions.from_logits(y, x).reweighted(times, times)
    repeated = fp.Predictions.from_logits(np.repeat(y, counts), np.repeat(x, counts))
    fits = [fp.VennAbers().fit(each) for each in (drawn_data, repeated)]
    scores = [fitted.transform(fp.Predictions.from_logits(None, x)).log_odds for fitted in fits]
    np.testing.assert_allclose(*scores, rtol=1e-12)


def test_intervals_of_raw_scores_need_no_labels():
    y, x = drawn(60, "plain")
    fitted = fp.VennAbers().fit(fp.Predictions.from_raw_scores(y, x))
    of_posteriors = fp.VennAbers().fit(fp.Predictions.from_logits(y, x))
    found = fitted.interval(fp.Predictions.from_raw_scores(None, [-1.0, 0.5]))
    expected = of_posteriors.interval(fp.Predictions.from_logits(None, [-1.0, 0.5]))
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-12)
    np.testing.assert_allclose(found.high, expected.high, rtol=1e-12)


def test_weights_of_0_and_1_select_samples():
    y, x = drawn(60, "plain")
    keep = np.random.default_rng(0).random(y.size) < 0.7
    some = fp.Predictions.from_logits(y, x, sample_weight=keep.astype(float))
    fits = [fp.VennAbers().fit(each)
            for each in (some, fp.Predictions.from_logits(y[keep], x[keep]))]  # fmt: skip
    scores = [fitted.transform(fp.Predictions.from_logits(None, x)).log_odds for fitted in fits]
    np.testing.assert_array_equal(*scores)
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.VennAbers(), train=fp.CrossFit(2))
    assert np.isfinite(fp.bootstrap(loss, some, n_resamples=40, seed=0).replicates).all()


def test_what_is_refused():
    y, x = drawn(60, "plain")
    weights = np.ones(60)
    weights[7] = 0.5
    data = fp.Predictions.from_logits(y, x, sample_weight=weights)
    with pytest.raises(fp.ArgumentError, match=r"VennAbers.*but sample_weight\[7\] is 0.5"):
        fp.VennAbers().fit(data)
    with pytest.raises(fp.ArgumentError, match=r"VennAbers.*but sample_weight\[\d+\] is 0.5"):
        fp.VennAbers().fit(cut(data, {}))
    loss = fp.CalibrationLoss(fp.rules.Log(), fp.VennAbers())
    with pytest.raises(ValueError, match=r"sample_weight.*VennAbers"):
        fp.bootstrap(loss, data, n_resamples=40, seed=0)
    with pytest.raises(fp.ArgumentError, match="VennAbers"):
        fp.VennAbers().fit(samples.make(3).predictions)
    with pytest.raises(fp.ArgumentError, match="class 1"):
        fp.VennAbers().fit(fp.Predictions.from_logits([0, 0], [1.0, 2.0]))
