"""Integrals from any log-odds to infinity, tabulated once as piecewise polynomials."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.errors import ArgumentError

Floats = NDArray[np.float64]

_DEGREE = 12
_TOLERANCE = 1e-13  # of a panel's error, relative to the integral beyond it
_NARROWEST = 2.0**-40  # width to which a jump is bisected: the error is 1e-12 of its height
_MOST_PANELS = 200_000
_CELLS_PER_PANEL = 4


@dataclass(frozen=True)
class Integrand:
    """A nonnegative function of log-odds x, and its extrapolation outside the edges.

    Parameters
    ----------
    function : callable
        Maps an (n,) array of log-odds to values.
    edges : ndarray of float64
        Edges of the first panels, ascending. Features narrower than a seventh of a panel may be
        missed; wider ones are resolved by bisection.
    rise : float
        Below ``edges[0]`` the function is proportional to ``exp(rise * x)``.
    fall : float
        Above ``edges[-1]`` the function is proportional to ``exp(-fall * x)``; positive.
    floor : float
        Absolute errors below it are accepted, however small the integral. By default the range of
        subnormal numbers, which have no relative accuracy.
    """

    function: Callable[[Floats], Floats]
    edges: Floats
    rise: float
    fall: float
    floor: float = 1e-305


class TailTables:
    """The integrals of two integrands from x to infinity, one for each label.

    The table of label 0 is evaluated at minus the log-odds of class 1, that of label 1 at the
    log-odds, so that the loss decreases with the argument in both. Sums start at the far end, where
    the loss is small, so that it keeps its relative accuracy until it underflows.

    Raises
    ------
    ValueError
        If an integrand needs too many panels, for example because of noise in the seventh digit.
    """

    def __init__(self, of_class_0: Integrand, of_class_1: Integrand) -> None:
        cells, lefts, rows, ends = zip(
            *(_tabulate(integrand) for integrand in (of_class_0, of_class_1)), strict=True
        )
        offsets = np.array([[0.0], [cells[0].size]])  # where a table's cells start among all
        self._tables = (
            np.concatenate([cells[0], cells[1] + lefts[0].size]),
            np.concatenate(lefts),
            np.concatenate(rows),
            np.column_stack([ends, offsets]),
        )

    def look_up(self, log_odds: Floats, y: NDArray[np.uint8], *, slopes: bool = False) -> Floats:
        """Return the integral beyond each sample's log-odds, for its label; or its slopes.

        Slopes are derivatives by the log-odds of class 1.
        """
        log_odds = np.ascontiguousarray(log_odds)
        return kernels.panels.look_up_tails(log_odds, y, self._tables, slopes=slopes)


def _chebyshev_tools() -> tuple[Floats, Floats, Floats, Floats]:
    """Nodes on [0, 1]; matrices from values there to coefficients, integral and powers."""
    degrees = np.arange(_DEGREE + 1)
    nodes = np.sin(0.5 * np.pi * degrees / _DEGREE) ** 2
    halves = np.where(degrees % _DEGREE == 0, 0.5, 1.0)
    cosines = np.cos(np.pi * np.outer(degrees, degrees) / _DEGREE)
    to_coefficients = 2.0 / _DEGREE * cosines * np.outer(halves, halves)
    to_integral = np.where(degrees % 2 == 0, 1.0 / (1.0 - degrees**2 + degrees % 2), 0.0)
    to_powers = np.zeros((_DEGREE + 1, _DEGREE + 1))
    to_powers[0, 0] = 1.0
    for n in range(1, _DEGREE + 1):  # T_n(1 - 2s) has integer coefficients: no rounding here
        for j in range(n + 1):
            to_powers[n, j] = comb(n + j, 2 * j) * (-4) ** j * n / (n + j)
    return nodes, to_coefficients, to_integral, to_powers


_NODES, _TO_COEFFICIENTS, _TO_INTEGRAL, _TO_POWERS = _chebyshev_tools()


def _interpolate(integrand: Integrand, lefts: Floats, rights: Floats) -> Floats:
    """Return Chebyshev coefficients in s = 0 at each panel's right edge to 1 at its left."""
    points = rights[:, None] - (rights - lefts)[:, None] * _NODES
    points[:, -1] = lefts
    return np.asarray(integrand.function(points.ravel()).reshape(points.shape) @ _TO_COEFFICIENTS)


def _refine(integrand: Integrand, last: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Bisect panels until each is accurate; return edges, coefficients, integrals beyond each.

    Accuracy is relative to the integral beyond a panel, which is computed from the other panels and
    improves from round to round. `last` is the integral beyond the last panel.
    """
    lefts, rights = integrand.edges[:-1], integrand.edges[1:]
    coefficients = _interpolate(integrand, lefts, rights)
    while True:
        widths = rights - lefts
        areas = widths * (coefficients @ _TO_INTEGRAL)
        beyond = np.cumsum(np.concatenate([[last], areas[:0:-1]]))[::-1]
        errors = widths * np.abs(coefficients[:, -2:]).sum(axis=1)
        narrowest = _NARROWEST * np.maximum(1.0, np.abs(lefts))
        split = (errors > _TOLERANCE * beyond + integrand.floor) & (widths > narrowest)
        if not split.any():
            return lefts, rights, coefficients, beyond
        if lefts.size > _MOST_PANELS:
            raise ArgumentError(
                "weight",
                "must be smooth but for some hundreds of kinks and jumps, computed in "
                f"float64: {lefts.size} panels do not suffice to integrate it",
            )
        middles = 0.5 * (lefts[split] + rights[split])
        new_lefts = np.concatenate([lefts[split], middles])
        new_rights = np.concatenate([middles, rights[split]])
        new = _interpolate(integrand, new_lefts, new_rights)
        lefts = np.concatenate([lefts[~split], new_lefts])
        order = np.argsort(lefts)
        lefts = lefts[order]
        rights = np.concatenate([rights[~split], new_rights])[order]
        coefficients = np.concatenate([coefficients[~split], new])[order]


def _tabulate(integrand: Integrand) -> tuple[NDArray[np.int32], Floats, Floats, list[float]]:
    """Return cells, left edges and rows of the panels, and their extrapolation on both sides.

    The range is cut into cells of equal width; a cell holds the number of the panel at its left
    edge. A row holds right edge, 1 / width, integral beyond, and the coefficients of s, s^2, ...
    """
    low, high = float(integrand.edges[0]), float(integrand.edges[-1])
    at_low, at_high = integrand.function(np.array([low, high]))
    lefts, rights, coefficients, beyond = _refine(integrand, float(at_high / integrand.fall))
    widths = rights - lefts
    powers = (coefficients @ _TO_POWERS) * widths[:, None] / np.arange(1, _DEGREE + 2)
    rows = np.column_stack([rights, 1.0 / widths, beyond, powers])
    n_cells = _CELLS_PER_PANEL * lefts.size
    per_unit = n_cells / (high - low)
    cell_edges = low + np.arange(n_cells + 2) / per_unit  # one spare, for rounding at the end
    cells = np.searchsorted(lefts[1:], cell_edges, side="right").astype(np.int32)
    everything = beyond[0] + widths[0] * (coefficients[0] @ _TO_INTEGRAL)
    ends = [low, high, per_unit, everything, at_low, integrand.rise, at_high, integrand.fall]
    return cells, lefts, rows, [float(end) for end in ends]
