"""Vector and matrix scaling: the gradient of the definition is 0 at what is fitted."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import fastpsr as fp
from tests.refusal import refuses

KINDS = (fp.VectorScaling, fp.MatrixScaling)


def draw(n, K, seed=0, shape="plain"):
    rng = np.random.default_rng([n, K, seed])
    y = rng.permutation(np.arange(n) % K)
    z = (rng.normal(size=(n, K)) + 1.5 * np.eye(K)[y]) * rng.uniform(0.5, 2.0, K)
    if shape == "tied":
        z = np.round(z)
    if shape == "infinite":
        z[np.arange(6), (y[:6] + 1) % K] = -np.inf
    if shape == "nearly separable":
        z += 12.0 * np.eye(K)[y]
        z[:K] = np.roll(np.eye(K), 1, axis=1)[y[:K]]
    return y, z


def smoothed(q, n):
    return np.log((n * q + 1.0 / q.shape[1]) / (n + 1.0))


def objective(x, y, shares, n, strength, is_matrix):
    """The definition: loss plus penalty of D and b, and its gradient."""
    K = x.shape[1]

    def at(flat):
        D = flat[:-K].reshape(K, K) if is_matrix else np.diag(flat[:-K])
        b = flat[-K:]
        log_q = log_softmax(x + x @ D.T + b, axis=1)
        diagonal = np.diag(D)
        off = D - np.diag(diagonal)
        loss = -shares @ log_q[np.arange(y.size), y]
        value = loss + strength * (
            K / n * b @ b + K / n * diagonal @ diagonal + K * (K - 1) / n * (off**2).sum()
        )
        slopes = shares[:, None] * (np.exp(log_q) - np.eye(K)[y])
        of_D = slopes.T @ x + strength * 2 * (K / n * np.diag(diagonal) + K * (K - 1) / n * off)
        of_b = slopes.sum(axis=0) + strength * 2 * K / n * b
        return value, np.concatenate([of_D.ravel() if is_matrix else np.diag(of_D), of_b])

    return at


def parameters(fitted):
    if fitted.weights_.ndim == 1:
        return np.concatenate([fitted.weights_ - 1.0, fitted.bias_])
    return np.concatenate([(fitted.weights_ - np.eye(fitted.bias_.size)).ravel(), fitted.bias_])


def assert_optimal(fitted, q, y, mass):
    """The gradient of the definition, which is convex, is 0; return what the map is applied to."""
    n = y.size
    assert fitted.n_samples_ == n
    x = smoothed(softmax(fitted.scale_ * np.log(q), axis=1), n)
    loss = objective(x, y, mass / mass.sum(), n, fitted.strength, fitted.weights_.ndim == 2)
    _, gradient = loss(parameters(fitted))
    assert np.abs(gradient).max() < 1e-9
    assert abs(fitted.bias_.sum()) < 1e-9
    return x


def mapped(fitted, x):
    """Log-posteriors by the definition of the map."""
    W = fitted.weights_ if fitted.weights_.ndim == 2 else np.diag(fitted.weights_)
    return log_softmax(x @ W.T + fitted.bias_, axis=1)


@pytest.mark.parametrize(
    ("calibrator", "n", "K", "shape", "weighted"),
    [
        (fp.VectorScaling(), 60, 2, "infinite", True),
        (fp.VectorScaling(), 90, 3, "nearly separable", True),
        (fp.VectorScaling(), 3_000, 3, "tied", False),
        (fp.VectorScaling(2.0), 800, 12, "plain", True),
        (fp.MatrixScaling(), 90, 3, "tied", True),
        (fp.MatrixScaling(0.5), 3_000, 3, "infinite", True),
        (fp.MatrixScaling(), 800, 12, "nearly separable", False),
        (fp.VectorScaling(0.0), 300, 3, "nearly separable", False),
        (fp.MatrixScaling(1e-6), 300, 3, "plain", False),
    ],
)
def test_the_optimum(calibrator, n, K, shape, weighted):
    y, z = draw(n, K, shape=shape)
    mass = np.random.default_rng(1).exponential(size=n) if weighted else np.ones(n)
    data = fp.Predictions.from_logits(y, z, sample_weight=mass if weighted else None)
    fitted = calibrator.fit(data)
    temperature = fp.TemperatureScaling().fit(data)
    assert fitted.scale_ == pytest.approx(temperature.scale_, rel=1e-12)
    x = assert_optimal(fitted, np.maximum(softmax(z, axis=1), 1e-300), y, mass)
    calibrated = fitted.transform(data)
    np.testing.assert_allclose(calibrated.log_posteriors, mapped(fitted, x), rtol=1e-10, atol=1e-10)
    assert np.isfinite(fp.CrossEntropy()(calibrated))


@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_are_mapped_at_the_training_prior(kind):
    y, z = draw(1_000, 4)
    keep = (y != 1) | (np.arange(y.size) % 3 == 0)
    y, z = y[keep], z[keep]
    data = fp.Predictions.from_log_likelihoods(y, z)
    prior = np.bincount(y) / y.size
    fitted = kind().fit(data)
    np.testing.assert_allclose(fitted.log_priors_, np.log(prior))
    q = softmax(z + np.log(prior), axis=1)
    x = assert_optimal(fitted, q, y, np.ones(y.size))
    calibrated = fitted.transform(data)
    assert calibrated.kind == "likelihoods"
    np.testing.assert_allclose(calibrated.posteriors, np.exp(mapped(fitted, x)), rtol=1e-9)
    priors = [0.1, 0.2, 0.3, 0.4]
    at_priors = fp.Predictions.from_log_likelihoods(y, z, priors=priors)
    mass = np.array(priors)[y] / np.bincount(y)[y]
    assert_optimal(kind().fit(at_priors), softmax(z + np.log(priors), axis=1), y, mass)


def test_a_class_without_samples_stays_at_the_penalty():
    y, z = draw(600, 4)
    y, z = y[y != 2], z[y != 2]
    data = fp.Predictions.from_logits(y, z)
    for kind in KINDS:
        assert_optimal(kind().fit(data), softmax(z, axis=1), y, np.ones(y.size))
    with refuses("scores"):
        fp.VectorScaling(0.0).fit(data)
    with refuses("scores"):
        fp.MatrixScaling().fit(fp.Predictions.from_log_likelihoods(y, z))


@pytest.mark.filterwarnings("ignore:the fitted scale")
@pytest.mark.parametrize("n_classes", [2, 9])
def test_constant_rows_without_penalty_become_frequencies(n_classes):
    """Slopes and biases are then one and the same, so that the curvature is singular."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 1_000)
    row = 20.0 * rng.normal(size=n_classes)
    data = fp.Predictions.from_logits(y, np.tile(row, (y.size, 1)))
    posteriors = np.exp(fp.VectorScaling(0.0).fit(data).transform(data).log_posteriors)
    frequencies = np.bincount(y) / y.size
    np.testing.assert_allclose(posteriors, np.tile(frequencies, (y.size, 1)), atol=1e-12)


def test_what_is_refused():
    with refuses("strength"):
        fp.MatrixScaling(0.0)
