"""Random data for the tests: ordinary, and as nasty as the contract allows."""

from dataclasses import dataclass

import numpy as np

import fastpsr as fp
from tests import reference

COSTS = {
    2: [[0.0, 1.0, 0.3], [5.0, 0.1, 0.7]],
    3: [[0.0, 1.0, 2.5, 0.4], [1.2, 0.25, 3.0, 0.6], [7.0, 1.0, 0.125, 0.55]],
    7: np.random.default_rng(7).uniform(0, 3, (7, 5)).round(2).tolist(),
}
SCORES = ("plain", "tied", "extreme", "infinite")
WEIGHTS = ("none", "integer", "wild", "tiny", "huge", "zero on infinite losses")
CLASS_COUNTS = (2, 3, 7)


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels, log-posteriors and, where given, weights and priors."""

    y: np.ndarray
    log_q: np.ndarray
    weights: np.ndarray | None
    priors: np.ndarray | None

    @property
    def mass(self):
        return reference.sample_mass(self.y, self.log_q.shape[1], self.weights, self.priors)

    @property
    def predictions(self):
        return fp.Predictions.from_log_posteriors(
            self.y, self.log_q, priors=self.priors, sample_weight=self.weights
        )

    @property
    def options(self):
        """What the reference takes after labels and log-posteriors."""
        return {"weights": self.weights, "priors": self.priors}


def make(K=2, n=60, *, scores="plain", weights="none", priors=False, seed=0):
    """Return a random `Sample` of n samples, in which every class has positive weight."""
    rng = np.random.default_rng([seed, K, n])
    y = rng.permutation(np.arange(n) % K)
    log_q = reference.log_softmax(make_logits(rng, y, K, scores))
    w = make_weights(rng, weights, y, log_q)
    p = rng.dirichlet(np.full(K, 3.0)) if priors else None
    return Sample(y, log_q, w, p)


def make_logits(rng, y, K, scores="plain"):
    """Logits that tell the classes apart to some degree."""
    z = 1.5 * (rng.normal(size=(y.size, K)) + np.eye(K)[y])
    if scores == "tied":
        return z.round()
    if scores == "extreme":
        z[rng.random(z.shape) < 0.3] *= 300.0
        return z.clip(-350.0, 350.0)
    if scores == "infinite":  # posteriors of 0 for many wrong classes and a few right ones
        right = np.arange(y.size)
        chance = np.full(z.shape, 0.2)
        chance[right, y] = 0.0
        chance[right % 50 == 3] = np.eye(K)[y[right % 50 == 3]]
        z[rng.random(z.shape) < chance] = -np.inf
        z[np.isneginf(z).all(axis=1)] = 0.0
    return z


def make_weights(rng, weights, y, log_q):
    n = y.size
    if weights == "none":
        return None
    if weights == "integer":
        return rng.integers(0, 4, n) + (np.arange(n) % 5 == 0)
    if weights == "zero on infinite losses":
        w = rng.uniform(0.5, 2.0, n)
        return np.where(np.isneginf(log_q[np.arange(n), y]), 0.0, w)
    wild = 10.0 ** rng.uniform(-8, 8, n)
    return wild * {"wild": 1.0, "tiny": 1e-200, "huge": 1e200}[weights]


def make_scores(kind, n=80):
    """Return a generator, labels and scores of a detector."""
    rng = np.random.default_rng(n)
    y = np.arange(n) % 2
    s = rng.normal(size=n) + y
    if kind == "tied":
        s = s.round(1)
    elif kind == "outliers":
        s[:6] = [-np.inf, np.inf, 1e300, -1e300, 5e-324, -np.inf]
    elif kind == "reversed":
        s = -s
    return rng, y, s
