"""The main function of the package confidence-intervals, version 0.0.3."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.bootstrap import IID, Nested, Resampling, bootstrap
from fastpsr.bootstrap.draws import UnitDraws
from fastpsr.compat.inputs import from_tensor
from fastpsr.data import Floats, Part, Predictions
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric, check_metric

__all__ = ["evaluate_with_conf_int"]

_SEED = 0  # results are the same in each call, as in the package
_FEWEST = 4  # replicates that fp.bootstrap computes

# Names of arguments of fastpsr as they are called here, and what to do where an option is missing.
_NAMES = {"cluster_ids": "conditions", "metrics": "metric", "y_true": "labels"}
_NAMES |= dict.fromkeys(("q", "llr", "scores"), "samples")
#: Remedies for arguments that do not exist here.
_REMEDIES = {
    "normalize=": "pass samples / samples.sum(axis=1, keepdims=True)",
    "classes=": "pass np.unique(labels, return_inverse=True)[1]",
}


def evaluate_with_conf_int(
    samples: ArrayLike,
    metric: Metric[Any] | Callable[..., float],
    labels: ArrayLike | None = None,
    conditions: ArrayLike | None = None,
    num_bootstraps: int = 1000,
    alpha: float = 5,
    samples2: ArrayLike | None = None,
) -> tuple[float, tuple[float, float]]:
    """Return a metric and its bootstrap interval by percentiles.

    Parameters
    ----------
    samples : array-like or tensor of shape (N, ...)
        Decisions, scores or losses.
    metric : metric, or callable
        Called as ``metric(labels, samples, samples2)``, without those that are None. A metric of
        fastpsr takes labels, and posteriors, LLRs or scores, as ``metric(y_true, x)`` does.
    labels, samples2 : array-like or tensor of shape (N, ...), optional
    conditions : array-like or tensor of shape (N,), optional
        Integers or strings: conditions are drawn with replacement, then samples within each
        (:class:`fastpsr.Nested`). Without them samples are drawn (:class:`fastpsr.IID`).
    num_bootstraps : int
        Number of replicates.
    alpha : float
        Percentage outside of the interval, which lies between the percentiles alpha / 2 and
        100 - alpha / 2.

    Returns
    -------
    value : float
    interval : tuple of two floats

    Raises
    ------
    ValueError
        For arrays of different lengths, fewer than two conditions, or numbers out of range.

    Warns
    -----
    RuntimeWarning
        If a metric of fastpsr is undefined in some replicates, which are left out.

    Notes
    -----
    Metrics of fastpsr are computed from sums or counts of each replicate: no indices are stored,
    and no samples copied. Other callables are called with the samples of each replicate, in the
    order of the data, and take their own time.

    Without conditions, replicates have the law of the package, but are other draws. Of a condition
    that is drawn several times, samples are drawn anew each time; the package repeats those of the
    first time, and has wider intervals. Percentiles are interpolated between replicates if all are
    finite.

    References
    ----------
    https://github.com/luferrer/ConfidenceIntervals.

    Examples
    --------
    >>> import numpy as np
    >>> import fastpsr as fp
    >>> from fastpsr.compat.confidence_intervals import evaluate_with_conf_int
    >>> rng = np.random.default_rng(0)
    >>> labels, speakers = rng.integers(0, 2, 500), rng.integers(0, 20, 500)
    >>> llrs = 2.0 * labels - 1.0 + rng.normal(size=500)
    >>> value, interval = evaluate_with_conf_int(llrs, fp.Cllr(), labels, speakers)
    >>> round(value, 3), [round(end, 3) for end in interval]
    (0.524, [0.481, 0.569])
    >>> value, interval = evaluate_with_conf_int(llrs > 0.0, np.mean, conditions=speakers)
    >>> round(float(value), 3), [round(end, 3) for end in interval]
    (0.526, [0.467, 0.585])
    """
    checks.check_integer("num_bootstraps", num_bootstraps, 1)
    alpha = checks.check_number("alpha", alpha, 0.0, 100.0, "lie in 0 to 100")
    named = {"labels": labels, "samples": samples, "samples2": samples2}
    arrays = {
        name: checks.as_array(name, from_tensor(each), "samples")
        for name, each in named.items()
        if each is not None
    }
    for name, array in arrays.items():
        if array.ndim == 0 or array.size == 0:
            raise ArgumentError(name, f"must have a row per sample, not be of shape {array.shape}")
    n = len(arrays["samples"])
    for name, array in arrays.items():
        checks.check_length(name, len(array), n)
    scheme: Resampling = IID() if conditions is None else Nested(from_tensor(conditions))
    try:
        check_metric(metric, takes_arrays=True)
        if isinstance(metric, Metric) and list(arrays) == ["labels", "samples"]:
            predictions = metric._predictions(arrays["labels"], arrays["samples"])
            result = bootstrap(
                metric, predictions, n_resamples=max(num_bootstraps, _FEWEST),
                confidence_level=0.5, method="percentile", resampling=scheme, seed=_SEED,
            )  # fmt: skip
            value = result.value
            values = result.replicates[:num_bootstraps]
        else:
            value = metric(*arrays.values())
            values = np.array([
                metric(*(array[rows] for array in arrays.values()))
                for rows in _drawn(scheme, n, num_bootstraps)
            ])  # fmt: skip
    except ArgumentError as error:
        remedy = next((own for words, own in _REMEDIES.items() if words in error.remedy), None)
        name = _NAMES.get(error.argument, error.argument)
        raise error.renamed(name, remedy=remedy) from None
    return float(value), _percentiles(values, alpha)


def _drawn(scheme: Resampling, n: int, n_replicates: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each replicate."""
    data = Predictions.from_raw_scores(np.zeros(n, np.int64), np.zeros(n))
    draws = UnitDraws(scheme.units(data), _SEED, [])
    part = Part.whole(data)
    for replicate in range(n_replicates):
        yield np.repeat(np.arange(n), draws.of_rows(part, replicate).astype(np.int64))


def _percentiles(values: Floats, alpha: float) -> tuple[float, float]:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan"), float("nan")
    finite = bool(np.isfinite(defined).all())
    low, high = np.percentile(
        defined, [alpha / 2, 100 - alpha / 2], method="linear" if finite else "inverted_cdf"
    )
    return float(low), float(high)
