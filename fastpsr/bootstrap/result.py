"""What the bootstrap returns."""

from dataclasses import dataclass

from fastpsr.bootstrap.intervals import Interval, Method
from fastpsr.predictions import Floats

__all__ = ["BootstrapResult"]


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
    method: Method
    seed: int

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.value:.4g}, {100.0 * self.confidence_level:.6g}% interval "
            f"{low:.4g} to {high:.4g} ({self.method}, {self.replicates.size:,} replicates)>"
        )
