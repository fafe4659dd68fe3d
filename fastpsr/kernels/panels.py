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

_RIGHT, _PER_WIDTH, _BEYOND, _FIRST = range(4)  # what a panel's row starts with
_LOW, _HIGH, _PER_UNIT, _ALL, _AT_LOW, _RISE, _AT_HIGH, _FALL, _OFFSET = range(9)  # of a table


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
    cell = int(ends[label, _OFFSET] + math.floor((x - ends[label, _LOW]) * ends[label, _PER_UNIT]))
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

    A node holds a position along the path from certainty to q and the K - 1 weights of a simplex's
    corners. Node s of S owns the s-th part of the cumulated posteriors of the other classes, so
    that each class gets its exact share and all moves smoothly with q. ``ends[r]`` is where the
    points of row r end.
    """
    n_nodes, n_classes = nodes.shape[0], log_q.shape[1]
    rest = np.empty(n_classes)
    at = 0
    for r in range(log_q.shape[0]):
        h = classes[r]
        _share_out(log_q[r], h, rest)
        scale = math.log1p(reach[r])
        s, low, top = 0, 0.0, 0.0
        for i in range(n_classes):
            top += rest[i]
            while s < n_nodes and low < top:
                edge = (s + 1.0) / n_nodes
                high = edge if edge < top else top
                stretch = _exp_of_nonnegative(nodes[s, 0] * scale)  # nodes are dense near the
                shares[at] = (high - low) * stretch  # path's start: they count for their part
                _mix_corners(_exp(1.0 - stretch), h, i, rest, nodes[s], points[at])
                at += 1
                low = high
                s += 1 if high == edge else 0
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
def _exp_of_nonnegative(x):
    return 1.0 / _exp(-x)


@inline
def _mix_corners(q_h, h, i, rest, node, point):
    """A point of the simplex whose corners are the posterior reached and all classes but h, i."""
    corner = 2
    for j in range(rest.size):
        point[j] = node[1] * (1.0 - q_h) * rest[j]
        if j != h and j != i:
            point[j] += node[corner]
            corner += 1
    point[h] = node[1] * q_h


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
