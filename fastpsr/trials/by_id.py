"""Values of recordings by their ids: of a mapping, or of a file of lines `id value`."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.tables.sample import look
from fastpsr.tables.text import TextFile
from fastpsr.trials.coded import Coded, recode

if TYPE_CHECKING:
    from polars import Series

_MOST_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class ById:
    """Values by id, as text.

    Attributes
    ----------
    ids, values : polars.Series of str
        Each id once.
    source : str
        The file, or "it" for a mapping.
    """

    ids: "Series"
    values: "Series"
    source: str

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Mapping[str, object], what: str) -> "ById":
        """Return the values, each `what` of an id; an id has one."""
        pl = polars()
        if isinstance(given, Mapping):
            ids = pl.Series([str(x) for x in given], dtype=pl.String)
            values = [None if x is None else str(x) for x in given.values()]
            return cls(ids, pl.Series(values, dtype=pl.String), "it")
        path = Path(given)
        sample = look(path)
        if sample.kind != "text":
            raise ValueError(f"{path} must be text, lines of an id and a {what}, not {sample.kind}")
        file = TextFile(path, sample, ("id", what))
        lines = pl.concat([file.frame(piece, {}) for piece in file.pieces()])
        table = lines.with_row_index("row").unique(["id", what], keep="first", maintain_order=True)
        again = table.filter(~table["id"].is_first_distinct())
        if len(again):
            row, id, value = again.row(0)
            before = table.filter(table["id"] == id)[what][0]
            raise ValueError(
                f"{path}:{file.line_of(row)}: id {id!r} has two {what}s: {value!r} after {before!r}"
            )
        return cls(table["id"], table[what], os.fspath(given))

    def of_ids(self, names: "Series") -> "Series":
        """Return the value of each name, null where it has none."""
        pl = polars()
        places = recode(Coded(np.arange(len(names), dtype=np.int32), names), self.ids)
        at = pl.Series(places).cast(pl.UInt32, strict=False)  # -1 becomes null
        found: Series = self.values.gather(at)
        return found


def check_none_lacks(
    argument: str, what: str, source: str, lacking: Sequence[Collection[str]]
) -> None:
    """Raise if ids of the enrollment or the test side have no value."""
    said = [
        f"{counted(len(ids), f'{side} id')} "
        f"({', '.join(map(repr, sorted(ids)[:_MOST_EXAMPLES]))}"
        f"{', ...' * (len(ids) > _MOST_EXAMPLES)})"
        for side, ids in zip(("enroll", "test"), lacking, strict=True)
        if ids
    ]
    if said:
        rule = f"must give every id a {what}, but {source} gives none to {' and '.join(said)}"
        raise ArgumentError(argument, rule)
