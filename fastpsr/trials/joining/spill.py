"""Rows in buckets, in a temporary file."""

from collections import defaultdict
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from fastpsr.optional import polars

if TYPE_CHECKING:
    from polars import DataFrame, Series

_BUCKET = ":bucket"


class Spill:
    """Rows of frames, added in any order and taken bucket by bucket, in the order of adding.

    About `n_bytes` are in memory. The file lies in `folder` and is deleted by the system once it is
    closed, or the process ends.
    """

    def __init__(self, folder: Path, n_bytes: int) -> None:
        self._folder, self._n_bytes = folder, n_bytes
        self._held: list[DataFrame] = []
        self._n_held = 0
        self._nothing: DataFrame = polars().DataFrame()
        self._file: Any = None
        self._places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)

    def add(self, frame: "DataFrame", buckets: "Series") -> None:
        """Add rows, and the number of the bucket of each."""
        self._nothing = frame.clear()
        self._held.append(frame.with_columns(buckets.alias(_BUCKET)))
        self._n_held += int(frame.estimated_size())
        if self._n_held > self._n_bytes:
            self._write()

    def take(self, bucket: int) -> "DataFrame":
        """Return the rows of a bucket; no rows are added any more."""
        if self._held:
            self._write()
        pl = polars()
        frames = []
        for begin, n_bytes in self._places[bucket]:
            self._file.seek(begin)
            frames.append(pl.read_ipc_stream(BytesIO(self._file.read(n_bytes))))
        rows: DataFrame = pl.concat(frames) if frames else self._nothing
        return rows

    def close(self) -> None:
        """Forget all rows."""
        self._held = []
        if self._file is not None:
            with suppress(OSError):  # an error of the disk is known by then
                self._file.close()

    def _write(self) -> None:
        """Append what is held to the file, a stream for each bucket."""
        if self._file is None:
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115, closed by `close`
        pl = polars()
        rows = pl.concat(self._held)
        self._held, self._n_held = [], 0
        level = pl.CompatLevel.oldest()
        parts = rows.partition_by(_BUCKET, as_dict=True, include_key=False, maintain_order=True)
        for (bucket,), part in parts.items():
            stream = BytesIO()
            part.write_ipc_stream(stream, compression="uncompressed", compat_level=level)
            self._places[bucket].append((self._file.tell(), stream.tell()))
            self._file.write(stream.getbuffer())
