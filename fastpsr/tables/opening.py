"""Opening of tables: the names of their columns, and a function that reads one of these."""

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.files import LISTED, TEXT, ending_of, is_table
from fastpsr.frames import check_column_names
from fastpsr.optional import polars
from fastpsr.tables.binary import load_npy, open_npz, open_parquet, parquet_files, wrong
from fastpsr.tables.dialect import SEPARATORS, Dialect
from fastpsr.tables.sample import look
from fastpsr.tables.table import OpenTable, is_number
from fastpsr.tables.text import TextFile, first_too_large

if TYPE_CHECKING:
    from polars import Series


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
    return OpenTable(path, *open_npz(path)) if ending == ".npz" else _open_text(path, separator)


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


def _open_text(path: Path, separator: str | None) -> OpenTable:
    try:
        sample = look(path)
        if sample.kind != "text":
            raise wrong(path, f"must be text, not {sample.kind}")
        dialect = Dialect.detect(path, sample, separator)
        _check_header(path, dialect)
        check_column_names(path, dialect.names)
        file = TextFile(
            path, dialect.sample, dialect.names, dialect.separator,
            has_header=True, is_table=True, skips_blanks=dialect.has_blanks,
        )  # fmt: skip
        frame = file.words()
    except ArgumentError:
        raise
    except ValueError as error:
        place, _, rule = str(error).removeprefix(str(path)).partition(" ")
        raise wrong(f"{path}{place}", rule) from None
    return OpenTable(
        path,
        dialect.names,
        lambda name: _values(path, frame[name], dialect),
        as_written=lambda name: _as_written(frame[name]),
        text=file,
    )


def _check_header(path: Path, dialect: Dialect) -> None:
    """Raise if the header has no separator but blanks, or no names.

    Plain integers may be names of columns.
    """
    names, lines = dialect.names, dialect.sample.lines
    if len(names) == 1 and all(" " in line for line in lines[:2]):
        listed = ", ".join(SEPARATORS.values())
        rule = f"must have one of {listed} between its columns, but line 1 has blanks"
        raise wrong(path, f"{rule}: save it again with commas, and points in numbers")
    numbers = [name for name in names if name and is_number(name)]
    decimals = [word for word in numbers if not word.isdecimal()]
    if decimals and len(numbers) == len(names):
        rule = "the first line must be a header with the names of the columns, not numbers such as"
        raise ArgumentError("path", f"{rule} {decimals[0]!r}", name=f"{path}:")


def _values(path: Path, words: "Series", dialect: Dialect) -> NDArray[Any]:
    """Return integers, numbers or booleans where all words are such, else the words.

    Raises if a number is too large for a float64, unless it is written as infinite.
    """
    pl = polars()
    stripped = _with_points(path, words.str.strip_chars(), dialect)
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


def _with_points(path: Path, words: "Series", dialect: Dialect) -> "Series":
    """Return numbers with decimal commas as numbers with points; other words as they are.

    Raises if numbers of the table have both: a comma may then be between thousands.
    """
    pl = polars()
    if dialect.separator == ",":
        return words
    has_comma = words.str.contains(",", literal=True)
    if not has_comma.any():
        return words
    with_points = words.str.replace(",", ".", literal=True)
    if with_points.cast(pl.Float64, strict=False).null_count() > words.null_count():
        return words
    has_point = words.str.contains(".", literal=True)
    decimal = str(words[int(has_point.arg_max() or 0)]) if has_point.any() else dialect.decimal
    if decimal:
        row = int(has_comma.arg_max() or 0)
        rule = (
            f"must have one decimal mark in all numbers, but {words.name}[{row}] is {words[row]}, "
            f"and another number is {decimal}: save it again with points"
        )
        raise ArgumentError("path", rule, row, name=str(path))
    return with_points


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
