"""Binary files of columns: npz and npy by NumPy, Parquet by polars."""

import glob
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.files import PARQUET, ending_of, files_of
from fastpsr.files import check_names as check_file_names
from fastpsr.frames import check_column_names
from fastpsr.optional import polars

if TYPE_CHECKING:
    from polars import LazyFrame, Schema


def wrong(path: object, rule: str) -> ArgumentError:
    """Return the error of a file."""
    return ArgumentError("path", rule, name=str(path))


def load_npy(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file."""
    with _whole(path, ".npy", "it"):
        array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise wrong(path, "holds an archive: its name must end in .npz")
    return array


def open_npz(path: Path) -> tuple[dict[str, int], Callable[[str], NDArray[Any]]]:
    """Return the number of rows of each array of a .npz file, and a function that loads one.

    Single numbers have -1 rows.
    """

    def load(name: str) -> NDArray[Any]:
        with _whole(path, ".npz", name), np.load(path, allow_pickle=False) as archive:
            array: NDArray[Any] = archive[name]
        return array

    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    with _whole(path, ".npz", "it"), zipfile.ZipFile(path) as archive:
        names = [member.removesuffix(".npy") for member in archive.namelist()]
        n_rows = {}
        for name in names:
            with archive.open(f"{name}.npy") as file:
                shape, *_ = readers[np.lib.format.read_magic(file)[0]](file)
                n_rows[name] = (*shape, -1)[0]
    check_column_names(path, names)
    return n_rows, load


@contextmanager
def _whole(path: Path, ending: str, what: str) -> Iterator[None]:
    """Raise that a file of arrays is damaged without NumPy's advice on its own arguments."""
    try:
        yield
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error):
        raise wrong(
            path,
            f"must be a whole {ending} file of numbers or text: {what} is cut short, damaged "
            "or holds a pickle",
        ) from None


def write_npz(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as `numpy.savez` does, whatever their names are."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


def open_parquet(path: Path, files: list[str]) -> tuple["LazyFrame", "Schema"]:
    """Return the rows of Parquet files, and the types of their columns by name."""
    pl = polars()
    with whole_parquet(Path(files[0])):
        rows: LazyFrame = pl.scan_parquet(files, glob=False)
        schema = rows.collect_schema()
    return rows, schema


@contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """Raise what polars says of a file without its advice on its own arguments."""
    pl = polars()
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if not path.is_file():
            raise
        reason = str(error).strip().splitlines()[0]
        if isinstance(error, pl.exceptions.DuplicateError) or "more than one" in reason:
            rule = f"must have columns of different names ({reason}): rename them"
            raise wrong(path, rule) from None
        raise wrong(path, f"must be a whole Parquet file ({reason}): copy it again") from None


def parquet_files(path: Path) -> list[str]:
    """Return the Parquet files that a path, a folder or a pattern means; none for other tables."""
    if path.exists() and not path.is_dir():
        return [str(path)] if ending_of(path) in PARQUET else []
    if not path.is_dir() and not glob.has_magic(str(path)):
        return []
    files = files_of(str(path))
    check_file_names(files)
    if not files and path.is_dir():
        raise wrong(f"{path}:", "there are no files *.parquet or *.pq in this folder")
    if not files:
        raise FileNotFoundError(2, "No file fits the pattern", str(path))
    others = [name for name in files if ending_of(Path(name)) not in PARQUET]
    if others:
        raise wrong(path, f"must mean Parquet files alone, but {others[0]} is none")
    return files
