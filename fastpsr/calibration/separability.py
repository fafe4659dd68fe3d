"""Whether affine calibration of some data has an optimum at all."""

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.predictions import Floats

__all__ = ["check_margins", "require_overlap"]

_ROUNDING = 1e-13  # of the largest margin: normalizing rows may pull classes so far together

_REMEDY = (
    "use PAV(floor=...), calibrate on more data, or add samples near the boundary; "
    "no affine map is best"
)


def require_overlap(
    scores: Floats, y: NDArray[np.uint8], weights: Floats, *, with_bias: bool
) -> None:
    """Raise where scores are constant, or where classes can be separated perfectly.

    Parameters
    ----------
    scores : ndarray, shape (N,) for two classes or (N, K)
        Finite.
    with_bias : bool
        Whether each class has a bias, as in direction-preserving calibration, or not, as in
        temperature scaling.

    Notes
    -----
    A scale a and biases b separate if a (l_c - l_k) >= b_k - b_c for all samples of each class c.
    These are difference constraints: b exists unless they form a cycle of negative length.
    """
    if scores.ndim == 1:
        least, most = _binary_margins(scores, y, weights)
    else:
        in_one = np.zeros(y.size, np.uint16)
        least, most = (
            of_parts[0] for of_parts in kernels.margin_ranges(scores, y, weights, in_one, 1)
        )
    check_margins(least, most, with_bias=with_bias)


def check_margins(least: Floats, most: Floats, *, with_bias: bool) -> None:
    """Raise as `require_overlap` does, for the least and most of score[c] - score[k], (K, K).

    Row c is of the samples of class c.
    """
    constant = _is_constant(least, most) if with_bias else not (least.any() or most.any())
    if constant:
        raise ValueError(
            "scores must differ between samples: all are alike, so that no scale can be fitted"
        )
    for margins in (least, -most):
        separable = not _has_negative_cycle(margins) if with_bias else bool((margins >= 0.0).all())
        if separable:
            raise ValueError(f"scores separate the classes perfectly: {_REMEDY}")


def _binary_margins(scores: Floats, y: NDArray[np.uint8], weights: Floats) -> tuple[Floats, Floats]:
    (low0, high0), (low1, high1) = kernels.class_ranges(scores, y, weights)
    # with scores for class 1 and 0 for class 0, the margin is the score or its negative
    return np.array([[0.0, -high0], [low1, 0.0]]), np.array([[0.0, -low0], [high1, 0.0]])


def _is_constant(least: Floats, most: Floats) -> bool:
    """Whether every difference of two classes' scores is the same for all samples."""
    low = np.minimum(least, -most.T)
    high = np.maximum(most, -least.T)
    return bool((low == high).all())


def _has_negative_cycle(lengths: Floats) -> bool:
    """Whether the complete graph with these edge lengths has a cycle of negative length."""
    shortest = lengths.copy()
    np.fill_diagonal(shortest, 0.0)
    rounding = -_ROUNDING * float(np.abs(lengths).max())
    for middle in range(shortest.shape[0]):
        through = shortest[:, middle, None] + shortest[None, middle, :]
        np.minimum(shortest, through, out=shortest)
        if (np.diagonal(shortest) < rounding).any():
            return True
    return False
