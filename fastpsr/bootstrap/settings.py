"""Settings of confidence intervals, and the progress that is reported."""

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr import checks
from fastpsr.bootstrap.intervals import METHODS, N_SUBSETS, Method, UsedMethod
from fastpsr.bootstrap.schemes import IID, Resampling
from fastpsr.data import Data, Floats
from fastpsr.errors import ArgumentError
from fastpsr.interval_rule import IntervalRule

if TYPE_CHECKING:
    from fastpsr.bootstrap.results import BootstrapResult

#: Called with the number of replicates done, and their total.
Progress = Callable[[int, int], object]
_QUIET_SECONDS = 1.0  # before a line that nobody asked for
_SECONDS_BETWEEN = 0.2
#: Inputs of intervals that do not use replicates.
_WITHOUT_REPLICATES: dict[str, str] = {
    "subsampling": f"{N_SUBSETS} halves and quarters",
    "jackknife": "units left out in turn",
}


@dataclass(frozen=True, eq=False)
class Intervals:
    """Validated settings of confidence intervals.

    Attributes
    ----------
    confidence_level : float
    method : {"auto", "percentile", "basic", "bca", "normal", "subsampling"}
    n_resamples : int
        Number of replicates.
    resampling : Resampling
        Resampling scheme.
    seed : int
        Seed that reproduces the replicates.
    drawn : str
        Name of the scheme, for messages.
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
        confidence_level = checks.as_level(confidence_level)
        checks.check_choice("method", method, METHODS)
        least = least_resamples(confidence_level)
        if not isinstance(n_resamples, (int, np.integer)) or n_resamples < least:
            raise ArgumentError(
                "n_resamples",
                f"must be an integer of at least {least} for a level of "
                f"{confidence_level}, not {n_resamples!r}",
            )
        checks.check_number("n_resamples", n_resamples, least, 1e9, "be at most 1e9")
        resampling = IID() if resampling is None else resampling
        if not isinstance(resampling, Resampling):
            from fastpsr.bootstrap import RESAMPLINGS  # which imports this module

            *names, last = (scheme.__name__ for scheme in RESAMPLINGS)
            description, remedy = repr(resampling), ""
            if hasattr(resampling, "__len__") and not isinstance(resampling, str):
                description = f"of type {type(resampling).__name__}"
                remedy = "to draw clusters by their ids, pass fp.Clusters(ids)"
            rule = f"must be {', '.join(names)} or {last}, not {description}"
            raise ArgumentError("resampling", rule, remedy=remedy)
        _check_method(method, resampling)
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
        """Validate settings; None without replicates, when nothing but a seed may be set."""
        checks.check_integer("n_resamples", n_resamples, 0)
        if n_resamples:
            return cls.of(n_resamples, confidence_level, method, resampling, seed)
        for name, is_set in (
            ("resampling", resampling is not None),
            ("method", method != "auto"),
            ("confidence_level", confidence_level != 0.95),
        ):
            if is_set:
                raise ArgumentError(name, "is for intervals: give n_resamples above 0 too")
        return None

    def drawing(self, resampling: Resampling) -> "Intervals":
        """Return the settings with another scheme."""
        _check_method(self.method, resampling)
        return replace(self, resampling=resampling, drawn=type(resampling).__name__)

    def apart(self) -> "Intervals":
        """Return the settings for a second test set, whose draws are independent of the first."""
        sequence = np.random.SeedSequence([self.seed, 1])
        return replace(self, seed=int(sequence.generate_state(1, np.uint64)[0]))

    def on_rows(self, data: Data, rows: Any) -> "Intervals":
        """Return the settings for the rows selected by an index."""
        return replace(self, resampling=self.resampling.on_rows(data, rows))

    def check_simultaneous(self, n_intervals: int) -> None:
        """Raise where replicates are too few for so many intervals that hold jointly."""
        least = least_resamples(1.0 - (1.0 - self.confidence_level) / n_intervals)
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

    def described(self, metrics: Mapping[str, Sequence[str]]) -> str:
        """Return the settings as text, with the metrics by the methods that were used."""
        return described(self.confidence_level, metrics, self.n_resamples, self.drawn, self.seed)

    def method_of(self, rules: Iterable[IntervalRule]) -> UsedMethod:
        """Return how the interval of a metric is computed, or of a sum of signed metrics."""
        if self.method != "auto":
            return self.method
        by_unit = self.resampling.draws_whole_ids
        best = {rule.units if by_unit else rule.samples for rule in rules}
        if "subsampling" in best:
            return "subsampling"
        if "bca" in best and not self.resampling.multiplies:
            return "bca"
        return best.pop() if len(best) == 1 and best != {"bca"} else "percentile"


def _check_method(method: Method, resampling: Resampling) -> None:
    """Raise where BCa intervals are not defined."""
    if method == "bca" and resampling.multiplies:
        raise ArgumentError(
            "method",
            f"must not be bca with {type(resampling).__name__}, where two draw counts are "
            "multiplied: BCa is defined for one; use auto or percentile",
        )


def least_resamples(confidence_level: float) -> int:
    """Return how many replicates have one beyond each end of an interval."""
    return int(np.ceil(2.0 / (1.0 - confidence_level) * (1.0 - 1e-12)))


def drawn_for(method: str, n_resamples: int) -> str:
    """Return a phrase for the replicates or subsets that a method computes an interval from."""
    return _WITHOUT_REPLICATES.get(method, f"{n_resamples:,} replicates")


def described(
    confidence_level: float,
    metrics: Mapping[str, Sequence[str]],
    n_resamples: int,
    drawn: str,
    seed: int,
) -> str:
    """Return settings of intervals as text, with the metrics by the methods that were used."""
    drawn_by = {method: drawn_for(method, n_resamples) for method in metrics}
    of_replicates = f"{n_resamples:,} replicates"
    methods = [
        (f"{method} of {', '.join(names)}" if len(metrics) > 1 else method)
        + f" ({drawn_by[method]})" * (drawn_by[method] != of_replicates)
        for method, names in metrics.items()
    ]
    between = "; " if len(metrics) > 1 else ", "
    scheme = f"resampling {drawn}, seed {seed}"
    if not metrics or of_replicates in drawn_by.values():
        scheme = f"{of_replicates}, {scheme}"
    return f"{100.0 * confidence_level:g} % intervals: {between.join([*methods, scheme])}"


def as_progress(progress: bool | Progress | None) -> Progress:
    """Return the callable that reports finished replicates.

    None is a line on stderr where somebody sees it, after a second, so that short waits have none.
    """
    if callable(progress):
        return progress
    if progress is not None and not isinstance(progress, (bool, np.bool_)):
        raise ArgumentError("progress", f"must be True, False or a function, not {progress!r}")
    if progress is None and _is_seen(sys.stderr):
        return _ProgressLine(_QUIET_SECONDS)
    return _ProgressLine() if progress else lambda done, total: None


def _is_seen(stream: Any) -> bool:
    """Return whether a stream is a terminal or a notebook's."""
    if stream is None:  # Python without a console
        return False
    return bool(stream.isatty()) or type(stream).__module__.startswith("ipykernel")


class _ProgressLine:
    """A progress line on stderr."""

    def __init__(self, quiet_seconds: float = 0.0) -> None:
        self._begun = time.monotonic()
        self._last = self._begun + quiet_seconds - _SECONDS_BETWEEN
        self._is_shown = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        is_due = now - self._last >= _SECONDS_BETWEEN
        if not is_due and not (done == total and self._is_shown):
            return
        self._last, self._is_shown = now, True
        remaining = f"{(now - self._begun) * (total - done) / max(done, 1):.0f} s left"
        remaining, end = (remaining, "") if done < total else ("now the intervals", "\n")
        print(
            f"\r{done:,} of {total:,} replicates, {remaining} ",
            end=end,
            file=sys.stderr,
            flush=True,
        )


def described_results(results: "Sequence[BootstrapResult]") -> str:
    """Return the settings of intervals that were computed together as text."""
    methods: dict[str, list[str]] = {}
    for result in results:
        methods.setdefault(result.method, []).append(result.name)
    first = results[0]
    return described(
        first.confidence_level, methods, first.n_resamples, first.resampling, first.seed
    )


def undefined_replicates(n_undefined: int, n_replicates: int) -> str:
    """Return a message about replicates that are left out; "" without any."""
    if not n_undefined:
        return ""
    return (
        f"is undefined in {n_undefined:,} of {n_replicates:,} replicates, which are "
        "left out: a class is missing there, or a calibrator has no optimum"
    )


def constant_replicates(value: float, defined: Floats) -> str:
    """Return a message about replicates that all have the value on the data, else ""."""
    if defined.size < 2 or not (defined == value).all():
        return ""
    return (
        "is the same in all replicates, which differ only in predictions.sample_weight: "
        "does it take the weights into account?"
    )
