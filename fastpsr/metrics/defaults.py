"""The default metrics of tables, by the kind of the scores."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from fastpsr.calibration import CrossFit, TrainOnTest
from fastpsr.calibration.affine import DirectionPreserving
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.pav import PAV
from fastpsr.calibration.training import Training
from fastpsr.costs import CostMatrix
from fastpsr.data import Data, Kind
from fastpsr.errors import ArgumentError
from fastpsr.kernels.blocks import thread_count
from fastpsr.metrics import (
    AUC,
    ECE,
    EER,
    ActADCF,
    ActDCF,
    AveragePrecision,
    BayesRisk,
    BrierScore,
    CalibrationLoss,
    Cllr,
    CrossEntropy,
    DecisionRate,
    Metric,
    MinADCF,
    MinCllr,
    MinDCF,
    MinTDCF,
)
from fastpsr.metrics.base import AnyMetric, check_metric, name_of
from fastpsr.metrics.decision_rates import RATES, RATES_OF_ANY_CLASSES
from fastpsr.rules import Log

Metrics = dict[str, Metric[Any]]
#: A metric, a function of predictions, or a name in default tables.
NamedMetric = AnyMetric | str
_EER = EER()
_FOLDS = 5  # taken for folds that are given by sample
_LEFT_OUT = 400  # groups to leave out in turn, with a new fit, for the interval of a loss
_SECONDS_OF_NUMBER = 2e-8  # of a processor, in a refit; measured with 3 to 100 classes
#: Labels in tables by other usual names of metrics, in lower case and without separators.
_OTHER_NAMES = {"crossentropy": "nce", "brierscore": "nbs", "rocauc": "auc", "cllrmin": "mincllr"}
_NOT_RAW: tuple[Kind, ...] = ("likelihoods", "posteriors")


@dataclass(frozen=True, eq=False)
class BoundOnTheseSamples(CalibrationLoss):
    """The relative calibration loss of PAV trained on the evaluated data, as a bound on these.

    It has no interval in a table: the interval of :class:`fastpsr.CalibrationLoss` is for the
    population value, which the optimistic bound does not estimate.
    """

    has_interval = False

    @property
    def meaning(self) -> str:
        return f"{super().meaning}: an optimistic bound on these samples"

    def with_interval(self) -> CalibrationLoss:
        """Return the metric with an interval, for the value of the population."""
        return CalibrationLoss(self.rule, self.calibrator, self.train, self.relative)


@dataclass(frozen=True, eq=False)
class LossOfTable(CalibrationLoss):
    """The relative calibration loss of a table, with the name of the best calibrator.

    In a default table, which nobody asked it for by name, it has no interval that takes long.
    """

    is_asked: bool = False

    def with_interval(self) -> CalibrationLoss:
        """Return the metric, whose interval is computed however long that takes."""
        return replace(self, is_asked=True)

    def seconds_of_refits(self, data: Data, n_resamples: int) -> float:
        """Estimate the time of the interval of several classes: rows x classes x fits."""
        if self.is_asked or not self.train.refits or data.n_classes == 2:
            return 0.0
        folds = getattr(self.train, "folds", 1)
        n_folds = int(folds) if isinstance(folds, (int, np.integer)) else _FOLDS
        n_fits = n_folds * (n_resamples + _LEFT_OUT)
        return _SECONDS_OF_NUMBER * n_fits * len(data) * data.n_classes / thread_count()


def default_metrics(
    n_classes: int,
    kind: Kind = "posteriors",
    *,
    costs: CostMatrix | None = None,
    eer: EER = _EER,
    detection: Sequence[MinDCF] | None = None,
    spoofing: Sequence[MinADCF | MinTDCF] = (),
    calibrator: Calibrator | None = None,
    train: Training | None = None,
) -> Metrics:
    """Return the default metrics by name; for raw scores only metrics of ranks.

    `costs` adds its Bayes risk. `detection` are detection costs in place of the usual one, and
    `spoofing` detection costs for lists with spoofed trials, or of these and bona fide ones.
    """
    detection = operating_points(n_classes, kind) if detection is None else detection
    of_costs = costs_by_name(detection, kind)
    of_costs |= costs_by_name(spoofing, kind)
    if kind == "raw scores":
        return {eer.label: eer} | of_costs | {"minCllr": MinCllr(), "AUC": AUC()}
    zero_one: Metrics = {"NRisk zero-one": BayesRisk(CostMatrix.zero_one(n_classes))}
    scores: Metrics = {"NCE": CrossEntropy(), "NBS": BrierScore()}
    risk: Metrics = {} if costs is None else {"NRisk costs": BayesRisk(costs)}
    calibrator = DirectionPreserving() if calibrator is None else calibrator
    loss: Metrics = {"RCL": LossOfTable(Log(), calibrator, CrossFit() if train is None else train)}
    if n_classes == 2 and kind == "likelihoods":
        ranks: Metrics = {"Cllr": Cllr(), "minCllr": MinCllr(), "AUC": AUC()}
        return {eer.label: eer} | of_costs | ranks | scores | risk | loss
    errors: Metrics = {"ECEmc": ECE(on="confidence")}
    if n_classes == 2:
        bound: Metrics = {"RCL bound": BoundOnTheseSamples(Log(), PAV(), TrainOnTest())}
        errors = bound | {"ECE": ECE()} | errors
    return scores | zero_one | risk | loss | errors | of_costs


def other_metrics(n_classes: int, kind: Kind) -> Metrics:
    """Return metrics that have names but are in no default table."""
    if n_classes == 2:
        of_ranks: Metrics = {"AP": AveragePrecision()}
    else:
        areas = *map(AUC, AUC.means), *map(AveragePrecision, AveragePrecision.means)
        of_ranks = {metric.label: metric for metric in areas}
    if kind == "raw scores":
        return of_ranks
    rates = RATES if n_classes == 2 else RATES_OF_ANY_CLASSES
    on: Any = "class" if n_classes == 2 else "confidence"
    largest_error = ECE(on=on, norm="max")
    return {
        "log loss": CrossEntropy(normalized=False),
        "Brier": BrierScore(normalized=False, per_class=n_classes == 2),
        **of_ranks,
        **{rate.label: rate for rate in map(DecisionRate, rates)},
        "ECEcw": ECE(on="classwise"),
        largest_error.label: largest_error,
    }


def operating_points(n_classes: int, kind: Kind) -> list[MinDCF]:
    """Return the default detection costs: none for posteriors and for several classes."""
    return [MinDCF(0.01)] if n_classes == 2 and kind != "posteriors" else []


def metrics_named(
    metric: NamedMetric, n_classes: int, kind: Kind, argument: str = "metrics", **options: Any
) -> dict[str, AnyMetric]:
    """Return a metric by its name, or all metrics that match a text, ignoring case and separators.

    A text is a name of any default table of such data, or of `other_metrics`; without parentheses
    it means the metrics at all operating points. `options` are those of :func:`default_metrics`.
    """
    if not isinstance(metric, str):
        check_metric(metric, argument)
        return {name_of(metric): metric}
    candidates = default_metrics(n_classes, kind, **options)
    of_other_kinds: Metrics = {}
    for other_kind in _NOT_RAW:
        of_other_kinds |= default_metrics(n_classes, other_kind, **options)
    if kind != "raw scores":
        candidates |= of_other_kinds
    candidates |= other_metrics(n_classes, kind)
    named_metrics = _called(metric, candidates)
    if not named_metrics:
        rule = f"must be among {', '.join(candidates)}, not {metric.strip()!r}"
        if _called(metric, of_other_kinds):
            rule += ", which raw scores have no value of, as they only rank: calibrate them first"
        point = re.match(r"(?:min|act)DCF\W([\d.:e-]+)", metric.strip(), re.IGNORECASE)
        remedy = "pass another operating point as a metric, such as fp.MinDCF(0.1)" if point else ""
        pass_ = {"dcf": point[1]} if point else {}
        raise ArgumentError(argument, rule, remedy=remedy, pass_=pass_)
    return {
        name: named.with_interval()
        if isinstance(named, BoundOnTheseSamples | LossOfTable)
        else named
        for name, named in named_metrics.items()
    }


def named_metric(
    metric: NamedMetric, n_classes: int, kind: Kind, argument: str = "metrics", **options: Any
) -> tuple[str, AnyMetric]:
    """Return the metric of a name, which must match exactly one, with its full name."""
    by_name = metrics_named(metric, n_classes, kind, argument, **options)
    if len(by_name) > 1:
        raise ArgumentError(argument, f"must be one of {', '.join(by_name)}, not {metric!r}")
    return next(iter(by_name.items()))


def _called(text: str, candidates: Metrics) -> Metrics:
    """Return the metrics of a name, with or without parentheses."""
    wanted, names = _plain(text), {name: _plain(name) for name in candidates}
    wanted = _OTHER_NAMES.get(wanted, wanted)
    matches = [name for name in names if names[name] == wanted]
    matches = matches or [name for name in names if names[name].split("(")[0] == wanted]
    return {name: candidates[name] for name in matches}


def _plain(name: str) -> str:
    """Return a name in lower case, without spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]", "", name.lower())


def common_kind(kinds: Iterable[Kind]) -> Kind:
    """Return the kind whose default metrics systems with scores of these kinds share."""
    order: list[Kind] = ["raw scores", "likelihoods", "posteriors"]
    return min(kinds, key=order.index)


def costs_by_name(minimal: Iterable[MinDCF | MinADCF | MinTDCF], kind: Kind) -> Metrics:
    """Return minimal detection costs, and but for raw scores the actual ones, by name."""
    table: Metrics = {}
    for cost in minimal:
        table[cost.label] = cost
        if kind != "raw scores" and not isinstance(cost, MinTDCF):
            arguments = {part.name: getattr(cost, part.name) for part in fields(cost)}
            actual = ActDCF(**arguments) if isinstance(cost, MinDCF) else ActADCF(**arguments)
            table[actual.label] = actual
    return table
