"""Sums of losses, for expected scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.counts.sums import ClassSums
from fastpsr.data import Data, Floats, Part, Predictions, class_factors
from fastpsr.errors import ArgumentError
from fastpsr.rules.base import ScoringRule, dot_or_zero


@dataclass(frozen=True, eq=False)
class ScoreTotals:
    """Weighted sums of losses and of weights, by class.

    Attributes
    ----------
    loss, weight : ndarray of float64, shape (K,)
    given_priors : ndarray of float64, shape (K,), or None
    """

    loss: Floats
    weight: Floats
    given_priors: Floats | None

    @property
    def priors(self) -> Floats:
        """The priors of the evaluation: as given, else the class frequencies."""
        if self.given_priors is not None:
            return self.given_priors
        return np.asarray(self.weight / self.weight.sum())

    def mean(self) -> float:
        """Return the expected loss at the priors; a class of prior 0 adds nothing."""
        factors = class_factors(self.weight, self.given_priors) / self.weight.sum()
        used = (factors > 0.0) & (self.weight > 0.0)
        with np.errstate(invalid="ignore"):  # costs may be negative
            terms = self.loss * factors if used.all() else self.loss[used] * factors[used]
            value = float(terms.sum())
        if np.isnan(value):
            raise ArgumentError(
                "sample_weight",
                "must not be so large that summed costs are beyond the largest float",
            )
        return value


@dataclass(frozen=True, eq=False)
class LossSums(ClassSums):
    """The losses of each class."""

    rule: ScoringRule
    given_priors: Floats | None
    n_columns = 1

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(part.predictions),)

    def totals(self, part: Part, *beside: Part) -> tuple[Floats, Floats]:
        predictions = part.predictions
        return predictions.class_weights, self.rule.summed_losses(predictions)[:, None]

    def assemble(self, weight: Floats, sums: Floats) -> ScoreTotals:
        return ScoreTotals(sums[:, 0], weight, self.given_priors)


class ReferenceMeans(NamedTuple):
    """Means of losses expected under reference posteriors, and of these posteriors, (K,)."""

    mean: float
    reference: Floats


@dataclass(frozen=True, eq=False)
class MeanSums(ClassSums):
    """Samples grouped by class, for means at priors; labels are only needed if priors are given."""

    given_priors: Floats | None

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        if part.predictions.y_true is not None:
            return part.predictions.labels
        if self.given_priors is not None:
            raise ArgumentError("priors", "need labels", remedy="pass y_true, or no priors")
        return np.zeros(len(part.predictions), np.uint8)  # all are of one group

    def means(self, weight: Floats, sums: Floats) -> Floats:
        """Return the mean of each column, (C,); a class of prior 0 adds nothing."""
        if self.given_priors is None:
            return np.asarray(sums.sum(axis=0) / weight.sum())
        factors = class_factors(weight, self.given_priors) / weight.sum()
        used = (factors > 0.0) & (weight > 0.0)
        return np.asarray((sums[used] * factors[used, None]).sum(axis=0))


@dataclass(frozen=True, eq=False)
class ReferenceSums(MeanSums):
    """Values that belong to reference posteriors, which lie beside the predictions, and these."""

    values: Callable[[Predictions, Predictions], Floats]
    beside: tuple[Any, ...] = ()

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        """The values, and a posterior of each class."""
        return 1 + self.n_classes

    def columns(self, part: Part, *beside: Part) -> tuple[Floats, ...]:
        reference = beside[0].predictions
        values = self.values(part.predictions, reference)
        return (values, *np.ascontiguousarray(reference.posteriors.T))

    def assemble(self, weight: Floats, sums: Floats) -> ReferenceMeans:
        mean, *reference = self.means(weight, sums)
        # sums of a replicate, or shifted for BCa, are not 1
        return ReferenceMeans(float(mean), np.array(reference) / sum(reference))


def summed_losses(rule: ScoringRule, data: Data) -> ScoreTotals:
    """Return the sums of the losses of data whose facts are known."""
    totals: ScoreTotals = LossSums(data.n_classes, rule, data.given_priors).total(data)
    return totals


def expected_losses(rule: ScoringRule, predictions: Predictions, reference: Predictions) -> Floats:
    """Return the (N,) losses of `predictions` that are expected under `reference`."""
    predictions.require_posteriors("semi-empirical scores")
    if len(reference) != len(predictions) or reference.n_classes != predictions.n_classes:
        raise ArgumentError(
            "reference",
            f"must have a posterior for each sample: {len(predictions)} samples of "
            f"{predictions.n_classes} classes, not {len(reference)} of {reference.n_classes}",
        )
    return dot_or_zero(reference.posteriors, rule.class_losses(predictions.log_posteriors))
