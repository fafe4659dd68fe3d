"""Conditions that have a calibrator each."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.options.sources import Binned, parse_bins, parse_by

#: The options.
CONDITIONS = ("--by", "--bins", "--min-per-class")


@dataclass(frozen=True)
class ConditionOptions:
    """Columns of conditions, bins of their numbers, and how many samples each needs."""

    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Column of the key or table: a calibrator for each of its values; of several "
            "columns, for each combination.",
        ),
    ] = None
    bins: Binned = None
    min_per_class: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --by, number of samples of each class that a condition needs to have a "
            "calibrator of its own; others use that of all samples. By default 100.",
            metavar="N",
        ),
    ] = None

    def __post_init__(self) -> None:
        for option, value in (("--bins", self.bins), ("--min-per-class", self.min_per_class)):
            if value is not None and self.by is None:
                raise ValueError(f"{option} is for conditions: give --by too")

    @property
    def columns(self) -> list[str]:
        """The columns of conditions, each once."""
        found = [[each] if isinstance(each, str) else each for each in parse_by(self.by) or ()]
        return [*dict.fromkeys(name for names in found for name in names)]

    def of(self, calibrator: Any) -> "fp.ByCondition":
        """Return a calibrator by condition."""
        more = {} if self.min_per_class is None else {"min_per_class": self.min_per_class}
        return fp.ByCondition(calibrator, bins=parse_bins(self.bins), **more)
