"""Seeded arrays of the kind that users come with: labels, Gaussian scores, posteriors, logits."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEPARATION = 3.5  # standard deviations between the classes: an equal error rate of 4 %
SHARED = 0.7  # correlation of the errors of several systems
SPREAD = 1.0  # of logits; not so wide that confidences round to 1 in float32
ABOVE = 2.0  # the true class's logit, on average
OVERCONFIDENCE = 1.2  # factor on the log-odds: posteriors that calibration has to mend


@dataclass(frozen=True)
class Size:
    """How many trials a list has, and how many of them are targets."""

    n_trials: int
    n_targets: int

    def __str__(self) -> str:
        return f"{self.n_trials:,} trials, {self.n_targets:,} targets"

    def make(self) -> "Trials":
        return make_trials(self)

    def quick(self) -> "Size":
        """Return a size at which everything runs at once."""
        n = min(self.n_trials, 2_000)
        return replace(self, n_trials=n, n_targets=max(100, n * self.n_targets // self.n_trials))


@dataclass(frozen=True)
class SystemsSize(Size):
    """How many trials a list has, scored by how many systems, in which type of numbers."""

    n_systems: int
    dtype: str

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.n_systems} systems, {self.dtype}"

    def make(self) -> "Systems":  # type: ignore[override]
        return make_systems(self)


@dataclass(frozen=True)
class Softmax:
    """How many samples a test set has, and how many classes."""

    n_samples: int
    n_classes: int

    def __str__(self) -> str:
        return f"{self.n_samples:,} samples, {self.n_classes} classes"

    def make(self) -> "Samples":
        return make_softmax(self)

    def quick(self) -> "Softmax":
        return Softmax(1_000, 3)


@dataclass(frozen=True)
class Layout:
    """How many samples, of how many classes, in which array of posteriors or logits."""

    n_samples: int
    n_columns: int
    kind: str
    dtype: str = "float64"

    def __str__(self) -> str:
        return f"{self.n_samples:,} x {self.n_columns:,} {self.kind}, {self.dtype}"

    def make(self) -> "Arrays":
        return make_arrays(self)

    def quick(self) -> "Layout":
        return replace(self, n_samples=min(self.n_samples, 2_000))


SITW = Size(721_788, 3_658)
SITW_BALANCED = Size(721_788, 360_894)
MILLION = Size(1_000_000, 5_000)
MILLION_BALANCED = Size(1_000_000, 500_000)
LARGE = Size(10_000_000, 50_000)
LARGE_BALANCED = Size(10_000_000, 5_000_000)


@dataclass(frozen=True, eq=False)
class Trials:
    """A trial list, in no order.

    Attributes
    ----------
    y : ndarray of int64, shape (N,)
        1 for a target, 0 for a non-target.
    scores : ndarray of float64, shape (N,)
        Gaussian of unit variance, around 0 for non-targets, `SEPARATION` for targets.
    log_odds : ndarray of float64, shape (N,)
        The scores' log-odds at the list's own prior, times `OVERCONFIDENCE`.
    posteriors : ndarray of float64, shape (N,)
        P(target), the log-odds' logistic function.
    """

    y: NDArray[np.int64]
    scores: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    posteriors: NDArray[np.float64]


@lru_cache(maxsize=2)
def make_trials(size: Size, seed: int = 0) -> Trials:
    """Draw a trial list."""
    rng = np.random.default_rng(seed)
    y = np.zeros(size.n_trials, np.int64)
    y[: size.n_targets] = 1
    rng.shuffle(y)
    scores = rng.normal(size=size.n_trials)
    scores += SEPARATION * y
    prior_log_odds = log(size.n_targets / (size.n_trials - size.n_targets))
    log_odds = SEPARATION * (scores - SEPARATION / 2) + prior_log_odds
    log_odds *= OVERCONFIDENCE
    return Trials(y, scores, log_odds, 1.0 / (1.0 + np.exp(-log_odds)))


@dataclass(frozen=True, eq=False)
class Systems:
    """A trial list that several systems score, in no order.

    Attributes
    ----------
    y : ndarray of int64, shape (N,)
        1 for a target, 0 for a non-target.
    scores : ndarray, shape (S, N)
        As in `Trials`; the noise of systems has correlation `SHARED`.
    """

    y: NDArray[np.int64]
    scores: NDArray[Any]


@lru_cache(maxsize=2)
def make_systems(size: SystemsSize, seed: int = 0) -> Systems:
    """Draw a trial list with the scores of systems."""
    rng = np.random.default_rng(seed)
    y = np.zeros(size.n_trials, np.int64)
    y[: size.n_targets] = 1
    rng.shuffle(y)
    shared = np.sqrt(SHARED) * rng.normal(size=size.n_trials) + SEPARATION * y
    scores = np.empty((size.n_systems, size.n_trials), size.dtype)
    for row in scores:
        row[:] = shared + np.sqrt(1.0 - SHARED) * rng.normal(size=size.n_trials)
    return Systems(y, scores)


@dataclass(frozen=True, eq=False)
class Samples:
    """A test set of several classes.

    Attributes
    ----------
    y : ndarray of int64, shape (N,)
    posteriors, log_posteriors : ndarray of float64, shape (N, K)
        Those of Gaussian classes, overconfident.
    """

    y: NDArray[np.int64]
    posteriors: NDArray[np.float64]
    log_posteriors: NDArray[np.float64]


@lru_cache(maxsize=2)
def make_softmax(size: Softmax, seed: int = 0) -> Samples:
    """Draw a test set."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, size.n_classes, size.n_samples)
    logits = rng.normal(size=(size.n_samples, size.n_classes))
    logits[np.arange(size.n_samples), y] += SEPARATION
    logits *= SEPARATION * OVERCONFIDENCE
    logits -= logits.max(axis=1, keepdims=True)
    sums = np.exp(logits).sum(axis=1, keepdims=True)
    return Samples(y, np.exp(logits) / sums, logits - np.log(sums))


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a user holds.

    Attributes
    ----------
    y : ndarray of int64, shape (N,)
    values : ndarray, shape (N, K)
        Posteriors or logits, of the layout's dtype.
    """

    y: NDArray[np.int64]
    values: NDArray[Any]


@lru_cache(maxsize=2)
def make_arrays(layout: Layout, seed: int = 0) -> Arrays:
    """Draw a test set, with as many samples of each class."""
    rng = np.random.default_rng(seed)
    n, n_classes = layout.n_samples, layout.n_columns
    y = rng.permutation(np.arange(n) % n_classes)
    values = SPREAD * rng.normal(size=(n, n_classes))
    values[np.arange(n), y] += ABOVE
    if layout.kind == "posteriors":
        values -= values.max(axis=1, keepdims=True)
        np.exp(values, out=values)
        values /= values.sum(axis=1, keepdims=True)
    return Arrays(y, values.astype(layout.dtype))
