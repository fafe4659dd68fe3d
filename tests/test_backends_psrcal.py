"""Scores and affine calibration against psrcal."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
losses = pytest.importorskip("psrcal.losses")
calibration = pytest.importorskip("psrcal.calibration")

import fastpsr as fp

SINGLE = 1e-6  # their priors are float32


def samples(n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 600)
    y[:n_classes] = np.arange(n_classes)
    z = 2.0 * rng.normal(size=(y.size, n_classes))
    z[np.arange(y.size), y] += 1.5
    return y, z


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("with_priors", [False, True])
def test_expected_scores(n_classes, with_priors):
    y, z = samples(n_classes)
    priors = np.random.default_rng(1).dirichlet(np.ones(n_classes)) if with_priors else None
    data = fp.Predictions.from_logits(y, z, priors=priors)
    log_posteriors, labels = torch.tensor(data.log_posteriors), torch.tensor(y)
    options = {} if priors is None else {"priors": torch.tensor(priors)}
    for theirs, ours in ((losses.LogLoss, fp.CrossEntropy), (losses.Brier, fp.BrierScore)):
        for normalized in (True, False):
            expected = theirs(log_posteriors, labels, norm=normalized, **options).item()
            assert ours(normalized=normalized)(data) == pytest.approx(expected, rel=SINGLE)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_risks_and_calibration_errors(n_classes):
    y, z = samples(n_classes)
    data = fp.Predictions.from_logits(y, z)
    log_posteriors, labels = torch.tensor(data.log_posteriors), torch.tensor(y)
    costs = fp.CostMatrix.zero_one(n_classes)
    expected = losses.CostFunction(log_posteriors, labels).item()
    assert fp.BayesRisk(costs)(data) == pytest.approx(expected, rel=SINGLE)
    for bins in (10, 15):
        expected = losses.ECE(log_posteriors, labels, M=bins).item()
        assert 100.0 * fp.ECE(bins, "confidence")(data) == pytest.approx(expected, rel=1e-10)
        if n_classes == 2:
            expected = losses.ECEbin(log_posteriors, labels, M=bins).item()
            assert 100.0 * fp.ECE(bins)(data) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_linear_calibration_at_a_prior(prior):
    rng = np.random.default_rng(0)
    y = (rng.random(3_000) < 0.2).astype(int)
    llrs = rng.normal(3.0 * y - 1.0, 1.5)
    both, labels = torch.tensor(np.stack([np.zeros(y.size), llrs], axis=1)), torch.tensor(y)
    priors = torch.tensor([1.0 - prior, prior], dtype=torch.float64)
    calibrated, _ = calibration.calibrate(
        both, labels, both, calibration.AffineCalLogLoss, priors=priors
    )
    expected = losses.LogLoss(calibrated, labels, priors=priors).item()
    data = fp.Predictions.from_llrs(y, llrs)
    ours = fp.Cllr(prior)(fp.DirectionPreserving(prior=prior).fit(data).transform(data))
    assert ours <= expected * (1.0 + SINGLE)
    assert ours == pytest.approx(expected, rel=1e-5)
