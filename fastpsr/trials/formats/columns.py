"""Binary files of columns with names: Parquet and npz."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.tables.binary import open_npz, open_parquet, whole_parquet, write_npz
from fastpsr.tables.sample import Sample
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Format, frame_of
from fastpsr.trials.roles import Request, find_roles
from fastpsr.trials.trial_file import OneFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

_BYTES_PER_ROW = 100  # of a piece: about what text has


class _NamedColumns(Format):
    """A kind of file that is one format."""

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _TrialsAsColumns(path, self, request)

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
            if array.dtype.kind == "S":
                try:
                    array = np.char.decode(array, "utf-8")
                except UnicodeDecodeError:
                    raise ValueError(f"{path}: text must be UTF-8, but {name} is not") from None
            kind = np.dtype(np.float64) if array.dtype.kind == "f" else array.dtype
            columns[name] = array.astype(kind.newbyteorder("="))  # as polars needs
        frame: DataFrame = polars().DataFrame(columns)
        return frame.lazy()

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        columns = self.columns(trials, scores).items()
        write_npz(
            path,
            {n: c.strings().astype(np.str_) if isinstance(c, Coded) else c for n, c in columns},
        )


class _Rows(NamedTuple):
    """Some rows of a file."""

    first: int
    frame: "DataFrame"
    share: float


class _TrialsAsColumns(OneFile):
    """Columns that polars reads, some rows at a time."""

    def __init__(self, path: Path, format: _NamedColumns, request: Request) -> None:
        pl, rows = polars(), format.rows(path)
        self._format = format
        self._first: LazyFrame | None = rows  # for the first pass; npz is not held beyond it
        schema = rows.collect_schema()
        columns = tuple(schema.names())
        roles = find_roles(path, columns, request)
        super().__init__(path, format.name, columns, roles, request, names_columns=True)
        for name, kind in schema.items():
            if kind.is_nested() or kind in (pl.Object, pl.Binary):
                raise ValueError(f"{path}: column {name} must hold numbers or text, not {kind}")
        self._whole: Any = {}
        kinds: Any = {name: pl.Float64 for name, kind in schema.items() if kind.is_decimal()}
        kinds |= {name: pl.String for name, kind in schema.items() if not kind.is_numeric()}
        for role, name in roles.items():
            kind = schema[name]
            if role == "score" and not kind.is_numeric():
                raise ValueError(f"{path}: scores must be numbers, but {name} is {kind}")
            if role == "score":
                continue
            kinds[name] = pl.String
            if kind.is_float():
                # numbers that stand for text have a point if one is not whole
                column = pl.col(name)
                are_whole = self._collect(rows.select((column == column.round()).all())).item()
                self._whole |= {name: pl.Int64} if are_whole else {}
        self._kinds = kinds

    def _collect(self, rows: "LazyFrame") -> "DataFrame":
        with whole_parquet(self.path):
            return rows.collect()

    def pieces(self, n_bytes: int | None) -> Iterator[_Rows]:
        """Yield some rows at a time."""
        rows = self._format.rows(self.path) if self._first is None else self._first
        if n_bytes is None:
            yield _Rows(0, self._collect(rows), 1.0)
        else:
            n_rows = int(self._collect(rows.select(polars().len())).item())
            step = max(1, n_bytes // _BYTES_PER_ROW)
            for first in range(0, n_rows, step):
                frame = self._collect(rows.slice(first, step))
                yield _Rows(first, frame, min((first + step) / n_rows, 1.0))
        self._first = None

    def frame(self, piece: _Rows, kinds: Mapping[str, Any]) -> "DataFrame":
        """Return a piece's columns."""
        return piece.frame.cast(self._whole).cast(self._kinds)

    def places(self, piece: _Rows, rows: Sequence[int]) -> list[str]:
        """Name the file and rows."""
        return [f"{self.path}: row {piece.first + row}" for row in rows]
