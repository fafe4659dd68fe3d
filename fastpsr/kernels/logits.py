"""From rows of logits, (N, K), without the log-posteriors of all rows."""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import over_blocks
from fastpsr.kernels.compiler import elementary as inline
from fastpsr.kernels.compiler import kernel, larger
from fastpsr.kernels.rows import largest, sum_and_squares, total
from fastpsr.kernels.types import Codes, Floats, Reals

__all__ = [
    "brier_losses_of_logits",
    "confidences_of_logits",
    "likeliest_of_logits",
    "log_losses_of_logits",
]

_BLOCK = 2048  # logits, so that a block and its exponentials stay in the first-level cache

_exp = elementary.exp_of_distance
_log = elementary.log_of_nonnegative


def likeliest_of_logits(logits: Reals, places: Codes) -> bool:
    """Write the first place of each row's largest entry; return whether the logits are valid.

    They are if no entry is nan or +inf, and every row has a finite one.
    """
    n_rows, n_blocks = _cut(logits)
    are_valid = np.empty(n_blocks, np.bool_)
    infinity = logits.dtype.type(math.inf)  # comparisons in double precision would be slower
    over_blocks(_find_likeliest, n_blocks, n_rows, logits, infinity, places, are_valid)
    return bool(are_valid.all())


def log_losses_of_logits(logits: Reals, y: Codes) -> Floats:
    """Return ``-log q_y`` of each row, (N,)."""
    return _over_rows(_write_log_losses, logits, y)


def brier_losses_of_logits(logits: Reals, y: Codes) -> Floats:
    """Return the Brier loss (with its 1/K) of each row, (N,)."""
    return _over_rows(_write_brier_losses, logits, y)


def confidences_of_logits(logits: Reals, likeliest: Codes) -> Floats:
    """Return the posterior of the likeliest class of each row, (N,)."""
    return _over_rows(_write_confidences, logits, likeliest)


def _cut(logits):
    n_rows = max(1, _BLOCK // logits.shape[1])
    return n_rows, -(-logits.shape[0] // n_rows)


def _over_rows(step, logits, classes):
    out = np.empty(logits.shape[0])
    n_rows, n_blocks = _cut(logits)
    over_blocks(step, n_blocks, n_rows, logits, classes, out)
    return out


@kernel
def _find_likeliest(first, last, n_rows, logits, infinity, places, are_valid):
    for block in range(first, last):
        are_valid[block] = True
        for i in range(block * n_rows, min((block + 1) * n_rows, places.size)):
            row = logits[i]
            top = _largest_or_infinity(row, infinity)
            places[i] = _first_place(row, top)
            if not (-infinity < top < infinity):
                are_valid[block] = False


@kernel
def _largest_or_infinity(row, infinity):
    """Return the largest entry; infinity if one is nan."""
    top = -infinity
    for k in range(row.size):
        value = row[k]
        top = larger(value if value < infinity else infinity, top)
    return top


@kernel
def _first_place(row, value):
    """Return the first place of the value; 0 if there is none."""
    size = np.int32(row.size)
    place = size
    for k in range(row.size):  # without leaving it early, so that it vectorizes
        here = np.int32(k) if row[k] == value else size
        place = here if here < place else place
    return place if place < size else np.int32(0)


def _with_shares(write):
    """Return the kernel that passes ``exp(logit - largest)`` of each block of rows to `write`.

    In `out` it passes how far the logit of a row's class lies below the largest.
    """

    def write_rows(first, last, n_rows, logits, classes, out):
        n_classes = logits.shape[1]
        shares = np.empty((n_rows, n_classes))
        flat = shares.ravel()
        for block in range(first, last):
            start = block * n_rows
            size = min(n_rows, out.size - start)
            for i in range(size):
                _subtract_largest(logits[start + i], shares[i])
                out[start + i] = shares[i, classes[start + i]]
            for j in range(size * n_classes):  # over all rows, so that vectors are full
                flat[j] = _exp(flat[j])
            write(shares, classes, start, size, out)

    write_rows.__name__ = write_rows.__qualname__ = f"_write{write.__name__}"  # file in the cache
    return kernel(write_rows)


@kernel
def _subtract_largest(row, out):
    top = np.float64(largest(row))
    for k in range(row.size):
        out[k] = np.float64(row[k]) - top


@inline
def _log_losses(shares, classes, start, size, out):
    totals = np.empty(size)
    for i in range(size):
        totals[i] = total(shares[i])
    for i in range(size):
        out[start + i] = _log(totals[i]) - out[start + i]


@inline
def _brier_losses(shares, classes, start, size, out):
    for i in range(size):
        row, true = shares[i], classes[start + i]
        share = row[true]
        row[true] = 0.0
        rest, squares = sum_and_squares(row)  # rest / sum is 1 - q_y, without its rounding
        added = rest + share
        out[start + i] = (rest * rest + squares) / (added * added) / row.size


@inline
def _confidences(shares, classes, start, size, out):
    for i in range(size):
        out[start + i] = 1.0 / total(shares[i])


_write_log_losses = _with_shares(_log_losses)
_write_brier_losses = _with_shares(_brier_losses)
_write_confidences = _with_shares(_confidences)
