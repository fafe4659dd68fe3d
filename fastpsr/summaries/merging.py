"""What summaries of the same kind must share before they merge."""

import numpy as np

from fastpsr.predictions import Floats

__all__ = ["require_same"]


def require_same(name: str, one: Floats | None, other: Floats | None) -> None:
    """Raise unless both are absent, or equal."""
    if (one is None) != (other is None) or not (
        one is None or other is None or np.array_equal(one, other)
    ):
        raise ValueError(f"summaries merge only on the same {name}")
