"""Rows on disk: in buckets of a temporary file, and in a Parquet file that is written by parts."""

from collections import defaultdict
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from fastpsr.data.budget import memory_budget
from fastpsr.optional import polars, pyarrow

if TYPE_CHECKING:
    from polars import DataFrame, Series

_BUCKET = ":bucket"
_GROUP_ROWS = 10**6
_BYTES_PER_ROW = 300  # of a row group, while it is made


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


class ParquetWriter:
    """Writes frames as row groups of a million rows, or as many as memory can hold."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._group_rows = max(1, min(_GROUP_ROWS, memory_budget() // _BYTES_PER_ROW))
        self._held: DataFrame = polars().DataFrame()
        self._writer: Any = None
        self.n_rows = 0

    def add(self, frame: "DataFrame") -> None:
        """Add rows."""
        self.n_rows += frame.height
        self._held = polars().concat([self._held, frame]) if self._held.height else frame
        while self._held.height >= self._group_rows:
            self._write(self._held[: self._group_rows])
            self._held = self._held[self._group_rows :]

    def finish(self) -> None:
        """Write what is held, and the end of the file."""
        if self._held.height:
            self._write(self._held)
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def close(self) -> None:
        """Close the file; unless it was finished, it is not kept."""
        if self._writer is not None:
            with suppress(OSError):  # an error of the disk is known by then
                self._writer.close()

    def _write(self, frame: "DataFrame") -> None:
        pa, pq = pyarrow()
        table = frame.to_arrow(compat_level=polars().CompatLevel.oldest())
        schema = pa.schema(
            [pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type)
             for f in table.schema]
        )  # fmt: skip
        table = table.cast(schema)
        if self._writer is None:
            words = [f.name for f in schema if pa.types.is_string(f.type)]
            self._writer = pq.ParquetWriter(
                self._path, schema, compression="zstd", compression_level=1, use_dictionary=words,
                dictionary_pagesize_limit=1 << 24,
            )  # fmt: skip
        self._writer.write_table(table, row_group_size=table.num_rows)
