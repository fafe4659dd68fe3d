"""Losses of a weighted rule for more than two classes, by quasi-Monte Carlo.

Let the posterior q' move on a straight line from the vertex of class h to q, so that q'_h = exp(-l)
and the log loss l of class h grows from 0 to -log q_h. In each step, decision h loses a thin layer
of the cost parameters a, along the simplices whose corners are q' and all classes but h and one
other class i. For W = 1, class i contributes the fraction q_i / (1 - q_h) of the integral over this
layer, uniformly distributed over its simplex, and the total is the log loss. Therefore, for any W,

    loss(h, q) = integral over l from 0 to -log q_h of the mean of W over those simplices.

This form has no factor 1 / a_h, whose variance is infinite: a loss is the log loss times a mean of
the weight. It has the same relative accuracy for all posteriors, and is exact for constant W.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels

Floats = NDArray[np.float64]

_LOG2_NODES = 11
_SEED = 20_240_229
_END = 660.0  # end of the path: beyond, a_h would underflow, and the weight is taken as constant
_VANISHES = 1e-12  # weights below this fraction of the mean at the end of the path are taken as 0
_CHUNK = 1 << 18  # numbers passed to a weight at a time: 2 MB, for the caches


def losses_of_classes(
    weight: Callable[[Floats], Floats], log_q: Floats, classes: NDArray[np.int64]
) -> Floats:
    """Return the (N,) losses of (N, K) log-posteriors for one class per row."""
    log_loss = np.maximum(-log_q[np.arange(classes.size), classes], 0.0)
    nodes = _nodes(log_q.shape[1])
    reach = np.minimum(log_loss, _END)
    losses = reach * _mean_weights(weight, log_q, classes, reach, nodes)
    far = np.flatnonzero(log_loss > _END)
    if far.size:
        at_end = nodes.copy()
        at_end[:, 0] = 1.0
        last = _mean_weights(weight, log_q[far], classes[far], reach[far], at_end)
        lasts = last * _END > _VANISHES * losses[far]
        losses[far[lasts]] += last[lasts] * (log_loss[far[lasts]] - _END)
    return losses


def spread_points(n_classes: int) -> Floats:
    """Return (n, K) points spread evenly over the simplex, all inside it."""
    return _spread_over_simplex(_uniforms(n_classes - 1))


@lru_cache(maxsize=16)
def _nodes(n_classes: int) -> Floats:
    """Return (S, K) nodes: a position on the path in 0..1, and the weights of K - 1 corners.

    They are sorted by one more coordinate, which assigns the other class.
    """
    uniforms = _uniforms(n_classes)
    uniforms = uniforms[np.argsort(uniforms[:, 0])]
    nodes = np.column_stack([uniforms[:, 1], _spread_over_simplex(uniforms[:, 2:])])
    nodes.flags.writeable = False
    return nodes


def _uniforms(dimension: int) -> Floats:
    """Return scrambled Sobol points, strictly between 0 and 1."""
    from scipy.stats import qmc

    sobol = qmc.Sobol(dimension, bits=30, seed=np.random.default_rng(_SEED))
    return np.asarray(sobol.random_base2(_LOG2_NODES)) + 2.0**-31


def _spread_over_simplex(uniforms: Floats) -> Floats:
    """Map (n, d) coordinates in 0..1 to weights of d + 1 corners, by breaking sticks."""
    n, d = uniforms.shape
    left = (1.0 - uniforms) ** (1.0 / np.arange(d, 0, -1))  # remaining stick after each corner
    before = np.cumprod(np.column_stack([np.ones(n), left]), axis=1)
    return np.column_stack([before[:, :-1] * (1.0 - left), before[:, -1]])


def _mean_weights(
    weight: Callable[[Floats], Floats],
    log_q: Floats,
    classes: NDArray[np.int64],
    reach: Floats,
    nodes: Floats,
) -> Floats:
    """Return each row's mean weight along its path up to a log loss of `reach`."""
    n_classes = log_q.shape[1]
    per_row = nodes.shape[0] + n_classes  # at most: a node is split where the other class changes
    step = max(1, _CHUNK // (per_row * n_classes))
    points = np.empty((step * per_row, n_classes))
    shares = np.empty(step * per_row)
    means = np.zeros(classes.size)
    for first in range(0, classes.size, step):
        rows = slice(first, first + step)
        ends = np.empty(classes[rows].size, np.int64)
        kernels.panels.place_on_boundaries(
            log_q[rows], classes[rows], reach[rows], nodes, points, shares, ends
        )
        if ends[-1]:  # no points at all where the class is certain
            values = weight(points[: ends[-1]])
            row_of_point = np.repeat(np.arange(ends.size), np.diff(ends, prepend=0))
            weights = shares[: ends[-1]]
            totals = np.bincount(row_of_point, weights, ends.size)
            sums = np.bincount(row_of_point, weights * values, ends.size)
            np.divide(sums, totals, out=means[rows], where=totals > 0.0)
    return means
