"""Posteriors that were taken for LLRs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import SuspicionWarning

__all__ = ["FEWEST", "are_like_posteriors", "like_posteriors"]

#: Samples from which a guess is made.
FEWEST = 10
_FIRST = 100  # rows that mostly tell


def are_like_posteriors(llrs: NDArray[Any]) -> bool:
    """Return whether LLRs all lie in [0, 1], differ, and are not decisions.

    Real LLRs do not: under both classes some lie above 0 and some below, or all are 0.
    """
    return _lie_like_posteriors(llrs[:_FIRST]) and bool(
        _lie_like_posteriors(llrs) and llrs.min() < llrs.max() and (llrs != np.rint(llrs)).any()
    )


def _lie_like_posteriors(llrs: NDArray[Any]) -> bool:
    return bool(llrs.size and llrs.min() >= 0.0 and llrs.max() <= 1.0)


def like_posteriors() -> SuspicionWarning:
    """Return the warning."""
    return SuspicionWarning(
        "posteriors",
        "the LLRs all lie in [0, 1], as posteriors do",
        "make predictions of posteriors with from_posteriors (scan_parquet: posteriors=), of "
        "similarities with from_raw_scores (raw_scores=)",
    )
