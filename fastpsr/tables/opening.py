"""Opening of tables: the names of their columns, and a function that reads one of these."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.frames import check_column_names
from fastpsr.optional import polars
from fastpsr.tables.binary import load_npy, open_npz, open_parquet, parquet_files, wrong
from fastpsr.tables.sample import look
from fastpsr.tables.table import OpenTable, is_number
from fastpsr.tables.text import TextFile, first_too_large, header_of

if TYPE_CHECKING:
    from polars import Series

_ENDINGS = (".npz", ".npy", ".csv", ".parquet", ".pq")


def is_table(path: Path) -> bool:
    """Whether a file is a table, judged by its extension."""
    return path.suffix in _ENDINGS


def open_table(path: Path) -> OpenTable:
    """Open a file, whose format is that of its extension, or a folder or pattern of Parquet files.

    The columns of CSV files are read, of others only the names.
    """
    if files := parquet_files(path):
        return _open_parquet(path, files)
    if not is_table(path):
        raise wrong(path, "must end in .npz, .npy, .csv or .parquet to be a table")
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.suffix == ".npy":  # labels and weights are in files of their own
        return OpenTable(path, None, lambda name: load_npy(Path(name)))
    return OpenTable(path, *open_npz(path)) if path.suffix == ".npz" else _open_csv(path)


def _open_parquet(path: Path, files: list[str]) -> OpenTable:
    pl = polars()
    rows, schema = open_parquet(path, files)
    wide = [name for name, kind in schema.items() if kind == pl.Int128]  # which NumPy lacks
    rows = rows.cast(dict.fromkeys(wide, pl.String))
    texts = (pl.String, pl.Categorical, pl.Enum)
    return OpenTable(
        path,
        list(schema),
        lambda name: rows.select(name).collect()[name].to_numpy(),
        tuple(files),
        lambda: int(rows.select(pl.len()).collect().item()),
        frozenset(name for name, kind in schema.items() if name in wide or isinstance(kind, texts)),
    )


def _open_csv(path: Path) -> OpenTable:
    try:
        sample = look(path)
        if sample.kind != "text":
            raise wrong(path, f"must be text, not {sample.kind}")
        _check_header(path, sample.lines)
        names = header_of(sample, ",")
        check_column_names(path, names)
        file = TextFile(path, sample, names, ",", has_header=True)
        frame = file.words()
    except ArgumentError:
        raise
    except ValueError as error:
        place, _, rule = str(error).removeprefix(str(path)).partition(" ")
        raise wrong(f"{path}{place}", rule) from None
    return OpenTable(
        path,
        names,
        lambda name: _values(path, frame[name]),
        as_written=lambda name: _as_written(frame[name]),
    )


def _check_header(path: Path, lines: tuple[str, ...]) -> None:
    """Raise if the first line is not one of names with commas between them.

    Plain integers may be names of columns.
    """
    for separator in ";", "\t", " ":
        if "," not in lines[0] and all(separator in line for line in lines[:2]):
            seen = "blanks" if separator == " " else repr(separator)
            rule = f"must have commas between its columns, but line 1 has {seen}"
            raise wrong(path, f"{rule}: save it again with commas, and points in numbers")
    if lines[0].startswith("sep="):
        raise wrong(path, "must begin with a header, but line 1 is 'sep=...': remove this line")
    words = [word.strip() for word in lines[0].split(",")]
    numbers = [word for word in words if word and is_number(word)]
    decimals = [word for word in numbers if not word.isdecimal()]
    if decimals and numbers == words:
        rule = "the first line must be a header with the names of the columns, not numbers such as"
        raise ArgumentError("path", f"{rule} {decimals[0]!r}", name=f"{path}:")


def _values(path: Path, words: "Series") -> NDArray[Any]:
    """Return integers, numbers or booleans where all words are such, else the words.

    Raises if a number is too large for a float64, unless it is written as infinite.
    """
    pl = polars()
    stripped = words.str.strip_chars()
    for kind in (pl.Int64, pl.Float64):
        numbers = stripped.cast(kind, strict=False)
        if numbers.null_count() > words.null_count():
            continue
        too_large = None if kind == pl.Int64 else first_too_large(numbers, lambda: stripped)
        if too_large is not None:
            row, word = too_large
            rule = f"must be numbers that a float64 holds, but {words.name}[{row}] is {word}"
            raise ArgumentError("path", rule, row, name=f"{path}: {words.name}")
        return numbers.to_numpy()
    lowered = stripped.str.to_lowercase()
    if lowered.is_in(["true", "false"]).all() and not words.null_count():
        return (lowered == "true").to_numpy()
    return words.to_numpy()


def _as_written(words: "Series") -> NDArray[Any]:
    """Return ids or conditions as they are written; plain integers, which differ alike, as these.

    Empty cells are None.
    """
    pl = polars()
    integers = words.cast(pl.Int64, strict=False)
    if not integers.null_count() and (integers.cast(pl.String) == words).all():
        return integers.to_numpy()
    is_empty = words.fill_null("").str.strip_chars() == ""
    return words.set(is_empty, None).to_numpy()
