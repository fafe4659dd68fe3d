"""The join of a key and the scores of one system on their ids: matches, mismatches, messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.trials.joining.why_ids_differ import (
    MOST,
    Unmatched,
    nothing_in_common,
    why_ids_differ,
)
from fastpsr.trials.trial_file import TrialFile, Where

if TYPE_CHECKING:
    from polars import DataFrame, Series

#: Places of rows in a frame; a slice stands for all.
Rows = NDArray[np.int64] | slice

_EXAMPLES = 3
_FEW = 0.5  # share of the key's trials below which leaving the others out is not offered
_IDS = ("enroll", "test", "side")
_ROWS = 1 << 20
#: What each policy is to allow what it is for.
_ALLOWING = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}


@dataclass(frozen=True)
class Policies:
    """What to do about mismatches; all are errors unless the caller allows them.

    Attributes
    ----------
    missing : {"error", "drop"}
        Trials of the key without a score.
    extra : {"error", "ignore"}
        Scores of no trial of the key.
    duplicates : {"error", "first", "count"}
        Trials that occur twice in the key, or in the scores. They are counted as often as they
        occur in the key if their scores agree.
    nan : {"error", "drop"}
        Scores that are nan.
    """

    missing: Literal["error", "drop"] = "error"
    extra: Literal["error", "ignore"] = "error"
    duplicates: Literal["error", "first", "count"] = "error"
    nan: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        for name, allowing in _ALLOWING.items():
            more = ("count",) if name == "duplicates" else ()
            checks.check_choice(name, getattr(self, name), ("error", allowing, *more))

    @property
    def counts(self) -> bool:
        """Whether trials that occur several times are counted as often."""
        return self.duplicates == "count"

    def allow(self, kind: "_Kind") -> bool:
        """Whether a kind of mismatch is no error."""
        if not kind.policy or getattr(self, kind.policy) == "error":
            return False
        return kind.agrees or kind.policy != "duplicates" or not self.counts


class _Kind(NamedTuple):
    """A kind of mismatch, in words."""

    noun: str
    rest: str
    policy: str = ""
    in_key: bool = False  # whether rows are those of the key
    agrees: bool = False  # whether rows of the same trial have the same values


#: Kinds for a key and scores, in the order in which they are named.
_OF_BOTH = {
    "other label": _Kind("duplicate trial", "in the key with another label", in_key=True),
    "trial again": _Kind("duplicate trial", "in the key", "duplicates", in_key=True, agrees=True),
    "other score": _Kind("duplicate score", "with another value", "duplicates"),
    "score again": _Kind("duplicate score", "with the same value", "duplicates", agrees=True),
    "missing": _Kind("trial", "without a score", "missing", in_key=True),
    "extra": _Kind("score", "of no trial in the key", "extra"),
    "nan": _Kind("nan score", "", "nan"),
    "label at odds": _Kind("label", "of the scores unlike the key's"),
}
#: Kinds for scores that are their own key.
_OF_SCORES = {
    "nan": _Kind("nan score", "", "nan"),
    "other label": _Kind("duplicate trial", "with another label"),
    "other score": _Kind("duplicate trial", "with another score", "duplicates"),
    "score again": _Kind("duplicate trial", "with the same score", "duplicates", agrees=True),
}


class _Mismatches:
    """Rows of one kind: how many, and the first, which are added part by part.

    Attributes
    ----------
    count : int
    first : DataFrame
        Numbers of rows in their list, ids, and `place`: the row whose place in its file is shown.
    """

    first: "DataFrame"

    def __init__(self, most: int) -> None:
        self.count, self._most = 0, most

    def add(
        self, part: "DataFrame", rows: NDArray[np.int64], place: "Series | None" = None
    ) -> None:
        """Add rows of a part; the place is that of the row itself unless others are given."""
        if not rows.size:
            return
        pl, some = polars(), rows[: self._most]
        first = part["row", *ids_in(part)][some]
        first = first.with_columns(place=first["row"] if place is None else place[: self._most])
        if self.count:
            first = pl.concat([self.first, first]).sort("row").head(self._most)
        self.first, self.count = first, self.count + rows.size

    @property
    def trials(self) -> Unmatched:
        """The ids of the first rows."""
        return Unmatched(self.first["enroll"], self.first["test"], self.count)

    def show(self, where: Where | None) -> str:
        """Return the first rows, with their places on request."""
        first = self.first.head(_EXAMPLES)
        ids = first.select(ids_in(first)).rows()
        names = [
            repr(" ".join(trial)) if trial else f"row {row}"
            for row, trial in zip(first["row"], ids or [()] * first.height, strict=True)
        ]
        if where is not None:
            places = where(first["place"].to_list())
            names = [f"{name} at {place}" for name, place in zip(names, places, strict=True)]
        return ", ".join(names) + ", ..." * (self.count > len(names))


@dataclass
class Verdict:
    """Errors with the arguments that allow or remove them, and notes of what is allowed."""

    errors: list[str] = field(default_factory=list)
    allowing: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class KeyAndScores:
    """Joins the lists part by part, and notes mismatches; scores may be their own key.

    A part is a frame of all rows of some trials, in the order of the list: `row`, their numbers in
    it; the ids to join on; `label`, whether it is a target, and `score` where the list has them.
    """

    def __init__(self, key: TrialFile, scores: TrialFile, policies: Policies) -> None:
        self._key, self._scores, self._policies = key, scores, policies
        self._kinds = _OF_SCORES if key is scores else _OF_BOTH
        self._rows = {
            kind: _Mismatches(MOST if kind in ("missing", "extra") else _EXAMPLES)
            for kind in _OF_BOTH
        }
        self._n_matched = 0

    def join(
        self, key: "DataFrame", scores: "DataFrame", *, are_alike: bool = False
    ) -> tuple[Rows, Rows]:
        """Return the rows of the key that have a score, in its order, and those of their scores.

        `are_alike` says that both are known to have the same ids in one order.
        """
        ids = ids_in(key)
        hashes = key[ids].hash_rows()  # hardly ever equal if ids are not
        first = _first_rows(key[ids], hashes)
        is_first = first == np.arange(key.height)
        if are_alike or key[ids].equals(scores[ids]):
            if is_first.all():
                return self.join_in_order(key, scores)
            first_score, is_first_score = first, is_first
            score_of = np.where(is_first, first, -1)
        else:
            score_hashes = scores[ids].hash_rows()
            first_score = _first_rows(scores[ids], score_hashes)
            is_first_score = first_score == np.arange(scores.height)
            masks = is_first, is_first_score
            score_of = _matches(hashes.to_frame(), score_hashes.to_frame(), *masks)
            if not _are_equal(key[ids], scores[ids], score_of):  # hashes of unlike ids
                score_of = _matches(key[ids], scores[ids], *masks)
        self._note_repeats(key, "label", first, ("other label", "trial again"))
        self._note_repeats(scores, "score", first_score, ("other score", "score again"))
        is_unused = is_first_score.copy()
        is_unused[score_of[score_of >= 0]] = False
        self._rows["extra"].add(scores, np.flatnonzero(is_unused))
        self._rows["missing"].add(key, np.flatnonzero(is_first & (score_of < 0)))
        if self._policies.counts:
            score_of = score_of[first]
        places = np.flatnonzero(score_of >= 0)
        of_key: Rows = slice(None) if places.size == key.height else places
        return self._with_numbers(key, scores, of_key, score_of[places])

    def join_in_order(self, key: "DataFrame", scores: "DataFrame") -> tuple[Rows, Rows]:
        """Join lists whose trials are known to be the same in one order, each once."""
        return self._with_numbers(key, scores, slice(None), slice(None))

    def _note_repeats(
        self, part: "DataFrame", value: str, first: NDArray[np.int64], kinds: tuple[str, str]
    ) -> None:
        """Note rows whose trial occurred before, by whether their value is another one."""
        rows = np.flatnonzero(first != np.arange(part.height))
        if rows.size and value in part:
            earlier, later = part[value][first[rows]], part[value][rows]
            differ = (earlier != later).to_numpy()  # nan is nan
            self._rows[kinds[0]].add(part, rows[differ])
            self._rows[kinds[1]].add(part, rows[~differ])

    def _with_numbers(
        self, key: "DataFrame", scores: "DataFrame", of_key: Rows, of_scores: Rows
    ) -> tuple[Rows, Rows]:
        """Return the rows whose score is a number."""
        is_nan = np.isnan(scores["score"].to_numpy()[of_scores])
        self._n_matched += is_nan.size
        odd = {"nan": is_nan}
        if "label" in scores and "label" in key:
            labels = (part["label"].to_numpy() for part in (key, scores))
            ours, theirs = (a[rows] for a, rows in zip(labels, (of_key, of_scores), strict=True))
            odd["label at odds"] = ours != theirs
        for kind, mask in odd.items():
            place = scores["row"][_picked(of_scores, mask)]
            self._rows[kind].add(key, _picked(of_key, mask), place)
        if not is_nan.any():
            return of_key, of_scores
        return _picked(of_key, ~is_nan), _picked(of_scores, ~is_nan)

    def check_common(self) -> None:
        """Raise if no trial has a score, once all parts are joined."""
        if self._n_matched == 0:
            paths = str(self._key.path), str(self._scores.path)
            missing, extra = self._rows["missing"].trials, self._rows["extra"].trials
            raise nothing_in_common(paths, missing, extra)

    def check_numbers(self) -> None:
        """Raise if all scores of trials in the key are nan."""
        if self._rows["nan"].count == self._n_matched:
            of_key = " of trials in the key" * (self._kinds is _OF_BOTH)
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
                allowed = f"{kind.policy}={_ALLOWING[kind.policy]}"
            elif name == "extra" and self._scores.is_full:
                allowed = "a full matrix has one for every pair"
            # to find places takes a pass over the file
            where = None if allowed else (self._key if kind.in_key else self._scores).where
            message = f"{counted(rows.count, kind.noun, kind.rest)} ({rows.show(where)})"
            if allowed:
                left_out = "left out: " * (not is_counted)
                verdict.notes.append(f"{left_out}{message}: {allowed}")
                continue
            verdict.errors.append(message)
            if kind.policy:
                verdict.allowing[kind.policy] = _ALLOWING[kind.policy]
        if verdict.errors:
            self._explain(verdict)
        return verdict

    def _explain(self, verdict: Verdict) -> None:
        """Add why ids differ to errors; policies then do not help."""
        missing, extra = self._rows["missing"], self._rows["extra"]
        n_trials = self._n_matched + missing.count
        offered = {"missing", "extra"} & verdict.allowing.keys()
        if self._n_matched < _FEW * n_trials:
            verdict.errors.append(f"only {self._n_matched:,} of {n_trials:,} trials have a score")
            for policy in offered:
                del verdict.allowing[policy]
        if offered and missing.count and extra.count:
            reason, layouts = why_ids_differ(missing.trials, extra.trials)
            if reason:
                verdict.errors.append(reason)
                verdict.allowing = layouts


def settle(key: str, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """Raise the errors of all systems, by the path of their scores, or return the notes.

    Scores that are their own key have its path.
    """
    wrong = {path: verdict for path, verdict in verdicts.items() if verdict.errors}
    if wrong:
        allowing = {k: v for verdict in wrong.values() for k, v in verdict.allowing.items()}
        rules = [
            (f"{path}:", "; ".join(verdict.errors)) if path == key
            else (f"{key} and {path}", f"do not fit: {'; '.join(verdict.errors)}")
            for path, verdict in wrong.items()
        ]  # fmt: skip
        (name, rule), *others = rules
        rule = "; ".join([rule, *map(" ".join, others)])
        raise ArgumentError("scores", rule, pass_=allowing, name=name)
    return tuple(
        f"{path}: {note}" if len(verdicts) > 1 else note
        for path, verdict in verdicts.items()
        for note in verdict.notes
    )


def check_classes(path: object, n_targets: int, n_trials: int) -> None:
    """Raise unless there are targets and non-targets."""
    for count, noun in ((n_targets, "targets"), (n_trials - n_targets, "non-targets")):
        if count == 0:
            among = counted(n_trials, "trial")
            raise ValueError(f"{path}: there are no {noun} among {among}")


def check_ids(argument: str, path: object, format: str, *, has_ids: bool) -> None:
    """Raise if a file that is to be joined has no ids."""
    if not has_ids:
        rule = f"{format} has no ids of trials to join on"
        pass_ = {"format": "in-order"} if argument == "scores" else None
        raise ArgumentError(argument, rule, pass_=pass_, name=f"{path}:")


def ids_in(part: "DataFrame") -> list[str]:
    """Return the names of the columns of ids that a part has."""
    return [name for name in _IDS if name in part.columns]


def _first_rows(ids: "DataFrame", hashes: "Series") -> NDArray[np.int64]:
    """Return for each row the first row that has the same ids."""
    ordered = np.sort(hashes.to_numpy())
    if (ordered[1:] != ordered[:-1]).all():
        return np.arange(ids.height)
    first = np.arange(ids.height)
    repeated = np.flatnonzero(hashes.is_duplicated().to_numpy())  # equal ids have equal hashes
    rows = ids[repeated].with_columns(row=repeated)
    first[repeated] = rows.select(polars().col("row").first().over(ids.columns)).to_series()
    return first


def _matches(
    key: "DataFrame", scores: "DataFrame", of_key: NDArray[np.bool_], of_scores: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return for each row of the key the row of the scores with its entries, or -1.

    Masks allow rows.
    """
    pl = polars()

    def allowed(part: "DataFrame", name: str, mask: NDArray[np.bool_]) -> Any:
        rows = part.lazy().with_row_index(name)
        return rows if mask.all() else rows.filter(pl.Series(mask))

    both = (
        allowed(key, "key", of_key)
        .join(allowed(scores, "score", of_scores), on=key.columns, how="inner")
        .select("key", "score")
        .collect(engine="streaming")
    )
    score_of = np.full(key.height, -1, np.int64)
    score_of[both["key"].to_numpy()] = both["score"].to_numpy()
    return score_of


def _are_equal(ours: "DataFrame", theirs: "DataFrame", rows: NDArray[np.int64]) -> bool:
    """Whether each row equals the row of theirs that it has, if any; copies of few are held."""
    pl, held = polars(), theirs.rechunk()  # rows of one chunk are gathered faster
    for start in range(0, rows.size, _ROWS):
        some = rows[start : start + _ROWS]
        of_some = ours[start : start + _ROWS].filter(pl.Series(some >= 0))
        pairs = zip(of_some, held[some[some >= 0]], strict=True)  # compared in parallel
        if not all(pl.select(pl.lit(a).eq_missing(pl.lit(b)).all() for a, b in pairs).row(0)):
            return False
    return True


def _picked(rows: Rows, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.flatnonzero(mask) if isinstance(rows, slice) else rows[mask]
