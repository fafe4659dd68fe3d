"""A file of trials, whatever its format: read part by part, as often as needed."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastpsr.optional import polars
from fastpsr.tables.text import first_too_large, too_large_rule
from fastpsr.trials.labels import KIND, WITH_SPOOF, LabelWords
from fastpsr.trials.roles import Request

if TYPE_CHECKING:
    from polars import DataFrame, Series

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Names the file and the place of some rows.
Where = Callable[[Sequence[int]], list[str]]
#: Is called with the rows so far and about how many there are.
RowsRead = Callable[[int, int], object]

_FIRST_BYTES = 1 << 16
_AT_A_TIME = 2
_CLASSES = {"target": "targets", "nontarget": "non-targets"}


class TrialFile(ABC):
    """A key or scores: columns by role, in frames.

    Attributes
    ----------
    path : Path
    format : str
        Name of its format.
    columns : tuple of str
        Names of all columns from left to right.
    roles : dict of str
        Names of columns by role; what a role is in frames is the role itself.
    conditions : list of str
        Names of the other columns, and of the side; in frames they follow a colon.
    names : dict of str
        Names of columns by role, where the file names its columns.
    vocabulary : str or None
        Name of the words that its labels are, as far as it was read.
    notes : str
        What each column was taken for, in words, once the file was read.
    is_full : bool
        Whether there is a score for every pair of ids, once the file was read.
    n_rows : int
        Rows, once the file was read.
    n_held : int
        Bytes of text from a pipe, which are in memory.
    """

    path: Path
    format: str
    columns: tuple[str, ...]
    roles: dict[str, str]
    conditions: list[str]
    names: dict[str, str]
    vocabulary: str | None = None
    notes: str
    is_full = False
    n_rows = 0
    n_held = 0

    def tell_kinds(self) -> bool:
        """Make the kinds of trials a condition if spoofed ones were read; whether that is new.

        It is asked after a pass, which is made again then, and after a look at the first rows.
        """
        return False

    @abstractmethod
    def frames(
        self,
        n_bytes: int | None = None,
        *,
        text: Any = None,
        with_conditions: bool = False,
        progress: RowsRead | None = None,
    ) -> Iterator["DataFrame"]:
        """Yield all rows in turn: a frame has a column per role, and those of conditions.

        Labels are whether it is a target. Frames are of about so many bytes of the file; without
        `n_bytes`, of as many as are read fast, and some are made at a time. `text` is the type of
        polars of what is neither number nor id. `progress` is called with the rows so far and about
        how many there are.
        """

    def look(self) -> None:
        """Read the first rows, which most often tell the kinds of trials."""
        next(self.frames(_FIRST_BYTES), None)
        self.tell_kinds()

    @abstractmethod
    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the places of rows; takes a pass over the file, which was read."""


class PieceFile(TrialFile):
    """A file on disk: its format says how it falls into pieces, and how one becomes a frame."""

    #: What a file without trials is.
    nothing = "the file is empty"

    def __init__(
        self,
        path: Path,
        format: str,
        columns: Sequence[str],
        roles: dict[str, str],
        request: Request,
        *,
        names_columns: bool,
    ) -> None:
        self.path, self.format, self.columns = path, format, tuple(columns)
        self.roles, self._label = dict(roles), request.label
        if self._label is not None:
            self.roles.setdefault("label", "label")
        self.names = self.roles if names_columns else {}
        with_roles = {name for role, name in roles.items() if role != "side"}
        self.conditions = [name for name in self.columns if name not in with_roles]
        self._words = LabelWords()
        self._n_bytes: int | None = None
        self._heights: list[int] = []

    @abstractmethod
    def _pieces(self, n_bytes: int | None) -> Iterator[Any]:
        """Yield parts of the file, which have the `share` that was read by then.

        They take about so many bytes, or as many as are read fast.
        """

    @abstractmethod
    def _split(self, piece: Any, text: Any) -> "DataFrame":
        """Return a piece's columns by name; text other than ids may be of a type of polars."""

    @abstractmethod
    def _where_in(self, piece: Any) -> Where:
        """Return what names the file and places of rows of a piece."""

    @property
    def vocabulary(self) -> str | None:  # type: ignore[override]
        return self._words.vocabulary if "label" in self.roles and self._label is None else None

    @property
    def notes(self) -> str:  # type: ignore[override]
        roles = {name: role for role, name in self.roles.items()}
        parts = [self.format]
        for k, name in enumerate(self.columns):
            role = roles.get(name, "condition" if self.names else name)
            words = f" ({self.vocabulary})" if role == "label" else ""
            if words and self.vocabulary == WITH_SPOOF:
                apart = f", told apart by {KIND}" if KIND in self.conditions else ""
                words = f" ({WITH_SPOOF}: both others are non-targets{apart})"
            parts.append(f"{name if self.names else f'column {k + 1}'}: {role}{words}")
        if self._label is not None:
            parts.append(f"all are {_CLASSES[self._label]}")
        return f"{self.path}: {'; '.join(parts)}"

    def tell_kinds(self) -> bool:
        is_new = self.vocabulary == WITH_SPOOF and KIND not in self.conditions
        if is_new:
            self.conditions.append(KIND)
        return is_new

    def frames(
        self,
        n_bytes: int | None = None,
        *,
        text: Any = None,
        with_conditions: bool = False,
        progress: RowsRead | None = None,
    ) -> Iterator["DataFrame"]:
        def split(piece: Any) -> "tuple[Any, DataFrame]":
            return piece, self._split(piece, text or polars().String)

        self._n_bytes, n_rows = n_bytes, 0
        heights: list[int] = []
        self._heights = heights
        pieces = self._pieces(n_bytes)
        for piece, frame in _concurrently(split, pieces) if n_bytes is None else map(split, pieces):
            heights.append(frame.height)
            if frame.is_empty():
                continue
            n_rows += frame.height
            if progress is not None:
                progress(n_rows, round(n_rows / piece.share))
            yield self._by_role(frame, self._where_in(piece), with_conditions)
        if n_rows == 0:
            raise ValueError(f"{self.path}: {self.nothing}")
        self.n_rows = n_rows

    def _by_role(self, frame: "DataFrame", where: Where, with_conditions: bool) -> "DataFrame":
        pl = polars()
        columns = {role: frame[name] for role, name in self.roles.items() if name in frame}
        by_name = {name: frame[name] for name in frame.columns}
        if "label" in columns:
            by_name.setdefault(KIND, columns["label"])
            if columns["label"].dtype != pl.Boolean:
                columns["label"] = self._words.decode(columns["label"], where)
            if self._label is not None:
                raise ValueError(
                    f"{self.path} has labels ({self._words.vocabulary}): targets and non-targets "
                    "in two files have none; give it on its own"
                )
        if with_conditions:
            for name in self.conditions:
                column = by_name[name]
                is_number = column.dtype.is_numeric()
                columns[f":{name}"] = column if is_number else column.fill_null("")
        if self._label is not None:
            columns["label"] = pl.repeat(self._label == "target", frame.height, eager=True)
        by_role: DataFrame = pl.DataFrame(columns)
        return by_role

    def check_scores(self, scores: "Series", words: "Callable[[], Series]", where: Where) -> None:
        """Raise where no float64 holds a score; `words` are the scores as they are written."""
        too_large = first_too_large(scores, words)
        if too_large is not None:
            row, word = too_large
            raise ValueError(f"{where([row])[0]}: {too_large_rule('score', word)}")

    def where(self, rows: Sequence[int]) -> list[str]:
        places: dict[int, str] = {}
        for piece, inside in _holding(self._pieces(self._n_bytes), self._heights, rows):
            places |= dict(zip(inside, self._where_in(piece)([*inside.values()]), strict=True))
        return [places[row] for row in rows]


class TrialFiles(TrialFile):
    """Several keys that are read in turn as one; it has the conditions that all of them have."""

    def __init__(self, files: Sequence[TrialFile]) -> None:
        self._files, first = files, files[0]
        for other in files[1:]:
            if ("enroll" in other.roles) != ("enroll" in first.roles):
                bare, full = (first, other) if "enroll" in other.roles else (other, first)
                raise ValueError(f"{full.path} has ids of trials, and {bare.path} has none")
        self.path = Path(" and ".join(str(file.path) for file in files))
        self.format, self.columns = first.format, first.columns
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

    def look(self) -> None:
        for file in self._files:
            file.look()

    def tell_kinds(self) -> bool:
        before = self.conditions
        for file in self._files:
            file.tell_kinds()
        return before != self.conditions

    def frames(
        self,
        n_bytes: int | None = None,
        *,
        text: Any = None,
        with_conditions: bool = False,
        progress: RowsRead | None = None,
    ) -> Iterator["DataFrame"]:
        names = [*self.roles, *(f":{name}" for name in self.conditions if with_conditions)]
        pl, before = polars(), 0
        is_number: dict[str, bool] = {}

        def tell(done: int, out_of: int) -> None:
            if progress is not None:
                progress(before + done, before + out_of)

        for file in self._files:
            options: Any = {"text": text, "with_conditions": with_conditions, "progress": tell}
            for frame in file.frames(n_bytes, **options):
                kinds = {name: frame[name].dtype.is_numeric() for name in names}
                is_number = is_number or kinds
                odd = next((name for name in names if kinds[name] != is_number[name]), None)
                if odd is not None:
                    raise ValueError(
                        f"column {odd.removeprefix(':')} must be of one kind in all files, but is "
                        f"{'numbers' if kinds[odd] else 'text'} in {file.path}"
                    )
                enums = [name for name in names if frame[name].dtype == pl.Enum]
                yield frame.select(names).cast(dict.fromkeys(enums, pl.String))
            before += file.n_rows
        self.n_rows = before

    def where(self, rows: Sequence[int]) -> list[str]:
        places: dict[int, str] = {}
        for file, inside in _holding(self._files, [file.n_rows for file in self._files], rows):
            places |= dict(zip(inside, file.where([*inside.values()]), strict=True))
        return [places[row] for row in rows]


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
