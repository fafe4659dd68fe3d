"""Affine calibrators of several classes, refitted to replicates side by side."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.calibration.fold_losses import FoldLosses
from fastpsr.calibration.folds import Folds
from fastpsr.plans import Part
from fastpsr.predictions import Floats, Predictions, class_factors
from fastpsr.rules import Brier, Log, ScoringRule
from fastpsr.summaries.losses import ScoreTotals

__all__ = ["RowRefits"]

_LARGEST = 1e100  # magnitude of scores and weights whose products and sums are finite
_MOST_BENT = 16  # classes, beyond which derivatives of the curvature take too long
_STEP = 1e-3  # of parameters, for these
_MOST_NUMBERS = 1 << 25  # scores of rows, of which each thread lays out its own


@dataclass(frozen=True, eq=False)
class RowRefits:
    """What fits to replicates of posteriors of several classes need, and where they begin.

    Attributes
    ----------
    rule : ScoringRule
        Rule of the losses.
    folds : Folds
    given_priors : ndarray of float64, shape (K,), or None
    scores : ndarray of float64, shape (N, K)
        Log-posteriors.
    labels, fold_of_row : ndarray, shape (N,)
    raw_losses : ndarray of float64, shape (N,)
    starts : ndarray of float64, shape (C, 1 + K)
        Scale and biases of the fits to the data.
    bend : ndarray of float64, shape (n, n, n), or (0, 0, 0)
        Derivatives of the mean Hessian at the first of these.
    floor : float
        Value that replaces -inf in fits; -inf if all scores are finite.
    with_bias : bool
    """

    rule: ScoringRule
    folds: Folds
    given_priors: Floats | None
    scores: Floats
    labels: NDArray[Any]
    fold_of_row: NDArray[np.uint16]
    raw_losses: Floats
    starts: Floats
    bend: Floats
    floor: float
    with_bias: bool

    @classmethod
    def of(
        cls,
        rule: ScoringRule,
        folds: Folds,
        data: Predictions,
        clipped: Predictions,
        starts: Floats,
        floor: float,
        *,
        with_bias: bool,
    ) -> "RowRefits | None":
        """Return what is needed to fit to clipped data; None where replicates are fitted alone."""
        scores, weights = clipped.scores, data.weights
        if not isinstance(rule, (Log, Brier)) or scores.size > _MOST_NUMBERS:
            return None
        if data.labels.dtype != np.uint8:  # so many classes that threads gain more within a fit
            return None
        magnitudes = [np.abs(scores[np.isfinite(scores)]).max(initial=0.0)]
        if weights.size:
            magnitudes += [weights.max(), 1.0 / weights[weights > 0.0].min()]
        if max(magnitudes) > _LARGEST:
            return None
        fold_of_row = folds.fold_of_rows(Part.whole(data))
        return cls(
            rule, folds, data.given_priors, np.ascontiguousarray(scores), data.labels, fold_of_row,
            rule.losses_of(data), starts, _bend(clipped, starts[0], floor, with_bias=with_bias),
            floor, with_bias,
        )  # fmt: skip

    @property
    def n_bytes(self) -> int:
        """Memory that a replicate takes: its weights, and its rows side by side."""
        return self.scores.nbytes + self.raw_losses.nbytes

    def summaries(self, weights: Floats) -> list[tuple[ScoreTotals, FoldLosses] | None]:
        """Return the losses before and after calibration in replicates.

        Parameters
        ----------
        weights : ndarray of float64, shape (R, N)
            Of the rows in each replicate.

        Returns
        -------
        list of pair, or of None
            None where a fit is not found from those to the data.
        """
        given = self.given_priors
        priors = np.empty(0) if given is None else given
        raw, losses, of_folds, is_found = kernels.refit_rows(
            self.scores, self.labels, self.fold_of_row, weights,
            np.ascontiguousarray(self.folds.training_mask),
            np.ascontiguousarray(self.folds.served), priors, self.starts, self.raw_losses,
            self.bend, self.floor, by_bias=self.with_bias, is_log=isinstance(self.rule, Log),
        )  # fmt: skip
        return [
            (
                ScoreTotals(raw[k], of_folds[k].sum(axis=0), given),
                FoldLosses.of(losses[k], of_folds[k], given),
            )
            if found
            else None
            for k, found in enumerate(is_found)
        ]


def _bend(data: Predictions, point: Floats, floor: float, *, with_bias: bool) -> Floats:
    """Return the derivatives of the mean Hessian of the log loss at a scale and biases."""
    n_classes = data.n_classes
    if n_classes > _MOST_BENT:
        return np.empty((0, 0, 0))
    scores = np.maximum(data.scores, floor)
    everything, factors = np.ones(1, bool), class_factors(data.class_weights, data.given_priors)
    samples = kernels.SideBySide(
        scores[None], data.labels, data.weights, np.zeros(len(data), np.uint16), 1
    )
    n = point.size if with_bias else 1
    bend = np.empty((n, n, n))
    for k, step in enumerate(_STEP * np.eye(n, point.size)):
        above, below = (
            np.asarray(samples.sum_fit(at, True, everything, factors, with_bias)[1])
            for at in (point + step, point - step)
        )
        bend[:, :, k] = (above - below) / (2.0 * _STEP)
    return bend / float((factors * data.class_weights).sum())
