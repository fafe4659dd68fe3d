"""Detection costs of trials with spoofing attacks: a-DCF."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.counts.decisions import (
    KindCounts,
    KindDecisionSums,
    as_spoof,
    kind_cell_sums,
)
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats, Predictions, picked_ids
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import OF_LOSSES, OF_MINIMAL_COSTS
from fastpsr.metrics.base import LLRMetric, Metric
from fastpsr.metrics.ranks import RankMetric


@dataclass(frozen=True, eq=False)
class _SpoofingCost(Metric[KindCounts]):
    """Fields and cost of `MinADCF` and `ActADCF`."""

    spoof: ArrayLike | str
    p_nontarget: float = 0.05
    p_spoof: float = 0.05
    c_miss: float = 1.0
    c_fa: float = 10.0
    c_fa_spoof: float = 20.0

    binary_only = True
    reference_value = 1.0

    def __post_init__(self) -> None:
        for name in ("p_nontarget", "p_spoof"):
            value = checks.as_number(name, getattr(self, name))
            if not 0.0 < value < 1.0:
                raise ArgumentError(name, f"must lie strictly between 0 and 1, not {value}")
            object.__setattr__(self, name, value)
        if self.p_nontarget + self.p_spoof >= 1.0:
            raise ArgumentError(
                "p_spoof",
                "must leave a prior for targets: p_nontarget + p_spoof must be below 1, not "
                f"{self.p_nontarget + self.p_spoof:g}",
            )
        for name in ("c_miss", "c_fa", "c_fa_spoof"):
            value = checks.as_number(name, getattr(self, name))
            if not 0.0 < value < np.inf:
                raise ArgumentError(name, f"must be positive and finite, not {value}")
            object.__setattr__(self, name, value)
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
    def _priors(self) -> str:
        return f"priors {self.p_nontarget:g} of a non-target, {self.p_spoof:g} of a spoofed trial"

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

    @property
    def label(self) -> str:
        return f"minADCF({self._name})"

    @property
    def meaning(self) -> str:
        return f"normalized a-DCF at the best threshold, {self._priors}"

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

    @property
    def label(self) -> str:
        return f"actADCF({self._name})"

    @property
    def meaning(self) -> str:
        return f"normalized a-DCF of Bayes decisions, {self._priors}"

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
