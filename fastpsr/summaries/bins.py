"""Sums per bin of posteriors: what calibration errors and histogram binning need."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.predictions import Floats, Predictions, class_factors
from fastpsr.summaries.merging import require_same
from fastpsr.summaries.summands import Summands

__all__ = ["BinSums", "bin_edges", "confidences"]


@dataclass(frozen=True, eq=False)
class BinSums:
    """Weights, hits and posteriors in bins (low, high]; 0 lies in the first.

    Attributes
    ----------
    edges : ndarray of float64, shape (M + 1,)
    weight, hits, posterior : ndarray of float64, shape (K, M)
        By true class: total weight, weight of the samples whose binned posterior came true, and
        weighted sum of the binned posteriors.
    given_priors : ndarray of float64, shape (K,), or None
    """

    edges: Floats
    weight: Floats
    hits: Floats
    posterior: Floats
    given_priors: Floats | None

    @classmethod
    def of(
        cls, posteriors: Floats, hits: NDArray[Any], edges: Floats, predictions: Predictions
    ) -> Self:
        """Sum (N,) posteriors of an event, and whether it came true, into bins."""
        sums = kernels.sum_into_bins(
            posteriors, hits, predictions.labels, predictions.weights, edges, predictions.n_classes
        )
        weight, hit, posterior = np.moveaxis(sums, -1, 0)
        return cls(edges, weight, hit, posterior, predictions.given_priors)

    @classmethod
    def summands(
        cls,
        name: str,
        posteriors: Floats,
        hits: NDArray[Any],
        edges: Floats,
        predictions: Predictions,
    ) -> Summands:
        """Return what the sums of (N,) posteriors of an event in bins add up."""
        shape = (predictions.n_classes, 2, edges.size - 1)

        def groups() -> NDArray[Any]:
            bins = kernels.bin_numbers(posteriors, edges)
            return np.asarray((predictions.labels * np.int32(2) + hits) * np.int32(shape[2]) + bins)

        def assemble(weight: Floats, sums: Floats) -> "BinSums":
            weight = weight.reshape(shape)
            posterior = sums[:, 0].reshape(shape).sum(axis=1)
            return cls(edges, weight.sum(axis=1), weight[:, 1], posterior, predictions.given_priors)

        return Summands(name, int(np.prod(shape)), shape[0], groups, assemble, (posteriors,))

    def merge(self, other: Self) -> Self:
        """Return the sums over both sets of samples."""
        require_same("bin edges", self.edges, other.edges)
        require_same("given priors", self.given_priors, other.given_priors)
        return type(self)(
            self.edges,
            self.weight + other.weight,
            self.hits + other.hits,
            self.posterior + other.posterior,
            self.given_priors,
        )

    def at_priors(self) -> tuple[Floats, Floats, Floats]:
        """Return weight, hits and posterior sums per bin, as shares at the priors, (M,) each."""
        totals = self.weight.sum(axis=1)
        factors = class_factors(totals, self.given_priors) / totals.sum()
        # not by BLAS, whose last bits depend on where arrays lie
        sums = (self.weight, self.hits, self.posterior)
        weight, hits, posterior = ((factors[:, None] * of_class).sum(axis=0) for of_class in sums)
        return weight, hits, posterior


def bin_edges(bins: int, binning: str, posteriors: Floats, weights: Floats) -> Floats:
    """Return the M + 1 edges: i / M, or the order statistics of the posteriors at those shares."""
    shares = np.arange(bins + 1) / bins
    if binning == "uniform":
        return shares
    if weights.size:
        order = np.argsort(posteriors, kind="stable")
        cumulated = np.cumsum(weights[order])
        # first sample at which the share is reached; rounding must not push it one further
        reached = np.searchsorted(cumulated, shares[1:-1] * cumulated[-1] * (1.0 - 1e-12))
        inner = posteriors[order][reached]
    else:
        ranks = -(-np.arange(1, bins) * posteriors.size // bins) - 1
        inner = np.partition(posteriors, ranks)[ranks]
    return np.concatenate([[0.0], inner, [1.0]])


def confidences(predictions: Predictions) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the largest posterior of each sample, and whether its class (the first) is true."""
    y = predictions.labels
    if predictions._has_posteriors:  # as given
        best, top = kernels.top_classes(predictions.posteriors)
        return best, top == y
    if predictions.n_classes == 2:
        log_odds = predictions.log_odds
        return np.asarray(kernels.sigmoid(np.abs(log_odds))), (log_odds > 0.0) == (y != 0)
    log_best, top = kernels.top_classes(predictions.log_posteriors)
    return np.asarray(kernels.exp(log_best)), top == y
