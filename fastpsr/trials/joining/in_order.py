"""Scores in the key's order, which are read beside it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame


class Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: "Iterator[DataFrame]") -> None:
        self._frames, self._held = frames, polars().DataFrame()

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, None if there are fewer."""
        while self._held.height < n:
            frame = next(self._frames, None)
            if frame is None:
                return None
            self._held = polars().concat([self._held, frame]) if self._held.height else frame
        rows: DataFrame = self._held[:n]
        self._held = self._held[n:]
        return rows


class WithIdsOf(TrialFile):
    """Scores without ids in the key's order: they have those of the key."""

    def __init__(self, key: TrialFile, file: TrialFile) -> None:
        if "enroll" in file.roles or "test" in file.roles:
            rule = f"is for scores without ids, and {file.path} has some: they are joined on them"
            raise ArgumentError("in_order", rule)
        self._key, self._file = key, file
        self._ids = [role for role in ("enroll", "test", "side") if role in key.roles]
        self.path, self.paths, self.format = file.path, file.paths, file.format
        self.columns = file.columns
        self.roles = {role: key.roles[role] for role in self._ids} | file.roles
        self.names, self.n_held = self.roles if file.names else {}, file.n_held
        self.conditions = file.conditions

    @property
    def notes(self) -> str:  # type: ignore[override]
        return self._file.notes

    @property
    def vocabulary(self) -> str | None:  # type: ignore[override]
        return self._file.vocabulary

    def frames(self, n_bytes: int | None = None, **options: Any) -> "Iterator[DataFrame]":
        frames = self._file.frames(n_bytes, **options)
        feed = Feed(frames)
        for block in self._key.frames(n_bytes):
            frame = feed.take(block.height)
            if frame is not None:
                yield frame.with_columns(block[role] for role in self._ids)
        for _ in frames:  # to count all
            pass
        n_scores, n_trials = self._file.n_rows, self._key.n_rows
        if n_scores != n_trials:
            raise ValueError(
                f"{self.path} has {counted(n_scores, 'score')} and {self._key.path} has "
                f"{counted(n_trials, 'trial')}: in the key's order there must be one for each"
            )
        self.n_rows = n_scores

    def where(self, rows: Sequence[int]) -> list[str]:
        return self._file.where(rows)
