"""Affine calibrators of several classes, fitted to many replicates: each replicate on a thread.

The rows that a replicate draws are laid side by side, and all fits and losses of the replicate are
computed from there. Newton steps begin at the fits to the data, which are near: a search that needs
more than these is left to others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels import elementary
from fastpsr.kernels.axis import _solve_free
from fastpsr.kernels.blocks import over_blocks
from fastpsr.kernels.compiler import kernel, larger
from fastpsr.kernels.side_by_side import _add_up, _exponentials, _sum_fit, _width
from fastpsr.kernels.types import Codes, Flags, Floats

__all__ = ["refit_rows"]

_MOST_STEPS = 8
_SHORT = 1e-5  # length of a step, root of its gain per unit of weight; the next is about its square

_log = elementary.log_of_nonnegative


def refit_rows(
    scores: Floats,
    y: Codes,
    fold_of_row: Codes,
    weights: Floats,
    masks: Flags,
    served: NDArray[np.int64],
    priors: Floats,
    starts: Floats,
    raw: Floats,
    bend: Floats,
    floor: float,
    *,
    by_bias: bool,
    is_log: bool,
) -> tuple[Floats, Floats, Floats, Flags]:
    """Fit calibrators to replicates, and sum the losses of the rows that each serves.

    Parameters
    ----------
    scores : ndarray, shape (N, K)
        Log-posteriors.
    y, fold_of_row : ndarray, shape (N,)
    weights : ndarray, shape (R, N)
        Of the rows in each replicate.
    masks : ndarray of bool, shape (C, F)
        Which folds train each calibrator.
    served : ndarray of int64, shape (E, 2)
        Pairs of a calibrator and a fold whose losses are summed.
    priors : ndarray, shape (K,), or (0,)
        At which classes are weighed; by default at their frequencies.
    starts : ndarray, shape (C, 1 + K)
        Scale and biases where fits begin.
    raw : ndarray, shape (N,)
        Losses that are summed besides.
    bend : ndarray, shape (n, n, n), or (0, 0, 0)
        Derivatives of the mean Hessian about there, by scale and biases, or by scale alone.
    floor : float
        Lower scores are raised to it in fits; -inf if all are finite.
    by_bias : bool
        Whether biases are fitted.
    is_log : bool
        Whether losses after calibration are those of the log rule, else of the Brier rule.

    Returns
    -------
    tuple of ndarray
        Sums of the raw losses by class (R, K), of the losses of each pair (R, E, K), and of weights
        by fold (R, F, K); and whether all fits of a replicate were found (R,).
    """
    n_replicates, n_classes = weights.shape[0], scores.shape[1]
    n_folds = masks.shape[1]
    of_raw = np.zeros((n_replicates, n_classes))
    losses = np.zeros((n_replicates, served.shape[0], n_classes))
    of_folds = np.zeros((n_replicates, n_folds, n_classes))
    is_found = np.zeros(n_replicates, np.bool_)
    width = _width(n_classes, max(1, y.size // n_folds))
    over_blocks(
        _refit, n_replicates, scores, y, fold_of_row, weights, masks, served, priors, starts, raw,
        bend, floor, width, by_bias, is_log, of_raw, losses, of_folds, is_found, worth_a_thread=1,
    )  # fmt: skip
    return of_raw, losses, of_folds, is_found


@kernel
def _lay_out(scores, y, fold_of_row, weights, floor, x, labels, mass, bounds, blocks, places):
    """Lay rows of positive weight side by side, those of a fold in blocks bounds[f:f + 2]."""
    n_classes, width, n_folds = scores.shape[1], mass.shape[1], blocks.size
    for fold in range(n_folds):
        places[fold] = 0
    for i in range(y.size):
        places[fold_of_row[i]] += weights[i] > 0.0
    bounds[0] = 0
    for fold in range(n_folds):  # with room for a row more
        bounds[fold + 1] = bounds[fold] + places[fold] // width + 1
        blocks[fold], places[fold] = bounds[fold], 0
    for i in range(y.size):  # each row is written where the next may replace it: no branches
        fold = fold_of_row[i]
        block, s = blocks[fold], places[fold]
        placed, row = x[block, 0], scores[i]
        for k in range(n_classes):
            placed[k, s] = larger(row[k], floor)
        labels[block, s] = y[i]
        mass[block, s] = weights[i]
        s += weights[i] > 0.0
        is_full = s == width
        blocks[fold] = block + is_full
        places[fold] = 0 if is_full else s
    for fold in range(n_folds):
        block = blocks[fold]
        for s in range(places[fold], width):
            mass[block, s] = 0.0
            labels[block, s] = 0
            for k in range(n_classes):
                x[block, 0, k, s] = 0.0


@kernel
def _add_losses(first, last, x, labels, mass, point, is_log, top, norm, q, out):
    """Add to `out` (K,) the losses by class after calibration of the rows in some blocks."""
    n_classes, squares = out.size, np.empty(norm.size)
    for block in range(first, last):
        scores = x[block]
        _exponentials(scores, point[:1], point[1:], top, q)
        for s in range(norm.size):
            norm[s] = squares[s] = 0.0
        for k in range(n_classes):
            values = q[k]
            for s in range(norm.size):
                norm[s] += values[s]
            for s in range(norm.size):
                squares[s] += values[s] * values[s]
        if is_log:
            for s in range(norm.size):
                top[s] += _log(norm[s])
        for s in range(norm.size):
            true = np.int64(labels[block, s])
            if is_log:
                loss = top[s] - (point[0] * scores[0, true, s] + point[1 + true])
            else:
                own = q[true, s]
                missed = norm[s] - own
                others = squares[s] - own * own
                loss = (others + missed * missed) / (norm[s] * norm[s] * n_classes)
            out[true] += mass[block, s] * loss


@kernel
def _factors(of_classes, priors, factors):
    """Write what classes weigh besides; return the total, or 0 where the priors cannot be met."""
    total = 0.0
    for k in range(factors.size):
        total += of_classes[k]
        factors[k] = 1.0
    if priors.size:
        for k in range(factors.size):
            factors[k] = 0.0
            if of_classes[k] > 0.0:
                factors[k] = priors[k] / of_classes[k] * total
            elif priors[k] > 0.0:
                return 0.0
    return (of_classes * factors).sum()


@kernel
def _search(
    folds, bounds, x, labels, mass, factors, total, by_bias, first_sums, bend, slopes, spreads,
    point,
):  # fmt: skip
    """Take Newton steps from `point`; return whether they led to the optimum.

    `first_sums` are slopes and spreads at the beginning, or empty. The first step is bent as the
    curvature of the data changes along it, by the method of Chebyshev.
    """
    n = point.size if by_bias else 1
    gradient, hessian, step = np.empty(n), np.empty((n, n)), np.empty(n)
    factor, is_free = np.zeros((n, n)), np.ones(n, np.bool_)
    if by_bias:  # they are determined but for a constant
        is_free[n - 1] = False
    last_length = 0.0
    for number in range(_MOST_STEPS):
        for k in range(n):
            gradient[k] = 0.0
            for j in range(n):
                hessian[k, j] = 0.0
        first_slopes, first_spreads = first_sums
        if number == 0 and first_slopes.size:
            _add_up(folds, np.int64(1), first_slopes, first_spreads, gradient, hessian)
        else:
            _sum_fit(np.int64(0), folds.size, folds, bounds, x, labels, mass, factors, point,
                     by_bias, slopes, spreads)  # fmt: skip
            _add_up(folds, np.int64(1), slopes, spreads, gradient, hessian)
        if not _solve_free(hessian, gradient, is_free, 0.0, factor, step):
            return False
        gain = 0.0
        for k in range(n):
            gain -= gradient[k] * step[k]
        length = math.sqrt(max(gain, 0.0) / total)
        if not (gain >= 0.0 and (number == 0 or length <= last_length)):
            return False
        for k in range(n):
            point[k] += step[k]
        if length < _SHORT:
            return True
        last_length = length
        if number == 0 and bend.size:
            for k in range(n):
                gradient[k] = 0.0
                for i in range(n):
                    for j in range(n):
                        gradient[k] += 0.5 * total * bend[k, i, j] * step[i] * step[j]
            if _solve_free(hessian, gradient, is_free, 0.0, factor, step):
                for k in range(n):
                    point[k] += step[k]
    return False


@kernel
def _refit(
    first, last, scores, y, fold_of_row, weights, masks, served, priors, starts, raw, bend, floor,
    width, by_bias, is_log, of_raw, losses, of_folds, is_found,
):  # fmt: skip
    n_classes, (n_calibrators, n_folds) = scores.shape[1], masks.shape
    most = y.size // width + n_folds
    x, mass = np.empty((most, 1, n_classes, width)), np.empty((most, width))
    labels = np.empty((most, width), y.dtype)
    bounds, blocks = np.empty(n_folds + 1, np.int64), np.empty(n_folds, np.int64)
    places, everything = np.empty(n_folds, np.int64), np.arange(n_folds)
    n_filled = -(-n_classes // 4) * 4 if by_bias else 0
    slopes, spreads = np.empty((n_folds, 2, 1 + n_classes)), np.empty((n_folds, n_filled, n_filled))
    first_slopes, first_spreads = np.empty_like(slopes), np.empty_like(spreads)
    factors, points = np.ones(n_classes), np.empty(starts.shape)
    top, norm, q = np.empty(width), np.empty(width), np.empty((n_classes, width))
    for replicate in range(first, last):
        own, of_classes = weights[replicate], of_folds[replicate]
        for i in range(y.size):  # weight 0 wins over inf
            of_raw[replicate, y[i]] += own[i] * raw[i] if own[i] > 0.0 else 0.0
            of_classes[fold_of_row[i], y[i]] += own[i]
        _lay_out(scores, y, fold_of_row, own, floor, x, labels, mass, bounds, blocks, places)
        shares_first = priors.size == 0
        if shares_first:  # all begin at the fit of the first: one pass for all
            for k in range(n_classes):
                factors[k] = 1.0
            _sum_fit(np.int64(0), n_folds, everything, bounds, x, labels, mass, factors, starts[0],
                     by_bias, first_slopes, first_spreads)  # fmt: skip
        found = True
        for c in range(n_calibrators):
            folds = np.flatnonzero(masks[c])
            of_training = np.zeros(n_classes)
            for fold in folds:
                for k in range(n_classes):
                    of_training[k] += of_classes[fold, k]
            total = _factors(of_training, priors, factors)
            points[c] = starts[0 if shares_first else c]
            first_sums = (first_slopes[: n_folds * shares_first], first_spreads)
            found = total > 0.0 and _search(
                folds, bounds, x, labels, mass, factors, total, by_bias, first_sums, bend,
                slopes, spreads, points[c],
            )  # fmt: skip
            if not found or (floor > -math.inf and not points[c, 0] > 0.0):
                found = False
                break
        is_found[replicate] = found
        if not found:
            continue
        if floor > -math.inf:
            _lay_out(scores, y, fold_of_row, own, -math.inf, x, labels, mass, bounds, blocks,
                     places)  # fmt: skip
        for pair in range(served.shape[0]):
            c, fold = served[pair]
            _add_losses(bounds[fold], bounds[fold + 1], x, labels, mass, points[c], is_log, top,
                        norm, q, losses[replicate, pair])  # fmt: skip
