"""Detection of scores that look like another kind than declared."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.data.labeled import LabeledData, ScoredLabels
from fastpsr.errors import SuspicionWarning, warn

#: Smallest number of samples for the checks.
FEWEST = 10
_FIRST = 100  # rows that are checked first, since they usually decide


def are_like_probabilities(values: NDArray[Any]) -> bool:
    """Return whether numbers, or rows of these, lie in [0, 1], and rows sum to 1.

    Numbers that are all equal, or all 0 or 1, do not look so: true LLRs are positive for some
    samples and negative for others, or all 0.
    """
    if not values.size or not 0.0 <= values.flat[0] <= 1.0:
        return False
    if not (_lie_like_probabilities(values[:_FIRST]) and _lie_like_probabilities(values)):
        return False
    return bool((values != np.rint(values)).any() and values.min() < values.max())


def _lie_like_probabilities(rows: NDArray[Any]) -> bool:
    if not 0.0 <= rows.min() <= rows.max() <= 1.0:
        return False
    return rows.ndim == 1 or bool(np.abs(rows.sum(axis=1, dtype=np.float64) - 1.0).max() < 1e-3)


def posteriors_as_llrs() -> SuspicionWarning:
    """Return the warning of posteriors that were passed as LLRs."""
    return SuspicionWarning(
        "posteriors",
        "the LLRs all lie in [0, 1], as posteriors do",
        "make predictions of posteriors with from_posteriors (scan_parquet: posteriors=), of "
        "similarities with from_raw_scores (raw_scores=)",
    )


def look_at_llrs(data: LabeledData) -> None:
    """Warn if LLRs in memory look like posteriors; the first one decides for nearly all data."""
    if (
        isinstance(data, ScoredLabels)
        and (data.kind, data.n_classes) == ("likelihoods", 2)
        and len(data) >= FEWEST
        and are_like_probabilities(data.scores)
    ):
        warn(posteriors_as_llrs())


def look_at_logits(z: NDArray[Any]) -> None:
    """Warn if logits look like probabilities; the first one decides for nearly all data."""
    is_of_floats = z.ndim in (1, 2) and z.dtype.kind == "f"
    if is_of_floats and len(z) >= FEWEST and are_like_probabilities(z):
        what = "the logits all lie in [0, 1] and rows sum to 1, as probabilities do"
        remedy = (
            "make predictions of probabilities with from_posteriors (TorchMetric: "
            "input='posteriors')"
        )
        warn(SuspicionWarning("probabilities", what, remedy))
