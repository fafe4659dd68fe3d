"""The files that a command reads, as JSON tells them from others."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fastpsr.tables import parquet_files

__all__ = ["described"]


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
