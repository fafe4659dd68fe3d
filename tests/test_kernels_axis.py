"""Scores in cells of an axis, and fits to nodes."""

import numpy as np
import pytest

from fastpsr import kernels
from tests import reference


@pytest.mark.parametrize("n", [1, 50, 9000, 300_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_on_an_axis(n, weighted):
    rng = np.random.default_rng(n)
    scores = rng.normal(size=n)
    y = rng.integers(0, 2, n).astype(np.uint8)
    n_parts, width, degree = 3, 0.25, 7
    part = rng.integers(0, n_parts, n).astype(np.uint16)
    weights = rng.integers(0, 4, n).astype(float) if weighted else np.empty(0)
    low = scores.min()
    n_cells = int((scores.max() - low) / width) + 1
    cell, t = kernels.place_on_axis(scores, low, width, n_cells)
    assert cell.min() >= 0
    assert cell.max() < n_cells
    assert np.abs(t).max() <= 1.0 + 1e-12
    np.testing.assert_allclose(low + width * (cell + 0.5 + t / 2), scores, rtol=0, atol=1e-14)
    found = kernels.sum_on_axis(scores, y, part, weights, low, width, n_cells, n_parts)
    assert found.shape == (2, n_parts, n_cells, degree + 1)
    groups = (y.astype(int) * n_parts + part) * n_cells + cell
    mass = weights if weighted else np.ones(n)
    expected = [
        np.bincount(groups, mass * np.polynomial.Chebyshev.basis(k)(t), 2 * n_parts * n_cells)
        for k in range(degree + 1)
    ]
    # a score at an edge may fall in either cell: sums of T_1 tell, but only for such scores
    np.testing.assert_allclose(
        found.reshape(-1, degree + 1).T, expected, rtol=1e-11, atol=1e-13 * n
    )


def test_scores_that_are_all_alike():
    cell, t = kernels.place_on_axis(np.full(5, 3.0), 3.0, 0.25, 1)
    assert cell.tolist() == [0] * 5
    assert t.tolist() == [-1.0] * 5


def test_map_by_part():
    rng = np.random.default_rng(0)
    scores, part = rng.normal(size=9000), rng.integers(0, 4, 9000).astype(np.uint16)
    scale, shift = rng.normal(size=4), rng.normal(size=4)
    found = kernels.map_by_part(scores, part, scale, shift)
    np.testing.assert_allclose(found, scale[part] * scores + shift[part], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("start", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_fits_to_nodes_are_those_to_weighted_samples(with_bias, start, spread):
    rng = np.random.default_rng(3)
    nodes = np.sort(rng.normal(size=80)) * spread
    negatives, positives = rng.uniform(0.0, 1.0, (2, 5, 80))
    positives *= np.exp(nodes / spread)
    offset = np.array([0.0, 0.5, -2.0, 1.0, 0.0])
    found = kernels.fit_to_nodes(nodes, negatives, positives, offset, start / spread, with_bias)
    assert found[:, 2].all()
    for m in range(5):
        y = np.repeat([0, 1], 80)
        rows = np.column_stack([np.zeros(160), np.tile(nodes, 2)])
        mass = np.concatenate([negatives[m], positives[m]])
        scale, bias = reference.fit_affine(
            rows, y, mass, np.array([0.0, offset[m]]), with_bias=with_bias
        )
        assert found[m, 0] == pytest.approx(scale, rel=1e-7)
        assert found[m, 1] == pytest.approx(bias[1] - bias[0] + offset[m], rel=1e-7, abs=1e-7)
        log_odds = found[m, 0] * nodes + found[m, 1]
        q = 1.0 / (1.0 + np.exp(-log_odds))
        error = negatives[m] * q - positives[m] * (1.0 - q)
        total = mass.sum()
        assert abs(error @ nodes) / total < 1e-9 * max(1.0, spread)
        assert not with_bias or abs(error.sum()) / total < 1e-9


def test_separated_nodes_have_no_fit():
    nodes = np.array([-1.0, -0.5, 0.5, 1.0])
    negatives, positives = np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0, 1.0]])
    found = kernels.fit_to_nodes(nodes, negatives, positives, np.zeros(1), 1.0, True)
    assert not found[0, 2] or found[0, 0] > 15.0  # else the sums are told that it went too far
