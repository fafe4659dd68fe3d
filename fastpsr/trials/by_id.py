"""Values of recordings by their ids: of a mapping, or of a file of lines `id value`."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.tables.sample import look
from fastpsr.tables.text import TextFile

if TYPE_CHECKING:
    from polars import DataFrame, Series

_MOST_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class ById:
    """Values by id, as text.

    Attributes
    ----------
    table : polars.DataFrame
        Columns `id`, each once, and `value`.
    source : str
        The file, or "it" for a mapping.
    """

    table: "DataFrame"
    source: str

    @classmethod
    def of(cls, given: str | os.PathLike[str] | Mapping[str, object], what: str) -> "ById":
        """Return the values, each `what` of an id; an id has one."""
        pl = polars()
        if isinstance(given, Mapping):
            pairs = [(str(id), None if x is None else str(x)) for id, x in given.items()]
            schema = {"id": pl.String, "value": pl.String}
            return cls(pl.DataFrame(pairs, schema, orient="row"), "it")
        path = Path(given)
        sample = look(path)
        if sample.kind != "text":
            raise ValueError(f"{path} must be text, lines of an id and a {what}, not {sample.kind}")
        file = TextFile(path, sample, ("id", what))
        lines = file.words().rename({what: "value"}).with_row_index("row")
        table = lines.unique(["id", "value"], keep="first", maintain_order=True)
        again = table.filter(~table["id"].is_first_distinct())
        if len(again):
            row, id, value = again.row(0)
            before = table.filter(table["id"] == id)["value"][0]
            raise ValueError(
                f"{path}:{file.line_of(row)}: id {id!r} has two {what}s: {value!r} after {before!r}"
            )
        return cls(table.drop("row"), os.fspath(given))

    def of_ids(self, names: "Series") -> "Series":
        """Return the value of each name, null where it has none."""
        ids = names.rename("id").to_frame()
        values: Series = ids.join(self.table, on="id", how="left", maintain_order="left")["value"]
        return values


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
