"""The Bayes risk for one cost matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr.costs import CostMatrix
from fastpsr.counts.decisions import BayesDecisionSums, DecisionCounts
from fastpsr.counts.sums import Sums
from fastpsr.data import Data
from fastpsr.interval_rule import OF_LOSSES, OF_MEANS, IntervalRule
from fastpsr.metrics.base import Metric


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
        """That of losses, unless a cost is a gain."""
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
        over = " over that of the best constant decision" if self.normalized else ""
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
        return summary.risk(self.matrix, self.normalized)
