"""Detection costs of trials with spoofing attacks: a-DCF and t-DCF."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts.decisions import (
    SPOOFED,
    KindCounts,
    KindDecisionSums,
    as_spoof,
    kind_cell_sums,
    kinds_of,
)
from fastpsr.counts.ranks import RankTable
from fastpsr.counts.roc import PavBlocks
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Part, Predictions, picked_ids
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import OF_LOSSES, OF_MINIMAL_COSTS
from fastpsr.metrics.base import LLRMetric, Metric
from fastpsr.metrics.operating_points import EER
from fastpsr.metrics.ranks import HullMetric, RankMetric


@dataclass(frozen=True, eq=False)
class _SpoofingCost(Metric[KindCounts]):
    """Fields and cost of `MinADCF` and `ActADCF`."""

    _title: ClassVar[str]
    _decisions: ClassVar[str]

    spoof: ArrayLike | str
    p_nontarget: float = 0.05
    p_spoof: float = 0.05
    c_miss: float = 1.0
    c_fa: float = 10.0
    c_fa_spoof: float = 20.0

    binary_only = True
    reference_value = 1.0

    def __post_init__(self) -> None:
        _check_costs(self)
        for name, factor in zip(("c_miss", "c_fa", "c_fa_spoof"), self._factors, strict=True):
            if not 0.0 < factor < np.inf:
                value = getattr(self, name)
                raise ArgumentError(name, f"must not vanish at these priors, as {value} does")

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        """Return metrics that take some non-targets for spoofed trials, in parts by "spoof"."""
        spoof: Any = "spoof"
        if isinstance(data, Predictions):
            scores = data.scores if data.n_classes == 2 else data.scores[:, 0]
            spoof = (data.labels == 0) & (np.abs(np.frexp(scores)[0]) < 0.75)  # as good as drawn
        elif spoof not in (data.source.columns or [spoof]):
            return []
        return [cls(spoof), cls(spoof, 0.2, 0.3, 1.0, 1.0, 5.0)]

    @property
    def _factors(self) -> tuple[float, float, float]:
        """Factors of P_miss, P_fa and P_fa of spoofed trials."""
        p_target = 1.0 - (self.p_nontarget + self.p_spoof)
        return (
            self.c_miss * p_target,
            self.c_fa * self.p_nontarget,
            self.c_fa_spoof * self.p_spoof,
        )

    @property
    def _name(self) -> str:
        """Name of the costs in labels."""
        values = [getattr(self, field.name) for field in fields(self)[1:]]
        defaults = [field.default for field in fields(self)[1:]]
        return "asvspoof5" if values == defaults else ":".join(f"{value:g}" for value in values)

    @property
    def meaning(self) -> str:
        priors = f"{self.p_nontarget:g} of a non-target, {self.p_spoof:g} of a spoofed trial"
        return f"normalized a-DCF {self._decisions}, priors {priors}"

    @property
    def label(self) -> str:
        return f"{self._title}({self._name})"

    def normalized(self, p_miss: Any, p_fa: Any, p_fa_spoof: Any) -> Any:
        """Return the cost of error rates, divided by the cost of the best constant decision."""
        miss, fa, fa_spoof = self._factors
        with np.errstate(over="ignore"):  # the ratio may overflow to inf
            return (miss * p_miss + fa * p_fa + fa_spoof * p_fa_spoof) / min(miss, fa + fa_spoof)

    def _costs(self, counts: KindCounts) -> Floats:
        """Return the cost at each threshold."""
        costs: Floats = self.normalized(*counts.error_rates())
        return costs

    def on_rows(self, data: Data, rows: Any) -> Self:
        return replace(self, spoof=picked_ids("spoof", self.spoof, data, rows))


@dataclass(frozen=True, eq=False)
class MinADCF(_SpoofingCost, RankMetric[KindCounts]):
    """Normalized architecture-agnostic detection cost (a-DCF) at the best threshold on the data.

    ``min_t [c_miss pi_tar P_miss(t) + c_fa pi_non P_fa(t) + c_fa_spoof pi_spf P_fa_spf(t)]``,
    divided by ``min(c_miss pi_tar, c_fa pi_non + c_fa_spoof pi_spf)``. P_fa is the rate of accepted
    non-targets, P_fa_spf of accepted spoofed trials. Both are class 0; targets are class 1.

    Parameters
    ----------
    spoof : array-like of bool, shape (N,), or str
        Whether each trial is spoofed; False for targets. Or the name of a column of these values.
    p_nontarget, p_spoof : float
        Priors pi_non and pi_spf, positive, with a sum below 1; pi_tar is the rest.
    c_miss, c_fa, c_fa_spoof : float
        Costs of a miss, of an accepted non-target and of an accepted spoofed trial, positive. The
        defaults of priors and costs are those of ASVspoof 5.

    Returns
    -------
    float
        At most 1. Optimistic for small data sets: the threshold is chosen on the evaluated data.

    Raises
    ------
    ValueError
        For more than 2 classes, a spoofed target, priors or costs out of range, or if there are no
        targets, non-targets or spoofed trials.

    Notes
    -----
    Equal scores are accepted together; the value does not depend on their order. Weights are used
    within each kind of trial. Infinite scores are allowed. Priors of the predictions have no
    effect. Bootstrap replicates have their own number of trials of each kind.

    References
    ----------
    H. Shim et al., "a-DCF: an architecture agnostic metric with application to spoofing-robust
    speaker verification", Odyssey 2024, arXiv:2403.01355, equations 4 and 5; X. Wang et al.,
    "ASVspoof 5: crowdsourced speech data, deepfakes, and adversarial attacks at scale", 2024.

    Examples
    --------
    >>> import fastpsr as fp
    >>> y, spoof = [1, 1, 1, 0, 0, 0, 0], [False] * 5 + [True] * 2
    >>> scores = [3.0, 2.0, 0.5, -1.0, 1.0, 2.5, -2.0]
    >>> round(fp.MinADCF(spoof)(y, scores), 4)
    0.6667
    >>> data = fp.Predictions.from_raw_scores(y, scores)
    >>> round(fp.MinADCF(spoof, c_fa_spoof=1.0)(data), 4)
    0.5
    """

    interval_rule = OF_MINIMAL_COSTS
    value_range = (0.0, 1.0)

    _title, _decisions = "minADCF", "at the best threshold"

    def sums(self, data: Data) -> Sums | None:
        return kind_cell_sums(data, self.spoof)

    def finish(self, summary: KindCounts) -> float:
        return float(self._costs(summary).min())


@dataclass(frozen=True, eq=False)
class ActADCF(_SpoofingCost, LLRMetric[KindCounts]):
    """Normalized architecture-agnostic detection cost (a-DCF) of Bayes decisions with the LLRs.

    A trial is accepted if its LLR is at least
    ``log[(c_fa pi_non + c_fa_spoof pi_spf) / (c_miss pi_tar)]``. The LLR must compare a target
    with the mixture of non-targets and spoofed trials, with weights in proportion to
    ``c_fa pi_non`` and ``c_fa_spoof pi_spf``: then no other decisions cost less in expectation.

    Parameters
    ----------
    spoof, p_nontarget, p_spoof, c_miss, c_fa, c_fa_spoof
        As for :class:`MinADCF`.

    Returns
    -------
    float
        Above 1 a constant decision would have cost less.

    Raises
    ------
    ValueError
        As :class:`MinADCF`, and for raw scores.

    Notes
    -----
    An LLR at the threshold is accepted. Weights are used within each kind of trial. Posteriors are
    turned into LLRs with the priors of the predictions.

    References
    ----------
    As for :class:`MinADCF`, whose threshold is replaced by that of Bayes decisions.

    Examples
    --------
    >>> import fastpsr as fp
    >>> y, spoof = [1, 1, 1, 0, 0, 0, 0], [False] * 5 + [True] * 2
    >>> scores = [3.0, 2.0, 0.5, -1.0, 1.0, 2.5, -2.0]
    >>> round(fp.ActADCF(spoof)(y, scores), 4)
    1.1667
    """

    interval_rule = OF_LOSSES
    value_range = (0.0, np.inf)

    _title, _decisions = "actADCF", "of Bayes decisions"

    @property
    def threshold(self) -> float:
        """The LLR with equal expected costs of accepting and rejecting."""
        miss, fa, fa_spoof = self._factors
        return float(np.log(fa + fa_spoof) - np.log(miss))

    def sums(self, data: Data) -> Sums:
        checks.check_binary("decisions at a fixed threshold", data.n_classes)
        data.require_posteriors("decisions at a fixed threshold")
        spoof = as_spoof(self.spoof, data)
        return KindDecisionSums(spoof, self.threshold, data.has_fixed_llrs)

    def finish(self, summary: KindCounts) -> float:
        return float(self._costs(summary)[1])


@dataclass(frozen=True, eq=False)
class MinTDCF(HullMetric):
    """Normalized tandem detection cost (t-DCF) of a countermeasure at the best threshold.

    The countermeasure passes trials on to a verification system, whose error rates are given.
    Class 1 are bona fide trials, class 0 spoofed ones; higher scores mean bona fide. The cost is
    ``c_0 + min_t [c_1 P_miss(t) + c_2 P_fa(t)]``, divided by ``c_0 + min(c_1, c_2)``, where
    ``c_0 = c_miss pi_tar p_miss + c_fa pi_non p_fa`` is the cost of the verification system alone,
    ``c_1 = c_miss pi_tar - c_0`` and ``c_2 = c_fa_spoof pi_spf p_fa_spoof``.

    Parameters
    ----------
    p_miss, p_fa, p_fa_spoof : float
        Shares of targets that the verification system rejects, and of non-targets and of spoofed
        trials that it accepts. :meth:`behind` computes them from its scores.
    p_nontarget, p_spoof : float
        Priors pi_non and pi_spf, positive, with a sum below 1; pi_tar is the rest.
    c_miss, c_fa, c_fa_spoof : float
        Costs of a rejected target, of an accepted non-target and of an accepted spoofed trial,
        positive. The defaults of priors and costs are those of ASVspoof 2021.

    Returns
    -------
    float
        At most 1. Optimistic for small data sets: the threshold is chosen on the evaluated data.

    Raises
    ------
    ValueError
        For more than 2 classes or one that is absent, numbers out of range, and a verification
        system that costs as much as rejecting all trials, or that no spoofed trial deceives.

    References
    ----------
    T. Kinnunen et al., "Tandem assessment of spoofing countermeasures and automatic speaker
    verification: fundamentals", IEEE/ACM Transactions on Audio, Speech, and Language Processing
    28, 2020, doi:10.1109/TASLP.2020.3009494 (the t-DCF of a countermeasure before a fixed system).

    Examples
    --------
    >>> import fastpsr as fp
    >>> is_bonafide, scores = [1, 1, 1, 0, 0, 0], [3.0, 2.0, -0.5, 1.0, -1.0, -2.0]
    >>> round(fp.MinTDCF(0.02, 0.02, 0.4)(is_bonafide, scores), 4)
    0.3959
    """

    p_miss: float
    p_fa: float
    p_fa_spoof: float
    p_nontarget: float = 0.0095
    p_spoof: float = 0.05
    c_miss: float = 1.0
    c_fa: float = 10.0
    c_fa_spoof: float = 10.0

    reference_value = 1.0
    interval_rule = OF_MINIMAL_COSTS
    value_range = (0.0, 1.0)

    def __post_init__(self) -> None:
        _check_costs(self)
        for name in ("p_miss", "p_fa", "p_fa_spoof"):
            rate = checks.check_number(name, getattr(self, name), 0.0, 1.0, "lie in 0 to 1")
            object.__setattr__(self, name, rate)
        _, of_misses, of_spoofed = self._factors
        if not of_misses > 0.0:
            rule = "must be less, with p_fa: verification costs as much as rejecting all trials"
            raise ArgumentError("p_miss", rule)
        if not of_spoofed > 0.0:
            raise ArgumentError("p_fa_spoof", "must be positive, as the cost of spoofing is 0")

    @classmethod
    def behind(cls, asv: Predictions, spoof: ArrayLike | str, **costs: float) -> Self:
        """Return the metric for a verification system at the threshold of its EER.

        Parameters
        ----------
        asv : Predictions
            Scores of the verification system; class 1 are targets, class 0 non-targets and spoofed
            trials.
        spoof : array-like of bool, shape (N,), or str
            Whether each trial is spoofed, or the name of such a column.
        **costs : float
            Priors and costs, as for the class.

        Examples
        --------
        >>> import fastpsr as fp
        >>> asv = fp.Predictions.from_raw_scores([1, 1, 0, 0, 0, 0], [3, 1, 2, 0, 2.5, -1])
        >>> metric = fp.MinTDCF.behind(asv, [False] * 4 + [True] * 2)
        >>> metric.p_miss, metric.p_fa, metric.p_fa_spoof
        (0.5, 0.5, 0.5)
        """
        is_spoofed = kinds_of(Part.whole(asv), spoof) == SPOOFED
        if not is_spoofed.any():
            raise ArgumentError("spoof", "must mark a trial")
        point = EER("nearest").operating_point(asv[~is_spoofed])
        threshold = point.threshold if point.log_odds is None else point.log_odds
        spoofed = asv[is_spoofed]
        is_accepted = spoofed.scores >= threshold
        rate = float(np.average(is_accepted, weights=spoofed.sample_weight))
        return cls(point.p_miss, point.p_fa, rate, **costs)

    example_arguments = ((0.02, 0.02, 0.4), (0.1, 0.05, 1.0, 0.2, 0.3, 1.0, 1.0, 5.0))

    @property
    def _factors(self) -> tuple[float, float, float]:
        """The cost of verification alone, and the factors of P_miss and P_fa."""
        rejecting = self.c_miss * (1.0 - (self.p_nontarget + self.p_spoof))
        verification = rejecting * self.p_miss + self.c_fa * self.p_nontarget * self.p_fa
        of_spoofed = self.c_fa_spoof * self.p_spoof * self.p_fa_spoof
        return verification, rejecting - verification, of_spoofed

    @property
    def label(self) -> str:
        return f"minTDCF({self.p_miss:g}:{self.p_fa:g}:{self.p_fa_spoof:g})"

    @property
    def meaning(self) -> str:
        rates = f"{self.p_miss:.3g}, {self.p_fa:.3g} and {self.p_fa_spoof:.3g}"
        return f"normalized t-DCF at the best threshold, verification errors {rates}"

    def finish(self, summary: PavBlocks | RankTable) -> float:
        verification, of_misses, of_spoofed = self._factors
        p_miss, p_fa = summary.blocks.hull
        least = float((of_misses * p_miss + of_spoofed * p_fa).min())
        return (verification + least) / (verification + min(of_misses, of_spoofed))


def _check_costs(metric: Any) -> None:
    """Raise unless priors leave a prior for targets, and costs are positive."""
    for name in ("p_nontarget", "p_spoof"):
        prior = checks.as_inner_number(name, getattr(metric, name))
        object.__setattr__(metric, name, prior)
    if metric.p_nontarget + metric.p_spoof >= 1.0:
        raise ArgumentError(
            "p_spoof",
            "must leave a prior for targets: p_nontarget + p_spoof must be below 1, not "
            f"{metric.p_nontarget + metric.p_spoof:g}",
        )
    for name in ("c_miss", "c_fa", "c_fa_spoof"):
        value = checks.as_number(name, getattr(metric, name))
        if not 0.0 < value < np.inf:
            raise ArgumentError(name, f"must be positive and finite, not {value}")
        object.__setattr__(metric, name, value)
