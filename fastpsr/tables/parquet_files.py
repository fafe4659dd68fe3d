"""The Parquet files that a path, a folder or a pattern means."""

import glob
from pathlib import Path

from fastpsr.errors import ArgumentError
from fastpsr.files import check_names


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
