"""Quality measures of recordings, as columns of a fusion."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.predictions import Floats

__all__ = ["TERMS", "Quality", "columns_of"]

#: How measures of both sides make columns that do not depend on which side is which.
TERMS = ("min,max", "bilinear", "scale")


@dataclass(frozen=True, eq=False)
class Quality:
    """A quality measure of both recordings of each trial, such as log-durations, for a fusion.

    Parameters
    ----------
    enroll, test : array-like of shape (N,)
        Finite numbers, in the order of the trials.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> rng = np.random.default_rng(0)
    >>> y, enroll, test = rng.integers(0, 2, 4000), rng.random(4000), rng.random(4000)
    >>> scores = fp.Predictions.from_raw_scores(y, y + rng.normal(size=4000) - enroll - test)
    >>> fusion = fp.LinearFusion().fit({"x": scores, "noise": fp.Quality(enroll, test)})
    >>> dict(zip(fusion.columns_, fusion.weights_.round(1).tolist()))
    {'x': 1.0, 'min(noise)': 0.9, 'max(noise)': 1.1}
    """

    enroll: ArrayLike
    test: ArrayLike


def columns_of(
    name: str, place: str, quality: Quality, n_samples: int, terms: str
) -> Iterator[tuple[str, Floats]]:
    """Yield names and values of the columns of a measure; errors are of its `place`."""
    sides = []
    for side in ("enroll", "test"):
        values = checks.as_floats(f"{place}.{side}", getattr(quality, side), 1)
        checks.check_length(f"{place}.{side}", values.size, n_samples)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            at = int(wrong[0])
            raise ArgumentError(f"{place}.{side}", "must be finite", at, value=str(values[at]))
        sides.append(values.astype(np.float64, copy=False))
    one, other = sides
    if terms == "bilinear":
        with np.errstate(over="ignore"):
            yield f"product({name})", one * other
            yield f"sum({name})", one + other
    else:
        yield f"min({name})", np.minimum(one, other)
        yield f"max({name})", np.maximum(one, other)
