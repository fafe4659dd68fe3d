"""Tables: which of their columns are what, and the predictions of these."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.data import PartitionedPredictions, Predictions, ScoreKind
from fastpsr.data.budget import memory_budget
from fastpsr.data.columns import Columns
from fastpsr.data.parquet import ParquetFiles
from fastpsr.data.tables import ColumnRoles
from fastpsr.errors import ArgumentError, counted, shorten
from fastpsr.files import ending_of
from fastpsr.frames import require_class_order
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables.text import TextFile

#: Usual names of columns of labels and of weights.
LABELS = ("y_true", "label", "labels", "target", "targets")
WEIGHTS = ("sample_weight", "weight", "weights")
#: ColumnRoles of the ids of trials, beside those of speakers.
_ID_COLUMNS = ("enroll", "test")
_OF_ONE_COLUMN = ("llrs", "log10 llrs", "raw scores")
_TEXT_BYTES = 100  # per id that is text: a string, and its number
_NOT_CLASS_NUMBERS = ("must be an array of integers", "must be integers")
_WORK_BYTES = 32  # approximate memory of an evaluation in memory, per number that is read


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of a table by what they are, in memory or in files that are read part by part.

    Attributes
    ----------
    source : OpenTable
    kind : str
        What the scores are, as for :meth:`fastpsr.Predictions.of`.
    scores, labels, weights : names of columns
        Labels and weights are None where there are none.
    others : dict of str to tuple of str
        Names of further columns, by what they are for.
    files : tuple of str
        Parquet files that are read part by part; empty for a table in memory.
    values : dict of str to ndarray
        What is in memory: "scores", and "labels" and "weights" where there are some.
    columns : tuple of str
        Names of those of the predictions; they are read when they are accessed.
    n_bytes : int
        About what a file would take in memory that is read part by part because it is too large.
    """

    source: "OpenTable"
    kind: ScoreKind
    scores: tuple[str, ...]
    labels: str | None
    weights: str | None
    others: dict[str, tuple[str, ...]]
    files: tuple[str, ...]
    values: dict[str, NDArray[Any]]
    columns: tuple[str, ...]
    n_bytes: int

    def __repr__(self) -> str:
        return f"<Table: {self.path}, {self.kind}; {self.notes}>"

    @property
    def path(self) -> Path:
        """The file, folder or pattern."""
        return self.source.path

    @property
    def _shown(self) -> tuple[str, ...]:
        """What messages call the scores."""
        return (self.path.name,) if self.source.names is None else self.scores

    @property
    def notes(self) -> str:
        """The interpretation of the columns, as text."""
        of_samples = f"labels: {self.labels or 'none'}; weights: {self.weights or 'none'}"
        ids = self.others.get("ids")
        clusters = f"; clusters: {', '.join(ids)}" if ids else ""
        n = self.source.n_left_out
        left_out = f"; left out: {counted(n, 'row', 'with nan')}" * bool(n)
        return f"scores: {', '.join(self._shown)}; {of_samples}{clusters}{left_out}"

    def require_labels(self) -> None:
        """Raise if there are no labels."""
        if self.labels is None:
            rule = "has no labels: say where they are with labels=..."
            raise ArgumentError("labels", rule, name=str(self.path))

    def predictions(
        self,
        priors: ArrayLike | None,
        classes: ArrayLike | None = None,
        *,
        normalize: bool = False,
        floor: float = 0.0,
    ) -> Predictions | PartitionedPredictions:
        """Return the predictions; the arguments are those of :meth:`Predictions.of`."""
        name = f"{self.path}: scores"
        require_class_order("columns", self._shown, classes, takes_names=True, name=name)
        options: dict[str, Any] = {"priors": priors, "normalize": normalize, "floor": floor}
        scores = self.values.get("scores")
        if self.kind in _OF_ONE_COLUMN:
            n_columns = len(self.scores) if scores is None or scores.ndim < 2 else scores.shape[1]
            if n_columns > 1:
                kind = self.kind.removesuffix(" scores").removesuffix("s").replace(" ", "-")
                raise ArgumentError(
                    "columns",
                    f"must be one column, not {n_columns} ({', '.join(self._shown)}); say which "
                    "with columns=...",
                    name=f"{self.path}: {kind} scores",
                )
        if scores is None:
            return self._in_parts(classes, options)
        labels = self.values.get("labels")
        try:
            predictions = Predictions.of(
                self.kind, labels, scores, sample_weight=self.values.get("weights"),
                classes=_like_labels(classes, labels), **options,
            )  # fmt: skip
        except ArgumentError as error:
            raise self._named(error) from None
        columns = _NamedColumns(self.columns, self.source.ids)
        return predictions.with_columns(Columns(columns)) if columns else predictions

    def _in_parts(
        self, classes: ArrayLike | None, options: dict[str, Any]
    ) -> PartitionedPredictions:
        if self.kind in _OF_ONE_COLUMN:  # which have no use for some options
            options["priors"] = Predictions.of(self.kind, None, [], **options).given_priors
        known = None if classes is None else [*np.asarray(classes).tolist()]
        columns = ColumnRoles(
            self.labels or "", self.weights, self.kind, self.scores, known, options
        )
        return PartitionedPredictions(ParquetFiles.of(self.files, columns))

    def _named(self, error: ArgumentError) -> ArgumentError:
        """Return an error of the values with the file and the names of the columns."""
        many = len(self._shown) > 1
        names = {
            "scores": "scores" if many else self._shown[0],
            "y_true": self.labels,
            "sample_weight": self.weights,
        }
        name = names.get(error.argument) or error.argument
        problem = error.renamed(name, self._shown if many else ()).problem
        problem += self.source.line_of(error.index)
        if error.value == "nan" and error.argument != "y_true":
            problem += "; an empty cell is nan: write a number there, or remove the row"
        elif error.argument == "scores" and self.kind == "posteriors":
            problem += "; other kinds of scores need kind=..., other columns columns=..."
        if error.argument == "y_true" and error.rule.startswith(_NOT_CLASS_NUMBERS):
            if error.value == "nan":
                problem += "; an empty cell is nan: write a label there, or remove the row"
            else:
                is_word = error.rule.startswith(_NOT_CLASS_NUMBERS[0])
                problem += f"; {'labels in words' if is_word else 'other labels'} need classes=..."
        rule = problem.removeprefix(f"{name} ")
        pass_ = {"nan": "drop"} if error.value == "nan" else {}
        name = f"{self.path}: {name}"
        return ArgumentError(error.argument, rule, error.index, pass_=pass_, name=name)


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table whose column names are known.

    Attributes
    ----------
    path : Path
    names : sequence of str or None
        Names of the columns; None where each is a file of its own.
    load : callable
        Returns the values of a column.
    files : tuple of str
        Parquet files.
    count : callable
        Returns the number of rows of Parquet files.
    texts : frozenset of str
        Names of the columns of Parquet files that hold no numbers.
    as_written : callable, optional
        Returns the text of a column of ids, None where it is empty; by default its values, which
        have a type.
    """

    path: Path
    names: Sequence[str] | None
    load: Callable[[str], NDArray[Any]]
    files: tuple[str, ...] = ()
    count: Callable[[], int] = lambda: 0
    texts: frozenset[str] = frozenset()
    as_written: Callable[[str], NDArray[Any]] | None = None
    text: TextFile | None = None
    rows: NDArray[np.int64] | None = None
    n_left_out: int = 0

    def line_of(self, row: int | None) -> str:
        """Return the line of a text file in which a row is, in brackets."""
        if self.text is None or row is None:
            return ""
        in_file = row if self.rows is None else int(self.rows[row])
        return f" (line {self.text.line_of(in_file)})"

    def __repr__(self) -> str:
        return f"<OpenTable: {self.path}; {shorten(', '.join(self.names or ['one column']))}>"

    def choose(
        self,
        kinds: Mapping[str, ScoreKind],
        columns: Mapping[str, str | Sequence[str] | None],
        labels: str | None,
        weights: str | None,
        others: Mapping[str, Sequence[str]],
        *,
        in_parts: bool | None = None,
        keeps_all: bool = False,
        nan: Literal["error", "drop"] = "error",
    ) -> dict[str, Table]:
        """Return tables of the scores of systems by name, which share the other columns.

        Labels, weights, columns of scores and `nan` are as `fastpsr.read_table` says. `others` are
        named by arguments, which errors name; without any, or if it `keeps_all`, the predictions
        have all columns.
        """
        label = self._find("labels", labels, LABELS)
        weight = self._find("weights", weights, WEIGHTS)
        known = {
            argument: tuple(self._known(argument, name) for name in names)
            for argument, names in others.items()
        }
        more = {name: None for names in known.values() for name in names}
        chosen = {
            name: self._scores(kinds[name], each, label, weight, tuple(more))
            for name, each in columns.items()
        }
        n_columns = sum(map(len, chosen.values())) + 1 + (weight is not None)
        n_bytes = 0 if in_parts is not None else self._size(n_columns, {*more})
        files = self.files if self._are_parts(n_bytes, in_parts) else ()
        if not files and (len(self.files) > 1 or self.path.is_dir()):
            rule = "must be one file, not several or a folder"
            raise ArgumentError("path", rule, name=str(self.path))
        source = self
        if nan == "drop":
            if files:
                rule = "is for tables in memory, and this one is read part by part"
                raise ArgumentError("nan", rule, name=f"{self.path}: nan")
            of_samples = [name for name in (label, weight) if name is not None]
            source = self._without_nan([*of_samples, *sum(chosen.values(), ())])
        of_all: dict[str, NDArray[Any]] = {}
        if not files:
            named = {"labels": label, "weights": weight}
            of_all = {what: source.load(name) for what, name in named.items() if name is not None}
            for name in more:  # an empty cell is an error before anything is computed
                source.ids(name)
        roles = {label, weight, *(name for names in chosen.values() for name in names)}
        further = more if others and not keeps_all else dict.fromkeys(self.names or ())
        no_roles = tuple(name for name in further if name not in roles)
        tables = {}
        for name, each in chosen.items():
            values = of_all if files else of_all | {"scores": source._load_scores(each)}
            table = Table(
                source, kinds[name], each, label, weight, known, files, values,
                no_roles, n_bytes * bool(files),
            )  # fmt: skip
            if files:
                table.require_labels()
                self._check_text(each)
            tables[name] = table
        return tables

    def _without_nan(self, names: Sequence[str]) -> "OpenTable":
        """Return the rows in which no column of `names` is nan or empty."""
        are_nan = [_is_nan(self.load(name)) for name in names]
        if len({mask.size for mask in are_nan}) > 1:  # which is an error of its own
            return self
        rows = np.flatnonzero(~np.logical_or.reduce(are_nan))
        if not rows.size and are_nan[0].size:
            raise ArgumentError("path", "must have a row without nan", name=str(self.path))
        load, as_written = self.load, self.as_written
        return replace(
            self,
            load=lambda name: _without_none(load(name)[rows]),
            as_written=None if as_written is None else lambda name: as_written(name)[rows],
            rows=rows,
            n_left_out=are_nan[0].size - rows.size,
        )

    def _find(self, argument: str, asked: str | None, usual: tuple[str, ...]) -> str | None:
        """Return the requested column, by default the first one with a usual name."""
        if asked is not None:
            return self._known(argument, asked)
        return next((name for name in usual if name in (self.names or ())), None)

    def _known(self, argument: str, name: str) -> str:
        """Return the name of a column; raise if there is no such column."""
        if self.names is None:
            return name
        if name.strip() not in self.names:
            rule = f"has no column {name.strip()!r}; it has {', '.join(self.names)}"
            raise ArgumentError(argument, rule, name=str(self.path))
        return name.strip()

    def _scores(
        self,
        kind: ScoreKind,
        columns: str | Sequence[str] | None,
        label: str | None,
        weight: str | None,
        others: tuple[str, ...],
    ) -> tuple[str, ...]:
        """Return the columns of scores: the requested ones, or all that are nothing else.

        Those of speakers and ids of trials are not scores, and LLRs in Parquet files are in the
        column of this name, if it exists.
        """
        if self.names is None:
            if columns is not None:
                raise ArgumentError("columns", f"names columns, and {self.path} has none")
            return (str(self.path),)
        if columns is not None:
            names = [columns] if isinstance(columns, str) else list(columns)
            if not names or not all(isinstance(name, str) for name in names):
                rule = f"must be names of one column or more, not {names!r}"
                raise ArgumentError("columns", rule)
            asked = tuple(self._known("columns", name) for name in names)
            for what, name in (("labels", label), ("weights", weight)):
                if name in asked:
                    rule = f"must not be the {what}, column {name!r}: name others with columns=..."
                    raise ArgumentError("columns", rule, name=f"{self.path}: scores")
            return asked
        if self.files and kind in _OF_ONE_COLUMN and "llr" in self.names:
            return ("llr",)
        if set(SPEAKER_COLUMNS) <= set(self.names):
            others = (*others, *SPEAKER_COLUMNS, *_ID_COLUMNS)
        chosen = tuple(name for name in self.names if name not in (label, weight, *others))
        if not chosen:
            rule = f"must have a column of scores besides {', '.join(self.names)}"
            raise ArgumentError("columns", rule, name=str(self.path))
        if ending_of(self.path) == ".npz" and len(chosen) > 1:
            rule = f"must name one of the arrays of {self.path}: {', '.join(chosen)}"
            raise ArgumentError("columns", rule)
        return chosen

    def _size(self, n_numbers: int, ids: AbstractSet[str]) -> int:
        """Return about the bytes that an evaluation in memory takes; 0 for several files."""
        if self.files != (str(self.path),):
            return 0
        n_texts = len(ids & self.texts)
        n_bytes = (n_numbers + len(ids) - n_texts) * _WORK_BYTES + n_texts * _TEXT_BYTES
        return self.count() * n_bytes

    def _are_parts(self, n_bytes: int, in_parts: bool | None) -> bool:
        """Whether the table is read part by part, by default where it is large."""
        if in_parts and not self.files:
            raise ArgumentError("in_parts", f"is for Parquet files, not for {self.path}")
        if in_parts is not None or not self.files:
            return bool(in_parts)
        return self.files != (str(self.path),) or n_bytes > memory_budget()

    def ids(self, name: str) -> NDArray[Any]:
        """Return a column of ids; raise if a cell of text is empty."""
        if self.as_written is None:
            return self.load(name)
        column = self.as_written(name)
        rows = [row for row, word in enumerate(column) if word is None]
        if rows:
            line = self.line_of(rows[0]).strip(" ()")
            rule = f"must be written in every row, but is empty in {line}"
            more = "write a word there, such as none, or remove the row"
            raise ArgumentError("path", f"{rule}: {more}", rows[0], name=f"{self.path}: {name}")
        return column

    def _load_scores(self, names: tuple[str, ...]) -> NDArray[Any]:
        parts = [self._numbers(name) for name in names]
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(f"{n} {p.shape}" for n, p in zip(names, parts, strict=True))
            rule = f"must have scores of one length, not {shapes}"
            raise ArgumentError("columns", rule, name=str(self.path))
        return parts[0] if len(parts) == 1 else np.column_stack(parts)

    def _numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers; raise if it has no rows or contains text."""
        column = self.load(name)
        if column.size == 0:
            raise ArgumentError("path", "has no rows", name=str(self.path))
        if column.dtype.kind in "OUS":
            words = [(row, word) for row, word in enumerate(column) if not is_number(word)]
            wrong = [
                (row, word) for row, word in words if not is_number(str(word).replace(",", "."))
            ]
            row, word = next(iter([*wrong, *words, (0, column[0])]))
            where = f"row {row}{self.line_of(row)}"
            raise self._not_numbers(f"column {name!r} holds {str(word)!r} in {where}", row)
        return column

    def _check_text(self, names: Sequence[str]) -> None:
        """Raise if a column of Parquet files is text, before these are read."""
        for name in names:
            if name in self.texts:
                raise self._not_numbers(f"column {name!r} is text")

    def _not_numbers(self, problem: str, row: int | None = None) -> ArgumentError:
        """Return the error of a column of text, which names those of numbers."""
        numbers = [
            name
            for name in self.names or ()
            if name not in (*LABELS, *WEIGHTS) and not self._is_text(name)
        ]
        those = f"; numbers are in {', '.join(numbers)}" * bool(numbers)
        rule = f"must be numbers, but {problem}; name the columns of scores with columns=...{those}"
        return ArgumentError("columns", rule, row, name=f"{self.path}: scores")

    def _is_text(self, name: str) -> bool:
        try:
            return name in self.texts if self.files else self.load(name).dtype.kind in "OUS"
        except ArgumentError:  # numbers that are too large
            return True


class _NamedColumns(Mapping[str, NDArray[Any]]):
    """Columns of a table, which are read when they are accessed."""

    def __init__(self, names: Sequence[str], load: Callable[[str], NDArray[Any]]) -> None:
        self._names, self._load = names, load

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        return self._load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows hold nan, or None."""
    is_nan: NDArray[np.bool_] = np.not_equal(values, values)
    if values.dtype == object:
        is_nan = np.array([value is None or value != value for value in values], bool)
    return np.asarray(is_nan.any(axis=1)) if is_nan.ndim > 1 else is_nan


def _without_none(values: NDArray[Any]) -> NDArray[Any]:
    """Return values, which are none of None, in an array of their type."""
    return np.array(values.tolist()) if values.dtype == object and values.size else values


def _like_labels(classes: Any, labels: NDArray[Any] | None) -> Any:
    """Return classes in words as numbers or booleans, where labels are these and words fit."""
    kind = "O" if labels is None else labels.dtype.kind
    if classes is None or kind not in "biuf" or not all(isinstance(c, str) for c in classes):
        return classes
    if kind == "b":
        values: dict[str, Any] = {"true": True, "false": False}
        return [values.get(word.strip().lower(), word) for word in classes]
    return [float(word) if is_number(word) else word for word in classes]


def is_number(word: object) -> bool:
    """Whether a cell holds a number, or nothing."""
    if word is None:  # an empty cell
        return True
    try:
        float(str(word))
    except ValueError:
        return False
    return True
