"""Join a key and scores in memory on (enroll, test)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import (
    OF_SCORES,
    Found,
    Mismatches,
    Policies,
    Some,
    Verdict,
    check_ids,
)
from fastpsr.trials.joining.matching import match, repeated
from fastpsr.trials.joining.repeats import distinct_hashes
from fastpsr.trials.joining.why_ids_differ import (
    MOST,
    Unmatched,
    nothing_in_common,
    why_ids_differ,
)
from fastpsr.trials.reading import Reading

Rows = NDArray[np.int64] | slice


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
    key_ids = _ids("key", key, with_side=both_sides)
    score_ids = _ids("scores", scores, with_side=both_sides)
    matched = match(key_ids, score_ids, distinct_hashes(key_ids) if both_sides else key.hashes)
    mismatches, score_of = Mismatches(), matched.score_of
    found, n = mismatches.found, len(key)

    is_target = key.y_true.view(bool)
    labels = None if scores.y_true is None else scores.y_true.view(bool)
    if score_of is None:
        some = Some(scores.score, np.ones(n, bool), labels, range(n))
    else:
        twice, differ = repeated(matched.key_pairs, matched.key_first, key.y_true)
        found["other label"] = Found.of(twice[differ], key_ids)
        found["trial again"] = Found.of(twice[~differ], key_ids)
        twice, differ = repeated(matched.score_pairs, matched.score_first, scores.score)
        found["other score"] = Found.of(twice[differ], score_ids)
        found["score again"] = Found.of(twice[~differ], score_ids)
        present = score_of >= 0
        unused = matched.score_first.copy()
        unused[score_of[present]] = False
        extra = np.flatnonzero(unused)
        found["extra"] = Found.of(extra, score_ids)
        missing = np.flatnonzero(matched.key_first & ~present)
        if not present.any():
            ours, theirs = _unmatched(key_ids, missing), _unmatched(score_ids, extra)
            raise ValueError(nothing_in_common((key.path, scores.path), ours, theirs))
        some = Some(
            scores.score[score_of], present, None if labels is None else labels[score_of], score_of
        )
    keep = mismatches.see(some, 0, key_ids, matched.key_first, is_target)
    where = (scores.where, key.where)
    verdict = Verdict.of(found, policies, where, is_full=scores.file.is_full)
    if score_of is not None:
        verdict.see_why(
            mismatches,
            lambda: why_ids_differ(_unmatched(key_ids, missing), _unmatched(score_ids, extra)),
        )
    notes = Verdict.settle(key.path, {scores.path: verdict})
    if not keep.any():
        raise ValueError(f"{scores.path}: all scores of trials in the key are nan")
    rows = slice(None) if keep.all() else np.flatnonzero(keep)
    if score_of is None:
        return Joined(rows, rows, notes)
    return Joined(rows, score_of[rows], notes)


def keep_numbers(scores: Reading, policies: Policies) -> Joined:
    """Return the rows of a score file that is read without a key."""
    assert scores.score is not None
    has_ids = scores.enroll is not None or scores.test is not None
    ids = _ids("scores", scores, with_side="side" in scores.names) if has_ids else []
    keep = ~np.isnan(scores.score)
    found = {"nan": Found.of(np.flatnonzero(~keep), ids)}
    if has_ids:
        matched = match(ids, ids, distinct_hashes(ids))
        pairs, first = matched.key_pairs, matched.key_first
        twice, differ = repeated(pairs, first, scores.score)
        if scores.y_true is not None:
            _, at_odds = repeated(pairs, first, scores.y_true)
            found["other label"] = Found.of(twice[at_odds], ids)
            twice, differ = twice[~at_odds], differ[~at_odds]
        found["other score"] = Found.of(twice[differ], ids)
        found["score again"] = Found.of(twice[~differ], ids)
        keep &= first
    verdict = Verdict.of(found, policies, (scores.where, None), OF_SCORES)
    if verdict.errors:
        rule, name = "; ".join(verdict.errors), f"{scores.path}:"
        raise ArgumentError("scores", rule, pass_=verdict.allowing, name=name)
    if not keep.any():
        raise ValueError(f"{scores.path}: all scores are nan")
    rows = slice(None) if keep.all() else np.flatnonzero(keep)
    return Joined(rows, rows, tuple(verdict.notes))


def _unmatched(ids: Sequence[Coded], rows: NDArray[np.int64]) -> Unmatched:
    enroll, test = (column.pick(rows[:MOST]).series() for column in ids[:2])
    return Unmatched(enroll, test, rows.size)


def _ids(argument: str, reading: Reading, *, with_side: bool) -> Sequence[Coded]:
    check_ids(argument, reading.path, reading.format, has_ids=len(reading.ids) == 2)
    ids = [*reading.ids.values()]
    if with_side:
        side = reading.columns[reading.names["side"]]
        assert isinstance(side, Coded)
        ids.append(side)
    return ids
