"""Fits of smooth maps to the samples themselves, if sums on an axis of scores cannot be used.

These are fits to few samples, or to more than two classes.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.base import require_weights
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.linear_rows import LinearRows, TrainingSet
from fastpsr.calibration.separability import check_margins, no_optimum
from fastpsr.calibration.smooth_map import Fits, SmoothMap
from fastpsr.calibration.training_priors import TrainingPriors
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Plan, Step
from fastpsr.plans.budget import memory_budget
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, Predictions

__all__ = ["fit_rows", "fits_in_memory", "held_rows", "needs_every_class", "require_memory"]


def fit_rows(
    map_: SmoothMap,
    data: Data,
    folds: Folds,
    rows: Part,
    *,
    floor: float,
    score_range: tuple[float, float],
    start: Floats | None = None,
) -> Fits:
    """Return the fits of all folds. Those of several classes have a scale and a bias of each class.

    Parameters
    ----------
    map_ : SmoothMap
    data : Data
    folds : Folds
    rows : Part
        The rows of the data, from :func:`held_rows`.
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    score_range : pair of float
        Lowest and highest score, after the replacement.
    start : ndarray of float64, shape (p,), optional
        Parameters at which searches begin, from another fit. Without them that of the first fold
        begins at a constant, and the others at the first.

    Raises
    ------
    ArgumentError
        If a fit has no optimum.
    """
    predictions, is_binary = rows.predictions, data.n_classes == 2
    scores = predictions.scores
    if floor:
        scores = np.clip(scores, floor, -floor if is_binary else None)
    largest = float(data.class_weights.max()) if data.has_weights else 1.0
    samples = LinearRows.of(
        scores[None], predictions.labels, predictions.weights, folds.fold_of_rows(rows),
        folds.n_folds, data.n_classes, np.full(data.n_classes, largest),
    )  # fmt: skip
    sets = _training_sets(map_, data, folds, samples)
    offsets = np.stack([training.offsets for training in sets])
    prior_log_odds = offsets[:, 1] - offsets[:, 0]
    scores, origin = samples.features[0], map_.origin(*score_range) if is_binary else 0.0
    if is_binary and not map_.adds_prior_first:
        samples = samples.with_features(map_.features(scores - origin))
    parameters: list[Floats] = []
    for training, prior in zip(sets, prior_log_odds, strict=True):
        if map_.adds_prior_first:
            samples = samples.with_features(map_.features(scores + prior))
            training = TrainingSet(training.mask, training.weights, training.factors, np.zeros(2))
        begin = None
        if start is not None:
            begin = (
                map_.moved(start, origin) if is_binary else start[: None if map_.with_bias else 1]
            )
        end = samples.fit(
            training, begin, with_bias=map_.with_bias,
            penalty=map_.penalty if is_binary else None, lower=map_.lower if is_binary else None,
        )  # fmt: skip
        parameters.append(_checked(map_, end, origin, data.n_classes))
        start = parameters[0] if start is None else start
    return Fits(np.stack(parameters), prior_log_odds)


def _training_sets(
    map_: SmoothMap, data: Data, folds: Folds, samples: LinearRows
) -> list[TrainingSet]:
    """Return what trains each calibrator; raise where a fit has no optimum."""
    weights = kernels.add_masked(folds.training_mask, samples.class_weights)
    least, most = samples.margins(samples.features[0], by_class=map_.with_bias)
    priors = TrainingPriors.of(data, map_.prior)
    sets = []
    for mask, of_classes in zip(folds.training_mask, weights, strict=True):
        if not of_classes.any():
            raise ArgumentError(
                "folds",
                "must leave training samples for every trial: some pair of folds covers all; "
                "use more folds",
            )
        if needs_every_class(data, with_bias=map_.with_bias):
            require_weights(of_classes, data.kind)
        extremes = least[mask].min(axis=0), most[mask].max(axis=0)
        check_margins(*extremes, data.n_classes, with_bias=map_.with_bias)
        factors, offsets = priors.factors(of_classes), priors.offsets(of_classes)
        sets.append(TrainingSet(mask, of_classes, factors, offsets))
    return sets


def _checked(map_: SmoothMap, end: Floats | None, origin: float, n_classes: int) -> Floats:
    """Return the parameters at the end of a search; raise if there is no optimum."""
    if end is None:
        raise no_optimum(
            "all but separate the classes: calibration did not converge in 200 steps", n_classes
        )
    if not np.isfinite(end).all():
        raise ArgumentError(
            "scores", "must be of a magnitude whose squares are finite to fit a scale"
        )
    if n_classes == 2:
        return map_.moved(end, -origin)
    bias = end[1:] if map_.with_bias else np.zeros(n_classes)
    return np.concatenate([end[:1], bias - bias.mean()])


def needs_every_class(data: Data, *, with_bias: bool) -> bool:
    """Whether a fit is undefined if a class has no samples; the scale of posteriors is defined."""
    return with_bias or data.n_classes == 2 or data.kind != "posteriors"


def held_rows(data: Data, folds: Folds) -> Plan[Part]:
    """Plan: return all rows as one part; raise if they exceed the memory budget."""
    require_memory(data, data.n_classes, "predictions")
    (rows,) = yield [_HoldRows(folds).over(data)]
    return rows  # type: ignore[no-any-return]


def require_memory(data: Data, n_columns: int, argument: str) -> None:
    """Raise if the rows of data in parts, with so many columns, exceed the memory budget."""
    if not fits_in_memory(data, n_columns):
        raise ArgumentError(
            argument,
            f"must fit in memory for this fit, in {memory_budget():,} bytes, but {len(data):,} "
            f"rows take {_bytes_of(data, n_columns):,} when they are joined; FASTPSR_MEMORY sets "
            "the limit",
            remedy="raise it, or fit on a sample and transform the parts",
        )


def fits_in_memory(data: Data, n_columns: int) -> bool:
    """Return whether rows with so many columns are in memory, or may be joined there."""
    return isinstance(data, Predictions) or _bytes_of(data, n_columns) <= memory_budget()


def _bytes_of(data: Data, n_columns: int) -> int:
    return 16 * len(data) * (n_columns + 2)  # joining parts takes twice the bytes of the rows


@dataclass(frozen=True, eq=False)
class _HoldRows(Step):
    """Copy the rows into memory, as one part."""

    folds: Folds
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    @property
    def key(self) -> Hashable:
        return ("rows in memory", self.folds.key)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        if part.is_in_memory:
            return part
        accumulator = {} if accumulator is None else accumulator
        # a copy, since the part may be a view of a larger buffer
        predictions = Predictions.joined([part.predictions])
        accumulator[part.number] = (predictions, self.folds.fold_of_rows(part))
        return accumulator

    def merge(self, one: Any, other: Any) -> Any:
        return {**one, **other}

    def finish(self, accumulator: Any) -> Part:
        if isinstance(accumulator, Part):
            return accumulator
        parts = [accumulator[number] for number in sorted(accumulator)]
        joined = Part.whole(Predictions.joined([predictions for predictions, _ in parts]))
        fold_of_row = np.concatenate([of_part for _, of_part in parts])
        joined.remember(self.folds.assignment.cache_key, lambda: fold_of_row)
        return joined
