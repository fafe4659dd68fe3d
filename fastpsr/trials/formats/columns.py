"""Binary files of columns with names: Parquet and npz."""

import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.frames import check_column_names
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Format, Tolerance, frame_of
from fastpsr.trials.names import check_roles, find_roles
from fastpsr.trials.optional import polars
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.text import Where
from fastpsr.trials.too_large import check_scores
from fastpsr.trials.trial_file import PieceFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

_BYTES_PER_ROW = 100  # of a piece: about what text has


@dataclass(frozen=True)
class _Columns(Format):
    """A kind of file that is one format."""

    def fits(self, path: Path, sample: Sample, request: Request, tolerance: Tolerance) -> bool:
        return True


@dataclass(frozen=True)
class Parquet(_Columns):
    """A Parquet file."""

    kind: ClassVar[str] = "Parquet"
    magic: ClassVar[bytes] = b"PAR1"

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _ColumnFile(path, self, lambda: polars().scan_parquet(path, glob=False), request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        frame_of(self.columns(trials, scores)).write_parquet(path)


@dataclass(frozen=True)
class Npz(_Columns):
    """One-dimensional arrays of one length, text as numpy strings."""

    kind: ClassVar[str] = "npz"
    magic: ClassVar[bytes] = b"PK\x03\x04"

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _ColumnFile(path, self, lambda: self._read(path), request)

    def _read(self, path: Path) -> "LazyFrame":
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                names = archive.files
                arrays = {name: archive[name] for name in names}
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            raise ValueError(
                f"{path} must be a whole npz file of numbers or text: it is cut short, damaged, or "
                "holds a pickle: write it again"
            ) from None
        check_column_names(path, names)
        shapes = {name: array.shape for name, array in arrays.items()}
        if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 1:
            said = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ValueError(f"{path}: arrays must be 1-dimensional and of one length, not {said}")
        for name, array in arrays.items():
            if array.dtype.kind not in "biufUS":
                raise ValueError(
                    f"{path}: arrays must be numbers or text, but {name} is {array.dtype}"
                )
            if array.dtype.kind == "S":
                try:
                    arrays[name] = np.char.decode(array, "utf-8")
                except UnicodeDecodeError:
                    raise ValueError(f"{path}: text must be UTF-8, but {name} is not") from None
            elif array.dtype.kind in "biuf":
                kind = np.float64 if array.dtype.kind == "f" else array.dtype
                arrays[name] = array.astype(np.dtype(kind).newbyteorder("="))  # as polars needs
        series = {
            name: array.tolist() if array.dtype.kind == "U" else array
            for name, array in arrays.items()
        }
        frame: DataFrame = polars().DataFrame(series)
        return frame.lazy()

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        with zipfile.ZipFile(path, "w") as archive:  # as numpy.savez, whatever the names are
            for name, column in self.columns(trials, scores).items():
                array = column.strings().astype(np.str_) if isinstance(column, Coded) else column
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)


class _Rows(NamedTuple):
    """Some rows of a file."""

    first: int
    frame: "DataFrame"
    share: float


class _ColumnFile(PieceFile):
    """Columns that polars reads, some rows at a time."""

    def __init__(
        self, path: Path, format: Format, read: "Callable[[], LazyFrame]", request: Request
    ) -> None:
        self.path, self._read, pl = path, read, polars()
        rows = read()
        self._first: LazyFrame | None = rows  # for the first pass; npz is not held beyond it
        schema = self._whole(rows.collect_schema)
        roles = find_roles(path, schema.names(), request)
        super().__init__(path, format.name, schema.names(), roles, request, names_columns=True)
        for name, kind in schema.items():
            if kind.is_nested() or kind in (pl.Object, pl.Binary):
                raise ValueError(f"{path}: column {name} must hold numbers or text, not {kind}")
        kinds = {name: pl.Float64 for name, kind in schema.items() if kind.is_decimal()}
        for role, name in roles.items():
            kind = schema[name]
            if role == "score" and not kind.is_numeric():
                raise ValueError(f"{path}: scores must be numbers, but {name} is {kind}")
            if role == "score":
                kinds[name] = pl.Float64
            elif kind.is_float():
                kinds[name] = pl.Int64 if self._are_whole(rows, name) else pl.String
        self._kinds = kinds

    def _are_whole(self, rows: "LazyFrame", name: str) -> bool:
        """Whether numbers that stand for text are all whole: then they have no decimal point."""
        column = polars().col(name)
        return bool(self._whole(rows.select((column == column.round()).all()).collect).item())

    def _whole(self, read: Callable[[], Any]) -> Any:
        pl = polars()
        try:
            return read()
        except pl.exceptions.DuplicateError as error:
            rule = f"must have columns of different names ({error}): rename them"
            raise ValueError(f"{self.path} {rule}") from None
        except (pl.exceptions.PolarsError, OSError) as error:
            rule = f"must be a whole Parquet file ({error}): copy it again"
            raise ValueError(f"{self.path} {rule}") from None

    def _pieces(self, n_bytes: int | None) -> Iterator[_Rows]:
        rows = self._read() if self._first is None else self._first
        if n_bytes is None:
            yield _Rows(0, self._whole(rows.collect), 1.0)
            self._first = None
            return
        n_rows = int(self._whole(rows.select(polars().len()).collect).item())
        step = max(1, n_bytes // _BYTES_PER_ROW)
        for first in range(0, n_rows, step):
            frame = self._whole(rows.slice(first, step).collect)
            yield _Rows(first, frame, min((first + step) / n_rows, 1.0))
        self._first = None

    def _split(self, piece: _Rows, text: Any) -> "DataFrame":
        pl = polars()
        frame = piece.frame.cast(self._kinds)
        if "score" in self.roles:
            scores = piece.frame[self.roles["score"]]
            if not scores.dtype.is_float():
                where = self._where_in(piece)
                check_scores(frame[scores.name], lambda: scores.cast(pl.String), where)
        texts = {*self.roles.values()} - {self.roles.get("score")}
        texts |= {name for name, kind in frame.schema.items() if not kind.is_numeric()}
        frame = frame.cast({name: pl.String for name in texts if name in frame})
        check_roles(frame, self.roles, self._where_in(piece))
        return frame

    def _where_in(self, piece: _Rows) -> Where:
        return lambda rows: self.where([piece.first + row for row in rows])

    def where(self, rows: Sequence[int]) -> list[str]:
        return [f"{self.path}: row {row}" for row in rows]
