"""Affine calibration of log-odds by sums on an axis: one pass, however many the folds."""

from typing import Any

import numpy as np

from fastpsr import kernels
from fastpsr.calibration.folds import Plan
from fastpsr.calibration.newton import fit_log_loss, fit_roughly
from fastpsr.kernels.sizes import DEGREE
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.fit_sums import Axis, FitSums
from fastpsr.summaries.summands import NeedsSamplesError, Summands
from fastpsr.summaries.sums import ScoreSums

__all__ = ["cross_fit_by_sums", "fit_by_sums", "refit_summands", "refitted_sums"]

TwoSums = tuple[ScoreSums, ScoreSums]


def fit_by_sums(samples: Predictions, with_bias: bool) -> tuple[float, Floats] | None:
    """Return (scale, bias) of one fit to all samples; None where the samples are needed."""
    scale_and_shift = _scales_and_shifts(samples, Plan.of_one(len(samples)), with_bias)
    if scale_and_shift is None:
        return None
    scale, shift = (float(values[0]) for values in scale_and_shift)
    return scale, np.array([-shift / 2.0, shift / 2.0])


def cross_fit_by_sums(predictions: Predictions, plan: Plan, with_bias: bool) -> Floats | None:
    """Return the calibrated scores, (N,); None where the samples themselves are needed."""
    found = _scales_and_shifts(predictions, plan, with_bias)
    if found is None or found[0].min() <= 0.0:  # a warning is due, fit by fit
        return None
    scales, shifts = found
    return np.asarray(kernels.map_by_part(predictions.scores, plan.served_by, scales, shifts))


def refitted_sums(
    rule: ScoringRule, plan: Plan, predictions: Predictions, with_bias: bool
) -> ScoreSums | None:
    """Return the summed losses after cross-fitting; None where the samples are needed."""
    planned = _plan_axis(predictions, with_bias) if rule.is_analytic else None
    if planned is None:
        return None
    sums = FitSums.of(predictions, *planned, plan.served_by, plan.trains.shape[0])
    try:
        fits = _fits(sums, plan, predictions, with_bias, skip_empty=True)
    except NeedsSamplesError:
        return None
    if fits[0].min() <= 0.0:  # a warning is due, fit by fit
        return None
    return _losses(rule, sums, fits, predictions)


def refit_summands(
    rule: ScoringRule, plan: Plan, predictions: Predictions, with_bias: bool
) -> Summands | None:
    """Return summands of raw and calibrated losses, with a calibrator fitted to each replicate."""
    planned = _plan_axis(predictions, with_bias) if rule.is_analytic else None
    if planned is None:
        return None
    axis, scale = planned
    n_parts = plan.trains.shape[0]
    cell, t = kernels.place_on_axis(predictions.scores, axis.low, axis.width, axis.n_cells)

    def groups() -> Any:
        part = predictions.labels * np.int32(n_parts) + plan.served_by
        return part * np.int32(axis.n_cells) + cell

    def assemble(weight: Floats, numbers: Floats) -> TwoSums:
        by_class = weight.reshape(2, -1).sum(axis=1)
        raw = numbers[:, 0].reshape(2, -1).sum(axis=1)
        sums = FitSums.of_numbers(axis, scale, n_parts, weight, numbers[:, 1:])
        fits = _fits(sums, plan, predictions, with_bias, skip_empty=True)
        calibrated = _losses(rule, sums, fits, predictions)
        return ScoreSums(raw, by_class, predictions.given_priors), calibrated

    kind = f"affine {with_bias} {rule!r} {plan.digest}"
    columns = (rule.losses_of(predictions), t)
    return Summands(kind, 2 * n_parts * axis.n_cells, 2, groups, assemble, columns, DEGREE)


def _scales_and_shifts(
    predictions: Predictions, plan: Plan, with_bias: bool
) -> tuple[Floats, Floats] | None:
    planned = _plan_axis(predictions, with_bias)
    if planned is None:
        return None
    sums = FitSums.of(predictions, *planned, plan.served_by, plan.trains.shape[0])
    try:
        # also parts without weight: they have samples, which want calibration
        return _fits(sums, plan, predictions, with_bias, skip_empty=False)
    except NeedsSamplesError:
        return None


def _fits(
    sums: FitSums, plan: Plan, predictions: Predictions, with_bias: bool, *, skip_empty: bool
) -> tuple[Floats, Floats]:
    add_prior = predictions.kind != "posteriors"
    return sums.fits(
        plan.trains, predictions.given_priors, with_bias=with_bias, add_prior=add_prior,
        skip_empty=skip_empty,
    )  # fmt: skip


def _losses(
    rule: ScoringRule, sums: FitSums, fits: tuple[Floats, Floats], predictions: Predictions
) -> ScoreSums:
    scale, shift = fits
    losses = sums.losses(rule, scale, shift + predictions.log_odds_offset)
    return ScoreSums(losses, sums.class_totals.sum(axis=1), predictions.given_priors)


def _plan_axis(predictions: Predictions, with_bias: bool) -> tuple[Axis, float] | None:
    """Return an axis, and the scale that fits will have, about; None where there is none."""
    given = predictions.given_priors
    if predictions.n_classes > 2 or (given is not None and not given.all()):
        return None
    if not predictions.class_weights.all() or not predictions.has_finite_scores:
        return None

    def fit() -> float | None:
        samples = predictions.present()
        offset = np.zeros(2) if predictions.kind == "posteriors" else np.log(samples.priors)
        problem = (samples.scores, samples.labels, samples.balanced_weights(), offset, with_bias)
        try:
            return fit_roughly(*problem) or fit_log_loss(*problem, None)[0]
        except ValueError:
            return None

    scale = predictions.remember(f"rough scale {with_bias}", fit)
    if not scale:
        return None
    axis = Axis.over(predictions.score_range, scale)
    return None if axis is None else (axis, scale)
