"""Text without a header line: columns apart by runs of blanks and tabs."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.trials.coded import Column, as_column, categorical
from fastpsr.trials.layouts import NORM_COLUMNS, header_hint
from fastpsr.trials.optional import polars
from fastpsr.trials.sample import Sample, fields_of, shorten, unpacked

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["is_number_role", "read_text", "utf8_error"]

_NEVER = "\x01"  # separates nothing: a line is one column


def is_number_role(role: str) -> bool:
    """Whether a column holds numbers."""
    return role == "score" or role in NORM_COLUMNS


def read_text(
    path: Path, sample: Sample, roles: tuple[str, ...]
) -> tuple[dict[str, Column], Callable[[int], str]]:
    """Read all columns of a text file.

    Returns the columns by role, and a function that names the file and line of a row.

    Notes
    -----
    Files with one separator throughout are parsed straight; anything odd in one (a second blank, a
    tab, a blank line, a word where a number should be) sends it to the careful reader, which takes
    lines apart and names the first that is wrong.
    """
    source = unpacked(path) if sample.packed else path

    def where(row: int) -> str:
        return f"{path}:{_lines(path, source)['line'][row]}"

    columns = _read_straight(source, sample, roles)
    return columns or _read_carefully(path, source, roles), where


def _read_straight(
    source: Path | bytes, sample: Sample, roles: tuple[str, ...]
) -> dict[str, Column] | None:
    pl = polars()
    by_tabs = all("\t" in line and " " not in line for line in sample.lines)
    separator, other = ("\t", " ") if by_tabs else (" ", "\t")
    ids = categorical()  # one table of strings for the columns of a file
    schema = {role: pl.Float64 if is_number_role(role) else ids for role in roles}
    try:
        frame = read_csv(source, separator=separator, has_header=False, schema=schema)
    except (pl.exceptions.PolarsError, OSError):
        return None
    if frame.is_empty() or any(frame.null_count().row(0)):
        return None
    columns: dict[str, Column] = {}
    for role in roles:
        columns[role] = column = as_column(frame.drop_in_place(role))
        names = getattr(column, "names", None)
        if names is not None and names.str.contains(other, literal=True).any():
            return None
    return columns


def _read_carefully(path: Path, source: Path | bytes, roles: tuple[str, ...]) -> dict[str, Column]:
    pl = polars()
    lines = _lines(path, source)
    if lines.is_empty():
        raise ValueError(f"{path}: the file is empty")
    text = pl.col("text").str.replace_all("[ \t]+", " ")
    parts = lines.select(text.str.splitn(" ", len(roles) + 1))["text"].struct.unnest()
    last, beyond = parts.to_series(len(roles) - 1), parts.to_series(len(roles))
    wrong = last.is_null() | beyond.is_not_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        found = lines["text"][row]
        raise ValueError(
            f"{path}:{lines['line'][row]}: there must be {len(roles)} columns "
            f"({' '.join(roles)}), not {len(fields_of(found))}: {shorten(found)!r}"
        )
    columns: dict[str, Column] = {}
    for k, role in enumerate(roles):
        words = parts.to_series(k)
        if is_number_role(role):
            numbers = words.cast(pl.Float64, strict=False)
            if numbers.null_count():
                row = int(numbers.is_null().arg_max() or 0)
                raise ValueError(
                    f"{path}:{lines['line'][row]}: a {role} must be a number, not "
                    f"{shorten(words[row])!r}{header_hint(words[row])}, in "
                    f"{shorten(lines['text'][row])!r}"
                )
            columns[role] = as_column(numbers)
        else:
            columns[role] = as_column(words)
    return columns


def _lines(path: Path, source: Path | bytes) -> "DataFrame":
    """Return the lines that are not blank, without blanks around them, and their numbers."""
    pl = polars()
    try:
        frame = read_csv(source, separator=_NEVER, has_header=False, schema={"text": pl.String})
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(utf8_error(path, source)) from None
    text = pl.col("text").str.strip_prefix("\ufeff").str.strip_chars(" \t\r")
    numbered: DataFrame = frame.with_row_index("line", offset=1).select(
        pl.col("line"), text.alias("text")
    )
    return numbered.filter(pl.col("text").fill_null("") != "")


def read_csv(source: Path | bytes, **options: Any) -> "DataFrame":
    """Read with polars: no globbing, and quotes are characters unless `options` say otherwise."""
    pl = polars()
    options = {"quote_char": None, "glob": False, **options}
    frame: DataFrame = pl.read_csv(
        BytesIO(source) if isinstance(source, bytes) else source, **options
    )
    return frame


def utf8_error(path: Path, source: Path | bytes) -> str:
    """Say why polars cannot read the lines of a file."""
    content = source if isinstance(source, bytes) else source.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"{path}:{line}: the text must be UTF-8, not byte 0x{content[error.start]:02x}"
    position = content.find(_NEVER.encode())
    if position >= 0:
        line = content.count(b"\n", 0, position) + 1
        return f"{path}:{line}: there must be no control characters, but byte 0x01 is there"
    return f"{path}: the text cannot be read as lines"
