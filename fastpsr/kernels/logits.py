"""From rows of logits, (N, K), without the log-posteriors of all rows."""

import math

import numpy as np

from fastpsr.kernels.blocks import over_blocks
from fastpsr.kernels.compiler import kernel, larger, summing
from fastpsr.kernels.elementary import exp_of_distance, log_of_nonnegative
from fastpsr.kernels.types import Codes, Floats, Reals

_BLOCK = 2048  # logits, so that a block stays in the first-level cache


def likeliest_of_logits(logits: Reals, places: Codes) -> bool:
    """Write the first place of each row's largest entry; return whether the logits are valid.

    They are if no entry is nan or +inf, and every row has a finite one.
    """
    n_rows, n_blocks = _cut(logits)
    are_valid = np.empty(n_blocks, np.bool_)
    infinity = logits.dtype.type(math.inf)  # comparisons in double precision would be slower
    over_blocks(_find_likeliest, n_blocks, n_rows, logits, infinity, places, are_valid)
    return bool(are_valid.all())


def values_of_logits(name: str, logits: Reals, likeliest: Codes, *y: Codes) -> Floats:
    """Return a value of each row, (N,); `likeliest` is where its largest entry is.

    It is "log" for ``-log q_y``, "brier" for the Brier loss with its 1/K, or "confidence", without
    `y`, for the posterior of the likeliest class.
    """
    out = np.empty(logits.shape[0])
    n_rows, n_blocks = _cut(logits)
    over_blocks(_WRITE[name], n_blocks, n_rows, logits, likeliest, *y, out)
    return out


def _cut(logits):
    n_rows = max(1, _BLOCK // logits.shape[1])
    return n_rows, -(-logits.shape[0] // n_rows)


@kernel
def _find_likeliest(first, last, n_rows, logits, infinity, places, are_valid):
    size = np.int32(logits.shape[1])
    for block in range(first, last):
        are_valid[block] = True
        for i in range(block * n_rows, min((block + 1) * n_rows, places.size)):
            row = logits[i]
            top = -infinity
            for k in range(row.size):  # infinity if an entry is nan
                top = larger(row[k] if row[k] < infinity else infinity, top)
            place = size
            for k in range(row.size):  # without leaving it early, so that it vectorizes
                here = np.int32(k) if row[k] == top else size
                place = here if here < place else place
            places[i] = place if place < size else np.int32(0)
            if not (-infinity < top < infinity):
                are_valid[block] = False


@kernel
def _write_log_losses(first, last, n_rows, logits, likeliest, y, out):
    totals = np.empty(n_rows)
    for block in range(first, last):
        start = block * n_rows
        of_block = out[start : start + n_rows]
        for i in range(of_block.size):
            row = logits[start + i]
            top = np.float64(row[likeliest[start + i]])
            totals[i] = _total_share(row, top)
            of_block[i] = top - np.float64(row[y[start + i]])
        for i in range(of_block.size):  # a loop of its own, so that it vectorizes
            of_block[i] += log_of_nonnegative(totals[i])


@kernel
def _write_brier_losses(first, last, n_rows, logits, likeliest, y, out):
    for i in range(first * n_rows, min(last * n_rows, out.size)):
        row, true = logits[i], y[i]
        top = np.float64(row[likeliest[i]])
        rest, squares = _other_shares(row, top, true)  # rest / sum: 1 - q_y, without its rounding
        whole = rest + _share(np.float64(row[true]) - top)
        out[i] = (rest * rest + squares) / (whole * whole) / row.size


@kernel
def _write_confidences(first, last, n_rows, logits, likeliest, out):
    for i in range(first * n_rows, min(last * n_rows, out.size)):
        row = logits[i]
        out[i] = 1.0 / _total_share(row, np.float64(row[likeliest[i]]))


_WRITE = {
    "log": _write_log_losses, "brier": _write_brier_losses, "confidence": _write_confidences,
}  # fmt: skip


@kernel
def _share(distance):
    """Return exp(distance); not inlined before additions may be reordered: its own may not."""
    return exp_of_distance(distance)


@summing
def _total_share(row, top):
    """Return the sum of exp(entry - top)."""
    added = 0.0
    for k in range(row.size):
        added += _share(np.float64(row[k]) - top)
    return added


@summing
def _other_shares(row, top, true):
    """Return the sum of exp(entry - top) over entries but one, and the sum of the squares."""
    added = squares = 0.0
    for k in range(row.size):
        share = 0.0 if k == true else _share(np.float64(row[k]) - top)
        added += share
        squares += share * share
    return added, squares
