"""Loops over plain arrays, compiled by Numba on first use.

A module, and Numba with it, is imported when it is first asked for: ``kernels.cells``.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
