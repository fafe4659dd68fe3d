"""Loops over plain arrays, compiled by Numba on first use.

A kernel's module, and Numba with it, is imported when one of its functions is first asked for.
"""

import importlib
from typing import Any

from fastpsr.kernels.exports import MODULE_OF


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kernel = getattr(importlib.import_module(f"{__name__}.{MODULE_OF[name]}"), name)
    globals()[name] = kernel
    return kernel
