"""Columns of tables as arrays; of text as numbers, as ids, and as other files type them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.tables.text import TextFile, first_too_large

if TYPE_CHECKING:
    from polars import DataFrame, Series

#: Numbers that stay what they are without their text; 007 and +5 do not.
_PLAIN = r"^(-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|nan|-?inf)$"
_FEW = 100  # words, which mostly decide whether a column is text
_MAY_BE_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*$"


def as_numbers(file: TextFile, words: "Series") -> NDArray[Any]:
    """Return integers, numbers or booleans where all words are such, else the words.

    Numbers may have decimal commas where no comma is the separator. Raises if one is too large for
    a float64, unless it is written as infinite.
    """
    pl = polars()
    stripped = words.str.strip_chars()
    if file.separator != ",":
        stripped = stripped.str.replace(",", ".", literal=True)
    for kind in (pl.Int64, pl.Float64):
        numbers = stripped.cast(kind, strict=False)
        if numbers.null_count() > words.null_count():
            continue
        too_large = None if kind == pl.Int64 else first_too_large(numbers, lambda: stripped)
        if too_large is not None:
            row, word = too_large
            rule = f"must be numbers that a float64 holds, but {words.name}[{row}] is {word}"
            raise ArgumentError("path", rule, row, name=f"{file.path}: {words.name}")
        return numbers.to_numpy()
    lowered = stripped.str.to_lowercase()
    if lowered.is_in(["true", "false"]).all() and not words.null_count():
        return (lowered == "true").to_numpy()
    return words.to_numpy()


def as_array(column: Any) -> NDArray[Any]:
    """Return an array or a series as an array, with integers of 128 bits as text."""
    if isinstance(column, np.ndarray):
        return column
    pl = polars()
    if column.dtype == pl.Int128:
        column = column.cast(str)
    elif column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    elif isinstance(column.dtype, pl.List) and column.dtype.inner.is_numeric():
        column = _side_by_side(column)
    return np.asarray(column.to_numpy())


def _side_by_side(lists: Any) -> Any:
    """Return a series of lists as one of rows of the same length."""
    pl, lengths = polars(), lists.list.len()
    if lengths.n_unique() > 1 or lists.null_count():
        row = (lengths != lengths[0]).fill_null(True).arg_max()
        rule = f"must have {lengths[0]} numbers in every row, not {lengths[row] or 0}"
        raise ArgumentError("columns", rule, row, name=lists.name)
    return lists.cast(pl.Array(lists.dtype.inner, lengths[0])) if len(lists) else lists


def as_ids(words: "Series") -> "Series":
    """Return ids or conditions as they are written; plain integers, which differ alike, as these.

    Empty cells are null.
    """
    integers = _plain_integers(words)
    if integers is not None and not words.null_count():
        return integers
    return words.set(words.str.strip_chars() == "", None)


def _plain_integers(words: "Series") -> "Series | None":
    """Return words as integers, null where empty; None if some are not written so."""
    pl = polars()
    integers: Series = words.cast(pl.Int64, strict=False)
    are_plain = words.count() and integers.cast(pl.String).eq_missing(words).all()
    return integers if are_plain else None


def as_typed(words: "Series") -> "Series":
    """Return numbers where all words are plain ones, and different words are different numbers."""
    pl = polars()
    integers = _plain_integers(words)
    if integers is not None:
        return integers
    numbers: Series = words.cast(pl.Float64, strict=False)
    are_plain = words.count() and words.str.contains(_PLAIN).all()
    if not are_plain or numbers.n_unique() < words.n_unique():
        return words
    return numbers if first_too_large(numbers, lambda: words) is None else words


def decimal_points(path: Path, frame: "DataFrame") -> "tuple[DataFrame, dict[str, ArgumentError]]":
    """Return columns with decimal points in place of commas, if no number has a point.

    Also return the errors of columns whose decimal mark is unclear: they have both, or numbers that
    may have thousands (1,234), where the other mark is in another column.
    """
    pl = polars()
    first: dict[str, dict[str, int]] = {",": {}, ".": {}}  # row with a mark, by column of numbers
    decimals = set()  # columns with a number that has no thousands
    for words in frame:
        has_marks = words.str.contains("[.,]")
        if not (has_marks.any() and _are_numbers(words.head(_FEW)) and _are_numbers(words)):
            continue
        for mark, rows in first.items():
            has_mark = words.str.contains(mark, literal=True)
            if has_mark.any():
                rows[words.name] = int(has_mark.arg_max() or 0)
        if (has_marks & ~words.str.contains(_MAY_BE_THOUSANDS)).any():
            decimals.add(words.name)
    errors: dict[str, ArgumentError] = {}
    for mark, rows in first.items():
        others = first["." if mark == "," else ","]
        for name, row in rows.items():
            if others and (name in others or name not in decimals):
                other = name if name in others else next(iter(others))
                rule = (
                    f"must have one decimal mark in all numbers, but {name}[{row}] is "
                    f"{frame[name][row]}, and another number is {frame[other][others[other]]}: "
                    "save it again with points"
                )
                errors.setdefault(name, ArgumentError("path", rule, row, name=str(path)))
    if not first["."]:
        frame = frame.with_columns(pl.col(first[","].keys()).str.replace(",", ".", literal=True))
    return frame, errors


def _are_numbers(words: "Series") -> bool:
    """Whether all cells are numbers with decimal points or commas, or empty."""
    points = words.str.strip_chars().str.replace(",", ".", literal=True)
    numbers = points.cast(polars().Float64, strict=False)
    return bool(numbers.null_count() == words.null_count())


def is_number(word: object) -> bool:
    """Whether a cell holds a number, or nothing."""
    return word is None or checks.is_number(str(word))
