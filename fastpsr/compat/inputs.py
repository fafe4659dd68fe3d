"""Arguments of other packages: arrays or PyTorch tensors."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.data import Floats

__all__ = ["as_scores", "from_tensor"]


def from_tensor(values: Any) -> Any:
    """Return a tensor of any device and type as an array, and anything else as it is."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":  # which NumPy lacks
        values = values.float()
    return np.asarray(values)


def as_scores(name: str, values: ArrayLike) -> Floats:
    """Return a 1-dimensional, not empty float64 array without nan."""
    scores = checks.as_floats(name, from_tensor(values), 1)
    checks.require(name, scores, -np.inf, np.inf, "not be nan")
    return scores
