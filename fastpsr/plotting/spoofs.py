"""Spoofed trials, which figures show apart from the non-targets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr.data import Predictions
from fastpsr.errors import ArgumentError
from fastpsr.plotting.systems import as_mapping

#: Line of spoofed trials.
SPOOFED = (0.0, (1.0, 1.5))
#: Which trials of a system are spoofed, or of systems by name.
Spoof = ArrayLike | Mapping[str, ArrayLike] | None


def spoofed_apart(systems: Any, spoof: Spoof) -> tuple[Any, dict[str, Predictions]]:
    """Return systems without their spoofed trials, and by name targets with the spoofed trials."""
    if spoof is None:
        return systems, {}
    named = as_mapping(systems)
    spoofed: dict[str, Predictions] = {}
    for name, mask in (spoof if isinstance(spoof, Mapping) else {"": spoof}).items():
        data, called = named.get(name), f"spoof[{name!r}]" if name else "spoof"
        if not isinstance(data, Predictions) or data.y_true is None:
            raise ArgumentError(called, "must be of a system of labeled Predictions")
        is_spoof = np.asarray(mask)
        if is_spoof.shape != (len(data),) or is_spoof.dtype != np.bool_:
            raise ArgumentError(called, f"must be bool, of shape ({len(data)},), not "
                                f"{is_spoof.dtype}, of shape {is_spoof.shape}")  # fmt: skip
        is_target = np.asarray(data.labels) == 1
        if (is_spoof & is_target).any():
            at = int(np.flatnonzero(is_spoof & is_target)[0])
            raise ArgumentError(called, f"must be False for targets, and is True at index {at}")
        if is_spoof.any():
            named[name], spoofed[name] = data[~is_spoof], data[is_target | is_spoof]
    return named if isinstance(systems, Mapping) else named[""], spoofed
