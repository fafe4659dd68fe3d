"""Test whether affine calibration of given data has an optimum."""

import numpy as np

from fastpsr.data import Floats
from fastpsr.errors import ArgumentError

_ROUNDING = 1e-13  # of the largest margin: possible effect of rounding in normalizing rows
_LARGE = 1e280  # sums of lengths above may overflow


def check_margins(least: Floats, most: Floats, n_classes: int = 2, *, with_bias: bool) -> None:
    """Raise if scores are constant, or if the classes can be separated perfectly.

    Parameters
    ----------
    least, most : ndarray, shape (K, K)
        Extremes of ``score[c] - score[k]`` over the samples of class c, in row c. Without biases
        shape (1, 1): over all samples, with c their class, and all other classes k.
    n_classes : int
    with_bias : bool
        Whether each class has a bias, as in direction-preserving calibration, or not, as in
        temperature scaling.

    Notes
    -----
    A scale a and biases b separate if a (l_c - l_k) >= b_k - b_c for all samples of each class c.
    These are difference constraints: b exists unless they form a cycle of negative length.
    """
    constant = _is_constant(least, most) if with_bias else not (least.any() or most.any())
    if constant:
        raise ArgumentError(
            "scores", "must differ between samples: all are alike, so that no scale can be fitted"
        )
    for margins in (least, -most):
        separable = not _has_negative_cycle(margins) if with_bias else bool((margins >= 0.0).all())
        if separable:
            raise no_optimum("separate the classes perfectly, and no affine map is best", n_classes)


def are_separated(least: Floats, most: Floats) -> bool:
    """Return whether rising scores separate the classes, given margins as in check_margins.

    Biases may be added to the scores of two classes, but not to those of several, (1, 1).
    """
    if least.size == 1:
        return bool(least >= 0.0 and most > 0.0)
    return not _is_constant(least, most) and not _has_negative_cycle(least)


class NoOptimumError(ArgumentError):
    """No affine map of the scores is optimal."""


def no_optimum(reason: str, n_classes: int = 2) -> NoOptimumError:
    """Return the error for scores without an optimal affine map."""
    rule = f"{reason}; more data would help, or samples near the boundary"
    if n_classes > 2:
        return NoOptimumError("scores", rule)
    return NoOptimumError(
        "scores", rule, remedy="use PAV(floor=0.001)", pass_={"calibrator": "pav", "floor": 0.001}
    )


def binary_margins(ranges: Floats) -> tuple[Floats, Floats]:
    """Return (least, most), (2, 2) each, of the lowest and highest score of both classes."""
    (low0, high0), (low1, high1) = ranges
    # with scores for class 1 and 0 for class 0, the margin is the score or its negative
    least, most = np.zeros((2, 2)), np.zeros((2, 2))
    least[0, 1], most[0, 1] = -high0, -low0
    least[1, 0], most[1, 0] = low1, high1
    return least, most


def _is_constant(least: Floats, most: Floats) -> bool:
    """Whether all differences between the scores of two classes are constant over samples."""
    low = np.minimum(least, -most.T)
    high = np.maximum(most, -least.T)
    return bool((low == high).all())


def _has_negative_cycle(lengths: Floats) -> bool:
    """Whether the complete graph with these edge lengths has a cycle of negative length."""
    shortest = lengths.copy()
    np.fill_diagonal(shortest, 0.0)
    if np.abs(lengths).max() > _LARGE:
        shortest *= 2.0**-64
    rounding = -_ROUNDING * float(np.abs(shortest).max())
    for middle in range(shortest.shape[0]):
        through = shortest[:, middle, None] + shortest[None, middle, :]
        np.minimum(shortest, through, out=shortest)
        if (np.diagonal(shortest) < rounding).any():
            return True
    return False
