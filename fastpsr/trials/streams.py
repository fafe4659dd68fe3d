"""Text files of trials of any size, read part by part, as often as needed."""

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fastpsr.plans.budget import memory_budget
from fastpsr.trials.content import say_taken
from fastpsr.trials.detect import detect
from fastpsr.trials.formats.format import Format
from fastpsr.trials.formats.separated import Rows, check_names, header_of, split_rows
from fastpsr.trials.labels import LabelWords
from fastpsr.trials.names import KIND, WITH_SPOOF, check_roles, find_roles
from fastpsr.trials.optional import polars
from fastpsr.trials.pieces import Piece, pieces
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.sample import Sample
from fastpsr.trials.text import Where, places_in, split_lines

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["Feed", "TrialFile", "TrialFiles"]

_CLASSES = {"target": "targets", "nontarget": "non-targets"}


class TrialFile:
    """A key or scores as text.

    Attributes
    ----------
    path : Path
    format : str
        Name of its format.
    roles : dict of str
        Names of the columns by role; what a role is in frames is the role itself.
    conditions : tuple of str
        Names of the other columns, and of the side.

    With `label`, that of all its trials, the file has none of its own.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        request: Request,
        piece_bytes: int,
        label: Literal["target", "nontarget"] | None = None,
    ) -> None:
        self.path, self._request, self._piece_bytes = Path(path), request, piece_bytes
        self._label = label
        format, sample = detect(self.path, request)
        if sample.content is not None and len(sample.content) > memory_budget():
            raise ValueError(
                f"{self.path} must be a regular file, as text of a pipe is held in memory and this "
                f"has {len(sample.content):,} bytes: save it, or raise FASTPSR_MEMORY"
            )
        if sample.kind != "text":
            raise ValueError(
                f"{self.path}: only text is joined part by part, not {sample.kind}: read it "
                "whole (fastpsr evaluate)"
            )
        self.format, self._sample = format.name, sample
        self._separator, self._columns = format.separator, format.roles
        self._has_header = not self._columns
        # lines, up to that of the header, or up to the first
        self._skipped = sample.numbers[0] - (not self._has_header) if self._separator else 0
        if self._columns:
            self.roles = {role: role for role in self._columns if role in ROLES}
        else:
            self._columns = header_of(sample, self._separator)
            self.roles = find_roles(self.path, self._columns, request)
            check_names(self.path, self._columns)
        if "enroll" not in self.roles or "test" not in self.roles:
            raise ValueError(f"{self.path}: {self.format} has no ids of trials to join on")
        if label is not None:
            if "label" in self.roles:
                raise ValueError(
                    f"{self.path} has labels: targets and non-targets in two files have none; give "
                    "it as a key"
                )
            self.roles["label"] = "label"
        own = {name for role, name in self.roles.items() if role != "side"}
        self.conditions = tuple(name for name in self._columns if name not in own)
        if self.has_labels and label is None and self._tells_kinds(format, sample):
            self.conditions += (KIND,)
        self._words = LabelWords()
        self.n_rows = 0

    def _tells_kinds(self, format: Format, sample: Sample) -> bool:
        """Whether the first labels are of the vocabulary with spoofed trials, or the format is."""
        words = format.label_words(sample)
        if self._has_header:
            place = self._columns.index(self.roles["label"])
            rows = csv.reader(sample.lines[1:], delimiter=self._separator)
            words = [row[place].lower() for row in rows if len(row) > place]
        return format.words == WITH_SPOOF or WITH_SPOOF.split("/")[-1] in words

    @property
    def has_labels(self) -> bool:
        """Whether there are labels."""
        return "label" in self.roles

    @property
    def taken(self) -> str:
        """What each column was taken for, in words, once the file was read."""
        roles = {name: role for role, name in self.roles.items()}
        vocabulary = self._words.vocabulary if self.has_labels and self._label is None else None
        if vocabulary == WITH_SPOOF and KIND not in self.conditions:  # spoofed trials came late
            vocabulary = f"{WITH_SPOOF}: both others are non-targets"
        said = say_taken(
            self.path, self.format, self._columns, roles, vocabulary, by_name=self._has_header
        )
        return said if self._label is None else f"{said}; all are {_CLASSES[self._label]}"

    def frames(
        self,
        with_conditions: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Iterator["DataFrame"]:
        """Yield all rows in turn: a frame has a column per role, and those of conditions.

        Labels are whether it is a target. Conditions have their own names after a colon. `progress`
        is called with the rows so far and about how many there are.
        """
        pl = polars()
        n_rows = 0
        for piece in self._pieces():
            frame = self._split(piece)
            if frame.is_empty():
                continue
            if self._label is not None:
                frame = frame.with_columns(label=pl.lit(self._label == "target"))
            names = {role: frame[name] for role, name in self.roles.items()}
            if with_conditions:
                columns = {name: frame[name] for name in self._columns}
                if KIND in self.conditions:
                    columns.setdefault(KIND, names["label"])
                names |= {f":{name}": _filled(columns[name]) for name in self.conditions}
            if self.has_labels and self._label is None:
                where = self._where_in(piece)
                names["label"] = self._words.decode(names["label"], where)
            n_rows += frame.height
            if progress is not None:
                progress(n_rows, round(n_rows / piece.share))
            yield pl.DataFrame(names)
        if n_rows == 0:
            raise ValueError(
                f"{self.path}: there is no trial below the header"
                if self._has_header
                else f"{self.path}: the file is empty"
            )
        self.n_rows = n_rows

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines of rows; takes a pass over the file."""
        found: dict[int, str] = {}
        first = 0
        for piece in self._pieces():
            height = self._split(piece).height
            mine = [row for row in rows if first <= row < first + height]
            if mine:
                places = self._where_in(piece)([row - first for row in mine])
                found |= dict(zip(mine, places, strict=True))
            first += height
            if len(found) == len(set(rows)):
                break
        return [found[row] for row in rows]

    def _split(self, piece: Piece) -> "DataFrame":
        pl = polars()
        if not self._separator:
            return split_lines(self.path, piece, self._columns)
        rows = self._rows(piece)
        frame = split_rows(piece.content, rows, self._columns, self.roles, pl.String)
        check_roles(frame, self.roles, rows.where)
        return frame

    def _rows(self, piece: Piece) -> Rows:
        return Rows.of_piece(
            self.path, piece, self._separator, self._columns, has_header=self._has_header
        )

    def _where_in(self, piece: Piece) -> Where:
        if self._separator:
            return self._rows(piece).where
        return lambda rows: places_in(self.path, piece, rows)

    def _pieces(self) -> Iterator[Piece]:
        """Yield whole lines below the header."""
        quotes = self._separator == ","
        return pieces(
            self.path, self._sample, self._piece_bytes, skipped=self._skipped, quotes=quotes
        )


class TrialFiles(TrialFile):
    """Several keys that are read in turn as one; it has the conditions that all of them have."""

    def __init__(self, files: Sequence[TrialFile]) -> None:
        self._files = files
        self.path = Path(" and ".join(str(file.path) for file in files))
        self.format = files[0].format
        self.roles = {
            role: name for role, name in files[0].roles.items()
            if role != "score" and all(role in file.roles for file in files)
        }  # fmt: skip
        self.conditions = tuple(
            name for name in files[0].conditions if all(name in file.conditions for file in files)
        )
        self.n_rows = 0

    @property
    def taken(self) -> str:
        """What each column of each file was taken for."""
        lost = [
            f"left out: column {name} of {file.path}, which others lack"
            for file in self._files
            for name in file.conditions
            if name not in self.conditions
        ]
        return "\n".join([*(file.taken for file in self._files), *lost])

    def frames(
        self,
        with_conditions: bool = False,
        progress: Callable[[int, int], object] | None = None,
    ) -> Iterator["DataFrame"]:
        """Yield all rows of all files in turn, as those of one file."""
        kept = [*self.roles, *(f":{name}" for name in self.conditions if with_conditions)]
        before = 0

        def tell(done: int, out_of: int) -> None:
            if progress is not None:
                progress(before + done, before + out_of)

        for file in self._files:
            for frame in file.frames(with_conditions, tell):
                yield frame.select(kept)
            before += file.n_rows
        self.n_rows = before

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the line of rows."""
        found: dict[int, str] = {}
        first = 0
        for file in self._files:
            mine = [row for row in rows if first <= row < first + file.n_rows]
            places = file.where([row - first for row in mine]) if mine else []
            found |= dict(zip(mine, places, strict=True))
            first += file.n_rows
        return [found[row] for row in rows]


def _filled(series: "Series") -> "Series":
    return series if series.dtype.is_numeric() else series.fill_null("")


class Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: Iterator["DataFrame"]) -> None:
        self._frames = frames
        self._held: list[DataFrame] = []
        self._n_held = 0

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, fewer at the end, None after it."""
        while self._n_held < n:
            frame = next(self._frames, None)
            if frame is None:
                break
            self._held.append(frame)
            self._n_held += frame.height
        if not self._held:
            return None
        whole: DataFrame = self._held[0] if len(self._held) == 1 else polars().concat(self._held)
        rest = whole[n:]
        self._held, self._n_held = ([rest], rest.height) if rest.height else ([], 0)
        return whole[:n]
