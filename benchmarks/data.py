"""Seeded arrays of the kind that users come with: labels, Gaussian scores, posteriors."""

from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

SEPARATION = 3.5  # standard deviations between the classes: an equal error rate of 4 %
OVERCONFIDENCE = 1.2  # factor on the log-odds: posteriors that calibration has to mend


@dataclass(frozen=True)
class Size:
    """How many trials a list has, and how many of them are targets."""

    n_trials: int
    n_targets: int

    def __str__(self) -> str:
        return f"{self.n_trials:,} trials, {self.n_targets:,} targets"


SITW = Size(721_788, 3_658)
SITW_BALANCED = Size(721_788, 360_894)
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


def make_softmax(
    n_samples: int, n_classes: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw labels and (N, K) overconfident posteriors of Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    logits = rng.normal(size=(n_samples, n_classes))
    logits[np.arange(n_samples), y] += SEPARATION
    logits *= SEPARATION * OVERCONFIDENCE
    q = np.exp(logits - logits.max(axis=1, keepdims=True))
    return y, q / q.sum(axis=1, keepdims=True)
