"""Detection metrics: error rates and costs of binary systems."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric, Summary
from fastpsr.metrics.expected_score import normalize
from fastpsr.plans import Data, Part, Plan, run
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules import Log
from fastpsr.summaries.counts import AcceptanceSummands, DecisionCounts
from fastpsr.summaries.pav_blocks import PavBlocks
from fastpsr.summaries.rank_cells import RankCells, cell_summands, pav_blocks, rank_cells
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import LossSummands, ScoreSums

__all__ = ["AUC", "EER", "ActDCF", "Cllr", "MinCllr", "MinDCF"]


class _RankMetric(Metric[Summary]):
    """A metric that depends on the order of the scores alone."""

    binary_only = True

    def summands(self, data: Data) -> Plan[Summands]:
        return (yield from cell_summands(data))

    _takes = "scores"

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        scores = checks.read("scores", x)
        if scores.ndim == 2 and scores.shape[1] == 2:  # of posteriors, which rank samples, too
            return Predictions.from_posteriors(y_true, scores, **options)
        return Predictions.from_raw_scores(y_true, scores, **options)


class _HullMetric(_RankMetric[PavBlocks | RankCells]):
    """A metric that the convex hull of the ROC decides; replicates come as rank cells."""

    def summarize(self, predictions: Predictions) -> PavBlocks | RankCells:
        return run(lambda: pav_blocks(predictions))

    def plan(self, data: Data) -> Plan[float]:
        return self.finish((yield from pav_blocks(data)))


@dataclass(frozen=True, eq=False)
class EER(_HullMetric):
    """Equal error rate: where the convex hull of the ROC meets P_miss = P_fa.

    The intersection is exact (ROCCH-EER), and does not depend on the order of tied scores: scores
    that are all alike give 0.5.

    Returns
    -------
    float
        A fraction, 0 to 0.5.

    Raises
    ------
    ValueError
        For more than 2 classes, or where a class has no samples.

    Notes
    -----
    Weights count within each class; priors play no part.

    References
    ----------
    N. Brummer and E. de Villiers, "The BOSARIS Toolkit user guide", 2011, section 3.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.EER()([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    0.2222222222222222
    """

    label = "EER"
    meaning = "equal error rate on the convex hull of the ROC"
    unit = "fraction"
    reference_value = 0.5

    def finish(self, summary: PavBlocks | RankCells) -> float:
        p_miss, p_fa = summary.blocks.hull
        after = int(np.argmax(p_miss >= p_fa))  # the first vertex has P_miss 0 and P_fa 1
        gap_before = p_fa[after - 1] - p_miss[after - 1]
        gap_after = p_miss[after] - p_fa[after]
        share = gap_before / (gap_before + gap_after)
        return float(p_miss[after - 1] + share * (p_miss[after] - p_miss[after - 1]))


@dataclass(frozen=True, eq=False)
class _Cost:
    """Prior and costs of a detector, checked: the fields of `MinDCF` and `ActDCF`."""

    p_target: float
    c_miss: float = 1.0
    c_fa: float = 1.0

    def __post_init__(self) -> None:
        set_p_target(self)
        for name, prior in (("c_miss", self.p_target), ("c_fa", 1.0 - self.p_target)):
            value = checks.as_number(name, getattr(self, name))
            if not 0.0 < value < np.inf:
                raise ArgumentError(name, f"must be positive and finite, not {value}")
            if value * prior == 0.0:
                raise ArgumentError(name, f"must not vanish at the prior {prior}, as {value} does")
            object.__setattr__(self, name, value)

    def normalized_cost(self, p_miss: Any, p_fa: Any) -> Any:
        """Return the detection cost over that of the best constant decision."""
        miss, fa = self.c_miss * self.p_target, self.c_fa * (1.0 - self.p_target)
        with np.errstate(over="ignore"):  # infinitely dearer than a constant decision
            return (miss * p_miss + fa * p_fa) / min(miss, fa)

    @property
    def threshold(self) -> float:
        """The LLR at which accepting costs as much as rejecting."""
        prior_odds = self.p_target / (1.0 - self.p_target)
        return float(np.log(self.c_fa) - np.log(self.c_miss) - np.log(prior_odds))

    @property
    def point(self) -> str:
        """Prior, and costs where they are not 1, for labels."""
        costs = "" if self.c_miss == self.c_fa == 1.0 else f", {self.c_miss:g}:{self.c_fa:g}"
        return f"{self.p_target:g}{costs}"


@dataclass(frozen=True, eq=False)
class MinDCF(_Cost, _HullMetric):
    """Normalized detection cost at the best threshold for the very data.

    ``min_t [c_miss pi P_miss(t) + c_fa (1 - pi) P_fa(t)] / min(c_miss pi, c_fa (1 - pi))``.

    Parameters
    ----------
    p_target : float
        Prior pi of a target, strictly between 0 and 1.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, positive.

    Returns
    -------
    float
        At most 1. Optimistic on small data: the threshold is chosen on the data it is judged by.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.MinDCF(0.5)([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    0.3333333333333333
    """

    @property
    def label(self) -> str:
        return f"minDCF({self.point})"

    meaning = "detection cost at the best threshold over the best constant decision's"
    reference_value = 1.0

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(0.01), cls(0.5, 1.0, 10.0)]

    def finish(self, summary: PavBlocks | RankCells) -> float:
        return float(self.normalized_cost(*summary.blocks.hull).min())


@dataclass(frozen=True, eq=False)
class ActDCF(_Cost, Metric[DecisionCounts]):
    """Normalized detection cost of Bayes decisions made with the LLRs.

    A trial is accepted if its LLR reaches ``log[c_fa (1 - pi) / (c_miss pi)]``, also at equality.

    Parameters
    ----------
    p_target : float
        Prior pi of a target, strictly between 0 and 1.
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, positive.

    Returns
    -------
    float
        May exceed 1: constant decisions would then have been cheaper.

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, or where a class has no samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.ActDCF(0.5)([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    0.6666666666666666
    """

    @property
    def label(self) -> str:
        return f"actDCF({self.point})"

    meaning = "detection cost of Bayes decisions over the best constant decision's"
    reference_value = 1.0
    binary_only = True

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(0.01), cls(0.5, 1.0, 10.0)]

    def summarize(self, predictions: Predictions) -> DecisionCounts:
        predictions.require_posteriors("decisions at a fixed threshold")
        return DecisionCounts.at_threshold(self.threshold, predictions)

    @property
    def summary_key(self) -> Hashable:
        return ("DecisionCounts at LLR", self.threshold)

    def summands(self, data: Data) -> Plan[Summands | None]:
        data.require_posteriors("decisions at a fixed threshold")
        if not data.has_fixed_llrs:
            return None
        return AcceptanceSummands(2, 2, data.given_priors, self.threshold)
        yield

    def finish(self, summary: DecisionCounts) -> float:
        p_miss, p_fa = summary.error_rates()
        return float(self.normalized_cost(p_miss, p_fa))

    _takes = "LLRs"

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_llrs(y_true, x, **options)


@dataclass(frozen=True, eq=False)
class Cllr(Metric[ScoreSums]):
    """Cost of the log-likelihood ratio: the log loss of LLRs at a prior, over that of LLR 0.

    At prior 1/2 it is ``[mean over targets of log2(1 + e^-llr) + mean over non-targets of
    log2(1 + e^llr)] / 2``.

    Parameters
    ----------
    p_target : float
        Prior of a target, strictly between 0 and 1, that the LLRs are completed with.

    Returns
    -------
    float
        In bits at prior 1/2; 1 for LLRs that say nothing, infinite for a target at -inf.

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, or where a class has no samples.

    References
    ----------
    N. Brummer and J. du Preez, "Application-independent evaluation of speaker detection", Computer
    Speech and Language 20, 2006, doi:10.1016/j.csl.2005.08.001.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.Cllr()([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0]), 4)
    0.6646
    """

    p_target: float = 0.5

    def __post_init__(self) -> None:
        set_p_target(self)

    @property
    def label(self) -> str:
        return "Cllr" if self.p_target == 0.5 else f"Cllr({self.p_target:g})"

    meaning = "log loss of the LLRs over that of LLR 0"
    reference_value = 1.0
    binary_only = True

    @property
    def unit(self) -> str:
        return "bits" if self.p_target == 0.5 else ""

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(0.01)]

    def summarize(self, predictions: Predictions) -> ScoreSums:
        return ScoreSums.of(Log(), self.at_prior(predictions))

    @property
    def summary_key(self) -> Hashable:
        return ("ScoreSums of LLRs", self.p_target)

    def summands(self, data: Data) -> Plan[Summands | None]:
        data.require_posteriors("costs of LLRs")
        if not data.has_fixed_llrs:
            return None
        return _LlrSummands(2, Log(), np.array([1.0 - self.p_target, self.p_target]), self)
        yield

    def at_prior(self, predictions: Predictions) -> Predictions:
        """Return the LLRs completed with the prior."""
        predictions.require_posteriors("costs of LLRs")
        return predictions.as_llrs(self.p_target)

    def finish(self, summary: ScoreSums) -> float:
        return normalize(summary.mean(), Log(), summary.priors)

    _takes = "LLRs"

    def _predictions(self, y_true: ArrayLike, x: ArrayLike, **options: Any) -> Predictions:
        return Predictions.from_llrs(y_true, x, **options)


@dataclass(frozen=True, eq=False)
class MinCllr(_HullMetric):
    """Cllr of the LLRs that the best monotone map makes of the scores: what calibration leaves.

    Parameters
    ----------
    p_target : float
        Prior of a target, strictly between 0 and 1.

    Returns
    -------
    float
        0 to 1. Optimistic on small data: the map is trained on the data it is judged by.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.MinCllr()([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0]), 4)
    0.5
    """

    p_target: float = 0.5

    def __post_init__(self) -> None:
        set_p_target(self)

    @property
    def label(self) -> str:
        return "minCllr" if self.p_target == 0.5 else f"minCllr({self.p_target:g})"

    meaning = "Cllr after the best monotone map, trained on the same data"
    reference_value = 1.0

    @property
    def unit(self) -> str:
        return "bits" if self.p_target == 0.5 else ""

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(0.01)]

    def finish(self, summary: PavBlocks | RankCells) -> float:
        negatives, positives = summary.class_totals("minCllr")
        non = summary.blocks.negatives / negatives * (1.0 - self.p_target)
        tar = summary.blocks.positives / positives * self.p_target
        # a block of one class loses nothing
        loss = _times_log(tar, non) + _times_log(non, tar)
        return normalize(loss, Log(), np.array([1.0 - self.p_target, self.p_target]))


@dataclass(frozen=True, eq=False)
class AUC(_RankMetric[RankCells]):
    """Area under the ROC: the probability that a target scores above a non-target, ties half.

    Returns
    -------
    float
        A fraction; 0.5 for scores that say nothing.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.AUC()([0, 0, 1, 1], [1.0, 3.0, 2.0, 4.0])
    0.75
    """

    label = "AUC"
    meaning = "area under the ROC"
    unit = "fraction"
    reference_value = 0.5

    def summarize(self, predictions: Predictions) -> RankCells:
        return run(lambda: rank_cells(predictions))

    def plan(self, data: Data) -> Plan[float]:
        return self.finish((yield from rank_cells(data)))

    def finish(self, summary: RankCells) -> float:
        totals = summary.class_totals("AUC")
        non, tar = summary.negatives, summary.positives
        if not 1e-140 < totals.min() <= totals.max() < 1e140:  # products would be no floats
            non, tar, totals = non / totals[0], tar / totals[1], np.ones(2)
        below = np.cumsum(non) - non
        wins = (tar * (below + 0.5 * non)).sum()
        return float(wins / totals[1] / totals[0])


@dataclass(frozen=True, eq=False)
class _LlrSummands(LossSummands):
    """The losses of LLRs, completed with the prior of a metric."""

    metric: Cllr

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(self.metric.at_prior(part.predictions)),)


def set_p_target(metric: Any) -> None:
    """Make the prior a float; raise unless it leaves both classes possible."""
    p_target = checks.as_number("p_target", metric.p_target)
    if not 0.0 < p_target < 1.0:
        raise ArgumentError("p_target", f"must lie strictly between 0 and 1, not {p_target}")
    object.__setattr__(metric, "p_target", p_target)


def _times_log(part: Floats, other: Floats) -> float:
    """Return the sum of ``part log((part + other) / part)``, 0 where part is 0."""
    used = part > 0.0
    with np.errstate(over="ignore"):  # of a part that is next to nothing
        logs = np.log1p(other[used] / part[used])
    tiny = np.isinf(logs)
    logs[tiny] = np.log(other[used][tiny]) - np.log(part[used][tiny])
    return float((part[used] * logs).sum())
