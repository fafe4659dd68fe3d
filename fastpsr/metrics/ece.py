"""The expected calibration error."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastpsr import checks
from fastpsr.counts import shared
from fastpsr.counts.bins import (
    BinSums,
    BinTotals,
    Events,
    quantile_edges,
    uniform_edges,
)
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats
from fastpsr.interval_rule import IntervalRule
from fastpsr.metrics.base import Metric, Statistic


@dataclass(frozen=True, eq=False)
class ECE(Metric[BinTotals]):
    """Expected calibration error: mean difference between frequency and posterior over bins.

    Provided for comparison with other work. It depends on the choice of bins, uses only one
    posterior of each sample, estimates calibrated posteriors on the test data themselves, and is
    not based on a proper scoring rule (Ferrer and Ramos, 2024, section 2.5.2 and appendix B).
    Prefer ``CalibrationLoss``.

    Parameters
    ----------
    bins : int
        Number M of bins over [0, 1]; bins are (low, high], and 0 lies in the first.
    on : {"class", "confidence"}
        "class" compares the posterior of class 1 with the frequency of class 1 (binary tasks).
        "confidence" compares the largest posterior of each sample with the accuracy of the most
        probable class, the first one on ties (ECEmc in Ferrer and Ramos, 2024).
    norm : {1, 2}
        1: ``sum_m w_m |d_m|``; 2: ``sqrt(sum_m w_m d_m^2)``, with w_m the fraction of samples in
        bin m, and d_m the difference between frequency and mean posterior.
    binning : {"uniform", "quantile"}
        Bin edges at i/M, or at the weighted quantiles i/M of the posteriors.

    Returns
    -------
    float
        A fraction, not percent.

    Raises
    ------
    ValueError
        For raw scores, or ``on="class"`` with more than 2 classes.

    Notes
    -----
    Posteriors are binned as given, without normalization. Given priors change the weights of the
    samples.

    References
    ----------
    M. P. Naeini et al., "Obtaining well calibrated probabilities using Bayesian binning", AAAI
    2015; L. Ferrer and D. Ramos, "Evaluating Posterior Probabilities: Decision Theory, Proper
    Scoring Rules, and Calibration", 2024, arXiv:2408.02841, Equation 27.

    Examples
    --------
    >>> import fastpsr as fp
    >>> round(fp.ECE(bins=5)([0, 1, 0, 1], [0.1, 0.3, 0.3, 0.9]), 4)
    0.15
    """

    bins: int = 15
    on: Literal["class", "confidence"] = "class"
    norm: Literal[1, 2] = 1
    binning: Literal["uniform", "quantile"] = "uniform"

    def __post_init__(self) -> None:
        checks.check_bins(self.bins)
        checks.check_choice("on", self.on, ("class", "confidence"))
        checks.check_choice("norm", self.norm, (1, 2))
        checks.check_choice("binning", self.binning, ("uniform", "quantile"))

    @property
    def label(self) -> str:
        return "ECE" if self.on == "class" else "ECEmc"

    @property
    def meaning(self) -> str:
        binned = "posterior of class 1" if self.on == "class" else "largest posterior"
        return f"calibration error in {self.bins} bins of the {binned}; diagnostic only"

    unit = "fraction"
    interval_rule = IntervalRule("inverted test", "inverted test")
    value_range = (0.0, 1.0)

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        metrics: list[Metric[Any]] = [
            cls(on="confidence"), cls(7, "confidence", 2), cls(5, "confidence", 1, "quantile")
        ]  # fmt: skip
        return metrics if data.n_classes > 2 else [cls(), cls(10, "class", 2, "quantile"), *metrics]

    def total(self, data: Data) -> BinTotals:
        if self.binning == "uniform":
            return super().total(data)
        data.require_posteriors("calibration errors")
        name = ("quantile bins", self.bins, self.on)
        return shared(name, data, lambda: self._quantile_totals(data))

    def _quantile_totals(self, data: Data) -> BinTotals:
        edges = quantile_edges(self._events, self.bins, data)
        totals: BinTotals = self._sums_of(edges, data).total(data)
        return totals

    def sums(self, data: Data) -> Sums | None:
        if self.binning == "quantile":  # edges differ between replicates
            return None
        data.require_posteriors("calibration errors")
        return self._sums_of(uniform_edges(self.bins), data)

    def _sums_of(self, edges: Floats, data: Data) -> BinSums:
        return BinSums(data.n_classes, edges, self._events, data.given_priors)

    def finish(self, summary: BinTotals) -> float:
        errors = self.errors(summary)
        if self.norm == 1:
            return float(np.abs(errors).sum())
        return float(np.sqrt((errors * errors).sum()))

    def errors(self, summary: BinTotals) -> Floats:
        """Return (M,) signed errors of the bins, of which the value is the norm."""
        weight, hits, posterior = summary.shares
        if self.norm == 1:
            return hits - posterior
        used = weight > 0.0
        return np.where(used, hits - posterior, 0.0) / np.sqrt(np.where(used, weight, 1.0))

    @property
    def signed_errors(self) -> "ErrorsOfBins":
        """The statistic of the signed errors of the bins, whose norm is the value."""
        return ErrorsOfBins(self)

    @property
    def _events(self) -> Events:
        return Events(self.on)


@dataclass(frozen=True, eq=False)
class ErrorsOfBins(Statistic[BinTotals, Floats]):
    """The (M,) signed errors of the bins of a calibration error."""

    metric: ECE
    label = "errors of bins"

    def total(self, data: Data) -> BinTotals:
        return self.metric.total(data)

    def sums(self, data: Data) -> Sums | None:
        return self.metric.sums(data)

    def finish(self, summary: BinTotals) -> Floats:
        return self.metric.errors(summary)
