"""Replicates are drawn without warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fastpsr.errors import kept_warnings

__all__ = ["in_silence"]


@contextmanager
def in_silence() -> Iterator[None]:
    """Suppress warnings, which in replicates are not caused by the user's input."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), kept_warnings():
        warnings.simplefilter("ignore")
        yield
