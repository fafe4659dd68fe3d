"""Cost matrices, Bayes decisions and expected costs."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.data import (
    Data,
    Floats,
    PartitionedPredictions,
    Predictions,
    check_data,
    class_factors,
    weigh_groups,
)
from fastpsr.errors import ArgumentError
from fastpsr.frames import row_order_of

__all__ = ["CostMatrix", "bayes_decisions", "expected_cost"]

_LARGEST = 1e300
_MOST_CLASSES = 1 << 14  # of a matrix of 2 GiB
_MOST_LABELS = (1 << 31) - 1
_FEW_CLASSES = 32  # to be listed one by one


class CostMatrix:
    """Costs of M decisions for each of K true classes.

    Parameters
    ----------
    values : array-like of float, shape (K, M)
        ``values[i, j]`` is the cost of decision j when the class is i; finite, K >= 2, M >= 1.

    Raises
    ------
    ValueError
        If the matrix is empty, is not two-dimensional, or contains an entry that is not finite.

    Attributes
    ----------
    n_classes, n_decisions : int
        K and M.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.CostMatrix([[0, 1], [10, 0]])
    CostMatrix([[0.0, 1.0], [10.0, 0.0]])
    >>> fp.CostMatrix.zero_one(2, reject=0.1)
    CostMatrix([[0.0, 1.0, 0.1], [1.0, 0.0, 0.1]])
    >>> fp.CostMatrix.zero_one(50_000)
    CostMatrix.zero_one(50000)
    """

    def __init__(self, values: ArrayLike) -> None:
        array = checks.as_floats("costs", values, 2)
        # differences of costs are taken, and must be finite too
        checks.require("costs", array, -_LARGEST, _LARGEST, "be finite, at most 1e300 in size")
        if array.shape[0] < 2:
            raise ArgumentError(
                "costs", f"must have a row per class, at least 2, not {array.shape[0]}"
            )
        array = array.copy()
        array.flags.writeable = False
        self.n_classes, self.n_decisions = map(int, array.shape)
        self._values: Floats | None = array

    @classmethod
    def of(cls, costs: "CostMatrix | ArrayLike") -> "CostMatrix":
        """Return `costs` if it is a CostMatrix, else a CostMatrix of the array."""
        return costs if isinstance(costs, CostMatrix) else CostMatrix(costs)

    @classmethod
    def zero_one(cls, K: int, reject: float | None = None) -> Self:
        """Return cost 1 for each wrong class, with a last column of cost `reject` if given.

        Without `reject`, the K x K matrix is only created when `values` is accessed.
        """
        checks.check_integer("K", K, 2)
        checks.check_number("K", K, 2, _MOST_LABELS, f"be at most {_MOST_LABELS:,}")
        if reject is not None:
            return cls(np.column_stack([_wrong(K), np.full(K, checks.as_number("reject", reject))]))
        matrix = cls.__new__(cls)
        matrix.n_classes = matrix.n_decisions = int(K)
        matrix._values = None
        return matrix

    @classmethod
    def detection(cls, c_miss: float, c_fa: float) -> Self:
        """Return the costs of a detector: decision 1 accepts, class 1 is the target."""
        return cls([[0.0, c_fa], [c_miss, 0.0]])

    def __repr__(self) -> str:
        if self.is_zero_one and self.n_classes > _FEW_CLASSES:
            return f"CostMatrix.zero_one({self.n_classes})"
        return f"CostMatrix({self.values.tolist()})"

    @property
    def values(self) -> Floats:
        """The costs, shape (K, M); read-only.

        Raises
        ------
        ArgumentError
            If a zero-one matrix has too many classes to be created.
        """
        if self._values is None:
            values = _wrong(self.n_classes)
            values.flags.writeable = False
            self._values = values
        return self._values

    @property
    def least(self) -> float:
        """0 if no cost is negative, else minus infinity."""
        return 0.0 if self.is_zero_one or self.values.min() >= 0.0 else -np.inf

    @property
    def key(self) -> Hashable:
        """Hashable identity of the matrix."""
        if self.is_zero_one:
            return "zero-one", self.n_classes
        return self.values.shape, self.values.tobytes()

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes with different costs that are counted for each class."""
        return 2 if self._counts_errors else self.n_decisions

    @property
    def outcome_costs(self) -> Floats:
        """Costs of the outcomes, (K, n_outcomes), or (1, n_outcomes) if equal for all classes."""
        return np.array([[0.0, 1.0]]) if self._counts_errors else self.values

    def outcomes(self, y: NDArray[Any], decisions: NDArray[Any]) -> NDArray[Any]:
        """Return the outcome of each decision for true classes `y`: (N,) of integers.

        The outcome is the decision; for zero-one costs of several classes it is whether the
        decision is wrong, so that two counts per class suffice instead of K.
        """
        return np.asarray(y != decisions, np.uint8) if self._counts_errors else decisions

    def costs_by_class(self, decisions: NDArray[Any]) -> Floats:
        """Return the costs of decisions (N,) for each possible true class, (N, K)."""
        if self._values is not None:
            return np.asarray(self._values.T[decisions])
        costs = np.ones((decisions.size, self.n_classes))
        costs[np.arange(decisions.size), decisions] = 0.0
        return costs

    @property
    def _counts_errors(self) -> bool:
        return self.is_zero_one and self.n_classes > 2

    def check_classes(self, n_classes: int) -> None:
        """Raise unless the matrix has a row per class."""
        if self.n_classes != n_classes:
            raise ArgumentError(
                "costs", f"must have one row per class: {n_classes}, not {self.n_classes}"
            )

    def naive_cost(self, priors: Floats) -> float:
        """Return the expected cost of the best constant decision."""
        if self._counts_errors:
            return float(np.delete(priors, priors.argmax()).sum())
        # not with BLAS, whose last bits depend on the memory alignment of arrays
        return float((priors[:, None] * self.values).sum(axis=0).min())

    @cached_property
    def is_zero_one(self) -> bool:
        """Whether each wrong class costs 1 and the right one 0."""
        if self._values is None:
            return True
        n_ones = np.count_nonzero(self._values == 1.0)
        return (
            self.n_classes == self.n_decisions
            and n_ones == self.n_classes * (self.n_classes - 1)
            and not np.diagonal(self._values).any()
        )

    def decisions(self, scores: NDArray[Any], *, are_posteriors: bool = False) -> NDArray[np.int32]:
        """Return the least costly decisions for log-odds (N,), or rows (N, K) of logits or q."""
        if self.is_zero_one and scores.ndim == 2:
            return np.asarray(scores.argmax(axis=1), np.int32)
        return kernels.decisions.least_costly_decisions(
            scores, *self.sparse_columns, are_posteriors=are_posteriors
        )

    @cached_property
    def sparse_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Sparse columns (starts, classes, values) of the costs minus each row's modal cost.

        The most frequent cost of each row is subtracted, which does not change the best decision.
        Most matrices are then sparse, and decisions that are tied by symmetry are tied exactly.
        """
        modes = []
        for row in self.values:
            values, counts = np.unique(row, return_counts=True)
            modes.append(values[counts.argmax()])
        differences = (self.values - np.array(modes)[:, None]).T
        decisions, classes = np.nonzero(differences)
        starts = np.searchsorted(decisions, np.arange(self.n_decisions + 1))
        return starts.astype(np.int64), classes.astype(np.int64), differences[decisions, classes]


@dataclass(frozen=True, eq=False)
class PartitionedDecisions:
    """Decisions for data in parts, computed when the parts are read.

    Iterating yields an array of int32 for each part in turn.
    """

    _predictions: PartitionedPredictions
    _costs: CostMatrix

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        for predictions in self._predictions:
            yield bayes_decisions(predictions, self._costs)

    def compute(self) -> NDArray[np.int32]:
        """Return the decisions for all samples, (N,)."""
        return np.concatenate(list(self))


@overload
def bayes_decisions(
    predictions: Predictions, costs: CostMatrix | ArrayLike
) -> NDArray[np.int32]: ...


@overload
def bayes_decisions(
    predictions: PartitionedPredictions, costs: CostMatrix | ArrayLike
) -> PartitionedDecisions: ...


def bayes_decisions(
    predictions: Data, costs: CostMatrix | ArrayLike
) -> NDArray[np.int32] | PartitionedDecisions:
    """Return the decision of least expected cost under each sample's posterior.

    Parameters
    ----------
    predictions : Predictions or PartitionedPredictions
        Posteriors or likelihoods. Labels are only needed for data in parts.
    costs : CostMatrix or array-like, shape (K, M)

    Returns
    -------
    ndarray of int32, shape (N,)
        Decisions 0 to M-1; ties go to the lowest index (Ferrer and Ramos, 2024, Equation 1). For
        data in parts, an object that yields an array for each part; its ``compute()`` returns the
        decisions for all samples.

    Raises
    ------
    ValueError
        For raw scores, or costs without a row per class.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> predictions = fp.Predictions.from_posteriors(None, [0.05, 0.2, 0.95])
    >>> fp.bayes_decisions(predictions, [[0, 1], [10, 0]]).tolist()
    [0, 1, 1]
    """
    check_data(predictions)
    matrix = CostMatrix.of(costs)
    predictions.require_posteriors("Bayes decisions")
    matrix.check_classes(predictions.n_classes)
    if isinstance(predictions, PartitionedPredictions):
        return PartitionedDecisions(predictions, matrix)
    if predictions._has_posteriors:  # as given: rounding of logarithms would break ties
        return matrix.decisions(predictions.posteriors, are_posteriors=True)
    if predictions._logits is not None:
        if matrix.is_zero_one:
            return predictions._logits.likeliest.astype(np.int32)
        return matrix.decisions(predictions._logits.rows)
    binary = predictions.n_classes == 2
    return matrix.decisions(predictions.log_odds if binary else predictions.log_posteriors)


def expected_cost(
    y_true: ArrayLike,
    decisions: ArrayLike,
    costs: CostMatrix | ArrayLike,
    *,
    priors: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    normalized: bool = True,
) -> float:
    """Return the mean cost of given decisions.

    Parameters
    ----------
    y_true : array-like, shape (N,)
        True classes: integers 0 to K-1, or the labels listed in `classes`.
    decisions : array-like, shape (N,)
        Decisions: integers 0 to M-1; with `classes` and M = K, labels of the decided classes, or
        where these are words, also integers.
    costs : CostMatrix or array-like, shape (K, M)
    priors : array-like of float, shape (K,), optional
        Class priors; by default the weighted class frequencies.
    sample_weight : array-like of float, shape (N,), optional
    classes : array-like, shape (K,), optional
        Labels in the order of the rows of `costs`.
    normalized : bool
        Whether to divide by the cost of the best constant decision (Ferrer and Ramos, 2024,
        section 2.3.1).

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For labels or decisions out of range, arrays of different lengths, or, if `normalized`, a
        best constant decision that costs 0.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.expected_cost([0, 0, 1, 1], [0, 1, 1, 1], [[0, 1], [1, 0]])
    0.5
    >>> fp.expected_cost(["ham", "spam"], ["ham", "ham"], [[0, 9], [1, 0]], classes=["ham", "spam"])
    1.0
    """
    matrix = CostMatrix.of(costs)
    n_classes, n_decisions = matrix.n_classes, matrix.n_decisions
    row_order_of(y_true=y_true, decisions=decisions, sample_weight=sample_weight)
    n_samples = checks.as_array("y_true", y_true, "labels").size
    y = checks.as_labels("y_true", y_true, n_samples, n_classes, classes, takes_classes=True)
    if n_decisions != n_classes or (
        checks.first_word(classes) and not checks.first_word(decisions)
    ):
        classes = None
    decision_numbers = checks.as_labels("decisions", decisions, n_samples, n_decisions, classes)
    weights = checks.as_weights("sample_weight", sample_weight, n_samples)
    if n_samples == 0 or (weights.size and not weights.any()):
        raise ArgumentError("y_true", "must have a sample of positive weight")
    given_priors = None if priors is None else checks.as_priors("priors", priors, n_classes)
    groups = y.astype(np.int64) * matrix.n_outcomes + matrix.outcomes(y, decision_numbers)
    counts = weigh_groups(groups, weights, n_classes * matrix.n_outcomes)
    return mean_cost(counts.reshape(n_classes, -1), matrix, given_priors, normalized)


def _wrong(n_classes: int) -> Floats:
    """Return the zero-one cost matrix, (K, K)."""
    if n_classes > _MOST_CLASSES:
        raise ArgumentError(
            "K",
            f"must be at most {_MOST_CLASSES:,} where a matrix of costs is made, not {n_classes}",
            remedy="BayesRisk, bayes_decisions and expected_cost with CostMatrix.zero_one(K), "
            "without a cost to reject, need none",
        )
    return np.asarray(1.0 - np.eye(int(n_classes)))


def mean_cost(
    counts: Floats, costs: CostMatrix, given_priors: Floats | None, normalized: bool
) -> float:
    """Return the mean cost, given the (K, n_outcomes) weights of each class and outcome."""
    totals = counts.sum(axis=1)
    factors = class_factors(totals, given_priors) / totals.sum()
    with np.errstate(over="ignore", invalid="ignore"):  # the mean may overflow
        cost = float((costs.outcome_costs * (counts * factors[:, None])).sum())
    if not normalized:
        return cost
    naive = costs.naive_cost(totals * factors)
    if naive == 0.0:
        raise ArgumentError(
            "costs",
            "must not let a constant decision cost nothing where the result is normalized; "
            f"with class priors {_shown(totals * factors)} one does",
            pass_={"normalized": False},
        )
    return cost / naive


def _shown(priors: Floats) -> str:
    """Return class priors as text; of many only the largest."""
    if priors.size <= _FEW_CLASSES:
        return str(priors.tolist())
    return f"whose largest is {priors.max()} (class {priors.argmax()})"
