"""Which speaker an id belongs to."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError, warn
from fastpsr.trials.coded import Coded, Column, encode, recode
from fastpsr.trials.optional import polars
from fastpsr.trials.sample import look
from fastpsr.trials.text import read_text
from fastpsr.wording import counted

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = [
    "AS_SPEAKERS",
    "SPEAKER_COLUMNS",
    "SpeakerFinder",
    "Speakers",
    "find_speakers",
    "taken_as_conditions",
]

#: Columns of tables that name the speakers of both sides.
SPEAKER_COLUMNS = ("enroll_speaker", "test_speaker")

#: How columns become speakers in memory; the braces are a pair of names.
AS_SPEAKERS = "with_speakers(column={})"


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers of both sides of N trials, as places in a list of names."""

    enroll: NDArray[np.int64]
    test: NDArray[np.int64]
    names: list[str]

    @classmethod
    def of_columns(cls, enroll: Column, test: Column) -> "Speakers":
        """Make speakers of two columns that name them."""
        pl = polars()
        sides = [
            c if isinstance(c, Coded) else encode(pl.Series(c).cast(pl.String))
            for c in (enroll, test)
        ]
        names = (
            pl.concat(
                [
                    side.names.filter(
                        (np.bincount(side.codes, minlength=len(side.names)) > 0).tolist()
                    )
                    for side in sides
                ]
            )
            .unique()
            .sort()
        )
        return cls(recode(sides[0], names), recode(sides[1], names), names.to_list())

    def pick(self, index: Any) -> "Speakers":
        """Return the speakers of the trials that a mask or row numbers pick."""
        return Speakers(self.enroll[index], self.test[index], self.names)

    def taken(self, y_true: NDArray[np.uint8] | None) -> str:
        """Say how many there are, and whether labels and speakers agree; warn if they cannot be."""
        everywhere = {
            self.names[one]
            for one in (self.enroll[0], self.test[0])
            if np.all((self.enroll == one) | (self.test == one))
        }
        _warn_of_one(everywhere, len(self.names), self.enroll.size)
        if y_true is None:
            return f"speakers: {len(self.names):,}"
        same = self.enroll == self.test
        n_of_two = int((~same & (y_true == 1)).sum())
        _warn_of_two(n_of_two, int((y_true == 1).sum()))
        return _say(len(self.names), n_of_two, int((same & (y_true == 0)).sum()))


def taken_as_conditions(columns: Iterable[str], remedy: str) -> tuple[str, ...]:
    """Say that a pair of columns named for speakers are conditions, in a line if there is one."""
    named = [name for name in columns if re.search("speaker|spk", name, re.IGNORECASE)]
    sides = [
        [name for name in named if re.search(side, name, re.IGNORECASE)]
        for side in ("enrol|model", "test")
    ]
    if not all(sides):
        return ()
    pair = (sides[0][0], sides[1][0])
    said = f"columns {pair[0]} and {pair[1]} are taken as conditions; if they name the speakers:"
    return (f"{said} {remedy.format(pair)}",)


def _warn_of_one(everywhere: Iterable[str], n_speakers: int, n_trials: int) -> None:
    """Warn where a speaker is in all trials: speakers cannot be resampled then."""
    if n_speakers == 1:
        (name,) = everywhere
        warn(
            f"all {n_trials:,} trials are of one speaker, {name!r}: speakers cannot be resampled, "
            "and the names found may not be those of speakers",
            RuntimeWarning,
        )
        return
    for name in sorted(everywhere):
        warn(
            f"speaker {name!r} is in all {n_trials:,} trials: replicates of speakers without it "
            "are empty, so draw the speakers of the other side alone, as clusters",
            RuntimeWarning,
        )


def _warn_of_two(n_of_two: int, n_targets: int) -> None:
    """Warn where no target trial is of one speaker: names cannot be those of speakers then."""
    if n_of_two and n_of_two == n_targets:
        warn(
            f"all {n_targets:,} target trials are of two speakers: the names found on both sides "
            "must be those of speakers, not of segments or models",
            RuntimeWarning,
        )


def _say(n_speakers: int, n_of_two: int, n_of_one: int) -> str:
    return (
        f"speakers: {n_speakers:,}; target trials of two speakers: {n_of_two:,}; "
        f"non-target trials of one speaker: {n_of_one:,}"
    )


class SpeakerFinder:
    """Finds the speakers of trials that are read part by part.

    Attributes
    ----------
    columns : pair of str, or None
        Columns that name the speakers.
    """

    def __init__(
        self,
        mapping: tuple["Series", "Series"] | None,
        columns: tuple[str, str] | None,
        patterns: tuple[str, str] | None,
        source: str = "",
    ) -> None:
        self._mapping, self.columns, self._patterns = mapping, columns, patterns
        self._source = source
        self.start()

    @classmethod
    def of(
        cls,
        mapping: str | os.PathLike[str] | Mapping[str, str] | None,
        columns: tuple[str, str] | None,
        pattern: str | tuple[str, str] | None,
        conditions: Sequence[str],
    ) -> "SpeakerFinder | None":
        """Return what finds speakers in one way, None where no way is given."""
        ways = [way for way in (mapping, columns, pattern) if way is not None]
        if not ways:
            return None
        if len(ways) > 1:
            raise ArgumentError(
                "speakers",
                "must not be given together: give one",
                name="speakers, speaker_columns and speaker_pattern",
            )
        if columns is not None:
            for name in columns:
                if name not in conditions:
                    known = ", ".join(conditions) or "none"
                    raise ArgumentError(
                        "speaker_columns", f"must be among those of the key ({known}), not {name!r}"
                    )
            return cls(None, (columns[0], columns[1]), None)
        if mapping is None:
            patterns = _pair(pattern, "speaker_pattern")
            for one in patterns:
                _extract(polars().Series([""]), one, "speaker_pattern")  # raises if it is none
            return cls(None, None, patterns, repr(pattern))
        return cls(_mapped(mapping), None, None, _name_of(mapping))

    def start(self) -> None:
        """Begin with the first trial."""
        self._names: set[str] = set()
        self._lacking: tuple[dict[str, None], dict[str, None]] = ({}, {})  # sets that keep order
        self._n_trials = self._n_targets = self._n_of_two = self._n_of_one = 0
        self._everywhere: set[str] | None = None  # speakers in all trials so far

    def add_to(self, trials: "DataFrame") -> "DataFrame":
        """Return trials (enroll, test, target) with `enroll_speaker` and `test_speaker`."""
        pl = polars()
        sides = []
        for k, side in enumerate(("enroll", "test")):
            if self.columns is not None:
                speakers = trials[self.columns[k]].cast(pl.String)
                self._names.update(speakers.unique())
            else:
                ids = encode(trials[side])
                of_names = self._find(ids, k)
                lacking = of_names.fill_null("") == ""
                if lacking.any():
                    self._lacking[k].update(dict.fromkeys(ids.names.filter(lacking).to_list()))
                self._names.update(of_names.drop_nulls().to_list())
                speakers = of_names.gather(ids.codes)
            sides.append(speakers.alias(f"{side}_speaker"))
        if self._everywhere is None:
            self._everywhere = {side[0] for side in sides if len(side)} - {None}
        self._everywhere = {
            one for one in self._everywhere if ((sides[0] == one) | (sides[1] == one)).all()
        }
        self._n_trials += len(trials)
        same, is_target = sides[0] == sides[1], trials["target"]
        self._n_targets += int(is_target.sum())
        self._n_of_two += int((~same & is_target).sum())
        self._n_of_one += int((same & ~is_target).sum())
        return trials.with_columns(sides)

    def check(self) -> None:
        """Raise if an id had no speaker; warn if no target trial is of one."""
        lacking = [
            _lack(side, sorted(ids))
            for side, ids in zip(("enroll", "test"), self._lacking, strict=True)
            if ids
        ]
        if lacking:
            argument = "speakers" if self._patterns is None else "speaker_pattern"
            raise _no_speaker(lacking, argument, self._source)
        _warn_of_one(self._everywhere or (), len(self._names), self._n_trials)
        _warn_of_two(self._n_of_two, self._n_targets)

    @property
    def taken(self) -> str:
        """Say how many there are, and whether labels and speakers agree."""
        return _say(len(self._names), self._n_of_two, self._n_of_one)

    def _find(self, ids: Coded, side: int) -> "Series":
        if self._mapping is not None:
            return _look_up(ids, *self._mapping)
        assert self._patterns is not None
        return _extract(ids.names, self._patterns[side], "speaker_pattern")


def find_speakers(
    enroll: Coded,
    test: Coded,
    mapping: str | os.PathLike[str] | Mapping[str, str] | None,
    pattern: str | tuple[str, str] | None,
) -> Speakers:
    """Find the speaker of every id by a mapping or a pattern."""
    if mapping is not None:
        ids, speakers = _mapped(mapping)
        found = [_look_up(side, ids, speakers) for side in (enroll, test)]
    else:
        sides = zip((enroll, test), _pair(pattern, "pattern"), strict=True)
        found = [_extract(side.names, one, "pattern") for side, one in sides]
    lacking = [
        said
        for side, ids_of, speakers_of in zip(("enroll", "test"), (enroll, test), found, strict=True)
        if (said := _without(side, ids_of, speakers_of))
    ]
    if lacking:
        if mapping is None:
            raise _no_speaker(lacking, "pattern", repr(pattern))
        raise _no_speaker(lacking, "mapping", _name_of(mapping))
    columns = []
    for ids_of, speakers_of in zip((enroll, test), found, strict=True):
        names = encode(speakers_of.fill_null(""))
        columns.append(Coded(names.codes[ids_of.codes], names.names))
    return Speakers.of_columns(columns[0], columns[1])


def _name_of(mapping: str | os.PathLike[str] | Mapping[str, str]) -> str:
    return "it" if isinstance(mapping, Mapping) else os.fspath(mapping)


def _no_speaker(lacking: Sequence[str], argument: str, source: str) -> ArgumentError:
    rule = f"must give every id a speaker, but {source} gives none to {' and '.join(lacking)}"
    return ArgumentError(argument, rule)


def _without(side: str, ids: Coded, speakers: "Series") -> str:
    """Count and show the ids in use that have no speaker."""
    used = polars().Series(np.bincount(ids.codes, minlength=len(ids.names)) > 0)
    without = ids.names.filter(used & (speakers.fill_null("") == ""))
    return "" if without.is_empty() else _lack(side, without.to_list())


def _lack(side: str, ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, ids[:3])) + ", ..." * (len(ids) > 3)
    return f"{counted(len(ids), f'{side} id')} ({shown})"


def _pair(pattern: str | tuple[str, str] | None, argument: str) -> tuple[str, str]:
    """Return the patterns of both sides."""
    patterns = (pattern, pattern) if isinstance(pattern, str) else pattern
    if not isinstance(patterns, tuple | list) or len(patterns) != 2:
        raise ArgumentError(argument, f"must be a string or a pair of them, not {pattern!r}")
    return patterns[0], patterns[1]


def _mapped(mapping: str | os.PathLike[str] | Mapping[str, str]) -> tuple["Series", "Series"]:
    pl = polars()
    if isinstance(mapping, Mapping):
        ids = pl.Series([str(x) for x in mapping], dtype=pl.String)
        speakers = [None if x is None else str(x) for x in mapping.values()]
        return ids, pl.Series(speakers, dtype=pl.String)
    path = Path(mapping)
    columns, where = read_text(path, look(path, {}), ("id", "speaker"))
    id, speaker = columns["id"], columns["speaker"]
    assert isinstance(id, Coded)
    assert isinstance(speaker, Coded)
    table = pl.DataFrame({"id": id.codes, "speaker": speaker.codes}).with_row_index("row")
    table = table.unique(["id", "speaker"], keep="first", maintain_order=True)
    again = table.filter(~table["id"].is_first_distinct())
    if len(again):
        row = again["row"][0]
        first = table.filter(table["id"] == again["id"][0])["speaker"][0]
        raise ValueError(
            f"{where([row])[0]}: id {id[row]!r} has two speakers: {speaker[row]!r} after "
            f"{speaker.names[first]!r}"
        )
    return id.series(), speaker.series()


def _look_up(side: Coded, ids: "Series", speakers: "Series") -> "Series":
    names = Coded(np.arange(len(side.names), dtype=np.int32), side.names)
    places = recode(names, ids)
    pl = polars()
    at = pl.Series(places).cast(pl.UInt32, strict=False)  # -1 becomes null
    found: Series = speakers.gather(at)
    return found


def _extract(names: "Series", pattern: str, argument: str) -> "Series":
    pl = polars()
    try:
        groups = pl.Series([""]).str.extract_groups(pattern).struct.fields
        found: Series = names.str.extract(pattern, 1 if any(groups) else 0)
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[-1]
        rule = f"must be a regular expression, not {pattern!r}: {reason}"
        raise ArgumentError(argument, rule) from None
    return found
