"""Labels, sample weights and priors of predictions in memory."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.data.labeled import Floats, LabeledData
from fastpsr.errors import ArgumentError
from fastpsr.frames import RowOrder
from fastpsr.kernels.types import index_type

_FEW_CODES = 8  # which comparisons count faster than NumPy does
_ROWS_TO_COUNT = 1 << 16  # at once; NumPy makes int64 of them


class WeightedLabels(LabeledData):
    """Labels and weights of samples, and the priors that they are evaluated at."""

    y_true: NDArray[Any] | None
    sample_weight: Floats | None
    _weights: Floats  # empty if all weights are equal
    _whole_weights: Floats | None  # class weights of the whole data, if these samples are a part
    _drawn_from: Any = None  # the predictions of which these are a replicate
    row_order: RowOrder = None  #: The index of pandas objects, to compare with those of ids.
    n_draws: Floats | None = None  #: How often a bootstrap replicate has each sample; in weights.

    @property
    def labels(self) -> NDArray[Any]:
        """`y_true`; raises an error if the data have no labels."""
        if self.y_true is None:
            raise ArgumentError("y_true", "must be given: these predictions are unlabeled")
        return self.y_true

    @property
    def weights(self) -> Floats:
        """Sample weights for kernels: an empty array if all weights are equal."""
        return self._weights

    @property
    def has_weights(self) -> bool:
        """Whether samples may have different weights."""
        return self._weights.size > 0

    @cached_property
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""
        if not self._weights.size:
            return 1.0
        largest = float(self._weights.max())
        is_common = ((self._weights == largest) | (self._weights == 0.0)).all()
        return largest if is_common else None

    @property
    def drawn_from(self) -> Self:
        return self if self._drawn_from is None else self._drawn_from

    @cached_property
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,); needs labels."""
        y = self.labels
        if not self._weights.size:
            if self.n_classes == 2:
                n_positive = float(np.count_nonzero(y))
                return np.array([y.size - n_positive, n_positive])
            return _count(y, self.n_classes)
        return np.asarray(
            kernels.reductions.sum_exactly_by_group(self._weights, y, self.n_classes).sum(axis=1)
        )

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,); needs labels."""
        if not self._weights.size:
            return self.class_weights.astype(np.int64)
        if self.n_classes == 2:
            is_present = self._weights > 0.0
            n_positive = np.count_nonzero(is_present & (self.labels != 0))
            return np.array([np.count_nonzero(is_present) - n_positive, n_positive])
        present = self.labels[self._weights > 0.0]
        return np.bincount(present, minlength=self.n_classes).astype(np.int64)

    @property
    def _weights_of_whole(self) -> Floats:
        if self.y_true is None:
            raise ArgumentError(
                "priors", "must be given: unlabeled predictions have no frequencies"
            )
        return self.class_weights if self._whole_weights is None else self._whole_weights

    def balanced_weights(self) -> Floats:
        """Sample weights adjusted to the given priors, as calibrators use them.

        Empty if all samples have the same weight.
        """
        if self.given_priors is None:
            return self._weights
        totals = self.class_weights if self._whole_weights is None else self._whole_weights
        per_sample = class_factors(totals, self.given_priors)[self.labels]
        return np.asarray(per_sample * self._weights if self._weights.size else per_sample)

    def require_samples(self) -> None:
        """Raise if no sample has positive weight."""
        if len(self) == 0 or (self._weights.size and not self._weights.any()):
            raise ArgumentError("predictions", "must have a sample of positive weight")


def class_factors(totals: Floats, given_priors: Floats | None) -> Floats:
    """Return the factor on the sample weights of each class: its prior over its total weight.

    Factors are normalized so that the sum of the weights does not change.
    """
    if given_priors is None:
        return np.ones(totals.size)
    absent = np.flatnonzero((given_priors > 0.0) & (totals == 0.0))
    if absent.size:
        k = int(absent[0])
        raise ArgumentError(
            "priors",
            f"must be 0 where no sample of class {k} has positive weight, not {given_priors[k]}",
        )
    with np.errstate(over="ignore"):
        factors = np.divide(given_priors, totals, out=np.zeros_like(totals), where=totals > 0.0)
        factors *= totals.sum()
    if not np.isfinite(factors).all():
        raise ArgumentError(
            "sample_weight",
            "must not differ so much between classes that their ratio is no float "
            f"where priors are given: the classes weigh {totals.tolist()}",
        )
    return np.asarray(factors)


def weigh_groups(groups: NDArray[Any], weights: Floats, n_groups: int) -> Floats:
    """Return the total weight of each group, (G,); `weights` are empty if all are equal."""
    if not weights.size:
        return _count(groups, n_groups)
    groups = groups.astype(index_type(n_groups), copy=False)
    return np.asarray(
        kernels.reductions.sum_exactly_by_group(weights, groups, n_groups).sum(axis=1)
    )


def _count(codes: NDArray[Any], n: int) -> Floats:
    """Return how often each of 0 to n - 1 occurs, (n,)."""
    if n <= _FEW_CODES:
        of_code = [int(np.count_nonzero(codes == code)) for code in range(n - 1)]
        return np.array([*of_code, codes.size - sum(of_code)], np.float64)
    counts = np.zeros(n)
    n_rows = max(_ROWS_TO_COUNT, n)
    for start in range(0, codes.size, n_rows):
        counts += np.bincount(codes[start : start + n_rows], minlength=n)
    return counts
