"""Scores in narrow cells of an axis, and fits to a few weighted nodes in each cell.

A smooth function, such as a log loss of affine scores, is a polynomial on a narrow cell to nearly
all digits. Its sum over the samples of the cell is then a sum over a few nodes, with weights that
come from the samples' Chebyshev polynomials, whatever the scale and shift.

A sample adds to eight sums at a time: products of T_0 to T_3 with 1 and T_4 make one vector with
few operations, and their sums give those of T_0 to T_7 by differences that lose no digits.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fastpsr.kernels.blocks import BLOCK, count_blocks, cut, over_blocks, over_parts
from fastpsr.kernels.compiler import is_plain, kernel, larger
from fastpsr.kernels.elementary import exp_of_nonpositive
from fastpsr.kernels.reductions import dot, dot_of_three
from fastpsr.kernels.types import DEGREE, Codes, Flags, Floats

_MOST_PARTS = 8  # histograms side by side; a fixed number, so that threads change no bit
_MOST_STEPS = 200
_ENOUGH = 1e-11  # gradient per unit of weight
_SHORT = 1e-13  # step: the root of its gain per unit of weight


def place_on_axis(
    scores: Floats, low: float, width: float, n_cells: int
) -> tuple[NDArray[np.int32], Floats]:
    """Return (cell (N,), t (N,)): the cell of each score, and its place there from -1 to 1.

    Scores beyond the cells, which may be infinite, are at the nearest end.
    """
    with np.errstate(over="ignore"):  # far beyond the cells
        position = np.clip((scores - low) / width, 0.0, n_cells)
    cell = np.minimum(position, n_cells - 1).astype(np.int32)
    return cell, 2.0 * (position - cell) - 1.0


def sum_on_axis(
    scores: Floats,
    y: Codes,
    parts_of: Codes,
    weights: Floats,
    low: float,
    width: float,
    n_cells: int,
    n_parts: int,
) -> Floats:
    """Return (2, n_parts, n_cells, 8): sums of weights x T_0 to T_7."""
    size = 2 * n_parts * n_cells * (DEGREE + 1)
    # each worth its room
    worth = min(count_blocks(scores.size) // 32, scores.size // size)
    n_histograms = int(min(_MOST_PARTS, max(1, worth)))
    out = np.zeros((n_histograms, size))
    bounds = cut(scores.size, n_histograms)
    over_parts(
        _sum_on_axis, bounds, scores, y, parts_of, weights, low, width, n_cells, n_parts, out
    )
    return from_products(out.sum(axis=0).reshape(2, n_parts, n_cells, DEGREE + 1))


def combine_by_part(features: Floats, parts_of: Codes, slopes: Floats, shift: Floats) -> Floats:
    """Return ``slopes[part] @ feature + shift[part]`` for each column of features (p, N).

    A slope of 0 passes over its feature, which may be infinite; `slopes` are (C, p).
    """
    out = np.empty(features.shape[1])
    n_blocks = count_blocks(out.size)
    over_blocks(_combine_by_part, n_blocks, features, parts_of, slopes, shift, out)
    return out


def weigh_nodes(sums: Floats, to_weights: Floats) -> Floats:
    """Return (..., nodes): Chebyshev sums (..., T) times (T, nodes), without BLAS.

    Its threads would spin long after so small a product, on cores that we want.
    """
    out = np.empty((*sums.shape[:-1], to_weights.shape[1]))
    flat = sums.reshape(-1, sums.shape[-1])
    over_blocks(_weigh_nodes, flat.shape[0], flat, to_weights, out.reshape(-1, out.shape[-1]),
                worth_a_thread=8192)  # fmt: skip
    return out


def add_masked(masks: Flags, weights: Floats) -> Floats:
    """Return (M, Q): for each row of `masks` (M, P), the sum of the `weights` (P, Q) it selects."""
    out = np.empty((masks.shape[0], weights.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # of weights near the largest float
        for m, mask in enumerate(masks):
            weights[mask].sum(axis=0, out=out[m])
    return out


def fit_to_nodes(
    features: Floats,
    negatives: Floats,
    positives: Floats,
    offset: Floats,
    start: Floats,
    penalty: Floats,
    lower: Floats,
) -> Floats:
    """Return (M, p + 1): parameters of the least log loss on nodes, and whether they were found.

    The log-odds of node i are ``offset[m] + parameters @ features[m, :, i]`` in fit m. Minimizes
    the mean loss, plus ``parameters @ penalty @ parameters / 2``, over ``parameters >= lower``.

    Parameters
    ----------
    features : ndarray, shape (M, p, Q), or (1, p, Q) for all fits
    negatives, positives : ndarray, shape (M, Q)
        Weight of each node in each fit.
    offset : ndarray, shape (M,)
    start : ndarray, shape (p,), or (M, p)
        Where all fits begin, or each.
    penalty : ndarray, shape (p, p)
        Symmetric, positive semidefinite.
    lower : ndarray, shape (p,)
        -inf where there is no bound.
    """
    n_parameters = features.shape[1]
    out = np.empty((offset.size, n_parameters + 1))
    starts = np.ascontiguousarray(np.broadcast_to(start, (offset.size, n_parameters)))
    over_blocks(_fit_features, offset.size, features, negatives, positives, offset, starts, penalty,
                lower, out, worth_a_thread=2)  # fmt: skip
    return out


def from_products(sums):
    """Return the sums of T_0 to T_7, (..., 8), from the sums of `add_products`."""
    out = np.array(sums)
    # 2 T_4 T_k = T_(4 + k) + T_(4 - k)
    for k in (1, 2, 3):
        out[..., 4 + k] = 2.0 * sums[..., 4 + k] - sums[..., 4 - k]
    return out


@kernel
def _sum_on_axis(
    first, last, bounds, scores, y, parts_of, weights, low, width, n_cells, n_parts, out
):
    per_unit = 1.0 / width
    end, last_cell = np.float64(n_cells), np.int32(n_cells - 1)
    group = np.empty(BLOCK, np.int32)
    t = np.empty(BLOCK)
    for histogram in range(first, last):
        sums = out[histogram]
        for block in range(bounds[histogram], bounds[histogram + 1]):
            of_block = scores[block * BLOCK : (block + 1) * BLOCK]
            classes = y[block * BLOCK : (block + 1) * BLOCK]
            parts = parts_of[block * BLOCK : (block + 1) * BLOCK]
            for i in range(of_block.size):  # a loop of its own, so that it vectorizes
                position = -larger(-larger((of_block[i] - low) * per_unit, 0.0), -end)
                place = min(np.int32(position), last_cell)
                part = np.int32(classes[i]) * np.int32(n_parts) + np.int32(parts[i])
                t[i] = 2.0 * (position - place) - 1.0
                group[i] = part * np.int32(n_cells) + place
            if weights.size:
                own_weights = weights[block * BLOCK : (block + 1) * BLOCK]
                for i in range(of_block.size):
                    add_products(sums, (DEGREE + 1) * np.int64(group[i]), own_weights[i], t[i])
            else:
                for i in range(of_block.size):
                    add_products(sums, (DEGREE + 1) * np.int64(group[i]), 1.0, t[i])


@kernel
def _combine_by_part(first, last, features, parts_of, slopes, shift, out):
    for i in range(first * BLOCK, min(last * BLOCK, out.size)):
        part = np.uint64(parts_of[i])
        value = shift[part]
        for j in range(features.shape[0]):
            if slopes[part, j] != 0.0:
                value += slopes[part, j] * features[j, i]
        out[i] = value


@kernel
def _weigh_nodes(first, last, sums, to_weights, out):
    for i in range(first, last):
        for node in range(out.shape[1]):
            out[i, node] = 0.0
        for k in range(sums.shape[1]):
            value = sums[i, k]
            if value != 0.0:  # many cells are empty
                for node in range(out.shape[1]):
                    out[i, node] += value * to_weights[k, node]


@kernel
def _slopes_of_features(
    features, negatives, positives, offset, parameters, penalty, total, gradient, hessian, error,
    variance,
):  # fmt: skip
    """Write gradient and Hessian by the parameters; `error` and `variance` (Q,) are scratch."""
    n, size = features.shape
    slope, feature = parameters[0], features[0]
    for i in range(size):
        error[i] = offset + slope * feature[i]
    for j in range(1, n):
        slope, feature = parameters[j], features[j]
        for i in range(size):
            error[i] += slope * feature[i]
    for i in range(size):
        log_odds = error[i]
        odds = exp_of_nonpositive(-abs(log_odds))
        above = 1.0 / (1.0 + odds)
        below = odds * above  # the lesser posterior, to full precision
        of_one = below if log_odds < 0.0 else above
        of_zero = above if log_odds < 0.0 else below
        error[i] = negatives[i] * of_one - positives[i] * of_zero
        variance[i] = (negatives[i] + positives[i]) * (above * below)
    for j in range(n):
        gradient[j] = dot(error, features[j])
        for k in range(j + 1):
            value = dot_of_three(variance, features[j], features[k]) + total * penalty[j, k]
            hessian[j, k] = value
            hessian[k, j] = value
        for k in range(n):
            gradient[j] += total * penalty[j, k] * parameters[k]


@kernel
def _solve_free(hessian, gradient, is_free, damping, factor, step):
    """Write the Newton step of the free parameters, by Cholesky; return whether it exists."""
    n = gradient.size
    for j in range(n):
        step[j] = 0.0
        if not is_free[j]:
            continue
        for k in range(j + 1):
            if not is_free[k]:
                continue
            value = hessian[j, k]
            if j == k:
                value *= 1.0 + damping
            for i in range(k):
                if is_free[i]:
                    value -= factor[j, i] * factor[k, i]
            if j == k:
                if not value > 1e-15 * hessian[j, j]:
                    return False
                factor[j, j] = math.sqrt(value)
            else:
                factor[j, k] = value / factor[k, k]
    for j in range(n):
        if is_free[j]:
            value = -gradient[j]
            for i in range(j):
                if is_free[i]:
                    value -= factor[j, i] * step[i]
            step[j] = value / factor[j, j]
    for j in range(n - 1, -1, -1):
        if is_free[j]:
            value = step[j]
            for i in range(j + 1, n):
                if is_free[i]:
                    value -= factor[i, j] * step[i]
            step[j] = value / factor[j, j]
    return True


@kernel
def _fit_features(first, last, features, negatives, positives, offset, start, penalty, lower, out):
    """Projected Newton steps: parameters that a bound holds back stay, the others step."""
    _, n, size = features.shape
    parameters, trial = np.empty(n), np.empty(n)
    gradient, there, step = np.empty(n), np.empty(n), np.empty(n)
    hessian, renewed, factor = np.empty((n, n)), np.empty((n, n)), np.zeros((n, n))
    error, variance = np.empty(size), np.empty(size)  # rows of one array do not vectorize
    is_free = np.empty(n, np.bool_)
    for m in range(first, last):
        of_fit = features[m if features.shape[0] > 1 else 0]
        non, tar = negatives[m], positives[m]
        of_zero = of_one = 0.0
        for i in range(size):
            of_zero += non[i]
        for i in range(size):
            of_one += tar[i]
        total = of_zero + of_one
        for j in range(n):
            parameters[j] = max(start[m, j], lower[j])
        damping = 0.0
        length = 0.0  # of the step before, in the norm of the Hessian; none
        is_found = False
        _slopes_of_features(
            of_fit, non, tar, offset[m], parameters, penalty, total, gradient, hessian, error,
            variance,
        )  # fmt: skip
        for _ in range(_MOST_STEPS):
            largest = 0.0
            for j in range(n):
                is_free[j] = parameters[j] > lower[j] or gradient[j] < 0.0
                if is_free[j]:
                    unit = max(1.0, math.sqrt(max(hessian[j, j] / total, 0.0)))
                    largest = max(largest, abs(gradient[j]) / unit / total)
            at_end = largest < _ENOUGH
            if at_end:  # rounding would decide whether damped steps are good, and go on for ever
                damping = 0.0
            if not _solve_free(hessian, gradient, is_free, damping, factor, step):
                is_found = at_end  # flat: any is as good
                break
            before = 0.0
            is_newton = damping == 0.0
            for j in range(n):
                trial[j] = max(parameters[j] + step[j], lower[j])
                before += gradient[j] * (trial[j] - parameters[j])
                is_newton = is_newton and trial[j] == parameters[j] + step[j]
            last_length, length = length, math.sqrt(max(-before, 0.0) / total)
            # Newton's steps shorten quadratically: the next would be length^3 / last_length^2
            if at_end or (is_newton and length**3 < _SHORT * last_length**2):
                for j in range(n):
                    parameters[j] = trial[j]
                is_found = True
                break
            _slopes_of_features(
                of_fit, non, tar, offset[m], trial, penalty, total, there, renewed, error, variance
            )
            after = 0.0
            for j in range(n):
                after += there[j] * (trial[j] - parameters[j])
            # a step is good if it goes down, and has not turned steeply uphill: it is convex
            if before < 0.0 and after <= -0.5 * before:
                for j in range(n):
                    parameters[j] = trial[j]
                    gradient[j] = there[j]
                    for k in range(n):
                        hessian[j, k] = renewed[j, k]
                damping = damping / 10.0 if damping > 1e-6 else 0.0
            else:
                damping = max(10.0 * damping, 1e-3)
        for j in range(n):
            out[m, j] = parameters[j]
        out[m, n] = 1.0 if is_found else 0.0


@intrinsic
def _compiled_add_products(typing_context, sums, place, w, t):
    def generate(context, builder, signature, arguments):
        array, place, w, t = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        one, two = ir.Constant(t.type, 1.0), ir.Constant(t.type, 2.0)

        def next_after(before, now):  # T_(k + 1) = 2 t T_k - T_(k - 1)
            return builder.fsub(builder.fmul(builder.fmul(two, t), now), before)

        t2 = next_after(one, t)
        t3 = next_after(t, t2)
        t4 = next_after(t2, t3)
        vector = ir.VectorType(ir.DoubleType(), DEGREE + 1)
        pointer = builder.bitcast(builder.gep(data, [place]), vector.as_pointer())
        low = _from_lanes(builder, vector, [one, t, t2, t3] * 2)
        high = _from_lanes(builder, vector, [w] * 4 + [builder.fmul(w, t4)] * 4)
        added = builder.fadd(builder.load(pointer, align=8), builder.fmul(low, high))
        builder.store(added, pointer, align=8)
        return context.get_dummy_value()

    return types.void(sums, types.int64, types.float64, types.float64), generate


def _from_lanes(builder, vector, values):
    lanes = ir.Constant(vector, ir.Undefined)
    for lane, value in enumerate(values):
        lanes = builder.insert_element(lanes, value, ir.Constant(ir.IntType(32), lane))
    return lanes


def _plain_add_products(sums, place, w, t):
    t2 = 2.0 * t * t - 1.0
    t3 = 2.0 * t * t2 - t
    t4 = 2.0 * t * t3 - t2
    for lane, value in enumerate((1.0, t, t2, t3, t4, t4 * t, t4 * t2, t4 * t3)):
        sums[place + lane] += w * value


#: ``add_products(sums, place, w, t)`` adds w times eight products to ``sums[place : place + 8]``.
add_products = _plain_add_products if is_plain() else _compiled_add_products
