"""A key and the scores of one system, joined on (enroll, test): one join, whatever the size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import counted
from fastpsr.optional import polars
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import ALLOWING, OF_BOTH, OF_SCORES, Policies, Verdict
from fastpsr.trials.joining.matching import Hashed, match
from fastpsr.trials.joining.why_ids_differ import (
    MOST,
    Unmatched,
    nothing_in_common,
    why_ids_differ,
)
from fastpsr.trials.trial_file import TrialFile, Where

if TYPE_CHECKING:
    from polars import DataFrame

_EXAMPLES = 3
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

    def numbers(self, places: Rows) -> Any:
        """Return the numbers of rows in the list."""
        return places if self.rows is None else self.rows[places]


class JoinedRows(NamedTuple):
    """Places of trials in a part of the key, and those of their scores; a slice stands for all."""

    key: Rows
    scores: Rows

    def pick(self, mask: Mask) -> "JoinedRows":
        """Return some of the rows."""
        places = np.flatnonzero(mask)
        return JoinedRows(*(places if isinstance(rows, slice) else rows[places] for rows in self))


class _Mismatches:
    """Rows of one kind: how many, and the first, which are added part by part.

    Attributes
    ----------
    count : int
    first : DataFrame, or None
        The number of a row, that of the row that is shown for it, and its ids.
    """

    def __init__(self, most: int) -> None:
        self.count, self._most = 0, most
        self.first: DataFrame | None = None

    def add(self, part: Part, places: Any, shown: Any) -> None:
        """Add places of a part, and the rows of the list that are shown for them."""
        self.count += places.size
        if not places.size:
            return
        pl, places = polars(), places[: self._most]
        ids = {str(k): column.series(places) for k, column in enumerate(part.ids)}
        rows = {"row": part.numbers(places), "shown": shown[: self._most]}
        frame = pl.DataFrame(rows | ids)
        if self.first is not None:
            frame = pl.concat([self.first, frame]).sort("row").head(self._most)
        self.first = frame

    @property
    def trials(self) -> Unmatched:
        """The ids of the first rows."""
        assert self.first is not None
        return Unmatched(self.first["0"], self.first["1"], self.count)

    def show(self, where: Where | None) -> str:
        """Return the first rows, with their places on request."""
        assert self.first is not None
        examples = [*self.first.head(_EXAMPLES).iter_rows()]
        names = [repr(" ".join(ids)) if ids else f"row {row}" for row, _, *ids in examples]
        if where is not None:
            places = where([shown for _, shown, *_ in examples])
            names = [f"{name} at {place}" for name, place in zip(names, places, strict=True)]
        return ", ".join(names) + ", ..." * (self.count > len(names))


class KeyAndScores:
    """Joins the lists part by part, and notes mismatches; scores may be their own key.

    Attributes
    ----------
    n_matched : int
        Trials of the key that have a score so far.
    """

    def __init__(self, key: TrialFile, scores: TrialFile, policies: Policies) -> None:
        self._key, self._scores, self._policies = key, scores, policies
        self._kinds = OF_SCORES if key is scores else OF_BOTH
        self._rows = {
            kind: _Mismatches(MOST if kind in ("missing", "extra") else _EXAMPLES)
            for kind in OF_BOTH
        }
        self.n_matched = 0

    def join(self, key: Part, scores: Part, hashed: Hashed | None = None) -> JoinedRows:
        """Return the trials of the key that have a score, in the key's order.

        `hashed` are the key's ids, if they are known.
        """
        matched = match(key.ids, scores.ids, hashed)
        score_of = matched.score_of
        if score_of is None:
            return self.join_in_order(key, scores)
        for part, values, repeats, other, same in (
            (key, key.is_target, matched.key, "other label", "trial again"),
            (scores, scores.score, matched.scores, "other score", "score again"),
        ):
            if values is not None:
                differ = repeats.differ(values)
                self._note(other, part, repeats.rows[differ])
                self._note(same, part, repeats.rows[~differ])
        is_first = matched.key.is_first(score_of.size)
        if self._policies.counts:
            score_of[matched.key.rows] = score_of[matched.key.first]
            is_first[:] = True
        is_missing = score_of < 0
        is_unused = matched.scores.is_first(len(scores.ids[0]))
        is_unused[score_of[~is_missing]] = False
        self._note("extra", scores, np.flatnonzero(is_unused))
        self._note("missing", key, np.flatnonzero(is_first & is_missing))
        rows = np.flatnonzero(~is_missing) if is_missing.any() else slice(None)
        return self._with_numbers(key, scores, JoinedRows(rows, score_of[rows]))

    def join_in_order(self, key: Part, scores: Part) -> JoinedRows:
        """Join lists whose trials are known to be the same in one order, each once."""
        return self._with_numbers(key, scores, JoinedRows(slice(None), slice(None)))

    def _with_numbers(self, key: Part, scores: Part, rows: JoinedRows) -> JoinedRows:
        """Return the rows whose score is a number."""
        assert scores.score is not None
        is_nan = np.isnan(scores.score[rows.scores])
        self.n_matched += is_nan.size
        odd = {"nan": is_nan}
        if scores.is_target is not None and key.is_target is not None:
            odd["label at odds"] = scores.is_target[rows.scores] != key.is_target[rows.key]
        for kind, mask in odd.items():
            some = rows.pick(mask)
            self._rows[kind].add(key, some.key, scores.numbers(some.scores))
        return rows.pick(~is_nan) if is_nan.any() else rows

    def _note(self, kind: str, part: Part, places: NDArray[np.int64]) -> None:
        self._rows[kind].add(part, places, part.numbers(places))

    def has_errors(self) -> bool:
        """Whether anything found so far is an error."""
        return any(
            self._rows[name].count and not self._policies.allow(kind)
            for name, kind in self._kinds.items()
        )

    def check_common(self) -> None:
        """Raise if no trial has a score, once all parts are joined."""
        if self.n_matched == 0:
            paths = str(self._key.path), str(self._scores.path)
            missing, extra = self._rows["missing"].trials, self._rows["extra"].trials
            raise ValueError(nothing_in_common(paths, missing, extra))

    def check_numbers(self) -> None:
        """Raise if all scores of trials in the key are nan."""
        if self._rows["nan"].count == self.n_matched:
            of_key = " of trials in the key" * (self._kinds is OF_BOTH)
            raise ValueError(f"{self._scores.path}: all scores{of_key} are nan")

    def verdict(self) -> Verdict:
        """Judge what was found, once all parts are joined.

        Where ids differ for a reason, or few trials have a score, to leave trials out, which is
        allowed, is not what is to be done.
        """
        verdict = Verdict()
        for name, kind in self._kinds.items():
            rows = self._rows[name]
            if not rows.count:
                continue
            allowed = ""
            is_counted = kind.agrees and self._policies.counts
            if is_counted:
                allowed = "counted as often as the trial is listed"
            elif self._policies.allow(kind):
                allowed = f"{kind.policy}={ALLOWING[kind.policy]}"
            elif name == "extra" and self._scores.is_full:
                allowed = "a full matrix has one for every pair"
            # to find places takes a pass over the file
            where = None if allowed else (self._key if kind.in_key else self._scores).where
            message = f"{counted(rows.count, kind.noun, kind.rest)} ({rows.show(where)})"
            if is_counted:
                verdict.notes.append(f"{message}: {allowed}")
            elif allowed:
                verdict.notes.append(f"left out: {message}: {allowed}")
            else:
                verdict.errors.append(message)
            if kind.policy and not allowed:
                verdict.allowing[kind.policy] = ALLOWING[kind.policy]
        if not verdict.errors:
            return verdict
        missing, extra = self._rows["missing"], self._rows["extra"]
        n_trials = self.n_matched + missing.count
        offered = {"missing", "extra"} & verdict.allowing.keys()
        if self.n_matched < _FEW * n_trials:
            verdict.errors.append(f"only {self.n_matched:,} of {n_trials:,} trials have a score")
            verdict.allowing.pop("missing", None)
            verdict.allowing.pop("extra", None)
        reason = ""
        if offered and missing.count and extra.count:
            reason = why_ids_differ(missing.trials, extra.trials)
        if reason:
            verdict.errors.append(reason)
            verdict.allowing.clear()
        return verdict
