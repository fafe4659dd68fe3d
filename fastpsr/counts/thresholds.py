"""Scores that are thresholds: those above a step of the ROC, and as the posteriors passed."""

from dataclasses import dataclass

import numpy as np

from fastpsr import kernels
from fastpsr.counts import Step, count
from fastpsr.counts.roc_steps import RocStep
from fastpsr.data import Data, Floats, Part


def score_above(data: Data, step: RocStep) -> float:
    """Return the lowest score that is accepted after a step."""
    if step.above is not None:
        return step.above
    return float(count(_LowestAbove(step.score).over(data)))


@dataclass(frozen=True, eq=False)
class _LowestAbove(Step):
    """Find the lowest score of positive weight above a score; there is one."""

    score: float

    is_exact = True

    def start(self) -> float:
        return float("inf")

    def add(self, accumulator: float, prepared: None, part: Part) -> float:
        scores, weights = part.predictions.scores, part.predictions.weights
        above = scores > self.score
        if weights.size:
            above &= weights > 0.0
        return min(accumulator, float(scores[above].min(initial=np.inf)))

    def merge(self, one: float, other: float) -> float:
        return min(one, other)


def as_posteriors(data: Data, log_odds: Floats) -> Floats | None:
    """Return the lowest posterior that each threshold accepts; inf where it accepts none.

    Thresholds are ascending log-odds. None unless the samples were passed as posteriors.
    """
    if data.kind != "posteriors":
        return None
    lowest = count(_LowestPosteriors(log_odds).over(data))
    if lowest[0] == -np.inf:
        return None
    return np.minimum.accumulate(lowest[::-1])[::-1][1:]


@dataclass(frozen=True, eq=False)
class _LowestPosteriors(Step):
    """Find the lowest posterior below the first threshold, and from each to the next.

    They are -inf if samples were passed as logarithms. It is not the posterior of the log-odds,
    which is rounded, nor do two columns, which rank more finely, tell that of one.
    """

    log_odds: Floats

    is_exact = True

    def start(self) -> Floats:
        return np.full(self.log_odds.size + 1, np.inf)

    def add(self, accumulator: Floats, prepared: None, part: Part) -> Floats:
        samples = part.predictions.present()
        if not len(samples):
            return accumulator
        posteriors = samples._passed_posteriors
        if posteriors is None:
            accumulator[:] = -np.inf
        else:
            numbers = kernels.cells.step_numbers(samples.scores, self.log_odds)
            np.minimum.at(accumulator, numbers, posteriors)
        return accumulator

    def merge(self, one: Floats, other: Floats) -> Floats:
        return np.minimum(one, other, out=one)
