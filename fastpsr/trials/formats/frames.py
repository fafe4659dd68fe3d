"""Data frames of polars to columns of trials, and back."""

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastpsr.trials.coded import Coded, Column, as_column
from fastpsr.trials.formats.format import Columns
from fastpsr.trials.names import check_roles
from fastpsr.trials.optional import polars
from fastpsr.trials.text import Where

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["Table", "as_table", "frame_of"]

#: Columns by name, names of columns by role, and what names rows in errors.
Table = tuple[dict[str, Column], dict[str, str], Where]


def as_table(frame: "DataFrame", roles: dict[str, str], where: Where) -> Table:
    """Turn the columns into codes and numbers; what has a role must be in every row."""
    check_roles(frame, roles, where)
    for name, kind in frame.schema.items():
        if kind.is_nested() or kind == polars().Object or kind == polars().Binary:
            raise ValueError(
                f"{where([0])[0]}: column {name} must hold numbers or text, not {kind}"
            )
    columns = {name: as_column(frame.drop_in_place(name)) for name in frame.columns}
    return columns, roles, where


def frame_of(columns: Columns) -> "DataFrame":
    """Return columns as a data frame."""

    def series(column: Coded | NDArray[Any]) -> "Series | NDArray[Any]":
        return column.series() if isinstance(column, Coded) else column

    frame: DataFrame = polars().DataFrame({name: series(c) for name, c in columns.items()})
    return frame
