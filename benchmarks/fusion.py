"""Comparisons of fusions: the functions of both sides, and what they must agree on."""

from math import log

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import fastpsr as fp
from benchmarks.data import Systems

PRIOR = 0.5  # of targets, at which both sides weigh the classes
Weights = tuple[NDArray[np.float64], float]  # of the systems, and the constant of the LLR


def our_fit(systems: Systems) -> Weights:
    given = [fp.Predictions.from_raw_scores(systems.y, scores) for scores in systems.scores]
    fusion = fp.LinearFusion(PRIOR).fit(given)
    return fusion.weights_, float(fusion.bias_[1] - fusion.bias_[0])


def sklearn_fit(systems: Systems) -> Weights:
    """Fit without penalty to the optimum; rows of float64, which float32 would not reach."""
    from sklearn.linear_model import LogisticRegression

    n = systems.y.size
    n_targets = int(systems.y.sum())
    share = np.where(systems.y == 1, PRIOR * n / n_targets, (1.0 - PRIOR) * n / (n - n_targets))
    rows = np.ascontiguousarray(systems.scores.T, dtype=np.float64)
    fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    fitted.fit(rows, systems.y, sample_weight=share)
    return fitted.coef_[0], float(fitted.intercept_[0]) - log(PRIOR / (1.0 - PRIOR))


def same_llrs(systems: Systems, ours: Weights, peer: Weights) -> None:
    """The optimum is one; the peer stops where the objective no longer changes."""
    llrs, expected = (weights @ systems.scores + constant for weights, constant in (ours, peer))
    assert_allclose(llrs, expected, rtol=0.0, atol=1e-5)
