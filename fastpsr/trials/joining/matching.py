"""Which trials of two lists are the same, in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded, recode

if TYPE_CHECKING:
    from polars import DataFrame, Series

_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Matched:
    """The score of each trial of the key.

    Attributes
    ----------
    key_pairs, score_pairs : ndarray of int64
        A number for each row: rows of a list have equal numbers if and only if their ids are equal.
    key_first, score_first : ndarray of bool
        Whether a trial did not occur before.
    score_of : ndarray of int64, or None
        The score's row for each row of the key, -1 for none, or for a repeated row; None if both
        lists have the same trials in the same order, each once.
    """

    key_pairs: NDArray[np.int64]
    score_pairs: NDArray[np.int64]
    key_first: NDArray[np.bool_]
    score_first: NDArray[np.bool_]
    score_of: NDArray[np.int64] | None


def match(
    key_ids: Sequence[Coded], score_ids: Sequence[Coded], hashes: NDArray[np.int64] | None
) -> Matched:
    """Match trials by their ids; `hashes` are those of the key, if they are all distinct."""
    matched = None if hashes is None else _match_hashes(key_ids, score_ids, hashes)
    if matched is not None:
        return matched
    pl = polars()
    key_pairs = np.zeros(len(key_ids[0]), np.int64)
    score_pairs = np.zeros(len(score_ids[0]), np.int64)
    for ours, theirs in zip(key_ids, score_ids, strict=True):
        names = pl.concat([ours.names, theirs.names]).unique()
        key_pairs = key_pairs * len(names) + recode(ours, names)
        score_pairs = score_pairs * len(names) + recode(theirs, names)
    key_first, score_first = (
        np.asarray(pl.Series(pairs).is_first_distinct()) for pairs in (key_pairs, score_pairs)
    )
    score_of = _score_of(key_pairs, score_pairs, key_first, score_first)
    return Matched(key_pairs, score_pairs, key_first, score_first, score_of)


def repeated(
    pairs: NDArray[np.int64], first: NDArray[np.bool_], values: Any
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows that occur again, and whether their value is another; nan equals nan."""
    twice = np.flatnonzero(~first)
    where = np.flatnonzero(first) if twice.size else twice
    order = np.argsort(pairs[where])
    place = np.searchsorted(pairs[where], pairs[twice], sorter=order)
    earlier = values[where[order[place]]]
    both_nan = np.isnan(earlier) & np.isnan(values[twice])
    return twice, np.asarray((earlier != values[twice]) & ~both_nan)


def hashes_of(frame: "DataFrame", roles: Sequence[str]) -> "Series":
    """Return a number for each row: equal ids have equal numbers, others hardly ever."""
    pl = polars()
    first, *others = roles
    hashed = pl.col(first).hash(1)
    for k, role in enumerate(others):  # modulo 2^64
        hashed = hashed * pl.lit(0x9E3779B97F4A7C15, pl.UInt64) + pl.col(role).hash(k + 2)
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


def _match_hashes(
    key_ids: Sequence[Coded], score_ids: Sequence[Coded], ours: NDArray[np.int64]
) -> Matched | None:
    """Match strings without coding them; None if some are coded, or trials occur twice.

    Hashes that are all distinct prove that trials are, and strings of equal hashes are compared.
    """
    all_first = np.ones(ours.size, bool)
    in_order = Matched(ours, ours, all_first, all_first, None)
    if all(a is b for a, b in zip(key_ids, score_ids, strict=True)):
        return in_order
    strings = [(a.uncoded, b.uncoded) for a, b in zip(key_ids, score_ids, strict=True)]
    both = [(a, b) for a, b in strings if a is not None and b is not None]
    if len(both) < len(strings):
        return None
    if all(len(a) == len(b) and a[-1] == b[-1] for a, b in both) and _are_equal(both):
        return in_order
    theirs = distinct_hashes(score_ids)
    if theirs is None:
        return None
    their_first = np.ones(theirs.size, bool)
    score_of = _score_of(ours, theirs, all_first, their_first)
    rows = np.flatnonzero(score_of >= 0)
    both = [(a.rechunk(), b.rechunk()) for a, b in both]
    for some in np.split(rows, range(_ROWS, rows.size, _ROWS)):  # copies of strings take memory
        if not _are_equal((a.gather(some), b.gather(score_of[some])) for a, b in both):
            return None
    return Matched(ours, theirs, all_first, their_first, score_of)


def _are_equal(pairs: "Iterable[tuple[Series, Series]]") -> bool:
    """Whether columns are equal, which are compared side by side."""
    pl = polars()
    others = [pair for pair in pairs if pair[0] is not pair[1]]
    columns = {f"{k}{n}": pair[n] for k, pair in enumerate(others) for n in (0, 1)}
    equal = [(pl.col(f"{k}0") == pl.col(f"{k}1")).all() for k in range(len(others))]
    return not others or all(pl.DataFrame(columns).select(equal).row(0))


def _score_of(
    key_pairs: NDArray[np.int64],
    score_pairs: NDArray[np.int64],
    key_first: NDArray[np.bool_],
    score_first: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the score's row for each row of the key, -1 for none, or for a repeated row."""
    score_of = np.full(key_pairs.size, -1, np.int64)
    if np.array_equal(key_pairs, score_pairs):  # both files in one order
        score_of[key_first] = np.flatnonzero(key_first)
        return score_of
    pl = polars()

    def table(pairs: NDArray[np.int64], first: NDArray[np.bool_], name: str) -> Any:
        frame = pl.LazyFrame({"pair": pairs}).with_row_index(name)
        return frame if first.all() else frame.filter(pl.Series(first))

    both = (
        table(key_pairs, key_first, "key")
        .join(table(score_pairs, score_first, "score"), on="pair", how="inner")
        .select("key", "score")
        .collect(engine="streaming")
    )
    score_of[both["key"].to_numpy()] = both["score"].to_numpy()
    return score_of
