"""The table of everything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastpsr.calibration import PAV, CrossFit, DirectionPreserving, TrainOnTest
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.training import Training
from fastpsr.costs import CostMatrix
from fastpsr.metrics import (
    AUC,
    ECE,
    EER,
    BayesRisk,
    BrierScore,
    CalibrationLoss,
    CrossEntropy,
    Metric,
    MinCllr,
)
from fastpsr.predictions import Kind, Predictions
from fastpsr.rules import Log

__all__ = ["Evaluation", "Row", "default_metrics", "evaluate"]

AnyMetric = Metric[Any] | Callable[[Predictions], float]


@dataclass(frozen=True, eq=False)
class Row:
    """One line of an evaluation.

    Attributes
    ----------
    metric : str
        Name.
    value : float
        nan where there is none.
    note : str
        What the number is; where it is nan or infinite, why.
    """

    metric: str
    value: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What ``evaluate`` found; prints as a table.

    Attributes
    ----------
    rows : tuple of Row
    n_samples, n_classes : int
    priors : tuple of float
        Class priors of the evaluation.
    n_infinite : int
        Number of samples whose class was given posterior 0: each makes cross-entropy infinite.
    kind : {"posteriors", "likelihoods", "raw scores"}
        What was evaluated.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> round(fp.evaluate(data, [fp.CrossEntropy()])["NCE"], 4)
    0.737
    """

    rows: tuple[Row, ...]
    n_samples: int
    n_classes: int
    priors: tuple[float, ...]
    n_infinite: int
    kind: Kind

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric by name."""
        for row in self.rows:
            if row.metric == metric:
                return row.value
        raise KeyError(f"{metric!r} is not among {', '.join(row.metric for row in self.rows)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings."""
        return {
            "n_samples": self.n_samples,
            "n_classes": self.n_classes,
            "priors": list(self.priors),
            "n_infinite": self.n_infinite,
            "kind": self.kind,
            "rows": [
                {"metric": row.metric, "value": row.value, "note": row.note} for row in self.rows
            ],
        }

    def __str__(self) -> str:
        width = max(len(row.metric) for row in self.rows)
        lines = [self.headline]
        lines += [f"{row.metric:<{width}}  {row.value:>10.4f}  {row.note}" for row in self.rows]
        return "\n".join(line.rstrip() for line in lines)

    @property
    def headline(self) -> str:
        """What was evaluated, in a line."""
        shown = ", ".join(f"{prior:.4g}" for prior in self.priors[:4])
        more = ", ..." if len(self.priors) > 4 else ""
        line = f"{self.n_samples:,} samples, {self.n_classes} classes, priors {shown}{more}"
        if self.n_infinite:
            line += f"; {_say_infinite(self.n_infinite)}"
        if self.kind == "raw scores":
            line += "; raw scores: only metrics of ranks have values"
        return line


def default_metrics(
    n_classes: int,
    *,
    costs: CostMatrix | None = None,
    calibrator: Calibrator | None = None,
    train: Training | None = None,
    raw: bool = False,
) -> dict[str, Metric[Any]]:
    """Return the metrics of the table by name; of `raw` scores those that ranks allow."""
    if raw:
        return {"EER": EER(), "minCllr": MinCllr(), "AUC": AUC()}
    calibrator = DirectionPreserving() if calibrator is None else calibrator
    train = CrossFit() if train is None else train
    table: dict[str, Metric[Any]] = {
        "NCE": CrossEntropy(),
        "NBS": BrierScore(),
        "NRisk zero-one": BayesRisk(CostMatrix.zero_one(n_classes)),
    }
    if costs is not None:
        table["NRisk costs"] = BayesRisk(costs)
    table["RCL"] = CalibrationLoss(Log(), calibrator, train)
    if n_classes == 2:
        table["RCL bound"] = CalibrationLoss(Log(), PAV(), TrainOnTest())
        table["ECE"] = ECE()
    table["ECEmc"] = ECE(on="confidence")
    return table


def evaluate(
    predictions: Predictions,
    metrics: Mapping[str, AnyMetric] | Sequence[AnyMetric] | None = None,
    *,
    progress: Callable[[str], object] | None = None,
) -> Evaluation:
    """Compute a table of metrics.

    Parameters
    ----------
    predictions : Predictions
        Labelled.
    metrics : dict of name to metric, or list of metrics, optional
        Metrics of this package, or any callable that takes predictions and returns a float. By
        default: normalized cross-entropy, Brier score and error rate, relative calibration loss
        with its bound, and the calibration errors; of raw scores EER, minCllr and AUC.
    progress : callable, optional
        Called with the name of each metric before it is computed.

    Returns
    -------
    Evaluation
        A metric that these data do not allow has value nan and a note that says why.

    Raises
    ------
    ValueError
        For unlabelled predictions or an empty list of metrics.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(fp.evaluate(data, [fp.CrossEntropy(), fp.BrierScore()]))
    4 samples, 2 classes, priors 0.5, 0.5
    NCE      0.7370  cross-entropy over that of the priors
    NBS      0.7400  Brier score over that of the priors
    """
    if not isinstance(predictions, Predictions):
        raise ValueError(f"predictions must be Predictions, not {type(predictions).__name__}")
    labels = predictions.labels
    chosen = _named(metrics, predictions)
    if not chosen:
        raise ValueError("metrics must not be empty")
    n_infinite = _count_infinite(predictions.present())
    rows = []
    for name, metric in chosen.items():
        if progress is not None:
            progress(name)
        try:
            value = float(metric(predictions))
            rows.append(Row(name, value, _note(metric, value, n_infinite)))
        except ValueError as error:
            rows.append(Row(name, float("nan"), f"not computed: {error}"))
    priors = tuple(float(prior) for prior in predictions.priors)
    return Evaluation(
        tuple(rows), labels.size, predictions.n_classes, priors, n_infinite, predictions.kind
    )


def _note(metric: AnyMetric, value: float, n_infinite: int) -> str:
    """Return what a number is, or why it is none."""
    if np.isfinite(value) or not isinstance(metric, Metric):
        return str(getattr(metric, "meaning", ""))
    if isinstance(metric, CalibrationLoss) and value < 0.0:
        return f"{type(metric.calibrator).__name__} would make the score infinitely worse"
    what = "undefined" if np.isnan(value) else "infinite"
    return f"{what}: {_say_infinite(n_infinite)}" if n_infinite else f"{what}: {metric.meaning}"


def _say_infinite(n_infinite: int) -> str:
    have = "sample has" if n_infinite == 1 else "samples have"
    return f"{n_infinite:,} {have} posterior 0 for the true class"


def _count_infinite(samples: Predictions) -> int:
    """Return how many samples have posterior 0 for their class, of a class that counts."""
    if samples.kind == "raw scores":
        return 0
    scores, y = samples.scale, samples.labels
    if scores.ndim == 1:
        hopeless = np.where(y == 0, scores == np.inf, scores == -np.inf)
    else:
        hopeless = scores[np.arange(y.size), y] == -np.inf
    return int(np.count_nonzero(hopeless & (samples.priors[y] > 0.0)))


def _named(
    metrics: Mapping[str, AnyMetric] | Sequence[AnyMetric] | None, predictions: Predictions
) -> Mapping[str, AnyMetric]:
    if metrics is None:
        return default_metrics(predictions.n_classes, raw=predictions.kind == "raw scores")
    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            _check_metric(name, metric)
        return metrics
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise ValueError(f"metrics must be a dict or a list of metrics, not {metrics!r}")
    named: dict[str, AnyMetric] = {}
    for metric in metrics:
        _check_metric("", metric)
        name = getattr(metric, "label", getattr(metric, "__name__", repr(metric)))
        if name in named:
            raise ValueError(f"metrics must differ in name, but two are {name!r}: pass a dict")
        named[name] = metric
    return named


def _check_metric(name: object, metric: object) -> None:
    if not isinstance(name, str):
        raise ValueError(f"metrics must have names that are strings, not {name!r}")
    if not callable(metric):
        raise ValueError(f"metrics must be callable, not {metric!r}")
