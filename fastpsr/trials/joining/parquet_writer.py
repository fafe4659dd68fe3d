"""A Parquet file that is written part by part."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.data.budget import memory_budget
from fastpsr.optional import polars, pyarrow

if TYPE_CHECKING:
    from polars import DataFrame

_GROUP_ROWS = 10**6
_BYTES_PER_ROW = 300  # of a row group, while it is made


class ParquetWriter:
    """Writes frames as row groups."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._group_rows = max(1, min(_GROUP_ROWS, memory_budget() // _BYTES_PER_ROW))
        self._held: list[DataFrame] = []
        self._writer: Any = None
        self.n_rows = self.n_targets = 0

    def add(self, frame: "DataFrame") -> None:
        """Add rows."""
        if frame.is_empty():
            return
        self.n_rows += frame.height
        self.n_targets += int(frame["target"].sum())
        self._held.append(frame)
        while sum(some.height for some in self._held) >= self._group_rows:
            rows = polars().concat(self._held)
            self._write(rows[: self._group_rows])
            self._held = [rows[self._group_rows :]]

    def finish(self) -> None:
        """Write what is held, and the end of the file."""
        if self.n_rows and any(some.height for some in self._held):
            self._write(polars().concat(self._held))
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
