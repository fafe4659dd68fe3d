"""Detection of posteriors that were passed as LLRs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.data import Data, Predictions
from fastpsr.errors import SuspicionWarning, warn

#: Smallest number of samples for the check.
FEWEST = 10
_FIRST = 100  # rows that are checked first, since they usually decide


def are_like_posteriors(llrs: NDArray[Any]) -> bool:
    """Return whether LLRs all lie in [0, 1], are not all equal, and are not all 0 or 1.

    True LLRs are positive for some samples and negative for others, or all 0.
    """
    return _lie_like_posteriors(llrs[:_FIRST]) and bool(
        _lie_like_posteriors(llrs) and llrs.min() < llrs.max() and (llrs != np.rint(llrs)).any()
    )


def _lie_like_posteriors(llrs: NDArray[Any]) -> bool:
    return bool(llrs.size and 0.0 <= llrs[0] <= 1.0 and llrs.min() >= 0.0 and llrs.max() <= 1.0)


def like_posteriors() -> SuspicionWarning:
    """Return the warning."""
    return SuspicionWarning(
        "posteriors",
        "the LLRs all lie in [0, 1], as posteriors do",
        "make predictions of posteriors with from_posteriors (scan_parquet: posteriors=), of "
        "similarities with from_raw_scores (raw_scores=)",
    )


def look_at_llrs(data: Data) -> None:
    """Warn if LLRs in memory look like posteriors; the first rows decide for nearly all data."""
    if (
        isinstance(data, Predictions)
        and (data.kind, data.n_classes) == ("likelihoods", 2)
        and len(data) >= FEWEST
        and are_like_posteriors(data.scores)
    ):
        warn(like_posteriors())
