"""Gradient and curvature of the log loss of softmax models, row by row."""

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, over_blocks
from fastpsr.kernels.compiler import kernel
from fastpsr.kernels.rows import largest, total
from fastpsr.kernels.types import Codes, Floats, Reals

__all__ = ["curve_rows", "residual_rows", "scaled_products", "scaled_residuals"]

_exp = elementary.exp_of_nonpositive
_PARTS = 64  # with sums of their own, so that these do not depend on the number of threads


def residual_rows(scores: Floats, y: Codes, weights: Floats, posteriors: Floats) -> None:
    """Write the softmax of rows to `posteriors`, and to `scores` the slopes of the loss by them."""
    n, n_classes = scores.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_residual_rows, -(-n // n_rows), n_rows, scores, y, weights, posteriors)


def curve_rows(moves: Reals, posteriors: Reals, weights: Floats) -> None:
    """Replace moves of the scores of rows by those of the slopes of the loss."""
    n, n_classes = moves.shape
    n_rows = max(1, BLOCK // n_classes)
    over_blocks(_curve_rows, -(-n // n_rows), n_rows, moves, posteriors, weights)


def scaled_residuals(
    rows: Floats, y: Codes, weights: Floats, scale: Floats, bias: Floats, posteriors: Floats
) -> tuple[Floats, Floats]:
    """Return slopes of the loss by `scale` and `bias`, (K, 2), and curvatures (2, K, 2).

    Scores of rows (N, K) are ``scale x rows + bias``; their softmax is written to `posteriors`.
    The curvatures are those of each parameter, and of each with the bias of its class.
    """
    sums = np.zeros((_PARTS, 5, scale.size))
    over_blocks(
        _scaled_residuals, _PARTS, rows, y, weights, scale, bias, posteriors, sums,
        worth_a_thread=_worth(rows),
    )  # fmt: skip
    slope, slope_of_bias, squares, crossed, plain = sums.sum(axis=0)
    gradient = np.column_stack([slope, slope_of_bias])
    return gradient, np.stack(
        [np.column_stack([squares, plain]), np.column_stack([crossed, plain])]
    )


def scaled_products(rows: Floats, weights: Floats, posteriors: Floats, moves: Floats) -> Floats:
    """Return the change of slopes (K, 2) by scale and bias with these, `moves` (K, 2)."""
    sums = np.zeros((_PARTS, 2, moves.shape[0]))
    move_scale, move_bias = np.ascontiguousarray(moves.T)
    over_blocks(
        _scaled_products, _PARTS, rows, weights, posteriors, move_scale, move_bias, sums,
        worth_a_thread=_worth(rows),
    )  # fmt: skip
    return np.ascontiguousarray(sums.sum(axis=0).T)


def _worth(rows: Floats) -> int:
    """Return the number of parts that a thread of its own is worth."""
    return 1 + 8 * BLOCK * _PARTS // max(rows.size, 1)


@kernel
def _softmax(row, out):
    top = largest(row)
    for k in range(row.size):
        out[k] = _exp(row[k] - top)
    share = 1.0 / total(out)
    for k in range(row.size):
        out[k] *= share


@kernel
def _residual_rows(first, last, n_rows, scores, y, weights, posteriors):
    for i in range(first * n_rows, min(last * n_rows, y.size)):
        row, posterior, weight = scores[i], posteriors[i], weights[i]
        _softmax(row, posterior)
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


@kernel
def _scaled_residuals(first, last, rows, y, weights, scale, bias, posteriors, sums):
    n, n_classes = rows.shape
    row = np.empty(n_classes)
    for part in range(first, last):
        added = sums[part]
        for i in range(part * n // _PARTS, (part + 1) * n // _PARTS):
            x, posterior, weight = rows[i], posteriors[i], weights[i]
            for k in range(n_classes):
                row[k] = scale[k] * x[k] + bias[k]
            _softmax(row, posterior)
            own = y[i]
            for k in range(n_classes):
                slope = weight * posterior[k]
                curvature = slope * (1.0 - posterior[k])
                added[0, k] += slope * x[k]
                added[1, k] += slope
                added[2, k] += curvature * x[k] * x[k]
                added[3, k] += curvature * x[k]
                added[4, k] += curvature
            added[0, own] -= weight * x[own]
            added[1, own] -= weight


@kernel
def _scaled_products(first, last, rows, weights, posteriors, move_scale, move_bias, sums):
    n, n_classes = rows.shape
    move = np.empty(n_classes)
    for part in range(first, last):
        added = sums[part]
        for i in range(part * n // _PARTS, (part + 1) * n // _PARTS):
            x, posterior, weight = rows[i], posteriors[i], weights[i]
            for k in range(n_classes):
                move[k] = posterior[k] * (move_scale[k] * x[k] + move_bias[k])
            mean = total(move)
            for k in range(n_classes):
                change = weight * (move[k] - mean * posterior[k])
                added[0, k] += change * x[k]
                added[1, k] += change
