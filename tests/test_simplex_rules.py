"""Weighted rules of more classes, against rays from the corners, and rules on several threads."""

import numpy as np
import pytest
from scipy import special
from scipy.stats import qmc

from fastpsr.rules import Weighted


def ones(points):
    return np.ones(len(points))


def losses_by_rays(weight, log_q, h, directions):
    """The rule's definition, on rays from a_h = 1: the decision is h until a_h falls to a bound.

    On the ray to u, a = (t, (1 - t) u) with t = a_h of density (K - 1) (1 - t)^(K - 2), and class h
    is decided on while t < q_h / (q_h + max q_i / u_i).
    """
    q = np.exp(log_q)
    other_classes = np.delete(np.arange(q.size), h)
    bounds = (q[other_classes] / directions).max(axis=1)
    starts = np.log(q[h]) - np.log(bounds)
    steps = (np.arange(400) + 0.5) / 400
    steps = steps / (1 - steps)  # of log-odds of t, to infinity
    widths = (1 + steps) ** 2 / 400
    v = starts[:, None] + steps
    a = np.empty((*v.shape, q.size))
    a[:, :, h] = special.expit(v)
    a[:, :, other_classes] = special.expit(-v)[:, :, None] * directions[:, None, :]
    values = weight(a.reshape(-1, q.size)).reshape(v.shape)
    return float((values * special.expit(-v) ** other_classes.size @ widths).mean())


def posteriors(n_classes, n, seed):
    z = np.random.default_rng(seed).normal(size=(n, n_classes)) * 1.5
    return special.log_softmax(z, axis=1)


WEIGHTS = {
    "quadratic": lambda a: 0.2 + a.shape[1] * (a * a).sum(axis=1),
    "product": lambda a: 60.0 * a[:, 0] * a[:, 1] * a[:, 2],
    "lopsided": lambda a: a[:, 0] + 0.1 * a[:, 1],
    "jump": lambda a: 1.0 * (a[:, 1] < 0.3),
}


@pytest.mark.parametrize("n_classes", [3, 10])
def test_constant_weight_is_the_log_rule(n_classes):
    log_q = posteriors(n_classes, 50, n_classes)
    log_q[0] = -np.inf
    log_q[0, 0] = 0.0
    losses = Weighted(lambda a: np.full(len(a), 2.0)).class_losses(log_q)
    np.testing.assert_allclose(losses, -2.0 * log_q, rtol=1e-13)


@pytest.mark.parametrize("name", WEIGHTS)
def test_three_classes_against_rays(name):
    u = (np.arange(400) + 0.5) / 400
    directions = np.column_stack([u, 1 - u])
    log_q = posteriors(3, 6, 0)
    losses = Weighted(WEIGHTS[name]).class_losses(log_q)
    expected = [[losses_by_rays(WEIGHTS[name], q, h, directions) for h in range(3)] for q in log_q]
    np.testing.assert_allclose(losses, expected, rtol=0.01, atol=3e-3)
    assert losses.mean() == pytest.approx(np.mean(expected), rel=3e-3)


def test_five_classes_against_rays():
    name = "quadratic"
    exponentials = -np.log(qmc.Sobol(4, seed=0).random_base2(10))
    directions = exponentials / exponentials.sum(axis=1, keepdims=True)
    log_q = posteriors(5, 4, 5)
    losses = Weighted(WEIGHTS[name]).class_losses(log_q)
    expected = [[losses_by_rays(WEIGHTS[name], q, h, directions) for h in range(5)] for q in log_q]
    log_losses = [[losses_by_rays(ones, q, h, directions) for h in range(5)] for q in log_q]
    expected = np.array(expected) / log_losses * -log_q  # the rays' own error mostly cancels
    np.testing.assert_allclose(losses, expected, rtol=0.05)
    assert losses.mean() == pytest.approx(expected.mean(), rel=0.01)


def test_posteriors_of_zero_for_more_classes():
    log_q = np.log([[1e-300, 0.5, 0.5], [1e-290, 0.5, 0.5], [0.5, 0.5, 1e-300]])
    log_q = np.concatenate([log_q, [[-np.inf, *np.log([0.5, 0.5])], [-1e5, *np.log([0.5, 0.5])]]])
    y = [0, 0, 0, 0, 0]
    vanishing = Weighted(WEIGHTS["product"]).loss(y, log_q)
    assert vanishing[[0, 1, 4]] == pytest.approx([vanishing[3]] * 3, rel=0.02)
    growing = Weighted(WEIGHTS["quadratic"]).loss(y, log_q)
    assert growing[3] == np.inf
    slope = (growing[4] - growing[0]) / (1e5 + log_q[0, 0])
    rate = 0.2 + 3 * 2 / 3  # at a_h = 0 the other two are uniform: their mean square is 1/3
    assert slope == pytest.approx(rate, rel=0.05)
    certain = [[0.0, -np.inf, -np.inf]]
    assert Weighted(ones).loss([0], certain).tolist() == [0.0]
    assert Weighted(ones).class_losses(np.array(certain)).tolist() == [[0.0, np.inf, np.inf]]
