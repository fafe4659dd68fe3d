"""Sums per bin of posteriors, for calibration errors and histogram binning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.caching import cached_property
from fastpsr.counts.order_statistics import order_statistics, weighted_quantiles
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Predictions, class_factors
from fastpsr.data.steps import Part
from fastpsr.errors import ArgumentError
from fastpsr.kernels.types import index_type


@dataclass(frozen=True, eq=False)
class BinTotals:
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

    @cached_property
    def shares(self) -> tuple[Floats, Floats, Floats]:
        """Weight, hits and posterior sums per bin, as shares at the priors, (M,) each."""
        totals = self.weight.sum(axis=1)
        factors = class_factors(totals, self.given_priors) / totals.sum()
        # not by BLAS, whose last bits depend on where arrays lie
        sums = (self.weight, self.hits, self.posterior)
        weight, hits, posterior = ((factors[:, None] * of_class).sum(axis=0) for of_class in sums)
        return weight, hits, posterior


#: Returns the posteriors (n,) that are binned, and whether their events occurred.
FindEvents = Callable[[Predictions], tuple[Floats, NDArray[np.bool_]]]


@dataclass(frozen=True, eq=False)
class BinSums(Sums):
    """Samples grouped by class, by whether an event came true, and by the bin of its posterior."""

    n_classes: int
    edges: Floats
    events: "Events"
    given_priors: Floats | None

    stream = ("bins",)
    n_columns = 1

    @property
    def n_groups(self) -> int:
        """Number of triples of class, outcome and bin."""
        return self.n_classes * 2 * (self.edges.size - 1)

    def groups(self, part: Part, *companions: Part) -> NDArray[Any]:
        posteriors, hits = self.events(part.predictions)
        wide = index_type(self.n_groups)
        groups = part.predictions.labels.astype(wide)
        groups *= 2
        groups += hits
        groups *= self.edges.size - 1
        groups += kernels.cells.bin_numbers(posteriors, self.edges)
        return groups

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return (self.events(part.predictions)[0],)

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        samples = part.predictions.present()
        posteriors, hits = self.events(samples)
        totals = kernels.cells.sum_into_bins(
            posteriors, hits, samples.labels, samples.weights, self.edges, self.n_classes
        ).reshape(-1, 2)
        return totals[:, 0], totals[:, 1:]

    def assemble(self, weight: Floats, sums: Floats) -> BinTotals:
        weight = weight.reshape(self.n_classes, 2, -1)
        posterior = sums.reshape(weight.shape)
        return BinTotals(
            self.edges, weight[:, 0] + weight[:, 1], weight[:, 1],
            posterior[:, 0] + posterior[:, 1], self.given_priors,
        )  # fmt: skip


@dataclass(frozen=True)
class Events:
    """The events whose posteriors are binned: class 1, a class, or each sample's likeliest one."""

    on: str | int

    def refuse(self, n_classes: int) -> NoReturn:
        """Raise because of more than 2 classes."""
        rule = 'must be "confidence" or "classwise" for more than 2 classes'
        raise ArgumentError("on", f"{rule}, and there are {n_classes}")

    def __call__(self, samples: Predictions) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the (N,) posteriors, and whether the events came true."""
        if self.on == "confidence":
            return confidences(samples)
        if isinstance(self.on, int):
            return np.ascontiguousarray(samples.posteriors[:, self.on]), samples.labels == self.on
        if samples.n_classes > 2:
            self.refuse(samples.n_classes)
        return samples.positive_posteriors, samples.labels != 0


def fixed_edges(bins: int | tuple[float, ...]) -> Floats:
    """Return the M + 1 edges i / M, or the given edges."""
    return np.array(bins) if isinstance(bins, tuple) else np.arange(bins + 1) / bins


def quantile_edges(events: Events, bins: int, data: Data) -> Floats:
    """Return the quantiles of the events' posteriors at the shares i / M of the weight."""
    if data.n_classes > 2 and events.on == "class":
        events.refuse(data.n_classes)
    shares = fixed_edges(bins)[1:-1]
    values = _Posteriors(events)
    if data.has_weights or data.given_priors is not None:
        inner = weighted_quantiles(data, values, shares)
    else:
        n_rows = len(data)
        ranks = -(-np.arange(1, bins) * n_rows // bins) - 1
        inner, _ = order_statistics(data, values, ranks)
    return np.concatenate([[0.0], inner, [1.0]])


@dataclass(frozen=True)
class _Posteriors:
    """The posteriors of events."""

    events: Events

    def __call__(self, samples: Predictions) -> Floats:
        return self.events(samples)[0]


def confidences(predictions: Predictions) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the largest posterior of each sample, and whether its class (the first) is true."""
    y = predictions.labels
    if predictions._has_posteriors:  # as given
        q = predictions.posteriors
        return q.max(axis=1), q.argmax(axis=1) == y
    if predictions._logits is not None:
        return predictions._logits.confidences, predictions._logits.likeliest == y
    if predictions.n_classes == 2:
        log_odds = predictions.log_odds
        return kernels.log_space.sigmoid(np.abs(log_odds)), (log_odds > 0.0) == (y != 0)
    log_q = predictions.log_posteriors
    return np.exp(log_q.max(axis=1)), log_q.argmax(axis=1) == y
