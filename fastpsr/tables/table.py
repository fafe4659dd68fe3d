"""Tables: which of their columns are what, and the predictions of these."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.data import PartitionedPredictions, Predictions, ScoreKind
from fastpsr.data.budget import memory_budget
from fastpsr.data.columns import Columns
from fastpsr.data.parquet import ParquetFiles
from fastpsr.data.tables import ColumnRoles
from fastpsr.errors import ArgumentError, counted
from fastpsr.files import ending_of
from fastpsr.frames import require_class_order
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.tables.text import TextFile
from fastpsr.tables.words import as_array, as_ids, as_numbers, as_typed, is_number

#: Usual names of columns of labels and of weights.
LABELS = ("y_true", "label", "labels", "target", "targets")
WEIGHTS = ("sample_weight", "weight", "weights")
#: Columns of the ids of trials, beside those of speakers.
_ID_COLUMNS = ("enroll", "test")
_OF_ONE_COLUMN = ("llrs", "log10 llrs", "raw scores")
_TEXT_BYTES = 100  # per id that is text: a string, and its number
_NOT_CLASS_NUMBERS = ("must be an array of integers", "must be integers")
Names = str | Sequence[str] | None
Roles = Mapping[str, str | None]  # columns by what they are
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
    columns : tuple of str
        Names of those of the predictions; they are read when they are accessed.
    files : tuple of str
        Parquet files that are read part by part; empty for a table in memory.
    n_bytes : int
        About what a file would take in memory that is read part by part because it is too large.
    """

    source: "OpenTable"
    kind: ScoreKind
    scores: tuple[str, ...]
    labels: str | None
    weights: str | None
    others: dict[str, tuple[str, ...]]
    columns: tuple[str, ...]
    files: tuple[str, ...]
    n_bytes: int

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
        name, source = f"{self.path}: scores", self.source
        require_class_order("columns", self._shown, classes, takes_names=True, name=name)
        options: dict[str, Any] = {"priors": priors, "normalize": normalize, "floor": floor}
        if self.files:
            return self._in_parts(classes, options)
        scores = source.scores(self.scores)
        labels = None if self.labels is None else source.values(self.labels)
        weights = None if self.weights is None else source.values(self.weights)
        try:
            predictions = Predictions.of(
                self.kind, labels, scores, sample_weight=weights,
                classes=_like_labels(classes, labels), **options,
            )  # fmt: skip
        except ArgumentError as error:
            raise self._named(error) from None
        names = source.of_length(self.columns, len(predictions))
        columns = Columns({name: _Ids(source.ids, name) for name in names})
        return predictions.with_columns(columns) if names else predictions

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
        many, argument = len(self._shown) > 1, error.argument
        names = {
            "scores": "scores" if many else self._shown[0],
            "y_true": self.labels,
            "sample_weight": self.weights,
        }
        name = names.get(argument) or argument
        problem = error.renamed(name, self._shown if many else ()).problem
        problem += "" if error.index is None else self.source.line_of(error.index)
        remedy = ""
        if error.value == "nan":
            what = "label" if argument == "y_true" else "number"
            remedy = f"an empty cell is nan: write a {what} there, or remove the row"
        elif argument == "scores" and self.kind == "posteriors":
            remedy = "other kinds of scores need kind=..., other columns columns=..."
        elif argument == "y_true" and error.rule.startswith(_NOT_CLASS_NUMBERS):
            is_word = error.rule.startswith(_NOT_CLASS_NUMBERS[0])
            remedy = f"{'labels in words' if is_word else 'other labels'} need classes=..."
        rule = f"{problem}; {remedy}" if remedy else problem
        pass_ = {"nan": "drop"} if error.value == "nan" else {}
        rule, name = rule.removeprefix(f"{name} "), f"{self.path}: {name}"
        return ArgumentError(argument, rule, error.index, pass_=pass_, name=name)


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table whose column names are known.

    Attributes
    ----------
    path : Path
    names : sequence of str or None
        Names of the columns; None where each is a file of its own.
    load : callable
        Returns a column as it is in the file, an array or a series.
    files : tuple of str
        Parquet files.
    count : callable
        Returns the number of rows of Parquet files.
    texts : frozenset of str
        Names of the columns of Parquet files that hold no numbers.
    n_rows : mapping of str to int
        Numbers of rows of arrays, which may differ.
    text : TextFile or None
        The file of columns that are text.
    unclear : mapping of str to ArgumentError
        Columns of this file whose numbers are unclear.
    rows : ndarray or None
        Rows that are not left out.
    n_left_out : int
    """

    path: Path
    names: Sequence[str] | None
    load: Callable[[str], Any]
    files: tuple[str, ...] = ()
    count: Callable[[], int] = lambda: 0
    texts: frozenset[str] = frozenset()
    n_rows: Mapping[str, int] = field(default_factory=dict)
    text: TextFile | None = None
    unclear: Mapping[str, ArgumentError] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = None
    n_left_out: int = 0
    _values: dict[str, NDArray[Any]] = field(default_factory=dict, init=False)

    # Columns

    def column(self, name: str) -> Any:
        """Return a column as it is in the file, an array or a series."""
        column = self.load(name)
        return column if self.rows is None else column[self.rows]

    def values(self, name: str) -> NDArray[Any]:
        """Return a column as an array; text as numbers or booleans, where all words are such."""
        if name not in self._values:
            if name in self.unclear:
                raise self.unclear[name]
            column = self.column(name)
            values = as_numbers(self.text, column) if self.text else as_array(column)
            self._values[name] = values
        return self._values[name]

    def ids(self, name: str) -> NDArray[Any]:
        """Return a column as an array; text as it is written, None where it is empty."""
        column = self.column(name)
        return as_array(as_ids(column) if self.text else column)

    def written(self, name: str, *, as_text: bool) -> Any:
        """Return a column as it is in the file; numbers in text as such, unless text is written."""
        column = self.column(name)
        return as_typed(column) if self.text and not as_text else column

    def scores(self, names: Sequence[str]) -> NDArray[Any]:
        """Return columns of numbers side by side."""
        parts = [self._numbers(name) for name in names]
        if len({part.shape for part in parts}) > 1:
            shapes = ", ".join(f"{n} {p.shape}" for n, p in zip(names, parts, strict=True))
            rule = f"must have scores of one length, not {shapes}"
            raise ArgumentError("columns", rule, name=str(self.path))
        return parts[0] if len(parts) == 1 else np.column_stack(parts)

    def _numbers(self, name: str) -> NDArray[Any]:
        """Return a column of numbers; raise if it has no rows or contains text."""
        values = self.values(name)
        if values.size == 0:
            raise ArgumentError("path", "has no rows", name=str(self.path))
        if values.dtype.kind in "OUS":
            words = [(row, str(word)) for row, word in enumerate(values) if not is_number(word)]
            words = words or [(0, str(values[0]))]
            row, word = min(words, key=lambda item: is_number(item[1].replace(",", ".")))
            where = f"row {row}{self.line_of(row)}"
            raise self._not_numbers(f"column {name!r} holds {word!r} in {where}", row)
        return values

    def _not_numbers(self, problem: str, row: int | None = None) -> ArgumentError:
        """Return the error of a column of text, which names those of numbers."""
        usual = (*LABELS, *WEIGHTS)
        names = [n for n in self.names or () if n not in usual and not self._is_text(n)]
        those = f"; numbers are in {', '.join(names)}" * bool(names)
        rule = f"must be numbers, but {problem}; name the columns of scores with columns=...{those}"
        return ArgumentError("columns", rule, row, name=f"{self.path}: scores")

    def _is_text(self, name: str) -> bool:
        try:
            return name in self.texts if self.files else self.values(name).dtype.kind in "OUS"
        except ArgumentError:  # numbers that are too large
            return True

    def line_of(self, row: int) -> str:
        """Return the line of a text file in which a row is, in brackets."""
        if self.text is None:
            return ""
        in_file = row if self.rows is None else int(self.rows[row])
        return f" (line {self.text.line_of(in_file)})"

    def of_length(self, names: Iterable[str], n: int) -> list[str]:
        """Return the names of columns with so many rows, those left out not counted."""
        n += self.n_left_out
        return [name for name in names if self.n_rows.get(name, n) == n]

    def _without_nan(self, names: Sequence[str]) -> "OpenTable":
        """Return the rows in which no column of `names` is nan or empty."""
        are_nan = [_is_nan(self.values(name)) for name in names]
        if len({mask.size for mask in are_nan}) > 1:  # which is an error of its own
            return self
        rows = np.flatnonzero(~np.logical_or.reduce(are_nan))
        if not rows.size and are_nan[0].size:
            raise ArgumentError("path", "must have a row without nan", name=str(self.path))
        return replace(self, rows=rows, n_left_out=are_nan[0].size - rows.size)

    def _require_ids(self, name: str) -> None:
        """Raise if a cell of text is empty."""
        empty = [] if self.text is None else np.flatnonzero(_is_nan(self.ids(name))).tolist()
        if empty:
            row = empty[0]
            rule = f"must be written in every row, but is empty in row {row}{self.line_of(row)}"
            more = "write a word there, such as none, or remove the row"
            raise ArgumentError("path", f"{rule}: {more}", row, name=f"{self.path}: {name}")

    # Their choice

    def choose(
        self,
        kinds: Mapping[str, ScoreKind],
        columns: Mapping[str, Names],
        labels: str | None,
        weights: str | None,
        others: Mapping[str, Sequence[str]],
        *,
        in_parts: bool | None = None,
        nan: Literal["error", "drop"] = "error",
        labeled: bool = True,
    ) -> dict[str, Table]:
        """Return tables of the scores of systems by name, which share the other columns.

        Unless `labeled`, labels and weights are columns beside the scores, like all others.

        Labels, weights, columns of scores and `nan` are as `fastpsr.read_table` says. `others` are
        named by arguments, which errors name; without any, the predictions have all columns.
        """
        if not labeled:  # those of the training data may be named
            labels, weights = (n if n in (self.names or ()) else None for n in (labels, weights))
        label = self._find("labels", labels, LABELS)
        weight = self._find("weights", weights, WEIGHTS)
        known = {
            argument: tuple(self._known(argument, name) for name in names)
            for argument, names in others.items()
        }
        ids = tuple(dict.fromkeys(sum(known.values(), ())))
        of_samples = {"labels": label, "weights": weight}
        scores = {
            name: self._scores(kinds[name], chosen, of_samples, ids)
            for name, chosen in columns.items()
        }
        if not labeled:
            label = weight = None
            of_samples = {}
        all_scores = tuple(dict.fromkeys(sum(scores.values(), ())))
        roles = [*all_scores, *(name for name in of_samples.values() if name is not None)]
        files, n_bytes = self._parts(in_parts, len(roles), {*ids})
        source = self
        if files:
            if nan == "drop":
                rule = "is for tables in memory, and this one is read part by part"
                raise ArgumentError("nan", rule, name=f"{self.path}: nan")
            if texts := [name for name in all_scores if name in self.texts]:
                raise self._not_numbers(f"column {texts[0]!r} is text")
        else:
            source = self._without_nan(roles) if nan == "drop" else self
            for name in ids:  # raises before anything is computed
                source._require_ids(name)
        names = ids if others else self.names or ()
        further = tuple(name for name in names if others or name not in roles)
        return {
            name: Table(source, kinds[name], own, label, weight, known, further, files, n_bytes)
            for name, own in scores.items()
        }

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
        self, kind: ScoreKind, columns: Names, of_samples: Roles, ids: Sequence[str]
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
            chosen = tuple(self._known("columns", name) for name in names)
            for what, name in of_samples.items():
                if name in chosen:
                    rule = f"must not be the {what}, column {name!r}: name others with columns=..."
                    raise ArgumentError("columns", rule, name=f"{self.path}: scores")
        elif self.files and kind in _OF_ONE_COLUMN and "llr" in self.names:
            chosen = ("llr",)
        else:
            if set(SPEAKER_COLUMNS) <= set(self.names):
                ids = (*ids, *SPEAKER_COLUMNS, *_ID_COLUMNS)
            others = {*of_samples.values(), *ids}
            chosen = tuple(name for name in self.names if name not in others)
            if not chosen:
                rule = f"must have a column of scores besides {', '.join(self.names)}"
                raise ArgumentError("columns", rule, name=str(self.path))
            if ending_of(self.path) == ".npz" and len(chosen) > 1:
                rule = f"must name one of the arrays of {self.path}: {', '.join(chosen)}"
                raise ArgumentError("columns", rule)
        if kind in _OF_ONE_COLUMN and len(chosen) > 1:
            kind_of_one = kind.removesuffix(" scores").removesuffix("s").replace(" ", "-")
            rule = f"must be one column, not {len(chosen)} ({', '.join(chosen)})"
            name = f"{self.path}: {kind_of_one} scores"
            raise ArgumentError("columns", f"{rule}; say which with columns=...", name=name)
        return chosen

    def _parts(
        self, in_parts: bool | None, n_numbers: int, ids: set[str]
    ) -> tuple[tuple[str, ...], int]:
        """Return the files that are read part by part, by default several, or one too large.

        The number is about the bytes that an evaluation of that one in memory takes, else 0.
        """
        if in_parts and not self.files:
            raise ArgumentError("in_parts", f"is for Parquet files, not for {self.path}")
        n_bytes = 0
        if in_parts is None and self.files == (str(self.path),):
            n_texts = len(ids & self.texts)
            n_numbers += len(ids) - n_texts
            n_bytes = self.count() * (n_numbers * _WORK_BYTES + n_texts * _TEXT_BYTES)
            in_parts = n_bytes > memory_budget()
        if in_parts or in_parts is None:
            return self.files, n_bytes
        if len(self.files) > 1 or self.path.is_dir():
            rule = "must be one file, not several or a folder"
            raise ArgumentError("path", rule, name=str(self.path))
        return (), 0


class _Ids:
    """A column of ids, which is read when it is used."""

    def __init__(self, load: Callable[[str], NDArray[Any]], name: str) -> None:
        self._load, self._name = load, name

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._load(self._name)


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows hold nan, or None."""
    is_nan = np.asarray(values != values)
    if values.dtype == object:
        is_nan = is_nan | np.array([value is None for value in values], bool)
    return is_nan if is_nan.ndim < 2 else np.asarray(is_nan.any(axis=1))


def _like_labels(classes: Any, labels: NDArray[Any] | None) -> Any:
    """Return classes in words as numbers or booleans, where labels are these and words fit."""
    kind = "O" if labels is None else labels.dtype.kind
    if classes is None or kind not in "biuf" or not all(isinstance(c, str) for c in classes):
        return classes
    if kind == "b":
        values: dict[str, Any] = {"true": True, "false": False}
        return [values.get(word.strip().lower(), word) for word in classes]
    return [float(word) if is_number(word) else word for word in classes]
