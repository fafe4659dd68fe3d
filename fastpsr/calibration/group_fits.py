"""Cross-fitting of a calibrator per group of samples, with one for all where a group is small."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.folds import Folds, OneFold
from fastpsr.calibration.fusion import LinearFusion, Systems
from fastpsr.calibration.quality import Quality
from fastpsr.errors import ArgumentError
from fastpsr.plans import Data, Part, Plan, Transform, resolved
from fastpsr.predictions import Floats, Kind, Predictions

__all__ = ["FusedRows", "GroupFits", "counts_of", "has_no_fit", "taken"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupFits(Calibrator):
    """A calibrator for each group of the rows of given data, also after these are reweighted.

    Attributes
    ----------
    pooled : Calibrator
        Of all rows; it serves rows of no group, and of groups too small to train their own.
    rows : tuple of ndarray of int64
        Rows of each group.
    members : tuple of Calibrator
        What is fitted to each group.
    min_per_class : int
        Rows of each class that a training set must have.
    """

    pooled: Calibrator
    rows: tuple[Ints, ...]
    members: tuple[Calibrator, ...]
    min_per_class: int
    name = "ByCondition"

    @property
    def needs_posteriors(self) -> bool:  # type: ignore[override]
        """Whether the calibrators do."""
        return self.pooled.needs_posteriors

    def check_accepts(self, data: Data) -> None:
        self.pooled.check_accepts(data)

    def require_classes(self, data: Data) -> None:
        self.pooled.require_classes(data)

    def cross_fit_plan(self, data: Data, folds: Folds) -> Plan[Transform]:
        assert isinstance(data, Predictions)
        yield from resolved(self.pooled.look_at(data))  # which may refuse weights
        pooled = yield from resolved(self.pooled.cross_fit_plan(data, folds))
        whole = Part.whole(data)
        fold_of_row, calibrator_of_row = folds.fold_of_rows(whole), folds.calibrator_of_rows(whole)
        own = []
        for rows, member in zip(self.rows, self.members, strict=True):
            of_rows = _FoldsOfRows(
                folds.training_mask, folds, fold_of_row[rows], calibrator_of_row[rows]
            )
            own.append((yield from self._own(member, data[rows], of_rows)))
        return _ByGroup(folds, folds, pooled, self.rows, tuple(own))

    def _own(
        self, member: Calibrator, group: Predictions, folds: "_FoldsOfRows"
    ) -> Plan["_Joint | _Separate | None"]:
        """Plan: return the fits to a group: of all folds, of each, or None if none is possible."""
        sizes = counts_of(group, folds.fold_numbers, folds.n_folds)
        trains = np.asarray(folds.training_mask, np.int64) @ sizes
        is_enough = (trains >= self.min_per_class).all(axis=1)
        if is_enough.all():
            transform = yield from _if_fitted(member, group, folds)
            if transform is not None:
                return _Joint(folds, transform)
        transforms: dict[int, Transform] = {}
        for number in np.flatnonzero(is_enough).tolist():
            transform = yield from _if_fitted(member, group, folds.only(number))
            if transform is not None:
                transforms[number] = transform
        return _Separate(transforms) if transforms else None

    def _fit_plan(self, data: Data, start: Self | None) -> Plan[dict[str, Any]]:
        return {"transform_of_rows": (yield from resolved(self.cross_fit_plan(data, OneFold())))}

    def _transform(self, predictions: Predictions) -> Predictions:
        mapped: Predictions = self.transform_of_rows(Part.whole(predictions))  # type: ignore[attr-defined]
        return mapped


@dataclass(frozen=True, eq=False)
class FusedRows(Calibrator):
    """A fusion of the systems of given rows, which stand for the predictions of one."""

    fusion: LinearFusion
    systems: Systems

    def cross_fit_plan(self, data: Data, folds: Folds) -> Transform:
        return _Fused(self.fusion.cross_fitted(self.systems, lambda _: folds).scores)

    def _transform(self, predictions: Predictions) -> Predictions:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _FoldsOfRows(Folds):
    """The folds of some rows of data in memory.

    Attributes
    ----------
    whole : Folds
    fold_numbers, calibrator_numbers : ndarray of uint16, shape (n,)
        Fold of each row, and the calibrator that transforms it.
    """

    whole: Folds
    fold_numbers: NDArray[np.uint16]
    calibrator_numbers: NDArray[np.uint16]

    @property
    def served(self) -> Ints:
        served = self.whole.served
        if self.n_calibrators == self.whole.n_calibrators:
            return served
        return np.column_stack([np.zeros(self.n_folds, np.int64), np.arange(self.n_folds)])

    @property
    def apart(self) -> NDArray[np.bool_]:
        return self.whole.apart

    def only(self, number: int) -> "_FoldsOfRows":
        """Return folds of which one calibrator transforms all rows."""
        mask, zeros = self.training_mask[number][None], np.zeros_like(self.calibrator_numbers)
        return _FoldsOfRows(mask, self.whole, self.fold_numbers, zeros)

    def calibrator_of_rows(self, part: Part) -> NDArray[np.uint16]:
        return self.calibrator_numbers

    def _fold_of_rows(self, part: Part) -> NDArray[np.uint16]:
        return self.fold_numbers


@dataclass(frozen=True, eq=False)
class _Joint:
    """Fits of all calibrators of a group, in one transform."""

    folds: _FoldsOfRows
    transform: Transform

    def into(self, values: Floats, part: Part, rows: Ints, calibrators: Any) -> None:
        """Write the scores of the rows of the group, which these calibrators serve."""
        transform = self.transform
        if not np.array_equal(calibrators, self.folds.calibrator_numbers):
            folds = replace(self.folds, calibrator_numbers=calibrators)
            transform = replace(transform, folds=folds)  # type: ignore[type-var]
        values[rows] = transform(Part.whole(part.predictions[rows])).scores


@dataclass(frozen=True, eq=False)
class _Separate:
    """Fits of some calibrators of a group, by number, each a transform of all its rows."""

    transforms: Mapping[int, Transform]

    def into(self, values: Floats, part: Part, rows: Ints, calibrators: Any) -> None:
        """Write the scores of the rows of the group that its own calibrators serve."""
        group = Part.whole(part.predictions[rows])
        for number, transform in self.transforms.items():
            is_served = calibrators == number
            if is_served.any():
                values[rows[is_served]] = transform(group).scores[is_served]


@dataclass(frozen=True, eq=False)
class _ByGroup(Transform):
    """Map each row with the calibrator of its fold and group, or of its fold alone."""

    folds: Folds
    dealt: Folds  # that the fits are of
    pooled: Transform
    rows: tuple[Ints, ...]
    own: tuple[_Joint | _Separate | None, ...]

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """Posteriors for posteriors, else likelihoods."""
        kind = self.pooled.kind
        assert kind is not None
        return kind

    def __call__(self, part: Part) -> Predictions:
        transform = self.pooled
        if self.folds is not self.dealt:
            transform = replace(transform, folds=self.folds)  # type: ignore[type-var]
        pooled = transform(part)
        values = pooled.scores.copy()
        calibrator_of_row = self.folds.calibrator_of_rows(part)
        for rows, own in zip(self.rows, self.own, strict=True):
            if own is not None:
                own.into(values, part, rows, calibrator_of_row[rows])
        return pooled.replace_scores(pooled.kind, values)


@dataclass(frozen=True, eq=False)
class _Fused(Transform):
    """Scores that a fusion gives rows, whatever their scores are."""

    scores: Floats
    kind: Kind = "likelihoods"

    def __call__(self, part: Part) -> Predictions:
        return part.predictions.replace_scores(self.kind, self.scores)


def taken(data: Any, rows: Ints) -> Any:
    """Return some rows of predictions, or of systems and quality measures."""
    if isinstance(data, Predictions):
        return data[rows]
    if isinstance(data, Quality):
        return Quality(np.asarray(data.enroll)[rows], np.asarray(data.test)[rows])
    if isinstance(data, Mapping):
        return {name: taken(each, rows) for name, each in data.items()}
    return [taken(each, rows) for each in data]


def counts_of(samples: Predictions, groups: NDArray[Any], n_groups: int) -> Ints:
    """Return the number of samples of positive weight by group and class, (G, K)."""
    n_classes = samples.n_classes
    cells = groups.astype(np.int64) * n_classes + samples.labels
    if samples.weights.size:
        cells = cells[samples.weights > 0.0]
    return np.bincount(cells, minlength=n_groups * n_classes).reshape(n_groups, n_classes)


def has_no_fit(error: ArgumentError) -> bool:
    """Whether an error says that scores have no best map, such as those of separate classes."""
    return error.argument in ("scores", "systems")


def _if_fitted(member: Calibrator, group: Predictions, folds: Folds) -> Plan[Transform | None]:
    """Plan: return the cross-fitted transform of a group, None if some fit has no optimum."""
    try:
        return (yield from resolved(member.cross_fit_plan(group, folds)))
    except ArgumentError as error:
        if not has_no_fit(error):
            raise
        return None
