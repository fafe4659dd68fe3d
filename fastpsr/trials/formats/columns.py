"""Binary files of columns with names: Parquet and npz."""

import zipfile
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.tables.binary import open_npz, open_parquet, whole_parquet
from fastpsr.tables.sample import Sample
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Format, frame_of
from fastpsr.trials.roles import Request, check_roles, find_roles
from fastpsr.trials.trial_file import PieceFile, TrialFile, Where
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

_BYTES_PER_ROW = 100  # of a piece: about what text has


class _NamedColumns(Format):
    """A kind of file that is one format."""

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _ColumnFile(path, self, request)

    @abstractmethod
    def rows(self, path: Path) -> "LazyFrame":
        """Return the columns of a file."""


@dataclass(frozen=True)
class Parquet(_NamedColumns):
    """A Parquet file."""

    kind: ClassVar[str] = "Parquet"

    def rows(self, path: Path) -> "LazyFrame":
        return open_parquet(path, [str(path)])[0]

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        frame_of(self.columns(trials, scores)).write_parquet(path)


@dataclass(frozen=True)
class Npz(_NamedColumns):
    """One-dimensional arrays of one length, text as numpy strings."""

    kind: ClassVar[str] = "npz"

    def rows(self, path: Path) -> "LazyFrame":
        names, load = open_npz(path)
        arrays = {name: load(name) for name in names}
        shapes = {name: array.shape for name, array in arrays.items()}
        if len(set(shapes.values())) != 1 or len(next(iter(shapes.values()))) != 1:
            listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ValueError(
                f"{path}: arrays must be 1-dimensional and of one length, not {listed}"
            )
        columns: dict[str, Any] = {}
        for name, array in arrays.items():
            if array.dtype.kind not in "biufUS":
                raise ValueError(
                    f"{path}: arrays must be numbers or text, but {name} is {array.dtype}"
                )
            if array.dtype.kind in "US":
                try:
                    text = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
                except UnicodeDecodeError:
                    raise ValueError(f"{path}: text must be UTF-8, but {name} is not") from None
                columns[name] = text.tolist()
            else:
                kind = np.float64 if array.dtype.kind == "f" else array.dtype
                columns[name] = array.astype(np.dtype(kind).newbyteorder("="))  # as polars needs
        frame: DataFrame = polars().DataFrame(columns)
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

    def __init__(self, path: Path, format: _NamedColumns, request: Request) -> None:
        pl, rows = polars(), format.rows(path)
        self._source = format
        self._first: LazyFrame | None = rows  # for the first pass; npz is not held beyond it
        schema = rows.collect_schema()
        roles = find_roles(path, schema.names(), request)
        super().__init__(path, format.name, schema.names(), roles, request, names_columns=True)
        for name, kind in schema.items():
            if kind.is_nested() or kind in (pl.Object, pl.Binary):
                raise ValueError(f"{path}: column {name} must hold numbers or text, not {kind}")
        kinds: Any = {name: pl.Float64 for name, kind in schema.items() if kind.is_decimal()}
        for role, name in roles.items():
            kind = schema[name]
            if role == "score" and not kind.is_numeric():
                raise ValueError(f"{path}: scores must be numbers, but {name} is {kind}")
            if role == "score":
                kinds[name] = pl.Float64
            elif kind.is_float():  # numbers that stand for text have a point if one is not whole
                column = pl.col(name)
                are_whole = self._collect(rows.select((column == column.round()).all())).item()
                kinds[name] = pl.Int64 if are_whole else pl.String
        self._kinds = kinds

    def _collect(self, rows: "LazyFrame") -> "DataFrame":
        with whole_parquet(self.path):
            return rows.collect()

    def _pieces(self, n_bytes: int | None) -> Iterator[_Rows]:
        rows = self._source.rows(self.path) if self._first is None else self._first
        if n_bytes is None:
            yield _Rows(0, self._collect(rows), 1.0)
        else:
            n_rows = int(self._collect(rows.select(polars().len())).item())
            step = max(1, n_bytes // _BYTES_PER_ROW)
            for first in range(0, n_rows, step):
                frame = self._collect(rows.slice(first, step))
                yield _Rows(first, frame, min((first + step) / n_rows, 1.0))
        self._first = None

    def _split(self, piece: _Rows, text: Any) -> "DataFrame":
        pl = polars()
        frame = piece.frame.cast(self._kinds)
        if "score" in self.roles:
            scores = piece.frame[self.roles["score"]]
            if not scores.dtype.is_float():
                where = self._where_in(piece)
                self.check_scores(frame[scores.name], lambda: scores.cast(pl.String), where)
        texts = {*self.roles.values()} - {self.roles.get("score")}
        texts |= {name for name, kind in frame.schema.items() if not kind.is_numeric()}
        of_text: Any = {name: pl.String for name in texts if name in frame}
        frame = frame.cast(of_text)
        present = {role: name for role, name in self.roles.items() if name in frame}
        check_roles(frame, present, self._where_in(piece))
        return frame

    def _where_in(self, piece: _Rows) -> Where:
        return lambda rows: self.where([piece.first + row for row in rows])

    def where(self, rows: Sequence[int]) -> list[str]:
        return [f"{self.path}: row {row}" for row in rows]
