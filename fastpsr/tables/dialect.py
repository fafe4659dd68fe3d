"""How a text table is written: the separator of its columns, comments, blanks, decimal marks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fastpsr.errors import ArgumentError
from fastpsr.tables.sample import Sample
from fastpsr.tables.table import LABELS
from fastpsr.tables.text import fields_of, may_be_comment

#: What may be between columns; of several that are in a header of no known kind, the first.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


class _Row(NamedTuple):
    place: int  # of its first line among those of the sample
    cells: list[str]


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Attributes
    ----------
    separator : str
    names : tuple of str
        Names of the columns.
    sample : Sample
        The beginning of the file, from its header on and without comments.
    rows : list of list of str
        The cells of the lines below the header.
    has_blanks : bool
        Whether a blank follows each separator, which belongs to no cell.
    decimal : str
        The first number with a decimal point, as it is written; "" if there is none.
    """

    separator: str
    names: tuple[str, ...]
    sample: Sample
    rows: Sequence[Sequence[str]]
    has_blanks: bool
    decimal: str

    @classmethod
    def detect(cls, path: Path, sample: Sample, separator: str | None = None) -> "Dialect":
        """Find the dialect of a table; raise if several separators fit as well.

        A separator fits if all lines have as many columns, more than one; the more of these hold
        numbers, the better, and then one with a usual name of labels. If none does, it is that of
        the header, and errors name the line.
        """
        first = sample.lines[0]
        if first.startswith("sep=") and len(sample.lines) > 1:  # a line for spreadsheets
            separator = separator or first.removeprefix("sep=")
            sample = replace(sample, lines=sample.lines[1:], numbers=sample.numbers[1:])
            if separator not in SEPARATORS:
                rule = f"must have {' or '.join(SEPARATORS.values())} between its columns"
                raise ArgumentError("path", f"{rule}, but line 1 is {first!r}", name=str(path))
        if separator is not None:
            return cls._of(sample, separator)
        candidates = [cls._of(sample, separator) for separator in SEPARATORS]
        if not any(each._n_numbers for each in candidates):
            return next((each for each in candidates if len(each.names) > 1), candidates[0])
        ranks = [(each._n_numbers, not {*LABELS}.isdisjoint(each.names)) for each in candidates]
        best = max(ranks)
        fitting = [each for each, rank in zip(candidates, ranks, strict=True) if rank == best]
        if len(fitting) > 1:
            choices = " or ".join(
                f"{SEPARATORS[each.separator]} ({' | '.join(each.names)})" for each in fitting
            )
            rule = f"the columns may be apart by {choices}"
            raise ArgumentError("path", rule, pass_={"sep": ...}, name=f"{path}:")
        return fitting[0]

    @classmethod
    def _of(cls, sample: Sample, separator: str) -> "Dialect":
        rows = _without_comments([*_rows(sample.lines, separator)])
        lines = tuple(sample.lines[row.place] for row in rows)
        numbers = tuple(sample.numbers[row.place] for row in rows)
        header, *below = (row.cells for row in rows)
        decimals = (cell.strip() for row in below for cell in row if _DECIMAL.fullmatch(cell))
        n_separators = lines[0].count(separator)
        return cls(
            separator,
            tuple(name.strip() for name in header),
            replace(sample, lines=lines, numbers=numbers),
            below,
            has_blanks=0 < n_separators == lines[0].count(f"{separator} "),
            decimal=next(decimals, ""),
        )

    @property
    def _n_numbers(self) -> int:
        """Number of columns of numbers; 0 unless there are columns, as many in all lines."""
        rows = self.rows[: max(len(self.rows) - 1, 1)]  # the last one may go on in quotes
        if len(self.names) < 2 or any(len(row) != len(self.names) for row in rows):
            return 0
        return sum(map(self._holds_numbers, zip(*rows, strict=True)))

    def _holds_numbers(self, cells: Sequence[str]) -> bool:
        words = [cell.strip() for cell in cells if cell.strip()]
        if self.separator != ",":
            words = [word.replace(",", ".", 1) for word in words]
        return bool(words) and all(map(_is_number, words))


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
    # it is the header itself, if that line holds numbers.
    """
    places = [place for place, row in enumerate(rows) if not may_be_comment(row.cells)]
    if not places:
        return rows
    header = places[0]
    n_columns = len(rows[header].cells)

    def is_below_another(place: int) -> bool:
        is_like = place > 0 and len(rows[place - 1].cells) == n_columns
        return is_like and any(map(_is_number, rows[place].cells))

    while is_below_another(header):
        header -= 1
    return [
        row
        for place, row in enumerate(rows[header:])
        if place == 0 or not may_be_comment(row.cells) or len(row.cells) == n_columns
    ]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
