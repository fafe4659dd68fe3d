"""Populations that samples of the study of coverage are drawn from.

Independent samples are labels with log-odds; trials are of speakers, and samples of clusters, that
differ in how easily they are recognized. The method of subsampling was chosen on others like
`gaussian`, `student`, `mixture`, `ties` and `bad_speakers`, but not on `skewed`, `discrete` and
`skewed_speakers`; the jackknife on `clusters` and all speakers, but not on `unequal_clusters`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fastpsr as fp

__all__ = [
    "INDEPENDENT",
    "OF_SPEAKERS",
    "PRIOR",
    "Drawn",
    "Population",
    "calibrated",
    "clusters",
    "independent",
    "pair",
    "spoofed",
    "unequal_clusters",
]

Floats = NDArray[np.float64]
Rng = np.random.Generator

PRIOR = 0.1
N_UNITS = 60
_N_TARGETS, _N_NONTARGETS = 600, 20_000
_N_IN_CLUSTERS = 6_000
_N_UNEQUAL = 40  # clusters


@dataclass(frozen=True, eq=False)
class Drawn:
    """Systems on the same samples, what is resampled, and which trials are spoofed."""

    systems: list[fp.Predictions]
    scheme: Any = None
    spoof: Any = None

    def metrics(self, metrics: Iterable[Any]) -> list[Any]:
        """Return metrics; classes are given the spoofed trials."""
        return [each(self.spoof) if isinstance(each, type) else each for each in metrics]


@dataclass(frozen=True, eq=False)
class Population:
    """A population, from which samples can be drawn.

    Attributes
    ----------
    name, about : str
    draw : callable of (generator, y)
        Returns the log-odds of samples with labels y at equal class sizes.
    """

    name: str
    about: str
    draw: Callable[[Rng, NDArray[np.bool_]], Floats]


def _gaussian(rng: Rng, y: Any) -> Floats:
    return 3.0 * (rng.normal(size=y.size) + 2.5 * y - 1.25)


def _student(rng: Rng, y: Any) -> Floats:
    return 2.0 * (rng.standard_t(4, y.size) + 3.0 * y - 1.5)


def _mixture(rng: Rng, y: Any) -> Floats:
    is_bad = rng.random(y.size) < 0.15
    shift = np.where(is_bad, 0.8, 3.0)
    return 2.5 * (rng.normal(size=y.size) * np.where(is_bad, 1.5, 1.0) + shift * (y - 0.5))


def _ties(rng: Rng, y: Any) -> Floats:
    return np.round(_gaussian(rng, y) / 2.0) * 2.0


def _skewed(rng: Rng, y: Any) -> Floats:
    scores = rng.gumbel(size=y.size)
    scores[y] = 6.0 - np.exp(0.6 * rng.normal(size=int(y.sum())))
    return 1.2 * (scores - 3.0)


def _discrete(rng: Rng, y: Any) -> Floats:
    scores = np.round(2.0 * (rng.standard_t(2.5, y.size) + 5.0 * y - 2.5)) / 2.0
    return np.where(rng.random(y.size) < 0.1, 0.0, scores)


def _bad(rng: Rng, y: Any) -> Floats:
    return 2.0 * _gaussian(rng, y) + 1.5


def _few_errors(rng: Rng, y: Any) -> Floats:
    return 4.5 * (rng.normal(size=y.size) + 4.5 * y - 2.25)


INDEPENDENT = {
    one.name: one
    for one in (
        Population("Gaussian", "normal scores at distance 2.5, overconfident by 1.2", _gaussian),
        Population("t4", "scores of Student's t with 4 degrees of freedom at distance 3", _student),
        Population("mixture", "15 % of samples at distance 0.8 and wider, others at 3", _mixture),
        Population("ties", "Gaussian, log-odds rounded to multiples of 2", _ties),
        Population("skewed", "Gumbel non-targets, targets 6 minus lognormal", _skewed),
        Population("discrete", "t of 2.5 degrees of freedom, rounded; 10 % are 0", _discrete),
        Population("bad", "Gaussian, log-odds doubled and shifted by 1.5", _bad),
        Population("few errors", "normal scores at distance 4.5: 2.4 misses expected", _few_errors),
    )
}  # fmt: skip


def independent(
    population: Population, n_samples: int, seed: Any, prior: float = PRIOR, *, sizes: bool = False
) -> fp.Predictions:
    """Draw independent samples; `sizes` fixes those of the classes."""
    rng = np.random.default_rng(seed)
    at = np.arange(n_samples) / n_samples if sizes else rng.random(n_samples)
    y = at < prior
    return fp.Predictions.from_logits(y, population.draw(rng, y) + log(prior / (1.0 - prior)))


def calibrated(seed: Any, n_samples: int) -> fp.Predictions:
    """Draw samples of which the posteriors are the truth: the calibration error is 0."""
    rng = np.random.default_rng(seed)
    q = rng.beta(0.4, 3.6, n_samples)
    return fp.Predictions.from_posteriors(rng.random(n_samples) < q, q)


def spoofed(seed: Any, n_samples: int) -> Drawn:
    """Draw Gaussian trials with spoofed ones: as many as targets, half as far from these."""
    rng = np.random.default_rng(seed)
    u = rng.random(n_samples)
    y, spoof = u < PRIOR, (u >= PRIOR) & (u < 2.0 * PRIOR)
    llrs = 3.0 * (rng.normal(size=n_samples) + 2.5 * y + 1.25 * spoof - 1.25)
    return Drawn([fp.Predictions.from_llrs(y, llrs)], spoof=spoof)


def pair(seed: Any, n_samples: int) -> list[fp.Predictions]:
    """Draw two Gaussian systems on the same samples, correlated; the second is worse."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_samples) < PRIOR
    common, one, other = rng.normal(size=(3, n_samples)) * np.sqrt([[0.6], [0.4], [0.6]])
    prior = log(PRIOR / (1.0 - PRIOR))
    scores = (3.0 * (common + one + 2.5 * y - 1.25), 2.0 * (common + other + 2.3 * y - 1.15))
    return [fp.Predictions.from_logits(y, each + prior) for each in scores]


def _of_trials(y: Any, llrs: Floats, enroll: Any, test: Any) -> Drawn:
    prior = log(_N_TARGETS / _N_NONTARGETS)
    scheme = fp.TwoWay(enroll, test)
    return Drawn([fp.Predictions.from_logits(y, llrs + prior)], scheme)


def _trial_list(seed: Any, factor: int) -> Drawn:
    made = fp.simulate.trial_list(
        _N_TARGETS * factor, _N_NONTARGETS * factor, n_speakers=N_UNITS * factor,
        seed=np.random.default_rng(seed),
    )  # fmt: skip
    return _of_trials(made.y_true, made.llr, made.enroll_speaker, made.test_speaker)


def _pairs(rng: Rng, factor: int) -> tuple[Any, Any, Any]:
    """Return labels and the speakers of both sides."""
    n_speakers, n_targets = N_UNITS * factor, _N_TARGETS * factor
    y = np.arange((_N_TARGETS + _N_NONTARGETS) * factor) < n_targets
    enroll = rng.integers(0, n_speakers, y.size)
    other = (enroll + rng.integers(1, n_speakers, y.size)) % n_speakers
    return y, enroll, np.where(y, enroll, other)


def _bad_speakers(seed: Any, factor: int) -> Drawn:
    rng = np.random.default_rng(seed)
    y, enroll, test = _pairs(rng, factor)
    missed = np.where(rng.random(N_UNITS * factor) < 0.15, 2.2, 4.5)
    alike = 0.5 * rng.normal(size=N_UNITS * factor)
    scores = np.where(y, missed[enroll], alike[enroll] + alike[test]) + rng.normal(size=y.size)
    return _of_trials(y, 3.0 * (scores - 2.0), enroll, test)


def _skewed_speakers(seed: Any, factor: int) -> Drawn:
    rng = np.random.default_rng(seed)
    y, enroll, test = _pairs(rng, factor)
    missed, alike = rng.exponential((0.7, 0.4), (N_UNITS * factor, 2)).T
    scores = np.where(y, 4.5 - missed[enroll], alike[enroll] + alike[test])
    scores += rng.gumbel(size=y.size) * np.where(y, -0.8, 0.6)
    return _of_trials(y, 2.0 * (scores - 2.7), enroll, test)


#: By name: what they are, and a function of a seed and of how many times as many speakers.
OF_SPEAKERS: dict[str, tuple[str, Callable[[Any, int], Drawn]]] = {
    "trial list": ("fp.simulate.trial_list", _trial_list),
    "bad speakers": ("15 % of the speakers are missed more often", _bad_speakers),
    "skewed speakers": ("exponential effects of speakers, Gumbel scores", _skewed_speakers),
}


def clusters(seed: Any, factor: int) -> Drawn:
    """Draw samples of 60 clusters, or `factor` times as many."""
    rng = np.random.default_rng(seed)
    n_clusters = N_UNITS * factor
    ids = rng.integers(0, n_clusters, _N_IN_CLUSTERS * factor)
    y = rng.random(ids.size) < PRIOR
    effects = rng.normal(size=(n_clusters, 2)) * (0.4, 0.6)
    scores = rng.normal(size=y.size) + effects[ids, y.astype(int)] + 3.0 * y - 1.5
    logits = 2.5 * scores + log(PRIOR / (1.0 - PRIOR))
    return Drawn([fp.Predictions.from_logits(y, logits)], fp.Clusters(ids))


def unequal_clusters(seed: Any, factor: int) -> Drawn:
    """Draw samples of 40 clusters, or `factor` times as many, with own sizes and class shares."""
    rng = np.random.default_rng(seed)
    n_clusters = _N_UNEQUAL * factor
    sizes = rng.poisson(80.0 * np.exp(0.6 * rng.normal(size=n_clusters) - 0.18))
    ids = np.repeat(np.arange(n_clusters), sizes)
    y = rng.random(ids.size) < rng.beta(2.0, 6.0, n_clusters)[ids]
    shift = rng.gamma(2.0, 0.3, n_clusters)[ids]
    scores = 0.5 * rng.logistic(size=y.size) + np.where(y, 2.2 - shift, shift - 2.2)
    logits = 2.0 * scores + log(0.25 / 0.75)
    return Drawn([fp.Predictions.from_logits(y, logits)], fp.Clusters(ids))
