"""Confidence intervals for any metric, and for the difference of two systems."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload
from warnings import warn

import numpy as np

from fastpsr import checks
from fastpsr.bootstrap.influence import acceleration
from fastpsr.bootstrap.intervals import Interval, Method, interval
from fastpsr.bootstrap.replicates import AnyMetric, Job, Progress, draw_replicates, name_of
from fastpsr.bootstrap.resampling import IID, Resampling, TwoWay
from fastpsr.predictions import Floats, Predictions

__all__ = ["BootstrapResult", "Request", "bootstrap", "check_same_samples", "compare"]

Metrics = Sequence[AnyMetric] | Mapping[str, AnyMetric]


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """A metric's value with its interval.

    Attributes
    ----------
    name : str
    value : float
        On the data themselves.
    interval : Interval
        ``.low`` and ``.high``.
    standard_error : float
        Standard deviation of the replicates.
    bias : float
        Mean of the replicates less the value: about what the value is off its own population value.
    replicates : ndarray of float64, shape (n_resamples,)
        nan where the metric was undefined.
    n_undefined : int
        Number of replicates left out of the interval, such as those without a class.
    confidence_level : float
    method : {"percentile", "basic", "bca", "normal"}
    seed : int
        Which gives the same replicates again.
    """

    name: str
    value: float
    interval: Interval
    standard_error: float
    bias: float
    replicates: Floats
    n_undefined: int
    confidence_level: float
    method: Method
    seed: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.value:.4g}, {self.confidence_level:.0%} interval "
            f"{low:.4g} to {high:.4g} ({self.method}, {self.replicates.size:,} replicates)>"
        )


@overload
def bootstrap(
    metrics: AnyMetric,
    predictions: Predictions,
    *,
    n_resamples: int = ...,
    confidence_level: float = ...,
    method: Method = ...,
    resampling: Resampling | None = ...,
    seed: int | None = ...,
    progress: bool | Progress = ...,
) -> BootstrapResult: ...


@overload
def bootstrap(
    metrics: Metrics,
    predictions: Predictions,
    *,
    n_resamples: int = ...,
    confidence_level: float = ...,
    method: Method = ...,
    resampling: Resampling | None = ...,
    seed: int | None = ...,
    progress: bool | Progress = ...,
) -> list[BootstrapResult]: ...


def bootstrap(
    metrics: AnyMetric | Metrics,
    predictions: Predictions,
    *,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    method: Method = "percentile",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress = False,
) -> BootstrapResult | list[BootstrapResult]:
    """Return metrics with confidence intervals.

    Parameters
    ----------
    metrics : metric, list of metrics, or dict of name to metric
        Metrics of this package, or callables ``f(predictions) -> float``, which get weighted
        predictions.
    predictions : Predictions
        Labelled.
    n_resamples : int
        Number of replicates.
    confidence_level : float
        Between 0 and 1.
    method : {"percentile", "basic", "bca", "normal"}
        "normal" takes the bias off the value.
    resampling : IID, Stratified, Clusters or TwoWay, optional
        What is drawn; by default samples, ``IID()``.
    seed : int, optional
        The same seed gives the same bits, for any number of threads, and whether metrics are asked
        for together or alone. By default a new one each time.
    progress : bool or callable
        Whether to show progress on stderr, or what to call with (replicates done, their total).

    Returns
    -------
    BootstrapResult, or list of them in the order of the metrics

    Raises
    ------
    ValueError
        For a metric that is undefined on the data, a callable that does not return a number, too
        few replicates for the level, and BCa with TwoWay.

    Warns
    -----
    RuntimeWarning
        Where a metric is undefined in some replicates, and where a method needs finite values or
        replicates on both sides of the value.

    Notes
    -----
    The interval is meant for the population value of the metric. Calibrators that are cross-fitted,
    or trained on the test data, are trained anew in each replicate, with folds fixed by original
    sample; held-out ones stay as they are. Priors that were not given are those of the replicate.
    Metrics that optimise on the data (EER, minDCF, minCllr, PAV) and ECE are biased: see `bias`,
    and docs/intervals.md for how often each method covers.

    Rows of positive weight are drawn alike and carry their weight. Metrics of different kinds are
    not drawn jointly: for a function of several metrics pass a callable.

    References
    ----------
    The paper's appendix on confidence intervals; B. Efron and R. Tibshirani, "An introduction to
    the bootstrap", 1993.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> found = fp.bootstrap(fp.BrierScore(), data, seed=0)
    >>> found.value, found.replicates.size
    (0.74, 1000)
    """
    chosen = _named(metrics)
    jobs = [Job(metric, predictions) for _, metric in chosen]
    request = Request.of(n_resamples, confidence_level, method, resampling, seed, progress)
    values = [_value(name, metric, predictions) for name, metric in chosen]
    replicates = draw_replicates(jobs, request.resampling, n_resamples, request.seed,
                                 jointly=False, progress=request.progress)  # fmt: skip
    results = [
        request.result(name, value, row, [job], [1.0])
        for (name, _), job, value, row in zip(chosen, jobs, values, replicates, strict=True)
    ]
    return results[0] if callable(metrics) else results


@overload
def compare(
    metric: AnyMetric,
    a: Predictions,
    b: Predictions,
    *,
    n_resamples: int = ...,
    confidence_level: float = ...,
    method: Method = ...,
    resampling: Resampling | None = ...,
    seed: int | None = ...,
    progress: bool | Progress = ...,
) -> BootstrapResult: ...


@overload
def compare(
    metric: Metrics,
    a: Predictions,
    b: Predictions,
    *,
    n_resamples: int = ...,
    confidence_level: float = ...,
    method: Method = ...,
    resampling: Resampling | None = ...,
    seed: int | None = ...,
    progress: bool | Progress = ...,
) -> list[BootstrapResult]: ...


def compare(
    metric: AnyMetric | Metrics,
    a: Predictions,
    b: Predictions,
    *,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    method: Method = "percentile",
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress = False,
) -> BootstrapResult | list[BootstrapResult]:
    """Return the difference of metrics between two systems on the same samples, a less b.

    Both systems see the same draws, so that what makes samples hard for both cancels: the interval
    is narrower than those of the two values suggest.

    Parameters
    ----------
    metric : metric, list of metrics, or dict of name to metric
        As for :func:`bootstrap`.
    a, b : Predictions
        Of the same samples in the same order, with the same labels.
    n_resamples, confidence_level, method, resampling, seed, progress
        As for :func:`bootstrap`.

    Returns
    -------
    BootstrapResult, or list of them in the order of the metrics
        Of the value of `a` less that of `b`.

    Raises
    ------
    ValueError
        As :func:`bootstrap`, and where the samples or their labels differ.

    Examples
    --------
    >>> import fastpsr as fp
    >>> a = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> b = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.2, 0.6, 0.4, 0.8] * 25)
    >>> round(fp.compare(fp.BrierScore(), a, b, seed=0).value, 4)
    -0.06
    """
    check_same_samples(a, b)
    chosen = _named(metric)
    jobs = [Job(metric, side) for _, metric in chosen for side in (a, b)]
    request = Request.of(n_resamples, confidence_level, method, resampling, seed, progress)
    values = [_value(name, metric, side) for name, metric in chosen for side in (a, b)]
    replicates = draw_replicates(jobs, request.resampling, n_resamples, request.seed,
                                 jointly=True, progress=request.progress)  # fmt: skip
    with np.errstate(invalid="ignore"):  # inf - inf is undefined
        differences = replicates[::2] - replicates[1::2]
    results = [
        request.result(f"{name}, a - b", values[2 * k] - values[2 * k + 1], differences[k],
                       jobs[2 * k : 2 * k + 2], [1.0, -1.0])
        for k, (name, _) in enumerate(chosen)
    ]  # fmt: skip
    return results[0] if callable(metric) else results


def check_same_samples(a: Predictions, b: Predictions) -> None:
    """Raise unless two systems were run on the same samples, as far as labels and weights tell."""
    if len(a) != len(b):
        raise ValueError(f"a and b must be of the same samples: {len(a)} and {len(b)}")
    if a.n_classes != b.n_classes:
        raise ValueError(f"a and b must have the same classes: {a.n_classes} and {b.n_classes}")
    if not np.array_equal(a.labels, b.labels):
        place = int(np.flatnonzero(a.labels != b.labels)[0])
        raise ValueError(
            f"a and b must be of the same samples in the same order, but y_true[{place}] differs"
        )
    present = [p.weights > 0.0 if p.weights.size else np.ones(len(p), bool) for p in (a, b)]
    if not np.array_equal(*present):
        raise ValueError("a and b must have positive weight at the same samples")


@dataclass(frozen=True, eq=False)
class Request:
    """What was asked for, checked."""

    confidence_level: float
    method: Method
    resampling: Resampling
    seed: int
    progress: Progress

    @classmethod
    def of(
        cls,
        n_resamples: int,
        confidence_level: float,
        method: Method,
        resampling: Resampling | None,
        seed: int | None,
        progress: bool | Progress,
    ) -> "Request":
        if not 0.0 < confidence_level < 1.0:
            raise ValueError(
                f"confidence_level must lie strictly between 0 and 1, not {confidence_level}"
            )
        checks.check_choice("method", method, ("percentile", "basic", "bca", "normal"))
        least = int(np.ceil(2.0 / (1.0 - confidence_level) * (1.0 - 1e-12)))
        if not isinstance(n_resamples, (int, np.integer)) or n_resamples < least:
            raise ValueError(
                f"n_resamples must be an integer of at least {least} for a level of "
                f"{confidence_level}, not {n_resamples!r}"
            )
        resampling = IID() if resampling is None else resampling
        if not isinstance(resampling, Resampling):
            raise ValueError(
                f"resampling must be IID, Stratified, Clusters or TwoWay, not {resampling!r}"
            )
        if method == "bca" and isinstance(resampling, TwoWay):
            raise ValueError("method must not be bca with TwoWay: units that multiply have no "
                             "influence of their own; use percentile or basic")  # fmt: skip
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        elif not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ValueError(f"seed must be an integer of at least 0, or None, not {seed!r}")
        if callable(progress):
            shown: Progress = progress
        else:
            shown = _ProgressLine() if progress else lambda done, total: None
        return cls(confidence_level, method, resampling, int(seed), shown)

    def result(
        self, name: str, value: float, replicates: Floats, jobs: list[Job], signs: list[float]
    ) -> BootstrapResult:
        """Return the interval of a value; say what is wrong with it."""
        defined = replicates[~np.isnan(replicates)]
        n_undefined = replicates.size - defined.size
        if n_undefined:
            warn(
                f"{name} is undefined in {n_undefined:,} of {replicates.size:,} replicates, which "
                "are left out: a class is missing there, or a calibrator has no optimum",
                RuntimeWarning,
                stacklevel=3,
            )
        nothing = float("nan")
        method, found = self.method, Interval(nothing, nothing)
        made = partial(
            BootstrapResult, name=name, value=value, replicates=replicates, n_undefined=n_undefined,
            confidence_level=self.confidence_level, seed=self.seed,
        )  # fmt: skip
        if defined.size < 2:
            return made(interval=found, standard_error=nothing, bias=nothing, method=method)
        finite = np.isfinite(value) and bool(np.isfinite(defined).all())
        if method != "percentile" and not finite:
            warn(
                f"{name} is infinite on the data or in a replicate: its interval is by percentile, "
                f"not {method}",
                RuntimeWarning,
                stacklevel=3,
            )
            method = "percentile"
        skew = 0.0
        if method == "bca":
            skew = acceleration(jobs, signs, self.resampling, self.seed)
        try:
            found = interval(value, defined, self.confidence_level, method, skew)
        except ValueError as error:
            warn(f"{name} has no interval: {error}", RuntimeWarning, stacklevel=3)
        standard_error = float(defined.std(ddof=1)) if finite else nothing
        bias = float(defined.mean() - value) if finite else nothing
        return made(interval=found, standard_error=standard_error, bias=bias, method=method)


class _ProgressLine:
    """A line on stderr that says how far the replicates are."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._last < 0.2:
            return
        self._last = now
        left = (now - self._begun) * (total - done) / max(done, 1)
        end = "\n" if done == total else ""
        print(f"\r{done:,} of {total:,} replicates, {left:.0f} s left ", end=end, file=sys.stderr,
              flush=True)  # fmt: skip


def _named(metrics: AnyMetric | Metrics) -> list[tuple[str, AnyMetric]]:
    """Return metrics with what messages call them."""
    if isinstance(metrics, Mapping):
        named = list(metrics.items())
    else:
        named = [(name_of(m), m) for m in ([metrics] if callable(metrics) else metrics)]
    if not named:
        raise ValueError("metrics must not be empty")
    for _, metric in named:
        if not callable(metric):
            raise ValueError(f"metrics must be callable, not {metric!r}")
    return named


def _value(name: str, metric: AnyMetric, predictions: Predictions) -> float:
    """Return the value on the data, or raise where it is no number."""
    if not isinstance(predictions, Predictions):
        raise ValueError(f"predictions must be Predictions, not {type(predictions).__name__}")
    if predictions.y_true is None:
        raise ValueError("y_true must be given: these predictions are unlabelled")
    try:
        value = metric(predictions)
    except Exception as error:
        raise ValueError(f"metric {name} cannot be computed: {error}") from error
    if np.ndim(value) != 0 or isinstance(value, (str, bytes)):
        raise ValueError(f"metric {name} must return a number, not {type(value).__name__}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"metric {name} must return a number, not {type(value).__name__}"
        ) from None
    if np.isnan(number):
        raise ValueError(f"metric {name} is nan on the data: it has no interval")
    return number
