"""Which speaker an id belongs to."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.errors import ArgumentError, warn
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.optional import polars
from fastpsr.trials.by_id import ById, check_none_lacks
from fastpsr.trials.coded import Coded, Column, encode, is_used

if TYPE_CHECKING:
    from polars import DataFrame, Series

#: Where speakers are: values by id, a pair of columns, or text that says which.
Speakers = str | os.PathLike[str] | Mapping[str, str] | tuple[str, str]
_WAYS = "must be a file or mapping from ids to speakers, pattern:REGEX, or columns:ENROLL,TEST"
_MANY = 0.02  # of the target trials, of two speakers: more than a few wrong labels


def taken_as_conditions(columns: Iterable[str]) -> tuple[str, ...]:
    """Say that a pair of columns named for speakers are conditions, in a line if there is one."""
    named = [name for name in columns if re.search("speaker|spk", name, re.IGNORECASE)]
    sides = [
        [name for name in named if re.search(side, name, re.IGNORECASE)]
        for side in ("enrol|model", "test")
    ]
    if not all(sides):
        return ()
    enroll, test = sides[0][0], sides[1][0]
    said = f"columns {enroll} and {test} are taken as conditions; if they name the speakers"
    return (f"{said}: speakers='columns:{enroll},{test}'",)


class SpeakerFinder:
    """Finds the speakers of trials that are read part by part, and how these and labels agree.

    Parameters
    ----------
    source : str
        Where they are, for errors.
    columns : pair of str, or None
        Columns that name the speakers.
    of_names : callable, or None
        Returns the speakers of ids; null where there is none.
    """

    def __init__(
        self,
        source: str,
        columns: tuple[str, str] | None = None,
        of_names: "Callable[[Series], Series] | None" = None,
    ) -> None:
        self._source = source
        self.columns, self._of_names = columns, of_names
        self._names: set[str] = set()
        self._lacking: tuple[dict[str, None], dict[str, None]] = ({}, {})  # sets that keep order
        self._n_trials = self._n_targets = self._n_of_two = self._n_of_one = 0
        self._has_labels = False
        self._everywhere: set[str] = set()  # speakers in all trials so far
        self._example = ("", "", "")  # a target trial of two speakers

    @classmethod
    def of(cls, speakers: "Speakers | SpeakerFinder | None") -> "SpeakerFinder | None":
        """Return the finder of speakers, None without a source."""
        if speakers is None or isinstance(speakers, SpeakerFinder):
            return speakers
        kind, _, value = speakers.partition(":") if isinstance(speakers, str) else ("", "", "")
        if kind == "pattern":
            group = _group_of(value)
            return cls(repr(value), None, lambda names: names.str.extract(value, group))
        columns = tuple(value.split(",")) if kind == "columns" else speakers
        if isinstance(columns, tuple | list):
            if len(columns) != 2 or not all(columns):
                raise ArgumentError("speakers", f"{_WAYS}, not {speakers!r}")
            return cls("", (columns[0], columns[1]))
        if speakers == "" or not isinstance(speakers, str | os.PathLike | Mapping):
            raise ArgumentError("speakers", f"{_WAYS}, not {speakers!r}")
        by_id = ById.of(speakers, "speaker")
        return cls(by_id.source, None, by_id.of_ids)

    def check_columns(self, conditions: Sequence[str]) -> None:
        """Raise unless there are the columns."""
        for name in self.columns or ():
            if name not in conditions:
                known = ", ".join(conditions) or "none"
                rule = f"must be columns of the files ({known}), not {name!r}"
                raise ArgumentError("speakers", rule)

    def find(
        self, ids: Sequence[Coded], columns: Mapping[str, Column], is_target: Any
    ) -> tuple[Coded, Coded]:
        """Return the speakers of both sides of some more trials, coded by one table of names.

        Ids without a speaker, which has no name then, are raised by :meth:`check`. `is_target` is
        None where there are no labels.
        """
        pl = polars()
        if self.columns is None:
            sides = [self._of_ids(column, side) for side, column in enumerate(ids)]
        else:
            named = [columns[name] for name in self.columns]
            sides = [c.series() if isinstance(c, Coded) else pl.Series(c) for c in named]
        both = encode(pl.concat([side.cast(pl.String) for side in sides]))  # one population
        enroll, test = (Coded(codes, both.names) for codes in np.split(both.codes, 2))
        self._names.update(both.names.to_list())
        if len(enroll):
            self._compare(enroll, test, ids, is_target)
        return enroll, test

    def _of_ids(self, ids: Coded, side: int) -> "Series":
        assert self._of_names is not None
        speakers = self._of_names(ids.names).fill_null("")
        without = ids.names.filter(is_used(ids) & (speakers == ""))
        self._lacking[side].update(dict.fromkeys(without.to_list()))
        return speakers.gather(ids.codes)

    def _compare(self, enroll: Coded, test: Coded, ids: Sequence[Coded], is_target: Any) -> None:
        """Count trials by their speakers and labels."""
        if not self._n_trials:
            self._everywhere = {enroll[0], test[0]}
        places = {name: enroll.names.index_of(name) for name in self._everywhere}
        self._everywhere = {
            name
            for name, place in places.items()
            if ((enroll.codes == place) | (test.codes == place)).all()
        }
        self._has_labels = is_target is not None
        if is_target is not None:
            same = enroll.codes == test.codes
            of_two = ~same & is_target
            if of_two.any() and not self._n_of_two:
                row = int(of_two.argmax())
                trial = " ".join(side[row] for side in ids)
                place = repr(trial) if ids else f"row {self._n_trials + row}"
                self._example = (place, enroll[row], test[row])
            self._n_targets += int(is_target.sum())
            self._n_of_two += int(of_two.sum())
            self._n_of_one += int((same & ~is_target).sum())
        self._n_trials += len(enroll)

    def add_to(self, trials: "DataFrame") -> "DataFrame":
        """Return trials (enroll, test, target) with `enroll_speaker` and `test_speaker`."""
        string = polars().String
        columns = {name: Coded.of(trials[name].cast(string)) for name in self.columns or ()}
        ids = [Coded.of(trials[side]) for side in ("enroll", "test")]
        sides = self.find(ids, columns, trials["target"].to_numpy())
        return trials.with_columns(
            side.series().alias(name) for side, name in zip(sides, SPEAKER_COLUMNS, strict=True)
        )

    def check(self) -> None:
        """Raise if an id had no speaker; warn if names seem to be those of others."""
        check_none_lacks("speakers", "speaker", self._source, self._lacking)
        for name in sorted(self._everywhere):
            warn(
                f"speaker {name!r} is in all {self._n_trials:,} trials: replicates of speakers "
                "without it are empty, so draw the speakers of the other side alone, as clusters"
            )
        if self._n_of_two and self._n_of_two >= _MANY * self._n_targets:
            trial, enroll, test = self._example
            warn(
                f"{self._n_of_two:,} of {self._n_targets:,} target trials are of two speakers, as "
                f"{trial} of {enroll!r} and {test!r}, but a target trial has one: intervals that "
                "draw these are wrong; correct the pattern, columns or list that name the speakers"
            )

    @property
    def note(self) -> str:
        """Say how many there are, and whether labels and speakers agree."""
        n_speakers = f"speakers: {len(self._names):,}"
        if not self._has_labels:
            return n_speakers
        return (
            f"{n_speakers}; target trials of two speakers: {self._n_of_two:,}; "
            f"non-target trials of one speaker: {self._n_of_one:,}"
        )


def _group_of(pattern: str) -> int:
    """Return which group of a regular expression is the speaker; 0 is the whole match."""
    pl = polars()
    try:
        return 1 if any(pl.Series([""]).str.extract_groups(pattern).struct.fields) else 0
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[-1]
        rule = f"pattern must be a regular expression, not {pattern!r}: {reason}"
        raise ArgumentError("speakers", rule) from None
