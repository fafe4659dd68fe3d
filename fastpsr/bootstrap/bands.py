"""Curves with confidence bands."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr.bootstrap.intervals import Method, percentile
from fastpsr.bootstrap.schemes import Resampling
from fastpsr.bootstrap.settings import Intervals, Progress, as_progress
from fastpsr.bootstrap.values import Job, draw_replicates
from fastpsr.counts import begin, one_call, side_by_side
from fastpsr.data import Data, Floats, check_data
from fastpsr.errors import ArgumentError, in_silence, warn
from fastpsr.options import with_hints
from fastpsr.results import Result
from fastpsr.version import __version__

if TYPE_CHECKING:
    from fastpsr.curves.at_points import AtPoints


@dataclass(frozen=True, eq=False)
class Band(Result):
    """A curve at fixed points, with the ends of its confidence band.

    Attributes
    ----------
    curve : str
        Name of the function of the curve.
    value, low, high : MissRateCurve, BayesErrorCurve, RiskCurve or PavMap
        The curve on the data, and the ends of the band. They share their points, and differ in the
        attributes named by `series`.
    series : tuple of str
        Attributes with a band.
    simultaneous : bool
        Whether the level holds for the whole band, or for each point.
    n_undefined : int
        Number of replicates in which the curve is undefined, for example because a class is
        missing. They are not used for the band.
    confidence_level : float
    method : str
        "percentile".
    n_resamples : int
        Number of replicates, including undefined ones.
    resampling : str
        Name of the resampling scheme.
    seed : int
        Seed that reproduces the replicates.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([0, 0, 1, 1] * 25, [-1.0, 0.5, 0.0, 2.0] * 25)
    >>> fp.band(fp.risk_curve, data, [0.25, 0.5], n_resamples=200, seed=0)
    <band of risk_curve: 95% pointwise at 2 points (percentile, 200 replicates)>
    """

    curve: str
    value: Any
    low: Any
    high: Any
    series: tuple[str, ...]
    simultaneous: bool
    n_undefined: int
    confidence_level: float
    method: Method
    n_resamples: int
    resampling: str
    seed: int

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        value, low, high = (content.pop(name) for name in ("value", "low", "high"))
        curve = {"curve": content.pop("curve"), **value._content()}
        for name in content.pop("series"):
            curve |= {f"{name}_low": getattr(low, name), f"{name}_high": getattr(high, name)}
        return {**curve, **content, "fastpsr": __version__}

    def __repr__(self) -> str:
        n_points = getattr(self.value, self.series[0]).size
        kind = "simultaneous" if self.simultaneous else "pointwise"
        return (
            f"<band of {self.curve}: {100.0 * self.confidence_level:.6g}% {kind} at "
            f"{n_points} points ({self.method}, {self.n_resamples:,} replicates)>"
        )


@with_hints
def band(
    curve: Callable[..., Any],
    predictions: Data,
    points: ArrayLike | None = None,
    *,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    simultaneous: bool = False,
    resampling: Resampling | None = None,
    seed: int | None = None,
    progress: bool | Progress | None = None,
) -> Band:
    """Return a curve with a confidence band, from bootstrap replicates of the curve.

    Parameters
    ----------
    curve : {fp.roc, fp.bayes_error, fp.risk_curve, fp.pav_steps, fp.precision_recall}
        `roc` has bands of the miss rate at false-alarm rates, for ROC and DET plots; `bayes_error`
        of the actual and the minimum error at prior log-odds; `risk_curve` of the risk at operating
        points; `pav_steps` of the LLR and the posterior after PAV at scores, for PAV maps and
        reliability diagrams; `precision_recall` of the precision at recalls.
    predictions : Predictions or PartitionedPredictions
        Labeled.
    points : array-like of float, shape (P,), or (P, K) for `risk_curve`, optional
        Where the curve is evaluated: false-alarm rates, 0 to 1; the arguments of `bayes_error` and
        `risk_curve`; scores; recalls, above 0 and up to 1. By default 0, 1 and 199 rates in equal
        steps of their probit; 201 log-odds from -10 to 10 (with 2 classes, also for `risk_curve`);
        both ends of up to 100 steps of the PAV fit to the data, 201 scores and 199 posteriors at
        equal distances; recalls from 0.01 to 1 in steps of 0.01.
    n_resamples, confidence_level, resampling, seed, progress
        As for :func:`bootstrap`.
    simultaneous : bool
        Whether the band is to contain a curve at all points at once; by default at each of them.

    Returns
    -------
    Band

    Raises
    ------
    ValueError
        For other curves, invalid points, what the curve itself refuses, and as :func:`bootstrap`.

    Warns
    -----
    RuntimeWarning
        If the curve is undefined in some replicates.

    Notes
    -----
    The pointwise band is the percentile interval at each point: that of ``MissRate(p_fa)``, of
    ``ActDCF`` and ``MinDCF`` (times the error of the best constant decision), of ``BayesRisk``, and
    of ``PavPosterior(score)``. Bands share the limits of these intervals: percentile intervals of
    metrics that optimize on the data, for example ``MinDCF``, under-cover.

    The simultaneous band is the band from the k-th lowest to the k-th highest replicate at each
    point, with the largest k with which `confidence_level` of the replicates lie within it at all
    points; it is never narrower than the pointwise band. It does not depend on the scale on which
    the curve is drawn. As k is small, its ends depend on few replicates: with more replicates
    than the default they are smoother. `actual` and `minimum`, or `llr` and `posterior`, have a
    band each.

    Without given priors a replicate uses its class frequencies, also for LLRs of posteriors.
    Infinite values, for example LLRs after PAV, are ordered like others.

    References
    ----------
    A. Davison and D. Hinkley, "Bootstrap methods and their application", 1997, Equation 4.17;
    J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands: theory,
    implementation, and an application to SVARs", Journal of Applied Econometrics 34, 2019,
    doi:10.1002/jae.2656, algorithm 2.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=40, seed=0)
    >>> data = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    >>> speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    >>> found = fp.band(fp.roc, data, [0.001, 0.01], resampling=speakers, seed=0)
    >>> found.value.p_miss.tolist()
    [0.125, 0.055]
    >>> found.low.p_miss.round(3).tolist(), found.high.p_miss.round(3).tolist()
    ([0.051, 0.0], [0.225, 0.135])
    """
    from fastpsr.curves import BANDS  # all curves, which metrics and their intervals do not use

    if not callable(curve) or curve not in BANDS:
        names = ", ".join(f"fp.{other_curve.__name__}" for other_curve in BANDS)
        is_plain = isinstance(curve, (str, int, float))
        description = repr(curve) if is_plain else getattr(curve, "__name__", type(curve).__name__)
        raise ArgumentError("curve", f"must be one of {names}, not {description}")
    check_data(predictions)
    if not isinstance(simultaneous, (bool, np.bool_)):
        raise ArgumentError("simultaneous", f"must be True or False, not {simultaneous!r}")
    settings = Intervals.of(n_resamples, confidence_level, "percentile", resampling, seed)
    report = as_progress(progress)
    with one_call():
        at, value, jobs = _prepared(BANDS[curve], predictions, points)
        with in_silence():
            replicates = draw_replicates(
                jobs, settings.resampling.units(jobs[0].whole), settings.n_resamples,
                settings.seed, jointly=False, progress=report,
            )  # fmt: skip
    ends, n_undefined = [], 0
    for of_series in replicates:
        defined = of_series[~np.isnan(of_series).any(axis=1)]
        n_undefined = max(n_undefined, len(of_series) - len(defined))
        ends.append(_ends(defined, confidence_level, simultaneous=simultaneous))
    if n_undefined:
        warn(
            f"{curve.__name__} is undefined in {n_undefined:,} of {settings.n_resamples:,} "
            "replicates, which are left out: a class is missing there"
        )
    low, high = (at.curve(side) for side in zip(*ends, strict=True))
    return Band(
        curve.__name__, value, low, high, tuple(at.statistics), simultaneous, n_undefined,
        settings.confidence_level, settings.method, settings.n_resamples,
        type(settings.resampling).__name__, settings.seed,
    )  # fmt: skip


def _prepared(
    at_points: "Callable[[Data, ArrayLike | None], AtPoints]",
    data: Data,
    points: ArrayLike | None,
) -> "tuple[AtPoints, Any, list[Job]]":
    """Return the curve at points, its values on the data, and jobs that replicate it."""
    begin(data)
    at = at_points(data, points)
    jobs = [Job(statistic, data) for statistic in at.statistics.values()]
    value, *_ = side_by_side(partial(at.value_on, data), *(job.prepare for job in jobs), over=data)
    for name, job in zip(at.statistics, jobs, strict=True):
        job.shape = getattr(value, name).shape
    return at, value, jobs


def _ends(replicates: Floats, level: float, *, simultaneous: bool) -> tuple[Floats, Floats]:
    """Return the ends of the band of (R, P) replicates; nan if there are fewer than two."""
    n, n_points = replicates.shape
    if n < 2:
        return np.full(n_points, np.nan), np.full(n_points, np.nan)
    ordered = np.sort(replicates, axis=0)
    low, high = np.array([percentile(column, level) for column in ordered.T]).T
    if simultaneous:
        k = _least_depth(replicates, ordered, level)
        low, high = np.minimum(low, ordered[k - 1]), np.maximum(high, ordered[n - k])
    return low, high


def _least_depth(replicates: Floats, ordered: Floats, level: float) -> int:
    """Return the largest k such that a share `level` of the replicates is in the band everywhere.

    The band goes from the k-th lowest to the k-th highest replicate at each point.
    """
    n = len(replicates)
    depth = np.full(n, n)
    for column, values in zip(replicates.T, ordered.T, strict=True):
        at_most = np.searchsorted(values, column, side="right")
        at_least = n - np.searchsorted(values, column, side="left")
        depth = np.minimum(depth, np.minimum(at_most, at_least))
    # rounding must not require one replicate more
    n_within = int(np.ceil(level * n * (1.0 - 1e-12)))
    return int(np.sort(depth)[n - n_within])
