"""Why trials of a key have no score: what their ids and those of the scores differ by."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.trials.coded import encode
from fastpsr.trials.roles import ID_CHANGES

if TYPE_CHECKING:
    from polars import Series

#: Trials of a list that are looked at.
MOST = 300_000
_ENOUGH = 0.5  # of the trials that could match, for a reason to be named
_SWAPPED = "the order of enroll and test"
_UNICODE = "Unicode form (NFC or NFD)"
#: What ids may differ by, and how they become alike, in the order in which they do.
_CHANGES: "dict[str, Callable[[Series], Series]]" = {
    _UNICODE: lambda ids: ids.str.normalize("NFC"),
    "blanks around them": lambda ids: ids.str.strip_chars(),
    **dict(ID_CHANGES.values()),
    "separators": lambda ids: ids.str.replace_all(r"[-/\\_.:|~]+", "-"),
    "leading zeros": lambda ids: ids.str.replace_all(r"(^|\D)0+(\d)", "${1}${2}"),
    _SWAPPED: lambda ids: ids,
}


class Unmatched(NamedTuple):
    """The first trials of a list that the other one lacks, and how many there are in all."""

    enroll: "Series"
    test: "Series"
    n_all: int


def why_ids_differ(key: Unmatched, scores: Unmatched) -> tuple[str, dict[str, object]]:
    r"""Return the difference between most ids, with an example, and arguments that remove it.

    Both are empty if it is unknown.

    A change counts where it makes a trial of the key that of exactly one score.

    Examples
    --------
    >>> from polars import Series
    >>> key = Unmatched(Series(["m1", "m1"]), Series(["s/a", "s/b"]), 2)
    >>> scores = Unmatched(Series(["m1", "m1"]), Series(["s-b.wav", "s-a.wav"]), 2)
    >>> print(*why_ids_differ(key, scores)[0].split(", as "), sep="\n")
    trials differ by endings of files and separators
    'm1 s/a' in the key and 'm1 s-a.wav' in the scores; write ids alike for 2 more trials
    >>> why_ids_differ(key, Unmatched(Series(["m1", "m1"]), Series(["x", "y"]), 2))
    ('', {})
    """
    ids = _Ids(key, scores)
    best: NDArray[np.intp] = np.empty((2, 0), np.intp)
    changes: list[str] = []
    for unlike in ("folders", "separators"):  # either of them makes the other one needless
        tried = [name for name in _CHANGES if name != unlike]
        alike = ids.alike(tried)
        if alike.shape[1] > best.shape[1]:
            best, changes = alike, tried
    could_match = len(key.test) * len(scores.test) / max(key.n_all, scores.n_all)
    if not changes or best.shape[1] < _ENOUGH * could_match:
        return "", {}
    for name in _CHANGES:  # what is not needed is not named
        fewer = [change for change in changes if change != name]
        if ids.alike(fewer).shape[1] >= best.shape[1]:
            changes = fewer
    if not changes:  # the ids are alike, and another column differs
        return "", {}
    row, its_row = best[:, best[0].argmin()].tolist()
    show = ascii if _UNICODE in changes else repr  # which look the same
    at_least = (
        "at least " if max(key.n_all - len(key.test), scores.n_all - len(scores.test)) else ""
    )
    words = [word for word, (difference, _) in ID_CHANGES.items() if difference in changes]
    layout = ",".join(words) if len(words) == len(changes) else ""
    return (
        f"trials differ by {' and '.join(changes)}, as {show(_trial(key, row))} in the "
        f"key and {show(_trial(scores, its_row))} in the scores; {'read' if layout else 'write'} "
        f"ids alike for {at_least}{best.shape[1]:,} more trials",
        {"key_format": layout, "format": layout} if layout else {},
    )


def nothing_in_common(paths: tuple[str, str], key: Unmatched, scores: Unmatched) -> ArgumentError:
    """Return the error that a key and scores have no trial in common: why, or how many ids."""
    why, layouts = why_ids_differ(key, scores)
    if not why:
        ours = {*key.enroll, *key.test}
        n_known = len(ours & {*scores.enroll, *scores.test})
        why = (
            f"the key has {key.enroll[0]!r} {key.test[0]!r}, the scores have "
            f"{scores.enroll[0]!r} {scores.test[0]!r}; {n_known:,} of {len(ours):,} ids of the key "
            f"are in the scores, and no change of {', '.join(_CHANGES)} makes most trials alike: "
            "they may be of another list"
        )
    rule, name = f"have no trial in common: {why}", f"{paths[0]} and {paths[1]}"
    return ArgumentError("scores", rule, pass_=layouts, name=name)


def _trial(trials: Unmatched, row: int) -> str:
    return f"{trials.enroll[row]} {trials.test[row]}"


class _Ids:
    """Ids of both sides of a key and of scores, as places in one list of names."""

    def __init__(self, key: Unmatched, scores: Unmatched) -> None:
        columns = [*key[:2], *scores[:2]]
        coded = encode(polars().concat(columns))
        ends = np.cumsum([len(column) for column in columns])
        self._names, self._codes = coded.names, np.split(coded.codes, ends[:-1])

    def alike(self, changes: list[str]) -> NDArray[np.intp]:
        """Return rows of the key, and of the scores, that changes make the same trial."""
        names = reduce(lambda ids, name: _CHANGES[name](ids), changes, self._names)
        places = encode(names).codes.astype(np.int64)
        lists = []
        for sides in (self._codes[:2], self._codes[2:]):
            enroll, test = (places[codes] for codes in sides)
            if _SWAPPED in changes:
                enroll, test = np.minimum(enroll, test), np.maximum(enroll, test)
            pairs, rows, counts = np.unique(
                enroll * places.size + test, return_index=True, return_counts=True
            )
            lists.append((pairs[counts == 1], rows[counts == 1]))
        (ours, our_rows), (theirs, their_rows) = lists
        _, of_ours, of_theirs = np.intersect1d(ours, theirs, True, return_indices=True)
        return np.stack([our_rows[of_ours], their_rows[of_theirs]])
