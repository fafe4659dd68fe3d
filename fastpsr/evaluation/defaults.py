"""The default metrics of tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastpsr.calibration import PAV, CrossFit, DirectionPreserving, TrainOnTest
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.training import Training
from fastpsr.costs import CostMatrix
from fastpsr.errors import ArgumentError
from fastpsr.metrics import (
    AUC,
    ECE,
    EER,
    ActADCF,
    ActDCF,
    BayesRisk,
    BrierScore,
    CalibrationLoss,
    Cllr,
    CrossEntropy,
    Metric,
    MinADCF,
    MinCllr,
    MinDCF,
)
from fastpsr.predictions import Kind
from fastpsr.rules import Log

__all__ = [
    "default_metrics",
    "detection_metrics",
    "metric_by_name",
    "name_in",
    "with_interval",
]

Metrics = dict[str, Metric[Any]]
_EER = EER()


@dataclass(frozen=True, eq=False)
class BoundOnTheseSamples(CalibrationLoss):
    """The relative calibration loss of PAV trained on the evaluated data, as a bound on these.

    It has no interval in a table: that of :class:`fastpsr.CalibrationLoss` is of the value of the
    population, which the optimistic bound is not an estimate of.
    """

    has_interval = False

    @property
    def meaning(self) -> str:
        return f"{super().meaning}: an optimistic bound on these samples"

    def with_interval(self) -> CalibrationLoss:
        """Return the metric, whose interval is that of the value of the population."""
        return CalibrationLoss(self.rule, self.calibrator, self.train, self.relative)


@dataclass(frozen=True, eq=False)
class LossOfTable(CalibrationLoss):
    """The relative calibration loss of a table, which also names the best calibrator."""


def default_metrics(
    n_classes: int,
    kind: Kind = "posteriors",
    *,
    costs: CostMatrix | None = None,
    eer: EER = _EER,
    detection: Sequence[MinDCF] = (),
    calibrator: Calibrator | None = None,
    train: Training | None = None,
) -> Metrics:
    """Return the default metrics of samples by name; for raw scores only metrics of ranks.

    For LLRs of two classes these include EER, Cllr and minCllr.

    `costs` adds its Bayes risk, and each metric of `detection` its minimal and actual cost.
    """
    if kind == "raw scores":
        ranks: Metrics = {eer.label: eer, "minCllr": MinCllr(), "AUC": AUC()}
        return ranks | _costs(detection, kind)
    table: Metrics = {
        "NCE": CrossEntropy(),
        "NBS": BrierScore(),
        "NRisk zero-one": BayesRisk(CostMatrix.zero_one(n_classes)),
    }
    if costs is not None:
        table["NRisk costs"] = BayesRisk(costs)
    table["RCL"] = _calibration_loss(calibrator, train)
    if n_classes == 2:
        table["RCL bound"] = BoundOnTheseSamples(Log(), PAV(), TrainOnTest())
        table["ECE"] = ECE()
    table["ECEmc"] = ECE(on="confidence")
    if kind == "likelihoods" and n_classes == 2:
        table |= {eer.label: eer, "Cllr": Cllr(), "minCllr": MinCllr()}
    return table | _costs(detection, kind)


def detection_metrics(
    kind: Kind = "likelihoods",
    *,
    eer: EER = _EER,
    detection: Sequence[MinDCF] = (),
    spoofing: Sequence[MinADCF] = (),
    calibrator: Calibrator | None = None,
    train: Training | None = None,
) -> Metrics:
    """Return the default metrics of a trial list by name; for raw scores only metrics of ranks.

    `spoofing` are the costs of lists with spoofed trials.
    """
    table: Metrics = {eer.label: eer} | _costs(detection, kind)
    for cost in spoofing:
        table[cost.label] = cost
        if kind != "raw scores":
            actual = ActADCF(**vars(cost))
            table[actual.label] = actual
    if kind == "raw scores":
        return table | {"minCllr": MinCllr(), "AUC": AUC()}
    return table | {
        "Cllr": Cllr(),
        "minCllr": MinCllr(),
        "AUC": AUC(),
        "NCE": CrossEntropy(),
        "NBS": BrierScore(),
        "RCL": _calibration_loss(calibrator, train),
    }


def metric_by_name(text: str, n_classes: int, kind: Kind) -> Metric[Any]:
    """Return a metric of the default tables of such data, by its name in any case."""
    table = default_metrics(n_classes, kind)
    if n_classes == 2:
        table = detection_metrics(kind, detection=[MinDCF(0.01)]) | table
    return with_interval(table[name_in(table, text, "metrics")])


def name_in(table: Metrics, text: str, argument: str) -> str:
    """Return the name of a metric in a table, given in any case, with or without parentheses."""
    wanted = text.strip().lower()
    found = [name for name in table if name.lower() == wanted]
    found = found or [name for name in table if name.lower().split("(")[0] == wanted]
    if len(found) != 1:
        raise ArgumentError(argument, f"must be among {', '.join(table)}, not {text.strip()!r}")
    return found[0]


def with_interval(metric: Metric[Any]) -> Metric[Any]:
    """Return a metric that was asked for by name: the bound alone has no interval in a table."""
    return metric.with_interval() if isinstance(metric, BoundOnTheseSamples) else metric


def _calibration_loss(calibrator: Calibrator | None, train: Training | None) -> LossOfTable:
    calibrator = DirectionPreserving() if calibrator is None else calibrator
    return LossOfTable(Log(), calibrator, CrossFit() if train is None else train)


def _costs(detection: Sequence[MinDCF], kind: Kind) -> Metrics:
    """Return detection costs by name; for raw scores only the minimal ones."""
    table: Metrics = {}
    for cost in detection:
        both: list[Metric[Any]] = [cost, ActDCF(cost.p_target, cost.c_miss, cost.c_fa)]
        table |= {each.label: each for each in (both[:1] if kind == "raw scores" else both)}
    return table
