"""Scores in cells of an axis, and fits to nodes."""

import numpy as np
import pytest
from scipy import optimize

from fastpsr import kernels


@pytest.mark.parametrize(
    ("n", "weighted"), [(1, False), (50, True), (9_000, True), (300_000, False)]
)
def test_sums_on_an_axis(n, weighted):
    rng = np.random.default_rng(n)
    scores = rng.normal(size=n)
    y = rng.integers(0, 2, n).astype(np.uint8)
    n_parts, width, degree = 3, 0.25, 7
    part = rng.integers(0, n_parts, n).astype(np.uint16)
    weights = rng.integers(0, 4, n).astype(float) if weighted else np.empty(0)
    low = scores.min()
    n_cells = int((scores.max() - low) / width) + 1
    cell, t = kernels.axis.place_on_axis(scores, low, width, n_cells)
    assert cell.min() >= 0
    assert cell.max() < n_cells
    assert np.abs(t).max() <= 1.0 + 1e-12
    np.testing.assert_allclose(low + width * (cell + 0.5 + t / 2), scores, rtol=0, atol=1e-14)
    sums = kernels.axis.sum_on_axis(scores, y, part, weights, low, width, n_cells, n_parts)
    assert sums.shape == (2, n_parts, n_cells, degree + 1)
    groups = (y.astype(int) * n_parts + part) * n_cells + cell
    mass = weights if weighted else np.ones(n)
    expected = [
        np.bincount(groups, mass * np.polynomial.Chebyshev.basis(k)(t), 2 * n_parts * n_cells)
        for k in range(degree + 1)
    ]
    # a score at an edge may fall in either cell: sums of T_1 tell, but only for such scores
    np.testing.assert_allclose(sums.reshape(-1, degree + 1).T, expected, rtol=1e-11, atol=1e-13 * n)


def test_infinite_scores_are_at_the_ends():
    scores = np.array([-np.inf, 0.0, 0.999, np.inf, 0.5])
    cell, t = kernels.axis.place_on_axis(scores, -1.0, 1.0, 3)
    assert cell.tolist() == [0, 1, 1, 2, 1]
    np.testing.assert_allclose(t, [-1.0, -1.0, 0.998, 1.0, 0.0], rtol=0, atol=1e-15)
    y, part = np.zeros(5, np.uint8), np.zeros(5, np.uint16)
    sums = kernels.axis.sum_on_axis(scores, y, part, np.arange(1.0, 6.0), -1.0, 1.0, 3, 1)[0, 0]
    np.testing.assert_allclose(sums[0], np.resize([1.0, -1.0], 8), rtol=0, atol=1e-14)
    np.testing.assert_allclose(sums[2], np.full(8, 4.0), rtol=0, atol=1e-14)


def test_combine_by_part():
    rng = np.random.default_rng(0)
    features, part = rng.normal(size=(3, 9000)), rng.integers(0, 4, 9000).astype(np.uint16)
    slopes, shift = rng.normal(size=(4, 3)), rng.normal(size=4)
    slopes[1, 2] = 0.0
    features[2, part == 1] = np.inf  # a slope of 0 passes over it
    combined = kernels.axis.combine_by_part(features, part, slopes, shift)
    finite = np.where(np.isfinite(features), features, 0.0)
    expected = (slopes[part] * finite.T).sum(axis=1) + shift[part]
    np.testing.assert_allclose(combined, expected, rtol=1e-13, atol=1e-13)


def random_problem(seed, n_parameters, spread=1.0, n_fits=3, n_nodes=60):
    """Features, weights of both classes, and offsets of fits that have optima."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_parameters, n_nodes))
    features[-1] = 1.0
    negatives, positives = rng.uniform(0.1, 1.0, (2, n_fits, n_nodes))
    positives *= np.exp(features[0] - 0.5 * features[min(1, n_parameters - 1)])
    features[:-1] *= spread
    return features, negatives, positives, rng.normal(size=n_fits)


@pytest.mark.parametrize(
    ("n_parameters", "penalized", "bounded", "spread"),
    [(1, False, False, 1.0), (1, True, True, 1.0), (2, False, True, 1.0), (2, False, False, 0.1),
     (2, False, False, 10.0), (3, True, True, 1.0), (8, True, False, 1.0), (8, False, True, 1.0)],
)  # fmt: skip
def test_fits_of_any_features_are_those_of_scipy(n_parameters, penalized, bounded, spread):
    features, negatives, positives, offset = random_problem(n_parameters, n_parameters, spread)
    rng = np.random.default_rng(n_parameters + 100)
    root = rng.normal(size=(n_parameters, n_parameters))
    penalty = 0.1 * root @ root.T if penalized else np.zeros((n_parameters, n_parameters))
    lower = (
        np.where(np.arange(n_parameters) % 2 == 0, 0.1, 0.0)
        if bounded
        else np.full(n_parameters, -np.inf)
    )
    fits = kernels.axis.fit_to_nodes(
        features[None], negatives, positives, offset, np.zeros(n_parameters), penalty, lower
    )
    assert fits[:, -1].all()
    at_bounds = 0
    for m in range(3):
        non, tar = negatives[m], positives[m]
        total = non.sum() + tar.sum()

        def objective(x, non=non, tar=tar, total=total, offset=offset[m]):
            z = x @ features + offset
            loss = non @ np.logaddexp(0.0, z) + tar @ np.logaddexp(0.0, -z)
            q = 1.0 / (1.0 + np.exp(-z))
            slope = features @ (non * q - tar * (1.0 - q))
            return loss / total + x @ penalty @ x / 2.0, slope / total + penalty @ x

        expected = optimize.minimize(
            objective, np.maximum(np.zeros(n_parameters), lower), jac=True, method="L-BFGS-B",
            bounds=[(low, None) for low in lower], options={"ftol": 1e-16, "gtol": 1e-11},
        )  # fmt: skip
        np.testing.assert_allclose(fits[m, :-1], expected.x, rtol=1e-6, atol=1e-6)
        assert objective(fits[m, :-1])[0] <= expected.fun + 1e-13
        assert (fits[m, :-1] >= lower).all()
        at_bounds += np.count_nonzero(fits[m, :-1] == lower)
    assert not bounded or n_parameters == 1 or at_bounds > 0
