"""Vector and matrix scaling against scipy on the definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import fastpsr as fp
from tests.test_calibration_in_parts import cut

KINDS = (fp.VectorScaling, fp.MatrixScaling)


def drawn(n, K, seed=0, shape="plain"):
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


def assert_optimal(fitted, q, y, mass, n=None):
    """The gradient of the definition, which is convex, is 0: so scipy finds nothing lower."""
    n = y.size if n is None else n
    assert fitted.n_samples_ == n
    x = smoothed(softmax(fitted.scale_ * np.log(q), axis=1), n)
    is_matrix = fitted.weights_.ndim == 2
    loss = objective(x, y, mass / mass.sum(), n, fitted.strength, is_matrix)
    value, gradient = loss(parameters(fitted))
    assert np.abs(gradient).max() < 1e-9
    if y.size < 100:  # where a search takes little
        start = np.zeros(gradient.size)
        found = minimize(loss, start, jac=True, method="L-BFGS-B",
                         options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2_000})  # fmt: skip
        assert value <= found.fun + 1e-13
    assert abs(fitted.bias_.sum()) < 1e-9
    return x


def as_posteriors(z):
    with np.errstate(divide="ignore"):
        return softmax(z, axis=1)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["plain", "tied", "infinite", "nearly separable"])
@pytest.mark.parametrize(("n", "K"), [(60, 2), (90, 3), (3_000, 3), (800, 12)])
@pytest.mark.parametrize("kind", KINDS)
@np.errstate(divide="ignore", invalid="ignore")
def test_the_optimum(kind, n, K, shape, weighted):
    y, z = drawn(n, K, shape=shape)
    mass = np.random.default_rng(1).exponential(size=n) if weighted else np.ones(n)
    data = fp.Predictions.from_logits(y, z, sample_weight=mass if weighted else None)
    fitted = kind().fit(data)
    temperature = fp.TemperatureScaling().fit(data)
    assert fitted.scale_ == pytest.approx(temperature.scale_, rel=1e-12)
    x = assert_optimal(fitted, np.maximum(as_posteriors(z), 1e-300), y, mass)
    W = fitted.weights_ if fitted.weights_.ndim == 2 else np.diag(fitted.weights_)
    expected = log_softmax(x @ W.T + fitted.bias_, axis=1)
    np.testing.assert_allclose(
        fitted.transform(data).log_posteriors, expected, rtol=1e-10, atol=1e-10
    )
    assert np.isfinite(fp.CrossEntropy()(fitted.transform(data)))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shape", ["plain", "nearly separable"])
@pytest.mark.parametrize(("n", "K", "seed"), [(60, 2, 7), (300, 3, 16), (800, 12, 0)])
@pytest.mark.parametrize("calibrator", [fp.VectorScaling(0.0), fp.MatrixScaling(1e-6)])
def test_the_optimum_with_little_or_no_penalty(calibrator, n, K, seed, shape):
    y, z = drawn(n, K, seed, shape)
    fitted = calibrator.fit(fp.Predictions.from_logits(y, z))
    x = smoothed(softmax(fitted.scale_ * z, axis=1), n)
    is_matrix = fitted.weights_.ndim == 2
    loss = objective(x, y, np.full(n, 1.0 / n), n, calibrator.strength, is_matrix)
    assert np.abs(loss(parameters(fitted))[1]).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("K", "other"), [(3, 2), (2, 3)])
def test_maps_are_for_as_many_classes(kind, K, other):
    fitted = kind().fit(fp.Predictions.from_logits(*drawn(90, K)))
    with pytest.raises(fp.ArgumentError, match=f"must have {K} classes, as the training data had"):
        fitted.transform(fp.Predictions.from_logits(*drawn(90, other)))


@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_are_mapped_at_the_training_prior(kind):
    y, z = drawn(1_000, 4)
    keep = (y != 1) | (np.arange(y.size) % 3 == 0)
    y, z = y[keep], z[keep]
    data = fp.Predictions.from_log_likelihoods(y, z)
    prior = np.bincount(y) / y.size
    fitted = kind().fit(data)
    np.testing.assert_allclose(fitted.log_priors_, np.log(prior))
    q = softmax(z + np.log(prior), axis=1)
    x = assert_optimal(fitted, q, y, np.ones(y.size))
    W = fitted.weights_ if fitted.weights_.ndim == 2 else np.diag(fitted.weights_)
    posteriors = softmax(x @ W.T + fitted.bias_, axis=1)
    calibrated = fitted.transform(data)
    assert calibrated.kind == "likelihoods"
    np.testing.assert_allclose(calibrated.posteriors, posteriors, rtol=1e-9)
    given = fp.Predictions.from_log_likelihoods(y, z, priors=[0.1, 0.2, 0.3, 0.4])
    mass = np.array([0.1, 0.2, 0.3, 0.4])[y] / np.bincount(y)[y]
    q = softmax(z + np.log([0.1, 0.2, 0.3, 0.4]), axis=1)
    assert_optimal(kind().fit(given), q, y, mass)


def test_llrs_are_the_same_as_two_likelihoods():
    y, z = drawn(500, 2)
    llrs = fp.Predictions.from_llrs(y, z[:, 1] - z[:, 0])
    both = fp.Predictions.from_log_likelihoods(y, z)
    for kind in KINDS:
        one, other = kind().fit(llrs), kind().fit(both)
        np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(
            one.transform(llrs).llrs, other.transform(both).llrs, rtol=1e-7, atol=1e-8
        )


@pytest.mark.parametrize("n", [500, 20_000])
def test_two_classes_without_penalty_are_beta_calibration(n):
    y, z = drawn(n, 2)
    data = fp.Predictions.from_logits(y, z)
    fitted = fp.VectorScaling(strength=0.0).fit(data)
    x = smoothed(softmax(fitted.scale_ * log_softmax(z, axis=1), axis=1), n)
    smooth = fp.Predictions.from_log_posteriors(y, log_softmax(x, axis=1))
    # x is not normalized: differences of weights make no difference to its sum
    x = log_softmax(x, axis=1)
    a, b, c = fp.BetaCalibration().fit(smooth).parameters_
    expected = a * x[:, 1] - b * x[:, 0] + c
    np.testing.assert_allclose(fitted.transform(data).log_odds, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("memory", [None, "20KB"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", ["posteriors", "likelihoods"])
def test_parts_are_as_memory(kind, scores, memory, monkeypatch):
    y, z = drawn(900, 3)
    make = {"posteriors": fp.Predictions.from_logits,
            "likelihoods": fp.Predictions.from_log_likelihoods}[scores]  # fmt: skip
    data = make(y, z, sample_weight=1.0 + np.arange(y.size) % 3)
    one = kind().fit(data)
    if memory is not None:
        monkeypatch.setenv("FASTPSR_MEMORY", memory)
    other = kind().fit(cut(data, {}))
    for name in kind.fitted_names:
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_strong_penalty_leaves_temperature_scaling(kind):
    y, z = drawn(2_000, 3)
    data = fp.Predictions.from_logits(y, z)
    fitted = kind(strength=1e12).fit(data)
    ones = np.eye(3) if fitted.weights_.ndim == 2 else np.ones(3)
    np.testing.assert_allclose(fitted.weights_, ones, atol=1e-6)
    np.testing.assert_allclose(fitted.bias_, 0.0, atol=1e-6)
    temperature = fp.TemperatureScaling().fit(data).transform(data).posteriors
    np.testing.assert_allclose(fitted.transform(data).posteriors, temperature, atol=1e-3)


def test_a_class_without_samples_stays_at_the_penalty():
    y, z = drawn(600, 4)
    keep = y != 2
    data = fp.Predictions.from_logits(y[keep], z[keep])
    for kind in KINDS:
        fitted = kind().fit(data)
        q = softmax(z[keep], axis=1)
        assert_optimal(fitted, q, y[keep], np.ones(keep.sum()))
    with pytest.raises(fp.ArgumentError, match="class 2 has none"):
        fp.VectorScaling(0.0).fit(data)
    with pytest.raises(fp.ArgumentError, match="class 2 has none"):
        fp.MatrixScaling().fit(fp.Predictions.from_log_likelihoods(y[keep], z[keep]))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("kind", KINDS)
def test_speakers_and_replicates(kind):
    y, z = drawn(600, 3)
    speakers = np.random.default_rng(2).integers(0, 40, (2, y.size))
    data = fp.Predictions.from_logits(y, z)
    loss = fp.CalibrationLoss(fp.rules.Log(), kind(), fp.CrossFit(5, groups=tuple(speakers)))
    assert np.isfinite(loss(data))
    options = {"n_resamples": 40, "seed": 1, "method": "percentile"}
    result = fp.bootstrap(fp.CalibrationLoss(fp.rules.Log(), kind()), data, **options)
    assert np.isfinite(result.replicates).all()


def test_matrices_beyond_the_memory(monkeypatch):
    y, z = drawn(400, 100)
    data = fp.Predictions.from_logits(y, z)
    monkeypatch.setenv("FASTPSR_MEMORY", "500KB")
    with pytest.raises(fp.ArgumentError, match=r"at most 72 classes for MatrixScaling.*use Vector"):
        fp.MatrixScaling().fit(data)
    fp.VectorScaling().fit(data)
    monkeypatch.setenv("FASTPSR_MEMORY", "1MB")
    fp.MatrixScaling().fit(data)


def test_a_penalty_of_any_type_of_number():
    data = fp.Predictions.from_logits(*drawn(90, 3))
    expected = fp.VectorScaling(2.0).fit(data)
    assert repr(fp.VectorScaling(np.float16(2.0)).fit(data)) == repr(expected)


def test_what_is_refused():
    y, z = drawn(90, 3)
    data = fp.Predictions.from_logits(y, z)
    with pytest.raises(fp.ArgumentError, match="strength must be at least 0"):
        fp.VectorScaling(-1.0)
    with pytest.raises(fp.ArgumentError, match="strength must be above 0"):
        fp.MatrixScaling(0.0)
    with pytest.raises(fp.ArgumentError, match=r"VectorScaling need.*not raw scores"):
        fp.VectorScaling().fit(fp.Predictions.from_raw_scores(y % 2, z[:, 0]))
    with pytest.raises(fp.ArgumentError, match="separate the classes perfectly"):
        fp.MatrixScaling().fit(fp.Predictions.from_logits(y, 40.0 * np.eye(3)[y]))
    with pytest.raises(fp.ArgumentError, match="must be posteriors"):
        fp.VectorScaling().fit(data).transform(fp.Predictions.from_log_likelihoods(y, z))


@pytest.mark.filterwarnings("ignore:the fitted scale")
@pytest.mark.parametrize("n_classes", [2, 4, 9])
def test_constant_rows_without_penalty_become_frequencies(n_classes):
    """Slopes and biases are then one and the same, so that the curvature is singular."""
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 1_000)
    row = 20.0 * rng.normal(size=n_classes)
    data = fp.Predictions.from_logits(y, np.tile(row, (y.size, 1)))
    posteriors = np.exp(fp.VectorScaling(0.0).fit(data).transform(data).log_posteriors)
    frequencies = np.bincount(y) / y.size
    np.testing.assert_allclose(posteriors, np.tile(frequencies, (y.size, 1)), atol=1e-12)
