"""Binary files of columns with names: Parquet and npz."""

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded
from fastpsr.trials.content import Reading, reading_of
from fastpsr.trials.formats.format import Format, Rigor
from fastpsr.trials.formats.frames import as_table, frame_of
from fastpsr.trials.names import find_roles
from fastpsr.trials.optional import polars
from fastpsr.trials.request import Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["Npz", "Parquet"]


@dataclass(frozen=True)
class _Columns(Format):
    """A kind of file that is one format."""

    def fits(self, path: Path, sample: Sample, request: Request, rigor: Rigor) -> bool:
        return True


@dataclass(frozen=True)
class Parquet(_Columns):
    """A Parquet file."""

    kind: ClassVar[str] = "Parquet"
    magic: ClassVar[bytes] = b"PAR1"

    def read(self, path: Path, sample: Sample, request: Request) -> Reading:
        pl = polars()
        try:
            frame = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ValueError(
                f"{path} must be a whole Parquet file ({error}): copy it again"
            ) from None
        return _from_frame(self, path, frame, request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        frame_of(self.columns(trials, scores)).write_parquet(path)


@dataclass(frozen=True)
class Npz(_Columns):
    """One-dimensional arrays of one length, text as numpy strings."""

    kind: ClassVar[str] = "npz"
    magic: ClassVar[bytes] = b"PK\x03\x04"

    def read(self, path: Path, sample: Sample, request: Request) -> Reading:
        pl = polars()
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            raise ValueError(
                f"{path} must be a whole npz file of numbers or text: it is cut short, damaged, or "
                "holds a pickle: write it again"
            ) from None
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
            elif array.dtype.kind == "f":
                arrays[name] = array.astype(np.float64)
        series = {
            name: array.tolist() if array.dtype.kind == "U" else array
            for name, array in arrays.items()
        }
        return _from_frame(self, path, pl.DataFrame(series), request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        with zipfile.ZipFile(path, "w") as archive:  # as numpy.savez, whatever the names are
            for name, column in self.columns(trials, scores).items():
                array = column.strings().astype(np.str_) if isinstance(column, Coded) else column
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)


def _from_frame(format: Format, path: Path, frame: "DataFrame", request: Request) -> Reading:
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
    return reading_of(path, format.name, *as_table(frame, roles, where), by_name=True)


def _as_text(series: "Series") -> "Series":
    pl = polars()
    if series.dtype.is_float() and (series == series.round()).all():
        series = series.cast(pl.Int64)
    return series.cast(pl.String)
