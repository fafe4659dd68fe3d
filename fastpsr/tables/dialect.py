"""How a text table is written: its separator, header, comments, and blanks after separators."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fastpsr.errors import ArgumentError
from fastpsr.tables.sample import Sample
from fastpsr.tables.table import LABELS
from fastpsr.tables.text import TextFile, fields_of, may_be_comment
from fastpsr.tables.words import is_number

#: What may be between columns; of several that are in a header of no known kind, the first.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_FOR_SPREADSHEETS = re.compile('"?sep=(.*?)"?', re.IGNORECASE)


def detect(path: Path, sample: Sample, separator: str | None = None) -> TextFile:
    """Find how a table is written; raise if several separators fit as well.

    A separator fits if all lines have as many columns, more than one; the more of these hold
    numbers, the better, and then one with a usual name of labels. If none does, it is that of the
    header, and errors name the line.
    """
    line = _FOR_SPREADSHEETS.fullmatch(sample.lines[0])
    if line and len(sample.lines) > 1:
        separator = separator or line[1]
        sample = replace(sample, lines=sample.lines[1:], numbers=sample.numbers[1:])
        if separator not in SEPARATORS:
            rule = f"must have {' or '.join(SEPARATORS.values())} between its columns"
            raise ArgumentError("path", f"{rule}, but line 1 is {line[0]!r}", name=str(path))
    tables = [_read(path, sample, each) for each in separator or SEPARATORS]
    ranks = [(n_numbers, not {*LABELS}.isdisjoint(file.columns)) for file, n_numbers in tables]
    files = [file for file, _ in tables]
    if not max(ranks)[0]:
        return next((file for file in files if len(file.columns) > 1), files[0])
    fitting = [file for file, rank in zip(files, ranks, strict=True) if rank == max(ranks)]
    if len(fitting) > 1:
        choices = " or ".join(
            f"{SEPARATORS[file.separator]} ({' | '.join(file.columns)})" for file in fitting
        )
        rule = f"the columns may be apart by {choices}"
        raise ArgumentError("path", rule, pass_={"sep": ...}, name=f"{path}:")
    return fitting[0]


class _Row(NamedTuple):
    place: int  # of its first line among those of the sample
    cells: list[str]


def _read(path: Path, sample: Sample, separator: str) -> tuple[TextFile, int]:
    """Return the table that a separator makes, and how many of its columns hold numbers.

    These are 0 unless there are columns, as many in all lines.
    """
    header, *below = rows = _without_comments([*_rows(sample.lines, separator)])
    lines = tuple(sample.lines[row.place] for row in rows)
    numbers = tuple(sample.numbers[row.place] for row in rows)
    n_separators = lines[0].count(separator)
    file = TextFile(
        path,
        replace(sample, lines=lines, numbers=numbers),
        tuple(name.strip() for name in header.cells),
        separator,
        has_header=True,
        is_table=True,
        has_comments=True,
        skips_blanks=0 < n_separators == lines[0].count(f"{separator} "),
    )
    cells = [row.cells for row in below[: max(len(below) - 1, 1)]]  # the last may go on in quotes
    if len(file.columns) < 2 or {*map(len, cells)} != {len(file.columns)}:
        return file, 0
    return file, sum(_hold_numbers(column, separator) for column in zip(*cells, strict=True))


def _hold_numbers(cells: Sequence[str], separator: str) -> bool:
    words = [cell.strip() for cell in cells if cell.strip()]
    if separator != ",":
        words = [word.replace(",", ".", 1) for word in words]
    return bool(words) and all(map(is_number, words))


def _rows(lines: Sequence[str], separator: str) -> Iterator[_Row]:
    """Yield the rows of lines; one may have several, as quotes hold line breaks."""
    reader = fields_of(lines, separator, is_table=True, skips_blanks=True)
    place = 0
    for cells in reader:
        yield _Row(place, cells)
        place = reader.line_num


def _without_comments(rows: Sequence[_Row]) -> Sequence[_Row]:
    """Return the rows from the header on that are not comments.

    A line with # that has as many columns as the header is none. Right above the first line without
    it is the header itself, if that line holds numbers.
    """
    places = [place for place, row in enumerate(rows) if not may_be_comment(row.cells)]
    if not places:
        return rows
    header = places[0]
    n_columns = len(rows[header].cells)

    def is_below_another(place: int) -> bool:
        is_like = place > 0 and len(rows[place - 1].cells) == n_columns
        return is_like and any(map(is_number, rows[place].cells))

    while is_below_another(header):
        header -= 1
    return [
        row
        for place, row in enumerate(rows[header:])
        if place == 0 or not may_be_comment(row.cells) or len(row.cells) == n_columns
    ]
