"""Detection cost presets: where evaluations put their operating points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.metrics import ActDCF, Metric, MinDCF
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.counts import DecisionCounts
from fastpsr.summaries.pav_blocks import PavBlocks
from fastpsr.summaries.rank_cells import RankCells, pav_blocks
from fastpsr.summaries.summands import Summands

__all__ = [
    "PRESETS",
    "ActualCost",
    "MinimalCost",
    "OperatingPoints",
    "detection_costs",
    "parse_dcf",
]

# Priors of a target, at costs 1 and 1; the metric is the mean over them.
PRESETS = {
    "sre16": (0.01, 0.005),
    "sre18": (0.01, 0.005),
    "sre18-vast": (0.05,),
    "sre19": (0.01, 0.005),
    "sre21": (0.01, 0.05),
    "voxsrc": (0.05,),
}


@dataclass(frozen=True)
class OperatingPoints:
    """What `--dcf` names: priors of a target with the costs of a miss and of a false alarm."""

    name: str
    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, eq=False)
class _MeanCost:
    """The mean normalized detection cost over operating points."""

    at: OperatingPoints

    @property
    def _priors(self) -> str:
        return " and ".join(f"{p_target:g}" for p_target, _, _ in self.at.points)


@dataclass(frozen=True, eq=False)
class MinimalCost(_MeanCost, Metric[PavBlocks | RankCells]):
    """The mean of `MinDCF` over operating points."""

    @property
    def label(self) -> str:
        return f"minDCF({self.at.name})"

    @property
    def meaning(self) -> str:
        return f"detection cost at the best threshold, target prior {self._priors}"

    def summarize(self, predictions: Predictions) -> PavBlocks | RankCells:
        return pav_blocks(predictions)

    def summands(self, predictions: Predictions) -> Summands:
        return RankCells.summands(predictions)

    def finish(self, summary: PavBlocks | RankCells) -> float:
        return float(np.mean([MinDCF(*point).finish(summary) for point in self.at.points]))


@dataclass(frozen=True, eq=False)
class ActualCost(_MeanCost, Metric[list[DecisionCounts]]):
    """The mean of `ActDCF` over operating points, whose counts are summarized in their order."""

    @property
    def label(self) -> str:
        return f"actDCF({self.at.name})"

    @property
    def meaning(self) -> str:
        return f"detection cost of Bayes decisions, target prior {self._priors}"

    def summarize(self, predictions: Predictions) -> list[DecisionCounts]:
        return [cost.summarize(predictions) for cost in self._costs]

    def summands(self, predictions: Predictions) -> Summands:
        """Return trials grouped by class and by how many of the thresholds they reach."""
        predictions.require_posteriors("decisions at a fixed threshold")
        thresholds = [cost.threshold for cost in self._costs]
        n_counts = len(thresholds) + 1
        rank = np.argsort(np.argsort(thresholds, kind="stable"))  # of each among the thresholds

        def groups() -> NDArray[Any]:
            llrs = predictions.llrs
            reached = predictions.labels * np.int32(n_counts)
            for threshold in thresholds:
                reached += llrs >= threshold
            return np.asarray(reached)

        def assemble(weight: Floats, _: Floats) -> list[DecisionCounts]:
            rejected = weight.reshape(2, n_counts).cumsum(axis=1)
            totals = rejected[:, -1]
            return [
                DecisionCounts(np.column_stack([rejected[:, k], totals - rejected[:, k]]), None)
                for k in rank
            ]

        return Summands(f"decisions at LLRs {thresholds}", 2 * n_counts, 2, groups, assemble)

    def finish(self, summary: list[DecisionCounts]) -> float:
        each = zip(self._costs, summary, strict=True)
        return float(np.mean([cost.finish(counts) for cost, counts in each]))

    @property
    def _costs(self) -> list[ActDCF]:
        return [ActDCF(*point) for point in self.at.points]


def detection_costs(dcfs: Sequence[OperatingPoints], *, raw: bool) -> dict[str, Metric[Any]]:
    """Return the costs at operating points by name; of raw scores only the minimal ones."""
    kinds: list[Any] = [MinimalCost] if raw else [MinimalCost, ActualCost]
    costs = [kind(points) for points in dcfs for kind in kinds]
    return {cost.label: cost for cost in costs}


def parse_dcf(text: str) -> OperatingPoints:
    """Return the points of a preset, or of ``P`` or ``P:CMISS:CFA``."""
    if text in PRESETS:
        return OperatingPoints(text, tuple((p_target, 1.0, 1.0) for p_target in PRESETS[text]))
    try:
        numbers = [float(part) for part in text.split(":")]
        p_target, c_miss, c_fa = numbers if len(numbers) > 1 else (*numbers, 1.0, 1.0)
        MinDCF(p_target, c_miss, c_fa)  # checks them
    except ValueError:
        raise ValueError(
            f"--dcf must be {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA, with a prior "
            f"between 0 and 1 and positive costs, not {text!r}"
        ) from None
    return OperatingPoints(text, ((p_target, c_miss, c_fa),))
