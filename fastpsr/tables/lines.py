"""Lines of CSV files, read by Python: slow and exact, for errors."""

import csv
import gzip
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fastpsr.errors import counted, shorten

_GZIP = b"\x1f\x8b"


def line_of(path: Path, row: int) -> int | None:
    """Return the number of the line in which a row of a table begins."""
    line, _ = next(islice(_rows(path), row + 1, None), (None, None))
    return line


def what_is_wrong(path: Path, n_columns: int) -> str:
    """Say which line is no text, blank, short or long, and what to do; "" if none is."""
    content = path.read_bytes()
    if content.startswith(_GZIP):
        return ""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"must be UTF-8 text, and line {line} is not: save it again as UTF-8"
    first = [*islice(_rows(path), 3)]
    widths = [len(fields) for _, fields in first]
    if len(first) == 3 and widths[0] == n_columns != widths[1] == widths[2] > 0:
        return (
            "must have a header with a name for each column, but line 1, "
            f"{shorten(','.join(first[0][1]))!r}, has {n_columns}, and line {first[1][0]} has "
            f"{widths[1]}: remove line 1 if it is no header, or name every column"
        )
    for line, fields in _rows(path):
        if not fields and n_columns > 1:
            return f"must have a row in each line, but line {line} is blank: remove it"
        if len(fields) != n_columns:
            return (
                f"must have {counted(n_columns, 'column')} in each line, as in the header, but "
                f"line {line} has {len(fields)}, {shorten(','.join(fields))!r}: remove it if it is "
                "no row of the table, and put quotes around text with commas"
            )
    return ""


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row, with the number of its first line."""
    with path.open("rb") as file:
        opener = gzip.open if file.read(2) == _GZIP else open
    with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
        lines, first = csv.reader(file), 1
        for fields in lines:
            yield first, fields
            first = lines.line_num + 1
