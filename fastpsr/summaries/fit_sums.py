"""Sums that affine calibrators of log-odds are fitted to, and judged by, without the samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.summands import NeedsSamplesError

__all__ = ["DEGREE", "Axis", "FitSums"]

DEGREE = 7  # of the polynomials on a cell
_WIDTH = 0.25  # of a cell, in log-odds after calibration as planned: errors of 1e-13
_MOST_CELLS = 4096
_MOST_STRETCH = 1.5  # of the planned scale; then the errors reach 1e-12

_ANGLES = (np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1)
_NODES = np.cos(_ANGLES)  # in [-1, 1]
_TO_WEIGHTS = 2.0 / (DEGREE + 1) * np.cos(np.outer(np.arange(DEGREE + 1), _ANGLES))
_TO_WEIGHTS[0] /= 2.0


@dataclass(frozen=True, eq=False)
class Axis:
    """Cells of equal width that hold all scores."""

    low: float
    width: float
    n_cells: int

    @classmethod
    def over(cls, score_range: tuple[float, float], scale: float) -> "Axis | None":
        """Return cells for fits of about this scale; None where there would be too many."""
        low, high = score_range
        if not (np.isfinite(low) and np.isfinite(high) and scale != 0.0):
            return None
        width = _WIDTH / abs(scale)
        n_cells = (high - low) / width
        if not n_cells < _MOST_CELLS:
            return None
        return cls(low, width, int(n_cells) + 1)

    @property
    def nodes(self) -> Floats:
        """Scores that stand for the samples, (n_cells x nodes,)."""
        centres = self.low + self.width * (np.arange(self.n_cells) + 0.5)
        return (centres[:, None] + 0.5 * self.width * _NODES).ravel()


@dataclass(frozen=True, eq=False)
class FitSums:
    """Chebyshev sums of the scores of each class, in each part and cell of an axis.

    A part is what one calibrator serves. Sums of a smooth function of the scores over any of the
    samples follow to about 1e-13.

    Attributes
    ----------
    axis : Axis
    scale : float
        The scale that the axis was made for.
    sums : ndarray of float64, shape (2, parts, cells, DEGREE + 1)
    """

    axis: Axis
    scale: float
    sums: Floats

    @classmethod
    def of(
        cls, predictions: Predictions, axis: Axis, scale: float, served_by: NDArray[Any], parts: int
    ) -> "FitSums":
        """Sum the scores of binary predictions."""
        sums = kernels.sum_on_axis(
            predictions.scale, predictions.labels, served_by, predictions.weights, axis.low,
            axis.width, axis.n_cells, parts,
        )  # fmt: skip
        return cls(axis, scale, sums)

    @classmethod
    def of_numbers(
        cls, axis: Axis, scale: float, parts: int, weight: Floats, sums: Floats
    ) -> "FitSums":
        """Take (G,) weights and (G, DEGREE) sums of groups of class, part and cell."""
        numbers = np.column_stack([weight, sums]).reshape(2, parts, axis.n_cells, DEGREE + 1)
        return cls(axis, scale, numbers)

    @property
    def class_totals(self) -> Floats:
        """Total weight of each class in each part, (2, parts)."""
        return np.asarray(self.sums[..., 0].sum(axis=2))

    def fits(
        self,
        trains: NDArray[np.bool_],
        given_priors: Floats | None,
        *,
        with_bias: bool,
        add_prior: bool,
    ) -> tuple[Floats, Floats]:
        """Return (scale, shift) of each part's calibrator, (parts,); 1 and 0 for empty parts.

        Parameters
        ----------
        trains : ndarray of bool, shape (parts, parts)
            ``trains[c, d]``: whether part d trains the calibrator of part c.
        given_priors : ndarray of float64, shape (2,), or None
        with_bias : bool
        add_prior : bool
            Whether the training prior is added to the scores in fitting, as for likelihoods.

        Raises
        ------
        NeedsSamplesError
            Where a class is missing, a fit does not converge, or it goes beyond what the sums
            were made for.
        """
        totals = self.class_totals
        parts = np.flatnonzero(totals.sum(axis=0))
        training = np.ascontiguousarray(trains[parts])
        # (2, parts): what trains each calibrator
        held = np.stack([(training * by_part).sum(axis=1) for by_part in totals])
        if not held.all():
            raise NeedsSamplesError
        weights = np.stack(
            [kernels.add_trained(training, by_part) for by_part in self._node_weights]
        )
        if given_priors is None:
            offset = np.log(held[1]) - np.log(held[0])
        else:
            weights *= (given_priors[:, None] / held * held.sum(axis=0))[:, :, None]
            offset = np.full(parts.size, np.log(given_priors[1]) - np.log(given_priors[0]))
        offset *= add_prior
        found = kernels.fit_to_nodes(
            self.axis.nodes, weights[0], weights[1], offset, self.scale, with_bias
        )
        if not found[:, 2].all() or np.abs(found[:, 0]).max() > _MOST_STRETCH * abs(self.scale):
            raise NeedsSamplesError
        scale, shift = np.ones(totals.shape[1]), np.zeros(totals.shape[1])
        scale[parts], shift[parts] = found[:, 0], found[:, 1] - offset
        return scale, shift

    def losses(self, rule: ScoringRule, scale: Floats, shift: Floats) -> Floats:
        """Return the summed losses of each class, (2,), at each part's own affine log-odds."""
        log_odds = (scale[:, None] * self.axis.nodes + shift[:, None]).ravel()
        sums = []
        for k in (0, 1):
            y = np.full(log_odds.size, k, np.uint8)
            losses = rule.binary_losses(log_odds, y)
            sums.append((losses * self._node_weights[k].ravel()).sum())  # no BLAS for so little
        return np.array(sums)

    @cached_property
    def _node_weights(self) -> Floats:
        """What each node weighs, (2, parts, cells x nodes); may be negative."""
        weights = kernels.weigh_nodes(np.ascontiguousarray(self.sums), _TO_WEIGHTS)
        return np.asarray(weights.reshape(2, self.sums.shape[1], -1))
