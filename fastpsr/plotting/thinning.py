"""Leave out the vertices of long curves that cannot change the drawing."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from fastpsr.data import Floats

_FINEST = 1 << 13  # cells across linear axes: finer than the pixels of any screen
_PROBITS = 8.0  # probit of the smallest rate that is told from 0


def thin(x: Floats, y: Floats, x_grid: Floats, y_grid: Floats) -> NDArray[np.int64]:
    """Return the places of the vertices that a monotone curve must keep.

    First go vertices within a horizontal or vertical stretch, which changes nothing on any scale.
    If more vertices are left than the grid has lines, all but the first and the last of those in
    one cell of the grid go too: a monotone curve stays within the cell between them.

    Parameters
    ----------
    x, y : ndarray of float64, shape (V,)
        Each ascending or descending, without nan.
    x_grid, y_grid : ndarray of float64
        Ascending lines of a grid that is finer than can be seen.

    Notes
    -----
    The grid is looked up in the curve, and not the curve in the grid: no pass over the vertices.
    """
    if x.size > 4 * (x_grid.size + y_grid.size):
        cuts = np.concatenate([_cuts(x, x_grid), _cuts(y, y_grid)])
        kept = np.unique(np.concatenate([[0, x.size - 1], cuts, cuts - 1]))
        kept = kept[(kept >= 0) & (kept < x.size)]
    else:
        kept = np.arange(x.size)
    kept = kept[_moves(x[kept], y[kept])]
    return kept[_corners(x[kept], y[kept])]


@cache
def rate_grid() -> Floats:
    """Return lines over the rates 0 to 1 that are fine on linear, log and probit axes."""
    from scipy.special import ndtr

    probits = np.linspace(-_PROBITS, _PROBITS, 2 * _FINEST + 1)
    return np.union1d(np.linspace(0.0, 1.0, _FINEST + 1), ndtr(probits))


def span_grid(*values: Floats) -> Floats:
    """Return lines over the range of some finite values."""
    ends = [float(end) for part in values if part.size for end in (part.min(), part.max())]
    return np.linspace(min(ends), max(ends), _FINEST + 1) if ends else np.zeros(1)


def _cuts(values: Floats, grid: Floats) -> NDArray[np.int64]:
    """Return the places of a monotone sequence that begin a new cell."""
    if values[0] <= values[-1]:
        return np.searchsorted(values, grid)
    return values.size - np.searchsorted(values[::-1], grid)


def _moves(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Return whether each vertex is another point than the one before."""
    return np.concatenate([[True], (x[1:] != x[:-1]) | (y[1:] != y[:-1])])


def _corners(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Return whether each vertex, all different, is an end or no part of a straight stretch."""
    kept = np.ones(x.size, bool)
    for values in (x, y):
        same = values[1:] == values[:-1]
        kept[1:-1] &= ~(same[1:] & same[:-1])
    return kept
