"""Affine calibration of log-odds with sums on an axis: one read for all folds."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.floors import floored, with_floor
from fastpsr.calibration.folds import Folds
from fastpsr.calibration.objective import affine_features
from fastpsr.calibration.sampling import LogOddsOffset, SampledRows, ScoreRange, sample_step
from fastpsr.kernels.sizes import DEGREE
from fastpsr.plans import Data, Part, Plan, Shared, Step
from fastpsr.plans.steps import ROWS
from fastpsr.predictions import Floats, class_factors
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.fit_sums import Axis, FitSums
from fastpsr.summaries.summands import NeedsSamplesError, Summands, group_type
from fastpsr.summaries.sums import ScoreSums

__all__ = ["affine_fits_by_sums", "affine_losses_by_sums", "affine_summands", "sums_on_axis"]

_VERY_THIN = 1 << 12  # samples per class that are enough for a rough scale


@dataclass(frozen=True, eq=False)
class Planned:
    """An axis, and the approximate scale of the fits."""

    axis: Axis
    scale: float


def affine_fits_by_sums(
    data: Data, folds: Folds, *, with_bias: bool
) -> Plan[tuple[Floats, Floats] | None]:
    """Plan: return (scale, shift) of each fold from sums; None if the samples are needed."""
    planned = yield from _plan_axis(data, with_bias)
    if planned is None:
        return None
    sums = yield from _sums(data, folds, planned)
    try:
        # also folds without weight, whose samples must be calibrated
        return _fits(sums, data.kind, data.given_priors, folds, with_bias, skip_empty=False)
    except NeedsSamplesError:
        return None


def affine_losses_by_sums(
    rule: ScoringRule, data: Data, folds: Folds, *, with_bias: bool
) -> Plan[ScoreSums | None]:
    """Plan: return the losses after cross-fitting from sums; None if the samples are needed."""
    if not (rule.is_analytic and _has_axis(data)):
        return None
    planned, offset = yield [_plan_axis(data, with_bias), LogOddsOffset().over(data)]
    if planned is None:
        return None
    sums = yield from _sums(data, folds, planned)
    try:
        fits = _fits(sums, data.kind, data.given_priors, folds, with_bias, skip_empty=True)
    except NeedsSamplesError:
        return None
    if fits[0].min() <= 0.0:  # separate fits warn
        return None
    return _losses(rule, sums, fits, offset, data.given_priors)


def affine_summands(
    rule: ScoringRule, data: Data, folds: Folds, *, with_bias: bool, floor: float
) -> Plan[Summands | None]:
    """Plan: return summands of the raw losses and of the losses after a fit to a replicate.

    Data are clipped at the floor for the fit and the calibrated losses, but not for the raw losses.
    """
    if not (rule.is_analytic and _has_axis(data)):
        return None
    clipped = with_floor(data, floor)
    planned, offset = yield [_plan_axis(clipped, with_bias), LogOddsOffset().over(data)]
    if planned is None:
        return None
    return AffineSummands(
        rule, folds, planned, with_bias, data.kind, data.given_priors, offset, floor
    )


@dataclass(frozen=True, eq=False)
class AffineSummands(Summands):
    """Samples grouped by class, fold and cell; calibrators of a replicate are fitted to the sums.

    Attributes
    ----------
    rule : ScoringRule
        Rule of the losses.
    folds : Folds
    planned : Planned
    with_bias : bool
    kind : {"posteriors", "likelihoods", "raw scores"}
    given_priors : ndarray of float64, shape (2,), or None
    offset : float
        Log-odds minus score.
    floor : float
        Floor of the posteriors that are calibrated.
    """

    rule: ScoringRule
    folds: Folds
    planned: Planned
    with_bias: bool
    kind: str
    given_priors: Floats | None
    offset: float
    floor: float

    n_classes = 2
    n_columns = 2
    degree = DEGREE

    @property
    def stream(self) -> tuple[str | int, ...]:  # type: ignore[override]
        """Whether there is a bias, and the number of folds."""
        return ("affine fits", int(self.with_bias), self.folds.n_calibrators)

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """Number of triples of class, fold and cell."""
        return 2 * self.folds.n_calibrators * self.planned.axis.n_cells

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    @property
    def key(self) -> Hashable:
        axis = self.planned.axis
        fits = (self.with_bias, self.rule.key, self.folds.key, self.floor)
        return ("affine fits", *fits, axis.low, axis.width)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        axis, wide = self.planned.axis, group_type(self.n_groups)
        of_fold = part.predictions.labels.astype(wide) * wide(self.folds.n_calibrators)
        of_fold += self.folds.served_by(part)
        cell, _ = self._places(part)
        return np.asarray(of_fold * wide(axis.n_cells) + cell)

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        return self.rule.losses_of(part.predictions), self._places(part)[1]

    def _places(self, part: Part) -> tuple[NDArray[np.int32], Floats]:
        axis, clipped = self.planned.axis, floored(part.predictions, self.floor)
        return kernels.place_on_axis(clipped._score_rows, axis.low, axis.width, axis.n_cells)

    def assemble(self, weight: Floats, sums: Floats) -> tuple[ScoreSums, ScoreSums]:
        by_class = weight.reshape(2, -1).sum(axis=1)
        raw = sums[:, 0].reshape(2, -1).sum(axis=1)
        n_parts = self.folds.n_calibrators
        fit_sums = FitSums.of_numbers(
            self.planned.axis, self.planned.scale, n_parts, weight, sums[:, 1:]
        )
        fits = _fits(
            fit_sums, self.kind, self.given_priors, self.folds, self.with_bias, skip_empty=True
        )
        calibrated = _losses(self.rule, fit_sums, fits, self.offset, self.given_priors)
        return ScoreSums(raw, by_class, self.given_priors), calibrated


@dataclass(frozen=True, eq=False)
class _SumOnAxis(Step):
    """Sum the scores of binary data in the cells of an axis, by class and fold."""

    folds: Folds
    planned: Planned

    @property
    def reads(self) -> frozenset[str]:
        """Rows, and the columns that determine their folds."""
        return ROWS | self.folds.reads

    @property
    def key(self) -> Hashable:
        axis = self.planned.axis
        return ("sums on an axis", axis.low, axis.width, axis.n_cells, self.folds.key)

    def add(self, accumulator: Floats | None, prepared: None, part: Part) -> Floats:
        axis, predictions = self.planned.axis, part.predictions
        sums = kernels.sum_on_axis(
            predictions._score_rows, predictions.labels, self.folds.served_by(part),
            predictions.weights, axis.low, axis.width, axis.n_cells, self.folds.n_calibrators,
        )  # fmt: skip
        if accumulator is None:
            return sums
        accumulator += sums
        return accumulator

    def merge(self, one: Floats, other: Floats) -> Floats:
        one += other
        return one

    def finish(self, accumulator: Floats) -> FitSums:
        return FitSums(self.planned.axis, self.planned.scale, accumulator)


def _sums(data: Data, folds: Folds, planned: Planned) -> Plan[FitSums]:
    return (yield from sums_on_axis(data, folds, planned.axis, planned.scale))


def sums_on_axis(data: Data, folds: Folds, axis: Axis, scale: float) -> Plan[FitSums]:
    """Plan: return the sums of each class and fold in the cells of an axis; computed once."""
    step = _SumOnAxis(folds, Planned(axis, scale))

    def plan() -> Plan[FitSums]:
        (sums,) = yield [step.over(data)]
        return sums  # type: ignore[no-any-return]

    (found,) = yield [Shared(step.key, data, plan)]
    return found  # type: ignore[no-any-return]


def _plan_axis(data: Data, with_bias: bool) -> Plan[Planned | None]:
    """Plan: return an axis for fits to binary data, or None; computed once."""
    if not _has_axis(data):
        return None
    (found,) = yield [Shared(("axis", with_bias), data, lambda: _make_axis(data, with_bias))]
    return found  # type: ignore[no-any-return]


def _has_axis(data: Data) -> bool:
    """Whether an axis is possible, as far as is known without reading rows."""
    given = data.given_priors
    is_possible = data.n_classes == 2 and (given is None or given.all())
    return bool(is_possible and data.class_weights.all())


def _make_axis(data: Data, with_bias: bool) -> Plan[Planned | None]:
    span, sample = yield [ScoreRange().over(data), sample_step(data, _VERY_THIN, 0.0).over(data)]
    if not span.is_finite or sample is None:
        return None
    scale = _rough_scale(data, sample, with_bias)
    if not scale:
        return None
    axis = Axis.over((span.low, span.high), scale)
    return None if axis is None else Planned(axis, scale)


@np.errstate(all="ignore")  # for constant scores, to which no fit is found
def _rough_scale(data: Data, sample: SampledRows, with_bias: bool) -> float | None:
    """Return the approximate scale of the fits; None if the sample does not determine it."""
    held = np.bincount(sample.y, sample.weights, 2)
    if not held.all():
        return None
    factors = class_factors(data.class_weights, data.given_priors) * data.class_weights / held
    weights = sample.weights * factors[sample.y]
    weights = weights / weights.sum()
    negatives, positives = (np.where(sample.y == k, weights, 0.0) for k in (0, 1))
    low, high = float(sample.scores.min()), float(sample.scores.max())
    middle = low / 2.0 + high / 2.0
    far = middle if with_bias and abs(middle) > high - low > 0.0 else 0.0
    scores = sample.scores - far
    totals = np.array([negatives.sum(), positives.sum()])
    prior = np.log(totals[1] / totals[0])
    offset = np.array([prior if not with_bias and data.kind != "posteriors" else 0.0])
    # Gaussian classes of one variance
    means = [(w * scores).sum() / total
             for w, total in zip((negatives, positives), totals, strict=True)]  # fmt: skip
    squares = sum(
        (w * (scores - mean) ** 2).sum()
        for w, mean in zip((negatives, positives), means, strict=True)
    )
    scale = (means[1] - means[0]) * totals.sum() / squares
    shift = prior - scale * (means[0] + means[1]) / 2.0
    starts = [np.array([scale, shift]), np.array([0.0, prior])]
    features = affine_features(scores, with_bias)
    n = features.shape[0]
    for start in starts:
        if not np.isfinite(start).all():
            continue
        found = kernels.fit_to_nodes(
            features, negatives[None], positives[None], offset, start[:n], np.zeros((n, n)),
            np.full(n, -np.inf),
        )[0]  # fmt: skip
        if found[n] and np.isfinite(found[0]):
            return float(found[0])
    return None


def _fits(
    sums: FitSums,
    kind: str,
    given_priors: Floats | None,
    folds: Folds,
    with_bias: bool,
    *,
    skip_empty: bool,
) -> tuple[Floats, Floats]:
    return sums.fits(
        folds.trains, given_priors, with_bias=with_bias, add_prior=kind != "posteriors",
        skip_empty=skip_empty,
    )  # fmt: skip


def _losses(
    rule: ScoringRule,
    sums: FitSums,
    fits: tuple[Floats, Floats],
    offset: float,
    given_priors: Floats | None,
) -> ScoreSums:
    scale, shift = fits
    losses = sums.losses(rule, scale, shift + offset)
    return ScoreSums(losses, sums.class_totals.sum(axis=1), given_priors)
