"""The searches of smooth calibrators: Newton with penalty and bounds, BFGS, in lockstep."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fastpsr.calibration.objective import bfgs, in_lockstep, newton


def problem(seed, n_parameters, n=400):
    """Logistic regression on random features, with more classes in one than in the other."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, n_parameters)) * rng.uniform(0.3, 3.0, n_parameters)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-features @ rng.normal(size=n_parameters)))
    weights = rng.uniform(0.1, 2.0, n)

    def sums(point):
        z = features @ point
        q = 1.0 / (1.0 + np.exp(-z))
        value = (weights * (np.logaddexp(0.0, z) - y * z)).sum()
        gradient = features.T @ (weights * (q - y))
        return value, gradient, (features.T * (weights * q * (1.0 - q))) @ features

    return sums, float(weights.sum())


def searched(search, answer):
    """Answer a search until it is done."""
    asked = next(search)
    while True:
        try:
            asked = search.send(answer(asked))
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("seed", range(12))
def test_newton_finds_the_least_penalized_loss_within_bounds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    sums, total = problem(seed, n)
    root = rng.normal(size=(n, n)) * rng.choice([0.0, 0.1, 1.0])
    penalty = root @ root.T
    lower = np.where(rng.random(n) < 0.6, rng.normal(size=n), -np.inf)

    def objective(point):
        value, gradient, _ = sums(point)
        pull = total * penalty @ point
        return (value + 0.5 * point @ pull) / total, (gradient + pull) / total

    found = searched(
        newton(np.zeros(n), total, penalty=penalty, lower=lower),
        lambda asked: sums(asked.point)[1:],
    )
    start = np.maximum(np.zeros(n), lower)
    expected = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=[(b, None) for b in lower],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
    )  # fmt: skip
    assert (found >= lower).all()
    assert objective(found)[0] <= expected.fun + 1e-13
    _, slope = objective(found)  # the conditions of Karush, Kuhn and Tucker
    at_bound = found == lower
    assert np.abs(slope[~at_bound]).max(initial=0.0) < 1e-8
    assert (slope[at_bound] >= -1e-8).all()


@pytest.mark.parametrize("seed", range(6))
def test_bfgs_agrees_with_newton(seed):
    sums, total = problem(seed, 4)

    def per_weight(asked):
        value, gradient, _ = sums(asked.point)
        return value / total, gradient / total

    one = searched(newton(np.zeros(4), total), lambda asked: sums(asked.point)[1:])
    other = searched(bfgs(np.zeros(4)), per_weight)
    np.testing.assert_allclose(other, one, atol=1e-6)


def test_searches_in_lockstep_are_those_alone():
    problems = [problem(seed, 3) for seed in range(5)]
    asked_together = []

    def ask(places, asked):
        asked_together.append(len(places))
        return [problems[p][0](a.point)[1:] for p, a in zip(places, asked, strict=True)]
        yield

    plan = in_lockstep([newton(np.zeros(3), total) for _, total in problems], ask)
    with pytest.raises(StopIteration) as stop:
        next(plan)
    for found, (sums, total) in zip(stop.value.value, problems, strict=True):
        search = newton(np.zeros(3), total)
        alone = searched(search, lambda asked, sums=sums: sums(asked.point)[1:])
        np.testing.assert_array_equal(found, alone)
    assert asked_together[0] == len(problems)
    assert asked_together[-1] < len(problems) or len(set(asked_together)) == 1
