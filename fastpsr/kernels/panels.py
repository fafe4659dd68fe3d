"""Tabulated integrals: piecewise polynomials in the log-odds, and points to average a weight at.

The tables are those of ``fastpsr.rules.panels`` and ``fastpsr.rules.simplex``, which say what they
hold.
"""

import math

import numpy as np

from fastpsr.kernels import elementary
from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import elementary as inline
from fastpsr.kernels.compiler import kernel

_exp = elementary.exp_of_nonpositive

_RIGHT, _PER_WIDTH, _BEYOND, _FIRST = 0, 1, 2, 3  # what a panel's row starts with
_LOW, _HIGH, _PER_CELL, _OFFSET = 0, 1, 2, 3  # the table's range, its cells of equal width
_ALL, _AT_LOW, _RISE, _AT_HIGH, _FALL = 4, 5, 6, 7, 8  # what continues it on both sides


def tail_integrals(log_odds, y, cells, lefts, rows, ends):
    """Integral of the class's integrand beyond each sample, from the tables of both classes."""
    out = np.empty(log_odds.size)
    arrays = (log_odds, y, cells, lefts, rows, ends, out)
    over_blocks(_tail_integrals, count_blocks(out.size), *arrays)
    return out


def tail_slopes(log_odds, y, cells, lefts, rows, ends):
    """Derivative of :func:`tail_integrals` with respect to the log-odds."""
    out = np.empty(log_odds.size)
    arrays = (log_odds, y, cells, lefts, rows, ends, out)
    over_blocks(_tail_slopes, count_blocks(out.size), *arrays)
    return out


@inline
def _find_panel(x, label, cells, lefts, ends):
    """The last panel whose left edge is not right of x, by a search in the cell of x."""
    cell = int(ends[label, _OFFSET] + math.floor((x - ends[label, _LOW]) * ends[label, _PER_CELL]))
    low, high = cells[cell], cells[cell + 1]
    while low < high:
        middle = (low + high + 1) >> 1
        if lefts[middle] <= x:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def _tail_integrals(first, last, log_odds, y, cells, lefts, rows, ends, out):
    for i in range(first * BLOCK, min(last * BLOCK, out.size)):
        label = y[i]
        x = log_odds[i] if label else -log_odds[i]
        end = ends[label]
        if not (x < end[_HIGH]):  # also for nan, which must not become an index
            out[i] = end[_AT_HIGH] / end[_FALL] * math.exp(-end[_FALL] * (x - end[_HIGH]))
        elif x < end[_LOW]:
            out[i] = end[_ALL]
            length, rise = end[_LOW] - x, end[_RISE]
            if end[_AT_LOW] > 0.0:
                reach = length if rise == 0.0 else -math.expm1(-rise * length) / rise
                out[i] += end[_AT_LOW] * reach
        else:
            row = rows[_find_panel(x, label, cells, lefts, ends)]
            s = (row[_RIGHT] - x) * row[_PER_WIDTH]
            value = 0.0
            for j in range(row.size - 1, _FIRST - 1, -1):
                value = value * s + row[j]
            value = value * s + row[_BEYOND]
            out[i] = value if value > 0.0 else 0.0


@kernel
def _tail_slopes(first, last, log_odds, y, cells, lefts, rows, ends, out):
    for i in range(first * BLOCK, min(last * BLOCK, out.size)):
        label = y[i]
        x = log_odds[i] if label else -log_odds[i]
        end = ends[label]
        if not (x < end[_HIGH]):
            value = end[_AT_HIGH] * math.exp(-end[_FALL] * (x - end[_HIGH]))
        elif x < end[_LOW]:
            value, length = end[_AT_LOW], end[_LOW] - x
            if value > 0.0 and end[_RISE] != 0.0:
                value *= math.exp(-end[_RISE] * length)
        else:
            row = rows[_find_panel(x, label, cells, lefts, ends)]
            s = (row[_RIGHT] - x) * row[_PER_WIDTH]
            value = 0.0
            for j in range(row.size - 1, _FIRST - 1, -1):
                value = value * s + row[j] * (j - _FIRST + 1)
            value *= row[_PER_WIDTH]
            value = value if value > 0.0 else 0.0
        out[i] = -value if label else value


@kernel
def place_on_boundaries(log_q, classes, reach, nodes, points, shares, ends):
    """Write the points at which the weight is averaged for each row's class, and their shares.

    A node is (position along the path, K exponential variates); node s of S owns the s-th part of
    the cumulated posteriors of the other classes, so that a point moves smoothly with them and
    every class has its exact share. ``ends[r]`` is where the points of row r end.
    """
    n_nodes, n_classes = nodes.shape[0], log_q.shape[1]
    rest = np.empty(n_classes)
    at = 0
    for r in range(log_q.shape[0]):
        h = classes[r]
        _share_out(log_q[r], h, rest)
        scale = math.log1p(reach[r])
        s, low, i, top = 0, 0.0, -1, 0.0
        while s < n_nodes and i < n_classes:
            if low >= top:  # the next class that has a part
                i += 1
                if i < n_classes:
                    top += rest[i]
                continue
            high = min((s + 1.0) / n_nodes, top)
            stretch = math.exp(nodes[s, 0] * scale)
            shares[at] = (high - low) * stretch
            _mix(math.exp(1.0 - stretch), h, i, rest, nodes[s], points[at])
            at += 1
            s += 1 if high < top or high * n_nodes >= s + 1.0 else 0
            low = high
        ends[r] = at


@inline
def _share_out(log_q, h, rest):
    """Write the posteriors of the classes other than h, divided by their sum."""
    top = -np.inf
    for j in range(log_q.size):
        if j != h and log_q[j] > top:
            top = log_q[j]
    total = 0.0
    for j in range(log_q.size):
        rest[j] = math.exp(log_q[j] - top) if j != h and log_q[j] > -np.inf else 0.0
        total += rest[j]
    for j in range(log_q.size):
        rest[j] /= total if total > 0.0 else 1.0


@inline
def _mix(q_h, h, i, rest, node, point):
    """A point uniform on the simplex whose corners are the posterior and all classes but h, i."""
    weight = node[1]
    total = weight
    slot = 2
    for j in range(rest.size):
        point[j] = weight * (q_h if j == h else (1.0 - q_h) * rest[j])
        if j != h:
            if j != i:
                point[j] += node[slot]
                total += node[slot]
            slot += 1
    for j in range(rest.size):
        point[j] /= total


@kernel
def average_rows(values, shares, ends, out):
    """Write each row's mean of its values, weighted by its shares."""
    start = 0
    for r in range(ends.size):
        total, weight = 0.0, 0.0
        for k in range(start, ends[r]):
            total += shares[k] * values[k]
            weight += shares[k]
        out[r] = total / weight if weight > 0.0 else 0.0
        start = ends[r]
