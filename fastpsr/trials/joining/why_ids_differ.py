"""Why the ids of a key and of scores differ, where few trials have a score."""

from collections.abc import Callable, Sequence

__all__ = ["FEW", "Sides", "nothing_in_common", "why_ids_differ"]

#: Share of the key's trials below which leaving the others out is not offered.
FEW = 0.5
_ENOUGH = 0.5  # of the ids that a change must make known
_LONGEST_ENDING = 5  # of a file's name, with the dot

Sides = tuple[Sequence[str], Sequence[str]]  # distinct ids of enrollments, and of tests


def why_ids_differ(key: Sides, scores: Sides) -> str:
    """Return what makes most ids of the scores those of the key, and what to do; "" if unknown.

    Examples
    --------
    >>> key = (["m1", "m2"], ["a", "b", "c"])
    >>> why_ids_differ(key, (["a", "b"], ["m1", "m2"]))
    'enroll and test are swapped in one of them'
    >>> why_ids_differ(key, (["m1", "m2"], ["/data/a.wav", "/data/b.wav", "/data/c.wav"]))
    "ids of tests differ by folders or endings of files, as 'a' and '/data/a.wav': make them alike"
    >>> why_ids_differ(key, (["u1", "u2"], ["x", "y", "z"]))
    'they have no ids in common: they are of other data'
    """
    known = [_share(theirs, ours) for ours, theirs in zip(key, scores, strict=True)]
    crossed = [_share(theirs, ours) for ours, theirs in zip(key, reversed(scores), strict=True)]
    if min(crossed) > max(known) and min(crossed) >= _ENOUGH:
        return "enroll and test are swapped in one of them"
    reasons = []
    for what, share, ours, theirs in zip(("enrollments", "tests"), known, key, scores, strict=True):
        if share < _ENOUGH:
            reasons += [f"ids of {what} differ by {how}" for how in _how(ours, theirs)]
    if reasons:
        return f"{' and '.join(reasons)}: make them alike"
    return "" if any(known) else "they have no ids in common: they are of other data"


def nothing_in_common(
    paths: tuple[str, str], first: tuple[tuple[str, str], tuple[str, str]], why: str
) -> str:
    """Return that a key and scores have no trial in common, with the first trial of each."""
    ours, theirs = first
    said = f"{paths[0]} and {paths[1]} have no trial in common: "
    if why.startswith("enroll"):
        return f"{said}{why}"
    shown = f"the key has {ours[0]!r} {ours[1]!r}, the scores have {theirs[0]!r} {theirs[1]!r}"
    return f"{said}{shown}; {why}" if why else f"{said}{shown}"


def _how(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return the first change, with an example, that makes most of their ids ours."""
    changes: list[tuple[str, Callable[[str], str], Callable[[str], str]]] = [
        ("letter case", str.lower, str.lower),
        ("folders or endings of files", _file_name, _file_name),
        ("what all of them begin or end with", str, _ends(theirs)),
        ("what all of them begin or end with", _ends(ours), str),
    ]
    for name, of_key, of_scores in changes:
        changed = {of_key(each): each for each in ours}
        found = [each for each in theirs if of_scores(each) in changed]
        if len(found) >= _ENOUGH * len(theirs):
            return [f"{name}, as {changed[of_scores(found[0])]!r} and {found[0]!r}"]
    return []


def _share(theirs: Sequence[str], ours: Sequence[str]) -> float:
    known = set(ours)
    return sum(each in known for each in theirs) / max(len(theirs), 1)


def _file_name(path: str) -> str:
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    return stem if dot and stem and 0 < len(ending) < _LONGEST_ENDING else name


def _ends(ids: Sequence[str]) -> Callable[[str], str]:
    """Return a function that removes what all ids begin and end with."""
    begin = _n_alike(min(ids), max(ids))  # all others lie between
    backwards = [each[begin:][::-1] for each in ids]
    end = _n_alike(min(backwards), max(backwards))
    return lambda each: each[begin : len(each) - end]


def _n_alike(one: str, other: str) -> int:
    """Return how many characters two strings begin with alike."""
    n = 0
    while n < min(len(one), len(other)) and one[n] == other[n]:
        n += 1
    return n
