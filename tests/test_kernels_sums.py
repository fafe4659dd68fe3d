"""Sums of losses of posteriors against loops."""

import math

import numpy as np
import pytest

import fastpsr as fp
from fastpsr import kernels


@pytest.mark.parametrize(
    ("n_classes", "n", "weighted"),
    [(2, 1, True), (2, 9000, False), (2, 50, True), (3, 50, False), (10, 9000, True),
     (70, 50, True)],
)  # fmt: skip
def test_losses_of_rows_of_posteriors(n_classes, n, weighted):
    rng = np.random.default_rng(n)
    q = rng.dirichlet(np.full(n_classes, 0.2), n)
    q *= rng.uniform(1.0 - 5e-7, 1.0, (n, 1))  # rows may miss a sum of 1
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
    predictions = fp.Predictions.from_posteriors(y, q, sample_weight=weights if weighted else None)
    for rule, expected in ((fp.rules.Log(), log_losses), (fp.rules.Brier(), brier_losses)):
        np.testing.assert_allclose(rule.summed_losses(predictions), expected, rtol=1e-13)


def test_a_posterior_of_0_costs_without_end_unless_it_weighs_nothing():
    q, y, log = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]), [2, 1], fp.rules.Log()
    result = log.summed_losses(fp.Predictions.from_posteriors(y, q))
    np.testing.assert_allclose(result, [0.0, math.log(4.0), math.inf], rtol=1e-15)
    weighted = fp.Predictions.from_posteriors(y, q, sample_weight=[0.0, 1.0])
    assert log.summed_losses(weighted)[2] == 0.0
    q, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1, 1, 0], np.uint8)
    for weights, expected in ([], [0.0, math.inf]), ([0.0, 1.0, 1.0], [0.0, 0.0]):
        sums = kernels.sums.sum_losses_of_posteriors("log", q, y, np.array(weights))
        assert sums.tolist() == expected
