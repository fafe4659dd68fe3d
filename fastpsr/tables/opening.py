"""Opening of tables: the names of their columns, and a function that reads one of these."""

import errno
import glob
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
from fastpsr.files import check_names as check_file_names
from fastpsr.frames import check_column_names
from fastpsr.results import load
from fastpsr.tables.lines import line_of, what_is_wrong
from fastpsr.tables.table import OpenTable

if TYPE_CHECKING:
    from polars import DataFrame, Series

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


def parquet_files(path: Path) -> list[str]:
    """Return the Parquet files that a path, a folder or a pattern means; none for other tables."""
    if path.is_dir():
        found = sorted(glob.glob(f"{glob.escape(str(path))}/**/*.parquet", recursive=True))
        check_file_names(found)
        if not found:
            why = "there are no files *.parquet in this folder"
            raise ArgumentError("path", why, name=f"{path}:")
        return found
    if path.exists():
        return [str(path)] if path.suffix in (".parquet", ".pq") else []
    if not glob.has_magic(str(path)):
        return []
    found = sorted(glob.glob(str(path), recursive=True))
    check_file_names(found)
    if not found:
        raise FileNotFoundError(2, "No file fits the pattern", str(path))
    other = [name for name in found if Path(name).suffix not in (".parquet", ".pq")]
    if other:
        why = f"must mean Parquet files alone, but {other[0]} is none"
        raise ArgumentError("path", why, name=str(path))
    return found


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
    check_column_names(path, names)
    return OpenTable(path, names, lambda name: attempt(name, lambda archive: archive[name]))


def _open_csv(path: Path) -> OpenTable:
    polars = load("polars", _ADVICE)
    names: list[str] = []
    try:
        names = _header_of(path)
        # types are inferred from all rows; rows of other lengths are errors
        frame = polars.read_csv(path, infer_schema_length=None, glob=False)
    except (polars.exceptions.PolarsError, OSError) as error:
        unread = _unread(path, path, "CSV", error)
        wrong = what_is_wrong(path, len(names)) if isinstance(unread, ArgumentError) else ""
        raise (_wrong(path, wrong) if wrong else unread) from None
    if frame.width and frame[:, -1].null_count():  # a line may be short, or blank
        wrong = what_is_wrong(path, frame.width)
        if wrong:
            raise _wrong(path, wrong)
    _check_header(path, frame)
    check_column_names(path, names)
    frame.columns = names
    return OpenTable(
        path,
        names,
        lambda name: _as_numbers(path, frame[name]).to_numpy(),
        as_written=lambda name: _as_written(path, name, _words_of(path, names.index(name))),
    )


def _words_of(path: Path, place: int) -> "Series":
    """Return a column of a CSV file as text."""
    import polars

    frame = polars.read_csv(path, columns=[place], infer_schema_length=0, glob=False)
    return frame[:, 0]


def _header_of(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file; raise if it is of another format."""
    import polars

    with path.open("rb") as file:
        begin = file.read(1024)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _wrong(path, "must be UTF-8 text, not UTF-16: save it again as UTF-8")
    if begin.startswith(b"sep="):
        raise _wrong(path, "must begin with a header, but line 1 is 'sep=...': remove this line")
    lines = polars.read_csv(
        path, has_header=False, n_rows=2, infer_schema_length=0, glob=False,
        truncate_ragged_lines=True,
    )  # fmt: skip
    first, *others = ([str(cell or "").strip() for cell in row] for row in lines.rows())
    for separator in ";", "\t", " ":
        if len(first) == 1 and all(separator in line[0] for line in (first, *others)):
            seen = "blanks" if separator == " " else repr(separator)
            rule = f"must have commas between its columns, but line 1 has {seen}"
            raise _wrong(path, f"{rule}: save it again with commas, and points in numbers")
    return first


def _as_written(path: Path, name: str, words: "Series") -> NDArray[Any]:
    """Return ids or conditions as they are written; plain integers, which differ alike, as these.

    Raises if a cell is empty.
    """
    import polars

    empty = (words.fill_null("").str.strip_chars() == "").arg_true()
    if len(empty):
        rule = f"must be written in every row, but is empty in line {line_of(path, empty[0])}"
        more = "write a word there, such as none, or remove the row"
        raise ArgumentError("path", f"{rule}: {more}", empty[0], name=f"{path}: {name}")
    integers = words.cast(polars.Int64, strict=False)
    if not integers.null_count() and (integers.cast(polars.String) == words).all():
        return integers.to_numpy()
    return words.to_numpy()


def _open_parquet(path: Path, files: list[str]) -> OpenTable:
    polars = load("polars", _ADVICE)
    try:
        schema = polars.read_parquet_schema(files[0])
    except (polars.exceptions.PolarsError, OSError) as error:
        raise _unread(path, Path(files[0]), "Parquet", error) from None
    wide = [name for name, kind in schema.items() if kind == polars.Int128]  # which NumPy lacks
    schema |= dict.fromkeys(wide, polars.String)
    lazy = polars.scan_parquet(files, glob=False).cast({name: schema[name] for name in wide})
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
    if "more than one occurrence" in reason:
        return _wrong(file, f"must have columns of different names ({reason}): rename them")
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
    if column.dtype in (polars.String, polars.Int128):
        numbers = column.cast(polars.String).str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return column
    name, found = column.name, None
    if numbers.dtype == polars.Float64:
        found = first_too_large(
            numbers,
            lambda: polars.read_csv(path, infer_schema_length=0, glob=False)[name],
        )
    if found is not None:
        row, word = found
        rule = f"must be numbers that a float64 holds, but {name}[{row}] is {word}"
        raise ArgumentError("path", rule, row, name=f"{path}: {name}")
    return numbers
