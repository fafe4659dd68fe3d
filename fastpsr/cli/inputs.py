"""The files that a command reads: which they are, and how they are told from others."""

import glob
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["check_names", "described", "parquet_files"]


def check_names(names: Iterable[str]) -> None:
    """Raise where a name is no text in the encoding of file names, which libraries need."""
    for name in names:
        if not name.isascii() and any("\udc80" <= character <= "\udcff" for character in name):
            encoding = sys.getfilesystemencoding()
            shown = ascii(name.encode(encoding, "surrogateescape"))[1:]
            remedy = "rename the file" if encoding == "utf-8" else "set PYTHONUTF8=1"
            raise ValueError(f"names must be text in {encoding}, but {shown} is none: {remedy}")


def described(paths: Iterable[Path | None]) -> list[dict[str, Any]]:
    """Return path, bytes and SHA-256 of each file; of the files of folders and patterns no hash.

    What can be read only once, such as a pipe, has neither.
    """
    found: list[dict[str, Any]] = []
    for path in paths:
        if path is None:
            continue
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(_entry(path, path.stat().st_size, digest))
        else:
            files = [Path(name) for name in parquet_files(path)]
            found += [_entry(each, each.stat().st_size, None) for each in files]
            found += [] if files else [_entry(path, None, None)]
    return found


def _entry(path: Path, n_bytes: int | None, digest: str | None) -> dict[str, Any]:
    return {"path": str(path), "n_bytes": n_bytes, "sha256": digest}


def parquet_files(path: Path) -> list[str]:
    """Return the Parquet files that a path, a folder or a pattern means; none for other tables."""
    if path.is_dir():
        found = sorted(glob.glob(f"{glob.escape(str(path))}/**/*.parquet", recursive=True))
        check_names(found)
        if not found:
            raise ValueError(f"{path}: there are no files *.parquet in this folder")
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
        raise ValueError(f"{path} must mean Parquet files alone, but {other[0]} is none")
    return found
