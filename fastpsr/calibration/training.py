"""Training calibrators: cross-fitted, on the test data, or on data held out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.calibration import folds as dealing
from fastpsr.calibration.base import Calibrator, check_calibrator
from fastpsr.ids import as_ids
from fastpsr.predictions import Predictions, check_predictions

__all__ = ["CrossFit", "HeldOut", "TrainOnTest", "Training", "cross_fit"]


class Training(ABC):
    """A way to train a calibrator for the predictions that are evaluated."""

    #: How it goes, in a word or two.
    name: ClassVar[str]

    @classmethod
    def examples(cls, data: Any) -> "list[Training]":
        """Return trainings of this class for data: what tests, warm-up and fuzzing go over."""
        return [cls()]

    #: Whether the calibrator is trained on the evaluated data, so anew in each replicate.
    refits: ClassVar[bool] = True

    def plan(self, predictions: Predictions) -> dealing.Plan:
        """Return who trains for whom, where the calibrator is trained on the evaluated data."""
        raise NotImplementedError

    def fixed_to(self, calibrator: Calibrator, predictions: Predictions) -> "Training":
        """Return the same training with what must not change between replicates."""
        return self

    @abstractmethod
    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        """Return the predictions as the calibrator maps them, trained in this way."""


@dataclass(frozen=True, eq=False)
class CrossFit(Training):
    """Calibrate each sample by a fit on other folds: what calibration would bring on new data.

    Parameters
    ----------
    folds : int, or array-like of shape (N,)
        Number of folds, dealt so that each class is spread evenly; or the fold id of each sample.
    seed : int
        Of the shuffle that deals samples, groups or speakers.
    groups : array-like of shape (N,), or a pair of such, optional
        Samples of a group stay in one fold. With a pair, for trials with a speaker on each side,
        speakers are dealt to folds, and a trial is calibrated by a fit on the trials that have
        neither of its two speakers' folds on either side.

    Raises
    ------
    ValueError
        For fewer than 2 folds, or `groups` besides given folds; when used, for ids of the wrong
        length, and more folds than groups or than samples of a class.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_logits([0, 1, 0, 1, 0, 1], [-2.0, -1.0, 1.0, 2.0, -0.5, 0.3])
    >>> train = fp.CrossFit(folds=[0, 0, 1, 1, 2, 2])
    >>> fp.cross_fit(fp.TemperatureScaling(), data, train).log_odds.round(3).tolist()
    [-1.551, -0.775, 0.775, 1.551, -0.21, 0.126]
    """

    folds: int | ArrayLike = 5
    seed: int = 0
    groups: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None
    name = "cross-fitted"

    def __post_init__(self) -> None:
        if not isinstance(self.folds, (int, np.integer)) and _dimensions(self.folds) > 0:
            if self.groups is not None:
                raise ValueError("groups need a number of folds: folds are given per sample")
        elif not isinstance(self.folds, (int, np.integer)) or not 2 <= self.folds <= 10_000:
            raise ValueError(f"folds must be an integer of 2 to 10,000, or ids, not {self.folds!r}")
        checks.check_integer("seed", self.seed, 0)

    def plan(self, predictions: Predictions) -> dealing.Plan:
        """Return who trains for whom; samples of weight 0 are not dealt."""
        y = predictions.labels
        if not isinstance(self.folds, (int, np.integer)):
            return dealing.given_folds(self.folds, y.size)
        n_folds = int(self.folds)
        weights = predictions.weights
        if not weights.size or weights.all():
            return self._deal(y, self.groups, n_folds)
        rows = np.flatnonzero(weights > 0.0)
        present = self._deal(y[rows], self._groups_of(rows, y.size), n_folds)
        served_by = np.zeros(y.size, np.uint16)
        served_by[rows] = present.served_by
        return dealing.Plan(served_by, present.trains)

    def fixed_to(self, calibrator: Calibrator, predictions: Predictions) -> Training:
        return _ByPlan(self.plan(predictions))

    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        return _ByPlan(self.plan(predictions)).calibrate(calibrator, predictions)

    def _deal(self, y: NDArray[Any], groups: Any, n_folds: int) -> dealing.Plan:
        if groups is None:
            return dealing.deal_samples(y, n_folds, self.seed)
        if _is_pair(groups):
            return dealing.deal_pairs((groups[0], groups[1]), y, n_folds, self.seed)
        return dealing.deal_groups(groups, y, n_folds, self.seed)

    def _groups_of(self, rows: NDArray[np.int64], n_samples: int) -> Any:
        groups: Any = self.groups
        if groups is None:
            return None
        if _is_pair(groups):
            return tuple(as_ids("groups", side, n_samples)[rows] for side in groups)
        return as_ids("groups", groups, n_samples)[rows]


@dataclass(frozen=True, eq=False)
class _ByPlan(Training):
    """Cross-fitting with folds that are dealt already."""

    dealt: dealing.Plan
    name = CrossFit.name

    def plan(self, predictions: Predictions) -> dealing.Plan:
        return self.dealt

    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        plan = self.dealt
        at_once = calibrator.cross_fit_at_once(predictions, plan)
        if at_once is not None:
            return at_once
        scores = predictions.scores  # taken once, so that subsets find their logarithms ready
        if not calibrator.bins_posteriors:  # and do not carry the posteriors besides
            predictions = predictions.replace_scores(predictions.kind, scores)
        # sorted by who serves them, the samples of a calibrator are a slice
        n_served = plan.trains.shape[0]
        order = np.argsort(plan.served_by, kind="stable")
        bounds = np.searchsorted(plan.served_by[order], np.arange(n_served + 1))
        parts = [order[a:b] for a, b in pairwise(bounds)]
        values = np.empty(scores.shape)
        kind = predictions.kind
        fitted = None  # the one before is a good start for the next
        for rows, may_train in zip(parts, plan.trains, strict=True):
            training = [part for part, used in zip(parts, may_train, strict=True) if used]
            fitted = calibrator.fit_from(predictions[_joined(training)], fitted)
            values[rows] = fitted.transform(predictions[rows]).scores
            kind = fitted.output_kind
        return predictions.replace_scores(kind, values)


@dataclass(frozen=True, eq=False)
class TrainOnTest(Training):
    """Train on the evaluated data themselves: an upper bound on what calibration brings.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fp.TrainOnTest().calibrate(fp.PAV(), data).posteriors[:, 1].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """

    name = "trained on the same data"

    def plan(self, predictions: Predictions) -> dealing.Plan:
        return dealing.Plan.of_one(len(predictions))

    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        return calibrator.fit(predictions).transform(predictions)


@dataclass(frozen=True, eq=False)
class HeldOut(Training):
    """Train on other data, which are part of the system under evaluation.

    Parameters
    ----------
    predictions : Predictions
        Labeled predictions of the same system on data of their own.

    Examples
    --------
    >>> import fastpsr as fp
    >>> held_out = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> data = fp.Predictions.from_posteriors(None, [0.2, 0.5])
    >>> fp.HeldOut(held_out).calibrate(fp.PAV(), data).posteriors[:, 1].tolist()
    [0.0, 0.5]
    """

    predictions: Predictions
    name = "trained on held-out data"
    refits = False

    @classmethod
    def examples(cls, data: Any) -> list[Training]:
        return [cls(data)]

    def __post_init__(self) -> None:
        check_predictions(self.predictions)

    def fixed_to(self, calibrator: Calibrator, predictions: Predictions) -> Training:
        return _Trained(calibrator.fit(self.predictions))

    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        return calibrator.fit(self.predictions).transform(predictions)


@dataclass(frozen=True, eq=False)
class _Trained(Training):
    """A calibrator that is trained already."""

    fitted: Calibrator
    name = HeldOut.name
    refits = False

    def calibrate(self, calibrator: Calibrator, predictions: Predictions) -> Predictions:
        return self.fitted.transform(predictions)


def cross_fit(
    calibrator: Calibrator, predictions: Predictions, train: Training | None = None
) -> Predictions:
    """Return calibrated predictions.

    Parameters
    ----------
    calibrator : PAV, HistogramBinning, DirectionPreserving or TemperatureScaling
    predictions : Predictions
        Labeled, except with ``HeldOut``.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``CrossFit()``: 5 folds, each class spread evenly.

    Returns
    -------
    Predictions
        The same samples in the same order; see the calibrators for which kind.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fp.cross_fit(fp.PAV(), data, fp.TrainOnTest()).posteriors[:, 1].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    check_calibrator(calibrator)
    check_predictions(predictions)
    return as_training(CrossFit() if train is None else train).calibrate(calibrator, predictions)


def _dimensions(values: Any) -> int:
    try:
        return np.ndim(values)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, say
        return 0


def _is_pair(groups: Any) -> bool:
    return isinstance(groups, (tuple, list)) and len(groups) == 2 and _dimensions(groups[0]) == 1


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    if not parts:
        raise ValueError(
            "folds must leave training samples for every trial: some pair of folds covers all; "
            "use more folds"
        )
    return np.concatenate(parts)


def as_training(train: Training) -> Training:
    """Raise unless `train` is a way of training."""
    checks.check_instance("train", train, Training, "CrossFit, TrainOnTest or HeldOut")
    return train
