"""Text without a header line: the format says what each column is."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.formats.format import Format, Tolerance
from fastpsr.trials.formats.separated import SeparatedFile, write_text
from fastpsr.trials.labels import vocabularies_of
from fastpsr.trials.names import NORM_COLUMNS
from fastpsr.trials.pieces import Piece, pieces
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.sample import Sample, fields_of
from fastpsr.trials.text import Where, places_in, split_lines
from fastpsr.trials.trial_file import PieceFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Lines(Format):
    """Columns without names, apart by runs of blanks and tabs or by commas."""

    names_columns: ClassVar[bool] = False

    @property
    def rank(self) -> int:
        return 2 if self.separator else 0

    def fits(self, path: Path, sample: Sample, request: Request, tolerance: Tolerance) -> bool:
        if ("label" in self.roles or "score" in self.roles) == (request.wanted == "pairs"):
            return False  # any words may be ids: looked for only where nothing else can be
        found = _look_at(sample.lines, self.separator)
        if len(self.roles) != len(found.columns) or found.share < tolerance.share:
            return False
        pairs = zip(self.roles, found.columns, strict=True)
        return all(column.may_be(role, tolerance) for role, column in pairs)

    def label_words(self, sample: Sample) -> list[str]:
        if "label" not in self.roles:
            return []
        rows = fields(sample.lines, self.separator)
        regular = [row for row in rows if len(row) == len(self.roles)]
        return [row[self.roles.index("label")].lower() for row in regular]

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        file = SeparatedFile if self.separator else _LinesFile
        return file(path, self, sample, request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        separator = self.separator or " "
        write_text(path, self.columns(trials, scores), self.name, separator, header=False)


class _LinesFile(PieceFile):
    """Columns apart by runs of blanks and tabs."""

    def __init__(self, path: Path, format: Format, sample: Sample, request: Request) -> None:
        roles = {role: role for role in format.roles if role in ROLES}
        super().__init__(path, format.name, format.roles, roles, request, names_columns=False)
        self._sample, self.n_held = sample, len(sample.content or b"")

    def _pieces(self, n_bytes: int | None) -> Iterator[Piece]:
        return pieces(self.path, self._sample, n_bytes)

    def _split(self, piece: Piece, text: Any) -> "DataFrame":
        return split_lines(self.path, piece, self.columns)

    def _where_in(self, piece: Piece) -> Where:
        return partial(places_in, self.path, piece)


@dataclass(frozen=True)
class _Column:
    """Shares of the words of a column that could be something else than ids."""

    labels: float  # of one vocabulary
    numbers: float
    decimals: float  # numbers with a decimal point, or nan and the like

    @classmethod
    def of(cls, words: Sequence[str]) -> "_Column":
        counts, n = Counter(words), len(words)
        vocabularies: Counter[str] = Counter()
        for word, count in counts.items():
            for name in vocabularies_of([word]):
                vocabularies[name] += count
        numbers = {word: count for word, count in counts.items() if is_number(word)}
        decimals = (c for word, c in numbers.items() if not word.lstrip("+-").isdigit())
        return cls(
            max(vocabularies.values(), default=0) / n,
            sum(numbers.values()) / n,
            sum(decimals) / n,
        )

    def may_be(self, role: str, tolerance: Tolerance) -> bool:
        if not tolerance.share:
            return True
        is_label, is_number = self.labels >= tolerance.share, self.numbers >= tolerance.share
        if role == "label":
            return is_label
        if role == "score" or role in NORM_COLUMNS:
            return is_number
        if role == "attack":
            return not is_number
        return tolerance.any_ids or not (self.decimals > 0.5 or (is_label and not is_number))


@dataclass(frozen=True)
class _Look:
    """The columns of the lines that have the usual number of them, and the share of these lines."""

    share: float
    columns: tuple[_Column, ...]


def fields(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Return the words of each line."""
    return [*csv.reader(lines)] if separator == "," else [fields_of(line) for line in lines]


def usual_length(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of columns that most rows have."""
    return Counter(map(len, rows)).most_common(1)[0][0]


@lru_cache(maxsize=2)  # all formats ask for the same file
def _look_at(lines: tuple[str, ...], separator: str) -> _Look:
    rows = fields(lines, separator)
    n_columns = usual_length(rows)
    regular = [row for row in rows if len(row) == n_columns]
    columns = map(_Column.of, zip(*regular, strict=True))
    return _Look(len(regular) / len(rows), tuple(columns))


def is_number(word: str) -> bool:
    """Whether a word is a number, as polars reads it."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word
