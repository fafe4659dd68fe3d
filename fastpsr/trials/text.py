"""Text without a header line: columns apart by runs of blanks and tabs."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.trials.coded import Column, as_column, categorical
from fastpsr.trials.names import NORM_COLUMNS, header_hint
from fastpsr.trials.optional import polars
from fastpsr.trials.sample import Sample, fields_of
from fastpsr.trials.too_large import is_too_large
from fastpsr.wording import shorten

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame, Series

__all__ = ["Where", "lines_of_rows", "read_text", "split_lines", "utf8_error"]

#: Names the file and the line of some rows.
Where = Callable[[Sequence[int]], list[str]]

_NEVER = "\x01"  # separates nothing: a line is one column


def read_text(
    path: Path, sample: Sample, roles: tuple[str, ...]
) -> tuple[dict[str, Column], Where]:
    """Read all columns of a text file, in one streaming pass.

    Returns the columns by role, and a function that names the file and line of rows.
    """
    source = sample.source(path)
    frame = split_lines(path, source, roles, categorical())  # one table of strings for a file
    if frame.is_empty():
        raise ValueError(f"{path}: the file is empty")

    def where(rows: Sequence[int]) -> list[str]:
        again = _lines(sample.source(path))  # the text itself is not kept
        some = again.with_row_index("row").filter(polars().col("row").is_in(list(rows)))
        found = dict(_collect(path, path, some.select("row", "line")).iter_rows())
        return [f"{path}:{found[row]}" for row in rows]

    return {role: as_column(frame.drop_in_place(role)) for role in roles}, where


def split_lines(
    path: Path, source: Path | bytes, roles: tuple[str, ...], ids: Any, lines_before: int = 0
) -> "DataFrame":
    """Return the columns of text by role, that of ids and labels of a type of polars.

    `source` may be a part of the file, below so many lines, for errors.
    """
    pl = polars()
    split = _split(_lines(source), roles)
    kinds: Any = {role: pl.Float64 if _is_number(role) else ids for role in roles}
    frame = _collect(path, source, split.select("wrong", *kinds).cast(kinds), lines_before)
    if frame.drop_in_place("wrong").any():
        first = _collect(path, source, split.filter("wrong").head(1))
        line = lines_before + first["line"][0]
        raise ValueError(f"{path}:{line}: {_what_is_wrong(first['text'][0], roles)}")
    for role in filter(_is_number, roles):
        if frame[role].is_infinite().any():  # seldom: only then their words are read
            _check_infinite(path, source, roles, role, lines_before)
    return frame


def lines_of_rows(path: Path, source: bytes) -> "Series":
    """Return the numbers of the lines that are not blank, from 1."""
    return _collect(path, source, _lines(source).select("line"))["line"]


def _check_infinite(
    path: Path, source: Path | bytes, roles: Sequence[str], role: str, lines_before: int
) -> None:
    """Raise where a number is infinite that is not written so, but is too large for a float64."""
    word = polars().col(role)
    too_large = is_too_large(word.cast(polars().Float64, strict=False), word)
    first = _collect(path, source, _words(_lines(source), roles).filter(too_large).head(1))
    if not first.is_empty():
        raise ValueError(
            f"{path}:{lines_before + first['line'][0]}: a {role} must be a number that a float64 "
            f"holds, not {shorten(first[role][0])!r}"
        )


def _lines(source: Path | bytes) -> "LazyFrame":
    """Return the lines that are not blank, without blanks around them, and their numbers."""
    pl = polars()
    scanned: LazyFrame = pl.scan_csv(
        BytesIO(source) if isinstance(source, bytes) else source,
        separator=_NEVER,
        has_header=False,
        schema={"text": pl.String},
        quote_char=None,
        glob=False,
    )
    text = pl.col("text").fill_null("").str.strip_chars(" \t\r")
    return scanned.with_row_index("line", 1).with_columns(text).filter(pl.col("text") != "")


def _words(lines: "LazyFrame", roles: Sequence[str]) -> "LazyFrame":
    """Add the words of a line by role, and what is beyond them."""
    pl = polars()
    text = pl.col("text")
    uneven = text.str.contains_any(["\t", "  "])  # most files are even: replacing takes time
    even = pl.when(uneven).then(text.str.replace_all("[ \t]+", " ")).otherwise(text)
    split: LazyFrame = lines.with_columns(
        even.str.splitn(" ", len(roles) + 1).struct.rename_fields([*roles, "beyond"]).alias("words")
    ).unnest("words")
    return split


def _split(lines: "LazyFrame", roles: Sequence[str]) -> "LazyFrame":
    """Add the words of a line by role, and whether they are too few, too many or no numbers.

    Words that should be numbers are null if they are none.
    """
    pl = polars()
    words = _words(lines, roles)
    numbers = [pl.col(role).cast(pl.Float64, strict=False) for role in roles if _is_number(role)]
    words = words.with_columns(*numbers)
    wrong = [pl.col(role).is_null() for role in (roles[-1], *filter(_is_number, roles))]
    split: LazyFrame = words.with_columns(
        pl.any_horizontal(pl.col("beyond").is_not_null(), *wrong).alias("wrong")
    )
    return split


def _what_is_wrong(line: str, roles: tuple[str, ...]) -> str:
    words = fields_of(line)
    if len(words) != len(roles):
        return (
            f"there must be {len(roles)} columns ({' '.join(roles)}), not {len(words)}: "
            f"{shorten(line)!r}"
        )
    pl = polars()
    role, word = next(
        (role, word)
        for role, word in zip(roles, words, strict=True)
        if _is_number(role) and pl.Series([word]).cast(pl.Float64, strict=False).null_count()
    )
    return (
        f"a {role} must be a number, not {shorten(word)!r}{header_hint(word)}, in {shorten(line)!r}"
    )


def _is_number(role: str) -> bool:
    return role == "score" or role in NORM_COLUMNS


def _collect(
    path: Path, source: Path | bytes, frame: "LazyFrame", lines_before: int = 0
) -> "DataFrame":
    pl = polars()
    try:
        made: DataFrame = frame.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(utf8_error(path, source, lines_before)) from None
    return made


def utf8_error(path: Path, source: Path | bytes, lines_before: int = 0) -> str:
    """Say why polars cannot read the lines of a file, or of a part of it."""
    content = source if isinstance(source, bytes) else source.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines_before + content.count(b"\n", 0, error.start) + 1
        return f"{path}:{line}: the text must be UTF-8, not byte 0x{content[error.start]:02x}"
    position = content.find(_NEVER.encode())
    if position >= 0:
        line = lines_before + content.count(b"\n", 0, position) + 1
        return f"{path}:{line}: there must be no control characters, but byte 0x01 is there"
    return f"{path}: the text cannot be read as lines"
