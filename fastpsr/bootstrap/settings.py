"""Settings of confidence intervals: validated first, applied to replicates later."""

import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from warnings import warn

import numpy as np

from fastpsr import checks
from fastpsr.bootstrap.influence import acceleration
from fastpsr.bootstrap.intervals import Interval, Method, interval
from fastpsr.bootstrap.replicates import Job, Progress, in_silence
from fastpsr.bootstrap.resampling import IID, Resampling
from fastpsr.bootstrap.result import BootstrapResult
from fastpsr.errors import ArgumentError
from fastpsr.metrics.base import Metric
from fastpsr.plans import Data, run
from fastpsr.predictions import Floats

__all__ = ["Intervals", "as_progress"]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Validated settings of confidence intervals.

    Attributes
    ----------
    confidence_level : float
    method : {"percentile", "basic", "bca", "normal"}
    n_resamples : int
        Number of replicates.
    resampling : Resampling
        Resampling scheme.
    seed : int
        Seed that reproduces the replicates.
    drawn : str
        Name of what is drawn, for messages.
    """

    confidence_level: float
    method: Method
    n_resamples: int
    resampling: Resampling
    seed: int
    drawn: str

    @classmethod
    def of(
        cls,
        n_resamples: int,
        confidence_level: float,
        method: Method,
        resampling: Resampling | None,
        seed: int | None,
    ) -> "Intervals":
        """Validate settings, and fill in defaults."""
        is_real = isinstance(confidence_level, (float, np.floating))
        if not (is_real and 0.0 < confidence_level < 1.0):
            raise ArgumentError(
                "confidence_level", f"must lie strictly between 0 and 1, not {confidence_level!r}"
            )
        checks.check_choice("method", method, ("percentile", "basic", "bca", "normal"))
        least = _least_resamples(confidence_level)
        if not isinstance(n_resamples, (int, np.integer)) or n_resamples < least:
            raise ArgumentError(
                "n_resamples",
                f"must be an integer of at least {least} for a level of "
                f"{confidence_level}, not {n_resamples!r}",
            )
        checks.check_number("n_resamples", n_resamples, least, 1e9, "be at most 1e9")
        resampling = IID() if resampling is None else resampling
        if not isinstance(resampling, Resampling):
            raise ArgumentError(
                "resampling",
                f"must be IID, Stratified, Clusters, Nested or TwoWay, not {resampling!r}",
            )
        if method == "bca" and resampling.multiplies:
            raise ArgumentError(
                "method",
                f"must not be bca with {type(resampling).__name__}: units that multiply have no "
                "influence of their own; use percentile or basic",
            )
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        elif not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
            raise ArgumentError(
                "seed",
                f"must be an integer of at least 0, not {seed!r}",
                remedy="pass seed=None for a seed that is drawn",
            )
        drawn = type(resampling).__name__
        return cls(confidence_level, method, int(n_resamples), resampling, int(seed), drawn)

    @classmethod
    def if_any(
        cls,
        n_resamples: int,
        confidence_level: float,
        method: Method,
        resampling: Resampling | None,
        seed: int | None,
    ) -> "Intervals | None":
        """Validate settings; None without replicates, for which the others must not be set."""
        checks.check_integer("n_resamples", n_resamples, 0)
        if n_resamples:
            return cls.of(n_resamples, confidence_level, method, resampling, seed)
        for name, given, default in (
            ("resampling", resampling, None),
            ("seed", seed, None),
            ("method", method, "percentile"),
            ("confidence_level", confidence_level, 0.95),
        ):
            if given != default:
                raise ArgumentError(name, "is for intervals: give n_resamples above 0 too")
        return None

    def on_rows(self, data: Data, rows: Any) -> "Intervals":
        """Return the settings for the rows selected by an index."""
        return replace(self, resampling=self.resampling.on_rows(data, rows))

    def check_simultaneous(self, n_intervals: int) -> None:
        """Raise where replicates are too few for so many intervals that hold jointly."""
        least = _least_resamples(1.0 - (1.0 - self.confidence_level) / n_intervals)
        if self.n_resamples < least:
            raise ArgumentError(
                "n_resamples",
                f"must be at least {least} for {n_intervals} simultaneous intervals at a level of "
                f"{self.confidence_level}, not {self.n_resamples}",
                pass_={"n_resamples": least},
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and strings."""
        return {
            "confidence_level": self.confidence_level,
            "method": self.method,
            "n_resamples": self.n_resamples,
            "resampling": self.drawn,
            "seed": self.seed,
        }

    def __str__(self) -> str:
        return (
            f"{100.0 * self.confidence_level:g} % intervals: {self.method}, "
            f"{self.n_resamples:,} replicates, resampling {self.drawn}, seed {self.seed}"
        )

    def result(
        self,
        name: str,
        value: float,
        replicates: Floats,
        jobs: list[Job],
        signs: list[float],
        stacklevel: int = 4,
        *,
        is_known: bool = False,
    ) -> BootstrapResult:
        """Return the interval of a value, with a warning if it is not reliable.

        `is_known` says that the replicates left out have been warned of.
        """
        defined = replicates[~np.isnan(replicates)]
        n_undefined = replicates.size - defined.size
        if n_undefined and not is_known:
            warn(
                f"{name} is undefined in {n_undefined:,} of {replicates.size:,} replicates, which "
                "are left out: a class is missing there, or a calibrator has no optimum",
                RuntimeWarning,
                stacklevel=stacklevel,
            )
        is_ours = all(isinstance(job.metric, Metric) for job in jobs)
        if not is_ours and defined.size > 1 and bool((defined == value).all()):
            warn(
                f"{name} is the same in all replicates, which differ only in "
                "predictions.sample_weight: does it take the weights into account?",
                RuntimeWarning,
                stacklevel=stacklevel,
            )
        nothing = float("nan")
        method, found = self.method, Interval(nothing, nothing)
        made = partial(
            BootstrapResult, name=name, value=value, replicates=replicates, n_undefined=n_undefined,
            confidence_level=self.confidence_level, seed=self.seed,
            resampling=type(self.resampling).__name__, unit=getattr(jobs[0].metric, "unit", ""),
        )  # fmt: skip
        if np.isnan(value):
            warn(
                f"{name} is undefined: both values are infinite",
                RuntimeWarning,
                stacklevel=stacklevel,
            )
        if defined.size < 2 or np.isnan(value):
            return made(interval=found, standard_error=nothing, bias=nothing, method=method)
        finite = np.isfinite(value) and bool(np.isfinite(defined).all())
        if method != "percentile" and not finite:
            warn(
                f"{name} is infinite on the data or in a replicate: its interval is by percentile, "
                f"not {method}",
                RuntimeWarning,
                stacklevel=stacklevel,
            )
            method = "percentile"
        skew = 0.0
        if method == "bca":
            with in_silence():  # the skewness of values near the largest float overflows
                skew = run(lambda: acceleration(jobs, signs, self.resampling, self.seed))
        try:
            found = interval(value, defined, self.confidence_level, method, skew)
        except ValueError as error:
            warn(f"{name} has no interval: {error}", RuntimeWarning, stacklevel=stacklevel)
        with np.errstate(over="ignore"):  # squares of values near the largest float
            standard_error = float(defined.std(ddof=1)) if finite else nothing
            bias = float(defined.mean() - value) if finite else nothing
        return made(interval=found, standard_error=standard_error, bias=bias, method=method)


def _least_resamples(confidence_level: float) -> int:
    """Return how many replicates have one beyond each end of an interval."""
    return int(np.ceil(2.0 / (1.0 - confidence_level) * (1.0 - 1e-12)))


def as_progress(progress: bool | Progress) -> Progress:
    """Return the callable that reports finished replicates."""
    if callable(progress):
        return progress
    return _ProgressLine() if progress else lambda done, total: None


class _ProgressLine:
    """A progress line on stderr."""

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
