"""Functions for compiled code of users, documented in :mod:`fastpsr.compiled`.

Kernels, and not `inlined`: Numba would copy these into the caller and compile them with its
options, such as a fastmath that assumes away infinities.
"""

import numpy as np

from fastpsr.kernels import random
from fastpsr.kernels.cells import bucket_of, cell_at, find_edge
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.elementary import sigmoid, softplus
from fastpsr.kernels.isotonic import _pool
from fastpsr.kernels.random import STEP, mixed, stream_of, unit_of

_LOW_32, _S32 = np.uint64(0xFFFFFFFF), np.uint64(32)
_RANGE = np.uint64(1 << 32)


@kernel
def log_loss(log_odds, y):
    """Return ``-log q_y`` in nats for log-odds of class 1 and a class y, 0 or 1.

    It is inf if the posterior of the class is 0.
    """
    return softplus(-log_odds if y else log_odds)


@kernel
def brier_loss(log_odds, y):
    """Return ``(q_1 - y)^2`` for log-odds of class 1 and a class y, 0 or 1.

    It is the Brier loss of two classes, with its factor 1/K.
    """
    wrong = sigmoid(-log_odds if y else log_odds)
    return wrong * wrong


@kernel
def isotonic_fit(negatives, positives):
    """Return the posteriors of class 1, (n,), that are isotonic and have the least loss.

    `negatives` and `positives`, (n,) of float64, are the counts or weights of class 0 and class 1
    at n distinct scores in ascending order, not negative. The fit is optimal for every proper rule.
    A score without weight gets the posterior of the one before; at the begin, of the one after.
    Without any weight, all are nan.
    """
    n = negatives.size
    starts = np.empty(n, np.int64)
    n_blocks = _pool(negatives, positives, starts)
    fitted = np.full(n, np.nan)
    for block in range(n_blocks):
        start = starts[block]
        stop = starts[block + 1] if block + 1 < n_blocks else n
        below = 0.0
        above = 0.0
        for cell in range(start, stop):
            below += negatives[cell]
            above += positives[cell]
        posterior = above / (below + above)
        for cell in range(start if block else 0, stop):
            fitted[cell] = posterior
    return fitted


@kernel
def place_among(value, edges):
    """Return the place of a value, not nan, among edges that `as_edges` made.

    It is 2 j + 1 for a value equal to edge j, and 2 j for one between the edges j - 1 and j:
    ``place >> 1`` edges are below the value, ``(place + 1) >> 1`` at or below it.
    """
    low, per_unit, first_edge, quick, padded = edges
    bucket = np.uint32(bucket_of(value, low, per_unit, first_edge.size - 2.0))
    edge = np.int64(quick[bucket])
    if edge < 0:
        edge = find_edge(value, padded, first_edge, bucket)
    return cell_at(value, edge, padded[np.uint64(edge)])


@kernel
def random_stream(seed, replicate, block):
    """Return the state, a uint64, that the stream of random numbers begins with.

    The stream depends on the three integers alone, from 0 to 2^64 - 1, and on nothing drawn before:
    give each replicate, or each part of one, a stream of its own, and the draws are the same for
    any number of threads and any order.
    """
    return stream_of(np.uint64(seed), np.uint64(replicate), np.uint64(block))


@kernel
def draw_uniform(state):
    """Return (number, state): uniform in [0, 1), of 53 bits, and the state after it."""
    after = np.uint64(state) + STEP
    return unit_of(mixed(after)), after


@kernel
def draw_integer(n, state):
    """Return (integer, state): uniform in 0 to n - 1, for n of 1 to 2^32, and the state after it.

    D. Lemire, 2019, doi:10.1145/3230636: without bias.
    """
    after = np.uint64(state)
    size = np.uint64(n)
    biased = (_RANGE - size) % size
    while True:
        after += STEP
        product = (mixed(after) >> _S32) * size
        if (product & _LOW_32) >= biased:
            return np.int64(product >> _S32), after


@kernel
def draw_binomial(n, p, state):
    """Return (count, state): successes among n trials of probability p, and the state after it."""
    return random.draw_binomial(n, p, np.uint64(state))
