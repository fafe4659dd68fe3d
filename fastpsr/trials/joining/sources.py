"""Scores of the key's rows, as many at a time as asked for."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.trials.joining.database import Database
from fastpsr.trials.joining.findings import Some, check_as_many, check_without_ids
from fastpsr.trials.optional import polars
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_MANY = 1 << 20


class _Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: Iterator["DataFrame"]) -> None:
        self._frames = frames
        self._held: list[DataFrame] = []
        self._n_held = 0

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, fewer at the end, None after it."""
        while self._n_held < n:
            frame = next(self._frames, None)
            if frame is None:
                break
            self._held.append(frame)
            self._n_held += frame.height
        if not self._held:
            return None
        whole: DataFrame = self._held[0] if len(self._held) == 1 else polars().concat(self._held)
        rest = whole[n:]
        self._held, self._n_held = ([rest], rest.height) if rest.height else ([], 0)
        return whole[:n]


class InOrder:
    """Scores in the key's order."""

    def __init__(self, file: TrialFile, ids: Sequence[str], n_bytes: int) -> None:
        self._feed, self._ids, self._first = _Feed(file.frames(n_bytes)), ids, 0

    def take(self, block: "DataFrame") -> Some | None:
        """Return the scores of the next rows of the key, None if their ids are others."""
        frame = self._feed.take(block.height)
        if frame is None or frame.height < block.height:
            return None
        if not all((frame[role] == block[role]).all() for role in self._ids):
            return None
        rows = np.arange(self._first, self._first + frame.height)
        self._first += frame.height
        label = frame["label"].to_numpy() if "label" in frame.columns else None
        return Some(frame["score"].to_numpy(), np.ones(rows.size, bool), label, rows)

    def is_at_end(self) -> bool:
        """Whether there are no more scores."""
        return self._feed.take(1) is None


class FromDatabase:
    """Scores that DuckDB has found for rows of the key."""

    def __init__(self, database: Database, table: str) -> None:
        self._database, self._table, self._first = database, f"matched_{table}", 0

    def take(self, block: "DataFrame") -> Some:
        """Return the scores of the next rows of the key, as far as there are any."""
        n, first = block.height, self._first
        self._first += n
        found = self._database.rows_between(self._table, "key_row", first, first + n)
        at = found["key_row"] - first
        score, present, rows = np.full(n, np.nan), np.zeros(n, bool), np.zeros(n, np.int64)
        score[at], present[at], rows[at] = found["score"], True, found["row"]
        label = None
        if "label" in found:
            label = np.zeros(n, bool)
            label[at] = found["label"]
        return Some(score, present, label, rows)

    def is_at_end(self) -> bool:
        """Whether there are no more scores: what matches has a row in the key."""
        return True


class WithIdsOf(TrialFile):
    """Scores without ids in the key's order: they have those of the key."""

    def __init__(self, key: TrialFile, file: TrialFile) -> None:
        check_without_ids(file.path, has_ids="enroll" in file.roles or "test" in file.roles)
        self._key, self._file = key, file
        self._ids = [role for role in ("enroll", "test", "side") if role in key.roles]
        self.path, self.format, self.columns = file.path, file.format, file.columns
        self.roles = {role: key.roles[role] for role in self._ids} | file.roles
        self.names_columns, self.n_held = file.names_columns, file.n_held

    @property
    def notes(self) -> str:
        return self._file.notes

    def frames(self, n_bytes: int | None = None, **options: Any) -> "Iterator[DataFrame]":
        feed = _Feed(self._file.frames(n_bytes, progress=options.get("progress")))
        for block in self._key.frames(n_bytes):
            frame = feed.take(block.height)
            if frame is not None and frame.height == block.height:
                yield frame.with_columns(block[role] for role in self._ids)
        while feed.take(_MANY) is not None:
            pass
        check_as_many(self.path, self._file.n_rows, self._key.path, self._key.n_rows)

    def where(self, rows: Sequence[int]) -> list[str]:
        return self._file.where(rows)
