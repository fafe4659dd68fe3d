"""Tables of scores with labels: what the options say of them, and how they are written."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.cli.options import BY_WHAT_IS_KNOWN, SPEAKERS, kind_of
from fastpsr.cli.wording import in_options
from fastpsr.errors import ArgumentError
from fastpsr.files import whole_file
from fastpsr.tables import OpenTable, Table, open_table
from fastpsr.trials.speakers import SPEAKER_COLUMNS

__all__ = ["check_written_ending", "read_scores", "write_columns"]


def read_scores(
    path: Path,
    scale: str,
    labels: str | None,
    columns: str | None,
    weights: str | None,
    clusters: str | None = None,
    *,
    in_parts: bool | None = False,
) -> Table:
    """Read a table, or open one that is read part by part.

    `labels`, `columns`, `weights` and `clusters` name columns or arrays (several `columns`,
    separated by commas); for .npy files, all except the scores are separate files.
    """
    try:
        table = open_table(path)
    except ArgumentError as error:
        is_other = error.rule.startswith("must end in")
        more = "; score files of trials follow --scores" * is_other
        raise ValueError(f"{in_options(error)}{more}") from None
    names = None if columns is None else columns.split(",")
    ids = _find_clusters(table, clusters)
    return table.choose(kind_of(scale), labels, names, weights, ids, in_parts=in_parts)


def _find_clusters(table: OpenTable, asked: str | None) -> tuple[str, ...]:
    """Return the columns whose values are drawn: none, one, or the speakers of both sides.

    These are `asked` for by "speaker"; by default they are drawn where the table has them.
    """
    names = table.names or ()
    if asked is None:
        return ()
    if asked in (BY_WHAT_IS_KNOWN, SPEAKERS) and set(SPEAKER_COLUMNS) <= set(names):
        return SPEAKER_COLUMNS
    if asked == BY_WHAT_IS_KNOWN:
        return ()
    if asked in names or (table.names is None and asked.endswith(".npy")):
        return (asked,)
    what = f"a column of {table.path} ({', '.join(names)})"
    lacking = f", which needs columns {' and '.join(SPEAKER_COLUMNS)}" * (asked == SPEAKERS)
    if table.names is None:
        what, lacking = f"a .npy file beside {table.path}", ""
    raise ValueError(f"--resample must be iid, stratified or {what}, not {asked!r}{lacking}")


def check_written_ending(path: Path) -> None:
    """Raise unless a table can be written to a file with this extension."""
    if path.suffix not in (".npz", ".csv", ".parquet"):
        raise ValueError(f"{path} must end in .npz, .csv or .parquet to be written")


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
