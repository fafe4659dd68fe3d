"""Intervals of calibration errors, which are those that a test of the errors does not reject.

A calibration error is a norm of the errors of bins. Noise makes it larger, most of all where the
errors are small: percentiles of replicates are of errors with the noise of two draws.
"""

from dataclasses import dataclass

import numpy as np

from fastpsr.bootstrap.intervals import Interval
from fastpsr.data import Floats

_N_STEPS = 80  # on the way to the largest errors


@dataclass(frozen=True, eq=False)
class SignedErrors:
    """Errors of the bins of a calibration error, which is a norm of them.

    Attributes
    ----------
    errors : ndarray of float64, shape (M,)
        Signed errors of the bins, scaled so that their norm is the calibration error.
    replicates : ndarray of float64, shape (R, M)
        nan where they are undefined.
    norm : {1, 2}
    """

    errors: Floats
    replicates: Floats
    norm: int


def inverted_interval(bins: SignedErrors, level: float, n_units: int | None) -> Interval:
    """Return the calibration errors that a two-sided test does not reject.

    With errors d, their norm T, and noise r = replicate - d, the lower end is the least norm of
    lambda d for which P(norm(lambda d + r) >= T) exceeds half the error level. The upper end is the
    largest norm of lambda u, u = sign(d) max(abs(d), sd(r)), for which P(norm(lambda u + r) <= T)
    does: of all errors, those as even as the noise allows are the hardest to see.

    If whole clusters or speakers are drawn, `n_units` of them, their replicates vary less by
    (n - 1) / n.
    """
    errors, replicates = bins.errors, bins.replicates
    noise = replicates[~np.isnan(replicates).any(axis=1)] - errors
    if n_units is not None:
        noise *= np.sqrt(n_units / (n_units - 1.0))
    tail = (1.0 - level) / 2.0

    def norms(rows: Floats) -> Floats:
        return np.asarray(np.linalg.norm(rows, bins.norm, axis=-1))

    observed = float(norms(errors))
    steps = np.linspace(0.0, 1.0, _N_STEPS)
    above = np.array([(norms(step * errors + noise) >= observed).mean() for step in steps])
    low = observed * _first_crossing(steps, above, tail)
    spread = np.maximum(np.abs(errors), noise.std(axis=0))
    farthest = np.where(errors < 0.0, -spread, spread)
    length = float(norms(farthest))
    if not length > 0.0:
        return Interval(low, observed)
    # beyond, no noise brings the norm down to the observed one
    most = (observed + float(norms(noise).max())) / length
    steps = np.linspace(most, 0.0, _N_STEPS)
    below = np.array([(norms(step * farthest + noise) <= observed).mean() for step in steps])
    if not (below > tail).any():  # even without errors, noise exceeds what was observed
        return Interval(low, observed)
    return Interval(low, length * _first_crossing(steps, below, tail))


def interval_of_difference(a: Interval, b: Interval, replicates: Floats) -> Interval:
    """Return the interval of a difference from those of both sides, and (2, R) replicates of them.

    The square of its half-width is that of a difference of two variables with the half-widths of
    both sides as standard deviations, and the correlation of the replicates.

    References
    ----------
    G. Zou and A. Donner, "Construction of confidence limits about effect measures: a general
    approach", Statistics in Medicine 27, 2008, doi:10.1002/sim.3095.
    """
    defined = replicates[:, ~np.isnan(replicates).any(axis=0)]
    centered = defined - defined.mean(axis=1, keepdims=True)
    deviations = centered.std(axis=1, keepdims=True)
    scaled = np.divide(centered, deviations, out=np.zeros_like(centered), where=deviations > 0.0)
    apart = float(((scaled[0] - scaled[1]) ** 2).mean()) / 2.0  # 1 minus the correlation
    (middle, reach), (other_middle, other_reach) = (
        ((side.low + side.high) / 2.0, (side.high - side.low) / 2.0) for side in (a, b)
    )
    difference = middle - other_middle
    joint = float(np.sqrt((reach - other_reach) ** 2 + 2.0 * apart * reach * other_reach))
    return Interval(difference - joint, difference + joint)


def _first_crossing(steps: Floats, shares: Floats, level: float) -> float:
    """Return where shares first exceed a level, interpolated."""
    k = int(np.argmax(shares > level))
    if k == 0:
        return float(steps[0])
    part = (level - shares[k - 1]) / (shares[k] - shares[k - 1])
    return float(steps[k - 1] + part * (steps[k] - steps[k - 1]))
