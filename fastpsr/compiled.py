"""Functions that can be called in compiled code: loops of your own under ``numba.njit``.

Experimental: names and signatures may change in any version. ``import fastpsr.compiled`` imports
Numba; ``import fastpsr`` does not.

========================================== ========================================================
in compiled code, or in Python
========================================== ========================================================
``log_loss(log_odds, y)``                  -log q_y in nats
``brier_loss(log_odds, y)``                (q_1 - y)^2
``isotonic_fit(negatives, positives)``     posteriors of PAV for counts at ascending scores
``place_among(value, edges)``              2 j + 1 at edge j, 2 j between the edges j - 1 and j
``random_stream(seed, replicate, block)``  state of a stream of random numbers
``draw_uniform(state)``                    (number in [0, 1), state)
``draw_integer(n, state)``                 (integer in 0 to n - 1, state)
``draw_binomial(n, p, state)``             (count, state)
========================================== ========================================================

`as_edges` prepares edges in Python. Functions of compiled code check nothing: an argument out of
its range gives a wrong number, or ends the process. They treat infinities as the metrics do, also
in a caller with ``fastmath``.

A function of yours with ``cache=True`` contains a copy of what it calls, and Numba does not notice
when that changes: remove its cache after an update of fastpsr.

Examples
--------
>>> import numba, numpy as np
>>> from fastpsr.compiled import as_edges, draw_integer, log_loss, place_among, random_stream
>>> @numba.njit
... def resampled(log_odds, y, seed, replicate):
...     state = random_stream(seed, replicate, 0)
...     total = 0.0
...     for _ in range(y.size):
...         i, state = draw_integer(y.size, state)
...         total += log_loss(log_odds[i], y[i])
...     return total / y.size
>>> round(resampled(np.array([-1.5, 0.4, 2.0]), np.array([0, 1, 1]), 0, 0), 4)
0.1766
>>> edges = as_edges([0.0, 1.0, 2.5])
>>> [place_among(value, edges) for value in (-3.0, 1.0, 2.0, np.inf)]
[0, 3, 4, 6]
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks, kernels
from fastpsr.errors import ArgumentError
from fastpsr.kernels.embedded import (
    brier_loss,
    draw_binomial,
    draw_integer,
    draw_uniform,
    isotonic_fit,
    log_loss,
    place_among,
    random_stream,
)

__all__ = [
    "as_edges",
    "brier_loss",
    "draw_binomial",
    "draw_integer",
    "draw_uniform",
    "isotonic_fit",
    "log_loss",
    "place_among",
    "random_stream",
]


def as_edges(edges: ArrayLike) -> tuple[Any, ...]:
    """Return edges in the form that `place_among` takes, with a table that replaces most searches.

    Parameters
    ----------
    edges : array-like of float, shape (m,)
        In ascending order, each once; infinities are allowed.

    Returns
    -------
    tuple
        To be passed to compiled code as it is.

    Raises
    ------
    ValueError
        If the edges are not an array of one dimension, not ascending, or nan.

    Examples
    --------
    >>> from fastpsr.compiled import as_edges, place_among
    >>> place_among(0.7, as_edges([0.5, 0.7, 0.9]))
    3
    """
    values = np.asarray(checks.read("edges", edges), np.float64)
    if values.ndim != 1:
        raise ArgumentError("edges", f"must have one dimension, not {values.ndim}")
    wrong = np.flatnonzero(~(values[1:] > values[:-1]))
    if wrong.size or np.isnan(values[:1]).any():
        row = int(wrong[0]) + 1 if wrong.size else 0
        rule = f"must ascend, each once, without nan: {values[row]} in row {row} does not"
        raise ArgumentError("edges", rule, row, remedy="pass np.unique(edges)")
    return kernels.cells.bucket_grid(values)
