"""What other packages are called with: arrays or PyTorch tensors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.predictions import Floats

__all__ = ["as_array", "as_scores"]


def as_array(values: Any) -> NDArray[Any]:
    """Return an array, or the values of a tensor of any device and type."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # which NumPy lacks
            values = values.float()
    return np.asarray(values)


def as_scores(name: str, values: ArrayLike) -> Floats:
    """Return a 1-dimensional, not empty float64 array without nan."""
    scores = checks.as_floats(name, as_array(values), 1)
    checks.require(name, scores, -np.inf, np.inf, "not be nan")
    return scores
