"""Cross-fitting of a calibrator per group of samples, with one for all where a group is small."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.folds import Folds, RowFolds, one_fold
from fastpsr.calibration.fusion import LinearFusion, Systems
from fastpsr.calibration.quality import Quality
from fastpsr.data import Data, Floats, Kind, Part, Predictions, Transform
from fastpsr.errors import ArgumentError

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

    def fit_folds(self, data: Data, folds: Folds) -> Transform:
        assert isinstance(data, Predictions)
        self.pooled.look_at(data)  # which may refuse weights
        pooled = self.pooled.fit_folds(data, folds)
        fold_of_row, fits = folds.fold_of_rows(Part.whole(data)), []
        for rows, member in zip(self.rows, self.members, strict=True):
            of_group = replace(folds, assignment=RowFolds(fold_of_row[rows]))
            fits.append(self._group_fits(member, data[rows], of_group))
        return _ByGroup(folds, pooled, self.rows, tuple(fits))

    def _group_fits(
        self, member: Calibrator, group: Predictions, folds: Folds
    ) -> Transform | dict[int, Transform]:
        """Return the fits of all calibrators to a group, or of those that are possible."""
        sizes = counts_of(group, folds.fold_of_rows(Part.whole(group)), folds.n_folds)
        trains = np.asarray(folds.training_mask, np.int64) @ sizes
        is_enough = (trains >= self.min_per_class).all(axis=1)
        if is_enough.all():
            transform = _if_fitted(member, group, folds)
            if transform is not None:
                return transform
        transforms: dict[int, Transform] = {}
        for number in np.flatnonzero(is_enough).tolist():
            only = folds.with_one_calibrator(folds.training_mask[number], ("only", number))
            transform = _if_fitted(member, group, only)
            if transform is not None:
                transforms[number] = transform
        return transforms

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        return {"transform_of_rows": self.fit_folds(data, one_fold())}

    def _transform(self, predictions: Predictions) -> Predictions:
        mapped: Predictions = self.transform_of_rows(Part.whole(predictions))  # type: ignore[attr-defined]
        return mapped


@dataclass(frozen=True, eq=False)
class FusedRows(Calibrator):
    """A fusion of the systems of given rows, which stand for the predictions of one."""

    fusion: LinearFusion
    systems: Systems

    def fit_folds(self, data: Data, folds: Folds) -> Transform:
        return _Fused(self.fusion.cross_fitted(self.systems, lambda _: folds).scores)

    def _transform(self, predictions: Predictions) -> Predictions:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _ByGroup(Transform):
    """Map each row with the calibrator of its fold and group, or of its fold alone.

    Attributes
    ----------
    folds : Folds
    pooled : Transform
    rows : tuple of ndarray of int64
        Rows of each group.
    fits : tuple of (Transform or dict of int to Transform)
        Of each group: the fits of all calibrators, or of some by their number.
    """

    folds: Folds
    pooled: Transform
    rows: tuple[Ints, ...]
    fits: tuple[Transform | dict[int, Transform], ...]

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """Posteriors for posteriors, else likelihoods."""
        kind = self.pooled.kind
        assert kind is not None
        return kind

    def __call__(self, part: Part) -> Predictions:
        pooled = self._serving(self.pooled)(part)
        values = pooled.scores.copy()
        calibrator_of_row = self.folds.calibrator_of_rows(part)
        for rows, fits in zip(self.rows, self.fits, strict=True):
            group = Part.whole(part.predictions[rows])
            if isinstance(fits, Transform):
                values[rows] = self._serving(fits)(group).scores
                continue
            for number, transform in fits.items():
                is_served = calibrator_of_row[rows] == number
                if is_served.any():
                    values[rows[is_served]] = transform(group).scores[is_served]
        return pooled.replace_scores(pooled.kind, values)

    def _serving(self, transform: Any) -> Transform:
        """Return the transform by the calibrators that serve the folds here."""
        of_fold = self.folds.calibrator_of_fold
        folds: Folds | None = getattr(transform, "folds", None)
        if folds is None or np.array_equal(folds.calibrator_of_fold, of_fold):
            return transform  # type: ignore[no-any-return]
        changed = replace(folds, calibrator_of_fold=of_fold)
        return replace(transform, folds=changed)  # type: ignore[no-any-return]


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


def _if_fitted(member: Calibrator, group: Predictions, folds: Folds) -> Transform | None:
    """Return the cross-fitted transform of a group, None if some fit has no optimum."""
    try:
        return member.fit_folds(group, folds)
    except ArgumentError as error:
        if not has_no_fit(error):
            raise
        return None
