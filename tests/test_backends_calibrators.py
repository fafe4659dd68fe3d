"""Calibrators against the packages that have them, where these are installed."""

import numpy as np
import pytest

import fastpsr as fp


def sample(n, shape, seed=0):
    """Labels and log-odds whose sides differ in slope, tied or not."""
    rng = np.random.default_rng([n, seed])
    y = (rng.random(n) < 0.4).astype(int)
    x = rng.normal(size=n) * 1.5 + 2.0 * y - 1.0
    x *= np.where(x > 0.0, 1.6, 0.7)
    return y, np.round(x, 1) if shape == "tied" else x


@pytest.mark.parametrize("shape", ["plain", "tied"])
@pytest.mark.parametrize("n", [300, 5_000])
def test_beta_calibration_of_betacal(n, shape):
    betacal = pytest.importorskip("betacal")
    y, x = sample(n, shape)
    q = 1.0 / (1.0 + np.exp(-x))
    theirs = betacal.BetaCalibration("abm").fit(q, y).predict(q)
    data = fp.Predictions.from_posteriors(y, q)
    ours = fp.BetaCalibration().fit(data).transform(data).positive_posteriors
    np.testing.assert_allclose(ours, theirs, atol=1e-3)  # theirs stops early


@pytest.mark.parametrize("shape", ["plain", "tied"])
@pytest.mark.parametrize("n", [30, 1_000])
def test_inductive_venn_abers_of_venn_abers(n, shape):
    venn_abers = pytest.importorskip("venn_abers")
    y, x = sample(n, shape)
    q = 1.0 / (1.0 + np.exp(-x))
    at = np.concatenate([q, np.linspace(0.001, 0.999, 101)])
    theirs = venn_abers.VennAbers()
    theirs.fit(np.column_stack([1.0 - q, q]), y, precision=None)
    merged, ends = theirs.predict_proba(np.column_stack([1.0 - at, at]))
    fitted = fp.VennAbers().fit(fp.Predictions.from_posteriors(y, q))
    data = fp.Predictions.from_posteriors(None, at)
    interval = fitted.interval(data)
    np.testing.assert_allclose(interval.low, ends[:, 0], atol=1e-12)
    np.testing.assert_allclose(interval.high, ends[:, 1], atol=1e-12)
    np.testing.assert_allclose(fitted.transform(data).positive_posteriors, merged[:, 1], atol=1e-12)


@pytest.mark.parametrize("K", [3, 10])
@pytest.mark.parametrize(
    ("name", "calibrator"),
    [("SVSCalibrator", fp.VectorScaling()), ("SMSCalibrator", fp.MatrixScaling())],
)
def test_structured_scaling_of_probmetrics(name, calibrator, K):
    pytest.importorskip("torch")
    calibrators = pytest.importorskip("probmetrics.calibrators")
    rng = np.random.default_rng(K)
    y = rng.permutation(np.arange(2_000) % K)
    z = (rng.normal(size=(y.size, K)) + 1.5 * np.eye(K)[y]) * rng.uniform(0.5, 2.0, K)
    data = fp.Predictions.from_logits(y, z)
    theirs = getattr(calibrators, name)()
    theirs.fit(data.posteriors, y)
    ours = calibrator.fit(data).transform(data)
    np.testing.assert_allclose(ours.posteriors, theirs.predict_proba(data.posteriors), atol=5e-3)
