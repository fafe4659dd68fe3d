"""Blocks without warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fastpsr.errors import kept_warnings, warnings_go_to


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings of the package, and of NumPy's arithmetic."""
    with warnings_go_to(lambda warning: None), np.errstate(all="ignore"), kept_warnings():
        yield


@contextmanager
def in_silence() -> Iterator[None]:
    """Suppress warnings, which in replicates are not caused by the user's input."""
    with without_warnings(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
