"""Opening of tables: the names of their columns, and a function that reads one of these."""

import errno
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.optional import load
from fastpsr.tables.parquet_files import parquet_files
from fastpsr.tables.table import OpenTable

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["is_table", "open_table"]

_ENDINGS = (".npz", ".npy", ".csv", ".parquet", ".pq")
_ADVICE = 'CSV and Parquet files need polars: pip install "fastpsr[cli]"'


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
        raise _wrong(path, "must end in .npz, .npy, .csv or .parquet to be a table")
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.suffix == ".npy":  # labels and weights are in files of their own
        return OpenTable(path, None, lambda name: _load_npy(Path(name)))
    return (_open_npz if path.suffix == ".npz" else _open_csv)(path)


def _wrong(path: Path, rule: str) -> ArgumentError:
    return ArgumentError("path", rule, name=str(path))


def _damaged(path: Path, what: str = "it") -> ArgumentError:
    rule = f"must be a whole {path.suffix} file of numbers or text"
    return _wrong(path, f"{rule}: {what} is cut short, damaged or holds a pickle")


def _load_npy(path: Path) -> NDArray[Any]:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise _damaged(path) from None
    if not isinstance(array, np.ndarray):
        raise _wrong(path, "must be a .npy file, not an archive")
    return array


def _open_npz(path: Path) -> OpenTable:
    def attempt(what: str, read: Callable[[Any], Any]) -> Any:
        with path.open("rb") as file:
            if file.read(6) == b"\x93NUMPY":
                raise _wrong(path, "holds a single array: its name must end in .npy")
        try:
            with np.load(path, allow_pickle=False) as archive:
                found = read(archive)
            if isinstance(found, (list, np.ndarray)):
                return found
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            pass  # NumPy names its arguments rather than the file
        raise _damaged(path, what)

    names = attempt("it", lambda archive: archive.files)
    return OpenTable(path, names, lambda name: attempt(name, lambda archive: archive[name]))


def _open_csv(path: Path) -> OpenTable:
    polars = load("polars", _ADVICE)
    try:  # types are inferred from all rows; rows of other lengths are errors
        frame = polars.read_csv(path, infer_schema_length=None, glob=False)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unread(path, path, "CSV", error) from None
    _check_header(path, frame)
    return OpenTable(path, frame.columns, lambda name: _as_numbers(path, frame[name]).to_numpy())


def _open_parquet(path: Path, files: list[str]) -> OpenTable:
    polars = load("polars", _ADVICE)
    try:
        schema = polars.read_parquet_schema(files[0])
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unread(path, Path(files[0]), "Parquet", error) from None
    lazy = polars.scan_parquet(files, glob=False)
    texts = (polars.String, polars.Categorical, polars.Enum)
    return OpenTable(
        path,
        list(schema),
        lambda name: lazy.select(name).collect()[name].to_numpy(),
        tuple(files),
        lambda: int(lazy.select(polars.len()).collect().item()),
        frozenset(name for name, kind in schema.items() if isinstance(kind, texts)),
    )


def _unread(path: Path, file: Path, format: str, error: Exception) -> Exception:
    """Return the error of a file that polars cannot read, without advice on its arguments."""
    if not file.is_file():
        return error
    reason = str(error).strip().splitlines()[0]
    return _wrong(file, f"must be a whole {format} file: {reason}")


def _check_header(path: Path, frame: "DataFrame") -> None:
    """Raise if the first line seems to be data: numbers that are unlikely names of columns.

    Plain integers may be names, and words above numbers show that the line is a header.
    """
    suspect = ""
    for name, kind in frame.schema.items():
        word = re.sub(r"_duplicated_\d+$", "", name).strip()  # suffix added by polars
        if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", word, re.IGNORECASE):
            suspect = suspect or ("" if word.isdecimal() else word)
        elif kind.is_numeric() and word.lower().lstrip("-+") not in ("", "nan", "inf"):
            return
    if suspect:
        rule = "the first line must be a header with the names of the columns, not numbers such as"
        raise ArgumentError("path", f"{rule} {suspect!r}", name=f"{path}:")


def _as_numbers(path: Path, column: "Series") -> "Series":
    """Convert a text column of numbers to numbers, since polars does not always parse nan and inf.

    Raises if a number is too large for a float64, unless it is written as infinite.
    """
    import polars

    from fastpsr.trials.too_large import first_too_large

    numbers = column
    if column.dtype == polars.String:
        numbers = column.str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return column
    name, found = column.name, None
    if numbers.dtype == polars.Float64:
        found = first_too_large(
            numbers, lambda: polars.read_csv(path, infer_schema_length=0, glob=False)[name]
        )
    if found is not None:
        row, word = found
        rule = f"must be numbers that a float64 holds, but {name}[{row}] is {word}"
        raise ArgumentError("path", rule, row, name=f"{path}: {name}")
    return numbers
