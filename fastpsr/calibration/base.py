"""Base class of all calibrators, and custom ones: any object with ``fit`` and ``transform``."""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.calibration.fold_losses import summed_by_fold
from fastpsr.calibration.folds import FoldLosses, Folds
from fastpsr.counts import begin, find_facts, one_call, side_by_side
from fastpsr.counts.sums import Sums
from fastpsr.data import (
    Data,
    Floats,
    Kind,
    Part,
    PartitionedPredictions,
    Predictions,
    Transform,
    check_data,
    mapped,
)
from fastpsr.data.suspicion import look_at_llrs
from fastpsr.errors import ArgumentError
from fastpsr.options import CALL_TO_MAKE, Options
from fastpsr.results import in_short, table, values
from fastpsr.rules.base import ScoringRule


class Fittable(Options):
    """A map whose ``fit`` returns a fitted copy."""

    #: Attributes that fitting sets, for saving.
    fitted_names: ClassVar[tuple[str, ...]] = ()
    #: Fitted attributes that are names rather than numbers.
    fitted_texts: ClassVar[tuple[str, ...]] = ()
    #: Fitted attributes that are maps, or tuples of maps, of numbers and of None.
    fitted_nested: ClassVar[tuple[str, ...]] = ()
    domain_: Kind
    #: Labels of the classes of the training data, if they had any.
    class_names_: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """Name in messages."""
        return type(self).__name__

    @property
    def options(self) -> dict[str, Any]:
        """Constructor arguments by name."""
        parts: tuple[Any, ...] = fields(self) if is_dataclass(self) else ()
        return {part.name: getattr(self, part.name) for part in parts if part.init}

    def option_names(self) -> list[str]:
        """Return the names of the constructor arguments that are numbers or text, for files."""
        plain = (bool, int, float, str, np.number)
        return [name for name, value in self.options.items() if isinstance(value, plain)]

    def with_fitted(self, domain: Kind, attributes: dict[str, Any]) -> Self:
        """Return a copy with fitted attributes."""
        fitted = copy.copy(self)
        for name, value in {**attributes, "domain_": domain}.items():
            object.__setattr__(fitted, name, value)
        return fitted

    def require_fit(self) -> None:
        """Raise unless it is fitted."""
        if not hasattr(self, "domain_"):
            rule, remedy = "must be fitted before it transforms", "call fit(predictions)"
            raise ArgumentError("calibrator", rule, remedy=remedy, name=self.name)

    def require_same_classes(self, argument: str, data: Data) -> None:
        """Raise if data and the training data have labels of classes that differ."""
        names, expected = data.class_names, self.class_names_
        if names != expected and names is not None and expected is not None:
            rule = f"must have the classes {self.name} was fitted to, {expected}, not {names}"
            raise ArgumentError(argument, rule)

    def check_fitted(self) -> None:
        """Raise unless the fitted attributes, read from a file, are valid."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # before a dataclass has one of its options alone
            cls.__repr__ = Fittable.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """Return the options, and the fitted values."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        text = f"{type(self).__name__}({options})"
        if not hasattr(self, "domain_"):
            return text
        return f"<{text} fitted to {self.domain_}: {self._fitted_text}>"

    @property
    def _fitted_text(self) -> str:
        """The fitted attributes."""
        return "; ".join(f"{name} {in_short(getattr(self, name))}" for name in self.fitted_names)

    def _repr_html_(self) -> str:
        is_fitted = hasattr(self, "domain_")
        names = [*self.options, *(self.fitted_names if is_fitted else ())]
        state = f"fitted to {self.domain_}" if is_fitted else "not fitted"
        rows = [(name, values(getattr(self, name))) for name in names]
        return table(f"{type(self).__name__}, {state}", ("attribute", "value"), rows)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy, for ``sklearn.base.clone``."""
        copied = copy.copy(self)
        for name in (*self.fitted_names, "domain_", "class_names_"):
            copied.__dict__.pop(name, None)
        return copied


def require_fitted(name: str, holds: object) -> None:
    """Raise unless a fitted attribute is valid."""
    if not holds:
        raise ValueError(f"{name} is not a valid fitted value")


class Calibrator(Fittable, ABC):
    """A map from the output of a classifier to calibrated output, trained on labeled predictions.

    ``fit`` returns a fitted copy and does not change the original. A calibrator fitted to
    posteriors returns posteriors; fitted to likelihoods or raw scores it returns LLRs (or
    log-likelihoods), which are converted to posteriors with the priors of the predictions.

    Notes
    -----
    A custom calibrator need not derive from this class: for data in memory, any object with
    ``fit(predictions)`` and ``transform(predictions)`` can be used. A derived class implements
    ``_transform(predictions)``, which returns predictions of kind ``self.output_kind``, and either

    - ``_fit(samples)``, for data in memory, which returns the fitted attributes by name; or
    - ``_fit_data(data, start)``, also for data in parts, which calls ``count(step.over(data))`` for
      what it needs of the rows, and returns the fitted attributes by name. `start` is a fit to
      similar data, or None.

    Fits must use the sample weights ``predictions.balanced_weights()`` (an empty array if all
    weights are equal), because bootstrap replicates differ only in their weights.

    Examples
    --------
    Scores minus their mean, which is summed part by part:

    >>> import numpy as np, fastpsr as fp
    >>> from fastpsr.counts import count
    >>> from fastpsr.data import Step
    >>> class SumOfScores(Step):
    ...     key = "sum of scores"
    ...     def add(self, accumulator, prepared, part):
    ...         scores, weights = part.predictions.scores, part.predictions.balanced_weights()
    ...         weights = weights if weights.size else np.ones(scores.size)
    ...         sums = np.array([(weights * scores).sum(), weights.sum()])
    ...         return sums if accumulator is None else accumulator + sums
    ...     def merge(self, one, other):
    ...         return one + other
    >>> class Center(fp.calibration.Calibrator):
    ...     binary_only = True
    ...     def _fit_data(self, data, start):
    ...         sums = count(SumOfScores().over(data))
    ...         return {"middle_": float(sums[0] / sums[1])}
    ...     def _transform(self, predictions):
    ...         scores = predictions.scores - self.middle_
    ...         return predictions.replace_scores(self.output_kind, scores)
    >>> data = fp.Predictions.from_llrs([0, 1, 0, 1], [1.0, 4.0, 2.0, 5.0])
    >>> parts = fp.from_parts([data[:3], data[3:]])
    >>> Center().fit(data).middle_, Center().fit(parts).middle_
    (3.0, 3.0)
    >>> loss = fp.CalibrationLoss(fp.rules.Log(), Center(), fp.TrainOnTest())
    >>> round(loss(data), 2), round(loss(parts), 2)
    (74.59, 74.59)
    """

    #: Whether it uses posteriors as given, and not only their logarithms.
    bins_posteriors: ClassVar[bool] = False
    #: Whether it is only defined for two classes.
    binary_only: ClassVar[bool] = False
    #: Whether it is only defined for data that have posteriors.
    needs_posteriors: ClassVar[bool] = False
    #: Whether samples may have weights other than 0 and 1.
    takes_weights: ClassVar[bool] = True

    @classmethod
    def suits(cls, data: Data) -> bool:
        """Whether it is defined for such data, as far as their kind tells."""
        return not (
            (cls.binary_only and data.n_classes > 2)
            or (cls.needs_posteriors and data.kind == "raw scores")
            or (data.has_weights and not cls.takes_weights)
        )

    def check_classes(self, n_classes: int) -> None:
        """Raise if the calibrator cannot be fitted to so many classes."""
        if self.binary_only:
            checks.check_binary(self.name, n_classes)

    def check_accepts(self, data: Data) -> None:
        """Raise if the calibrator cannot be fitted to data of this kind."""
        self.check_classes(data.n_classes)
        if self.needs_posteriors:
            data.require_posteriors(self.name)

    def require_classes(self, data: Data) -> None:
        """Raise unless every class has samples of positive weight, and a positive prior."""
        priors = data.given_priors
        if priors is not None and not priors.all():
            raise ArgumentError(
                "priors", f"must be positive to fit a calibrator, not {priors.tolist()}"
            )
        require_weights(data)

    def fit(self, predictions: Data, *arrays: Any) -> Self:
        """Return a copy fitted to labeled predictions, in memory or in parts.

        Predictions hold the labels; a further argument is an error that shows how to make them.

        Samples are weighted by their sample weights, adjusted to given priors. Samples of weight 0
        are ignored.

        Raises
        ------
        ValueError
            For unlabeled data, a class without samples, or data that the calibrator cannot be
            fitted to.
        """
        check_data(predictions)
        if arrays:
            rule = "must be given alone, since they hold the labels"
            raise ArgumentError("predictions", rule, remedy=CALL_TO_MAKE)
        look_at_llrs(predictions)
        self.check_accepts(predictions)
        with one_call():
            begin(predictions)
            fitted = self.fitted_to(predictions)
            self.look_at(predictions)
        return fitted

    def look_at(self, data: Data) -> None:
        """Warn of training data that the calibrator cannot improve."""
        return

    def fitted_to(self, data: Data, start: Self | None = None) -> Self:
        """Return a fitted copy; `start` is a fit to similar data, or None."""
        self.check_accepts(data)
        self.require_classes(data)
        fitted = {**self._fit_data(data, start), "class_names_": data.class_names}
        return self.with_fitted(data.kind, fitted)

    def transform(self, predictions: Data) -> Any:
        """Return calibrated predictions of the same samples; labels are not needed.

        Data in parts are calibrated when they are read.

        Raises
        ------
        ValueError
            If the calibrator is not fitted, or was fitted to predictions of another kind.
        """
        check_data(predictions)
        self.require_fit()
        if predictions.kind != self.domain_:
            raise ArgumentError(
                "predictions",
                f"must be {self.domain_}, as those {self.name} was fitted on, "
                f"not {predictions.kind}",
            )
        Calibrator.check_classes(self, predictions.n_classes)  # transforming needs less than a fit
        self.require_same_classes("predictions", predictions)
        return mapped(predictions, Apply(self))

    # Computations that some calibrators can do faster than with separate fits

    def fit_folds(self, data: Data, folds: Folds) -> Transform:
        """Fit a calibrator for each fold; return the transform of all samples.

        The searches of the other fits start at the first fit.
        """
        first = self._fit_fold(data, folds, 0, None)
        later_fits = [
            partial(self._fit_fold, data, folds, c, first) for c in range(1, folds.n_calibrators)
        ]
        return ByFold(folds, (first, *side_by_side(*later_fits, over=data)))

    def losses_of_folds(self, rule: ScoringRule, folds: Folds, data: Data) -> FoldLosses:
        """Return the summed losses after cross-fitting."""
        transform = self.fit_folds(data, folds)
        return summed_by_fold(rule, data, folds, transform)

    def refit_sums(self, rule: ScoringRule, folds: Folds, data: Data) -> Sums | None:
        """Return sums of losses before and after a fit to the replicate, or None."""
        return None

    def _fit_fold(self, data: Data, folds: Folds, number: int, start: Self | None) -> Self:
        if folds.training_mask.all():  # trained on all samples, whose facts are known
            return self.fitted_to(data, start)
        view: Data = mapped(data, _TrainingRows(folds, number, self.bins_posteriors))
        if isinstance(view, PartitionedPredictions):
            find_facts(view)
        check_training_set(data, folds, number, view.class_weights)
        return self.fitted_to(view, start)

    @property
    def output_kind(self) -> Kind:
        """Kind that ``transform`` returns: posteriors for posteriors, else likelihoods."""
        return output_kind(self.domain_)

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        """Return the fitted attributes by name.

        By default the result of ``_fit``, for predictions in memory.
        """
        if isinstance(data, PartitionedPredictions):
            raise ArgumentError(
                "predictions",
                f"must be in memory for {self.name}, which has no fit to data in parts",
                remedy="pass predictions.compute() if they fit in memory; for a fit to parts "
                "derive it from fastpsr.calibration.Calibrator, with a method "
                "_fit_data(data, start)",
            )
        with np.errstate(all="ignore"):  # scores near the largest float
            return self._fit(data.present())

    def _fit(self, samples: Predictions) -> dict[str, Any]:
        """Return the fitted attributes by name; for calibrators of data in memory only."""
        raise NotImplementedError(f"{type(self).__name__} must have a method _fit or _fit_data")

    @abstractmethod
    def _transform(self, predictions: Predictions) -> Predictions:
        """Return calibrated predictions of kind `output_kind`."""


@dataclass(frozen=True, eq=False)
class OfFolds(Transform):
    """A transform that depends on the folds of rows."""

    folds: Folds

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Columns that determine the fold of a row."""
        return self.folds.reads


@dataclass(frozen=True, eq=False)
class Apply(Transform):
    """The map of a fitted calibrator."""

    fitted: Calibrator

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """Posteriors for posteriors, else likelihoods."""
        return self.fitted.output_kind

    def __call__(self, part: Part) -> Predictions:
        with np.errstate(over="ignore"):  # overflow to inf: a certain class
            return self.fitted._transform(part.predictions)


@dataclass(frozen=True, eq=False)
class ByFold(OfFolds):
    """Map each sample with the calibrator of its fold."""

    fitted: tuple[Calibrator, ...]

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """Posteriors for posteriors, else likelihoods."""
        return self.fitted[0].output_kind

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        if not self.fitted[0].bins_posteriors:  # compute logarithms once, before taking subsets
            predictions = predictions.replace_scores(predictions.kind, predictions.scores)
        calibrator_of_row = self.folds.calibrator_of_rows(part)
        # after sorting by calibrator, the samples of each calibrator are a slice
        sizes = np.bincount(calibrator_of_row, minlength=len(self.fitted))
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        order = kernels.sorting.order_by_group(calibrator_of_row, bounds)
        values = np.empty(predictions.scores.shape)
        for c, fitted in enumerate(self.fitted):
            rows = order[bounds[c] : bounds[c + 1]]
            if rows.size:
                with np.errstate(over="ignore"):
                    values[rows] = fitted._transform(predictions[rows]).scores
        return predictions.replace_scores(self.kind, values)


@dataclass(frozen=True, eq=False)
class _TrainingRows(OfFolds):
    """The training samples of a calibrator."""

    number: int
    with_posteriors: bool
    keeps_rows = False

    def __call__(self, part: Part) -> Predictions:
        predictions = part.predictions
        may_train: NDArray[np.bool_] = self.folds.training_mask[self.number][
            self.folds.fold_of_rows(part)
        ]
        if predictions.weights.size:
            may_train = may_train & (predictions.weights > 0.0)
        if not self.with_posteriors:  # without the posteriors themselves
            predictions = predictions.replace_scores(predictions.kind, predictions.scores)
        return predictions[np.flatnonzero(may_train)]


def output_kind(kind: Kind) -> Kind:
    """Return the kind of calibrated predictions, given the kind of the input."""
    return "posteriors" if kind == "posteriors" else "likelihoods"


def require_weights(data: Data, class_weights: Floats | None = None) -> None:
    """Raise unless every class has weight, in all data or in training data of these totals."""
    weights = data.class_weights if class_weights is None else class_weights
    absent = np.flatnonzero(weights == 0.0)
    if absent.size:
        has_remedy = weights.size > 2 and data.kind == "posteriors"
        remedy = "TemperatureScaling() can do without" if has_remedy else ""
        missing = data.class_name(absent[0])
        rule = f"needs samples of every class, but {missing} has none of positive weight"
        raise ArgumentError("scores", rule, None, remedy, name="a calibrator")


def check_training_set(data: Data, folds: Folds, number: int, class_weights: Floats) -> None:
    """Raise unless folds leave a calibrator samples to train on, of every class that data have."""
    if not class_weights.any():
        raise ArgumentError(
            "folds",
            "must leave training samples for every trial: some pair of folds covers all; "
            "use more folds",
        )
    absent = np.flatnonzero((class_weights == 0.0) & (data.class_weights > 0.0))
    if absent.size and (data.n_classes == 2 or data.kind != "posteriors"):
        out = folds.served[folds.served[:, 0] == number, 1]
        missing = data.class_name(absent[0])
        raise ArgumentError(
            "folds",
            f"must leave samples of every class to train on, but all of {missing} are "
            f"in fold {out[0]}, or with its groups",
            remedy="use other folds or groups",
        )


def require_trained_classes(n_classes: int, predictions: Predictions) -> None:
    """Raise unless predictions have the number of classes of the training data."""
    if predictions.n_classes != n_classes:
        raise ArgumentError(
            "predictions",
            f"must have {n_classes} classes, as the training data had, not {predictions.n_classes}",
        )


class FitTransform(Protocol):
    """Interface of a custom calibrator, for data in memory."""

    def fit(self, predictions: Predictions, /) -> Any:
        """Return a fitted calibrator, trained on labeled predictions; it may be the object itself.

        It must use the sample weights: `sample_weight`, which includes the number of draws of each
        sample in a bootstrap replicate, or ``balanced_weights()``, which is also adjusted to given
        priors. Samples of weight 0 are removed beforehand.
        """

    def transform(self, predictions: Predictions, /) -> Predictions:
        """Return calibrated predictions of the same samples.

        For posteriors it returns posteriors, for likelihoods and raw scores likelihoods (LLRs).
        Labels, weights and priors may be omitted: those of the input are used.
        """
        ...


def as_calibrator(calibrator: Calibrator | FitTransform) -> Calibrator:
    """Return a calibrator of the package unchanged, and wrap a custom one."""
    if isinstance(calibrator, Calibrator):
        return calibrator
    if isinstance(calibrator, Fittable):  # a fusion, or by condition
        raise ArgumentError(
            "calibrator",
            f"must be fitted to predictions alone, and {calibrator.name} is not",
            remedy="calibrate what cross_fit returns for it",
        )
    methods = (getattr(calibrator, name, None) for name in ("fit", "transform"))
    if isinstance(calibrator, type) or not all(map(callable, methods)):
        description = f"{calibrator!r}" if isinstance(calibrator, (str, int, float)) else ""
        if isinstance(calibrator, type):
            description = f"the class {calibrator.__name__}: make one, {calibrator.__name__}(...)"
        raise ArgumentError(
            "calibrator",
            "must be a calibrator, such as PAV(), or an object with fit and transform, not "
            f"{description or type(calibrator).__name__}",
        )
    return _Custom(calibrator)


@dataclass(frozen=True, eq=False)
class _Custom(Calibrator):
    calibrator: Any
    bins_posteriors = True  # posteriors are passed as given

    @property
    def name(self) -> str:
        """Name of the user's class."""
        return type(self.calibrator).__name__

    def require_classes(self, data: Data) -> None:
        """Accept all data: the user's fit raises if it needs more."""

    def _fit(self, samples: Predictions) -> dict[str, Any]:
        # a copy: folds are fitted one after another, and fit may return the object itself
        fitted = copy.deepcopy(self.calibrator).fit(samples)
        if not callable(getattr(fitted, "transform", None)):
            raise ArgumentError(
                "calibrator",
                f"must return a fitted calibrator from fit, but {self.name}.fit returned "
                f"{type(fitted).__name__}",
                remedy="end fit with return self",
            )
        return {"calibrator": fitted}

    def _transform(self, predictions: Predictions) -> Predictions:
        output = self.calibrator.transform(predictions)
        wanted = (len(predictions), predictions.n_classes, self.output_kind)
        if not isinstance(output, Predictions):
            returned = type(output).__name__
        elif (len(output), output.n_classes, output.kind) != wanted:
            returned = f"{len(output):,} samples of {output.n_classes} classes, {output.kind}"
        else:
            return predictions.replace_scores(output.kind, output.scores)
        make = "from_log_posteriors" if self.output_kind == "posteriors" else "from_llrs"
        raise ArgumentError(
            "calibrator",
            f"must return Predictions of the same samples as {self.output_kind} from transform, "
            f"{wanted[0]:,} of {wanted[1]} classes, but {self.name}.transform returned {returned}",
            remedy=f"make them with Predictions.{make}, say",
        )
