"""Fits of smooth maps to the samples themselves, if sums on an axis of scores cannot be used.

These are fits to few samples, or to more than two classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.axis import Fits, SmoothMap, TrainingPriors, WeightedScores
from fastpsr.calibration.base import check_training_set, require_weights
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.linear_rows import (
    LinearRows,
    TrainingSet,
    binary_margins,
    check_margins,
    not_converged,
    too_large,
)
from fastpsr.counts import count
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.data.budget import memory_budget
from fastpsr.data.steps import ROWS, CollectParts
from fastpsr.errors import ArgumentError

_LARGEST = 1e150  # score whose square is finite in sums
_BYTES_OF_NODE = 64  # of a score in a fit that is made beside others


def fit_rows(
    map_: SmoothMap, data: Data, folds: Folds, rows: Part, floor: float, start: Floats | None
) -> Fits:
    """Return the fits of all folds to binary data.

    Parameters
    ----------
    map_ : SmoothMap
    data : Data
    folds : Folds
    rows : Part
        The rows of the data, from :func:`held_rows`.
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    start : ndarray of float64, shape (p,), or None
        Parameters at which searches begin, from another fit.

    Raises
    ------
    ArgumentError
        If a fit has no optimum.
    """
    samples, n_folds, masks = rows.predictions, folds.n_folds, folds.training_mask
    used: Any = np.flatnonzero(samples.weights) if samples.weights.size else slice(None)
    y, fold_of_row = samples.labels[used], folds.fold_of_rows(rows)[used]
    scores = np.asarray(samples.scores[used], np.float64)
    finite = np.clip(scores, floor, -floor) if floor else scores
    weights = np.ones(y.size)
    if samples.weights.size:
        weights = samples.weights[used] / data.class_weights.max()
    group = y.astype(np.int64) * n_folds + fold_of_row
    totals = np.bincount(group, weights, 2 * n_folds).reshape(2, n_folds).astype(np.float64)
    extremes = np.repeat([[np.inf], [-np.inf]], 2 * n_folds, axis=1)
    np.minimum.at(extremes[0], group, finite)
    np.maximum.at(extremes[1], group, finite)
    extremes = extremes.reshape(2, 2, n_folds)
    span = (float(extremes[0].min()), float(extremes[1].max()))
    origin = map_.origin(*span)

    def weigh(masks: NDArray[np.bool_]) -> Floats:
        of_rows = np.take(masks, fold_of_row, axis=1) * weights
        return np.stack([np.where(y == k, of_rows, 0.0) for k in (0, 1)])

    weighted = WeightedScores(
        finite - origin, np.where(np.isinf(scores), scores, 0.0), origin, span, weigh, totals,
        extremes, 0.0, folds.may_train, float(y.size), TrainingPriors.of(data, map_.prior),
    )  # fmt: skip
    for number, (mask, of_classes) in enumerate(zip(masks, weighted.totals(masks).T, strict=True)):
        check_training_set(data, folds, number, of_classes)
        ranges = [extremes[0][:, mask].min(axis=1), extremes[1][:, mask].max(axis=1)]
        margins = binary_margins(np.stack(ranges, axis=1))
        _check_optimum(data, of_classes, *margins, with_bias=map_.with_bias)
    if max(map(abs, span)) > _LARGEST:
        raise too_large()
    size = max(1, memory_budget() // (_BYTES_OF_NODE * y.size))
    fits = [
        map_.fit_to_sums(weighted, part, None if start is None else np.tile(start, (len(part), 1)),
                         np.inf)
        for part in np.split(masks, range(size, len(masks), size))
    ]  # fmt: skip
    parameters = np.concatenate(fits)
    if np.isnan(parameters).any():
        raise not_converged(2)
    return Fits(parameters, weighted.prior_log_odds(masks))


def fit_class_rows(
    map_: SmoothMap, data: Data, folds: Folds, rows: Part, floor: float, start: Floats | None
) -> Fits:
    """Return the affine fits of all folds to data of several classes, with a bias of each.

    For parameters see :func:`fit_rows`.
    """
    predictions, n_classes, with_bias = rows.predictions, data.n_classes, map_.with_bias
    scores = np.maximum(predictions.scores, floor) if floor else predictions.scores
    largest = float(data.class_weights.max()) if data.has_weights else 1.0
    samples = LinearRows.of(
        scores[None], predictions.labels, predictions.weights, folds.fold_of_rows(rows),
        folds.n_folds, n_classes, np.full(n_classes, largest),
    )  # fmt: skip
    least, most = samples.margins(samples.features[0], by_class=with_bias)
    priors, parameters = TrainingPriors.of(data, map_.prior), []
    weights = kernels.axis.add_masked(folds.training_mask, samples.class_weights)
    for number, (mask, of_classes) in enumerate(zip(folds.training_mask, weights, strict=True)):
        check_training_set(data, folds, number, of_classes)
        margins = least[mask].min(axis=0), most[mask].max(axis=0)
        _check_optimum(data, of_classes, *margins, with_bias=with_bias)
        training = TrainingSet(
            mask, of_classes, priors.factors(of_classes), priors.offsets(of_classes)
        )
        begin = None if start is None else start[: None if with_bias else 1]
        end = samples.fit(training, begin, with_bias=with_bias)
        if end is None:
            raise not_converged(n_classes)
        if not np.isfinite(end).all():
            raise too_large()
        bias = end[1:] if with_bias else np.zeros(n_classes)
        parameters.append(np.concatenate([end[:1], bias - bias.mean()]))
        start = parameters[0] if start is None else start
    return Fits(np.stack(parameters), np.zeros(len(weights)))


def _check_optimum(
    data: Data, of_classes: Floats, least: Floats, most: Floats, *, with_bias: bool
) -> None:
    """Raise where a fit to a training set, with weights of classes and margins, has no optimum."""
    if needs_every_class(data, with_bias=with_bias):
        require_weights(data, of_classes)
    check_margins(least, most, data.n_classes, with_bias=with_bias)


def needs_every_class(data: Data, *, with_bias: bool) -> bool:
    """Whether a fit is undefined if a class has no samples; the scale of posteriors is defined."""
    return with_bias or data.n_classes == 2 or data.kind != "posteriors"


def held_rows(data: Data, folds: Folds) -> Part:
    """Return all rows as one part; raise if they exceed the memory budget."""
    require_memory(data, data.n_classes, "predictions")
    return count(_HoldRows(folds).over(data))


def require_memory(data: Data, n_columns: int, argument: str) -> None:
    """Raise if the rows of data in parts, with so many columns, exceed the memory budget."""
    size = 16 * len(data) * (n_columns + 2)  # joining parts takes twice the bytes of the rows
    if not isinstance(data, Predictions) and size > memory_budget():
        raise ArgumentError(
            argument,
            f"must fit in memory for this fit, in {memory_budget():,} bytes, but {len(data):,} "
            f"rows take {size:,} when they are joined; FASTPSR_MEMORY sets the limit",
            remedy="raise it, or fit on a sample and transform the parts",
        )


@dataclass(frozen=True, eq=False)
class _HoldRows(CollectParts[Part]):
    """Copy the rows into memory, as one part."""

    folds: Folds

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        if part.is_in_memory:
            return part
        # a copy, since the part may be a view of a larger buffer
        predictions = Predictions.joined([part.predictions])
        accumulator[part.number] = (predictions, self.folds.fold_of_rows(part))
        return accumulator

    def finish(self, accumulator: Any) -> Part:
        if isinstance(accumulator, Part):
            return accumulator
        parts = [accumulator[number] for number in sorted(accumulator)]
        joined = Part.whole(Predictions.joined([predictions for predictions, _ in parts]))
        fold_of_row = np.concatenate([of_part for _, of_part in parts])
        joined.remember(self.folds.assignment.cache_key, lambda: fold_of_row)
        return joined
