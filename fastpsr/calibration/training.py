"""Training of calibrators: by cross-fitting, on the test data, or on held-out data."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.caching import ByIdentity
from fastpsr.calibration import folds as dealing
from fastpsr.calibration.base import Calibrator, FitTransform, as_calibrator
from fastpsr.calibration.by_condition import ByCondition
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.fusion import LinearFusion, Systems
from fastpsr.counts import begin, one_call, shared
from fastpsr.data import (
    By,
    Data,
    PartitionedPredictions,
    Predictions,
    check_data,
    check_ids,
    mapped,
    picked_ids,
)
from fastpsr.data.suspicion import look_at_llrs
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import OF_MEANS, IntervalRule
from fastpsr.options import Options, with_hints


class Training(Options, ABC):
    """A way to train a calibrator for the predictions that are evaluated."""

    #: Short description.
    name: ClassVar[str]

    #: Whether the calibrator is trained on the evaluated data, and again in each replicate.
    refits: ClassVar[bool] = True

    #: How intervals of a metric after calibration are computed, but for the bias of the fit.
    interval_rule: ClassVar[IntervalRule] = IntervalRule("bca", "bca")

    @classmethod
    def examples(cls, data: Any) -> "list[Training]":
        """Return example trainings of this class for data, used by tests, warm-up and fuzzing."""
        return [cls()]

    def folds_of(self, data: Data) -> Folds:
        """Return the folds, if the calibrator is trained on the evaluated data."""
        raise NotImplementedError

    @abstractmethod
    def calibrated(self, calibrator: Calibrator, data: Data) -> Any:
        """Fit calibrators, and return the calibrated data."""

    def calibrate(self, calibrator: Calibrator | FitTransform, predictions: Data) -> Any:
        """Return predictions calibrated with a calibrator that is trained in this way."""
        wrapped = as_calibrator(calibrator)
        with one_call():
            if self.refits or isinstance(predictions, PartitionedPredictions):
                begin(predictions)  # others need no labels
            calibrated = self.calibrated(wrapped, predictions)
            self.look_at(wrapped, predictions)
        return calibrated

    def look_at(self, calibrator: Calibrator, data: Data) -> None:
        """Warn of training data that a calibrator cannot improve."""
        return calibrator.look_at(data)

    def on_rows(self, data: Data, rows: Any) -> "Training":
        """Return the training for the rows selected by an index, if it holds one id per row."""
        return self


@dataclass(frozen=True, eq=False)
class CrossFit(Training):
    """Calibrate each sample with a calibrator trained on other folds (cross-fitting).

    It estimates the effect of calibration on new data.

    Parameters
    ----------
    folds : int, array-like of shape (N,), or str
        Number of folds, which are stratified by class; or the fold id of each sample, or the name
        of the column of fold ids.
    seed : int
        Seed of the shuffle of samples, groups or speakers.
    groups : array-like of shape (N,), str, or a pair of either, optional
        Group of each sample, or the name of the column of group ids; a group is never split over
        folds. A pair is for trials with a speaker on each side: speakers are assigned
        to folds, and a trial whose speakers are in folds f and g is calibrated with a calibrator
        trained on the trials that have no speaker in f or g.

    Raises
    ------
    ValueError
        For fewer than 2 folds, or `groups` together with given folds; when used, for ids of the
        wrong length, and for more folds than groups or than samples of a class.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_logits([0, 1, 0, 1, 0, 1], [-2.0, -1.0, 1.0, 2.0, -0.5, 0.3])
    >>> train = fp.CrossFit(folds=[0, 0, 1, 1, 2, 2])
    >>> fp.cross_fit(fp.TemperatureScaling(), data, train).log_odds.round(3).tolist()
    [-1.551, -0.775, 0.775, 1.551, -0.21, 0.126]
    """

    folds: int | str | ArrayLike = 5
    seed: int = 0
    groups: str | ArrayLike | tuple[str, str] | tuple[ArrayLike, ArrayLike] | None = None
    name = "cross-fitted"

    def __post_init__(self) -> None:
        if isinstance(self.folds, str) or _dimensions(self.folds) > 0:
            if self.groups is not None:
                raise ArgumentError("groups", "need a number of folds: folds are given per sample")
        elif not isinstance(self.folds, (int, np.integer)) or not 2 <= self.folds <= 10_000:
            raise ArgumentError(
                "folds",
                f"must be an integer of 2 to 10,000, not {self.folds!r}",
                remedy="pass an array of ids, one per sample, for folds of your own",
            )
        checks.check_integer("seed", self.seed, 0)

    def folds_of(self, data: Data) -> Folds:
        """Return the folds, assigned once; rows of weight 0 are not counted.

        A replicate has the folds of the data that it is drawn from.
        """
        data = data.drawn_from
        begin(data)
        specs = [check_ids(argument, ids, data) for argument, ids in self._specs()]
        n_folds = int(self.folds) if isinstance(self.folds, (int, np.integer)) else 0
        key = ("folds", n_folds, self.seed, *map(dealing.spec_key, specs))
        return shared(key, data, lambda: self._deal(data, n_folds, specs))

    def _deal(self, data: Data, n_folds: int, specs: list[Any]) -> Folds:
        if not n_folds:
            return dealing.given_folds(data, specs[0])
        if not specs:
            return dealing.deal_samples(data, n_folds, self.seed)
        if len(specs) == 2:
            return dealing.deal_pairs(data, (specs[0], specs[1]), n_folds, self.seed)
        return dealing.deal_groups(data, specs[0], n_folds, self.seed)

    def _specs(self) -> list[tuple[str, Any]]:
        """Return the ids, or names of their columns, each with the name of its argument."""
        groups: Any = self.groups
        if not isinstance(self.folds, (int, np.integer)):
            return [("folds", self.folds)]
        if groups is None:
            return []
        return [("groups", side) for side in (groups if _is_pair(groups) else [groups])]

    def on_rows(self, data: Data, rows: Any) -> "CrossFit":
        specs = [picked_ids(name, ids, data, rows) for name, ids in self._specs()]
        if not specs:
            return self
        if self.groups is None:
            return replace(self, folds=specs[0])
        return replace(self, groups=tuple(specs) if len(specs) == 2 else specs[0])

    def calibrated(self, calibrator: Calibrator, data: Data) -> Any:
        calibrator.check_accepts(data)
        return mapped(data, calibrator.fit_folds(data, self.folds_of(data)))


@dataclass(frozen=True, eq=False)
class TrainOnTest(Training):
    """Train on the evaluated data themselves: an upper bound on the effect of calibration.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fp.TrainOnTest().calibrate(fp.PAV(), data).posteriors[:, 1].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """

    name = "trained on the same data"
    interval_rule = IntervalRule("subsampling", "subsampling")

    def folds_of(self, data: Data) -> Folds:
        return dealing.one_fold()

    def calibrated(self, calibrator: Calibrator, data: Data) -> Any:
        fitted = calibrator.fitted_to(data)
        return fitted.transform(data)


@dataclass(frozen=True, eq=False)
class HeldOut(Training):
    """Train on held-out data; the fitted calibrator is part of the evaluated system.

    Parameters
    ----------
    predictions : Predictions
        Labeled predictions of the same system on other data, in memory or in parts.

    Examples
    --------
    >>> import fastpsr as fp
    >>> held_out = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> data = fp.Predictions.from_posteriors(None, [0.2, 0.5])
    >>> fp.HeldOut(held_out).calibrate(fp.PAV(), data).posteriors[:, 1].tolist()
    [0.0, 0.5]
    """

    predictions: Data
    name = "trained on held-out data"
    refits = False
    interval_rule = OF_MEANS

    @classmethod
    def examples(cls, data: Any) -> list[Training]:
        return [cls(data)]

    def __post_init__(self) -> None:
        check_data(self.predictions)

    def calibrated(self, calibrator: Calibrator, data: Data) -> Any:
        held_out = self.predictions
        begin(held_out)
        name = ("fit", ByIdentity(calibrator))
        fitted = shared(name, held_out, lambda: calibrator.fitted_to(held_out))
        return fitted.transform(data)

    def look_at(self, calibrator: Calibrator, data: Data) -> None:
        begin(self.predictions)
        calibrator.look_at(self.predictions)


@overload
def cross_fit(
    calibrator: Calibrator | FitTransform, predictions: Predictions, train: Training | None = ...
) -> Predictions: ...


@overload
def cross_fit(
    calibrator: Calibrator | FitTransform,
    predictions: PartitionedPredictions,
    train: Training | None = ...,
) -> PartitionedPredictions: ...


@overload
def cross_fit(
    calibrator: LinearFusion, predictions: Systems, train: Training | None = ...
) -> Predictions: ...


@overload
def cross_fit(
    calibrator: ByCondition,
    predictions: Predictions | Systems,
    train: Training | None = ...,
    *,
    by: By,
) -> Predictions: ...


@with_hints
def cross_fit(
    calibrator: Calibrator | FitTransform | LinearFusion | ByCondition,
    predictions: Data | Systems,
    train: Training | None = None,
    *,
    by: By | None = None,
) -> Any:
    """Return predictions calibrated by cross-fitting, or by a calibrator trained in another way.

    Parameters
    ----------
    calibrator : one of :mod:`fastpsr.calibration`, such as PAV(), or your own
        A calibrator of your own is an object with ``fit(predictions)``, which returns the fitted
        calibrator, and ``transform(predictions)``. It is copied for each fit.
    predictions : Predictions, or predictions in parts
        Labeled, except with ``HeldOut``.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``CrossFit()``: 5 stratified folds.
    by : str, list of str, or dict of name to array-like of shape (N,), optional
        Columns of the predictions, or ids by name: conditions, for ``ByCondition`` alone.

    Returns
    -------
    Predictions, or predictions in parts
        The same samples in the same order: posteriors for posteriors, likelihoods for likelihoods
        and raw scores. Data in parts are calibrated when they are read.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fp.cross_fit(fp.PAV(), data, fp.TrainOnTest()).posteriors[:, 1].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    if isinstance(calibrator, ByCondition):
        chosen = refitted_training(train, "the same samples")
        bound, samples = calibrator.on_rows(predictions, by)
        if samples is predictions:
            look_at_llrs(samples)
        return chosen.calibrate(bound, samples)
    if by is not None:
        rule = f"is for ByCondition, not for {type(calibrator).__name__}"
        raise ArgumentError("by", rule, remedy="pass ByCondition(calibrator)")
    if isinstance(calibrator, LinearFusion):
        chosen = refitted_training(train, "these systems")
        return calibrator.cross_fitted(predictions, chosen.folds_of)  # type: ignore[arg-type]
    as_calibrator(calibrator)
    check_data(predictions)
    assert isinstance(predictions, Predictions | PartitionedPredictions)
    look_at_llrs(predictions)
    return as_training(CrossFit() if train is None else train).calibrate(calibrator, predictions)


def refitted_training(train: Training | None, what: str) -> Training:
    """Return the training; raise if it is on other samples."""
    training = as_training(CrossFit() if train is None else train)
    if not training.refits:
        rule = f"must be trained on {what}, by CrossFit or TrainOnTest"
        raise ArgumentError("train", rule, remedy="fit() to held-out data, and transform()")
    return training


def _dimensions(values: Any) -> int:
    try:
        return np.ndim(values)
    except (ValueError, TypeError, RuntimeError):  # such as rows of different lengths
        return 0


def _is_pair(groups: Any) -> bool:
    if not isinstance(groups, (tuple, list)) or len(groups) != 2:
        return False
    if isinstance(groups, tuple) and all(isinstance(side, str) for side in groups):
        return True
    return _dimensions(groups[0]) == 1


def as_training(train: Training) -> Training:
    """Raise unless `train` is a `Training`."""
    checks.check_instance("train", train, Training, "CrossFit, TrainOnTest or HeldOut")
    return train
