"""Text whose columns are apart by one character: NIST's TSV and CSV, with a header line."""

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError, counted, shorten
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Columns, Format, Tolerance, frame_of
from fastpsr.trials.names import check_roles, find_roles, has_usual_names
from fastpsr.trials.optional import polars
from fastpsr.trials.pieces import Piece, pieces
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.text import Where, utf8_error
from fastpsr.trials.too_large import check_scores
from fastpsr.trials.trial_file import PieceFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class _Separated(Format):
    """Text with a header line."""

    def fits(self, path: Path, sample: Sample, request: Request, tolerance: Tolerance) -> bool:
        line = sample.lines[0]
        is_mine = self.separator == ("\t" if "\t" in line else ",")
        return is_mine and has_usual_names(line.split(self.separator), request.columns)

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return SeparatedFile(path, self, sample, request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        columns = self.columns(trials, scores)
        write_text(path, columns, self.name, self.separator, header=True)


@dataclass(frozen=True)
class Csv(_Separated):
    """Columns apart by commas."""

    separator: str = ","


@dataclass(frozen=True)
class Nist(_Separated):
    """Columns apart by tabs, as in NIST's evaluations."""

    separator: str = "\t"
    usual_names: ClassVar[Mapping[str, str]] = {
        "enroll": "modelid", "test": "segmentid", "side": "side", "score": "LLR"
    }  # fmt: skip


class SeparatedFile(PieceFile):
    """Columns apart by one character, with a header line unless the format has roles.

    Quotes have their meaning in CSV; in TSV they are characters of an id.
    """

    def __init__(self, path: Path, format: Format, sample: Sample, request: Request) -> None:
        has_header = not format.roles
        columns = _header_of(sample, format.separator) if has_header else format.roles
        roles = (
            find_roles(path, columns, request)
            if has_header
            else {role: role for role in columns if role in ROLES}
        )
        super().__init__(path, format.name, columns, roles, request, names_columns=has_header)
        self.n_held = len(sample.content or b"")
        self._sample, self._separator, self._has_header = sample, format.separator, has_header
        # lines above the first that is not blank, below the header if there is one
        first = (*sample.numbers[has_header : has_header + 1], sample.numbers[0] + 1)[0]
        self._n_skipped = first - 1
        self.nothing = "there is no trial" + " below the header" * has_header

    def _pieces(self, n_bytes: int | None) -> Iterator[Piece]:
        quotes = self._separator == ","
        return pieces(self.path, self._sample, n_bytes, skipped=self._n_skipped, quotes=quotes)

    def _split(self, piece: Piece, text: Any) -> "DataFrame":
        rows = self._rows(piece)
        frame = _split_rows(piece.content, rows, self.columns, self.roles, text)
        check_roles(frame, self.roles, rows.where)
        return frame

    def _where_in(self, piece: Piece) -> Where:
        return self._rows(piece).where

    def _rows(self, piece: Piece) -> "Rows":
        has_header = self._has_header
        return Rows(self.path, piece, self._separator, self.columns, has_header=has_header)


def _header_of(sample: Sample, separator: str) -> tuple[str, ...]:
    """Return the names in the header line."""
    lines = csv.reader(
        [sample.lines[0]],
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE,
    )
    return tuple(name.strip() for name in next(lines))


def _split_rows(
    content: bytes, rows: "Rows", header: Sequence[str], roles: Mapping[str, str], text: Any
) -> "DataFrame":
    """Return the columns of some lines; those of text, other than ids, of a type of polars.

    `rows` are the same, for errors.
    """
    pl = polars()
    kinds_of_roles = dict.fromkeys(("enroll", "test", "label"), pl.String) | {"score": pl.Float64}
    kinds = {name: kinds_of_roles.get(role, text) for role, name in roles.items()}
    schema = {name: kinds.get(name, text) for name in header}
    nothing: DataFrame = pl.DataFrame(schema=schema)
    content = content.lstrip(b"\r\n")  # polars counts columns in the first line
    if not content:
        return nothing

    def read(kinds: Any) -> "DataFrame":
        made: DataFrame = pl.read_csv(
            content,
            separator=rows.separator,
            schema=kinds,
            has_header=False,
            quote_char='"' if rows.separator == "," else None,
        )
        return made

    try:
        frame = read(schema)
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(rows.what_is_wrong(roles)) from None
    if frame.is_empty() or frame[header[-1]].null_count():  # a line may be short, or blank
        n_rows = rows.check_lengths()
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        if n_rows != frame.height:
            raise ValueError(rows.what_is_wrong(roles))
    if "score" in roles:
        scores = frame[roles["score"]]
        if not scores.null_count():
            words = dict.fromkeys(header, pl.String)
            check_scores(scores, lambda: read(words)[scores.name].drop_nulls(), rows.where)
    return frame


def write_text(path: Path, columns: Columns, name: str, separator: str, *, header: bool) -> None:
    """Write columns as text; raise where an id has what separates columns."""
    if separator != ",":
        forbidden = "[\t\r\n]" if separator == "\t" else r"[ \t\r\n\x01]"
        for column in columns.values():
            if isinstance(column, Coded):
                _check_ids(column, forbidden, name)
    options = {
        "separator": separator,
        "include_header": header,
        "quote_style": "necessary" if separator == "," else "never",
    }
    frame = frame_of(columns)
    if path.suffix == ".gz":
        with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as packed:
            frame.write_csv(packed, **options)  # type: ignore[call-overload]
    else:
        frame.write_csv(path, **options)  # type: ignore[call-overload]


def _check_ids(column: Coded, forbidden: str, name: str) -> None:
    wrong = column.names.filter(column.names.str.contains(forbidden) | (column.names == ""))
    if len(wrong):
        raise ArgumentError(
            "format",
            f"{name} cannot hold {counted(len(wrong), 'id')} with blanks, tabs or nothing in them, "
            f"such as {wrong[0]!r}",
        )


class Rows:
    """Rows of a piece of separated text with their line numbers, for errors: slow and exact."""

    def __init__(
        self, path: Path, piece: Piece, separator: str, columns: Sequence[str], *, has_header: bool
    ) -> None:
        self._path, self._piece, self.separator = path, piece, separator
        self._columns, self._has_header = columns, has_header

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        dialect: dict[str, Any] = {"strict": True, "quotechar": '"'}
        if self.separator != ",":
            dialect = {"quoting": csv.QUOTE_NONE}
        text = io.TextIOWrapper(io.BytesIO(self._piece.content), encoding="utf-8", newline="")
        lines = csv.reader(text, delimiter=self.separator, **dialect)
        line = 1
        try:
            for fields in lines:
                if fields:
                    yield line, fields
                line = lines.line_num + 1
        except csv.Error as error:
            raise ValueError(f"{self._place(line)}: {error}") from None
        except UnicodeDecodeError:
            before = self._piece.lines_before()
            raise ValueError(utf8_error(self._path, self._piece.content, before)) from None

    def _place(self, line: int) -> str:
        return f"{self._path}:{self._piece.lines_before() + line}"

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines of rows."""
        wanted, found = set(rows), {}
        for row, (line, _) in enumerate(self):
            if row in wanted:
                found[row] = self._place(line)
        return [found[row] for row in rows]

    def check_lengths(self) -> int:
        """Return the number of rows; raise if one is short or long."""
        n_rows, n_columns = 0, len(self._columns)
        for line, fields in self:
            n_rows += 1
            if len(fields) != n_columns:
                rule = ", as in the header" if self._has_header else f" ({' '.join(self._columns)})"
                raise ValueError(
                    f"{self._place(line)}: there must be {counted(n_columns, 'column')}{rule}, "
                    f"not {len(fields)}: {shorten(self.separator.join(fields))!r}"
                )
        return n_rows

    def what_is_wrong(self, roles: Mapping[str, str]) -> str:
        """Say what polars could not read: a line's length, or a score that is no number."""
        try:
            self.check_lengths()
        except ValueError as error:
            return str(error)
        score = self._columns.index(roles["score"]) if "score" in roles else None
        pl = polars()
        for line, fields in self:
            if not any(fields):
                return f"{self._place(line)}: all columns are empty"
            if (
                score is not None
                and pl.Series([fields[score]]).cast(pl.Float64, strict=False).null_count()
            ):
                return f"{self._place(line)}: a score must be a number, not {fields[score]!r}"
        return f"{self._path}: the columns cannot be read"
