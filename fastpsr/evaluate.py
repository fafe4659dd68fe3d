"""The table of everything."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.bootstrap import Resampling, bootstrap
from fastpsr.bootstrap.intervals import Method
from fastpsr.bootstrap.request import Request
from fastpsr.calibration import PAV, CrossFit, DirectionPreserving, TrainOnTest
from fastpsr.calibration.base import Calibrator
from fastpsr.calibration.training import Training
from fastpsr.costs import CostMatrix
from fastpsr.evaluation.suspicions import suspicions
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
from fastpsr.metrics.base import check_metric
from fastpsr.plans import (
    Data,
    Part,
    PartitionedPredictions,
    Plan,
    Step,
    begin,
    check_data,
    run_all,
)
from fastpsr.predictions import Kind, Predictions
from fastpsr.rules import Log

__all__ = ["Evaluation", "Intervals", "Row", "default_metrics", "evaluate", "in_brackets"]

AnyMetric = Metric[Any] | Callable[[Predictions], float]
Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, eq=False)
class Row:
    """One line of an evaluation.

    Attributes
    ----------
    metric : str
        Name.
    value : float
        nan where there is none.
    low, high : float or None
        Ends of the confidence interval; None where none was asked for, or the value is nan.
    bias : float or None
        Mean of the replicates less the value, likewise.
    n_undefined : int
        Number of replicates in which the metric is undefined, which are left out.
    note : str
        What the number is; where it is nan or infinite, why.
    unit : str
        "fraction", "percent", "nats", "bits", or "" for ratios.
    reference_value : float or None
        The value of a system that is worth nothing, where there is one.
    """

    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    bias: float | None = None
    n_undefined: int = 0
    note: str = ""
    unit: str = ""
    reference_value: float | None = None


@dataclass(frozen=True)
class Intervals:
    """How confidence intervals were made.

    Attributes
    ----------
    confidence_level : float
    method : {"percentile", "basic", "bca", "normal"}
    n_resamples : int
        Number of replicates.
    resampling : str
        What was drawn.
    seed : int
        Which gives the same replicates again.
    """

    confidence_level: float
    method: Method
    n_resamples: int
    resampling: str
    seed: int

    def __str__(self) -> str:
        return (
            f"{100.0 * self.confidence_level:g} % intervals: {self.method}, "
            f"{self.n_resamples:,} replicates, resampling {self.resampling}, seed {self.seed}"
        )


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
    intervals : Intervals or None
        How the intervals were made, where they were asked for.

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
    intervals: Intervals | None = None

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
            "intervals": None if self.intervals is None else asdict(self.intervals),
            "rows": [asdict(row) for row in self.rows],
        }

    def __str__(self) -> str:
        cells = [
            (row.metric, f"{row.value:.4f}", in_brackets(row.low, row.high)) for row in self.rows
        ]
        names, _, brackets = (max(map(len, column)) for column in zip(*cells, strict=True))
        lines = [self.headline]
        if self.intervals is not None:
            lines.append(str(self.intervals))
        for (name, value, interval), row in zip(cells, self.rows, strict=True):
            shown = f"  {interval:<{brackets}}" if brackets else ""
            lines.append(f"{name:<{names}}  {value:>10}{shown}  {row.note}".rstrip())
        return "\n".join(lines)

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
    predictions: Data,
    metrics: Mapping[str, AnyMetric] | Sequence[AnyMetric] | None = None,
    *,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    method: Method = "percentile",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compute a table of metrics.

    Parameters
    ----------
    predictions : Predictions
        Labeled; in memory or in parts.
    metrics : dict of name to metric, or list of metrics, optional
        Metrics of this package, or any callable that takes predictions and returns a float. By
        default: normalized cross-entropy, Brier score and error rate, relative calibration loss
        with its bound, and the calibration errors; of raw scores EER, minCllr and AUC.
    n_resamples : int
        Number of bootstrap replicates; with 0 there are no confidence intervals.
    confidence_level, method, resampling, seed
        As for :func:`fastpsr.bootstrap`.
    progress : callable, optional
        Called with (what is done, how much of it is, of how much): each metric, before it is
        computed, then ``"replicates"``.

    Returns
    -------
    Evaluation
        A metric that these data do not allow has value nan, no interval, and a note that says why.

    Raises
    ------
    ValueError
        For unlabeled predictions, an empty list of metrics, what :func:`fastpsr.bootstrap` raises
        for, and a resampling or seed without `n_resamples`.

    Warns
    -----
    SuspicionWarning
        Where binary data look like a mistake: LLRs of 10 samples or more that all lie in [0, 1], as
        posteriors do, and are not all 0 or 1; LLRs of 10 samples or more of each class that all lie
        in [-1, 1] and want a scale above 3, as cosine similarities do; an AUC below .5 by three
        standard errors. See the guide.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> print(fp.evaluate(data, [fp.CrossEntropy(), fp.BrierScore()]))
    4 samples, 2 classes, priors 0.5, 0.5
    NCE      0.7370  cross-entropy over that of the priors
    NBS      0.7400  Brier score over that of the priors

    With intervals:

    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> print(fp.evaluate(data, [fp.BrierScore()], n_resamples=200, seed=0))
    100 samples, 2 classes, priors 0.5, 0.5
    95 % intervals: percentile, 200 replicates, resampling IID, seed 0
    NBS      0.7400  [0.6303, 0.8814]  Brier score over that of the priors
    """
    check_data(predictions)
    if isinstance(predictions, Predictions):
        _ = predictions.labels
    chosen = _named(metrics, predictions)
    if not chosen:
        raise ValueError("metrics must not be empty")
    intervals = _intervals(n_resamples, confidence_level, method, resampling, seed)
    infinite, suspected, *outcomes = run_all(_plans(chosen, predictions, progress))
    n_infinite = infinite.get()
    for suspicion in suspected.get():
        warn(suspicion, stacklevel=2)
    rows = []
    for (name, metric), outcome in zip(chosen.items(), outcomes, strict=True):
        if outcome.error is None:
            value = float(outcome.result)
            note = _note(metric, value, n_infinite, predictions.kind)
        else:
            value, note = float("nan"), f"not computed: {outcome.error}"
        unit, reference = getattr(metric, "unit", ""), getattr(metric, "reference_value", None)
        rows.append(Row(name, value, note=note, unit=unit, reference_value=reference))
    if intervals is not None:
        rows = _with_intervals(rows, chosen, predictions, intervals, resampling, progress)
    priors = tuple(float(prior) for prior in predictions.priors)
    return Evaluation(
        tuple(rows), len(predictions), predictions.n_classes, priors, n_infinite, predictions.kind,
        intervals,
    )  # fmt: skip


def in_brackets(low: float | None, high: float | None) -> str:
    """Return an interval as text, nothing if there is none.

    Examples
    --------
    >>> in_brackets(0.25, 0.75)
    '[0.2500, 0.7500]'
    """
    return "" if low is None or high is None else f"[{low:.4f}, {high:.4f}]"


def _intervals(
    n_resamples: int,
    confidence_level: float,
    method: Method,
    resampling: Resampling | None,
    seed: int | None,
) -> Intervals | None:
    """Return what intervals are asked for, checked before any work."""
    checks.check_integer("n_resamples", n_resamples, 0)
    if n_resamples == 0:
        for name, given in (("resampling", resampling), ("seed", seed)):
            if given is not None:
                raise ValueError(f"{name} is for intervals: give n_resamples above 0 too")
        return None
    asked = Request.of(n_resamples, confidence_level, method, resampling, seed, progress=False)
    drawn = type(asked.resampling).__name__
    return Intervals(confidence_level, method, n_resamples, drawn, asked.seed)


def _with_intervals(
    rows: list[Row],
    metrics: Mapping[str, AnyMetric],
    predictions: Data,
    intervals: Intervals,
    resampling: Resampling | None,
    progress: Progress | None,
) -> list[Row]:
    """Return the rows, those with a value with an interval: all from the same passes."""
    valued = {row.metric: metrics[row.metric] for row in rows if not np.isnan(row.value)}
    if not valued:
        return rows

    def advance(done: int, total: int) -> None:
        if progress is not None:
            progress("replicates", done, total)

    results = bootstrap(
        valued,
        predictions,
        n_resamples=intervals.n_resamples,
        confidence_level=intervals.confidence_level,
        method=intervals.method,
        resampling=resampling,
        seed=intervals.seed,
        progress=advance,
    )
    found = dict(zip(valued, results, strict=True))
    return [
        replace(row, low=found[row.metric].interval.low, high=found[row.metric].interval.high,
                bias=found[row.metric].bias, n_undefined=found[row.metric].n_undefined)
        if row.metric in found else row
        for row in rows
    ]  # fmt: skip


def _note(metric: AnyMetric, value: float, n_infinite: int, kind: Kind) -> str:
    """Return what a number is, or why it is none."""
    if np.isfinite(value) or not isinstance(metric, Metric):
        return str(getattr(metric, "meaning", ""))
    if isinstance(metric, CalibrationLoss) and value < 0.0:
        return f"{type(metric.calibrator).__name__} would make the score infinitely worse"
    what = "undefined" if np.isnan(value) else "infinite"
    if not n_infinite:
        return f"{what}: {metric.meaning}"
    remedy = "; a floor bounds what they cost" if kind == "posteriors" else ""
    return f"{what}: {_say_infinite(n_infinite)}{remedy}"


def _say_infinite(n_infinite: int) -> str:
    have = "sample has" if n_infinite == 1 else "samples have"
    return f"{n_infinite:,} {have} posterior 0 for the true class"


def _plans(
    metrics: Mapping[str, AnyMetric], data: Data, progress: Progress | None
) -> list[Callable[[], Plan[Any]]]:
    """Return plans of the number of infinite losses, of suspicions, and of each metric."""

    def value(place: int, name: str, metric: AnyMetric) -> Plan[Any]:
        if progress is not None:
            progress(name, place, len(metrics))
        if isinstance(metric, Metric):
            return (yield from metric.plan_from_start(data))
        if not isinstance(data, Predictions):
            raise ValueError(
                f"the function {name} takes Predictions in memory; for data in parts pass a metric"
            )
        return metric(data)

    of_metrics = [
        partial(value, place, name, metric) for place, (name, metric) in enumerate(metrics.items())
    ]
    return [lambda: _count_infinite(data), lambda: suspicions(data), *of_metrics]


def _plans_of_table(data: Data, metrics: Any) -> list[Callable[[], Plan[Any]]]:
    if isinstance(metrics, Metric):
        metrics = [metrics]
    return _plans(_named(metrics, data), data, None)


PartitionedPredictions.plans_of_table = staticmethod(_plans_of_table)


def _count_infinite(data: Data) -> Plan[int]:
    """Ask how many samples have posterior 0 for their class, of a class that counts."""
    yield from begin(data)
    if data.kind == "raw scores":
        return 0
    (counts,) = yield [CountInfinite(data.n_classes).over(data)]
    return int(counts[data.priors > 0.0].sum())


@dataclass(frozen=True, eq=False)
class CountInfinite(Step):
    """Count the samples of each class whose posterior of it is 0."""

    n_classes: int
    is_exact = True

    @property
    def key(self) -> Hashable:
        return "infinite losses"

    def start(self) -> NDArray[np.int64]:
        return np.zeros(self.n_classes, np.int64)

    def add(self, accumulator: NDArray[np.int64], prepared: None, part: Part) -> NDArray[np.int64]:
        samples = part.predictions.present()
        scores, y = samples.scores, samples.labels
        if scores.ndim == 1:
            if samples.has_finite_scores:
                return accumulator
            hopeless = np.where(y == 0, scores == np.inf, scores == -np.inf)
        else:
            hopeless = scores[np.arange(y.size), y] == -np.inf
        accumulator += np.bincount(y[hopeless], minlength=self.n_classes)
        return accumulator


def _named(
    metrics: Mapping[str, AnyMetric] | Sequence[AnyMetric] | None, predictions: Data
) -> Mapping[str, AnyMetric]:
    if metrics is None:
        return default_metrics(predictions.n_classes, raw=predictions.kind == "raw scores")
    if isinstance(metrics, Mapping):
        for name, metric in metrics.items():
            if not isinstance(name, str):
                raise ValueError(f"metrics must have names that are strings, not {name!r}")
            check_metric(metric)
        return metrics
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise ValueError(f"metrics must be a dict or a list of metrics, not {metrics!r}")
    named: dict[str, AnyMetric] = {}
    for metric in metrics:
        check_metric(metric)
        name = getattr(metric, "label", getattr(metric, "__name__", repr(metric)))
        if name in named:
            raise ValueError(f"metrics must differ in name, but two are {name!r}: pass a dict")
        named[name] = metric
    return named
