"""Sums that affine calibrators of log-odds are fitted to, and judged by, without the samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.kernels.sizes import DEGREE
from fastpsr.predictions import Floats
from fastpsr.rules.base import ScoringRule
from fastpsr.summaries.summands import NeedsSamplesError

__all__ = ["Axis", "FitSums"]

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
    def far_middle(self) -> float:
        """The middle, if it is so far from 0 that fits lose digits unless it is subtracted."""
        middle = self.low + 0.5 * self.width * self.n_cells
        return middle if abs(middle) > self.width * self.n_cells else 0.0

    def nodes(self, origin: float = 0.0) -> Floats:
        """Return scores that stand for the samples, (n_cells x nodes,), less `origin`."""
        centers = (self.low - origin) + self.width * (np.arange(self.n_cells) + 0.5)
        return (centers[:, None] + 0.5 * self.width * _NODES).ravel()


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
        skip_empty: bool,
    ) -> tuple[Floats, Floats]:
        """Return (scale, shift) of each part's calibrator, (parts,).

        Parameters
        ----------
        trains : ndarray of bool, shape (parts, parts)
            ``trains[c, d]``: whether part d trains the calibrator of part c.
        given_priors : ndarray of float64, shape (2,), or None
        with_bias : bool
        add_prior : bool
            Whether the training prior is added to the scores in fitting, as for likelihoods.
        skip_empty : bool
            Whether parts without weight get a scale of 1 and a shift of 0, not a fit.

        Raises
        ------
        NeedsSamplesError
            Where a class is missing, or may be separable from the other, a fit does not converge,
            or it goes beyond what the sums were made for.
        """
        totals = self.class_totals
        parts = np.flatnonzero(totals.sum(axis=0)) if skip_empty else np.arange(totals.shape[1])
        training = np.ascontiguousarray(trains[parts])
        # (2, parts): what trains each calibrator
        held = np.stack([(training * by_part).sum(axis=1) for by_part in totals])
        if not (held.all() and self._overlap(training, with_bias)):
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
        middle = self.axis.far_middle if with_bias else 0.0
        nodes = self.axis.nodes(middle)
        # a map with other features needs no more than these
        features = np.stack([nodes, np.ones(nodes.size)]) if with_bias else nodes[None]
        n = features.shape[0]
        found = kernels.fit_to_nodes(
            features, weights[0], weights[1], offset, np.array([self.scale, 0.0])[:n],
            np.zeros((n, n)), np.full(n, -np.inf),
        )  # fmt: skip
        if not found[:, n].all() or np.abs(found[:, 0]).max() > _MOST_STRETCH * abs(self.scale):
            raise NeedsSamplesError
        scale, shift = np.ones(totals.shape[1]), np.zeros(totals.shape[1])
        scale[parts] = found[:, 0]
        if with_bias:
            shift[parts] = found[:, 1] - middle * found[:, 0]
        return scale, shift

    def _overlap(self, training: NDArray[np.bool_], with_bias: bool) -> bool:
        """Whether no training set's classes can be separated, by a threshold or by a score of 0.

        Cells do not tell for classes that meet in one.
        """
        zero = np.floor(-self.axis.low / self.axis.width)
        lowest, highest = [], []
        for by_part in self.sums[..., 0]:
            filled = kernels.add_trained(training, np.ascontiguousarray(by_part)) > 0.0
            lowest.append(filled.argmax(axis=1))
            highest.append(filled.shape[1] - 1 - filled[:, ::-1].argmax(axis=1))
        low_0, low_1 = lowest
        high_0, high_1 = highest
        if with_bias:
            return bool(((low_0 < high_1) & (low_1 < high_0)).all())
        upward, downward = (high_0 > zero) | (low_1 < zero), (low_0 < zero) | (high_1 > zero)
        return bool((upward & downward).all())

    def losses(self, rule: ScoringRule, scale: Floats, shift: Floats) -> Floats:
        """Return the summed losses of each class, (2,), at each part's own affine log-odds."""
        log_odds = (scale[:, None] * self.axis.nodes() + shift[:, None]).ravel()
        sums = []
        for k in (0, 1):
            y = np.full(log_odds.size, k, np.uint8)
            losses = rule.binary_losses(log_odds, y)
            with np.errstate(over="ignore", invalid="ignore"):  # weights near the largest float
                sums.append((losses * self._node_weights[k].ravel()).sum())  # no BLAS for so little
        return np.array(sums)

    @cached_property
    def _node_weights(self) -> Floats:
        """What each node weighs, (2, parts, cells x nodes); may be negative."""
        weights = kernels.weigh_nodes(np.ascontiguousarray(self.sums), _TO_WEIGHTS)
        return weights.reshape(2, self.sums.shape[1], -1)
