"""The expected calibration error."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from fastpsr import checks
from fastpsr.counts import shared, side_by_side
from fastpsr.counts.bins import BinSums, BinTotals, Events, fixed_edges, quantile_edges
from fastpsr.counts.sums import Sums
from fastpsr.data import Data, Floats
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import IntervalRule
from fastpsr.metrics.base import Metric, Statistic


@dataclass(frozen=True, eq=False)
class ECE(Metric[list[BinTotals] | BinTotals]):
    """Expected calibration error: mean difference between frequency and posterior over bins.

    Provided for comparison with other work. It depends on the choice of bins, uses only one
    posterior of each sample, estimates calibrated posteriors on the test data themselves, and is
    not based on a proper scoring rule (Ferrer and Ramos, 2024, section 2.5.2 and appendix B).
    Prefer ``CalibrationLoss``.

    Parameters
    ----------
    bins : int or sequence of float
        Number M of bins over [0, 1], or their M + 1 ascending edges from 0 to 1; bins are
        (low, high], and 0 lies in the first.
    on : {"class", "confidence", "classwise"}
        "class" compares the posterior of class 1 with the frequency of class 1 (binary tasks).
        "confidence" compares the largest posterior of each sample with the accuracy of the most
        probable class, the first one on ties (ECEmc in Ferrer and Ramos, 2024). "classwise" is the
        mean over all classes of the error of each one's posterior.
    norm : {1, 2, "max"}
        1: ``sum_m w_m |d_m|``; 2: ``sqrt(sum_m w_m d_m^2)``, with w_m the fraction of samples in
        bin m, and d_m the difference between frequency and mean posterior; "max": the largest
        ``|d_m|`` of a bin with samples (MCE), however few they are.
    binning : {"uniform", "quantile"}
        Bin edges at i/M, or at the weighted quantiles i/M of the posteriors.

    Returns
    -------
    float
        A fraction, not percent.

    Raises
    ------
    ValueError
        For raw scores, ``on="class"`` with more than 2 classes, and ``on="classwise"`` with a norm
        other than 1.

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

    bins: int | tuple[float, ...] = 15
    on: Literal["class", "confidence", "classwise"] = "class"
    norm: Literal[1, 2, "max"] = 1
    binning: Literal["uniform", "quantile"] = "uniform"

    def __post_init__(self) -> None:
        if isinstance(self.bins, (list, tuple, np.ndarray)):
            object.__setattr__(self, "bins", _as_edges(self.bins, self.binning))
        else:
            checks.check_bins(self.bins)
        checks.check_choice("on", self.on, ("class", "confidence", "classwise"))
        checks.check_choice("norm", self.norm, (1, 2, "max"))
        if self.on == "classwise" and self.norm != 1:
            raise ArgumentError("norm", f"must be 1 for classwise errors, not {self.norm!r}")
        checks.check_choice("binning", self.binning, ("uniform", "quantile"))

    @property
    def label(self) -> str:
        name = "MCE" if self.norm == "max" else "ECE"
        return name + {"class": "", "confidence": "mc", "classwise": "cw"}[self.on]

    @property
    def meaning(self) -> str:
        kinds = {"class": "posterior of class 1", "confidence": "largest posterior"}
        binned = kinds.get(self.on, "posterior of each class")
        what = "largest calibration error" if self.norm == "max" else "calibration error"
        return f"{what} in {self.n_bins} bins of the {binned}; diagnostic only"

    unit = "fraction"

    @property
    def interval_rule(self) -> IntervalRule:
        """An inverted test; none for the largest error."""
        return IntervalRule() if self.norm == "max" else _INVERTED_TEST

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.bins) - 1 if isinstance(self.bins, tuple) else self.bins

    value_range = (0.0, 1.0)

    @classmethod
    def examples(cls, data: Data) -> list[Metric[Any]]:
        metrics: list[Metric[Any]] = [
            cls(on="confidence"), cls(7, "confidence", 2), cls(5, "confidence", 1, "quantile"),
            cls(norm="max", on="confidence"), cls((0.0, 0.1, 0.5, 1.0), "classwise"),
        ]  # fmt: skip
        return metrics if data.n_classes > 2 else [cls(), cls(10, "class", 2, "quantile"), *metrics]

    def total(self, data: Data) -> list[BinTotals]:
        data.require_posteriors("calibration errors")
        of_events = [partial(self._totals, events, data) for events in self.events(data.n_classes)]
        return side_by_side(*of_events, over=data)

    def _totals(self, events: Events, data: Data) -> BinTotals:
        """Return the totals of the bins of some events; of quantile bins computed once."""
        is_uniform = self.binning == "uniform"

        def compute() -> BinTotals:
            if is_uniform:
                edges = fixed_edges(self.bins)
            else:
                edges = quantile_edges(events, self.n_bins, data)
            sums = BinSums(data.n_classes, edges, events, data.given_priors)
            totals: BinTotals = sums.total(data)
            return totals

        if is_uniform:
            return compute()
        return shared(("quantile bins", self.bins, events.on), data, compute)

    def sums(self, data: Data) -> Sums | None:
        # edges differ between replicates, or several sums are needed
        if self.binning == "quantile" or self.on == "classwise":
            return None
        data.require_posteriors("calibration errors")
        edges = fixed_edges(self.bins)
        return BinSums(data.n_classes, edges, Events(self.on), data.given_priors)

    def finish(self, summary: list[BinTotals] | BinTotals) -> float:
        errors = self.errors(summary)
        if self.norm == "max":
            return float(np.abs(errors).max())
        if self.norm == 1:
            return float(np.abs(errors).sum())
        return float(np.sqrt((errors * errors).sum()))

    def errors(self, summary: list[BinTotals] | BinTotals) -> Floats:
        """Return (M,) signed errors of the bins; their norm is the value."""
        of_events = summary if isinstance(summary, list) else [summary]
        shares = np.stack([totals.shares for totals in of_events])  # (E, 3, M)
        weight, hits, posterior = shares.swapaxes(0, 1).reshape(3, -1)
        errors = (hits - posterior) / len(of_events)
        if self.norm == 1:
            return np.asarray(errors)
        used = weight > 0.0
        divisor = np.where(used, weight, 1.0)
        return np.where(used, errors, 0.0) / (divisor if self.norm == "max" else np.sqrt(divisor))

    def events(self, n_classes: int) -> list[Events]:
        """Return the events whose posteriors are binned."""
        if self.on == "classwise":
            return [Events(k) for k in range(n_classes)]
        return [Events(self.on)]


_INVERTED_TEST = IntervalRule("inverted test", "inverted test")


def _as_edges(bins: Any, binning: str) -> tuple[float, ...]:
    """Return given edges of bins, checked."""
    if binning != "uniform":
        raise ArgumentError("binning", "must be left out where bins are edges")
    edges = checks.as_floats("bins", bins, 1)
    checks.require("bins", edges, 0.0, 1.0, "be edges from 0 to 1")
    if edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0 or not (np.diff(edges) > 0.0).all():
        raise ArgumentError("bins", "must be a number, or ascending edges from 0 to 1")
    return tuple(edges.tolist())


@dataclass(frozen=True, eq=False)
class ErrorsOfBins(Statistic[list[BinTotals] | BinTotals, Floats]):
    """The (M,) signed errors of the bins of a calibration error."""

    metric: ECE
    label = "errors of bins"

    def total(self, data: Data) -> list[BinTotals]:
        return self.metric.total(data)

    def sums(self, data: Data) -> Sums | None:
        return self.metric.sums(data)

    def finish(self, summary: list[BinTotals] | BinTotals) -> Floats:
        return self.metric.errors(summary)
