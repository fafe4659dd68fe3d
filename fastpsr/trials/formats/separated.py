"""Text whose columns are apart by one character: NIST's TSV and CSV, with a header line."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, categories
from fastpsr.trials.content import Reading, reading_of
from fastpsr.trials.formats.format import Columns, Format, Rigor
from fastpsr.trials.formats.frames import Table, as_table, frame_of
from fastpsr.trials.names import find_roles, has_usual_names
from fastpsr.trials.optional import polars
from fastpsr.trials.pieces import Piece, pieces, places_of, side_by_side
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.text import utf8_error
from fastpsr.trials.too_large import first_too_large
from fastpsr.trials.trial_set import TrialSet
from fastpsr.wording import counted, shorten

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = [
    "Csv",
    "Nist",
    "Rows",
    "check_names",
    "header_of",
    "read_separated",
    "split_rows",
    "write_text",
]


@dataclass(frozen=True)
class _Separated(Format):
    """Text with a header line."""

    def fits(self, path: Path, sample: Sample, request: Request, rigor: Rigor) -> bool:
        line = sample.lines[0]
        is_mine = self.separator == ("\t" if "\t" in line else ",")
        return is_mine and has_usual_names(line.split(self.separator), request.columns)

    def read(self, path: Path, sample: Sample, request: Request) -> Reading:
        table = read_separated(path, sample, self.separator, request)
        return reading_of(path, self.name, *table, by_name=True)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        columns = self.columns(trials, scores)
        write_text(path, columns, self.name, self.separator, header=True)


@dataclass(frozen=True)
class Csv(_Separated):
    """Columns apart by commas."""

    separator: ClassVar[str] = ","


@dataclass(frozen=True)
class Nist(_Separated):
    """Columns apart by tabs, as in NIST's evaluations."""

    separator: ClassVar[str] = "\t"
    usual_names: ClassVar[Mapping[str, str]] = {
        "enroll": "modelid", "test": "segmentid", "side": "side", "score": "LLR"
    }  # fmt: skip


def read_separated(
    path: Path, sample: Sample, separator: str, request: Request, own_roles: Sequence[str] = ()
) -> Table:
    """Read text whose columns are apart by one character, with a header line or `own_roles`.

    Quotes have their meaning in CSV; in TSV they are characters of an id.
    """
    has_header = not own_roles
    columns = header_of(sample, separator) if has_header else tuple(own_roles)
    if has_header:
        roles = find_roles(path, columns, request)
    else:
        roles = {role: role for role in own_roles if role in ROLES}
    check_names(path, columns)
    # lines above the first that is not blank, below the header if there is one
    first = (*sample.numbers[has_header : has_header + 1], sample.numbers[0] + 1)[0]
    all_pieces = partial(pieces, path, sample, skipped=first - 1, quotes=separator == ",")

    def rows_of(piece: Piece) -> Rows:
        return Rows.of_piece(path, piece, separator, columns, has_header=has_header)

    def split(piece: Piece) -> "tuple[DataFrame, float]":
        return split_rows(piece.content, rows_of(piece), columns, roles, ids), piece.share

    frames: list[DataFrame] = []
    n_rows = 0
    progress = request.progress_of(path)
    with categories() as ids:
        for frame, share in side_by_side(split, all_pieces()):
            frames.append(frame)
            n_rows += frame.height
            if progress is not None:
                progress(n_rows, round(n_rows / share))
        if n_rows == 0:
            raise ValueError(f"{path}: there is no trial" + " below the header" * has_header)
        heights = [frame.height for frame in frames]
        where = partial(places_of, all_pieces, heights, lambda piece: rows_of(piece).where)
        return as_table(polars().concat(frames), roles, where)


def header_of(sample: Sample, separator: str) -> tuple[str, ...]:
    """Return the names in the header line."""
    lines = csv.reader(
        [sample.lines[0]],
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE,
    )
    return tuple(name.strip() for name in next(lines))


def split_rows(
    content: bytes, rows: "Rows", header: Sequence[str], roles: Mapping[str, str], ids: Any
) -> "DataFrame":
    """Return the columns of separated text without its header; those of text of a type of polars.

    `rows` are the same with the header, for errors.
    """
    pl = polars()
    kinds_of_roles = {"score": pl.Float64, "enroll": pl.String, "test": pl.String}
    kinds = {name: kinds_of_roles.get(role, ids) for role, name in roles.items()}
    schema = {name: kinds.get(name, ids) for name in header}
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
        raise ValueError(rows.what_is_wrong(header, roles)) from None
    if frame.is_empty() or frame[header[-1]].null_count():  # a line may be short, or blank
        n_rows = rows.check_lengths(len(header))
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
        if n_rows != frame.height:
            raise ValueError(rows.what_is_wrong(header, roles))
    if "score" in roles:
        scores = frame[roles["score"]]
        found = None
        if not scores.null_count():
            found = first_too_large(
                scores, lambda: read(dict.fromkeys(header, pl.String))[scores.name].drop_nulls()
            )
        if found is not None:
            row, word = found
            raise ValueError(
                f"{rows.where([row])[0]}: a score must be a number that a float64 holds, not "
                f"{shorten(word)!r}"
            )
    return frame


def check_names(path: Path, header: Sequence[str]) -> None:
    """Raise where names of columns repeat."""
    if len(set(header)) < len(header):
        raise ValueError(f"{path}:1: names of columns must differ: {', '.join(header)}")


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
    """Rows of separated text with their line numbers in it, for errors: slow and exact.

    A `header` comes first if it is not in the text itself.
    """

    def __init__(
        self,
        path: Path,
        source: Path | bytes,
        separator: str,
        lines_before: Callable[[], int] = lambda: 0,
        header: Sequence[str] = (),
    ) -> None:
        self.path, self.source, self.separator = path, source, separator
        self._lines_before, self.header = lines_before, list(header)

    @classmethod
    def of_piece(
        cls, path: Path, piece: Piece, separator: str, columns: Sequence[str], *, has_header: bool
    ) -> "Rows":
        """Return the rows of a piece, below a line like that of the header if there is one."""
        before = piece.lines_before
        if not has_header:
            return cls(path, piece.content, separator, before, columns)
        header = separator.join("x" for _ in columns).encode() + b"\n"
        return cls(path, header + piece.content, separator, lambda: before() - 1)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        if self.header:
            yield 0, self.header
        with ExitStack() as open_files:
            source = self.source
            binary = (
                io.BytesIO(source)
                if isinstance(source, bytes)
                else open_files.enter_context(source.open("rb"))
            )
            text = open_files.enter_context(
                io.TextIOWrapper(binary, encoding="utf-8-sig", newline="")
            )
            dialect: dict[str, Any] = {"strict": True, "quotechar": '"'}
            if self.separator != ",":
                dialect = {"quoting": csv.QUOTE_NONE}
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
                raise ValueError(utf8_error(self.path, source, self._lines_before())) from None

    def _place(self, line: int) -> str:
        return f"{self.path}:{self._lines_before() + line}"

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines of rows below the header."""
        wanted, found = set(rows), {}
        for row, (line, _) in enumerate(self, -1):
            if row in wanted:
                found[row] = self._place(line)
        return [found[row] for row in rows]

    def check_lengths(self, n_columns: int) -> int:
        """Return the number of rows below the header; raise if one is short or long."""
        n_rows = -1
        for line, fields in self:
            n_rows += 1
            if len(fields) != n_columns:
                rule = f" ({' '.join(self.header)})" if self.header else ", as in the header"
                raise ValueError(
                    f"{self._place(line)}: there must be {counted(n_columns, 'column')}{rule}, "
                    f"not {len(fields)}: {shorten(self.separator.join(fields))!r}"
                )
        return n_rows

    def what_is_wrong(self, header: Sequence[str], roles: Mapping[str, str]) -> str:
        """Say what polars could not read: a line's length, or a score that is no number."""
        try:
            if self.check_lengths(len(header)) == 0:
                return f"{self.path}: there is no trial" + " below the header" * (not self.header)
        except ValueError as error:
            return str(error)
        score = header.index(roles["score"]) if "score" in roles else 0
        pl = polars()
        for k, (line, fields) in enumerate(self):
            if k and not any(fields):
                return f"{self._place(line)}: all columns are empty"
            if (
                k
                and "score" in roles
                and pl.Series([fields[score]]).cast(pl.Float64, strict=False).null_count()
            ):
                return f"{self._place(line)}: a score must be a number, not {fields[score]!r}"
        return f"{self.path}: the columns cannot be read"
