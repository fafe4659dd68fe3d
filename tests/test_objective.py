"""The searches of smooth calibrators: Newton with penalty and bounds, BFGS, in lockstep."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fastpsr.calibration.objective import (
    Asked,
    _divided_by,
    bfgs,
    in_lockstep,
    newton,
    newton_by_products,
)


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


def softmax_rows(scores):
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def linear_map(seed, n, n_classes):
    """What a search by products asks for: softmax regression on features far from 0."""
    rng = np.random.default_rng(seed)
    features = np.hstack([rng.normal(size=(n, n_classes)) - 6.0, np.ones((n, 1))])
    y = np.eye(n_classes)[rng.integers(0, n_classes, n)]
    counts = {"points": 0, "products": 0}

    def answer(asked):
        q = softmax_rows(features @ asked.point.T)
        if asked.direction is not None:
            counts["products"] += 1
            moves = features @ asked.direction.T
            moves = q * (moves - (q * moves).sum(axis=1, keepdims=True))
            return moves.T @ features / n, None
        counts["points"] += 1
        spread = (q * (1.0 - q)).T / n
        return (q - y).T @ features / n, np.stack([spread @ features**2, spread @ features])

    return answer, counts


@pytest.mark.parametrize("n_features", [2, 6])
def test_division_by_the_curvature_of_rows(n_features):
    """That of one feature and a constant is exact; of more, all but covariances of features."""
    rng = np.random.default_rng(n_features)
    features = np.hstack([rng.normal(size=(50, n_features - 1)) - 3.0, np.ones((50, 1))])
    weights = rng.uniform(0.1, 1.0, (4, 50))
    pull = rng.uniform(0.1, 1.0, (4, n_features))
    moments = np.einsum("ki,ij,il->kjl", weights, features, features)
    means = moments[:, -1, :-1] / moments[:, -1:, -1]
    for matrix, mean in zip(moments, means, strict=True):
        between = matrix[-1, -1] * np.outer(mean, mean)
        between[np.diag_indices(n_features - 1)] = np.diagonal(matrix)[:-1]
        matrix[:-1, :-1] = between
    values = rng.normal(size=pull.shape)
    curvature = np.stack([np.diagonal(moments, axis1=1, axis2=2), moments[:, -1]])
    expected = [
        np.linalg.solve(matrix + np.diag(of_row), value)
        for matrix, of_row, value in zip(moments, pull, values, strict=True)
    ]
    np.testing.assert_allclose(_divided_by(curvature, pull)(values), expected, rtol=1e-9)


def test_a_search_by_products_ends_flat_after_few_products():
    """It takes 32; with a diagonal alone it would take 97."""
    answer, counts = linear_map(0, 500, 20)
    pull = np.full((20, 21), 0.1)
    end = searched(newton_by_products(np.zeros(pull.shape), pull), answer)
    gradient, _ = answer(Asked(end))
    assert np.abs(gradient + pull * end).max() < 1e-12
    assert counts["products"] < 50
