"""Sums of losses over rows of posteriors against loops."""

import math

import numpy as np
import pytest

from fastpsr import kernels


@pytest.mark.parametrize("n_classes", [3, 10, 70])
@pytest.mark.parametrize("n", [1, 50, 9000])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_losses_of_rows_of_posteriors(n_classes, n, weighted):
    rng = np.random.default_rng(n)
    q = rng.dirichlet(np.full(n_classes, 0.2), n)
    q *= rng.uniform(1.0 - 5e-7, 1.0 + 5e-7, (n, 1))  # rows may miss a sum of 1
    y = rng.integers(0, n_classes, n).astype(np.uint8)
    q[q < 1e-30] = 0.0
    sure = rng.random(n) < 0.2
    q[sure] = np.eye(n_classes)[y[sure]]
    q[np.arange(n), y] = np.maximum(q[np.arange(n), y], 1e-25)
    weights = rng.integers(0, 3, n).astype(float) if weighted else np.empty(0)
    log_losses, brier_losses = np.zeros((2, n_classes))
    for i in range(n):
        w = weights[i] if weighted else 1.0
        p = [value / math.fsum(q[i]) for value in q[i]]
        rest = math.fsum(value for k, value in enumerate(p) if k != y[i])
        log_losses[y[i]] += w * math.log1p(rest / p[y[i]])
        squares = math.fsum(value * value for k, value in enumerate(p) if k != y[i])
        brier_losses[y[i]] += w * (rest * rest + squares) / n_classes
    found = kernels.sum_log_losses_of_rows(q, y, weights)
    np.testing.assert_allclose(found, log_losses, rtol=1e-13)
    found = kernels.sum_brier_losses_of_rows(q, y, weights)
    np.testing.assert_allclose(found, brier_losses, rtol=1e-13)


def test_a_posterior_of_0_costs_without_end_unless_it_weighs_nothing():
    q, y = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]), np.array([2, 1], np.uint8)
    found = kernels.sum_log_losses_of_rows(q, y, np.empty(0))
    np.testing.assert_allclose(found, [0.0, math.log(4.0), math.inf], rtol=1e-15)
    assert kernels.sum_log_losses_of_rows(q, y, np.array([0.0, 1.0]))[2] == 0.0


@pytest.mark.parametrize("shape", [(1, 2), (9000, 3), (50, 200)])
def test_sums_of_rows(shape):
    values = np.random.default_rng(0).uniform(size=shape)
    expected = [math.fsum(row) for row in values]
    np.testing.assert_allclose(kernels.sum_rows(values), expected, rtol=1e-14)
