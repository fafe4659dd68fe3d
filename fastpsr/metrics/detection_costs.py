"""Detection costs at an operating point, and presets of evaluations."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.errors import ArgumentError


@dataclass(frozen=True)
class DetectionCost:
    """Operating point: prior of a target, and costs of a miss and of a false alarm.

    Attributes
    ----------
    p_target : float
        Strictly between 0 and 1.
    c_miss, c_fa : float
        Positive and finite.
    """

    p_target: float
    c_miss: float = 1.0
    c_fa: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_target", as_p_target(self.p_target))
        for name, prior in (("c_miss", self.p_target), ("c_fa", 1.0 - self.p_target)):
            value = checks.as_number(name, getattr(self, name))
            if not 0.0 < value < np.inf:
                raise ArgumentError(name, f"must be positive and finite, not {value}")
            if value * prior == 0.0:
                raise ArgumentError(name, f"must not vanish at the prior {prior}, as {value} does")
            object.__setattr__(self, name, value)

    def normalized(self, p_miss: Any, p_fa: Any) -> Any:
        """Return the detection cost, divided by that of the best constant decision."""
        miss, fa = self.c_miss * self.p_target, self.c_fa * (1.0 - self.p_target)
        with np.errstate(over="ignore"):  # the ratio may overflow to inf
            return (miss * p_miss + fa * p_fa) / self.default

    @property
    def default(self) -> float:
        """The cost of the better constant decision, by which costs are divided."""
        return min(self.c_miss * self.p_target, self.c_fa * (1.0 - self.p_target))

    @property
    def threshold(self) -> float:
        """The LLR at which accepting costs as much as rejecting."""
        prior_odds = self.p_target / (1.0 - self.p_target)
        return float(np.log(self.c_fa) - np.log(self.c_miss) - np.log(prior_odds))

    def __str__(self) -> str:
        costs = "" if self.c_miss == self.c_fa == 1.0 else f":{self.c_miss:g}:{self.c_fa:g}"
        return f"{self.p_target:g}{costs}"


@dataclass(frozen=True)
class Preset:
    """The operating points of an evaluation; its primary cost is the mean of their costs.

    Attributes
    ----------
    costs : tuple of DetectionCost
    source : str
        Document that defines them.
    """

    costs: tuple[DetectionCost, ...]
    source: str


def detection_costs(p_target: Any, c_miss: Any, c_fa: Any) -> tuple[DetectionCost, ...]:
    """Return the operating points of a preset, or the one given by the arguments."""
    if not isinstance(p_target, str):
        return (DetectionCost(p_target, c_miss, c_fa),)
    if p_target not in PRESETS:
        names = ", ".join(PRESETS)
        raise ArgumentError("p_target", f"must be a number, or one of {names}, not {p_target!r}")
    for name, cost in (("c_miss", c_miss), ("c_fa", c_fa)):
        if checks.as_number(name, cost) != 1.0:
            raise ArgumentError(name, f"must be left out beside the preset {p_target!r}")
    return PRESETS[p_target].costs


def as_p_target(p_target: Any) -> float:
    """Return the prior as a float; raise unless it lies strictly between 0 and 1."""
    number = checks.as_number("p_target", p_target)
    if not 0.0 < number < 1.0:
        raise ArgumentError("p_target", f"must lie strictly between 0 and 1, not {number}")
    return number


def _preset(source: str, *priors: float) -> Preset:
    return Preset(tuple(DetectionCost(p_target) for p_target in priors), source)


#: Operating points by the name of the evaluation.
PRESETS = {
    "sre08": Preset((DetectionCost(0.01, 10.0, 1.0),), "NIST SRE 2008 evaluation plan"),
    "sre10": _preset("NIST SRE 2010 evaluation plan, core and extended conditions", 0.001),
    "sre12": _preset("NIST SRE 2012 evaluation plan; all non-targets count alike", 0.01, 0.001),
    "sre16": _preset("NIST SRE 2016 evaluation plan", 0.01, 0.005),
    "sre18": _preset("NIST SRE 2018 evaluation plan, CMN2", 0.01, 0.005),
    "sre18-vast": _preset("NIST SRE 2018 evaluation plan, VAST", 0.05),
    "sre19": _preset("NIST SRE 2019 CTS challenge", 0.01, 0.005),
    "sre19-av": _preset("NIST SRE 2019 multimedia evaluation", 0.05),
    "sre21": _preset("NIST SRE 2021 evaluation plan", 0.01, 0.05),
    "sre24": _preset("as SRE 2021; compare with the NIST SRE 2024 evaluation plan", 0.01, 0.05),
    "voxceleb": _preset("Kaldi's recipe for VoxCeleb, which most papers follow", 0.01),
    "voxsrc": _preset("VoxCeleb Speaker Recognition Challenge 2019 to 2023", 0.05),
    "cnceleb": _preset("CN-Celeb Speaker Recognition Challenge 2022", 0.01),
}
