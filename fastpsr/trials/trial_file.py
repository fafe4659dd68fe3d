"""A file of trials, whatever its format, and several as one: read part by part, and again."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.tables.text import first_too_large, too_large_rule
from fastpsr.trials.labels import KIND, WITH_SPOOF, LabelWords
from fastpsr.trials.roles import ID_CHANGES, Request

if TYPE_CHECKING:
    from polars import DataFrame, Series

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Names the file and the place of some rows.
Where = Callable[[Sequence[int]], list[str]]
#: Is called with the rows so far and about how many there are.
RowsRead = Callable[[int, int], object]

_AT_A_TIME = 2
_CLASSES = {"target": "targets", "nontarget": "non-targets"}


class TrialFile(ABC):
    """A key or scores: columns by role, in frames.

    Attributes
    ----------
    path : Path
    paths : list of Path
        The files on disk.
    format : str
        Name of its format.
    columns : tuple of str
        Names of all columns from left to right.
    roles : dict of str
        Names of columns by role; what a role is in frames is the role itself.
    conditions : list of str
        Names of the other columns, and of the side; in frames they follow a colon. The kinds of
        trials are one once a spoofed trial was read: the next pass has them.
    names : dict of str
        Names of columns by role, where the file names its columns.
    vocabulary : str or None
        Name of the words that its labels are, as far as it was read.
    notes : str
        What each column was taken for, in words, once the file was read.
    shape : tuple of int, or None
        Numbers of models and segments, of matrices.
    n_rows : int
        Rows, once the file was read.
    n_held : int
        Bytes of text from a pipe, which are in memory.
    """

    path: Path
    paths: list[Path]
    format: str
    columns: tuple[str, ...]
    roles: dict[str, str]
    conditions: list[str]
    names: dict[str, str]
    vocabulary: str | None = None
    notes: str
    shape: tuple[int, int] | None = None
    n_rows = 0
    n_held = 0

    @abstractmethod
    def frames(
        self, n_bytes: int | None = None, *, progress: RowsRead | None = None
    ) -> Iterator["DataFrame"]:
        """Yield all rows in turn: a frame has a column per role, and those of conditions.

        Labels are whether it is a target. Frames are of about so many bytes of the file; without
        `n_bytes`, all are to be held: they are of as many bytes as are read fast, some are made at
        a time, and what is neither number nor id has categories. `progress` is called with the
        rows so far and about how many there are.
        """

    @property
    def is_full(self) -> bool:
        """Whether there is a score for every pair of ids, once the file was read."""
        n_models, n_segments = self.shape or (0, 0)
        return "score" in self.roles and self.n_rows == n_models * n_segments > 0

    @abstractmethod
    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the places of rows; takes a pass over the file, which was read."""


class OneFile(TrialFile):
    """A file on disk, which falls into pieces; each becomes a frame.

    A piece has the `share` of the file that was read by then. `remarks` are what messages say of
    the format beside its columns, and `nothing` of a file without trials.
    """

    nothing = "the file is empty"
    remarks: Sequence[str] = ()

    def __init__(
        self,
        path: Path,
        format: str,
        columns: tuple[str, ...],
        roles: Mapping[str, str],
        request: Request,
        *,
        names_columns: bool,
    ) -> None:
        self.path, self.format, self.columns, self.paths = path, format, columns, [path]
        self.roles, self._label = dict(roles), request.label
        if self._label is not None:
            self.roles.setdefault("label", "label")
        self.names = self.roles if names_columns else {}
        with_roles = {name for role, name in roles.items() if role != "side"}
        self._conditions = [name for name in columns if name not in with_roles]
        self._words, self._id_changes = LabelWords(request), request.id_changes
        self._n_bytes: int | None = None
        self._heights: list[int] = []

    @abstractmethod
    def pieces(self, n_bytes: int | None) -> Iterator[Any]:
        """Yield parts of about so many bytes; with None, of as many as are read fast."""

    @abstractmethod
    def frame(self, piece: Any, kinds: Mapping[str, Any]) -> "DataFrame":
        """Return a piece's columns by name, text as the types of polars in `kinds`."""

    @abstractmethod
    def places(self, piece: Any, rows: Sequence[int]) -> list[str]:
        """Name the file and the places of rows of a piece."""

    @property
    def conditions(self) -> list[str]:  # type: ignore[override]
        has_kinds = self.vocabulary == WITH_SPOOF and KIND not in self._conditions
        return [*self._conditions, KIND] if has_kinds else self._conditions

    @property
    def vocabulary(self) -> str | None:  # type: ignore[override]
        return self._words.vocabulary if "label" in self.roles and self._label is None else None

    @property
    def notes(self) -> str:  # type: ignore[override]
        roles = {name: role for role, name in self.roles.items()}
        parts = [self.format, *self.remarks]
        for k, name in enumerate(self.columns):
            role = roles.get(name, "condition" if self.names else name)
            words = f" ({self.vocabulary})" if role == "label" else ""
            if words and self.vocabulary == WITH_SPOOF:
                apart = f", distinguished by {KIND}" if KIND in self.conditions else ""
                words = f" ({WITH_SPOOF}: both others are non-targets{apart})"
            parts.append(f"{name if self.names else f'column {k + 1}'}: {role}{words}")
        if self.shape is not None and KIND in self.conditions:
            parts.append(f"trials marked -2 are spoofed: non-targets, distinguished by {KIND}")
        if self._label is not None:
            parts.append(f"all are {_CLASSES[self._label]}")
        if self._id_changes:
            parts.append(f"ids read with {', '.join(self._id_changes)}")
        return f"{self.path}: {'; '.join(parts)}"

    def frames(
        self, n_bytes: int | None = None, *, progress: RowsRead | None = None
    ) -> Iterator["DataFrame"]:
        pl = polars()
        is_held = n_bytes is None  # whose strings go when the columns go
        text = pl.Categorical(pl.Categories.random()) if is_held else pl.String
        kinds = dict.fromkeys(self.columns, text)
        kinds |= {self.roles.get(role, role): pl.String for role in ("enroll", "test", "label")}

        def split(piece: Any) -> "tuple[Any, DataFrame]":
            frame = self.frame(piece, kinds)
            return piece, frame if is_held else frame.cast({pl.Enum: pl.String})

        self._n_bytes, n_rows, conditions = n_bytes, 0, self.conditions
        heights: list[int] = []
        self._heights = heights
        pieces = self.pieces(n_bytes)
        for piece, frame in _concurrently(split, pieces) if is_held else map(split, pieces):
            heights.append(frame.height)
            if frame.is_empty():
                continue
            n_rows += frame.height
            if progress is not None:
                progress(n_rows, round(n_rows / piece.share))
            yield self._by_role(frame, conditions, partial(self.places, piece))
        if n_rows == 0:
            raise ValueError(f"{self.path}: {self.nothing}")
        self.n_rows = n_rows

    def _by_role(self, frame: "DataFrame", conditions: Sequence[str], where: Where) -> "DataFrame":
        pl = polars()
        columns = {role: frame[name] for role, name in self.roles.items() if name in frame}
        for role, column in columns.items():
            if column.null_count():
                place = where([int(column.is_null().arg_max() or 0)])[0]
                raise ValueError(f"{place}: the {role} ({column.name}) is missing")
        if "score" in columns:
            columns["score"] = _as_scores(columns["score"], where)
        for role in {"enroll", "test"} & {*columns} if self._id_changes else ():
            columns[role] = columns[role].cast(pl.String)
            for change in self._id_changes:
                columns[role] = ID_CHANGES[change][1](columns[role])
        by_name = {name: frame[name] for name in frame.columns}
        if "label" in columns:
            by_name[KIND] = by_name.get(KIND, columns["label"])
            columns["label"] = self._words.decode(columns["label"], where)
            if self._label is not None:
                raise ValueError(
                    f"{self.path} has labels ({self._words.vocabulary}): targets and non-targets "
                    "in two files have none; give it on its own"
                )
        for name in conditions:
            column = by_name[name]
            columns[f":{name}"] = column if column.dtype.is_numeric() else column.fill_null("")
        if self._label is not None:
            columns["label"] = pl.repeat(self._label == "target", frame.height, eager=True)
        by_role: DataFrame = pl.DataFrame(columns)
        return by_role

    def where(self, rows: Sequence[int]) -> list[str]:
        places: dict[int, str] = {}
        pieces = self.pieces(self._n_bytes)
        for piece, inside in _holding(pieces, self._heights, rows):
            named = self.places(piece, [*inside.values()])
            places |= dict(zip(inside, named, strict=True))
        return [places[row] for row in rows]


def _as_scores(column: "Series", where: Where) -> "Series":
    """Return numbers as float64, or raise at an integer that none can hold."""
    pl = polars()
    numbers: Series = column.cast(pl.Float64)
    too_large = None
    if column.dtype.is_integer():
        too_large = first_too_large(numbers, lambda: column.cast(pl.String))
    if too_large is not None:
        row, word = too_large
        raise ValueError(f"{where([row])[0]}: {too_large_rule('score', word)}")
    return numbers


class TrialFiles(TrialFile):
    """Several keys that are read in turn as one; it has the conditions that all of them have."""

    def __init__(self, files: Sequence[TrialFile]) -> None:
        self._files, first = files, files[0]
        for other in files[1:]:
            if ("enroll" in other.roles) != ("enroll" in first.roles):
                bare, full = (first, other) if "enroll" in other.roles else (other, first)
                raise ValueError(f"{full.path} has ids of trials, and {bare.path} has none")
        self.paths = [file.path for file in files]
        self.path = Path(" and ".join(map(str, self.paths)))
        self.format, self.columns = first.format, first.columns
        self.shape = next((file.shape for file in files if file.shape is not None), None)
        self.roles = {
            role: name for role, name in first.roles.items()
            if all(role in f.roles and (role != "side" or f.roles[role] == name) for f in files)
        }  # fmt: skip
        self.names = {
            role: name for role, name in first.names.items()
            if all(file.names.get(role) == name for file in files)
        }  # fmt: skip

    @property
    def conditions(self) -> list[str]:  # type: ignore[override]
        first, *others = self._files
        return [name for name in first.conditions if all(name in f.conditions for f in others)]

    @property
    def vocabulary(self) -> str | None:  # type: ignore[override]
        return self._files[0].vocabulary

    @property
    def notes(self) -> str:  # type: ignore[override]
        lines = [file.notes for file in self._files]
        for file in self._files:
            names = [name for name in file.conditions if name not in self.conditions]
            lacking = "which others lack"
            lines += [f"left out: column {name} of {file.path}, {lacking}" for name in names]
        return "\n".join(lines)

    def frames(
        self, n_bytes: int | None = None, *, progress: RowsRead | None = None
    ) -> Iterator["DataFrame"]:
        pl, before = polars(), 0
        names = [*self.roles, *(f":{name}" for name in self.conditions)]
        numbers: set[str] | None = None  # columns of the first file that are no text

        def tell(done: int, out_of: int) -> None:
            if progress is not None:
                progress(before + done, before + out_of)

        for file in self._files:
            for frame in file.frames(n_bytes, progress=tell):
                frame = frame.select(names).cast({pl.Enum: pl.String, pl.Categorical: pl.String})
                own = {name for name, kind in frame.schema.items() if kind.is_numeric()}
                numbers = own if numbers is None else numbers
                for name in own ^ numbers:
                    raise ValueError(
                        f"column {name.removeprefix(':')} must be of one kind in all files, but is "
                        f"{'numbers' if name in own else 'text'} in {file.path}"
                    )
                yield frame
            before += file.n_rows
        self.n_rows = before

    def where(self, rows: Sequence[int]) -> list[str]:
        places: dict[int, str] = {}
        for file, inside in _holding(self._files, [file.n_rows for file in self._files], rows):
            places |= dict(zip(inside, file.where([*inside.values()]), strict=True))
        return [places[row] for row in rows]


class Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: "Iterator[DataFrame]") -> None:
        self._frames, self._held = frames, polars().DataFrame()

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, None if there are fewer."""
        while self._held.height < n:
            frame = next(self._frames, None)
            if frame is None:
                return None
            self._held = polars().concat([self._held, frame]) if self._held.height else frame
        rows: DataFrame = self._held[:n]
        self._held = self._held[n:]
        return rows


class WithIdsOf(TrialFile):
    """Scores without ids in the key's order: they have those of the key."""

    def __init__(self, key: TrialFile, file: TrialFile) -> None:
        if "enroll" in file.roles or "test" in file.roles:
            rule = f"in-order is for scores without ids, and {file.path} has some to join on"
            raise ArgumentError("format", rule)
        self._key, self._file = key, file
        self._ids = [role for role in ("enroll", "test", "side") if role in key.roles]
        self.path, self.paths, self.format = file.path, file.paths, file.format
        self.columns = file.columns
        self.roles = {role: key.roles[role] for role in self._ids} | file.roles
        self.names, self.n_held = self.roles if file.names else {}, file.n_held
        self.conditions = file.conditions

    @property
    def notes(self) -> str:  # type: ignore[override]
        return self._file.notes

    @property
    def vocabulary(self) -> str | None:  # type: ignore[override]
        return self._file.vocabulary

    def frames(
        self, n_bytes: int | None = None, *, progress: RowsRead | None = None
    ) -> Iterator["DataFrame"]:
        frames = self._file.frames(n_bytes, progress=progress)
        feed = Feed(frames)
        for block in self._key.frames(n_bytes):
            frame = feed.take(block.height)
            if frame is not None:
                yield frame.with_columns(block[role] for role in self._ids)
        for _ in frames:  # to count all
            pass
        n_scores, n_trials = self._file.n_rows, self._key.n_rows
        if n_scores != n_trials:
            raise ValueError(
                f"{self.path} has {counted(n_scores, 'score')} and {self._key.path} has "
                f"{counted(n_trials, 'trial')}: in the key's order there must be one for each"
            )
        self.n_rows = n_scores

    def where(self, rows: Sequence[int]) -> list[str]:
        return self._file.where(rows)


def _holding(
    pieces: Iterable[Item], heights: Sequence[int], rows: Sequence[int]
) -> Iterator[tuple[Item, dict[int, int]]]:
    """Yield the pieces that hold any of `rows`, with the place of each of these in it."""
    first = 0
    for piece, height in zip(pieces, heights, strict=False):
        inside = {row: row - first for row in rows if first <= row < first + height}
        if inside:
            yield piece, inside
        first += height
        if first > max(rows):
            return


def _concurrently(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield what a function returns for each item in turn; a few calls run at a time."""
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        for item in items:
            running.append(pool.submit(function, item))
            if len(running) > _AT_A_TIME:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
