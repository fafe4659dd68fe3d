"""Names of the columns of joined trials."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fastpsr.errors import ArgumentError
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.trials.speakers import SpeakerFinder
from fastpsr.trials.trial_file import TrialFile

AnyPath = str | os.PathLike[str]


def named(scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]) -> dict[str, AnyPath]:
    """Return score files by the names of their columns."""
    if isinstance(scores, Mapping):
        named = dict(scores)
    else:
        paths = [scores] if isinstance(scores, str | os.PathLike) else list(scores)
        seen: set[str] = set()
        for path in paths:
            real = os.path.realpath(path)
            if real in seen:
                raise ArgumentError("scores", f"must name each file once, but name {path} again")
            seen.add(real)
        named = {"llr": paths[0]} if len(paths) == 1 else _names_of_columns(paths)
    if not named:
        raise ArgumentError("scores", "must name at least one file")
    return named


_OWN_NAMES = ("target", "enroll", "test", *SPEAKER_COLUMNS)


def _names_of_columns(paths: Sequence[AnyPath]) -> dict[str, AnyPath]:
    """Name each by its stem; where these are alike or taken by its name, or more of its path."""

    def candidates(path: AnyPath) -> Iterator[str]:
        parts = Path(path).parts
        name = parts[-1].removesuffix(".gz")
        yield Path(name).stem
        yield parts[-1]
        for n in range(2, len(parts) + 1):
            yield "/".join(parts[-n:])
        yield os.path.realpath(path)

    choices = [list(candidates(path)) for path in paths]
    ranks = [0] * len(paths)
    while True:
        names = [choice[k] for choice, k in zip(choices, ranks, strict=True)]
        again = [
            place for place, name in enumerate(names)
            if (names.count(name) > 1 or name in _OWN_NAMES)
            and ranks[place] + 1 < len(choices[place])
        ]  # fmt: skip
        if not again:
            return dict(zip(names, paths, strict=True))
        for place in again:
            ranks[place] += 1


def column_names(names: Sequence[str], key: TrialFile, finder: SpeakerFinder | None) -> list[str]:
    """Return the names of the file's columns, or raise where two are alike."""
    speakers = [] if finder is None else SPEAKER_COLUMNS
    own = ["target", *names, "enroll", "test", *speakers]
    named = () if finder is None else finder.columns or ()  # may have the names of the result's
    conditions = [name for name in key.conditions if not (name in speakers and name in named)]
    for k, name in enumerate([*own, *conditions]):
        if name in [*own, *conditions][:k]:
            raise ValueError(
                f"names of columns must differ, but two of the result are {name!r}: "
                f"{', '.join([*own, *conditions])}"
            )
    return [*own, *conditions]
