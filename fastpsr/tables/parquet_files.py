"""The Parquet files that a path, a folder or a pattern means."""

import glob
import sys
from collections.abc import Iterable
from pathlib import Path

from fastpsr.errors import ArgumentError

__all__ = ["check_names", "parquet_files"]


def check_names(names: Iterable[str]) -> None:
    """Raise where a name is no text in the encoding of file names, which libraries need."""
    for name in names:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
            encoding = sys.getfilesystemencoding()
            shown = ascii(name.encode(encoding, "surrogateescape"))[1:]
            remedy = "rename the file" if encoding == "utf-8" else "set PYTHONUTF8=1"
            raise ValueError(f"names must be text in {encoding}, but {shown} is none: {remedy}")


def parquet_files(path: Path) -> list[str]:
    """Return the Parquet files that a path, a folder or a pattern means; none for other tables."""
    if path.is_dir():
        found = sorted(glob.glob(f"{glob.escape(str(path))}/**/*.parquet", recursive=True))
        check_names(found)
        if not found:
            why = "there are no files *.parquet in this folder"
            raise ArgumentError("path", why, name=f"{path}:")
        return found
    if path.exists():
        return [str(path)] if path.suffix in (".parquet", ".pq") else []
    if not glob.has_magic(str(path)):
        return []
    found = sorted(glob.glob(str(path), recursive=True))
    check_names(found)
    if not found:
        raise FileNotFoundError(2, "No file fits the pattern", str(path))
    other = [name for name in found if Path(name).suffix not in (".parquet", ".pq")]
    if other:
        why = f"must mean Parquet files alone, but {other[0]} is none"
        raise ArgumentError("path", why, name=str(path))
    return found
