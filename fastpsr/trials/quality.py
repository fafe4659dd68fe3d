"""Quality measures of recordings, joined to both sides of trials."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.calibration import Quality
from fastpsr.errors import ArgumentError
from fastpsr.trials.by_id import ById, check_none_lacks
from fastpsr.trials.coded import Coded
from fastpsr.trials.optional import polars

if TYPE_CHECKING:
    from polars import Series

__all__ = ["quality_of"]


def quality_of(
    sides: tuple[Coded, Coded],
    values: str | os.PathLike[str] | Mapping[str, float],
    *,
    cap: float | None,
    log: bool,
) -> Quality:
    """Return the measure of both sides of trials, given their ids."""
    if cap is not None:
        cap = checks.as_number("cap", cap)
    by_id = ById.of(values, "value")
    numbers, lacking = [], []
    for ids in sides:
        used = np.bincount(ids.codes, minlength=len(ids.names)) > 0
        found = by_id.of_ids(ids.names)
        lacking.append(ids.names.filter(polars().Series(used) & found.is_null()).to_list())
        numbers.append((ids, used, found))
    check_none_lacks("values", "value", by_id.source, lacking)
    enroll, test = (
        _numbers(found, ids.names, used, cap, log=log)[ids.codes] for ids, used, found in numbers
    )
    return Quality(enroll, test)


def _numbers(
    found: "Series", names: "Series", used: NDArray[Any], cap: float | None, *, log: bool
) -> NDArray[np.float64]:
    """Return numbers of ids, nan where an id is not used."""
    pl = polars()
    numbers = found.cast(pl.Float64, strict=False).to_numpy()
    numbers = np.where(used, numbers, 1.0)
    lowest = 0.0 if log else -np.inf
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > lowest)))
    if wrong.size:
        at = int(wrong[0])
        rule = "must be finite numbers" + " above 0, whose logarithms are taken" * log
        raise ArgumentError("values", f"{rule}, not {found[at]!r} of {names[at]!r}")
    numbers = numbers if cap is None else np.minimum(numbers, cap)
    return np.log(numbers) if log else numbers
