"""Detection cost presets: where evaluations put their operating points."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.metrics import ActDCF, Metric, MinDCF
from fastpsr.plans import Data, Part, Plan, run
from fastpsr.predictions import Floats, Predictions
from fastpsr.summaries.counts import DecisionCounts
from fastpsr.summaries.pav_blocks import PavBlocks
from fastpsr.summaries.rank_cells import RankCells, cell_summands, pav_blocks
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

    #: Of the best constant decision.
    reference_value = 1.0

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
        return run(lambda: pav_blocks(predictions))

    def plan(self, data: Data) -> Plan[float]:
        return self.finish((yield from pav_blocks(data)))

    def summands(self, data: Data) -> Plan[Summands]:
        return (yield from cell_summands(data))

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

    def merge(self, one: list[DecisionCounts], other: list[DecisionCounts]) -> list[DecisionCounts]:
        return [a.merge(b) for a, b in zip(one, other, strict=True)]

    def summands(self, data: Data) -> Plan[Summands | None]:
        data.require_posteriors("decisions at a fixed threshold")
        if not data.has_fixed_llrs:
            return None
        return _PassedSummands(tuple(cost.threshold for cost in self._costs))
        yield

    def finish(self, summary: list[DecisionCounts]) -> float:
        each = zip(self._costs, summary, strict=True)
        return float(np.mean([cost.finish(counts) for cost, counts in each]))

    @property
    def _costs(self) -> list[ActDCF]:
        return [ActDCF(*point) for point in self.at.points]


@dataclass(frozen=True, eq=False)
class _PassedSummands(Summands):
    """Trials grouped by class and by how many of some thresholds they reach."""

    thresholds: tuple[float, ...]

    stream = ("decisions at thresholds",)
    n_classes = 2

    @property
    def n_groups(self) -> int:  # type: ignore[override]
        """A group for each number of thresholds, and class."""
        return 2 * (len(self.thresholds) + 1)

    @property
    def key(self) -> Hashable:
        return ("decisions at LLRs", self.thresholds)

    def groups(self, part: Part, *beside: Part) -> NDArray[Any]:
        llrs = part.predictions.llrs
        reached = part.predictions.labels * np.int32(len(self.thresholds) + 1)
        for threshold in self.thresholds:
            reached += llrs >= threshold
        return np.asarray(reached)

    def assemble(self, weight: Floats, sums: Floats) -> list[DecisionCounts]:
        rejected = weight.reshape(2, -1).cumsum(axis=1)
        totals = rejected[:, -1]
        rank = np.argsort(np.argsort(self.thresholds, kind="stable"))
        return [
            DecisionCounts(np.column_stack([rejected[:, k], totals - rejected[:, k]]), None)
            for k in rank
        ]


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
