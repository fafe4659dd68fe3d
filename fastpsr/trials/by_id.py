"""Values of recordings by their ids, of a mapping or a file: columns of both sides of trials."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.tables.sample import look
from fastpsr.tables.text import TextFile
from fastpsr.tables.words import as_typed
from fastpsr.trials.coded import Coded, Column, is_used

if TYPE_CHECKING:
    from polars import DataFrame, Series

#: Files of lines `id value`, or mappings, some with the name of the values.
Files = (
    str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    | Mapping[str, str | os.PathLike[str] | Mapping[str, object]]
)  # fmt: skip
_MOST_EXAMPLES = 3
_MOST = np.finfo(np.float64).max


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
        if not isinstance(given, str | os.PathLike):
            rule = f"must be a file of lines `id {what}`, or a mapping, not {given!r}"
            raise ArgumentError(f"{what}s", rule)
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


class Metadata:
    """Values of recordings that become columns of trials, two of each name: one for each side.

    Attributes
    ----------
    columns : list of str
        Names of the columns.
    """

    def __init__(self, values: Files | None, argument: str = "metadata") -> None:
        self._argument = argument
        values = {} if values is None else values
        if isinstance(values, str) or not isinstance(values, Mapping | Sequence):
            values = [values]
        if not isinstance(values, Mapping):
            names = [Path(str(path)).name.partition(".")[0] for path in values]
            if len({*names}) < len(names):
                rule = f"must have names that differ up to a point, or a dict, not {values}"
                raise ArgumentError("metadata", rule)
            values = dict(zip(names, values, strict=True))
        self._by_name = {name: ById.of(source, "value") for name, source in values.items()}
        self.columns = [f"{side}_{name}" for name in self._by_name for side in ("enroll", "test")]

    def check_names(self, columns: Collection[str]) -> None:
        """Raise if a column has the name of one of the trials."""
        for name in self.columns:
            if name in columns:
                raise ArgumentError("metadata", f"must have a name of its own for {name}")

    def columns_of(self, ids: Sequence[Coded]) -> "dict[str, Series]":
        """Return the columns of trials with these ids; numbers where all values are numbers."""
        columns = []
        for by_id in self._by_name.values():
            of_names = [by_id.of_ids(side.names) for side in ids]
            lacking = [
                side.names.filter(is_used(side) & values.is_null()).to_list()
                for side, values in zip(ids, of_names, strict=True)
            ]
            check_none_lacks(self._argument, "value", by_id.source, lacking)
            kind = as_typed(by_id.table["value"]).dtype
            columns += [v.gather(s.codes).cast(kind) for s, v in zip(ids, of_names, strict=True)]
        return dict(zip(self.columns, columns, strict=True))


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


def treated(
    column: Column, source: str | Coded, cap: float | None, log: bool
) -> NDArray[np.float64]:
    """Return a quality measure as numbers; the source, for errors, is a place or ids."""
    values = column.series() if isinstance(column, Coded) else polars().Series(column)
    numbers: NDArray[np.float64] = values.cast(polars().Float64, strict=False).to_numpy()
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > (0.0 if log else -np.inf))))
    if wrong.size:
        at = int(wrong[0])
        rule = "must be finite numbers" + " above 0, whose logarithms are taken" * log
        where = source if isinstance(source, str) else f"of {source[at]!r}"
        raise ArgumentError("values", f"{rule}, not {values[at]!r} {where}", at)
    if cap is not None:
        rule = "be a finite number" + " above 0, whose logarithm is taken" * log
        least, most = (5e-324 if log else -_MOST), _MOST
        numbers = np.minimum(numbers, checks.check_number("cap", cap, least, most, rule))
    return np.log(numbers) if log else numbers
