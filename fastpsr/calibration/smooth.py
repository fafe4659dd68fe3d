"""Smooth calibrators of one flow: fits on the axis of scores or to samples, in one search."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.calibration.axis import (
    LOG_FLOOR,
    Axis,
    AxisTotals,
    Fits,
    ScoreRange,
    SmoothMap,
    Span,
    SumOnAxis,
    TrainingPriors,
    WeightedScores,
    most_cells,
)
from fastpsr.calibration.base import ByFold, Calibrator, OfFolds, output_kind, require_fitted
from fastpsr.calibration.fold_losses import CellLossSums
from fastpsr.calibration.folds import FoldLosses, Folds, one_fold
from fastpsr.calibration.log_odds import floored, with_floor
from fastpsr.calibration.row_fits import fit_rows, held_rows
from fastpsr.counts import count, shared
from fastpsr.counts.scores import count_infinite_losses
from fastpsr.counts.sums import ScoreTotals, Sums
from fastpsr.data import Data, Floats, Kind, Part, Predictions, Transform
from fastpsr.errors import ArgumentError, SuspicionWarning, counted, warn
from fastpsr.kernels.types import DEGREE, LANES
from fastpsr.rules import ScoringRule

_STEEPNESS = 32.0  # of the first axis, by the range of the scores: about 128 cells
_NARROWEST = 1e-290
_LARGEST = 1e300  # score, so that edges of cells are finite
_MOST_AXES = 3  # before the samples are used
_STRETCH = 1.5  # of the steepness that an axis is for, at most; then errors of sums reach 1e-12
_MOST_PAIRS = 1 << 12  # of a calibrator and a fold, where fits of replicates lie side by side
_ROOM = 10.0  # slopes of replicates may be greater by this over the root of a number of samples


class SmoothCalibrator(Calibrator, SmoothMap):
    """A smooth map of the scores, fitted by the log rule in one flow."""

    floor: float = 0.0
    parameters_: Floats
    prior_log_odds_: float
    floor_: float
    fitted_names = ("parameters_", "prior_log_odds_", "floor_")
    constant = "all slopes are 0"

    def __post_init__(self) -> None:
        checks.as_floor(self.floor)
        if self.prior is not None:
            prior = checks.as_inner_number("prior", self.prior)
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
        parameters_of_folds = zip(fits.parameters, fits.prior_log_odds, strict=True)
        maps = (self.with_fitted(kind, self.attributes(*fit)) for fit in parameters_of_folds)
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
        """Return the folds, also inner folds that choose an option; None without folds."""
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
        if of_fits is not None and self._fits_sums and rule.is_analytic:
            clipped = with_floor(data, self.floor)
            on_axis = fit_on_axis(self, clipped, of_fits)
            if on_axis is not None:
                axis_fits, totals, fits = on_axis
                if self.is_plain(fits, axis_fits.axis.low, axis_fits.axis.high):
                    offset = clipped.log_odds_offset
                    losses = axis_fits.losses(rule, totals, of_fits, fits, offset)
                    return FoldLosses.of(losses, totals.class_totals.T, data.given_priors)
        return super().losses_of_folds(rule, folds, data)

    def refit_sums(self, rule: ScoringRule, folds: Folds, data: Data) -> Sums | None:
        of_fits = self.with_inner_folds(data, folds)
        if of_fits is None or not (self._fits_sums and rule.is_analytic):
            return None
        clipped = with_floor(data, self.floor)  # not for the raw losses
        on_axis = fit_on_axis(self, clipped, of_fits)
        if on_axis is not None:
            axis_fits, _, fits = on_axis
            first: AxisFits | None = axis_fits.for_replicates(fits, int(data.class_sizes.min()))
        else:  # replicates may have fits where the data have none
            first = AxisFits.of(self, clipped, of_fits)
        if first is None or not first.axis.suits_replicates:
            return None
        priors = TrainingPriors.of(data, self.prior)
        return RefitSums(rule, of_fits, first, priors, data.log_odds_offset, self.floor)

    def _fit_together(self, data: Data, folds: Folds) -> Fits | None:
        """Return the fits of all folds, or None if they must be separate.

        They are separate for folds with few samples, where infinite scores are not alike, and if a
        fit requires a warning.
        """
        priors = data.given_priors
        if priors is not None and not priors.all():
            return None
        if folds.n_calibrators * data.n_classes > len(data):
            return None
        of_fits = self.with_inner_folds(data, folds)
        if of_fits is None:
            return None
        fits, span = self._fits(data, of_fits)
        ends = (span.low, span.high) if span.is_finite else (span.finite_low, span.finite_high)
        is_common = span.is_finite or span.floor(data.n_classes) == LOG_FLOOR
        return fits if is_common and self.is_plain(fits, *ends) else None

    def _fit_data(self, data: Data, start: Self | None) -> dict[str, Any]:
        data = with_floor(data, self.floor)
        folds = self.with_inner_folds(data, one_fold()) or one_fold()
        fits, span = self._fits(data, folds, start)
        attributes = self.attributes(fits.parameters[0], float(fits.prior_log_odds[0]))
        attributes["floor_"] = span.floor(data.n_classes)
        self.check_attributes(attributes)
        return attributes

    def _fits(self, data: Data, folds: Folds, start: Self | None = None) -> tuple[Fits, Span]:
        """Return the fits of all folds, and the range of the scores."""
        span = count(ScoreRange().over(data))
        on_axis = fit_on_axis(self, data, folds) if self._fits_sums else None
        if on_axis is not None:
            fits = on_axis[2]
        else:
            rows = held_rows(data, folds)
            floor = 0.0 if span.is_finite else span.floor(data.n_classes)
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
class ScoreMap(SmoothCalibrator):
    """A smooth map of one score: all but its features and the slope of its log-odds.

    It is defined by these (:class:`SmoothMap`), and by lines in ``calibration/registry.py``.
    Parameters may have lower bounds; a map with other constraints overrides `fit_to_sums`.
    """

    floor: float = 0.0
    prior: float | None = None
    binary_only = True


@dataclass(frozen=True, eq=False)
class _SmoothByFold(OfFolds):
    """Map each sample with the map of its fold."""

    map: SmoothMap
    fits: Fits
    floor: float
    kind: Kind

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


@dataclass(frozen=True, eq=False)
class AxisFits:
    """An axis for fits of a map, and parameters that they begin at.

    Attributes
    ----------
    map : SmoothMap
    axis : Axis
    steepest : float
        Slope of the steepest fits that the axis is for.
    start : ndarray of float64, shape (C, p), or None
        Parameters at which fits begin; None for the constants that are best.
    span : pair of float
        Lowest and highest finite score.
    floor : float
        Value that replaces -inf; 0 if all scores are finite.
    most_cells : int
    samples_per_weight : float
    """

    map: SmoothMap
    axis: Axis
    steepest: float
    start: Floats | None
    span: tuple[float, float]
    floor: float
    most_cells: int
    samples_per_weight: float

    @classmethod
    def of(cls, map_: SmoothMap, data: Data, folds: Folds) -> "AxisFits | None":
        """Return an axis for fits to binary data; None if the samples are needed."""
        priors = data.given_priors
        is_possible = data.n_classes == 2 and (priors is None or priors.all())
        if not (is_possible and data.class_weights.all()):
            return None
        span = count(ScoreRange().over(data))
        low, high, floor = span.finite_low, span.finite_high, 0.0
        if max(-low, high) > _LARGEST:
            return None
        if not span.is_finite:
            floor = LOG_FLOOR
            if map_.chooses_among_fits or not floor < low <= high < -floor:
                return None
        n_rows = int(data.class_sizes.sum())
        samples_per_weight = n_rows / float(data.class_weights.sum())
        most = most_cells(n_rows, folds.n_folds)
        steepness = _STEEPNESS / max(high - low, _NARROWEST)
        return cls.over(map_, (low, high), floor, most, samples_per_weight, steepness)

    @classmethod
    def over(
        cls,
        map_: SmoothMap,
        span: tuple[float, float],
        floor: float,
        most_cells: int,
        samples_per_weight: float,
        steepness: float,
    ) -> "AxisFits | None":
        """Return an axis for scores in a range and maps about as steep; None without one."""
        axis = map_.axis(*span, steepness, most_cells)
        if axis is None:
            return None
        if floor:
            axis = axis.with_ends(floor)
        steepest = _STRETCH * steepness
        return cls(map_, axis, steepest, None, span, floor, most_cells, samples_per_weight)

    def steeper(self, steepness: float) -> "AxisFits | None":
        """Return an axis for the same scores, and maps about as steep."""
        return self.over(
            self.map, self.span, self.floor, self.most_cells, self.samples_per_weight, steepness
        )

    def for_replicates(self, fits: Fits, fewest: int) -> "AxisFits":
        """Return an axis for fits to replicates, which start from the fits to the data.

        `fewest` is the number of samples of the smaller class. The fewer, the more may replicates
        differ from the data in their slopes, for which there is room.
        """
        steeper: AxisFits | None = None
        if not self.map.chooses_among_fits:
            steepness = max(map(self.map.steepness, fits.parameters))
            room = (1.0 + _ROOM / np.sqrt(fewest)) / _STRETCH  # beyond what every axis has
            steeper = self.steeper(steepness * max(room, 1.0))
        if steeper is None or not steeper.axis.suits_replicates:
            steeper = self
        return replace(steeper, start=fits.parameters)

    def fit(
        self, sums: AxisTotals, folds: Folds, priors: TrainingPriors
    ) -> tuple[Fits, NDArray[np.bool_], Floats]:
        """Return the fit of each calibrator, whether it is valid, and how steep it is.

        There is none, and parameters are nan, where a class is missing, or may be separable from
        the other, or the search does not converge.
        """
        masks, totals = folds.training_mask, sums.class_totals
        origin = self.map.origin(self.axis.low, self.axis.high)
        n_samples = self.samples_per_weight * float(totals.sum())
        weighted = WeightedScores(
            sums.nodes(origin), sums.infinite, origin, self.span, sums.weigh, totals, sums.extremes,
            self.axis.zero, folds.may_train, n_samples, priors,
        )  # fmt: skip
        have_both = weighted.totals(masks).all(axis=0)
        fitted = np.flatnonzero(
            have_both & weighted.have_overlap(masks, with_bias=self.map.with_bias)
        )
        parameters = np.full((folds.n_calibrators, self.map.n_parameters), np.nan)
        if fitted.size:
            start = self.start
            if start is not None:
                start = np.tile(start, (folds.n_calibrators // len(start), 1))[fitted]
            parameters[fitted] = self.map.fit_to_sums(
                weighted, np.ascontiguousarray(masks[fitted]), start, self.steepest
            )
        with np.errstate(divide="ignore", invalid="ignore"):  # where there is no fit
            fits = Fits(parameters, weighted.prior_log_odds(masks))
            steepness = np.array([self.map.steepness(of_fit) for of_fit in parameters])
            is_valid = steepness <= self.steepest
            if self.floor:  # maps that do not increase have no limits there
                ends = np.array([-np.inf, np.inf])
                low, high = self.map.scores_of_fits(fits, np.arange(len(masks)), ends).T
                is_valid &= low <= high
        return fits, is_valid, steepness

    def losses(
        self,
        rule: ScoringRule,
        sums: AxisTotals,
        folds: Folds,
        fits: Fits,
        to_log_odds: float,
    ) -> Floats:
        """Return the summed losses of each class, of each pair of calibrator and fold, (E, 2).

        `to_log_odds` is log-odds minus scores.
        """
        nodes = sums.nodes() + sums.infinite
        calibrators, of_fold = folds.served.T
        used = np.unique(calibrators)
        with np.errstate(invalid="ignore"):  # of fits that are not valid
            log_odds = self.map.scores_of_fits(fits, used, nodes)
        log_odds += to_log_odds
        return sums.losses(rule, of_fold, log_odds, np.searchsorted(used, calibrators))


@dataclass(frozen=True, eq=False)
class RefitSums(CellLossSums):
    """Samples grouped by class, fold and cell; calibrators of a replicate are fitted to the sums.

    Attributes
    ----------
    axis_fits : AxisFits
    priors : TrainingPriors
    offset : float
        Log-odds minus score.
    floor : float
        Floor of the posteriors that are calibrated.
    """

    axis_fits: AxisFits
    priors: TrainingPriors
    offset: float
    floor: float

    n_classes = 2
    n_columns = 2
    degree = DEGREE

    @property
    def stream(self) -> tuple[str | int, ...]:
        """Random stream of the map, and the number of folds."""
        return (*self.axis_fits.map.stream, self.folds.n_folds)

    @property
    def n_cells(self) -> int:
        return self.axis_fits.axis.n_cells

    def cells(self, part: Part) -> NDArray[np.int32]:
        return self._places(part)[0]

    @property
    def key(self) -> Hashable:
        axis = self.axis_fits.axis
        return (self.axis_fits.map.key, self.rule.key, self.folds.key, self.floor, axis.key)

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return self.rule.losses_of(part.predictions), self._places(part)[1]

    def _places(self, part: Part) -> tuple[NDArray[np.int32], Floats]:
        axis, clipped = self.axis_fits.axis, floored(part.predictions, self.floor)
        return kernels.axis.place_on_axis(clipped.scores, axis.low, axis.width, axis.n_cells)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, FoldLosses] | None:
        return self._assembled(weight[None], sums[None])[0]

    def assemble_each(self, weight: Floats, sums: Floats) -> Iterator[Any]:
        # as many as are drawn together, so that bits depend on no other replicates
        side_by_side = LANES if self.folds.training_mask.size <= _MOST_PAIRS else 1
        if self.axis_fits.map.chooses_among_fits:  # within one set of folds
            yield from super().assemble_each(weight, sums)
            return
        for begin in range(0, weight.shape[0], side_by_side):
            chunk = slice(begin, begin + side_by_side)
            yield from self._assembled(weight[chunk], sums[chunk])

    def _assembled(
        self, weight: Floats, sums: Floats
    ) -> list[tuple[ScoreTotals, FoldLosses] | None]:
        """Return the summaries of R replicates, None for those that need samples.

        Their fits are those of one set of folds, one replicate's after another's.
        """
        axis_fits, priors, n = self.axis_fits, self.priors.given, weight.shape[0]
        folds = self.folds.repeated(n)
        by_class = weight.reshape(n, 2, -1).sum(axis=2)
        raw = sums[:, :, 0].reshape(n, 2, -1).sum(axis=2)
        totals = AxisTotals.of_numbers(axis_fits.axis, weight, sums[:, :, 1:])
        fits, is_valid, _ = axis_fits.fit(totals, folds, self.priors)
        losses = axis_fits.losses(self.rule, totals, folds, fits, self.offset).reshape(n, -1, 2)
        of_folds = totals.class_totals.T.reshape(n, -1, 2)
        return [
            (
                ScoreTotals(raw[k], by_class[k], priors),
                FoldLosses.of(losses[k], of_folds[k], priors),
            )
            if valid
            else None
            for k, valid in enumerate(map(np.all, is_valid.reshape(n, -1)))
        ]


def fit_on_axis(
    map_: SmoothMap, data: Data, folds: Folds
) -> tuple[AxisFits, AxisTotals, Fits] | None:
    """Return the fits of all folds, and the sums that they are fitted to.

    None if the samples are needed.
    """
    axis_fits = AxisFits.of(map_, data, folds)
    priors = TrainingPriors.of(data, map_.prior)
    for _ in range(_MOST_AXES):
        if axis_fits is None:
            break
        totals = count(SumOnAxis(folds, axis_fits.axis).over(data))
        fits, is_valid, steepness = axis_fits.fit(totals, folds, priors)
        if is_valid.all():
            return axis_fits, totals, fits
        if not (is_valid | (steepness > axis_fits.steepest)).all():
            break
        axis_fits = axis_fits.steeper(steepness.max())
    return None
