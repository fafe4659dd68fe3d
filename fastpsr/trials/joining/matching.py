"""Which trials of two lists are the same, in memory."""

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded

if TYPE_CHECKING:
    from polars import Series

Rows = NDArray[np.int64]
_ROWS = 1 << 20


class Repeats(NamedTuple):
    """Rows whose trial occurred before, and where each did first."""

    rows: Rows
    first: Rows

    def is_first(self, n_rows: int) -> NDArray[np.bool_]:
        """Return for each row whether its trial did not occur before."""
        mask = np.ones(n_rows, bool)
        mask[self.rows] = False
        return mask

    def differ(self, values: Any) -> NDArray[np.bool_]:
        """Return for each of the rows whether its value is another than the first; nan is nan."""
        earlier, later = values[self.first], values[self.rows]
        return np.asarray((earlier != later) & ~(np.isnan(earlier) & np.isnan(later)))


class Hashed(NamedTuple):
    """Hashes of the ids of each row, and the rows whose hash occurred before."""

    numbers: "Series"
    repeats: Repeats

    @classmethod
    def of(cls, ids: "Sequence[Series]", seed: int = 0) -> "Hashed":
        """Hash ids."""
        numbers = hashes_of(ids, seed)
        if numbers.n_unique() == len(numbers):
            nothing = np.empty(0, np.int64)
            return cls(numbers, Repeats(nothing, nothing))
        is_first = numbers.is_first_distinct().to_numpy()
        rows, first = np.flatnonzero(~is_first), np.flatnonzero(is_first)
        values = numbers.to_numpy()
        order = np.argsort(values[first])
        places = np.searchsorted(values[first], values[rows], sorter=order)
        return cls(numbers, Repeats(rows, first[order[places]]))


class Matched(NamedTuple):
    """The score of each trial of the key.

    Attributes
    ----------
    key, scores : Repeats
    score_of : ndarray of int64, or None
        The score's row for each row of the key, -1 for none, or for a repeated row; None if both
        lists have the same trials in the same order, each once.
    """

    key: Repeats
    scores: Repeats
    score_of: Rows | None


def match(
    key_ids: Sequence[Coded], score_ids: Sequence[Coded], known: "Hashed | None" = None
) -> Matched:
    """Match trials by their ids; `known` are the hashes of the key, with seed 0.

    Rows of equal hashes are compared: where ids differ nevertheless, all are hashed anew.
    """
    key, scores = ([column.series() for column in ids] for ids in (key_ids, score_ids))
    is_same = all(a is b for a, b in zip(key_ids, score_ids, strict=True))
    is_same = is_same or (len(key[0]) == len(scores[0]) and _are_equal(key, None, scores, None))
    for seed in count():
        ours = Hashed.of(key, seed) if known is None or seed else known
        if not _are_equal(key, ours.repeats.rows, key, ours.repeats.first):
            continue
        if is_same:
            is_first = ours.repeats.is_first(len(ours.numbers))
            score_of = None if is_first.all() else np.where(is_first, np.arange(is_first.size), -1)
            return Matched(ours.repeats, ours.repeats, score_of)
        theirs = Hashed.of(scores, seed)
        score_of = _score_of(ours, theirs)
        present = np.flatnonzero(score_of >= 0)
        if _are_equal(scores, theirs.repeats.rows, scores, theirs.repeats.first) and _are_equal(
            key, present, scores, score_of[present]
        ):
            return Matched(ours.repeats, theirs.repeats, score_of)
    raise AssertionError  # seeds do not end


def hashes_of(ids: "Sequence[Series]", seed: int = 0) -> "Series":
    """Return a number for each row: equal ids have equal numbers, others hardly ever."""
    frame = polars().DataFrame({str(k): column for k, column in enumerate(ids)})
    hashes: Series = frame.hash_rows(seed)
    return hashes


def _are_equal(
    ours: "Sequence[Series]", rows: Rows | None, theirs: "Sequence[Series]", others: Rows | None
) -> bool:
    """Whether ids of rows are equal side by side, None for all; copies of few are held."""
    n_rows = len(ours[0]) if rows is None else rows.size
    for a, b in zip(ours, theirs, strict=True):
        if rows is not None and n_rows:  # rows of one chunk are gathered faster
            a, b = a.rechunk(), b.rechunk()
        for start in range(0, n_rows, _ROWS):
            some = slice(start, start + _ROWS)
            left = a[some] if rows is None else a.gather(rows[some])
            right = b[some] if others is None else b.gather(others[some])
            if not left.equals(right):
                return False
    return True


def _score_of(ours: Hashed, theirs: Hashed) -> Rows:
    """Return the score's row for each row of the key, -1 for none, or for a repeated row."""
    pl = polars()

    def table(hashed: Hashed, name: str) -> Any:
        frame = pl.LazyFrame({"hash": hashed.numbers}).with_row_index(name)
        is_first = hashed.repeats.is_first(len(hashed.numbers))
        return frame if is_first.all() else frame.filter(pl.Series(is_first))

    both = (
        table(ours, "key")
        .join(table(theirs, "score"), on="hash", how="inner")
        .select("key", "score")
        .collect(engine="streaming")
    )
    score_of = np.full(len(ours.numbers), -1, np.int64)
    score_of[both["key"].to_numpy()] = both["score"].to_numpy()
    return score_of
