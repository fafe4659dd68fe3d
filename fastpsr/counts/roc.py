"""The ROC: its steps, its hull from the blocks of the isotonic fit, and thresholds."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks, kernels
from fastpsr.caching import cached_property
from fastpsr.counts import count
from fastpsr.data import Data, Floats, Part, class_factors
from fastpsr.data.steps import Step
from fastpsr.errors import ArgumentError


@dataclass(frozen=True)
class Criterion:
    """Criterion of a point on the ROC: a gap that grows with the threshold reaches 0.

    The gap is ``of_miss * P_miss - of_fa * P_fa + offset``. It is not reached if all samples are
    accepted, and is if none is.
    """

    of_miss: float
    of_fa: float
    offset: Any = 0.0  # an array is several criteria
    is_strict: bool = False  # a gap of 0 is not reached yet

    def find(self, p_miss: Floats, p_fa: Floats) -> Any:
        """Return the index of the last point before each criterion, -1 if none is."""
        gap = self.of_miss * p_miss - self.of_fa * p_fa
        return np.searchsorted(gap, -self.offset, side="right" if self.is_strict else "left") - 1


EQUAL_RATES = Criterion(1.0, 1.0)

# Sums of weights are rounded: rates that differ relatively by less are taken as equal. A limit is
# compared with cumulated sums, which are less accurate, and is a rounded number itself.
_OF_LIMITS, _OF_SUMS = 1e-12, 1e-14


def limit_of(rate: Literal["p_fa", "p_miss"], limits: float | Floats) -> Criterion:
    """Return the criterion that is reached where P_fa is at most a limit, or P_miss exceeds it.

    Limits are 0 to 1, of P_miss below 1. By rounding rates may exceed them.
    """
    raised = np.minimum(np.asarray(limits) * (1.0 + _OF_LIMITS), np.nextafter(1.0, 0.0))
    raised = np.where(limits < 1.0, raised, limits)[()]
    if rate == "p_fa":
        return Criterion(0.0, 1.0, raised)
    return Criterion(1.0, 0.0, -raised, is_strict=True)


@dataclass(frozen=True, eq=False)
class RocStep:
    """The two operating points around a criterion: with a score accepted, and with it rejected.

    Attributes
    ----------
    score : float
        The lowest score that is accepted before the criterion, and not after it.
    above : float or None
        The next score, which is the lowest accepted one after the criterion; None if it is not
        known. If there is none: inf, or nan if `score` is inf, as no number is above.
    p_miss, p_fa : tuple of float
        Error rates before and after the criterion.
    ends_nearer : bool
        Whether P_miss and P_fa differ after the criterion by no more than before it.
    """

    score: float
    above: float | None
    p_miss: tuple[float, float]
    p_fa: tuple[float, float]
    ends_nearer: bool

    @classmethod
    def of(
        cls, lowest: Floats, negatives: Floats, positives: Floats, criterion: Criterion
    ) -> "RocStep":
        """Return the step among groups of scores, in ascending order, with these weights.

        `lowest` is nan for a group whose lowest score is not known.
        """
        totals = negatives.sum(), positives.sum()
        p_miss, p_fa = error_rates(negatives, positives)
        at = criterion.find(p_miss, p_fa)
        # in counts, since differences of rates are rounded
        misses = positives[:at].sum() + 0.5 * positives[at]
        false_alarms = negatives[at + 1 :].sum() + 0.5 * negatives[at]
        score = float(lowest[at])
        is_present = (negatives[at + 1 :] > 0.0) | (positives[at + 1 :] > 0.0)
        above: float | None = float("inf") if score < np.inf else float("nan")
        if is_present.any():
            next_lowest = float(lowest[at + 1 + int(np.argmax(is_present))])
            above = None if np.isnan(next_lowest) else next_lowest
        return cls(
            score,
            above,
            (float(p_miss[at]), float(p_miss[at + 1])),
            (float(p_fa[at]), float(p_fa[at + 1])),
            bool(misses / totals[1] <= (1.0 + _OF_SUMS) * false_alarms / totals[0]),
        )

    def step(self, criterion: Criterion) -> "RocStep":
        """Return this step; other summaries find theirs."""
        return self

    @property
    def equal_rate(self) -> float:
        """The rate where the segment between both points meets P_miss = P_fa."""
        if self.p_fa[0] == self.p_fa[1]:
            return self.p_fa[0]
        gap_before, gap_after = self.p_fa[0] - self.p_miss[0], self.p_miss[1] - self.p_fa[1]
        share = gap_before / (gap_before + gap_after)
        return self.p_miss[0] + share * (self.p_miss[1] - self.p_miss[0])

    @property
    def nearest_rate(self) -> float:
        """The mean of P_miss and P_fa at the point where they differ less."""
        return 0.5 * (self.p_miss[self.ends_nearer] + self.p_fa[self.ends_nearer])


def error_rates(negatives: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Return P_miss and P_fa at each threshold: of each group of scores, and above all.

    Neither class is empty.
    """
    below, above = np.zeros((2, negatives.size + 1))
    np.cumsum(positives, out=below[1:])
    np.cumsum(negatives[::-1], out=above[-2::-1])
    below /= float(below[-1])
    above /= float(above[0])
    return below, above


class ClassTotals:
    """Quantities that rank cells and PAV blocks derive from the weights of both classes."""

    lowest: Floats
    negatives: Floats
    positives: Floats

    def class_totals(self, what: str) -> Floats:
        """Return the total weight of class 0 and class 1, after checking that neither is absent."""
        require_both_classes(what, self._totals)
        return self._totals

    @cached_property
    def _totals(self) -> Floats:
        return np.array([self.negatives.sum(), self.positives.sum()])

    def step(self, criterion: Criterion) -> RocStep:
        """Return the operating points around a criterion."""
        self.class_totals("error rates")
        return RocStep.of(self.lowest, self.negatives, self.positives, criterion)


@dataclass(frozen=True, eq=False)
class PavBlocks(ClassTotals):
    """Weights of both classes in the blocks of the isotonic fit, from low scores to high.

    Attributes
    ----------
    lowest : ndarray of float64, shape (B,)
        Lowest score in each block.
    negatives, positives : ndarray of float64, shape (B,)
        Total weight of each class.
    given_priors : ndarray of float64, shape (2,), or None

    Notes
    -----
    Blocks' ends are the vertices of the ROC's convex hull, whatever the classes weigh. Blocks of
    parts do not make blocks of the whole: only rank cells merge.
    """

    lowest: Floats
    negatives: Floats
    positives: Floats
    given_priors: Floats | None

    @classmethod
    def of_cells(
        cls, lowest: Floats, negatives: Floats, positives: Floats, given_priors: Floats | None
    ) -> Self:
        """Pool cells in the order of their scores."""
        starts = kernels.isotonic.pool_adjacent_violators(negatives, positives)
        return cls(
            lowest[starts],
            np.add.reduceat(negatives, starts),
            np.add.reduceat(positives, starts),
            given_priors,
        )

    @property
    def blocks(self) -> Self:
        """The blocks: rank cells have this attribute, too."""
        return self

    @cached_property
    def hull(self) -> tuple[Floats, Floats]:
        """Miss and false-alarm rates at the vertices of the ROC's convex hull, (0, 1) first."""
        self.class_totals("error rates")
        return error_rates(self.negatives, self.positives)

    @property
    def log_odds(self) -> Floats:
        """Log-odds of class 1 in each block, at the given priors; infinite where one is absent."""
        below, above = self.at_priors()  # priors do not change the order of odds
        above = np.where(below + above > 0.0, above, self.positives)  # priors that underflow
        return checks.log_of_rows(above) - checks.log_of_rows(below)

    def steps_at(self, scores: Floats) -> NDArray[np.int64]:
        """Return the last block whose lowest score is not above each score, at least the first."""
        return np.maximum(np.searchsorted(self.lowest, scores, side="right") - 1, 0)

    def posteriors_at(self, scores: Floats) -> Floats:
        """Return the posterior of class 1 at each score; nan in a block that weighs nothing."""
        self.class_totals("isotonic fits")
        below, above = self.at_priors()
        with np.errstate(invalid="ignore"):
            return np.asarray((above / (below + above))[self.steps_at(scores)])

    def at_priors(self) -> tuple[Floats, Floats]:
        """Return the weights of class 0 and class 1 with given priors worked in."""
        if self.given_priors is None:
            return self.negatives, self.positives
        factors = class_factors(self._totals, self.given_priors)
        return self.negatives * factors[0], self.positives * factors[1]


def require_both_classes(what: str, totals: Floats) -> None:
    """Raise where a class has no weight."""
    if not totals.all():
        name = "targets" if totals[0] else "non-targets"
        raise ArgumentError(
            "y_true",
            f"must have both classes for {what}, but there are no {name} of positive weight",
        )


def score_above(data: Data, step: RocStep) -> float:
    """Return the lowest score that is accepted after a step."""
    if step.above is not None:
        return step.above
    return float(count(_LowestAbove(step.score).over(data)))


@dataclass(frozen=True, eq=False)
class _LowestAbove(Step[float]):
    """Find the lowest score of positive weight above a score; it must exist."""

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

    def merge(self, total: float, more: float) -> float:
        return min(total, more)


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
class _LowestPosteriors(Step[Floats]):
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

    def merge(self, total: Floats, more: Floats) -> Floats:
        return np.minimum(total, more, out=total)
