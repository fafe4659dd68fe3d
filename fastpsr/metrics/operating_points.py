"""Error rates at one operating point, and its threshold."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from fastpsr import checks
from fastpsr.counts import begin, count, one_call
from fastpsr.counts.ranks import RankTable, Resolution, pav_blocks, rank_cells, roc_step
from fastpsr.counts.roc import (
    EQUAL_RATES,
    Criterion,
    PavBlocks,
    RocStep,
    as_posteriors,
    limit_of,
    score_above,
)
from fastpsr.counts.scores import HighestInSteps
from fastpsr.data import Data, check_data
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import AT_A_POINT, ONE_TERM, IntervalRule
from fastpsr.metrics.base import Summary
from fastpsr.metrics.ranks import RankMetric
from fastpsr.results import Result


@dataclass(frozen=True, eq=False)
class OperatingPoint(Result):
    """A threshold and the error rates at it.

    Attributes
    ----------
    threshold : float
        Scores at or above it are accepted; on the scale that was passed, as
        ``fp.roc(predictions).threshold``: posteriors of class 1, log-odds (logits and
        log-posteriors), LLRs or raw scores. It is the lowest accepted score, or inf if no score is
        accepted; nan, which no score reaches, if none is although the highest is inf.
    p_miss : float
        Fraction of the targets' weight below the threshold.
    p_fa : float
        Fraction of the non-targets' weight at or above the threshold.
    log_odds : float or None
        The threshold as log-odds, for posteriors and logits; None for LLRs and raw scores.

    Notes
    -----
    Posteriors of shape (N, 2) rank by both columns, more finely than by column 1 if it is
    rounded, for example to 1. Then more samples may reach the posterior than are accepted; the
    rates refer to `log_odds`, to compare with ``predictions.log_odds``.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> point = fp.EER("nearest").operating_point(data)
    >>> point.threshold, point.p_miss, round(point.p_fa, 4)
    (4.0, 0.5, 0.3333)
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9])
    >>> point = fp.MissRate(0.0).operating_point(data)
    >>> point.threshold, round(point.log_odds, 3)
    (0.6, 0.405)
    """

    threshold: float
    p_miss: float
    p_fa: float
    log_odds: float | None = field(default=None, repr=False)


class PointMetric(RankMetric[Summary]):
    """A metric with an operating point."""

    def vertex_of(self, blocks: PavBlocks) -> int:
        """Return the vertex of the ROC's convex hull at the operating point."""
        raise NotImplementedError

    def point(self, data: Data) -> OperatingPoint:
        """Return the operating point of data whose facts are known."""
        blocks = pav_blocks(data)
        vertex = self.vertex_of(blocks)
        is_score = vertex < blocks.lowest.size
        threshold = float(blocks.lowest[vertex]) if is_score else above_all_scores(data)
        p_miss, p_fa = (float(rate[vertex]) for rate in blocks.hull)
        return point_at(data, threshold, p_miss, p_fa)

    def threshold_of(self, table: RankTable) -> float:
        """Return the lowest accepted score at the operating point of a table of scores."""
        number = self.vertex_of(table.blocks)
        lowest = table.blocks.lowest
        return float(lowest[number]) if number < lowest.size else table.above_all

    def operating_point(self, predictions: Data) -> OperatingPoint:
        """Return the threshold of the value, and the error rates at it.

        Parameters
        ----------
        predictions : Predictions or PartitionedPredictions
            Labeled, of two classes.

        Returns
        -------
        OperatingPoint
            Counting the scores at or above its threshold gives its rates.
        """
        check_data(predictions)
        with one_call():
            begin(predictions)
            return self.point(predictions)


def above_all_scores(data: Data) -> float:
    """Return the threshold that accepts no score: inf, or nan if there is a score of inf."""
    highest = count(HighestInSteps(np.empty(0)).over(data))
    return float("inf") if highest[0] < np.inf else float("nan")


def point_at(data: Data, score: float, p_miss: float, p_fa: float) -> OperatingPoint:
    """Return the operating point at a score; its threshold is on the scale passed."""
    if data.kind != "posteriors":
        return OperatingPoint(score, p_miss, p_fa)
    passed = as_posteriors(data, np.array([-np.inf if np.isnan(score) else score]))
    if passed is None:
        return OperatingPoint(score, p_miss, p_fa, score)
    threshold = np.inf if np.isnan(score) else float(passed[0])
    return OperatingPoint(threshold, p_miss, p_fa, score)


class _StepMetric(PointMetric[PavBlocks | RankTable | RocStep]):
    """A metric of the two operating points of the ROC around a criterion."""

    @property
    @abstractmethod
    def criterion(self) -> Criterion:
        """Criterion of the point on the ROC."""

    @abstractmethod
    def takes_end(self, step: RocStep) -> bool:
        """Return whether the operating point is that after the criterion."""

    @abstractmethod
    def value_of(self, step: RocStep) -> float:
        """Return the value."""

    #: Whether the points are the vertices of the ROC's convex hull.
    is_on_hull = False

    interval_rule: Any = replace(AT_A_POINT, scale="log")
    value_range: Any = (0.0, 1.0)

    def total(self, data: Data) -> PavBlocks | RankTable | RocStep:
        if self.is_on_hull:
            return pav_blocks(data)
        if data.has_weights and self.resolution == "runs":
            return rank_cells(data)
        return roc_step(data, self.criterion)

    def finish(self, summary: PavBlocks | RankTable | RocStep) -> float:
        if self.is_on_hull and not isinstance(summary, RocStep):
            summary = summary.blocks
        return self.value_of(summary.step(self.criterion))

    def threshold_of(self, table: RankTable) -> float:
        if self.is_on_hull:
            return super().threshold_of(table)
        step = table.step(self.criterion)
        if not self.takes_end(step):
            return step.score
        assert step.above is not None, "tables of scores know the next one"
        return step.above

    def point(self, data: Data) -> OperatingPoint:
        if self.is_on_hull:
            return super().point(data)
        step = roc_step(data, self.criterion)
        end = self.takes_end(step)
        threshold = score_above(data, step) if end else step.score
        return point_at(data, threshold, step.p_miss[end], step.p_fa[end])


@dataclass(frozen=True, eq=False)
class EER(_StepMetric):
    """Equal error rate: where P_miss = P_fa, on the convex hull of the ROC or on its steps.

    Parameters
    ----------
    definition : {"hull", "crossing", "nearest"}
        - "hull": the exact intersection of the ROC's convex hull with P_miss = P_fa (ROCCH-EER).
        - "crossing": linear interpolation between the two operating points around P_miss = P_fa.
        - "nearest": (P_miss + P_fa) / 2 at the threshold of least ``|P_miss - P_fa|``; of two, at
          the higher one.

    Returns
    -------
    float
        A fraction; on the hull 0 to 0.5, and never above "crossing".

    Raises
    ------
    ValueError
        For more than 2 classes, or if a class has no samples.

    Notes
    -----
    None depends on the order of tied scores: if all scores are equal, each is 0.5. Weights are used
    within each class; priors have no effect. ``operating_point(predictions)`` returns, of the two
    operating points around P_miss = P_fa, the one where the rates differ less: on the hull these
    are vertices. Other tools mostly use the steps; docs/from/differences.md lists which.

    References
    ----------
    N. Brummer and E. de Villiers, "The BOSARIS Toolkit user guide", 2011, section 3 (hull).

    Examples
    --------
    >>> import fastpsr as fp
    >>> y, scores = [0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0]
    >>> fp.EER()(y, scores)
    0.2222222222222222
    >>> fp.EER("nearest")(y, scores)
    0.3333333333333333
    >>> data = fp.Predictions.from_raw_scores(y, scores)
    >>> fp.EER("nearest").operating_point(data)
    OperatingPoint(threshold=1.0, p_miss=0.3333333333333333, p_fa=0.3333333333333333)
    """

    definition: Literal["hull", "crossing", "nearest"] = "hull"

    unit = "fraction"
    reference_value = 0.5
    criterion = EQUAL_RATES

    def __post_init__(self) -> None:
        checks.check_choice("definition", self.definition, tuple(_EER_MEANINGS))

    @property
    def label(self) -> str:
        return "EER" if self.is_on_hull else f"EER({self.definition})"

    @property
    def meaning(self) -> str:
        return f"equal error rate {_EER_MEANINGS[self.definition]}"

    example_arguments = ((), ("crossing",), ("nearest",))

    @property
    def is_on_hull(self) -> bool:  # type: ignore[override]
        """Whether the rate is on the convex hull."""
        return self.definition == "hull"

    @property
    def resolution(self) -> Resolution:
        """Single scores where the nearest of the points in a run of one class is sought."""
        return "scores" if self.definition == "nearest" else "runs"

    @property
    def interval_rule(self) -> IntervalRule:
        """Only the hull is optimized on the data."""
        if not self.is_on_hull:
            return super().interval_rule  # type: ignore[no-any-return]
        return IntervalRule("subsampling", "subsampling", "log", ONE_TERM, ONE_TERM)

    @property
    def value_range(self) -> tuple[float, float]:
        """On the hull it is at most the rate of constant scores."""
        return (0.0, 0.5 if self.is_on_hull else 1.0)

    def takes_end(self, step: RocStep) -> bool:
        return step.ends_nearer

    def value_of(self, step: RocStep) -> float:
        return step.nearest_rate if self.definition == "nearest" else step.equal_rate

    def vertex_of(self, blocks: PavBlocks) -> int:
        return int(self.criterion.find(*blocks.hull)) + blocks.step(self.criterion).ends_nearer


_EER_MEANINGS = {
    "hull": "on the convex hull of the ROC",
    "crossing": "by interpolation between the operating points around it",
    "nearest": "as (P_miss + P_fa) / 2 at the threshold where they differ least",
}


class _RateAtLimit(_StepMetric):
    """The lowest rate of one kind of errors at a limit of the other rate, the only field."""

    #: Name of the rate that has the limit.
    limited: ClassVar[Literal["p_fa", "p_miss"]]

    unit = "fraction"

    @property
    def limit(self) -> float:
        """The limit."""
        return float(getattr(self, self.limited))

    def __post_init__(self) -> None:
        number = checks.as_number(self.limited, getattr(self, self.limited))
        if not 0.0 <= number < 1.0:
            raise ArgumentError(self.limited, f"must be at least 0 and below 1, not {number}")
        object.__setattr__(self, self.limited, number)

    @property
    def label(self) -> str:
        rates = ("P_miss", "P_fa") if self.limited == "p_fa" else ("P_fa", "P_miss")
        return f"{rates[0]}({rates[1]}={self.limit:g})"

    @property
    def meaning(self) -> str:
        rates = ("miss", "false-alarm") if self.limited == "p_fa" else ("false-alarm", "miss")
        return f"lowest {rates[0]} rate with a {rates[1]} rate of at most {self.limit:g}"

    @property
    def reference_value(self) -> float:
        return 1.0 - self.limit

    @property
    def criterion(self) -> Criterion:
        return limit_of(self.limited, self.limit)

    def takes_end(self, step: RocStep) -> bool:
        return self.limited == "p_fa"

    def value_of(self, step: RocStep) -> float:
        return step.p_miss[1] if self.limited == "p_fa" else step.p_fa[0]

    example_arguments = ((0.1,), (0.0,), (0.5,))


@dataclass(frozen=True, eq=False)
class MissRate(_RateAtLimit):
    """Miss rate at a limit of the false-alarm rate (FNMR at FMR; 1 - TAR at FAR).

    The lowest P_miss of the thresholds with P_fa of at most `p_fa`, without interpolation.

    Parameters
    ----------
    p_fa : float
        Limit of the false-alarm rate, at least 0 and below 1.

    Returns
    -------
    float
        A fraction, 0 to 1.

    Raises
    ------
    ValueError
        For a limit out of range, more than 2 classes, or if a class has no samples.

    Notes
    -----
    Equal scores are accepted together; the value does not depend on their order. Weights are used
    within each class; priors have no effect. ``operating_point(predictions)`` returns the lowest
    threshold that keeps the limit. A P_fa that exceeds the limit by less than 1e-12 of it
    keeps it: sums of weights are rounded.

    References
    ----------
    ISO/IEC 19795-1:2021, "Biometric performance testing and reporting" (FNMR at a given FMR).

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 6.0, 4.0, 7.0])
    >>> fp.MissRate(0.0)(data), fp.MissRate(0.25)(data)
    (0.5, 0.0)
    >>> fp.MissRate(0.25).operating_point(data)
    OperatingPoint(threshold=4.0, p_miss=0.0, p_fa=0.25)
    """

    p_fa: float
    limited = "p_fa"


@dataclass(frozen=True, eq=False)
class FalseAlarmRate(_RateAtLimit):
    """False-alarm rate at a limit of the miss rate (FMR at FNMR).

    The lowest P_fa of the thresholds with P_miss of at most `p_miss`, without interpolation.

    Parameters
    ----------
    p_miss : float
        Limit of the miss rate, at least 0 and below 1.

    Returns
    -------
    float
        A fraction, 0 to 1.

    Raises
    ------
    ValueError
        For a limit out of range, more than 2 classes, or if a class has no samples.

    Notes
    -----
    Equal scores are accepted together; the value does not depend on their order. Weights are used
    within each class; priors have no effect. ``operating_point(predictions)`` returns the highest
    threshold that keeps the limit. A P_miss that exceeds the limit by less than 1e-12 of it
    keeps it: sums of weights are rounded.

    References
    ----------
    ISO/IEC 19795-1:2021, "Biometric performance testing and reporting".

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 6.0, 4.0, 7.0])
    >>> fp.FalseAlarmRate(0.0)(data), fp.FalseAlarmRate(0.5)(data)
    (0.25, 0.0)
    >>> fp.FalseAlarmRate(0.5).operating_point(data)
    OperatingPoint(threshold=7.0, p_miss=0.5, p_fa=0.0)
    """

    p_miss: float
    limited = "p_miss"


@dataclass(frozen=True, eq=False)
class Threshold(RankMetric[OperatingPoint | RankTable]):
    """The threshold of an operating point as a metric, for the bootstrap.

    Parameters
    ----------
    metric : EER, MissRate, FalseAlarmRate, RecallAtPrecision or MinDCF
        ``metric.operating_point(predictions)`` has the threshold.

    Returns
    -------
    float
        Accept scores at or above it; on the scale that was passed (posteriors of class 1,
        log-odds, LLRs or raw scores), as ``metric.operating_point(predictions).threshold``.
        inf if nothing is accepted, nan if no threshold accepts nothing as a score is inf.

    Raises
    ------
    ValueError
        For another metric, more than 2 classes, or if a class has no samples.

    Notes
    -----
    Ties and weights are treated as by the metric. Intervals by subsampling (of ``EER()``) are
    symmetric about the value, and may go beyond 1 where that is a posterior near 1.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_raw_scores([0, 0, 0, 0, 1, 1], [1.0, 2.0, 3.0, 6.0, 4.0, 7.0])
    >>> fp.Threshold(fp.MissRate(0.25))(data)
    4.0
    >>> fp.Threshold(fp.MissRate(0.0))(fp.Predictions.from_posteriors([0, 1, 1], [0.2, 0.7, 0.9]))
    0.7
    """

    metric: PointMetric[Any]

    resolution = "scores"

    @property
    def interval_rule(self) -> IntervalRule:
        """Rule of a point, with the methods of the metric.

        Of thresholds that minimize a cost, subsets have another rate.
        """
        is_step = isinstance(self.metric, _StepMetric)
        rule = self.metric.interval_rule if is_step else IntervalRule()
        return replace(AT_A_POINT, samples=rule.samples, units=rule.units)

    def __post_init__(self) -> None:
        if not isinstance(self.metric, PointMetric):
            raise ArgumentError(
                "metric",
                "must have an operating point, as EER, MissRate, FalseAlarmRate and MinDCF have, "
                f"not be {self.metric!r}",
            )

    @property
    def label(self) -> str:
        return f"threshold of {self.metric.label}"

    @property
    def meaning(self) -> str:
        return f"threshold at: {self.metric.meaning}"

    example_arguments = (
        (EER(),), (EER("crossing"),), (MissRate(0.2),), (FalseAlarmRate(0.2),)
    )  # fmt: skip

    def total(self, data: Data) -> OperatingPoint | RankTable:
        return self.metric.point(data)

    def finish(self, summary: OperatingPoint | RankTable) -> float:
        if isinstance(summary, OperatingPoint):
            return summary.threshold
        return summary.as_passed(self.metric.threshold_of(summary))
