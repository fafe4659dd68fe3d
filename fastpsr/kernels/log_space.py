"""Between posteriors, log-posteriors and log-odds."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.elementary import exp_of_nonpositive, log_of_nonnegative
from fastpsr.kernels.reductions import largest, total
from fastpsr.kernels.types import Floats, Reals


def log_odds_from_posteriors(posteriors: Floats) -> Floats:
    """log(q / (1 - q)) for an array of q, or log(q_1 / q_0) for the rows of an (N, 2) array."""
    out = np.empty(posteriors.shape[0])
    step = _log_odds if posteriors.ndim == 1 else _log_odds_of_pairs
    over_blocks(step, count_blocks(out.size), posteriors.reshape(-1), out)
    return out


def normalize_log_rows(scores: Reals, offset: Floats, out: Floats) -> Floats:
    """Write log softmax of ``scores + offset`` to `out`; return the log of each row's sum."""
    log_sums = np.empty(scores.shape[0])
    n_rows = max(1, BLOCK // offset.size)  # in a block, so that few but wide rows find threads too
    n_blocks = -(-log_sums.size // n_rows)
    over_blocks(_normalize_log_rows, n_blocks, n_rows, scores, offset, out, log_sums)
    return log_sums


def log_sigmoid_columns(log_odds: Floats) -> Floats:
    """(N, 2) log-posteriors of class 0 and class 1."""
    return -np.column_stack([softplus(log_odds), softplus(-log_odds)])


def sigmoid(log_odds: Floats) -> Floats:
    """Posterior of class 1 for an array of log-odds."""
    return _mapped(_map_sigmoid, log_odds)


def softplus(values: Floats) -> Floats:
    """log(1 + exp(value)) for an array."""
    return _mapped(_map_softplus, values)


def _mapped(step, values):
    out = np.empty(values.shape)
    over_blocks(step, count_blocks(values.size), values.ravel(), out.ravel())
    return out


# Slices, since loops over them vectorize: not those whose indices may count from the end. Pairs are
# flat, so that steps of two are known when it is compiled.


@kernel
def _log_odds(first, last, posteriors, out):
    q = posteriors[first * BLOCK : last * BLOCK]
    log_odds = out[first * BLOCK : last * BLOCK]
    for i in range(q.size):
        odds = q[i] / (1.0 - q[i])  # exact from 1/2 on, and never small below
        log_odds[i] = log_of_nonnegative(odds)


@kernel
def _log_odds_of_pairs(first, last, posteriors, out):
    flat = posteriors[2 * first * BLOCK : 2 * last * BLOCK]
    log_odds = out[first * BLOCK : last * BLOCK]
    for i in range(log_odds.size):
        log_odds[i] = log_of_nonnegative(flat[2 * i + 1]) - log_of_nonnegative(flat[2 * i])


@kernel
def _normalize_log_rows(first, last, n_rows, scores, offset, out, log_sums):
    shares = np.empty(offset.size)
    for i in range(first * n_rows, min(last * n_rows, log_sums.size)):
        row, log_row = scores[i], out[i]
        for k in range(shares.size):
            log_row[k] = row[k] + offset[k]
        top = largest(log_row)
        for k in range(shares.size):
            log_row[k] -= top
        for k in range(shares.size):
            shares[k] = exp_of_nonpositive(log_row[k])
        log_total = math.log(total(shares))
        for k in range(shares.size):
            log_row[k] -= log_total
        log_sums[i] = top + log_total


def _mapping(function, name):
    """Return the kernel that maps values by a function."""

    def step(first, last, values, out):
        x, y = values[first * BLOCK : last * BLOCK], out[first * BLOCK : last * BLOCK]
        for i in range(x.size):
            y[i] = function(x[i])

    step.__name__ = step.__qualname__ = f"_map_{name}"  # its file in the cache
    return kernel(step)


_map_sigmoid = _mapping(elementary.sigmoid, "sigmoid")
_map_softplus = _mapping(elementary.softplus, "softplus")
