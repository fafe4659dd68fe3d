"""Values as strict JSON."""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def as_json(content: Any) -> str:
    """Return strict JSON of a file: null for nan, strings for infinities."""
    return json.dumps(strict(content), indent=1, allow_nan=False) + "\n"


def strict(value: Any) -> Any:
    """Return plain content: arrays and tuples as lists, infinities as strings, nan as None.

    ``json.dumps(strict(value), allow_nan=False)`` is then valid JSON.

    Examples
    --------
    >>> import numpy as np
    >>> strict({"values": np.array([0.5, np.nan, -np.inf]), "size": np.int64(3)})
    {'values': [0.5, None, '-inf'], 'size': 3}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
