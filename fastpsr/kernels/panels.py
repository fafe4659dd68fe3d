"""Tabulated integrals: piecewise polynomials in the log-odds, and points to average a weight at.

The tables are those of ``fastpsr.rules.panels`` and ``fastpsr.rules.simplex``, which say what they
hold.
"""

import math

import numpy as np

from fastpsr.kernels.blocks import BLOCK, count_blocks, over_blocks
from fastpsr.kernels.compiler import inlined, kernel
from fastpsr.kernels.elementary import exp_of_nonpositive
from fastpsr.kernels.types import Codes, Counts, Flags, Floats

_LEAST = 1e-300  # of a coordinate of a point: a weight may be infinite at 0

_RIGHT, _PER_WIDTH, _BEYOND = range(3)  # what a panel's row starts with; powers of s follow
_LOW, _HIGH, _PER_UNIT, _ALL, _AT_LOW, _RISE, _AT_HIGH, _FALL, _OFFSET = range(9)  # of a table


def look_up_tails(
    log_odds: Floats,
    y: Codes | Flags,
    tables: tuple[Codes, Floats, Floats, Floats],
    *,
    slopes: bool,
) -> Floats:
    """Return the integral beyond each sample, by the table of its label, or its slope there."""
    out = np.empty(log_odds.size)
    over_blocks(_look_up, count_blocks(out.size), log_odds, y, *tables, slopes, out)
    return out


@inlined
def _find_panel(x, label, cells, lefts, ends):
    """Return the last panel that starts at or before x, by a search in the cell of x."""
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
def _look_up(first, last, log_odds, y, cells, lefts, rows, ends, slopes, out):
    for i in range(first * BLOCK, min(last * BLOCK, out.size)):
        label = 1 if y[i] else 0
        x = log_odds[i] if label else -log_odds[i]
        if not (x < ends[label, _HIGH]):  # also for nan, which must not become an index
            height, fall = ends[label, _AT_HIGH], ends[label, _FALL]
            decay = math.exp(-fall * (x - ends[label, _HIGH]))
            value = (height if slopes else height / fall) * decay
        elif x < ends[label, _LOW]:
            length, height = ends[label, _LOW] - x, ends[label, _AT_LOW]
            rise = ends[label, _RISE]
            if slopes:
                value = height
                if height > 0.0 and rise != 0.0:  # the length may be infinite
                    value *= math.exp(-rise * length)
            else:
                reach = length if rise == 0.0 else -math.expm1(-rise * length) / rise
                value = ends[label, _ALL] + (height * reach if height > 0.0 else 0.0)
        else:
            p = _find_panel(x, label, cells, lefts, ends)
            s = (rows[p, _RIGHT] - x) * rows[p, _PER_WIDTH]
            value = 0.0
            if slopes:
                for j in range(rows.shape[1] - 1, _BEYOND, -1):
                    value = value * s + rows[p, j] * (j - _BEYOND)
                value *= rows[p, _PER_WIDTH]
            else:
                for j in range(rows.shape[1] - 1, _BEYOND - 1, -1):
                    value = value * s + rows[p, j]
            value = value if value > 0.0 else 0.0
        out[i] = -value if slopes and label else value


@kernel
def place_on_boundaries(
    log_q: Floats,
    classes: Codes,
    reach: Floats,
    nodes: Floats,
    points: Floats,
    shares: Floats,
    ends: Counts,
) -> None:
    """Write the points that average the weight for each row's class, and their shares.

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
                path = _expm1(nodes[s, 0] * scale)  # nodes are dense near the path's start,
                shares[at] = (high - low) * (1.0 + path)  # and count for what they stand for
                _mix_corners(path, h, i, rest, nodes[s], points[at])
                at += 1
                low = high
                s += 1 if high == edge else 0
        ends[r] = at


@inlined
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


@inlined
def _expm1(x):
    """exp(x) - 1 to a relative 1e-10, more accurate than the sampling."""
    large = exp_of_nonpositive(-abs(x))
    large = (1.0 / large if x > 0.0 else large) - 1.0
    return x * (1.0 + x * (0.5 + x / 6.0)) if abs(x) < 1e-3 else large


@inlined
def _mix_corners(path, h, i, rest, node, point):
    """Write a point of the simplex whose corners are q' and all classes but h and i."""
    others = node[1] * -_expm1(-path)
    low, high = min(h, i), max(h, i)
    for j in range(low):
        point[j] = others * rest[j] + node[j + 2]
    for j in range(low + 1, high):
        point[j] = others * rest[j] + node[j + 1]
    for j in range(high + 1, rest.size):
        point[j] = others * rest[j] + node[j]
    point[i] = max(others * rest[i], _LEAST)
    point[h] = node[1] * exp_of_nonpositive(-path)
