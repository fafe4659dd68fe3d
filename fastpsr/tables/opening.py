"""Opening of tables: the names of their columns, and a function that reads one of these."""

import errno
import os
from pathlib import Path

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.files import LISTED, TEXT, ending_of, is_table
from fastpsr.frames import check_column_names
from fastpsr.optional import polars
from fastpsr.tables.binary import load_npy, open_npz, open_parquet, parquet_files, wrong
from fastpsr.tables.dialect import SEPARATORS, detect
from fastpsr.tables.sample import look
from fastpsr.tables.table import OpenTable
from fastpsr.tables.text import TextFile
from fastpsr.tables.words import decimal_points, is_number


def open_table(path: Path, separator: str | None = None) -> OpenTable:
    """Open a file, whose format is that of its extension, or a folder or pattern of Parquet files.

    The columns of text are read, of others only the names. By default its `separator` is detected.
    """
    files, ending = parquet_files(path), ending_of(path)
    if separator is not None:
        checks.check_choice("sep", separator, tuple(SEPARATORS))
        if files or ending not in TEXT:
            raise ArgumentError("sep", f"is for text, not for {path}")
    if files:
        return _open_parquet(path, files)
    if not is_table(path):
        raise wrong(path, f"must end in {LISTED} to be a table")
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if ending == ".npy":  # labels and weights are in files of their own
        return OpenTable(path, None, lambda name: load_npy(Path(name)))
    if ending == ".npz":
        n_rows, load = open_npz(path)
        return OpenTable(path, [*n_rows], load, n_rows=n_rows)
    try:
        return _open_text(path, separator)
    except ArgumentError:
        raise
    except ValueError as error:
        place, _, rule = str(error).removeprefix(str(path)).partition(" ")
        raise wrong(f"{path}{place}", rule) from None


def _open_parquet(path: Path, files: list[str]) -> OpenTable:
    pl = polars()
    rows, schema = open_parquet(path, files)
    texts = (pl.String, pl.Categorical, pl.Enum, pl.Int128)  # NumPy lacks the last
    return OpenTable(
        path,
        list(schema),
        lambda name: rows.select(name).collect()[name],
        files=tuple(files),
        count=lambda: int(rows.select(pl.len()).collect().item()),
        texts=frozenset(name for name, kind in schema.items() if isinstance(kind, texts)),
    )


def _open_text(path: Path, separator: str | None) -> OpenTable:
    sample = look(path)
    if sample.kind != "text":
        raise wrong(path, f"must be text, not {sample.kind}")
    file = detect(path, sample, separator)
    _check_header(file)
    frame = file.words()
    if file.separator == ",":
        return OpenTable(path, file.columns, frame.get_column, text=file)
    frame, unclear = decimal_points(path, frame)
    return OpenTable(path, file.columns, frame.get_column, text=file, unclear=unclear)


def _check_header(file: TextFile) -> None:
    """Raise if the header has no separator but blanks, no names, or the same name twice.

    Plain integers may be names of columns.
    """
    path, names, lines = file.path, file.columns, file.sample.lines
    if len(names) == 1 and all(" " in line for line in lines[:2]):
        listed = ", ".join(SEPARATORS.values())
        rule = f"must have one of {listed} between its columns, but line 1 has blanks"
        raise wrong(path, f"{rule}: save it again with commas, and points in numbers")
    numbers = [name for name in names if name and is_number(name)]
    decimals = [word for word in numbers if not word.isdecimal()]
    if decimals and len(numbers) == len(names):
        rule = "the first line must be a header with the names of the columns, not numbers such as"
        raise ArgumentError("path", f"{rule} {decimals[0]!r}", name=f"{path}:")
    check_column_names(path, names)
