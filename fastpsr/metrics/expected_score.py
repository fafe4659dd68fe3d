"""Expected scores: cross-entropy, Brier score and their relatives, empirical and semi-empirical."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric, Summarize
from fastpsr.plans import Data, Plan, begin, check_data
from fastpsr.predictions import Floats, Predictions
from fastpsr.rules import Beta, Brier, Cost, Log, ScoringRule
from fastpsr.rules.base import check_rule
from fastpsr.summaries.summands import Summands
from fastpsr.summaries.sums import (
    LossSummands,
    ReferenceSummands,
    ReferenceSums,
    ScoreSums,
    expected_losses,
)

__all__ = ["BrierScore", "CrossEntropy", "ExpectedScore", "SemiEmpiricalScore"]


@dataclass(frozen=True, eq=False)
class ExpectedScore(Metric[ScoreSums]):
    """The mean of a proper scoring rule over the samples.

    ``sum_t P(y_t) / N(y_t) loss(y_t, q_t)``, with P the priors and N the class counts (the paper's
    Equation 6 and appendix A).

    Parameters
    ----------
    rule : ScoringRule
    normalized : bool
        Whether to divide by the score of the best naive system, which always answers the priors:
        below 1 the classifier is worth something.

    Returns
    -------
    float
        Infinite if a loss is, for a class of positive prior. Nats for the log rule when not
        normalized, else without a unit.

    Raises
    ------
    ValueError
        For raw scores, a class of positive given prior without samples, and, if normalized, where
        the naive score is 0: one class alone.

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
        return "mean loss over that of the priors" if self.normalized else "mean loss"

    @property
    def unit(self) -> str:
        return "nats" if isinstance(self.rule, Log) and not self.normalized else ""

    @property
    def reference_value(self) -> float | None:
        return 1.0 if self.normalized else None

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        costs = 1.0 - np.eye(data.n_classes)
        costs[0, -1] = 2.5
        rules = [Cost(costs), *([Beta(2.0, 1.0)] if data.n_classes == 2 else [])]
        return [cls(rule, normalized) for rule in rules for normalized in (True, False)]

    def summarize(self, predictions: Predictions) -> ScoreSums:
        return ScoreSums.of(self.rule, predictions)

    @property
    def summary_key(self) -> Hashable:
        return ("ScoreSums", self.rule.key)

    def summands(self, data: Data) -> Plan[Summands]:
        data.require_posteriors("expected scores")
        return LossSummands(data.n_classes, self.rule, data.given_priors)
        yield

    def finish(self, summary: ScoreSums) -> float:
        score = summary.mean()
        return normalize(score, self.rule, summary.priors) if self.normalized else score


@dataclass(frozen=True, eq=False)
class CrossEntropy(ExpectedScore):
    """Cross-entropy: the expected score of the log rule; normalized, NCE.

    Nats when not normalized (the paper's Equation 8). Infinite where a sample's class was given
    posterior 0.

    Parameters
    ----------
    normalized : bool
        Whether to divide by the entropy of the priors.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.CrossEntropy()([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]), 4)
    0.4445
    """

    rule: ScoringRule = field(default_factory=Log, init=False)
    normalized: bool = True

    @property
    def meaning(self) -> str:
        return f"cross-entropy{' over that of the priors' if self.normalized else ' in nats'}"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(normalized=False)]


@dataclass(frozen=True, eq=False)
class BrierScore(ExpectedScore):
    """Brier score with its 1/K: the expected score of the Brier rule; normalized, NBS.

    Parameters
    ----------
    normalized : bool
        Whether to divide by ``sum_k P_k (1 - P_k) / K``.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.BrierScore(normalized=False)([0, 1], [0.5, 0.8]), 4)
    0.145
    """

    rule: ScoringRule = field(default_factory=Brier, init=False)
    normalized: bool = True

    @property
    def meaning(self) -> str:
        return f"Brier score{' over that of the priors' if self.normalized else ''}"

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(), cls(normalized=False)]


@dataclass(frozen=True, eq=False)
class SemiEmpiricalScore(Metric[ReferenceSums]):
    """The mean of a rule's loss expected under reference posteriors instead of the labels.

    The left-hand side of the divergence-entropy decomposition (the paper's Equation 25 and section
    3.4): samples are empirical, classes are drawn from the reference.

    Parameters
    ----------
    rule : ScoringRule
    reference : Predictions
        Reference posteriors of the same samples, such as calibrated ones; in parts if the
        predictions are.
    normalized : bool
        Whether to divide by the entropy of the mean reference.

    Notes
    -----
    Labels are needed only to work given priors in.

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

    @property
    def unit(self) -> str:
        return "nats" if isinstance(self.rule, Log) and not self.normalized else ""

    @property
    def reference_value(self) -> float | None:
        return 1.0 if self.normalized else None

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        return [cls(Log(), data), cls(Brier(), data, normalized=False)]

    def on_rows(self, index: Any) -> "SemiEmpiricalScore":
        assert isinstance(self.reference, Predictions)
        return replace(self, reference=self.reference[index])

    def summarize(
        self, predictions: Predictions, reference: Predictions | None = None
    ) -> ReferenceSums:
        if reference is None:
            assert isinstance(self.reference, Predictions)
            reference = self.reference
        return ReferenceSums.of(self.rule, predictions, reference)

    def plan(self, data: Data) -> Plan[float]:
        yield from begin(data, self.reference)
        (summary,) = yield [Summarize(self).over(data, self.reference)]
        return self.finish(summary)

    def summands(self, data: Data) -> Plan[Summands]:
        yield from begin(data, self.reference)
        return ReferenceSummands(
            data.n_classes, partial(expected_losses, self.rule), data.given_priors,
            (self.reference,),
        )  # fmt: skip

    def finish(self, summary: ReferenceSums) -> float:
        score = summary.mean()
        return normalize(score, self.rule, summary.mean_reference()) if self.normalized else score


def normalize(score: float, rule: ScoringRule, priors: Floats) -> float:
    """Divide a score by that of the system which always answers the priors."""
    naive = float(rule.entropy(priors))
    if naive == 0.0:
        raise ArgumentError(
            "normalized",
            f"need a naive system that errs: with class priors {priors.tolist()} it does not",
            pass_={"normalized": False},
            name="normalized scores",
        )
    return score / naive
