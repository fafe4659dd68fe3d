"""How many samples, clusters or speakers an interval of a given width needs."""

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from fastpsr import checks
from fastpsr.bootstrap.bootstrap import value_on_data
from fastpsr.bootstrap.intervals import (
    FEWEST,
    SPLITS,
    Estimate,
    Interval,
    centered,
    degrees_of_freedom,
    halves_and_quarters,
)
from fastpsr.bootstrap.results import (
    BootstrapResult,
    Estimand,
    draw_values,
    interval_of,
    results_of,
)
from fastpsr.bootstrap.schemes import Resampling
from fastpsr.bootstrap.settings import Intervals
from fastpsr.bootstrap.values import Job
from fastpsr.caching import cached_property
from fastpsr.data import Data, Floats, check_data
from fastpsr.errors import ArgumentError, Subject
from fastpsr.metrics.defaults import NamedMetric, named_metric
from fastpsr.options import with_hints
from fastpsr.results import Result, table

_MOST = 1e15  # samples
_N_POINTS = 41  # of the curve


@dataclass(frozen=True, eq=False)
class SampleSize(Result):
    """Number of units for an interval of a given width.

    Attributes
    ----------
    width : float
        The width that was asked for, in the unit of the metric.
    n : int
        Number of samples, clusters or speakers.
    drawn : {"samples", "clusters", "speakers"}
        Unit of `n`.
    interval : Interval
        Confidence interval for `n`, at the level of the pilot, from the uncertainty of the pilot's
        standard error. ``inf`` stands for more than 1e15.
    n_targets, n_nontargets : int or None
        Samples of classes 1 and 0 at the ratio of the pilot, rounded; None for more than two
        classes. If speakers are counted, the number of target trials grows as `n`, the
        number of non-target trials as n (n - 1).
    factor : float
        `n` over `pilot_n`.
    pilot : BootstrapResult
        The interval on the data given.
    pilot_n : int
        Number of units of the data given.
    pilot_width : float
    exponent : float
        From 1/2 to 1: near the size of the pilot the standard error is proportional to
        n^(-`exponent`).
    measured_exponent : float
        The exponent as measured between quarters and halves of the pilot, without limits; nan if
        the metric is undefined in most of them, and `exponent` is then 1/2.
    degrees_of_freedom : float
        Of the pilot's standard error: about how many units determine it.
    curve_n, curve_width : ndarray of float64, shape (41,)
        The width for other numbers of units.

    Examples
    --------
    >>> import fastpsr as fp
    >>> pilot = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> found = fp.sample_size(fp.BrierScore(), pilot, 0.1, seed=0)
    >>> found.drawn, found.pilot_n, found.n > 100, found.n_targets + found.n_nontargets == found.n
    ('samples', 100, True, True)
    """

    width: float
    n: int
    drawn: str
    interval: Interval
    n_targets: int | None
    n_nontargets: int | None
    factor: float
    pilot: BootstrapResult
    pilot_n: int
    pilot_width: float
    exponent: float
    measured_exponent: float
    degrees_of_freedom: float
    curve_n: Floats
    curve_width: Floats

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        pilot: BootstrapResult = content.pop("pilot")
        low, high = content.pop("interval")
        of_pilot = {name: getattr(pilot, name) for name in (
            "name", "value", "unit", "confidence_level", "method", "resampling", "seed",
            "n_resamples",
        )}  # fmt: skip
        return {"name": of_pilot.pop("name"), **content, "low": low, "high": high, **of_pilot}

    def _repr_html_(self) -> str:
        low, high = self.interval
        rows = [
            ("pilot", self.pilot_width, self.pilot_n, ""),
            ("needed", self.width, self.n, f"{low:,.0f} to {high:,.0f}"),
        ]
        return table(self.pilot.settings, (self.pilot.name, "width", self.drawn, "interval"), rows)

    def __repr__(self) -> str:
        low, high = self.interval
        level = 100.0 * self.pilot.confidence_level
        return (
            f"<{self.pilot.name}: {self.n:,} {self.drawn} ({low:,.0f} to {high:,.0f}) for a "
            f"{level:.6g}% interval of width {self.width:.4g}; width {self.pilot_width:.4g} with "
            f"{self.pilot_n:,}>"
        )


@with_hints
def sample_size(
    metric: NamedMetric,
    predictions: Data,
    width: float,
    *,
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    resampling: Resampling | None = None,
    seed: int | None = None,
) -> SampleSize:
    r"""Return how many samples, clusters or speakers would give an interval of a given width.

    The interval of the pilot, the given data, is computed by :func:`bootstrap` with
    ``method="auto"``. Values on its halves and quarters show how the standard error depends on the
    number n of units:

    .. math:: \mathrm{se}^2(n) = a / n + b / n^2, \qquad a, b \ge 0

    Parameters
    ----------
    metric : metric, or callable
        As for :func:`bootstrap`.
    predictions : Predictions or PartitionedPredictions
        Labeled: the pilot.
    width : float
        Upper minus lower end of the interval wanted, in the unit of the metric: 0.01 for an EER
        that is to be known to plus and minus half a percent. Positive.
    n_resamples, confidence_level, resampling, seed
        As for :func:`bootstrap`. The scheme decides what is counted: samples, clusters or speakers.

    Returns
    -------
    SampleSize
        A result above `pilot_n` counts all units, those of the pilot included. A wider interval
        than the pilot's needs fewer.

    Raises
    ------
    ValueError
        If the width is not positive; if 8 units, with 8 samples of each of two classes, already
        give it, or 1e15 do not; if the pilot has no interval, or one that is infinite or has no
        width; and as :func:`bootstrap`.

    Warns
    -----
    RuntimeWarning
        As :func:`bootstrap`, of the interval of the pilot.

    Notes
    -----
    The design of the pilot is kept: classes, speakers per trial, weights and the size of clusters.
    For means of samples, b is 0. Trials of two speakers vary with both the speakers, which gives a,
    and the trials, whose number grows as n^2, which gives b. With V_2 and V_4, the variances on
    halves and quarters, b n^-2 has the share (V_4 / V_2 - 2) / (6 - V_4 / V_2) of
    se^2 at the size n of the pilot, limited to 0 and 1. The rate is 1/2 at least, since that is the
    rate of large samples for all metrics of this package; small sets may show a slower one.

    Of intervals by subsampling and by the jackknife, center and scale are kept, and degrees of
    freedom grow as n; other intervals are proportional to the standard error. `interval` is from
    the chi-squared distribution of the pilot's variance, and leaves out the uncertainty of the
    rate: repeat the call with a larger pilot before much is recorded.

    Ties, weights and infinite scores are treated as in :func:`bootstrap`. The cost is its
    intervals, plus 736 values on subsets for metrics whose interval is not by subsampling.

    References
    ----------
    A. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007,
    doi:10.1214/07-AOAS122, for the variance of trials of two speakers; D. Politis, J. Romano and
    M. Wolf, "Subsampling", 1999, section 8.2, for rates from subsets of two sizes.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 4_000, seed=0)
    >>> pilot = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    >>> found = fp.sample_size(fp.BrierScore(), pilot, 0.1, seed=0)
    >>> found.pilot_n, found.drawn, found.n < found.pilot_n, round(found.exponent, 1)
    (4200, 'samples', True, 0.5)
    """
    check_data(predictions)
    _, of_data = named_metric(metric, predictions.n_classes, predictions.kind, "metric")
    wanted = checks.check_number("width", width, 0.0, np.finfo(float).max, "be positive and finite")
    if wanted == 0.0:
        raise ArgumentError("width", f"must be positive and finite, not {width}")
    settings = Intervals.of(n_resamples, confidence_level, "auto", resampling, seed)
    job = Job(of_data, predictions)
    value_on_data([(job.name, job)])
    estimand = Estimand.of(Subject(metric=job.name), job)
    draw_values(
        [estimand], settings, jointly=False, progress=lambda *_: None,
        also=("replicates", "subsets", "left out"),
    )  # fmt: skip
    outcome = interval_of(settings.method_of(estimand.rules), estimand, confidence_level)
    reason = outcome.problem.removeprefix("has no interval: ")
    if reason != outcome.problem:
        _refuse(f"{job.name} an interval: {reason}")
    (result,) = results_of([estimand], settings)
    pilot = _Pilot(estimand, result, outcome.estimate)
    if not 0.0 < pilot.width(1.0) < math.inf:
        low, high = result.interval
        _refuse(f"{job.name} an interval of a finite width above 0, not from {low} to {high}")
    factor = pilot.factor(wanted)
    if not 0.0 < factor < math.inf:
        way, limit = ("at most", pilot.least) if factor == 0.0 else ("at least", pilot.most)
        n = f"{limit * pilot.n:,.0f} {pilot.drawn}"
        raise ArgumentError(
            "width", f"must be {way} that of {n}, {pilot.width(limit):.3g}, not {width}"
        )
    return pilot.sample_size(wanted, factor)


@dataclass(frozen=True, eq=False)
class _Pilot:
    """The interval of the pilot data, and predicted intervals for other numbers of units.

    Attributes
    ----------
    estimate : Estimate or None
        Inputs of the interval, if it does not use replicates.
    """

    estimand: Estimand
    result: BootstrapResult
    estimate: Estimate | None

    @property
    def drawn(self) -> str:
        """Kind of the units: samples, clusters or speakers."""
        return self.estimand.units.independent.name

    @cached_property
    def n(self) -> int:
        """Number of units."""
        return int(self.estimand.units.independent.n_in_strata.sum())

    @cached_property
    def class_sizes(self) -> list[int]:
        """Samples of both classes; empty for more classes."""
        sizes: list[int] = self.estimand.class_sizes.tolist()
        return sizes if len(sizes) == 2 else []

    @cached_property
    def least(self) -> float:
        """Smallest factor of the number of units that is considered."""
        return FEWEST / max(FEWEST, min([self.n, *self.class_sizes]))

    @cached_property
    def most(self) -> float:
        """Largest factor."""
        return _MOST / self.n

    @cached_property
    def measured_exponent(self) -> float:
        """Rate of the standard error from quarters to halves; nan if it is not known.

        Of a mean it is 1/2 for any data, since both spreads are sums of squares of the same
        eighths.
        """
        variances = []
        halves, quarters = halves_and_quarters(self.estimand.under("subsets"))
        for values in (halves, quarters[:, SPLITS]):
            with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is undefined
                squares = np.diff(values) ** 2
                finite = squares[np.isfinite(squares)]
                if 2 * finite.size < squares.size:
                    return math.nan
                variances.append(float(finite.mean()))
        of_halves, of_quarters = variances
        is_known = min(variances) > 0.0 and max(variances) < math.inf
        return math.log2(of_quarters / of_halves) / 2.0 if is_known else math.nan

    @cached_property
    def share_of_pairs(self) -> float:
        """Share of the variance that falls with the square of the number of units."""
        if math.isnan(self.measured_exponent):
            return 0.0
        ratio = min(max(math.pow(4.0, self.measured_exponent), 2.0), 4.0)
        return (ratio - 2.0) / (6.0 - ratio)

    @cached_property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of the standard error."""
        return degrees_of_freedom(centered(self.estimand.under("left out")))

    def width(self, factor: float, spread: float = 1.0) -> float:
        """Return the width with `factor` times the units, for a multiple of the standard error."""
        of_units, of_pairs = (1.0 - self.share_of_pairs) / factor, self.share_of_pairs / factor**2
        share = spread * math.sqrt(of_units + of_pairs)
        if self.estimate is None:
            low, high = self.result.interval
            return share * (high - low)
        low, high = self.estimate.grown(factor, share).interval(self.result.confidence_level)
        return high - low

    def factor(self, width: float, spread: float = 1.0) -> float:
        """Return how many units give a width; 0 and infinity beyond the least and the most."""
        from scipy.optimize import brentq

        if self.width(self.least, spread) < width:
            return 0.0
        if self.width(self.most, spread) > width:
            return math.inf
        ends = math.log(self.least), math.log(self.most)
        root = brentq(lambda x: self.width(math.exp(x), spread) - width, *ends, xtol=1e-12)
        return math.exp(float(root))

    def sample_size(self, width: float, factor: float) -> SampleSize:
        """Return the result."""
        from scipy.special import chdtri

        n = math.ceil(factor * self.n * (1.0 - 1e-9))
        factor = n / self.n
        tail = (1.0 - self.result.confidence_level) / 2.0
        df = self.degrees_of_freedom
        spreads = [math.sqrt(df / float(chdtri(df, p))) for p in (tail, 1.0 - tail)]
        low, high = (self.n * max(self.factor(width, item), self.least) for item in spreads)
        by_class: list[int | None] = [None, None]
        if self.class_sizes:
            pairs = factor * (n - 1.0) / (self.n - 1.0)  # of speakers
            growth = (pairs if self.drawn == "speakers" else factor, factor)
            by_class = [round(k * size) for k, size in zip(growth, self.class_sizes, strict=True)]
        grid = np.geomspace(
            max(min(1.0, factor) / 2.0, self.least), 2.0 * max(1.0, factor), _N_POINTS
        )
        return SampleSize(
            width=width, n=n, drawn=self.drawn, interval=Interval(low, high),
            n_targets=by_class[1], n_nontargets=by_class[0],
            factor=factor, pilot=self.result, pilot_n=self.n, pilot_width=self.width(1.0),
            exponent=(1.0 + self.share_of_pairs) / 2.0, measured_exponent=self.measured_exponent,
            degrees_of_freedom=df, curve_n=self.n * grid,
            curve_width=np.array([self.width(float(item)) for item in grid]),
        )  # fmt: skip


def _refuse(what: str) -> NoReturn:
    raise ArgumentError(
        "predictions", f"must give {what}", remedy="use a larger pilot, with more errors in it"
    )
