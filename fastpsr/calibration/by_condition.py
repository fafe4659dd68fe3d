"""Calibration by condition: a calibrator per group of samples, and one for all the others."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.calibration.affine import DirectionPreserving
from fastpsr.calibration.base import Calibrator, Fittable, as_calibrator, require_fitted
from fastpsr.calibration.folds import Folds, RowFolds, one_fold
from fastpsr.calibration.fusion import LinearFusion, Systems
from fastpsr.calibration.stacks import Quality
from fastpsr.counts.groups import Crossed
from fastpsr.data import (
    By,
    Data,
    Floats,
    Kind,
    Part,
    PartitionedPredictions,
    Predictions,
    Transform,
    check_data,
)
from fastpsr.data.groupings import Binning, Bins
from fastpsr.errors import ArgumentError, Subject, counted, warn, warnings_about
from fastpsr.results import aligned

_MOST_NAMED = 5  # conditions in a warning
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ByCondition(Fittable):
    """A calibrator, or a fusion, for each condition: for each value of columns, or combination.

    Conditions with few samples of some class in the training data, or for which no map is best,
    use the calibrator that is fitted to all samples, the pooled one; so do conditions that the
    training data do not have.

    Parameters
    ----------
    calibrator : one of :mod:`fastpsr.calibration`, LinearFusion, or your own
        By default ``DirectionPreserving()``.
    min_per_class : int
        Number of training samples of positive weight that a condition needs of each class, to have
        a calibrator of its own.
    bins : int, sequence of float, "each", or dict of name to one of these, optional
        Bins of numbers, such as durations, as in ``fp.evaluate``: how many, of about equal weight,
        or their edges. Edges are found in the fit, and kept; the first bin begins at -inf, and the
        last ends at inf.

    Attributes
    ----------
    columns_ : tuple of str
    edges_ : tuple
        For each column the edges of its bins, or None.
    groups_ : tuple of str
        Names of the G conditions of the training data, in natural order.
    counts_ : ndarray of int64, shape (G, K)
        Training samples of positive weight, by class.
    reasons_ : tuple of str
        Why a condition uses the pooled calibrator; "" if it has its own.
    pooled_ : calibrator
        Fitted to all samples.
    own_ : tuple of calibrator or None
        Fitted to the samples of each condition.

    Notes
    -----
    ``fit``, ``transform`` and ``fp.cross_fit`` take the conditions as `by`: a dict of names of
    columns to one id per sample (integers, other numbers or text). Several columns are combined.

    Each condition is a data set of its own, as ``predictions[rows]`` is: a smooth map of LLRs or
    raw scores is fitted at the class frequencies of the condition, unless priors are given to the
    predictions, or a `prior` to the calibrator. Calibrated posteriors refer to the condition.

    Cross-fitting assigns folds once, over all samples; a sample is calibrated by the samples of
    its condition in the training folds, at least `min_per_class` per class. The edges of bins
    come from all samples: they do not depend on scores or labels.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y, seconds = rng.integers(0, 2, 4000), rng.choice([3, 30], 4000)
    >>> scores = np.where(seconds == 30, 3.0, 1.0) * (y + rng.normal(size=4000))
    >>> data = fp.Predictions.from_raw_scores(y, scores)
    >>> dp = fp.DirectionPreserving(prior=0.5)
    >>> by_duration = fp.ByCondition(dp).fit(data, {"s": seconds})
    >>> print(by_duration)
          targets  non-targets  calibrator
    s=3     1,007        1,026  own
    s=30    1,022          945  own
    >>> round(by_duration["s=3"].scale_, 2), round(by_duration["s=30"].scale_, 2)
    (0.86, 0.38)
    >>> one, own = fp.cross_fit(dp, data), fp.cross_fit(fp.ByCondition(dp), data, by={"s": seconds})
    >>> round(fp.Cllr()(one), 3), round(fp.Cllr()(own), 3)
    (0.857, 0.839)
    """

    calibrator: Any = field(default_factory=DirectionPreserving)
    min_per_class: int = 100
    bins: Bins | None = None
    columns_: tuple[str, ...] = field(init=False, repr=False)
    edges_: tuple[Any, ...] = field(init=False, repr=False)
    groups_: tuple[str, ...] = field(init=False, repr=False)
    counts_: NDArray[np.int64] = field(init=False, repr=False)
    reasons_: tuple[str, ...] = field(init=False, repr=False)
    pooled_: Any = field(init=False, repr=False)
    own_: tuple[Any, ...] = field(init=False, repr=False)

    fitted_names = ("columns_", "edges_", "groups_", "counts_", "reasons_", "pooled_", "own_")
    fitted_texts = ("columns_", "groups_", "reasons_")
    fitted_nested = ("edges_", "pooled_", "own_")

    def __post_init__(self) -> None:
        if isinstance(self.calibrator, ByCondition):
            rule = "must be of all conditions, not by condition itself"
            raise ArgumentError("calibrator", rule, remedy="give all columns as by")
        if not isinstance(self.calibrator, LinearFusion):
            as_calibrator(self.calibrator)
        checks.check_integer("min_per_class", self.min_per_class, 1)

    def __getitem__(self, name: str) -> Any:
        """Return the fitted calibrator of a condition, such as "gender=f"; it may be the pooled."""
        self.require_fit()
        if name not in self.groups_:
            raise KeyError(name)
        return self.own_[self.groups_.index(name)] or self.pooled_

    def fit(self, predictions: Any, by: By) -> Self:
        """Return a copy fitted to labeled predictions in memory, and their conditions.

        Parameters
        ----------
        predictions : Predictions, or systems as ``LinearFusion.fit`` takes them
        by : str, list of str, or dict of name to array-like of shape (N,)
            Columns of the predictions, or ids by name: conditions, which are combined.

        Raises
        ------
        ArgumentError
            As from the calibrator for all samples; for columns that do not have an id per sample,
            and bins of columns that are no numbers.
        """
        samples = self._samples(predictions)
        crossed, groups = Crossed.of(samples, by, self.bins)
        pooled, names = self._map.fit(predictions), groups.names
        counts = counts_of(samples, groups.places, len(names))
        fits, reasons = [], []
        for name, rows, sizes in zip(names, groups.rows, counts, strict=True):
            fitted, reason = None, self._too_few(sizes)
            if not reason:
                with warnings_about(Subject(group=name)):
                    fitted, reason = self._fit_group(predictions, rows)
            fits.append(fitted)
            reasons.append(reason)
        used = np.flatnonzero(counts.any(axis=1)).tolist()  # others have weight 0
        attributes = {
            "columns_": crossed.columns,
            "edges_": tuple(each.edges for each in crossed.binnings),
            "groups_": tuple(names[g] for g in used),
            "counts_": counts[used],
            "reasons_": tuple(reasons[g] for g in used),
            "pooled_": pooled,
            "own_": tuple(fits[g] for g in used),
        }
        return self.with_fitted(pooled.domain_, attributes)

    def transform(self, predictions: Any, by: By) -> Predictions:
        """Return calibrated predictions of the same samples; labels are not needed.

        Parameters
        ----------
        predictions : Predictions, or systems as ``LinearFusion.transform`` takes them
        by : str, list of str, or dict of name to array-like of shape (N,)
            The columns of the fit.

        Raises
        ------
        ArgumentError
            As from the calibrator, and for other columns.

        Warns
        -----
        RuntimeWarning
            For conditions that the training data do not have.
        """
        self.require_fit()
        samples = self._samples(predictions)
        crossed = Crossed(self.columns_, tuple(map(Binning, self.edges_)))
        groups = crossed.groups(by, samples)
        calibrated: Predictions = self.pooled_.transform(predictions)
        values, own = calibrated.scores.copy(), dict(zip(self.groups_, self.own_, strict=True))
        unseen, weights = {}, samples.weights
        for name, rows in zip(groups.names, groups.rows, strict=True):
            if name not in own:
                n_here = np.count_nonzero(weights[rows]) if weights.size else rows.size
                unseen[name] = int(n_here)
            elif own[name] is not None:
                values[rows] = own[name].transform(taken(predictions, rows)).scores
        _warn_of_unseen({name: n for name, n in unseen.items() if n})
        return calibrated.replace_scores(calibrated.kind, values)

    def on_rows(self, predictions: Any, by: By | None) -> tuple[Calibrator, Predictions]:
        """Return a calibrator that `cross_fit` can train on these samples, and the samples."""
        samples = self._samples(predictions)
        _, groups = Crossed.of(samples, by, self.bins)
        rows = tuple(groups.rows)
        if isinstance(self.calibrator, LinearFusion):
            fusion = self.calibrator
            pooled: Calibrator = FusedRows(fusion, predictions)
            members = tuple(
                FusedRows(fusion, taken(predictions, members_of_group)) for members_of_group in rows
            )
            return GroupFits(pooled, rows, members, self.min_per_class), samples
        fallback = as_calibrator(self.calibrator)
        return GroupFits(fallback, rows, (fallback,) * len(rows), self.min_per_class), samples

    def check_fitted(self) -> None:
        n_groups, pooled = len(self.groups_), self.pooled_
        is_valid = isinstance(pooled, Calibrator | LinearFusion) and pooled.domain_ == self.domain_
        require_fitted("pooled_", is_valid)
        require_fitted("columns_", 0 < len(self.columns_) == len({*self.columns_}))
        counts = np.asarray(self.counts_)
        require_fitted("counts_", counts.ndim == 2 and len(counts) == n_groups > 0)
        require_fitted("counts_", ((counts >= 0.0) & (counts < 1e15)).all())
        object.__setattr__(self, "counts_", counts.astype(np.int64))  # files have one type
        require_fitted("groups_", len({*self.groups_}) == n_groups)
        require_fitted("reasons_", len(self.reasons_) == n_groups)
        require_fitted("own_", isinstance(self.own_, tuple) and len(self.own_) == n_groups)
        for fitted, reason in zip(self.own_, self.reasons_, strict=True):
            require_fitted("own_", (fitted is None) == bool(reason))
            is_alike = type(fitted) is type(pooled) and fitted.domain_ == self.domain_
            require_fitted("own_", fitted is None or is_alike)
        require_fitted("edges_", isinstance(self.edges_, tuple))
        require_fitted("edges_", len(self.edges_) == len(self.columns_))
        edges = [None if fitted is None else np.array(fitted, np.float64) for fitted in self.edges_]
        for fitted in edges:
            require_fitted(
                "edges_", fitted is None or (fitted.ndim == 1 and np.isfinite(fitted).all())
            )
            require_fitted("edges_", fitted is None or (np.diff(fitted) > 0.0).all())
        object.__setattr__(self, "edges_", tuple(edges))
        object.__setattr__(self, "calibrator", pooled.__sklearn_clone__())

    @property
    def _fitted_text(self) -> str:
        """How many conditions were fitted."""
        n_own = sum(fitted is not None for fitted in self.own_)
        conditions = f"{counted(len(self.groups_), 'condition')} of {', '.join(self.columns_)}"
        return f"{conditions}, {n_own:,} with their own"

    def __str__(self) -> str:
        """Return a table of the conditions, once fitted."""
        if not hasattr(self, "domain_"):
            return repr(self)
        n_classes = self.counts_.shape[1]
        classes = list(range(n_classes))[:: -1 if n_classes == 2 else 1]
        words = ["non-targets", "targets"] if n_classes == 2 else [f"class {k}" for k in classes]
        rows = [["", *(words[k] for k in classes), "calibrator"]]
        for name, counts, reason in zip(self.groups_, self.counts_, self.reasons_, strict=True):
            used = f"pooled: {reason}" if reason else "own"
            rows.append([name, *(f"{counts[k]:,}" for k in classes), used])
        return "\n".join(aligned(rows, "l" + "r" * (len(rows[0]) - 2) + "l"))

    @property
    def _map(self) -> Any:
        """The calibrator or the fusion to fit."""
        is_fusion = isinstance(self.calibrator, LinearFusion)
        return self.calibrator if is_fusion else as_calibrator(self.calibrator)

    def _samples(self, predictions: Any) -> Predictions:
        """Return the samples to calibrate; a fusion has them of several systems."""
        is_fusion, samples = isinstance(self.calibrator, LinearFusion), predictions
        if is_fusion:
            samples = self.calibrator.samples_of(predictions)
        check_data(samples)
        if isinstance(samples, PartitionedPredictions):
            rule = "must be in memory for calibration by condition"
            name = "systems" if is_fusion else "predictions"
            raise ArgumentError(name, rule, remedy="pass predictions.compute()")
        assert isinstance(samples, Predictions)
        return samples

    def _too_few(self, counts: NDArray[np.int64]) -> str:
        short = np.flatnonzero(counts < self.min_per_class)
        return f"fewer than {self.min_per_class:,} of class {short[0]}" if short.size else ""

    def _fit_group(self, predictions: Any, rows: NDArray[np.int64]) -> tuple[Any, str]:
        """Return the fit to a condition, or None and the reason."""
        try:
            return self._map.fit(taken(predictions, rows)), ""
        except ArgumentError as error:
            if not has_no_fit(error):
                raise
            return None, "no map is best"


def _warn_of_unseen(sizes: Mapping[str, int]) -> None:
    if not sizes:
        return
    named = [f"{name} ({n:,})" for name, n in list(sizes.items())[:_MOST_NAMED]]
    if len(sizes) > _MOST_NAMED:
        named.append(f"{len(sizes) - _MOST_NAMED:,} more")
    warn(
        f"{counted(sum(sizes.values()), 'sample')} are of conditions that the training data do not "
        f"have, and are calibrated as all samples: {', '.join(named)}",
        kind="conditions",
    )


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
        Calibrator to fit to each group.
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
        self.pooled.look_at(data)  # may reject weights
        pooled = self.pooled.fit_folds(data, folds)
        fold_of_row, fits = folds.fold_of_rows(Part.whole(data)), []
        for rows, member in zip(self.rows, self.members, strict=True):
            of_group = replace(folds, assignment=RowFolds(fold_of_row[rows]))
            fits.append(self._group_fits(member, data[rows], of_group))
        return _ByGroup(folds, pooled, self.rows, tuple(fits))

    def _group_fits(
        self, member: Calibrator, group: Predictions, folds: Folds
    ) -> Transform | dict[int, Transform]:
        """Return the possible fits of the calibrators to a group."""
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
    """A fusion of the systems of given rows, in place of predictions of one system."""

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
        sides = (data.enroll, data.test)
        return Quality(*(ids if isinstance(ids, str) else np.asarray(ids)[rows] for ids in sides))
    if isinstance(data, Mapping):
        return {name: taken(part, rows) for name, part in data.items()}
    return [taken(part, rows) for part in data]


def counts_of(samples: Predictions, groups: NDArray[Any], n_groups: int) -> Ints:
    """Return the number of samples of positive weight by group and class, (G, K)."""
    n_classes = samples.n_classes
    cells = groups.astype(np.int64) * n_classes + samples.labels
    if samples.weights.size:
        cells = cells[samples.weights > 0.0]
    return np.bincount(cells, minlength=n_groups * n_classes).reshape(n_groups, n_classes)


def has_no_fit(error: ArgumentError) -> bool:
    """Whether an error means that no map is best, for example of separable classes."""
    return error.argument in ("scores", "systems")


def _if_fitted(member: Calibrator, group: Predictions, folds: Folds) -> Transform | None:
    """Return the cross-fitted transform of a group, None if some fit has no optimum."""
    try:
        return member.fit_folds(group, folds)
    except ArgumentError as error:
        if not has_no_fit(error):
            raise
        return None
