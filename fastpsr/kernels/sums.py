"""Sums of losses and weights, class by class: blocks of rows, then the blocks in order."""

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import inlined, kernel, summing
from fastpsr.kernels.elementary import log1p_of_nonnegative, log_of_nonnegative, sigmoid, softplus
from fastpsr.kernels.reductions import sum_and_squares
from fastpsr.kernels.types import Codes, Floats


def sum_by_class(values: Floats, y: Codes, weights: Floats, n_classes: int) -> Floats:
    """Sum weights x values of each class, shape (K,); weight 0 wins over inf."""
    return _summed(_sum_by_class, n_classes, values, y, weights)


def sum_losses_of_log_odds(loss: str, log_odds: Floats, y: Codes, weights: Floats) -> Floats:
    """Sum the losses of each class, shape (2,), from log-odds.

    `loss` is "log" for ``-log q_y``, or "brier" for ``(1 - q_y)^2``, which for more classes is the
    mean over classes of the squared errors.
    """
    return _summed(_OF_LOG_ODDS[loss], 2, log_odds, y, weights)


def sum_losses_of_posteriors(loss: str, q: Floats, y: Codes, weights: Floats) -> Floats:
    """Sum the losses of each class, shape (K,), from rows of posteriors, divided by their sum.

    Posteriors of shape (N,) are those of class 1.
    """
    if q.ndim == 1:
        return _summed(_OF_POSTERIORS[loss], 2, q, y, weights)
    if q.shape[1] == 2:
        return _summed(_OF_PAIRS[loss], 2, q.reshape(-1), y, weights)
    return _summed(_OF_ROWS[loss], q.shape[1], q, y, weights)


def _summed(step, n_classes, scores, y, weights):
    out = np.zeros((count_blocks(y.size), n_classes))
    over_blocks(step, out.shape[0], scores, y, weights, out)
    with np.errstate(over="ignore"):  # losses near the largest float
        return np.ascontiguousarray(out.T).sum(axis=1)  # contiguous: NumPy then sums pairwise


def _summing(write, add, n_scores=1):
    """Return the kernel that adds, by class, the losses of each block that `write` writes.

    It gets `n_scores` of each sample, in a row.
    """
    size = n_scores * BLOCK

    def sum_losses(first, last, scores, y, weights, out):
        room = np.empty(BLOCK)
        for block in range(first, last):  # slices: an index from 0 on vectorizes
            labels = y[block * BLOCK : (block + 1) * BLOCK]
            losses = room[: labels.size]
            write(scores[block * size : (block + 1) * size], labels, losses)
            if weights.size:
                of_block = weights[block * BLOCK : (block + 1) * BLOCK]
                for i in range(losses.size):  # a loss may be infinite where the weight is 0
                    w = of_block[i]
                    losses[i] = losses[i] * w if w > 0.0 else 0.0
            add(losses, labels, out[block])

    sum_losses.__name__ = sum_losses.__qualname__ = f"_sum{write.__name__}"  # its file in the cache
    return kernel(sum_losses)


@inlined
def _add_by_class(losses, labels, out):
    for i in range(losses.size):
        out[labels[i]] += losses[i]


@inlined
def _add_both(losses, labels, out):
    out[0], out[1] = _split(losses, labels)


@summing
def _split(losses, labels):
    """Return the sums of the losses of class 0 and class 1."""
    negative = 0.0
    for i in range(losses.size):  # a choice, not a product: 0 x inf must not show
        loss = losses[i]  # loaded before the choice, and a loop for each sum: so they vectorize
        negative += 0.0 if labels[i] != 0 else loss
    positive = 0.0
    for i in range(losses.size):
        loss = losses[i]
        positive += loss if labels[i] != 0 else 0.0
    return negative, positive


@inlined
def _by_class(values, labels, losses):
    for i in range(losses.size):
        losses[i] = values[i]


@inlined
def _log_losses(log_odds, labels, losses):
    for i in range(losses.size):
        x = log_odds[i]
        losses[i] = softplus(-x if labels[i] != 0 else x)


@inlined
def _brier_losses(log_odds, labels, losses):
    for i in range(losses.size):
        x = log_odds[i]
        wrong = sigmoid(-x if labels[i] != 0 else x)
        losses[i] = wrong * wrong


@inlined
def _log_losses_of_posteriors(q, labels, losses):
    for i in range(losses.size):
        of_one = q[i]
        losses[i] = -log_of_nonnegative(of_one if labels[i] != 0 else 1.0 - of_one)


@inlined
def _brier_losses_of_posteriors(q, labels, losses):
    for i in range(losses.size):
        of_one = q[i]
        wrong = 1.0 - of_one if labels[i] != 0 else of_one
        losses[i] = wrong * wrong


@inlined
def _log_losses_of_pairs(flat, labels, losses):
    for i in range(losses.size):
        first, second = flat[2 * i], flat[2 * i + 1]
        is_second = labels[i] != 0
        odds = (first if is_second else second) / (second if is_second else first)
        losses[i] = log1p_of_nonnegative(odds)


@inlined
def _brier_losses_of_pairs(flat, labels, losses):
    for i in range(losses.size):
        first, second = flat[2 * i], flat[2 * i + 1]
        wrong = (first if labels[i] != 0 else second) / (first + second)
        losses[i] = wrong * wrong


@inlined
def _log_losses_of_rows(q, labels, losses):
    for i in range(losses.size):
        row, true = q[i], labels[i]
        below, _ = sum_and_squares(row[:true])
        above, _ = sum_and_squares(row[true + 1 :])
        losses[i] = (below + above) / row[true]  # odds against the true class
    for i in range(losses.size):
        losses[i] = log1p_of_nonnegative(losses[i])


@inlined
def _brier_losses_of_rows(q, labels, losses):
    for i in range(losses.size):
        row, true = q[i], labels[i]
        below, squares_below = sum_and_squares(row[:true])
        above, squares_above = sum_and_squares(row[true + 1 :])
        rest = below + above
        total = rest + row[true]
        squares = rest * rest + squares_below + squares_above
        losses[i] = squares / (total * total) / row.size


_sum_by_class = _summing(_by_class, _add_by_class)
_sum_log_losses = _summing(_log_losses, _add_both)
_sum_brier_losses = _summing(_brier_losses, _add_both)
_sum_log_losses_of_posteriors = _summing(_log_losses_of_posteriors, _add_both)
_sum_brier_losses_of_posteriors = _summing(_brier_losses_of_posteriors, _add_both)
_sum_log_losses_of_pairs = _summing(_log_losses_of_pairs, _add_both, n_scores=2)
_sum_brier_losses_of_pairs = _summing(_brier_losses_of_pairs, _add_both, n_scores=2)
_sum_log_losses_of_rows = _summing(_log_losses_of_rows, _add_by_class)
_sum_brier_losses_of_rows = _summing(_brier_losses_of_rows, _add_by_class)

# by loss
_OF_LOG_ODDS = {"log": _sum_log_losses, "brier": _sum_brier_losses}
_OF_POSTERIORS = {"log": _sum_log_losses_of_posteriors, "brier": _sum_brier_losses_of_posteriors}
_OF_PAIRS = {"log": _sum_log_losses_of_pairs, "brier": _sum_brier_losses_of_pairs}
_OF_ROWS = {"log": _sum_log_losses_of_rows, "brier": _sum_brier_losses_of_rows}
