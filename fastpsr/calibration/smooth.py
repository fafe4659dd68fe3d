"""Calibrators of least log loss that are smooth maps: one flow of fits, in memory and in parts."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fastpsr import checks, kernels
from fastpsr.calibration.axis_fits import fits_by_sums, losses_by_sums, refit_sums
from fastpsr.calibration.base import ByFold, Calibrator, output_kind
from fastpsr.calibration.fittable import require_fitted
from fastpsr.calibration.floors import floor_of, floored, has_common_floor, with_floor
from fastpsr.calibration.fold_losses import FoldLosses
from fastpsr.calibration.folds import Folds, one_fold
from fastpsr.calibration.row_fits import fit_rows, held_rows
from fastpsr.calibration.smooth_map import Fits, SmoothMap
from fastpsr.counts import count, shared
from fastpsr.counts.scores import ScoreRange, Span, count_infinite_losses
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Kind, Part, Predictions, Transform
from fastpsr.errors import ArgumentError, SuspicionWarning, counted, warn
from fastpsr.rules import ScoringRule


class SmoothCalibrator(Calibrator, SmoothMap):
    """A smooth map of the scores, fitted by the log rule.

    One of a single score is defined by its features and the slope of its log-odds
    (:class:`SmoothMap`), and a line in ``calibration/registry.py``.
    """

    binary_only = True

    floor: float = 0.0
    parameters_: Floats
    prior_log_odds_: float
    floor_: float
    fitted_names = ("parameters_", "prior_log_odds_", "floor_")
    constant = "all slopes are 0"

    def __post_init__(self) -> None:
        checks.as_floor(self.floor)
        if self.prior is not None:
            rule = "lie strictly between 0 and 1"
            prior = checks.check_number("prior", self.prior, 5e-324, 1.0 - 2.0**-53, rule)
            object.__setattr__(self, "prior", prior)

    def check_classes(self, n_classes: int) -> None:
        super().check_classes(n_classes)
        if self.prior is not None and n_classes > 2:
            raise ArgumentError(
                "prior",
                f"must be left out for more than two classes, here {n_classes}, not {self.prior}",
                remedy="give priors of all classes to the predictions, such as "
                "from_posteriors(..., priors=...)",
            )

    @property
    def key(self) -> Hashable:
        return (type(self).__name__, *(getattr(self, name) for name in self.option_names()))

    def attributes(self, parameters: Floats, prior_log_odds: float) -> dict[str, Any]:
        """Return the fitted attributes of a fit, without `floor_`."""
        return {"parameters_": parameters, "prior_log_odds_": prior_log_odds}

    @property
    def fitted_parameters(self) -> Floats:
        """Parameters of the fitted map, where other searches begin."""
        return self.parameters_

    def is_plain(self, fits: Fits, low: float, high: float) -> bool:
        """Whether fits to scores in a range need neither a warning nor an error."""
        is_constant = any(map(self.is_constant, fits.parameters))
        return bool(np.isfinite(fits.parameters).all()) and not is_constant

    def is_constant(self, parameters: Floats) -> bool:
        """Whether all slopes are 0."""
        return not parameters[:-1].any()

    def check_attributes(self, attributes: dict[str, Any]) -> None:
        """Raise or warn where a fit is not as users expect."""
        if self.is_constant(attributes["parameters_"]):
            warn(
                f"{self.constant}: higher scores do not mean that class 1 is likelier, and all "
                "samples get the same posterior",
                once=True,
            )

    def by_fold(self, folds: Folds, fits: Fits, kind: Kind) -> Transform:
        """Return the transform of all samples, each by the map of its fold; scores are finite."""
        if not self.chooses_among_fits and fits.parameters.shape[1] == self.n_parameters:
            return _SmoothByFold(folds, self, fits, self.floor, kind)
        each = zip(fits.parameters, fits.prior_log_odds, strict=True)
        maps = (self.with_fitted(kind, self.attributes(*fit)) for fit in each)
        return ByFold(folds, tuple(maps))

    def check_fitted(self) -> None:
        require_fitted("parameters_", np.shape(self.parameters_) == (self.n_parameters,))
        require_fitted("parameters_", np.isfinite(self.parameters_).all())
        for name in ("prior_log_odds_", "floor_"):
            require_fitted(name, np.ndim(getattr(self, name)) == 0)
            require_fitted(name, np.isfinite(getattr(self, name)))

    def look_at(self, data: Data) -> None:
        if self.floor or count(ScoreRange().over(data)).is_finite:
            return
        n = count_infinite_losses(data)
        if not n:
            return
        have = "has" if n == 1 else "have"
        what = "score" if data.kind == "raw scores" else "posterior"
        remedy = f"pass a floor, such as {self.name}({self._shown_options}floor=1e-3)"
        if data.kind == "raw scores":
            remedy = "remove these, or use PAV(floor=1e-3)"
        warn(
            SuspicionWarning(
                "posteriors of 0",
                f"{counted(n, 'sample')} {have} {what} {'-inf' if what == 'score' else '0'} for "
                f"the true class, which {self.name} leaves as it is",
                remedy,
            ),
        )

    @property
    def _shown_options(self) -> str:
        """Options that the remedy of a warning repeats."""
        return "" if self.prior is None else f"prior={self.prior}, "

    #: Whether sums on an axis suffice for the losses that a fit minimizes.
    _fits_sums: Any = True

    def with_inner_folds(self, data: Data, folds: Folds) -> Folds | None:
        """Return the folds, also those that choose an option, or None if there are none."""
        return folds

    def fit_folds(self, data: Data, folds: Folds) -> Transform:
        clipped = with_floor(data, self.floor)
        key: Hashable = ("smooth fits", self.key, folds.key)
        together = shared(key, clipped, lambda: self._fit_together(clipped, folds))
        if together is None:
            return super().fit_folds(data, folds)
        return self.by_fold(folds, together, output_kind(data.kind))

    def losses_of_folds(self, rule: ScoringRule, folds: Folds, data: Data) -> FoldLosses:
        of_fits = self.with_inner_folds(data, folds)
        if of_fits is not None and self._fits_sums:
            clipped = with_floor(data, self.floor)
            by_sums = losses_by_sums(self, rule, clipped, of_fits)
            if by_sums is not None:
                losses, fits, axis = by_sums
                if self.is_plain(fits, axis.low, axis.high):
                    return losses
        return super().losses_of_folds(rule, folds, data)

    def refit_sums(self, rule: ScoringRule, folds: Folds, data: Data) -> Sums | None:
        of_fits = self.with_inner_folds(data, folds)
        if of_fits is None or not self._fits_sums:
            return None
        return refit_sums(self, rule, data, of_fits, self.floor)

    def _fit_together(self, data: Data, folds: Folds) -> Fits | None:
        """Return the fits of all folds, or None if they must be separate.

        They are separate for folds with few samples, where infinite scores are not alike, and if a
        fit requires a warning.
        """
        given = data.given_priors
        if given is not None and not given.all():
            return None
        if folds.n_calibrators * data.n_classes > len(data):
            return None
        of_fits = self.with_inner_folds(data, folds)
        if of_fits is None:
            return None
        fits, span = self._fits(data, of_fits)
        ends = (span.low, span.high) if span.is_finite else (span.finite_low, span.finite_high)
        is_common = has_common_floor(span, data.n_classes)
        return fits if is_common and self.is_plain(fits, *ends) else None

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        data = with_floor(data, self.floor)
        folds = self.with_inner_folds(data, one_fold()) or one_fold()
        fits, span = self._fits(data, folds, start)
        attributes = self.attributes(fits.parameters[0], float(fits.prior_log_odds[0]))
        attributes["floor_"] = floor_of(span, data.n_classes)
        self.check_attributes(attributes)
        return attributes

    def _fits(self, data: Data, folds: Folds, start: Self | None = None) -> tuple[Fits, Span]:
        """Return the fits of all folds, and the range of the scores."""
        span = count(ScoreRange().over(data))
        fits = fits_by_sums(self, data, folds) if self._fits_sums else None
        if fits is None:
            rows = held_rows(data, folds)
            floor = 0.0 if span.is_finite else floor_of(span, data.n_classes)
            begin = None if start is None else start.fitted_parameters
            fits = self.fit_to_rows(data, folds, rows, floor, begin)
        return fits, span

    def fit_to_rows(
        self, data: Data, folds: Folds, rows: Part, floor: float, start: Floats | None
    ) -> Fits:
        """Return the fits of all folds to rows in memory, where -inf becomes the floor."""
        return fit_rows(self, data, folds, rows, floor, start)

    def _transform(self, predictions: Predictions) -> Predictions:
        predictions = floored(predictions, self.floor)
        fits = Fits(self.parameters_[None], np.array([self.prior_log_odds_]))
        values = self.scores(fits, 0, predictions.scores)
        return predictions.replace_scores(self.output_kind, values)


@dataclass(frozen=True, eq=False)
class _SmoothByFold(Transform):
    """Map each sample with the map of its fold."""

    folds: Folds
    map: SmoothMap
    fits: Fits
    floor: float
    kind: Kind

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Columns that determine the fold of a row."""
        return self.folds.reads

    def __call__(self, part: Part) -> Predictions:
        predictions = floored(part.predictions, self.floor)
        scores, calibrator_of_row = predictions.scores, self.folds.calibrator_of_rows(part)
        slopes, shift = self.fits.parameters, np.zeros(len(self.fits.parameters))
        if self.map.with_bias:
            slopes, shift = slopes[:, :-1], np.ascontiguousarray(slopes[:, -1])
        slopes = np.ascontiguousarray(slopes)
        adds_prior = self.map.adds_prior_first and self.fits.prior_log_odds.any()
        prior = self.fits.prior_log_odds[calibrator_of_row] if adds_prior else None
        features = self.map.features(scores if prior is None else scores + prior)
        values = kernels.axis.combine_by_part(features, calibrator_of_row, slopes, shift)
        if prior is not None:
            values -= prior
        return predictions.replace_scores(self.kind, values)
