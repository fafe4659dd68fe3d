"""DuckDB, which joins lists of trials that memory does not hold."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.kernels.blocks import thread_count
from fastpsr.trials.joining.findings import EXAMPLES, Found
from fastpsr.trials.joining.repeats import Repeats, hashes_of
from fastpsr.trials.joining.stopping import started_thread
from fastpsr.trials.joining.why_ids_differ import MOST, Unmatched
from fastpsr.trials.optional import duckdb, polars
from fastpsr.trials.text import Progress
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_BYTES_PER_THREAD = 1 << 28  # threads sort and join in memory of their own


class Database:
    """DuckDB at work in a folder beside the output, for what memory does not hold.

    `n_bytes` is about how much text is read at a time.
    """

    def __init__(self, output: Path, budget: int, n_bytes: int) -> None:
        self._output, self._budget, self.n_bytes = output, budget, n_bytes
        self._path: Path | None = None
        self._duckdb: Any = None
        self._thread = started_thread()
        self._has_label: dict[str, bool] = {}

    def close(self) -> None:
        """Clean up in the thread, which a signal does not end: it is waited for at exit, too."""
        cleaned = self._thread.submit(self._clean_up)
        self._thread.shutdown(wait=False)
        cleaned.result()

    def _clean_up(self) -> None:
        try:
            if self._duckdb is not None:
                self._duckdb.close()
        finally:
            if self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)

    def folder(self) -> Path:
        """Return the folder, made when it is first needed."""
        if self._path is None:
            target = Path(os.path.realpath(self._output))
            path = target.with_name(f".{os.urandom(8).hex()}.parts")
            self._path = path
            path.mkdir()
        return self._path

    def repeats(self, name: str) -> Repeats:
        """Return what collects hashes."""
        return Repeats(self._budget // 8, self.folder, name)

    # Tables of DuckDB

    def load(
        self,
        table: str,
        file: TrialFile,
        ids: Sequence[str],
        progress: Progress | None,
    ) -> NDArray[np.uint64]:
        """Load ids, and scores with their labels, with row numbers; return repeated hashes."""
        of_scores = table != "key"
        has_label = of_scores and "label" in file.roles
        self._has_label[table] = has_label
        values = ["score", *(["label"] if has_label else [])] if of_scores else []
        kinds = {"score": "DOUBLE", "label": "BOOLEAN"}
        columns = [f"{role} VARCHAR" for role in ids] + [f"{v} {kinds[v]}" for v in values]
        self._run(f"CREATE TABLE {table} (row BIGINT, {', '.join(columns)})")
        repeats = self.repeats(table)
        first = 0
        for frame in file.frames(self.n_bytes, progress=progress):
            repeats.add(np.asarray(hashes_of(frame, ids).to_numpy()))
            self._insert(table, frame.select(*ids, *values), first)
            first += frame.height
        return repeats.find()

    def find_again(
        self,
        table: str,
        file: TrialFile,
        ids: Sequence[str],
        repeated: NDArray[np.uint64],
        value: str,
    ) -> int:
        """Make the table of the rows whose ids occurred before; return how many there are."""
        pl = polars()
        kind = "BOOLEAN" if value == "label" else "DOUBLE"
        columns = ", ".join(f"{role} VARCHAR" for role in ids)
        self._run(f"CREATE TABLE some_{table} (row BIGINT, {columns}, value {kind})")
        if repeated.size:
            wanted = pl.Series(repeated)
            first = 0
            for frame in file.frames(self.n_bytes):
                rows = pl.Series("row", np.arange(first, first + frame.height))
                first += frame.height
                among = hashes_of(frame, ids).is_in(wanted.implode())
                some = frame.select(*ids, pl.col(value).alias("value")).insert_column(0, rows)
                some = some.filter(among)
                if some.height:
                    self._insert(f"some_{table}", some, None)
        self._run(
            f"CREATE TABLE again_{table} AS SELECT row, {', '.join(ids)}, "
            "value IS DISTINCT FROM earlier AS differs FROM (SELECT *, "
            f"first_value(row) OVER same AS first_row, first_value(value) OVER same AS earlier "
            f"FROM some_{table} WINDOW same AS (PARTITION BY {', '.join(ids)} ORDER BY row)) "
            "WHERE row > first_row"
        )
        self._run(f"DROP TABLE some_{table}")
        return int(self._one(f"SELECT count(*) FROM again_{table}"))

    def again(self, table: str, ids: Sequence[str]) -> tuple[Found, Found]:
        """Return the rows whose ids occurred before: with another value, and with the same."""
        differ, same = (
            self._found(f"SELECT row, {', '.join(ids)} FROM again_{table} WHERE {what}", ids)
            for what in ("differs", "NOT differs")
        )
        return differ, same

    def match(self, table: str, ids: Sequence[str]) -> int:
        """Make the table of the scores of trials in the key; return how many there are."""
        label = ", s.label" if self._has_label[table] else ""
        same = " AND ".join(f"k.{role} = s.{role}" for role in ids)
        self._run(
            f"CREATE TABLE pairs AS SELECT k.row AS key_row, s.row, s.score{label} "
            f"FROM {self._firsts('key')} k JOIN {self._firsts(table)} s ON {same}"
        )
        self._run("SET preserve_insertion_order = true")
        self._run(  # sorted, so that the scores of some rows lie together
            f"CREATE TABLE matched_{table} AS SELECT * FROM pairs ORDER BY key_row"
        )
        self._run("SET preserve_insertion_order = false")
        self._run("DROP TABLE pairs")
        return int(self._one(f"SELECT count(*) FROM matched_{table}"))

    def unused(self, table: str, ids: Sequence[str]) -> Found:
        """Return the scores of no trial in the key."""
        n_all = self._one(f"SELECT count(*) FROM {self._firsts(table)}")
        if n_all == self._one(f"SELECT count(*) FROM matched_{table}"):
            return Found()
        return self._found(
            f"SELECT row, {', '.join(ids)} FROM {self._firsts(table)} "
            f"ANTI JOIN matched_{table} USING (row)",
            ids,
        )

    def unmatched(self, table: str) -> tuple[Unmatched, Unmatched]:
        """Return trials of the key without a score in a table, and its scores of no trial."""
        pl = polars()
        lists = []
        for name, row in (("key", "key_row"), (table, "row")):
            query = (
                f"SELECT t.row, enroll, test FROM {self._firsts(name)} t "
                f"ANTI JOIN matched_{table} m ON t.row = m.{row}"
            )
            some = self._run(
                f"{query} ORDER BY row LIMIT {MOST}", lambda result: result.fetchnumpy()
            )
            enroll, test = (
                pl.Series(some[side].tolist(), dtype=pl.String) for side in ("enroll", "test")
            )
            lists.append(Unmatched(enroll, test, int(self._one(f"SELECT count(*) FROM ({query})"))))
        return lists[0], lists[1]

    def rows_between(
        self, table: str, column: str, first: int, end: int
    ) -> dict[str, NDArray[Any]]:
        """Return the rows of a table whose number in a column lies from `first` to below `end`."""
        query = f"SELECT * FROM {table} WHERE {column} >= {first} AND {column} < {end}"
        found = self._run(query, lambda result: result.fetchnumpy())
        return {name: np.asarray(values) for name, values in found.items()}

    def _firsts(self, table: str) -> str:
        """Return what stands for a table without the rows whose ids occurred before."""
        if self._one(f"SELECT count(*) FROM again_{table}") == 0:
            return table
        return f"(SELECT * FROM {table} ANTI JOIN again_{table} USING (row))"

    def _found(self, query: str, ids: Sequence[str]) -> Found:
        count = int(self._one(f"SELECT count(*) FROM ({query})"))
        query = f"{query} ORDER BY row LIMIT {EXAMPLES}"
        some = self._run(query, lambda result: result.fetchall())
        names = [repr(" ".join(map(str, row[1:]))) for row in some]
        return Found(count, [row[0] for row in some], names)

    def _insert(self, table: str, frame: "DataFrame", first: int | None) -> None:
        if first is not None:
            rows = polars().Series("row", np.arange(first, first + frame.height))
            frame = frame.clone().insert_column(0, rows)
        incoming = frame.to_arrow(compat_level=polars().CompatLevel.oldest())
        self._run(f"INSERT INTO {table} SELECT * FROM incoming", incoming=incoming)

    def _one(self, query: str) -> Any:
        return self._run(query, lambda result: result.fetchone()[0])

    def _run(self, query: str, fetch: Callable[[Any], Any] = lambda _: None, **tables: Any) -> Any:
        """Return what is fetched of a query over tables that DuckDB holds, or that are given.

        It runs in a thread: DuckDB makes other errors of those that handlers of signals raise.
        """

        def work() -> Any:
            for name, table in tables.items():
                self._connection.register(name, table)
            found = fetch(self._connection.execute(query))
            for name in tables:
                self._connection.unregister(name)
            return found

        running = self._thread.submit(copy_context().run, work)
        try:
            with _as_os_errors(self._output):
                return running.result()
        finally:
            while not running.done():  # a signal ended the wait
                if self._duckdb is not None:
                    self._duckdb.interrupt()  # which a query that has not begun does not hear
                wait([running], timeout=0.1)

    @property
    def _connection(self) -> Any:
        if self._duckdb is None:
            folder = self.folder()
            self._duckdb = duckdb().connect(
                str(folder / "join.db"),
                config={
                    "memory_limit": f"{self._budget // 1000}KB",
                    "temp_directory": str(folder),
                    "preserve_insertion_order": False,
                    "threads": max(1, min(thread_count(), self._budget // _BYTES_PER_THREAD)),
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            self._duckdb.execute("SET enable_progress_bar = false")  # it would go to stdout
        return self._duckdb


@contextmanager
def _as_os_errors(output: Path) -> Iterator[None]:
    """Raise what DuckDB says of disk and memory as Python does."""
    try:
        yield
    except duckdb().Error as error:
        said = " ".join(str(error).split())[:200]
        if isinstance(error, duckdb().ProgrammingError):
            raise
        if isinstance(error, duckdb().OutOfMemoryException) and "temp" not in said:
            raise MemoryError(f"{said}: raise FASTPSR_MEMORY") from None
        message = f"the join on disk failed: {said}"
        raise OSError(errno.ENOSPC, message, str(output)) from None
