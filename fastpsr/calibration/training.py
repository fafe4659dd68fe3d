"""Training calibrators: cross-fitted, on the test data, or on data held out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.calibration import folds as dealing
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.own import FitTransform, as_calibrator
from fastpsr.errors import ArgumentError
from fastpsr.plans import (
    Data,
    Part,
    PartitionedPredictions,
    Plan,
    Shared,
    begin,
    check_data,
    check_ids,
    mapped,
    run,
)

__all__ = ["CrossFit", "HeldOut", "TrainOnTest", "Training", "as_training", "cross_fit"]


class Training(ABC):
    """A way to train a calibrator for the predictions that are evaluated."""

    #: How it goes, in a word or two.
    name: ClassVar[str]

    #: Whether the calibrator is trained on the evaluated data, so anew in each replicate.
    refits: ClassVar[bool] = True

    @classmethod
    def examples(cls, data: Any) -> "list[Training]":
        """Return trainings of this class for data: what tests, warm-up and fuzzing go over."""
        return [cls()]

    def folds_plan(self, data: Data) -> Plan[Folds]:
        """Ask who trains for whom, where the calibrator is trained on the evaluated data."""
        raise NotImplementedError
        yield

    def folds_of(self, predictions: Data) -> Folds:
        """Return who trains for whom."""

        def plan() -> Plan[Folds]:
            yield from begin(predictions)
            return (yield from self.folds_plan(predictions))

        return run(plan)

    @abstractmethod
    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        """Ask for fits, and return the data as these map them."""

    @abstractmethod
    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan["Training"]:
        """Ask for what must not change between replicates, and return the training with it."""

    def calibrate(self, calibrator: Calibrator | FitTransform, predictions: Data) -> Any:
        """Return the predictions as the calibrator maps them, trained in this way."""
        made = as_calibrator(calibrator)

        def plan() -> Plan[Any]:
            yield from self._begin(predictions)
            return (yield from self.calibrated_plan(made, predictions))

        return run(plan)

    def on_rows(self, index: Any) -> "Training":
        """Return the training for the rows that an index picks, where it holds ids of rows."""
        return self

    def _begin(self, data: Data) -> Plan[None]:
        yield from begin(data)


@dataclass(frozen=True, eq=False)
class CrossFit(Training):
    """Calibrate each sample by a fit on other folds: what calibration would bring on new data.

    Parameters
    ----------
    folds : int, array-like of shape (N,), or str
        Number of folds, dealt so that each class is spread evenly; or the fold id of each sample:
        for data in parts, the name of the column that has it.
    seed : int
        Of the shuffle that deals samples, groups or speakers.
    groups : array-like of shape (N,), str, or a pair of either, optional
        Samples of a group stay in one fold. With a pair, for trials with a speaker on each side,
        speakers are dealt to folds, and a trial is calibrated by a fit on the trials that have
        neither of its two speakers' folds on either side. Data in parts have columns of groups,
        which are named.

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

    def folds_plan(self, data: Data) -> Plan[Folds]:
        """Ask who trains for whom, dealt once for all who ask; rows of weight 0 are not dealt."""
        specs = self._specs()
        for argument, spec in specs:
            check_ids(argument, spec, data)
        n_folds = int(self.folds) if isinstance(self.folds, (int, np.integer)) else 0
        name = ("folds", n_folds, self.seed, *(dealing.spec_key(spec) for _, spec in specs))
        (found,) = yield [Shared(name, data, lambda: self._deal(data, n_folds))]
        return found  # type: ignore[no-any-return]

    def _deal(self, data: Data, n_folds: int) -> Plan[Folds]:
        groups = self.groups
        if not n_folds:
            return (yield from dealing.given_folds(data, self.folds))
        if groups is None:
            return dealing.deal_samples(data, n_folds, self.seed)
        if _is_pair(groups):
            pair = (groups[0], groups[1])  # type: ignore[index]
            return (yield from dealing.deal_pairs(data, pair, n_folds, self.seed))
        return (yield from dealing.deal_groups(data, groups, n_folds, self.seed))

    def _specs(self) -> list[tuple[str, Any]]:
        """Return what names or holds ids, with the argument that it is."""
        if not isinstance(self.folds, (int, np.integer)):
            return [("folds", self.folds)]
        if self.groups is None:
            return []
        if _is_pair(self.groups):
            return [("groups", side) for side in self.groups]  # type: ignore[union-attr]
        return [("groups", self.groups)]

    def on_rows(self, index: Any) -> "CrossFit":
        specs = [np.asarray(ids)[index] for _, ids in self._specs()]
        if not specs:
            return self
        if self.groups is None:
            return replace(self, folds=specs[0])
        return replace(self, groups=tuple(specs) if len(specs) == 2 else specs[0])

    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan[Training]:
        folds = yield from self.folds_plan(data)
        if isinstance(data, PartitionedPredictions):
            pinned = dealing.PinnedFolds(folds.trains, folds, data.depth, None)
        else:
            served = folds.served_by(Part.whole(data))
            pinned = dealing.PinnedFolds(folds.trains, folds, 0, served)
        return _ByFolds(pinned)

    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        calibrator.check_classes(data.n_classes)
        folds = yield from self.folds_plan(data)
        return (yield from _ByFolds(folds).calibrated_plan(calibrator, data))


@dataclass(frozen=True, eq=False)
class _ByFolds(Training):
    """Cross-fitting with folds that are dealt already."""

    folds: Folds
    name = CrossFit.name

    def folds_plan(self, data: Data) -> Plan[Folds]:
        return self.folds
        yield

    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan[Training]:
        return self
        yield

    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        calibrator.check_classes(data.n_classes)
        transform = yield from calibrator.cross_fit_plan(data, self.folds)
        return mapped(data, transform)


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

    def folds_plan(self, data: Data) -> Plan[Folds]:
        return dealing.OneFold()
        yield

    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan[Training]:
        return self
        yield

    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        fitted = yield from calibrator.fit_plan(data)
        return fitted.transform(data)


@dataclass(frozen=True, eq=False)
class HeldOut(Training):
    """Train on other data, which are part of the system under evaluation.

    Parameters
    ----------
    predictions : Predictions
        Labeled predictions of the same system on data of their own, in memory or in parts.

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

    @classmethod
    def examples(cls, data: Any) -> list[Training]:
        return [cls(data)]

    def __post_init__(self) -> None:
        check_data(self.predictions)

    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan[Training]:
        return _Trained((yield from self._fit(calibrator)))

    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        fitted = yield from self._fit(calibrator)
        return fitted.transform(data)

    def _begin(self, data: Data) -> Plan[None]:
        if isinstance(data, PartitionedPredictions):  # others need no labels
            yield from begin(data)

    def _fit(self, calibrator: Calibrator) -> Plan[Calibrator]:
        yield from begin(self.predictions)
        return (yield from calibrator.fit_plan(self.predictions))


@dataclass(frozen=True, eq=False)
class _Trained(Training):
    """A calibrator that is trained already."""

    fitted: Calibrator
    name = HeldOut.name
    refits = False

    def fixed_to(self, calibrator: Calibrator, data: Data) -> Plan[Training]:
        return self
        yield

    def calibrated_plan(self, calibrator: Calibrator, data: Data) -> Plan[Any]:
        return self.fitted.transform(data)
        yield


def cross_fit(
    calibrator: Calibrator | FitTransform, predictions: Data, train: Training | None = None
) -> Any:
    """Return calibrated predictions.

    Parameters
    ----------
    calibrator : PAV, HistogramBinning, DirectionPreserving, TemperatureScaling, or your own
        An object of your own with ``fit(predictions)``, which returns it fitted, and
        ``transform(predictions)``. It is copied for each fit.
    predictions : Predictions, or predictions in parts
        Labeled, except with ``HeldOut``.
    train : CrossFit, TrainOnTest or HeldOut, optional
        By default ``CrossFit()``: 5 folds, each class spread evenly.

    Returns
    -------
    Predictions, or predictions in parts
        The same samples in the same order; see the calibrators for which kind. Those in parts are
        mapped when they are read.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])
    >>> fp.cross_fit(fp.PAV(), data, fp.TrainOnTest()).posteriors[:, 1].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    as_calibrator(calibrator)
    check_data(predictions)
    return as_training(CrossFit() if train is None else train).calibrate(calibrator, predictions)


def _dimensions(values: Any) -> int:
    try:
        return np.ndim(values)
    except (ValueError, TypeError, RuntimeError):  # rows of different lengths, say
        return 0


def _is_pair(groups: Any) -> bool:
    if not isinstance(groups, (tuple, list)) or len(groups) != 2:
        return False
    if isinstance(groups, tuple) and all(isinstance(side, str) for side in groups):
        return True
    return _dimensions(groups[0]) == 1


def as_training(train: Training) -> Training:
    """Raise unless `train` is a way of training."""
    checks.check_instance("train", train, Training, "CrossFit, TrainOnTest or HeldOut")
    return train
