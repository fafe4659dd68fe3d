"""Quality measures of recordings, joined to both sides of trials, or of a column for each side."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.calibration import Quality
from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.trials.by_id import ById, check_none_lacks
from fastpsr.trials.coded import Coded, Column, is_used

if TYPE_CHECKING:
    from polars import Series

_MOST = np.finfo(np.float64).max


def quality_of_ids(
    sides: tuple[Coded, Coded],
    values: str | os.PathLike[str] | Mapping[str, float],
    *,
    cap: float | None,
    log: bool,
) -> Quality:
    """Return the measure of both sides of trials, given their ids."""
    by_id = ById.of(values, "value")
    of_names = [by_id.of_ids(ids.names) for ids in sides]
    lacking = [
        ids.names.filter(is_used(ids) & own.is_null()).to_list()
        for ids, own in zip(sides, of_names, strict=True)
    ]
    check_none_lacks("values", "value", by_id.source, lacking)
    enroll, test = (
        _treated("values", own.gather(ids.codes), ids.series(), cap, log)
        for ids, own in zip(sides, of_names, strict=True)
    )
    return Quality(enroll, test)


def quality_of_columns(
    names: tuple[str, str], columns: tuple[Column, Column], *, cap: float | None, log: bool
) -> Quality:
    """Return the measure of both sides of trials, given a column of each."""
    enroll, test = (
        _treated(
            "column", column.series() if isinstance(column, Coded) else polars().Series(column),
            name, cap, log,
        )
        for name, column in zip(names, columns, strict=True)
    )  # fmt: skip
    return Quality(enroll, test)


def _treated(
    argument: str,
    values: "Series",
    source: "str | Series",
    cap: float | None,
    log: bool,
) -> NDArray[np.float64]:
    """Return numbers after `cap` and `log`; the source is a column, or the ids of the values."""
    numbers: NDArray[np.float64] = values.cast(polars().Float64, strict=False).to_numpy()
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > (0.0 if log else -np.inf))))
    if wrong.size:
        at = int(wrong[0])
        rule = "must be finite numbers" + " above 0, whose logarithms are taken" * log
        whose = f"in column {source}" if isinstance(source, str) else f"of {source[at]!r}"
        raise ArgumentError(argument, f"{rule}, not {values[at]!r} {whose}")
    if cap is not None:
        rule = "be a finite number" + " above 0, whose logarithm is taken" * log
        least, most = (5e-324 if log else -_MOST), _MOST
        numbers = np.minimum(numbers, checks.check_number("cap", cap, least, most, rule))
    return np.log(numbers) if log else numbers
