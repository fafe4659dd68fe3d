"""Detection of duplicates among very many hashes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded
from fastpsr.trials.optional import polars

if TYPE_CHECKING:
    from polars import DataFrame, Series

_BUCKET_BITS = 8
Hashes = NDArray[np.uint64]


def hashes_of(frame: "DataFrame", roles: Sequence[str]) -> "Series":
    """Return a number for each row: equal ids have equal numbers, others hardly ever."""
    pl = polars()
    first, *others = roles
    hashed = pl.col(first).hash(1)
    for k, role in enumerate(others):
        hashed = hashed * pl.lit(0x9E3779B97F4A7C15, pl.UInt64) + pl.col(role).hash(
            k + 2
        )  # mod 2^64
    return frame.select(hashed).to_series()


def distinct_hashes(ids: Sequence[Coded]) -> NDArray[np.int64] | None:
    """Return a number for each row of ids, where all differ: then so do all ids.

    None where numbers are equal, or ids are coded.
    """
    strings = [column.uncoded for column in ids]
    frame = polars().DataFrame({str(k): c for k, c in enumerate(strings) if c is not None})
    if frame.width < len(strings):
        return None
    numbers = hashes_of(frame, frame.columns)
    are_distinct = numbers.n_unique() == numbers.len()
    return numbers.to_numpy().view(np.int64) if are_distinct else None


class Repeats:
    """Collects hashes in memory up to a number of bytes, beyond that in files of a folder."""

    def __init__(self, n_bytes: int, folder: Callable[[], Path], name: str) -> None:
        self._most = max(n_bytes // 8, 1)
        self._folder, self._name = folder, name
        self._held: list[Hashes] = []
        self._n_held = 0
        self._files: list[Path] = []

    def add(self, hashes: Hashes) -> None:
        """Add some."""
        self._held.append(hashes)
        self._n_held += hashes.size
        if self._n_held > self._most:
            self._spill()

    def find(self) -> Hashes:
        """Return those that occur more than once, in ascending order; forgets all."""
        if self._files:
            self._spill()
            found = [_repeated(np.fromfile(file, np.uint64)) for file in self._files]
            for file in self._files:
                file.unlink()
        else:
            found = [_repeated(np.concatenate([np.zeros(0, np.uint64), *self._held]))]
        self._held, self._files, self._n_held = [], [], 0
        return np.concatenate(found)

    def _spill(self) -> None:
        """Append what is held to a file for each beginning of a hash."""
        hashes = np.sort(np.concatenate([np.zeros(0, np.uint64), *self._held]))
        self._held, self._n_held = [], 0
        if not self._files:
            folder = self._folder()
            self._files = [folder / f"{self._name}-{k}" for k in range(1 << _BUCKET_BITS)]
        first = np.arange(1, len(self._files), dtype=np.uint64) << np.uint64(64 - _BUCKET_BITS)
        bounds = np.searchsorted(hashes, first)
        for file, some in zip(self._files, np.split(hashes, bounds), strict=True):
            with open(file, "ab") as opened:
                some.tofile(opened)


def _repeated(hashes: Hashes) -> Hashes:
    hashes.sort()
    again = hashes[1:][hashes[1:] == hashes[:-1]]
    return np.unique(again)
