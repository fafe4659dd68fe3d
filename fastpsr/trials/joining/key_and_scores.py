"""A key and the scores of one system, joined on (enroll, test): one join, whatever the size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import (
    EXAMPLES,
    OF_BOTH,
    OF_SCORES,
    Mismatches,
    Policies,
    Verdict,
)
from fastpsr.trials.joining.matching import match, repeated
from fastpsr.trials.joining.why_ids_differ import (
    MOST,
    Unmatched,
    nothing_in_common,
    why_ids_differ,
)
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_FEW = 0.5  # share of the key's trials below which leaving the others out is not offered

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64] | slice


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a list: all of them, or all those of some trials.

    Attributes
    ----------
    ids : sequence of Coded
        Columns to join on: enroll, test, and the side if both lists have it.
    is_target : ndarray of bool, or None
    score : ndarray of float64, or None
    rows : ndarray of int64, or None
        Their numbers in the list, in ascending order; None for all rows.
    """

    ids: Sequence[Coded]
    is_target: Mask | None
    score: NDArray[np.float64] | None
    rows: NDArray[np.int64] | None = None

    def row(self, place: int) -> int:
        """Return the number of a row in the list."""
        return place if self.rows is None else int(self.rows[place])

    def name(self, place: int) -> str:
        """Return what messages call a row."""
        ids = " ".join(column[place] for column in self.ids)
        return repr(ids) if self.ids else f"row {self.row(place)}"


class JoinedRows(NamedTuple):
    """Places of trials in a part of the key, and those of their scores; a slice stands for all."""

    key: Rows
    scores: Rows


class _FirstRows:
    """The first rows of a list among those that are added part by part."""

    def __init__(self) -> None:
        self._held: DataFrame | None = None
        self._n_all = 0

    def add(self, part: Part, places: NDArray[np.int64]) -> None:
        """Add places of a part."""
        pl, self._n_all = polars(), self._n_all + places.size
        places = places[:MOST]
        rows = places if part.rows is None else part.rows[places]
        enroll, test = (ids.series(places) for ids in part.ids[:2])
        frame = pl.DataFrame({"row": rows, "enroll": enroll, "test": test})
        if self._held is not None:
            frame = pl.concat([self._held, frame]).sort("row").head(MOST)
        self._held = frame

    @property
    def trials(self) -> Unmatched:
        """What was added."""
        assert self._held is not None
        return Unmatched(self._held["enroll"], self._held["test"], self._n_all)


class KeyAndScores:
    """Joins the lists part by part, and notes what does not fit; scores may be their own key.

    Attributes
    ----------
    n_matched : int
        Trials of the key that have a score so far.
    """

    def __init__(self, key: TrialFile, scores: TrialFile) -> None:
        self._key, self._scores = key, scores
        self._kinds = OF_SCORES if key is scores else OF_BOTH
        self._rows = {kind: Mismatches() for kind in OF_BOTH}
        self._missing, self._extra = _FirstRows(), _FirstRows()
        self.n_matched = 0

    def join(self, key: Part, scores: Part, hashes: NDArray[np.int64] | None) -> JoinedRows:
        """Return the trials of the key that have a score, in the key's order.

        `hashes` are those of the key's ids if they are distinct.
        """
        matched = match(key.ids, scores.ids, hashes)
        score_of = matched.score_of
        if score_of is None:
            return self.join_in_order(key, scores)
        for part, values, pairs, first, kinds in (
            (key, key.is_target, matched.key_pairs, matched.key_first,
             ("other label", "trial again")),
            (scores, scores.score, matched.score_pairs, matched.score_first,
             ("other score", "score again")),
        ):  # fmt: skip
            if values is not None:
                twice, differ = repeated(pairs, first, values)
                self._note(kinds[0], twice[differ], part)
                self._note(kinds[1], twice[~differ], part)
        present, is_unused = score_of >= 0, matched.score_first.copy()
        is_unused[score_of[present]] = False
        missing, extra = np.flatnonzero(matched.key_first & ~present), np.flatnonzero(is_unused)
        self._note("missing", missing, key)
        self._note("extra", extra, scores)
        self._missing.add(key, missing)
        self._extra.add(scores, extra)
        return self._with_numbers(key, scores, present, score_of)

    def join_in_order(self, key: Part, scores: Part) -> JoinedRows:
        """Join lists whose trials are known to be the same in one order, each once."""
        assert scores.score is not None
        return self._with_numbers(key, scores, np.ones(scores.score.size, bool), None)

    def _with_numbers(
        self, key: Part, scores: Part, present: Mask, score_of: NDArray[np.int64] | None
    ) -> JoinedRows:
        """Return the trials whose score is a number; `score_of` is None for all in turn."""
        assert scores.score is not None
        places = slice(None) if score_of is None else score_of[present]
        self.n_matched += int(np.count_nonzero(present))
        is_nan = present.copy()
        is_nan[present] = np.isnan(scores.score[places])

        def of_scores(place: int) -> int:
            return scores.row(place if score_of is None else int(score_of[place]))

        self._note("nan", np.flatnonzero(is_nan), key, of_scores)
        if scores.is_target is not None and key.is_target is not None:
            at_odds = present.copy()
            at_odds[present] = scores.is_target[places] != key.is_target[present]
            self._note("label at odds", np.flatnonzero(at_odds), key, of_scores)
        keep = present & ~is_nan
        rows = slice(None) if keep.all() else np.flatnonzero(keep)
        return JoinedRows(rows, rows if score_of is None else score_of[rows])

    def _note(
        self,
        kind: str,
        places: NDArray[np.int64],
        part: Part,
        shown: Callable[[int], int] | None = None,
    ) -> None:
        """Add places of a part; the rows that are shown are others where `shown` says so."""
        first: list[Any] = places[:EXAMPLES].tolist()
        examples = [(part.row(p), (shown or part.row)(p), part.name(p)) for p in first]
        self._rows[kind].add(places.size, examples)

    def has_errors(self, policies: Policies) -> bool:
        """Whether anything found so far is an error."""
        return any(
            self._rows[name].count and not policies.allow(kind.policy)
            for name, kind in self._kinds.items()
        )

    def check_common(self) -> None:
        """Raise if no trial has a score, once all parts are joined."""
        if self.n_matched == 0:
            paths = str(self._key.path), str(self._scores.path)
            raise ValueError(nothing_in_common(paths, self._missing.trials, self._extra.trials))

    def check_numbers(self) -> None:
        """Raise if all scores of trials in the key are nan."""
        if self._rows["nan"].count == self.n_matched:
            of_key = " of trials in the key" * (self._kinds is OF_BOTH)
            raise ValueError(f"{self._scores.path}: all scores{of_key} are nan")

    def verdict(self, policies: Policies) -> Verdict:
        """Judge what was found, once all parts are joined.

        Where ids differ for a reason, or few trials have a score, to leave trials out, which is
        allowed, is not what is to be done.
        """
        verdict = Verdict()
        for name, kind in self._kinds.items():
            rows = self._rows[name]
            if rows.count:
                where = (self._key if kind.in_key else self._scores).where
                why = "a full matrix has one for every pair"
                is_free = name == "extra" and self._scores.is_full
                verdict.add(kind, rows, policies, where, why * is_free)
        if not verdict.errors:
            return verdict
        n_trials = self.n_matched + self._rows["missing"].count
        reason, offered = "", {"missing", "extra"} & verdict.allowing.keys()
        if self.n_matched < _FEW * n_trials:
            verdict.errors.append(f"only {self.n_matched:,} of {n_trials:,} trials have a score")
            verdict.allowing.pop("missing", None)
            verdict.allowing.pop("extra", None)
        if offered and self._rows["extra"].count:
            reason = why_ids_differ(self._missing.trials, self._extra.trials)
        if reason:
            verdict.errors.append(reason)
            verdict.allowing.clear()
        return verdict
