"""Affine calibration of several classes: the samples are laid out once, however many the folds."""

from functools import partial

import numpy as np

from fastpsr import checks, kernels
from fastpsr.calibration.folds import Plan
from fastpsr.calibration.newton import find_optimum, start_at_frequencies
from fastpsr.calibration.separability import check_margins
from fastpsr.predictions import Floats, Predictions, class_factors

__all__ = ["cross_fit_side_by_side"]


def cross_fit_side_by_side(predictions: Predictions, plan: Plan, with_bias: bool) -> Floats | None:
    """Return the calibrated scores, (N, K); None where fits must go one by one.

    That is so for infinite scores, parts of few samples, and where a fit has no optimum or a scale
    that users are warned of.
    """
    with np.errstate(all="ignore"):  # of scores near the largest float: what is found is checked
        found = _fits(predictions, plan, with_bias)
        if found is None or not (found[0].min() > 0.0 and all(np.isfinite(v).all() for v in found)):
            return None
        if not np.isfinite(found[0].max() * 10.0 * np.array(predictions.score_range)).all():
            return None
    mapped = kernels.map_by_part(predictions.scores, plan.served_by, *found)
    if predictions.kind == "posteriors":
        kernels.normalize_log_rows(mapped, np.zeros(mapped.shape[1]), mapped)
    return np.asarray(mapped)


def _fits(predictions: Predictions, plan: Plan, with_bias: bool) -> tuple[Floats, Floats] | None:
    """Return the scale (C,) and biases (C, K) of each calibrator."""
    given, n_classes = predictions.given_priors, predictions.n_classes
    n_parts = plan.trains.shape[0]
    if n_parts * n_classes > len(predictions) or not predictions.has_finite_scores:
        return None
    if given is not None and not given.all():
        return None
    y, scores, weights = predictions.labels, predictions.scores, predictions.weights
    if weights.size:
        weights = weights / weights.max(initial=1e-300)  # of any magnitude: only ratios matter
    class_of_part = plan.served_by.astype(np.int64) * n_classes + y
    counts = np.bincount(class_of_part, weights if weights.size else None, n_parts * n_classes)
    totals = kernels.add_trained(plan.trains, counts.reshape(n_parts, n_classes).astype(np.float64))
    if not totals.all():
        return None

    least, most = kernels.margin_ranges(scores, y, weights, plan.served_by, n_parts)
    samples = kernels.SideBySide(scores, y, weights, plan.served_by, n_parts)
    scales, biases = np.empty(n_parts), np.empty((n_parts, n_classes))
    point = None  # the optimum of the fit before is a good start
    for c, trains in enumerate(plan.trains):
        factors = class_factors(totals[c], given)
        class_weights = totals[c] * factors
        offset = np.zeros(n_classes)
        if predictions.kind != "posteriors":
            offset = checks.log_of_rows(class_weights / class_weights.sum())
        if point is None:
            point = start_at_frequencies(class_weights, offset, with_bias)
        elif not with_bias:
            point = np.concatenate([point[:1], offset])
        try:
            check_margins(least[trains].min(axis=0), most[trains].max(axis=0), with_bias=with_bias)
            scales[c], biases[c] = find_optimum(
                partial(samples.sum_fit, parts=trains, factors=factors),
                float(class_weights.sum()), offset, with_bias, point,
            )  # fmt: skip
        except ValueError:
            return None
        point = np.concatenate([scales[c : c + 1], biases[c] + offset])
    return scales, biases
