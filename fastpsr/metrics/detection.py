"""Detection metrics: costs of binary systems."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastpsr import checks
from fastpsr.caching import cached_property
from fastpsr.counts.decisions import ThresholdSums, llrs_of, rates_at_steps
from fastpsr.counts.ranks import RankTable
from fastpsr.counts.roc import PavBlocks
from fastpsr.counts.sums import LossSums, ScoreTotals, Sums
from fastpsr.data import Data, Floats, Part, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import (
    OF_LOSSES,
    OF_MINIMAL_COSTS,
    ONE_TERM,
    TWO_TERMS,
    IntervalRule,
)
from fastpsr.metrics.base import LLRMetric
from fastpsr.metrics.expected_score import normalize
from fastpsr.metrics.operating_points import PointMetric
from fastpsr.metrics.ranks import HullMetric
from fastpsr.rules import Log


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
        object.__setattr__(self, "p_target", checks.as_inner_number("p_target", self.p_target))
        for name, prior in (("c_miss", self.p_target), ("c_fa", 1.0 - self.p_target)):
            value = checks.as_number(name, getattr(self, name))
            if not 0.0 < value < np.inf:
                raise ArgumentError(name, f"must be positive and finite, not {value}")
            if value * prior == 0.0:
                raise ArgumentError(name, f"must not vanish at the prior {prior}, as {value} does")
            object.__setattr__(self, name, value)

    def normalized(self, p_miss: Any, p_fa: Any) -> Any:
        """Return the detection cost, divided by the cost of the best constant decision."""
        miss, fa = self.c_miss * self.p_target, self.c_fa * (1.0 - self.p_target)
        with np.errstate(over="ignore"):  # the ratio may overflow to inf
            return (miss * p_miss + fa * p_fa) / self.default

    @property
    def default(self) -> float:
        """The cost of the better constant decision, the divisor of costs."""
        return min(self.c_miss * self.p_target, self.c_fa * (1.0 - self.p_target))

    @property
    def threshold(self) -> float:
        """The LLR with equal expected costs of accepting and rejecting."""
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


@dataclass(frozen=True, eq=False)
class _MeanCost:
    """Fields and operating points of `MinDCF` and `ActDCF`."""

    _title: ClassVar[str]
    _decisions: ClassVar[str]

    p_target: float | str
    c_miss: float = 1.0
    c_fa: float = 1.0

    reference_value = 1.0

    def __post_init__(self) -> None:
        (first, *_) = self.costs
        if not isinstance(self.p_target, str):
            for name in ("p_target", "c_miss", "c_fa"):
                object.__setattr__(self, name, getattr(first, name))

    @cached_property
    def costs(self) -> tuple[DetectionCost, ...]:
        """The operating points; the metric is the mean over them."""
        return detection_costs(self.p_target, self.c_miss, self.c_fa)

    @property
    def _name(self) -> str:
        """Name of the operating points in labels."""
        return self.p_target if isinstance(self.p_target, str) else str(self.costs[0])

    @property
    def _priors(self) -> str:
        return " and ".join(f"{cost.p_target:g}" for cost in self.costs)

    @property
    def label(self) -> str:
        return f"{self._title}({self._name})"

    @property
    def meaning(self) -> str:
        return f"normalized detection cost {self._decisions}, target prior {self._priors}"

    example_arguments = ((0.01,), (0.5, 1.0, 10.0), ("sre21",))


@dataclass(frozen=True, eq=False)
class MinDCF(_MeanCost, HullMetric, PointMetric[PavBlocks | RankTable]):
    """Normalized detection cost at the best threshold on the evaluated data.

    ``min_t [c_miss pi P_miss(t) + c_fa (1 - pi) P_fa(t)] / min(c_miss pi, c_fa (1 - pi))``.

    Parameters
    ----------
    p_target : float or str
        Prior pi of a target, strictly between 0 and 1; or the name of an evaluation in
        ``fp.metrics.PRESETS``, such as "sre21": the mean over its operating points (C_primary).
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, positive.

    Returns
    -------
    float
        At most 1. Optimistic for small data sets: the threshold is chosen on the evaluated data.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.MinDCF(0.5)([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    0.3333333333333333
    """

    _title, _decisions = "minDCF", "at the best threshold"
    interval_rule = OF_MINIMAL_COSTS
    value_range = (0.0, 1.0)

    def finish(self, summary: PavBlocks | RankTable) -> float:
        hull = summary.blocks.hull
        return float(sum(cost.normalized(*hull).min() for cost in self.costs) / len(self.costs))

    def vertex_of(self, blocks: PavBlocks) -> int:
        if len(self.costs) > 1:
            raise ArgumentError(
                "p_target",
                f"must be one prior for an operating point, not {self.p_target!r}, a mean over "
                f"{self._priors}: take MinDCF({self.costs[0].p_target:g})",
            )
        return int(np.argmin(self.costs[0].normalized(*blocks.hull)))


@dataclass(frozen=True, eq=False)
class ActDCF(_MeanCost, LLRMetric[Floats]):
    """Normalized detection cost of Bayes decisions made with the LLRs.

    A trial is accepted if its LLR is at least ``log[c_fa (1 - pi) / (c_miss pi)]``.

    Parameters
    ----------
    p_target : float or str
        Prior pi of a target, strictly between 0 and 1; or the name of an evaluation in
        ``fp.metrics.PRESETS``, such as "sre21": the mean over its operating points (C_primary).
    c_miss, c_fa : float
        Costs of a miss and of a false alarm, positive.

    Returns
    -------
    float
        Above 1 a constant decision would have cost less.

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, or if a class has no samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> fp.ActDCF(0.5)([0, 0, 0, 1, 1, 1], [-2.0, -1.0, 1.5, -0.5, 1.0, 2.0])
    0.6666666666666666
    """

    interval_rule = OF_LOSSES
    value_range = (0.0, math.inf)

    _title, _decisions = "actDCF", "of Bayes decisions"
    binary_only = True

    def sums(self, data: Data) -> Sums:
        data.require_posteriors("decisions at a fixed threshold")
        checks.check_binary("LLRs", data.n_classes)
        return ThresholdSums(llrs_of, np.array(self._thresholds), data.has_fixed_llrs)

    def finish(self, summary: Floats) -> float:
        rates = zip(self.costs, self.rates(summary), strict=True)
        return float(sum(cost.normalized(*pair) for cost, pair in rates) / len(self.costs))

    def rates(self, summary: Floats) -> list[tuple[float, float]]:
        """Return the miss and false-alarm rates at each operating point."""
        p_miss, p_fa = rates_at_steps(summary)
        places = [self._thresholds.index(cost.threshold) for cost in self.costs]
        return [(float(p_miss[place]), float(p_fa[place])) for place in places]

    @cached_property
    def _thresholds(self) -> list[float]:
        return sorted({cost.threshold for cost in self.costs})


@dataclass(frozen=True, eq=False)
class _CostOfLLRs:
    """Field of `Cllr` and `MinCllr`."""

    p_target: float = 0.5

    reference_value = 1.0
    _name = "Cllr"

    def __post_init__(self) -> None:
        object.__setattr__(self, "p_target", checks.as_inner_number("p_target", self.p_target))

    @property
    def label(self) -> str:
        return self._name if self.p_target == 0.5 else f"{self._name}({self.p_target:g})"

    @property
    def unit(self) -> str:
        return "bits" if self.p_target == 0.5 else ""

    example_arguments = ((), (0.01,))


@dataclass(frozen=True, eq=False)
class Cllr(_CostOfLLRs, LLRMetric[ScoreTotals]):
    """Cost of the log-likelihood ratio: log loss of LLRs at a prior, divided by that of LLR 0.

    At prior 1/2 it is ``[mean over targets of log2(1 + e^-llr) + mean over non-targets of
    log2(1 + e^llr)] / 2``.

    Parameters
    ----------
    p_target : float
        Prior of a target, strictly between 0 and 1, used to convert LLRs to posteriors.

    Returns
    -------
    float
        In bits at prior 1/2; 1 if all LLRs are 0, infinite if a target has LLR -inf or a
        non-target LLR inf.

    Raises
    ------
    ValueError
        For raw scores, more than 2 classes, or if a class has no samples.

    References
    ----------
    N. Brummer and J. du Preez, "Application-independent evaluation of speaker detection", Computer
    Speech and Language 20, 2006, doi:10.1016/j.csl.2005.08.001.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.Cllr()([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0]), 4)
    0.6646
    """

    meaning = "log loss of the LLRs relative to LLR 0"
    binary_only = True
    interval_rule = OF_LOSSES
    value_range = (0.0, math.inf)

    def sums(self, data: Data) -> Sums:
        data.require_posteriors("costs of LLRs")
        priors = np.array([1.0 - self.p_target, self.p_target])
        return _LlrSums(2, Log(), priors, data.has_fixed_llrs)

    def finish(self, summary: ScoreTotals) -> float:
        return normalize(summary.mean(), Log(), summary.priors)


@dataclass(frozen=True, eq=False)
class MinCllr(_CostOfLLRs, HullMetric):
    """Cllr after the best monotone map of the scores to LLRs (PAV on the evaluated data).

    Parameters
    ----------
    p_target : float
        Prior of a target, strictly between 0 and 1.

    Returns
    -------
    float
        0 to 1. Optimistic for small data sets: the map is trained on the evaluated data.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.MinCllr()([0, 0, 1, 1], [-2.0, 0.5, 0.0, 3.0]), 4)
    0.5
    """

    meaning = "Cllr after the best monotone map, trained on the same data"
    _name = "minCllr"
    interval_rule = IntervalRule("subsampling", "subsampling", "log", TWO_TERMS, ONE_TERM)
    value_range = (0.0, 1.0)

    def finish(self, summary: PavBlocks | RankTable) -> float:
        negatives, positives = summary.class_totals("minCllr")
        non = summary.blocks.negatives / negatives * (1.0 - self.p_target)
        tar = summary.blocks.positives / positives * self.p_target
        # a block with samples of one class only has loss 0
        loss = _times_log(tar, non) + _times_log(non, tar)
        return loss / self._default

    @cached_property
    def _default(self) -> float:
        """The loss of LLRs of 0."""
        return float(Log().entropy([1.0 - self.p_target, self.p_target]))


@dataclass(frozen=True, eq=False)
class _LlrSums(LossSums):
    """The losses of LLRs at given priors."""

    are_reweightable: bool

    def columns(self, part: Part, *companions: Part) -> tuple[Floats, ...]:
        return (self.rule.losses_of(self._at_priors(part.predictions)),)

    def totals(self, part: Part, *companions: Part) -> tuple[Floats, Floats]:
        losses = self.rule.summed_losses(self._at_priors(part.predictions))
        return part.predictions.class_weights, losses[:, None]

    def _at_priors(self, predictions: Predictions) -> Predictions:
        assert self.given_priors is not None
        return predictions.as_llrs(self.given_priors[1])


def _times_log(part: Floats, rival: Floats) -> float:
    """Return the sum of ``part log((part + other) / part)``, 0 where part is 0."""
    used = part > 0.0
    with np.errstate(over="ignore"):  # if the part is nearly 0
        logs = np.log1p(rival[used] / part[used])
    tiny = np.isinf(logs)
    logs[tiny] = np.log(rival[used][tiny]) - np.log(part[used][tiny])
    return float((part[used] * logs).sum())
