"""Fits of smooth maps to sums on an axis: one read for all folds, and none in replicates."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.axis import Axis, AxisTotals, most_cells, totals_on_axis
from fastpsr.calibration.floors import LOG_FLOOR, floored, with_floor
from fastpsr.calibration.fold_losses import CellLossSums, FoldLosses
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.smooth_map import Fits, SmoothMap, WeightedScores
from fastpsr.calibration.training_priors import TrainingPriors
from fastpsr.counts import count
from fastpsr.counts.losses import ScoreTotals
from fastpsr.counts.scores import ScoreRange
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Part
from fastpsr.kernels.sizes import DEGREE, LANES
from fastpsr.rules.base import ScoringRule

_STEEPNESS = 32.0  # of the first axis, by the range of the scores: about 128 cells
_NARROWEST = 1e-290
_LARGEST = 1e300  # score, so that edges of cells are finite
_MOST_AXES = 3  # before the samples are used
_STRETCH = 1.5  # of the planned steepness, at most; then errors of sums reach 1e-12
_MOST_PAIRS = 1 << 12  # of a calibrator and a fold, where fits of replicates lie side by side
_ROOM = 10.0  # slopes of replicates may be greater by this over the root of a number of samples


@dataclass(frozen=True, eq=False)
class PlannedFits:
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
    def over(
        cls,
        map_: SmoothMap,
        span: tuple[float, float],
        floor: float,
        most_cells: int,
        samples_per_weight: float,
        steepness: float,
    ) -> "PlannedFits | None":
        """Plan for scores in a range and maps about as steep; None if cells are too many."""
        axis = map_.axis(*span, steepness, most_cells)
        if axis is None:
            return None
        if floor:
            axis = axis.with_ends(floor)
        steepest = _STRETCH * steepness
        return cls(map_, axis, steepest, None, span, floor, most_cells, samples_per_weight)

    def steeper(self, steepness: float) -> "PlannedFits | None":
        """Plan for the same scores, and maps about as steep."""
        return self.over(
            self.map, self.span, self.floor, self.most_cells, self.samples_per_weight, steepness
        )

    def for_replicates(self, fits: Fits, fewest: int) -> "PlannedFits":
        """Plan for fits to replicates, which begin at fits to the data.

        `fewest` is the number of samples of the smaller class. The fewer, the more may replicates
        differ from the data in their slopes, for which there is room.
        """
        planned: PlannedFits | None = None
        if not self.map.chooses_among_fits:
            steepness = max(map(self.map.steepness, fits.parameters))
            planned = self.steeper(steepness * (1.0 + _ROOM / np.sqrt(fewest)))
        if planned is None or not planned.axis.suits_replicates:
            planned = self
        return replace(planned, start=fits.parameters)

    def each_fit(
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
            steepness = np.array([self.map.steepness(each) for each in parameters])
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


def fits_by_sums(map_: SmoothMap, data: Data, folds: Folds) -> Fits | None:
    """Return the fits of all folds from sums; None if the samples are needed."""
    fitted = _fits_to_sums(map_, data, folds)
    return None if fitted is None else fitted[2]


def losses_by_sums(
    map_: SmoothMap, rule: ScoringRule, data: Data, folds: Folds
) -> tuple[FoldLosses, Fits, Axis] | None:
    """Return the losses after cross-fitting, and fits; None if the samples are needed."""
    if not (rule.is_analytic and _has_axis(data)):
        return None
    fitted = _fits_to_sums(map_, data, folds)
    if fitted is None:
        return None
    planned, sums, fits = fitted
    losses = planned.losses(rule, sums, folds, fits, data.log_odds_offset)
    return FoldLosses.of(losses, sums.class_totals.T, data.given_priors), fits, planned.axis


def refit_sums(
    map_: SmoothMap, rule: ScoringRule, data: Data, folds: Folds, floor: float
) -> Sums | None:
    """Return sums of the raw losses and of the losses after a fit to a replicate.

    Data are clipped at the floor for the fit and the calibrated losses, but not for the raw losses.
    """
    if not (rule.is_analytic and _has_axis(data)):
        return None
    clipped = with_floor(data, floor)
    fitted = _fits_to_sums(map_, clipped, folds)
    if fitted is not None:
        planned: PlannedFits | None = fitted[0].for_replicates(
            fitted[2], int(data.class_sizes.min())
        )
    else:  # replicates may have fits where the data have none
        planned = _plan_fits(map_, clipped, folds)
    if planned is None or not planned.axis.suits_replicates:
        return None
    priors = TrainingPriors.of(data, map_.prior)
    return RefitSums(rule, folds, planned, priors, data.log_odds_offset, floor)


@dataclass(frozen=True, eq=False)
class RefitSums(CellLossSums):
    """Samples grouped by class, fold and cell; calibrators of a replicate are fitted to the sums.

    Attributes
    ----------
    planned : PlannedFits
    priors : TrainingPriors
    offset : float
        Log-odds minus score.
    floor : float
        Floor of the posteriors that are calibrated.
    """

    planned: PlannedFits
    priors: TrainingPriors
    offset: float
    floor: float

    n_classes = 2
    n_columns = 2
    degree = DEGREE

    @property
    def stream(self) -> tuple[str | int, ...]:  # type: ignore[override]
        """That of the map, and the number of folds."""
        return (*self.planned.map.stream, self.folds.n_folds)

    @property
    def n_cells(self) -> int:
        return self.planned.axis.n_cells

    def cells(self, part: Part) -> NDArray[np.int32]:
        return self._places(part)[0]

    @property
    def key(self) -> Hashable:
        axis = self.planned.axis
        return (self.planned.map.key, self.rule.key, self.folds.key, self.floor, axis.key)

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        return self.rule.losses_of(part.predictions), self._places(part)[1]

    def _places(self, part: Part) -> tuple[NDArray[np.int32], Floats]:
        axis, clipped = self.planned.axis, floored(part.predictions, self.floor)
        return kernels.axis.place_on_axis(clipped.scores, axis.low, axis.width, axis.n_cells)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreTotals, FoldLosses] | None:
        return self._assembled(weight[None], sums[None])[0]

    def assemble_each(self, weight: Floats, sums: Floats) -> Iterator[Any]:
        # as many as are drawn together, so that bits depend on no other replicates
        side_by_side = LANES if self.folds.training_mask.size <= _MOST_PAIRS else 1
        if self.planned.map.chooses_among_fits:  # among those of one set of folds
            yield from super().assemble_each(weight, sums)
            return
        for begin in range(0, weight.shape[0], side_by_side):
            some = slice(begin, begin + side_by_side)
            yield from self._assembled(weight[some], sums[some])

    def _assembled(
        self, weight: Floats, sums: Floats
    ) -> list[tuple[ScoreTotals, FoldLosses] | None]:
        """Return the summaries of R replicates, None for those that need samples.

        Their fits are those of one set of folds, one replicate's after another's.
        """
        planned, given, n = self.planned, self.priors.given, weight.shape[0]
        folds = self.folds.repeated(n)
        by_class = weight.reshape(n, 2, -1).sum(axis=2)
        raw = sums[:, :, 0].reshape(n, 2, -1).sum(axis=2)
        on_axis = AxisTotals.of_numbers(planned.axis, weight, sums[:, :, 1:])
        fits, is_valid, _ = planned.each_fit(on_axis, folds, self.priors)
        losses = planned.losses(self.rule, on_axis, folds, fits, self.offset).reshape(n, -1, 2)
        of_folds = on_axis.class_totals.T.reshape(n, -1, 2)
        return [
            (ScoreTotals(raw[k], by_class[k], given), FoldLosses.of(losses[k], of_folds[k], given))
            if valid
            else None
            for k, valid in enumerate(map(np.all, is_valid.reshape(n, -1)))
        ]


def _fits_to_sums(
    map_: SmoothMap, data: Data, folds: Folds
) -> tuple[PlannedFits, AxisTotals, Fits] | None:
    """Return the fits of all folds, and the sums that they are fitted to.

    None if the samples are needed.
    """
    planned = _plan_fits(map_, data, folds)
    priors = TrainingPriors.of(data, map_.prior)
    for _ in range(_MOST_AXES):
        if planned is None:
            break
        sums = totals_on_axis(data, folds, planned.axis)
        fits, is_valid, steepness = planned.each_fit(sums, folds, priors)
        if is_valid.all():
            return planned, sums, fits
        if not (is_valid | (steepness > planned.steepest)).all():
            break
        planned = planned.steeper(steepness.max())
    return None


def _plan_fits(map_: SmoothMap, data: Data, folds: Folds) -> PlannedFits | None:
    """Return an axis for fits to binary data, or None."""
    if not _has_axis(data):
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
    return PlannedFits.over(
        map_, (low, high), floor, most_cells(n_rows, folds.n_folds), samples_per_weight,
        _STEEPNESS / max(high - low, _NARROWEST),
    )  # fmt: skip


def _has_axis(data: Data) -> bool:
    """Whether an axis is possible, as far as is known without reading rows."""
    given = data.given_priors
    is_possible = data.n_classes == 2 and (given is None or given.all())
    return bool(is_possible and data.class_weights.all())
