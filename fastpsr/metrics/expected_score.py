"""Expected scores: cross-entropy, Brier score, Bayes risk, and semi-empirical scores."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr.costs import CostMatrix, mean_cost
from fastpsr.counts import begin
from fastpsr.counts.decisions import BayesDecisionSums, DecisionCounts
from fastpsr.counts.sums import (
    LossSums,
    ReferenceMeans,
    ReferenceSums,
    ScoreTotals,
    Sums,
    expected_losses,
)
from fastpsr.data import Data, Floats, PartitionedPredictions, check_data
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import OF_LOSSES, OF_MEANS, IntervalRule
from fastpsr.metrics.base import Metric, Summary
from fastpsr.rules import Beta, Brier, Cost, Log, ScoringRule
from fastpsr.rules.base import check_rule


class _ScoreOfRule(Metric[Summary]):
    """A mean of losses of a rule, optionally divided by the mean of a naive system."""

    rule: ScoringRule
    normalized: bool
    interval_rule = OF_MEANS

    @property
    def value_range(self) -> tuple[float, float]:
        """Range of the losses."""
        return (self.rule.least_loss, np.inf)

    @property
    def unit(self) -> str:
        return "" if self.normalized else self.rule.unit

    @property
    def reference_value(self) -> float | None:
        return 1.0 if self.normalized else None


@dataclass(frozen=True, eq=False)
class ExpectedScore(_ScoreOfRule[ScoreTotals]):
    """The mean of a proper scoring rule over the samples.

    ``sum_t P(y_t) / N(y_t) loss(y_t, q_t)``, with P the priors and N the class counts (Ferrer and
    Ramos, 2024, Equation 6 and appendix A).

    Parameters
    ----------
    rule : ScoringRule
    normalized : bool
        Whether to divide by the score of a naive system whose posteriors are the priors. A
        normalized score below 1 means that the classifier is better than the naive system.

    Returns
    -------
    float
        Infinite if the loss of a sample is infinite and its class has a positive prior. In nats for
        the log rule if not normalized, otherwise without unit.

    Raises
    ------
    ValueError
        For raw scores, for a class with a positive given prior but no samples, and, if normalized,
        if the naive score is 0 because only one class occurs.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> metric = fp.ExpectedScore(fp.rules.Log(), normalized=False)
    >>> round(metric([0, 1], [0.5, 0.8]), 4)
    0.4581
    """

    rule: ScoringRule
    normalized: bool = True

    def __post_init__(self) -> None:
        check_rule(self.rule)

    @property
    def label(self) -> str:
        return f"N{self.rule.label}" if self.normalized else self.rule.label

    @property
    def meaning(self) -> str:
        return "mean loss relative to the priors" if self.normalized else "mean loss"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        costs = 1.0 - np.eye(data.n_classes)
        costs[0, -1] = 2.5
        rules = [Cost(costs), *([Beta(2.0, 1.0)] if data.n_classes == 2 else [])]
        return [cls(rule, normalized) for rule in rules for normalized in (True, False)]

    def sums(self, data: Data) -> Sums:
        data.require_posteriors("expected scores")
        return LossSums(data.n_classes, self.rule, data.given_priors)

    def finish(self, summary: ScoreTotals) -> float:
        score = summary.mean()
        return normalize(score, self.rule, summary.priors) if self.normalized else score


@dataclass(frozen=True, eq=False)
class CrossEntropy(ExpectedScore):
    """Cross-entropy: the expected score of the log rule; normalized, NCE.

    In nats if not normalized (Ferrer and Ramos, 2024, Equation 8). Infinite if the posterior of a
    true class is 0.

    Parameters
    ----------
    normalized : bool
        Whether to divide by the entropy of the priors.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.CrossEntropy()([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 4)
    0.4445
    """

    rule: ScoringRule = field(default_factory=Log, init=False, repr=False)
    normalized: bool = True

    interval_rule = OF_LOSSES

    @property
    def meaning(self) -> str:
        return f"cross-entropy{' relative to the priors' if self.normalized else ' in nats'}"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(normalized=False)]


@dataclass(frozen=True, eq=False)
class BrierScore(ExpectedScore):
    """Brier score: the expected score of the Brier rule; normalized, NBS.

    Parameters
    ----------
    normalized : bool
        Whether to divide by ``sum_k P_k (1 - P_k) / K``.
    per_class : bool
        Whether the squared errors of all K posteriors of a sample are divided by K, as in the
        paper. Without it a score that is not normalized is K times as large: Brier's own, which for
        more than two classes is also scikit-learn's.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.BrierScore(normalized=False)([0, 1], [0.5, 0.8]), 4)
    0.145
    """

    rule: ScoringRule = field(default_factory=Brier, init=False, repr=False)
    normalized: bool = True
    per_class: bool = True

    interval_rule = OF_LOSSES

    @property
    def label(self) -> str:
        return super().label if self.normalized or self.per_class else "Brier"

    def finish(self, summary: ScoreTotals) -> float:
        is_sum = not (self.normalized or self.per_class)
        return super().finish(summary) * (summary.loss.size if is_sum else 1)

    @property
    def meaning(self) -> str:
        return f"Brier score{' relative to the priors' if self.normalized else ''}"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(normalized=False)]


@dataclass(frozen=True, eq=False)
class SemiEmpiricalScore(_ScoreOfRule[ReferenceMeans]):
    """The mean loss of a rule, expected under reference posteriors instead of the labels.

    The left-hand side of the divergence-entropy decomposition (Ferrer and Ramos, 2024, Equation 25
    and section 3.4): samples are empirical, classes are drawn from the reference posteriors.

    Parameters
    ----------
    rule : ScoringRule
    reference : Predictions
        Reference posteriors of the same samples, such as calibrated posteriors; in parts if the
        predictions are in parts.
    normalized : bool
        Whether to divide by the entropy of the mean reference posterior.

    Notes
    -----
    Labels are only needed if priors are given.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors(None, [0.2, 0.9])
    >>> metric = fp.SemiEmpiricalScore(fp.rules.Log(), data, normalized=False)
    >>> round(metric(data), 4)
    0.4127
    """

    rule: ScoringRule
    reference: Data
    normalized: bool = True

    def __post_init__(self) -> None:
        check_rule(self.rule)
        check_data(self.reference, "reference")

    @property
    def label(self) -> str:
        return f"{'N' if self.normalized else ''}{self.rule.label} semi-empirical"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(Log(), data), cls(Brier(), data, normalized=False)]

    def on_rows(self, data: Data, rows: Any) -> "SemiEmpiricalScore":
        in_parts = isinstance(data, PartitionedPredictions)
        if isinstance(self.reference, PartitionedPredictions) != in_parts:
            raise ArgumentError("reference", "must be in parts if the predictions are, else not")
        if isinstance(self.reference, PartitionedPredictions):
            return replace(self, reference=self.reference.mapped(rows))
        if len(self.reference) != len(data):
            raise ArgumentError(
                "reference", f"must have one row per sample: {len(data)}, not {len(self.reference)}"
            )
        return replace(self, reference=self.reference[rows].alone())

    def sums(self, data: Data) -> Sums:
        begin(data, self.reference)
        return ReferenceSums(
            data.n_classes, data.given_priors, partial(expected_losses, self.rule),
            (self.reference,),
        )  # fmt: skip

    def finish(self, summary: ReferenceMeans) -> float:
        score, reference = summary
        return normalize(score, self.rule, reference) if self.normalized else score


def normalize(score: float, rule: ScoringRule, priors: Floats) -> float:
    """Divide a score by the score of the naive system, whose posteriors are the priors."""
    naive = float(rule.entropies(priors[None])[0])
    if naive == 0.0:
        raise ArgumentError(
            "normalized",
            "need two classes or more of positive prior: with class priors "
            f"{priors.tolist()} the score of the priors, by which they divide, is 0",
            pass_={"normalized": False},
            name="normalized scores",
        )
    return score / naive


@dataclass(frozen=True, eq=False)
class BayesRisk(Metric[DecisionCounts]):
    """The mean cost of the Bayes decisions made with the posteriors.

    Parameters
    ----------
    costs : CostMatrix or array-like of shape (K, M)
        Costs with a row per true class and a column per decision.
    normalized : bool
        Whether to divide by the cost of the best constant decision (Ferrer and Ramos, 2024,
        section 2.3.1).

    Raises
    ------
    ValueError
        For raw scores, costs without a row per class, and, if normalized, if the best constant
        decision costs 0.

    References
    ----------
    L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper Scoring
    Rules, and Calibration", 2024, arXiv:2408.02841.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.BayesRisk(fp.CostMatrix.zero_one(2))([0, 0, 1, 1], [0.1, 0.6, 0.7, 0.9])
    0.5
    """

    costs: CostMatrix | ArrayLike
    normalized: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", CostMatrix.of(self.costs))

    @property
    def interval_rule(self) -> IntervalRule:
        """Rule of losses, unless a cost is negative."""
        return OF_LOSSES if self.matrix.least == 0.0 else OF_MEANS

    @property
    def value_range(self) -> tuple[float, float]:
        """A cost may be a gain."""
        return (self.matrix.least, np.inf)

    @property
    def matrix(self) -> CostMatrix:
        """The costs, checked."""
        assert isinstance(self.costs, CostMatrix)
        return self.costs

    @property
    def label(self) -> str:
        return "NRisk" if self.normalized else "Risk"

    @property
    def meaning(self) -> str:
        over = " relative to the best constant decision" if self.normalized else ""
        return f"mean cost of Bayes decisions{over}"

    @property
    def reference_value(self) -> float | None:
        return 1.0 if self.normalized else None

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        costs = np.column_stack([1.0 - np.eye(data.n_classes), np.full(data.n_classes, 0.3)])
        return [cls(CostMatrix.zero_one(data.n_classes)), cls(costs, normalized=False)]

    def sums(self, data: Data) -> Sums:
        data.require_posteriors("Bayes decisions")
        self.matrix.check_classes(data.n_classes)
        return BayesDecisionSums(data.n_classes, data.given_priors, self.matrix)

    def finish(self, summary: DecisionCounts) -> float:
        return mean_cost(summary.weight, self.matrix, summary.given_priors, self.normalized)
