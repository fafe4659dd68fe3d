"""Rates of decisions for the likeliest class, or at a threshold on the posterior."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from fastpsr import checks
from fastpsr.costs import CostMatrix
from fastpsr.counts.decisions import BayesDecisionSums, DecisionCounts, ThresholdSums
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Predictions, class_factors
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import OF_MEANS
from fastpsr.metrics.base import Metric

Rate = Literal[
    "accuracy", "balanced accuracy", "precision", "recall", "F", "false positive rate",
    "selection rate",
]  # fmt: skip
RATES: tuple[Rate, ...] = get_args(Rate)
RATES_OF_ANY_CLASSES: tuple[Rate, ...] = ("accuracy", "balanced accuracy")


@dataclass(frozen=True, eq=False)
class DecisionRate(Metric[DecisionCounts]):
    """A rate of decisions: accuracy, precision, recall, F, or another.

    Provided for comparison with other work: such a rate depends on one threshold, and implies
    costs that nobody chose. Prefer :class:`fastpsr.BayesRisk` with the costs of the application.

    Parameters
    ----------
    rate : str
        Of any number of classes: "accuracy"; or "balanced accuracy", the mean of the accuracies of
        the classes that have samples. Of two classes: "precision"; "recall", the true positive
        rate; "F", the weighted harmonic mean of precision and recall; "false positive rate"; or
        "selection rate", the fraction of samples with a decision for class 1.
    threshold : float, optional
        For two classes, 0 to 1: decide for class 1 if its posterior is at least this. By default
        decide for the class with the largest posterior, the first one on ties.
    beta : float
        Weight of recall in F, positive: "F" is F1 by default.

    Returns
    -------
    float
        A fraction; nan where it is 0 / 0, as is precision where nothing is decided for class 1.

    Raises
    ------
    ValueError
        For raw scores; for a threshold or a rate of two classes where there are more.

    Notes
    -----
    Given priors take the place of the class frequencies.

    References
    ----------
    C. J. van Rijsbergen, "Information retrieval", 1979, chapter 7 (F).

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.DecisionRate("accuracy")(data), fp.DecisionRate("recall", 0.3)(data)
    (0.5, 1.0)
    >>> round(fp.DecisionRate("F", 0.3)(data), 4)
    0.8
    """

    rate: Rate
    threshold: float | None = None
    beta: float = 1.0

    unit = "fraction"
    value_range = (0.0, 1.0)
    interval_rule = OF_MEANS

    def __post_init__(self) -> None:
        checks.check_choice("rate", self.rate, RATES)
        if self.threshold is not None:
            threshold = checks.check_number("threshold", self.threshold, 0.0, 1.0, "lie in 0 to 1")
            object.__setattr__(self, "threshold", threshold)
        beta = checks.check_number("beta", self.beta, 5e-324, 1e100, "be positive")
        if self.rate != "F" and beta != 1.0:
            raise ArgumentError("beta", f"must be left out for {self.rate}: it is of F")
        object.__setattr__(self, "beta", beta)

    @property
    def label(self) -> str:
        name = f"F{self.beta:g}" if self.rate == "F" else self.rate
        return name if self.threshold is None else f"{name}({self.threshold:g})"

    @property
    def meaning(self) -> str:
        if self.threshold is None:
            return f"{self.rate} of the likeliest class"
        return f"{self.rate} if posteriors of at least {self.threshold:g} mean class 1"

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether larger values are better."""
        return self.rate not in ("false positive rate", "selection rate")

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        if data.n_classes > 2:
            return [cls("accuracy"), cls("balanced accuracy")]
        return [*map(cls, RATES), cls("precision", 0.3), cls("F", 0.6, 2.0)]

    def sums(self, data: Data) -> Sums:
        data.require_posteriors("decisions")
        if self.threshold is not None:
            checks.check_binary("a threshold", data.n_classes)
            return _AtThreshold(
                _posteriors, np.array([self.threshold]), given_priors=data.given_priors
            )
        if self.rate not in RATES_OF_ANY_CLASSES:
            checks.check_binary(self.rate, data.n_classes)
        costs = CostMatrix.zero_one(data.n_classes)
        return BayesDecisionSums(data.n_classes, data.given_priors, costs)

    def finish(self, summary: DecisionCounts) -> float:
        totals = summary.weight.sum(axis=1)
        factors = class_factors(totals, summary.given_priors)
        counts = summary.weight * factors[:, None]
        right = np.diag(counts) if len(counts) == 2 else counts[:, 0]
        with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is nan
            if self.rate == "accuracy":
                return float(right.sum() / counts.sum())
            if self.rate == "balanced accuracy":
                return float((right / counts.sum(axis=1))[totals > 0.0].mean())
            (_, wrong_1), (missed, right_1) = counts
            if self.rate == "F":
                square = self.beta**2
                wrong = square * missed + wrong_1
                return float((1.0 + square) * right_1 / ((1.0 + square) * right_1 + wrong))
            part, denominator = {
                "precision": (right_1, right_1 + wrong_1),
                "recall": (right_1, right_1 + missed),
                "false positive rate": (wrong_1, counts[0].sum()),
                "selection rate": (right_1 + wrong_1, counts.sum()),
            }[self.rate]
            return float(part / denominator)


@dataclass(frozen=True, eq=False)
class _AtThreshold(ThresholdSums):
    """Samples grouped by class, and by whether their posterior reaches a threshold."""

    given_priors: Floats | None = None

    def assemble(self, weight: Floats, sums: Floats) -> DecisionCounts:
        return DecisionCounts(weight.reshape(2, -1), self.given_priors)


def _posteriors(predictions: Predictions) -> Floats:
    return predictions.positive_posteriors
