"""A Parquet file that is written part by part."""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.data.budget import memory_budget
from fastpsr.trials.optional import polars, pyarrow

if TYPE_CHECKING:
    from polars import DataFrame

_GROUP_ROWS = 10**6
_BYTES_PER_ROW = 300  # of a row group, while it is made


class ParquetWriter:
    """Writes frames as row groups, in a thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._group_rows = max(1, min(_GROUP_ROWS, memory_budget() // _BYTES_PER_ROW))
        self._held: list[DataFrame] = []
        self._n_held = 0
        self._writer: Any = None
        self._thread = started_thread()
        self._pending: Future[None] | None = None
        self.n_rows = self.n_targets = 0

    def add(self, frame: "DataFrame") -> None:
        """Add rows."""
        if frame.is_empty():
            return
        self.n_rows += frame.height
        self.n_targets += int(frame["target"].sum())
        self._held.append(frame)
        self._n_held += frame.height
        while self._n_held >= self._group_rows:
            whole = polars().concat(self._held)
            self._hand_over(whole[: self._group_rows])
            rest = whole[self._group_rows :]
            self._held, self._n_held = [rest], rest.height

    def finish(self) -> None:
        """Write what is held, and the end of the file."""
        if self._n_held:
            self._hand_over(polars().concat(self._held))
        self._wait()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        """Close the file; unless it was finished, it is not kept."""
        self._thread.shutdown()
        if self._writer is not None:
            with suppress(OSError):  # an error of the disk is known by then
                self._writer.close()

    def _hand_over(self, frame: "DataFrame") -> None:
        self._wait()
        self._pending = self._thread.submit(self._write, frame)
        self._held, self._n_held = [], 0

    def _wait(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()

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


def both_interrupts() -> nullcontext[None]:
    """Return a block in which Ctrl-C ends, inside of one that cleans up.

    While polars works, Ctrl-C raises KeyboardInterrupt twice: in polars, and in the next line of
    Python, wherever that is. This is the end of this block, so that the clean-up is not stopped.
    """
    return nullcontext()


def started_thread() -> ThreadPoolExecutor:
    """Return a pool of one thread, which runs: if Ctrl-C stopped its start, there would be two."""
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()
    return pool
