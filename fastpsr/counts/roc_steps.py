"""The step of a ROC at which an error rate passes a limit, or the error rates meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.data import Floats


@dataclass(frozen=True)
class Criterion:
    """What is sought along the ROC: where a gap that grows with the threshold reaches 0.

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


def limit_of_fa(p_fa: float | Floats) -> Criterion:
    """Return the criterion that is reached where P_fa is at most `p_fa`, 0 to 1."""
    return Criterion(0.0, 1.0, _rounded_up(p_fa))


def limit_of_miss(p_miss: float) -> Criterion:
    """Return the criterion that is reached where P_miss exceeds `p_miss`, 0 <= `p_miss` < 1."""
    return Criterion(1.0, 0.0, -_rounded_up(p_miss), is_strict=True)


def _rounded_up(limits: float | Floats) -> Any:
    """Return limits that rates may exceed by rounding; below 1 if they are."""
    raised = np.minimum(np.asarray(limits) * (1.0 + _OF_LIMITS), np.nextafter(1.0, 0.0))
    return np.where(limits < 1.0, raised, limits)[()]


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
