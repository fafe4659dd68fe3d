"""Detection cost presets: where evaluations put their operating points."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastpsr.metrics import ActDCF, MinDCF
from fastpsr.predictions import Predictions

__all__ = ["PRESETS", "DetectionCost", "OperatingPoints", "detection_costs", "parse_dcf"]

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
class DetectionCost:
    """The mean normalized detection cost over operating points, minimal or actual."""

    at: OperatingPoints
    actual: bool

    @property
    def label(self) -> str:
        """Name for tables."""
        return f"{'actDCF' if self.actual else 'minDCF'}({self.at.name})"

    @property
    def meaning(self) -> str:
        """What the number is."""
        where = "of Bayes decisions" if self.actual else "at the best threshold"
        priors = " and ".join(f"{p_target:g}" for p_target, _, _ in self.at.points)
        return f"detection cost {where}, target prior {priors}"

    def __call__(self, predictions: Predictions) -> float:
        """Return the mean over the points."""
        metric = ActDCF if self.actual else MinDCF
        return float(np.mean([metric(*point)(predictions) for point in self.at.points]))


def detection_costs(dcfs: Sequence[OperatingPoints], *, raw: bool) -> dict[str, DetectionCost]:
    """Return the costs at operating points by name; of raw scores only the minimal ones."""
    costs = [
        DetectionCost(points, actual)
        for points in dcfs
        for actual in ((False,) if raw else (False, True))
    ]
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
