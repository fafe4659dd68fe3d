"""Files whose columns have names: NIST's TSV, CSV, Parquet and npz."""

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Column, as_column, categorical
from fastpsr.trials.layouts import ALIASES, LABEL_OF_NEED
from fastpsr.trials.optional import polars
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.text import Where, utf8_error
from fastpsr.trials.too_large import first_too_large
from fastpsr.wording import counted, shorten

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = [
    "Rows",
    "Table",
    "check_roles",
    "find_roles",
    "read_npz",
    "read_parquet",
    "read_separated",
    "split_rows",
]

#: Columns by name, names of columns by role, and what names rows in errors.
Table = tuple[dict[str, Column], dict[str, str], Where]


def read_separated(
    path: Path, sample: Sample, separator: str, request: Request, own_roles: Sequence[str] = ()
) -> Table:
    """Read text whose columns are apart by one character, with a header line or `own_roles`.

    Quotes have their meaning in CSV; in TSV they are characters of an id.
    """
    source = sample.source(path)
    rows = Rows(path, source, separator, header=own_roles)
    header = [name.strip() for name in next(iter(rows))[1]]
    if own_roles:
        roles = {role: role for role in own_roles if role in ROLES}
    else:
        roles = find_roles(path, header, request)
    _check_names(path, header)
    n_above = 0 if own_roles else 1
    # versions of polars skip blank lines differently
    plain = sample.numbers[: n_above + 1] == (1, 2)[: n_above + 1]
    below = source if plain else _below_blank_lines(source, sample, n_above)
    frame = split_rows(below, rows, header, roles, categorical(), skip=n_above if plain else 0)
    if frame.is_empty():
        raise ValueError(rows.what_is_wrong(header, roles))
    return _check_whole(frame, roles, rows.where), roles, rows.where


def split_rows(
    below: Path | bytes,
    rows: "Rows",
    header: Sequence[str],
    roles: Mapping[str, str],
    ids: Any,
    skip: int = 0,
) -> "DataFrame":
    """Return the columns of separated text without its header; those of text of a type of polars.

    `rows` are the same with the header, for errors.
    """
    pl = polars()
    schema = {name: pl.Float64 if name == roles.get("score") else ids for name in header}

    def read(kinds: Any) -> "DataFrame":
        made: DataFrame = pl.read_csv(
            io.BytesIO(below) if isinstance(below, bytes) else below,
            separator=rows.separator,
            schema=kinds,
            has_header=False,
            skip_rows=skip,
            quote_char='"' if rows.separator == "," else None,
            glob=False,
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


def check_roles(frame: "DataFrame", roles: Mapping[str, str], where: Where) -> None:
    """Raise where a row lacks what has a role."""
    for role, name in roles.items():
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise ValueError(f"{where([row])[0]}: the {role} ({name}) is missing")


def _check_names(path: Path, header: Sequence[str]) -> None:
    if len(set(header)) < len(header):
        raise ValueError(f"{path}:1: names of columns must differ: {', '.join(header)}")


def read_parquet(path: Path, request: Request) -> Table:
    """Read a Parquet file."""
    pl = polars()
    try:
        frame = pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ValueError(f"{path} must be a whole Parquet file: {error}") from None
    return _from_frame(path, frame, request)


def read_npz(path: Path, request: Request) -> Table:
    """Read an npz file: one-dimensional arrays of one length, text as numpy strings."""
    pl = polars()
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise ValueError(
            f"{path} must be a whole npz file of numbers or text: it is cut short, damaged, or "
            "holds a pickle"
        ) from None
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 1:
        said = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{path}: arrays must be 1-dimensional and of one length, not {said}")
    for name, array in arrays.items():
        if array.dtype.kind not in "biufUS":
            raise ValueError(f"{path}: arrays must be numbers or text, but {name} is {array.dtype}")
        if array.dtype.kind == "S":
            try:
                arrays[name] = np.char.decode(array, "utf-8")
            except UnicodeDecodeError:
                raise ValueError(f"{path}: text must be UTF-8, but {name} is not") from None
        elif array.dtype.kind == "f":
            arrays[name] = array.astype(np.float64)
    series = {
        name: array.tolist() if array.dtype.kind == "U" else array for name, array in arrays.items()
    }
    return _from_frame(path, pl.DataFrame(series), request)


def find_roles(path: Path, names: Sequence[str], request: Request) -> dict[str, str]:
    """Return the name of the column of each role: as chosen, or by the usual names."""
    needed = {*request.needed, *(() if request.wanted == "labeled scores" else ("enroll", "test"))}
    chosen, found = request.columns, {}
    lowered = {name.lower(): name for name in names}
    for role, usual in ALIASES.items():
        if role in chosen:
            if chosen[role] not in names:
                raise ArgumentError(
                    f"{request.prefix}columns",
                    f"must name columns of {path} ({', '.join(names)}), not {chosen[role]!r}",
                )
            found[role] = chosen[role]
            continue
        present = [lowered[name] for name in usual if name in lowered]
        present = [name for name in present if name not in chosen.values()]
        if role == "label" and role in needed and not present and LABEL_OF_NEED in lowered:
            present = [lowered[LABEL_OF_NEED]]
        if role == "score" and role not in needed:
            continue  # nobody asks a key for scores
        if len(present) > 1:
            rule = f"the column of the {role} could be {' or '.join(present)}"
            raise request.unclear(path, rule, "columns", {role: ...})
        if present:
            found[role] = present[0]
        elif role in needed:
            rule = (
                f"there is no column for the {role}: none is named {' or '.join(usual)}; there are "
                f"{', '.join(names)}"
            )
            raise request.unclear(path, rule, "columns", {role: ...})
    return found


def _from_frame(path: Path, frame: "DataFrame", request: Request) -> Table:
    pl = polars()

    def where(rows: Sequence[int]) -> list[str]:
        return [f"{path}: row {row}" for row in rows]

    if frame.is_empty():
        raise ValueError(f"{path}: the file is empty")
    roles = find_roles(path, frame.columns, request)
    for role, name in roles.items():
        series = frame[name]
        if role == "score" and series.dtype != pl.Float64:
            if not series.dtype.is_numeric():
                raise ValueError(f"{path}: scores must be numbers, but {name} is {series.dtype}")
            frame = frame.with_columns(series.cast(pl.Float64))
        elif role != "score" and (series.dtype.is_numeric() or series.dtype == pl.Boolean):
            frame = frame.with_columns(_as_text(series))
    return _check_whole(frame, roles, where), roles, where


def _as_text(series: "Series") -> "Series":
    pl = polars()
    if series.dtype.is_float() and (series == series.round()).all():
        series = series.cast(pl.Int64)
    return series.cast(pl.String)


def _check_whole(frame: "DataFrame", roles: Mapping[str, str], where: Where) -> dict[str, Column]:
    """Turn the columns into codes and numbers; what has a role must be in every row."""
    check_roles(frame, roles, where)
    for name, kind in frame.schema.items():
        if kind.is_nested() or kind == polars().Object or kind == polars().Binary:
            raise ValueError(
                f"{where([0])[0]}: column {name} must hold numbers or text, not {kind}"
            )
    return {name: as_column(frame.drop_in_place(name)) for name in frame.columns}


def _below_blank_lines(source: Path | bytes, sample: Sample, n_above: int) -> bytes:
    """Return what follows the header line, if there is one, and the blank lines around it."""
    content = source if isinstance(source, bytes) else source.read_bytes()
    position = 0
    for _ in range((*sample.numbers[n_above : n_above + 1], sample.numbers[0] + 1)[0] - 1):
        position = content.find(b"\n", position) + 1 or len(content)
    return content[position:]


class Rows:
    """Rows of separated text with their line numbers, for errors: slow and exact.

    A `header` comes first if it is not in the text itself.
    """

    def __init__(
        self,
        path: Path,
        source: Path | bytes,
        separator: str,
        lines_before: int = 0,
        header: Sequence[str] = (),
    ) -> None:
        self.path, self.source, self.separator = path, source, separator
        self.lines_before, self.header = lines_before, list(header)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        if self.header:
            yield self.lines_before, self.header
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
            line = self.lines_before + 1
            try:
                for fields in lines:
                    if fields:
                        yield line, fields
                    line = self.lines_before + lines.line_num + 1
            except csv.Error as error:
                raise ValueError(f"{self.path}:{line}: {error}") from None
            except UnicodeDecodeError:
                raise ValueError(utf8_error(self.path, source, self.lines_before)) from None

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines of rows below the header."""
        wanted, found = set(rows), {}
        for row, (line, _) in enumerate(self, -1):
            if row in wanted:
                found[row] = f"{self.path}:{line}"
        return [found[row] for row in rows]

    def check_lengths(self, n_columns: int) -> int:
        """Return the number of rows below the header; raise if one is short or long."""
        n_rows = -1
        for line, fields in self:
            n_rows += 1
            if len(fields) != n_columns:
                rule = f" ({' '.join(self.header)})" if self.header else ", as in the header"
                raise ValueError(
                    f"{self.path}:{line}: there must be {counted(n_columns, 'column')}{rule}, "
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
                return f"{self.path}:{line}: all columns are empty"
            if (
                k
                and "score" in roles
                and pl.Series([fields[score]]).cast(pl.Float64, strict=False).null_count()
            ):
                return f"{self.path}:{line}: a score must be a number, not {fields[score]!r}"
        return f"{self.path}: the columns cannot be read"
