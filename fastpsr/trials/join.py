"""Join a key and scores on (enroll, test), and say all that does not fit."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.trials.coded import Coded, recode
from fastpsr.trials.optional import polars
from fastpsr.trials.reading import Reading

__all__ = ["Joined", "Policies", "join", "keep_numbers"]

_EXAMPLES = 3
_MAX_PAIRS = 2**62


@dataclass(frozen=True)
class Policies:
    """What to do about trials that do not fit; all are errors unless the caller says otherwise.

    Attributes
    ----------
    missing : {"error", "drop"}
        Trials of the key without a score.
    extra : {"error", "ignore"}
        Scores of no trial of the key.
    duplicates : {"error", "first"}
        Trials that occur twice in the key, or in the scores.
    nan : {"error", "drop"}
        Scores that are nan.
    """

    missing: Literal["error", "drop"] = "error"
    extra: Literal["error", "ignore"] = "error"
    duplicates: Literal["error", "first"] = "error"
    nan: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        checks.check_choice("missing", self.missing, ("error", "drop"))
        checks.check_choice("extra", self.extra, ("error", "ignore"))
        checks.check_choice("duplicates", self.duplicates, ("error", "first"))
        checks.check_choice("nan", self.nan, ("error", "drop"))


@dataclass(frozen=True, eq=False)
class Joined:
    """Rows of the key with their rows among the scores, and what was left out, in words."""

    key_rows: NDArray[np.int64]
    score_rows: NDArray[np.int64]
    left_out: tuple[str, ...]


@dataclass
class _Findings:
    """Errors and notes, each with a count and examples."""

    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        rows: NDArray[Any],
        what: str,
        example: Callable[[int], str],
        policy: str = "",
        *,
        allowed: bool = False,
    ) -> None:
        """Note rows of one kind: as an error unless `allowed`."""
        if rows.size == 0:
            return
        shown = ", ".join(example(int(row)) for row in rows[:_EXAMPLES])
        more = ", ..." if rows.size > _EXAMPLES else ""
        said = f"{rows.size:,} {what} ({shown}{more})"
        if allowed:
            self.notes.append(f"{said}: {policy}")
        else:
            self.errors.append(f"{said}, allow by {policy}" if policy else said)


def join(key: Reading, scores: Reading, policies: Policies) -> Joined:
    """Find the score of each trial of the key.

    Raises
    ------
    ValueError
        One line with the count and examples of everything that does not fit and is not allowed.
    """
    key_ids, score_ids = _ids(key), _ids(scores)
    if "side" in key.names and "side" in scores.names:
        key_ids.append(_column(key, "side"))
        score_ids.append(_column(scores, "side"))
    key_pairs, score_pairs = _pairs(key_ids, score_ids)
    found = _Findings()

    def key_example(row: int) -> str:
        return repr(" ".join(ids[row] for ids in key_ids))

    def score_example(row: int) -> str:
        return repr(" ".join(ids[row] for ids in score_ids))

    first = policies.duplicates == "first"
    key_first = _first_of_each(key_pairs)
    score_first = _first_of_each(score_pairs)
    twice = np.flatnonzero(~key_first)
    if twice.size:
        assert key.y_true is not None
        at_odds = _differ(key_pairs, key_first, twice, key.y_true)
        found.add(twice[at_odds], "duplicate trials in the key with another label", key_example)
        found.add(
            twice[~at_odds],
            "duplicate trials in the key",
            key_example,
            "duplicates='first'",
            allowed=first,
        )
    twice = np.flatnonzero(~score_first)
    if twice.size:
        assert scores.score is not None
        differ = _differ(score_pairs, score_first, twice, scores.score)
        for rows, what in [
            (twice[differ], "duplicate scores with another value"),
            (twice[~differ], "duplicate scores with the same value"),
        ]:
            found.add(rows, what, score_example, "duplicates='first'", allowed=first)

    score_of = _match(key_pairs, score_pairs, key_first, score_first)
    used = np.zeros(score_pairs.size, bool)
    used[score_of[score_of >= 0]] = True
    if not used.any():
        raise ValueError(_nothing_in_common(key, scores, key_ids, score_ids))
    missing = (score_of < 0) & key_first
    found.add(
        np.flatnonzero(missing),
        "trials without a score",
        key_example,
        "missing='drop'",
        allowed=policies.missing == "drop",
    )
    found.add(
        np.flatnonzero(~used & score_first),
        "scores of no trial in the key",
        score_example,
        "extra='ignore'",
        allowed=policies.extra == "ignore",
    )
    assert scores.score is not None
    key_rows = np.flatnonzero(score_of >= 0)
    score_rows = score_of[key_rows]
    numbers = _numbers(
        scores.score[score_rows], policies, found, lambda k: key_example(key_rows[k])
    )
    if scores.y_true is not None and key.y_true is not None:
        other = np.flatnonzero(scores.y_true[score_rows] != key.y_true[key_rows])
        found.add(key_rows[other], "labels of the scores differ from the key's", key_example)
    if found.errors:
        raise ValueError(f"{key.path} and {scores.path} do not fit: {'; '.join(found.errors)}")
    if not numbers.any():
        raise ValueError(f"{scores.path}: all scores of trials in the key are nan")
    if not numbers.all():
        key_rows, score_rows = key_rows[numbers], score_rows[numbers]
    return Joined(key_rows, score_rows, tuple(f"left out: {note}" for note in found.notes))


def keep_numbers(scores: Reading, policies: Policies) -> Joined:
    """Return the rows of a score file that is read without a key."""
    assert scores.score is not None
    found = _Findings()
    ids = _ids(scores) if scores.enroll is not None else []

    def example(row: int) -> str:
        return repr(" ".join(part[row] for part in ids)) if ids else f"row {row}"

    numbers = _numbers(scores.score, policies, found, example)
    keep = numbers
    if ids:
        if "side" in scores.names:
            ids.append(_column(scores, "side"))
        pairs, _ = _pairs(ids, ids)
        first = _first_of_each(pairs)
        found.add(
            np.flatnonzero(~first),
            "duplicate trials",
            example,
            "duplicates='first'",
            allowed=policies.duplicates == "first",
        )
        keep = numbers & first
    if found.errors:
        raise ValueError(f"{scores.path}: {'; '.join(found.errors)}")
    rows = np.flatnonzero(keep)
    if rows.size == 0:
        raise ValueError(f"{scores.path}: all scores are nan")
    return Joined(rows, rows, tuple(f"left out: {note}" for note in found.notes))


def _ids(reading: Reading) -> list[Coded]:
    if reading.enroll is None or reading.test is None:
        raise ValueError(f"{reading.path}: {reading.format} has no ids of trials to join on")
    return [reading.enroll, reading.test]


def _column(reading: Reading, role: str) -> Coded:
    column = reading.columns[reading.names[role]]
    assert isinstance(column, Coded)
    return column


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
    series = polars().Series(pairs)
    if series.n_unique() == pairs.size:
        return np.ones(pairs.size, bool)
    return np.asarray(series.is_first_distinct().to_numpy())


def _differ(
    pairs: NDArray[np.int64], first: NDArray[np.bool_], twice: NDArray[Any], values: NDArray[Any]
) -> NDArray[np.bool_]:
    """Whether rows that occur again have another value than the first; nan equals nan."""
    where = np.flatnonzero(first)
    order = np.argsort(pairs[where])
    place = np.searchsorted(pairs[where], pairs[twice], sorter=order)
    earlier = values[where[order[place]]]
    both_nan = np.isnan(earlier) & np.isnan(values[twice])
    return np.asarray((earlier != values[twice]) & ~both_nan)


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
        frame = pl.DataFrame({"pair": pairs}).with_row_index(name)
        return frame if first.all() else frame.filter(pl.Series(first))

    both = table(key_pairs, key_first, "key").join(
        table(score_pairs, score_first, "score"), on="pair", how="inner"
    )
    matched[both["key"].to_numpy()] = both["score"].to_numpy()
    return matched


def _numbers(
    scores: NDArray[np.float64],
    policies: Policies,
    found: _Findings,
    example: Callable[[int], str],
) -> NDArray[np.bool_]:
    nan = np.isnan(scores)
    found.add(
        np.flatnonzero(nan),
        "scores that are nan",
        example,
        "nan='drop'",
        allowed=policies.nan == "drop",
    )
    return ~nan


def _nothing_in_common(
    key: Reading, scores: Reading, key_ids: list[Coded], score_ids: list[Coded]
) -> str:
    said = f"{key.path} and {scores.path} have no trial in common: "
    shared = [
        (recode(ids, names) >= 0).mean()
        for ids, names in [
            (score_ids[0], key_ids[0].names),
            (score_ids[1], key_ids[1].names),
            (score_ids[0], key_ids[1].names),
            (score_ids[1], key_ids[0].names),
        ]
    ]
    if shared[2] > shared[0] and shared[3] > shared[1]:
        return f"{said}enroll and test are swapped in one of them"
    return (
        f"{said}the key has {key_ids[0][0]!r} {key_ids[1][0]!r}, the scores have "
        f"{score_ids[0][0]!r} {score_ids[1][0]!r}"
    )
