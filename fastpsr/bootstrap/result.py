"""Result of the bootstrap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.bootstrap.intervals import Interval, UsedMethod, described, drawn_for
from fastpsr.data import Floats
from fastpsr.results import Result, frame, table
from fastpsr.version import __version__

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True, eq=False)
class BootstrapResult(Result):
    """Value of a metric with its confidence interval.

    Attributes
    ----------
    name : str
        Name of the metric.
    value : float
        Value on the data.
    interval : Interval
        ``.low`` and ``.high``.
    standard_error : float
        Standard deviation of the replicates.
    bias : float
        Mean of the replicates minus the value: an estimate of the bias of the value.
    replicates : ndarray of float64, shape (n_resamples,)
        nan where the metric was undefined.
    n_undefined : int
        Number of replicates in which the metric is undefined, for example because a class is
        missing. They are not used for the interval.
    confidence_level : float
    method : str
        How the interval was computed: "percentile", "basic", "bca", "normal", "subsampling",
        "jackknife" or "inverted test".
    degrees_of_freedom : float
        Of an interval by subsampling or by the jackknife: about how many samples, clusters or
        speakers determine the value; intervals are wider where there are few. nan for other
        methods.
    seed : int
        Seed that reproduces the replicates.
    resampling : str
        Name of the resampling scheme.
    corrected : float
        The value, corrected for the optimism of having been optimized or fitted on these samples,
        where the interval is by subsampling; else nan. The interval is around it, and for a small
        value of a large optimism it may not contain the value itself.
    caution : str
        Why the interval is not to be used, where only the range of the metric bounds it; else "".
    unit : str
        Of the value: "fraction", "percent", "probability", "nats", "bits", or "" for ratios.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1] * 25, [0.1, 0.6, 0.4, 0.9] * 25)
    >>> found = fp.bootstrap(fp.AUC(), data, seed=0)
    >>> found.value, found.n_undefined, found.interval.low < found.value < found.interval.high
    (0.75, 0, True)
    """

    name: str
    value: float
    interval: Interval
    standard_error: float
    bias: float
    replicates: Floats
    n_undefined: int
    confidence_level: float
    method: UsedMethod
    seed: int
    resampling: str
    unit: str = ""
    degrees_of_freedom: float = float("nan")
    corrected: float = float("nan")
    caution: str = ""

    @property
    def n_resamples(self) -> int:
        """Number of replicates, including undefined ones."""
        return self.replicates.size

    @property
    def settings(self) -> str:
        """Description of how the interval was computed."""
        return described_results([self])

    def to_frame(self) -> "DataFrame":
        """Return a ``polars.DataFrame`` of one row, with everything except the replicates.

        Raises
        ------
        ValueError
            If polars is not installed.
        """
        row: dict[str, Any] = {
            name: [value] for name, value in self._content().items() if name != "replicates"
        }
        if self.seed < 1 << 64:  # the same type for small and large seeds
            row["seed"] = np.array(row["seed"], np.uint64)
        return frame(row)

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        low, high = content.pop("interval")
        name, value = content.pop("name"), content.pop("value")
        settings = {"n_resamples": self.n_resamples, "fastpsr": __version__}
        return {"name": name, "value": value, "low": low, "high": high, **content, **settings}

    def _repr_html_(self) -> str:
        names = ("value", "low", "high", "standard error", "bias", "undefined")
        numbers = (self.value, *self.interval, self.standard_error, self.bias, self.n_undefined)
        return table(self.settings, ("metric", *names), [(self.name, *numbers)])

    @property
    def _beside(self) -> str:
        """The corrected value as text, where the interval does not contain the value."""
        if math.isnan(self.corrected) or self.interval.low <= self.value <= self.interval.high:
            return ""
        return f"; {self.corrected:.4g} once corrected for optimism on these samples"

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.value:.4g}, {100.0 * self.confidence_level:.6g}% interval "
            f"{low:.4g} to {high:.4g} ({self.method}, {drawn_for(self.method, self.n_resamples)})"
            f"{self._beside}{'; ' * bool(self.caution)}{self.caution}>"
        )


def described_results(results: Sequence[BootstrapResult]) -> str:
    """Return the settings of intervals that were computed together as text."""
    methods: dict[str, list[str]] = {}
    for each in results:
        methods.setdefault(each.method, []).append(each.name)
    first = results[0]
    return described(
        first.confidence_level, methods, first.n_resamples, first.resampling, first.seed
    )
