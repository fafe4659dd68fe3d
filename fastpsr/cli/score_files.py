"""Tables of scores with labels: what the options say of them, and how they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.bootstrap import IID, Resampling
from fastpsr.bootstrap.schemes import names_of_ids, with_ids
from fastpsr.cli.options.files import check_written_ending
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.scores import kind_of
from fastpsr.cli.wording import in_options
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.tables import Table, open_table


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table, the kind of its scores, and what is drawn of it, with names of columns as ids."""

    table: Table
    scale: str
    drawn: Resampling

    @property
    def units(self) -> Resampling:
        """What is drawn, with ids, or their names if the table is read part by part."""
        ids = dict(zip(self.table.ids, self.table.clusters, strict=True))
        return with_ids(self.drawn, ids.__getitem__)


def read_scores(
    path: Path,
    scales: Mapping[str, str],
    columns: Mapping[str, Sequence[str] | None],
    labels: str | None,
    weights: str | None,
    drawn: IntervalOptions | None = None,
    conditions: Sequence[str] = (),
    *,
    in_parts: bool | None = False,
) -> dict[str, ReadTable]:
    """Read a table with the scores of systems by name, or open one that is read part by part.

    `labels`, `columns` and `weights` name columns or arrays; for .npy files, all except the scores
    are separate files. Ids are read if `drawn` is given, and columns of `conditions`.
    """
    try:
        table = open_table(path)
    except ArgumentError as error:
        is_other = error.rule.startswith("must end in")
        more = "; score files of trials follow --scores" * is_other
        raise ValueError(f"{in_options(error)}{more}") from None
    scheme = IID() if drawn is None else drawn.of_table(table)
    ids = tuple(names_of_ids(scheme).values())
    kinds = {name: kind_of(scales[name]) for name in columns}
    by = {"by": conditions}
    chosen = table.choose(kinds, columns, labels, weights, ids, by, in_parts=in_parts)
    return {name: ReadTable(each, scales[name], scheme) for name, each in chosen.items()}


def write_columns(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    """Write arrays of equal length to .npz, .csv or .parquet, atomically."""
    check_written_ending(path)
    with whole_file(path) as part:
        if path.suffix == ".npz":
            np.savez(part, **columns)  # type: ignore[arg-type]
            return
        import polars

        flat: dict[str, NDArray[Any]] = {}
        for name, values in columns.items():
            if values.ndim == 1:
                flat[name] = values
            else:
                flat.update({f"{name}_{k}": values[:, k] for k in range(values.shape[1])})
        frame = polars.DataFrame(flat)
        frame.write_csv(part) if path.suffix == ".csv" else frame.write_parquet(part)
