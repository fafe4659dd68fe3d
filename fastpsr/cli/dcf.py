"""Detection cost presets: where evaluations put their operating points."""

from dataclasses import dataclass

import numpy as np

from fastpsr.metrics import ActDCF, MinDCF
from fastpsr.predictions import Predictions

__all__ = ["PRESETS", "DetectionCost", "parse_dcf"]

# Priors of a target, at costs 1 and 1; the metric is the mean over them.
PRESETS = {
    "sre16": (0.01, 0.005),
    "sre18": (0.01, 0.005),
    "sre18-vast": (0.05,),
    "sre19": (0.01, 0.005),
    "sre21": (0.01, 0.05),
    "voxsrc": (0.05,),
}


@dataclass(frozen=True, eq=False)
class DetectionCost:
    """The mean normalized detection cost over operating points, minimal or actual."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    actual: bool

    @property
    def label(self) -> str:
        """Name for tables."""
        return f"{'actDCF' if self.actual else 'minDCF'}({self.name})"

    @property
    def meaning(self) -> str:
        """What the number is."""
        where = "of Bayes decisions" if self.actual else "at the best threshold"
        priors = " and ".join(f"{p_target:g}" for p_target, _, _ in self.points)
        return f"detection cost {where}, target prior {priors}"

    def __call__(self, predictions: Predictions) -> float:
        """Return the mean over the points."""
        metric = ActDCF if self.actual else MinDCF
        return float(np.mean([metric(*point)(predictions) for point in self.points]))


def parse_dcf(text: str) -> tuple[str, tuple[tuple[float, float, float], ...]]:
    """Return the name and the points of a preset, or of ``P`` or ``P:CMISS:CFA``."""
    if text in PRESETS:
        return text, tuple((p_target, 1.0, 1.0) for p_target in PRESETS[text])
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        numbers += [1.0, 1.0]
    if len(numbers) != 3:
        raise ValueError(
            f"--dcf must be {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA, not {text!r}"
        )
    MinDCF(*numbers)  # checks them
    return text, ((numbers[0], numbers[1], numbers[2]),)
