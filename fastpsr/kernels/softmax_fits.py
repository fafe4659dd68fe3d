"""Gradient and curvature of the log loss of softmax models, row by row."""

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.rows import largest, total
from fastpsr.kernels.types import Codes, Floats

_exp = elementary.exp_of_nonpositive


def residual_rows(scores: Floats, y: Codes, weights: Floats, posteriors: Floats) -> None:
    """Write the softmax of rows to `posteriors`, and to `scores` the slopes of the loss by them."""
    n, n_classes = scores.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_residual_rows, -(-n // n_rows), n_rows, scores, y, weights, posteriors)


def curve_rows(moves: Floats, posteriors: Floats, weights: Floats) -> None:
    """Replace moves of the scores of rows by those of the slopes of the loss."""
    n, n_classes = moves.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_curve_rows, -(-n // n_rows), n_rows, moves, posteriors, weights)


@kernel
def _residual_rows(first, last, n_rows, scores, y, weights, posteriors):
    for i in range(first * n_rows, min(last * n_rows, y.size)):
        row, posterior, weight = scores[i], posteriors[i], weights[i]
        top = largest(row)
        for k in range(row.size):
            posterior[k] = _exp(row[k] - top)
        share = 1.0 / total(posterior)
        for k in range(row.size):
            posterior[k] *= share
        for k in range(row.size):
            row[k] = weight * posterior[k]
        row[y[i]] -= weight


@kernel
def _curve_rows(first, last, n_rows, moves, posteriors, weights):
    for i in range(first * n_rows, min(last * n_rows, weights.size)):
        move, posterior, weight = moves[i], posteriors[i], weights[i]
        for k in range(move.size):
            move[k] *= posterior[k]
        mean = total(move)
        for k in range(move.size):
            move[k] = weight * (move[k] - mean * posterior[k])
