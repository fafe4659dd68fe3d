"""Quality measures of recordings, as columns of a fusion."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastpsr import checks
from fastpsr.data import Floats, Part
from fastpsr.errors import ArgumentError

#: How measures of both sides make columns that do not depend on which side is which.
TERMS = ("min,max", "bilinear", "scale")

SIDES = ("enroll", "test")


@dataclass(frozen=True, eq=False)
class Quality:
    """A quality measure of both recordings of each trial, such as log-durations, for a fusion.

    Parameters
    ----------
    enroll, test : array-like of shape (N,), or str
        Finite numbers, in the order of the trials, or the names of their columns.

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

    enroll: ArrayLike | str
    test: ArrayLike | str


def column_names(name: str, terms: str) -> tuple[str, str]:
    """Return the names of the columns of a measure."""
    made = ("product", "sum") if terms == "bilinear" else ("min", "max")
    return f"{made[0]}({name})", f"{made[1]}({name})"


def columns_of(
    name: str, place: str, quality: Quality, part: Part, terms: str
) -> Iterator[tuple[str, Floats]]:
    """Yield names and values of the columns of a measure; errors are of its `place`."""
    one, other = (_values(f"{place}.{side}", getattr(quality, side), part) for side in SIDES)
    first, second = column_names(name, terms)
    if terms == "bilinear":
        with np.errstate(over="ignore"):
            yield first, one * other
            yield second, one + other
    else:
        yield first, np.minimum(one, other)
        yield second, np.maximum(one, other)


def _values(name: str, given: Any, part: Part) -> Floats:
    """Return what a side has in the rows of a part, (n,)."""
    values = checks.as_floats(name, part.values(name, given), 1, may_be_empty=True)
    checks.check_length(name, values.size, len(part.predictions))
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        at = int(wrong[0])
        row = part.first_row + at
        raise ArgumentError(name, "must be finite", row, value=str(values[at]))
    return values.astype(np.float64, copy=False)
