"""Join a key and scores on (enroll, test), and report all mismatches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, recode
from fastpsr.trials.mismatch import nothing_in_common, why_ids_differ
from fastpsr.trials.optional import polars
from fastpsr.trials.policies import Findings, Policies, Trials
from fastpsr.trials.reading import Reading
from fastpsr.trials.repeats import distinct_hashes

if TYPE_CHECKING:
    from polars import Series

__all__ = ["Joined", "Rows", "join", "keep_numbers"]

Rows = NDArray[np.int64] | slice

_MAX_PAIRS = 2**62
_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class Joined:
    """Rows of the key with their rows among the scores, and what was left out, in words.

    A slice stands for all rows in turn.
    """

    key_rows: Rows
    score_rows: Rows
    left_out: tuple[str, ...]


def join(key: Reading, scores: Reading, policies: Policies) -> Joined:
    """Find the score of each trial of the key.

    Raises
    ------
    ValueError
        One line with the count and examples of everything that does not fit and is not allowed.
    """
    assert key.y_true is not None
    assert scores.score is not None
    both_sides = "side" in key.names and "side" in scores.names
    key_ids, score_ids = (_ids(reading, with_side=both_sides) for reading in (key, scores))
    of_key, of_scores = Trials(key_ids, key.where), Trials(score_ids, scores.where)
    hashes = distinct_hashes(key_ids) if both_sides else key.hashes
    matched = _match_hashes(key_ids, score_ids, hashes) or _match_codes(key_ids, score_ids)
    found = Findings(policies)
    key_rows: Rows = slice(None)
    score_rows: Rows = slice(None)
    if matched.score_of is not None:
        twice, differ = _again(matched.key_pairs, matched.key_first, key.y_true)
        found.add(of_key, twice[differ], "duplicate trial", "in the key with another label")
        found.add(of_key, twice[~differ], "duplicate trial", "in the key", "duplicates")
        twice, differ = _again(matched.score_pairs, matched.score_first, scores.score)
        found.add(of_scores, twice[differ], "duplicate score", "with another value", "duplicates")
        found.add(of_scores, twice[~differ], "duplicate score", "with the same value", "duplicates")
        key_rows = np.flatnonzero(matched.score_of >= 0)
        score_rows = matched.score_of[key_rows]
        missing = np.flatnonzero((matched.score_of < 0) & matched.key_first)
        found.add(of_key, missing, "trial", "without a score", "missing")
        unused = matched.score_first.copy()
        unused[score_rows] = False
        found.add(of_scores, np.flatnonzero(unused), "score", "of no trial in the key", "extra")
        if key_rows.size == 0:
            ours, theirs = ((ids[0][0], ids[1][0]) for ids in (key_ids, score_ids))
            paths, why = (str(key.path), str(scores.path)), _why(key_ids, score_ids)
            raise ValueError(nothing_in_common(paths, (ours, theirs), why))
    is_nan = np.isnan(scores.score[score_rows])
    found.add(of_scores, _those(score_rows, is_nan), "nan score", "", "nan")
    if scores.y_true is not None:
        other = _those(score_rows, scores.y_true[score_rows] != key.y_true[key_rows])
        found.add(of_scores, other, "label", "of the scores unlike the key's")
    if found.errors:
        if matched.score_of is not None:
            n_trials = int(np.count_nonzero(matched.key_first))
            n_matched = int(np.count_nonzero(matched.score_of >= 0))
            found.few(n_matched, n_trials, lambda: _why(key_ids, score_ids))
        raise ArgumentError(
            "scores",
            f"do not fit: {'; '.join(found.errors)}",
            pass_=found.allowing,
            name=f"{key.path} and {scores.path}",
        )
    if is_nan.all():
        raise ValueError(f"{scores.path}: all scores of trials in the key are nan")
    if is_nan.any():
        key_rows, score_rows = _those(key_rows, ~is_nan), _those(score_rows, ~is_nan)
    return Joined(key_rows, score_rows, tuple(found.notes))


def keep_numbers(scores: Reading, policies: Policies) -> Joined:
    """Return the rows of a score file that is read without a key."""
    assert scores.score is not None
    has_ids = scores.enroll is not None or scores.test is not None
    ids = _ids(scores, with_side="side" in scores.names) if has_ids else []
    trials = Trials(ids, scores.where)
    found = Findings(policies)
    keep = ~np.isnan(scores.score)
    found.add(trials, np.flatnonzero(~keep), "nan score", "", "nan")
    if has_ids:
        matched = _match_hashes(ids, ids, distinct_hashes(ids)) or _match_codes(ids, ids)
        pairs, first = matched.key_pairs, matched.key_first
        twice, differ = _again(pairs, first, scores.score)
        if scores.y_true is not None:
            _, at_odds = _again(pairs, first, scores.y_true)
            found.add(trials, twice[at_odds], "duplicate trial", "with another label")
            twice, differ = twice[~at_odds], differ[~at_odds]
        found.add(trials, twice[differ], "duplicate trial", "with another score", "duplicates")
        found.add(trials, twice[~differ], "duplicate trial", "with the same score", "duplicates")
        keep &= first
    if found.errors:
        rule, name = "; ".join(found.errors), f"{scores.path}:"
        raise ArgumentError("scores", rule, pass_=found.allowing, name=name)
    if not keep.any():
        raise ValueError(f"{scores.path}: all scores are nan")
    rows = slice(None) if keep.all() else np.flatnonzero(keep)
    return Joined(rows, rows, tuple(found.notes))


def _those(rows: Rows, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.flatnonzero(mask) if isinstance(rows, slice) else rows[mask]


def _ids(reading: Reading, *, with_side: bool) -> list[Coded]:
    if reading.enroll is None or reading.test is None:
        raise ValueError(f"{reading.path}: {reading.format} has no ids of trials to join on")
    ids = [reading.enroll, reading.test]
    return [*ids, _column(reading, "side")] if with_side else ids


def _column(reading: Reading, role: str) -> Coded:
    column = reading.columns[reading.names[role]]
    assert isinstance(column, Coded)
    return column


@dataclass(frozen=True, eq=False)
class _Matched:
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


def _match_codes(key_ids: list[Coded], score_ids: list[Coded]) -> _Matched:
    key_pairs, score_pairs = _pairs(key_ids, score_ids)
    firsts = _first_of_each(key_pairs), _first_of_each(score_pairs)
    return _Matched(key_pairs, score_pairs, *firsts, _match(key_pairs, score_pairs, *firsts))


def _match_hashes(
    key_ids: list[Coded], score_ids: list[Coded], ours: NDArray[np.int64] | None
) -> _Matched | None:
    """Match strings without coding them; None if some are coded, or trials occur twice.

    Hashes that are all distinct prove that trials are, and strings of equal hashes are compared.
    """
    if ours is None:
        return None
    all_first = np.ones(ours.size, bool)
    in_order = _Matched(ours, ours, all_first, all_first, None)
    if all(a is b for a, b in zip(key_ids, score_ids, strict=True)):
        return in_order
    pl = polars()
    strings = [(a.uncoded, b.uncoded) for a, b in zip(key_ids, score_ids, strict=True)]
    both = [(a, b) for a, b in strings if a is not None and b is not None]
    if len(both) < len(strings):
        return None

    def all_equal(pairs: "Iterable[tuple[Series, Series]]") -> bool:
        others = [pair for pair in pairs if pair[0] is not pair[1]]
        columns = {f"{k}{n}": pair[n] for k, pair in enumerate(others) for n in (0, 1)}
        equal = [(pl.col(f"{k}0") == pl.col(f"{k}1")).all() for k in range(len(others))]
        # columns of one selection are compared side by side
        return not others or all(pl.DataFrame(columns).select(equal).row(0))

    if all(len(a) == len(b) and a[-1] == b[-1] for a, b in both) and all_equal(both):
        return in_order
    theirs = distinct_hashes(score_ids)
    if theirs is None:
        return None
    their_first = np.ones(theirs.size, bool)
    score_of = _match(ours, theirs, all_first, their_first)
    rows = np.flatnonzero(score_of >= 0)
    both = [(a.rechunk(), b.rechunk()) for a, b in both]
    for some in np.split(rows, range(_ROWS, rows.size, _ROWS)):  # copies of strings take memory
        if not all_equal((a.gather(some), b.gather(score_of[some])) for a, b in both):
            return None
    return _Matched(ours, theirs, all_first, their_first, score_of)


def _pairs(
    key_ids: list[Coded], score_ids: list[Coded]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one number per trial: equal numbers, equal ids; negative for ids of neither list.

    Strings of the scores that the key does not know follow the key's own.
    """
    pl = polars()
    key_pairs = np.zeros(len(key_ids[0]), np.int64)
    score_pairs = np.zeros(len(score_ids[0]), np.int64)
    total = 1
    for ours, theirs in zip(key_ids, score_ids, strict=True):
        names = ours.names
        if theirs is not ours:
            known = recode(Coded(np.arange(len(theirs.names), dtype=np.int32), theirs.names), names)
            new = theirs.names.filter((known < 0).tolist()) if (known < 0).any() else None
            names = names if new is None else pl.concat([names, new])
        total *= len(names)
        if total > _MAX_PAIRS:
            raise ValueError(f"there are too many distinct ids to join on: {total:.1e} pairs")
        key_pairs = key_pairs * len(names) + ours.codes
        score_pairs = score_pairs * len(names) + recode(theirs, names)
    return key_pairs, score_pairs


def _first_of_each(pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    if kernels.all_distinct(pairs.view(np.uint64)):
        return np.ones(pairs.size, bool)
    return np.asarray(polars().Series(pairs).is_first_distinct().to_numpy())


def _again(
    pairs: NDArray[np.int64], first: NDArray[np.bool_], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows that occur again, and whether their value is another; nan equals nan."""
    twice = np.flatnonzero(~first)
    where = np.flatnonzero(first) if twice.size else twice
    order = np.argsort(pairs[where])
    place = np.searchsorted(pairs[where], pairs[twice], sorter=order)
    earlier = values[where[order[place]]]
    both_nan = np.isnan(earlier) & np.isnan(values[twice])
    return twice, np.asarray((earlier != values[twice]) & ~both_nan)


def _match(
    key_pairs: NDArray[np.int64],
    score_pairs: NDArray[np.int64],
    key_first: NDArray[np.bool_],
    score_first: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Return the score's row for each row of the key, -1 for none, or for a repeated row."""
    matched = np.full(key_pairs.size, -1, np.int64)
    if np.array_equal(key_pairs, score_pairs):  # both files in one order
        matched[key_first] = np.flatnonzero(key_first)
        return matched
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
    matched[both["key"].to_numpy()] = both["score"].to_numpy()
    return matched


def _why(key_ids: list[Coded], score_ids: list[Coded]) -> str:
    """Return why the ids differ, "" where that is not known."""
    ours, theirs = ([ids.names.to_list() for ids in side[:2]] for side in (key_ids, score_ids))
    return why_ids_differ((ours[0], ours[1]), (theirs[0], theirs[1]))
