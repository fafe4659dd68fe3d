"""Ids of samples: of groups, clusters and speakers, as numbers from 0."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks

__all__ = ["as_ids", "coded"]

_ROOMY = 4  # times as many possible integers as ids: then a table beats a sort


def as_ids(name: str, ids: ArrayLike, n_samples: int) -> NDArray[Any]:
    """Return ids, one per sample, as an array of numbers or strings."""
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-dimensional, not of shape {array.shape}")
    checks.check_length(name, array.size, n_samples)
    if array.dtype.kind == "f" and np.isnan(array).any():
        position = int(np.flatnonzero(np.isnan(array))[0])
        raise ValueError(f"{name} must be ids, but {name}[{position}] is nan")
    if array.dtype.kind == "O":
        array = array.astype(str)
    return array


def coded(*sides: NDArray[Any]) -> tuple[int, list[NDArray[np.int32]]]:
    """Return how many different ids there are, and each side's as numbers in their order."""
    if all(side.dtype.kind in "iu" for side in sides):
        low = min(int(side.min()) for side in sides)
        span = max(int(side.max()) for side in sides) - low + 1
        if span <= _ROOMY * sides[0].size:
            present = np.zeros(span, bool)
            shifted = [side - low if low else side for side in sides]
            for side in shifted:
                present[side] = True
            number = np.cumsum(present, dtype=np.int32) - np.int32(1)
            return int(number[-1]) + 1, [number[side] for side in shifted]
    found, codes = np.unique(np.concatenate(sides), return_inverse=True)
    return found.size, np.split(codes.astype(np.int32), len(sides))
