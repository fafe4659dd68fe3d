"""Predictions in columns of tables: a source gives tables, and names their columns once."""

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.data.columns import Columns, check_column
from fastpsr.data.labeled import KINDS, Floats, ScoreKind
from fastpsr.data.predictions import Predictions, check_options
from fastpsr.data.sources import Source
from fastpsr.errors import ArgumentError
from fastpsr.frames import class_names_of, require_class_order
from fastpsr.options import with_hints

Names = str | Sequence[str]
_SCORES = ("llrs", "posteriors", "log_posteriors", "logits", "log_likelihoods", "raw_scores")
_P = ParamSpec("_P")
_Result = TypeVar("_Result")


class ColumnNames(TypedDict, total=False):
    """Keywords of functions that read tables."""

    y_true: str
    llrs: str | None
    posteriors: Names | None
    log_posteriors: Names | None
    logits: Names | None
    log_likelihoods: Names | None
    raw_scores: str | None
    prior: float | None
    priors: ArrayLike | None
    sample_weight: str | None
    classes: Sequence[Any] | None
    normalize: bool
    floor: float


_DEFAULTS = dict.fromkeys(ColumnNames.__annotations__) | {
    "y_true": "target", "normalize": False, "floor": 0.0,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ColumnRoles:
    """Columns by role.

    Attributes
    ----------
    y_true : str
    sample_weight : str or None
    what : str
        Kind of the scores: of ``Predictions.of``, or the argument that names them.
    scores : tuple of str
    classes : sequence or None
    options : dict
        Further arguments of the constructor.
    """

    y_true: str
    sample_weight: str | None
    what: str
    scores: tuple[str, ...]
    classes: Sequence[Any] | None
    options: dict[str, Any]

    @classmethod
    def named(cls, **columns: Unpack[ColumnNames]) -> Self:
        """Return the columns that the arguments of :func:`fastpsr.scan_parquet` name."""
        names: Any = _DEFAULTS | columns
        scores = {name: names[name] for name in _SCORES if names[name] is not None}
        if len(scores) > 1:
            raise ArgumentError("scores", f"must be named once, not by {' and '.join(scores)}")
        ((what, of_scores),) = (scores or {"llrs": "llr"}).items()
        options = {name: names[name] for name in ("priors", "normalize", "floor")}
        prior, classes = names["prior"], names["classes"]
        if prior is not None and what != "llrs":
            raise ArgumentError("prior", f"is for llrs: pass priors with {what}")
        if prior is not None:
            options["priors"] = [1.0 - checks.as_number("prior", prior), prior]
        check_options(_kind(what), **options)
        of_scores = (of_scores,) if isinstance(of_scores, str) else tuple(of_scores)
        require_class_order(what, of_scores, classes, takes_names=True)
        return cls(names["y_true"], names["sample_weight"], what, of_scores, classes, options)


def names_columns(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Give a function that takes `ColumnNames` a signature with their names and defaults."""
    signature = inspect.signature(function)
    *parameters, _ = signature.parameters.values()
    keywords = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    positional = parameters[: len(parameters) - len(keywords)]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for (name, default), kind in zip(
            _DEFAULTS.items(), ColumnNames.__annotations__.values(), strict=True
        )
    ]
    with_names = signature.replace(parameters=[*positional, *named, *keywords])
    function.__signature__ = with_names  # type: ignore[attr-defined]
    return with_hints(function)


class TableSource(Source):
    """Predictions in columns of tables; `load` returns pyarrow tables.

    Parameters
    ----------
    schema : pyarrow.Schema
    n_parts : int
    columns : ColumnRoles
    """

    key: Hashable  #: Equal for tables of the same rows.

    def __init__(self, schema: Any, n_parts: int, columns: ColumnRoles) -> None:
        self._schema, self.n_parts = schema, n_parts
        self._options, what = columns.options, columns.what
        y_true, sample_weight, classes = columns.y_true, columns.sample_weight, columns.classes
        self._y_true, self._sample_weight, self._classes = y_true, sample_weight, classes
        self._what, self._kind, self._names = what, _kind(what), list(columns.scores)
        for name in [y_true, *self._names, *([sample_weight] if sample_weight else [])]:
            if name not in schema.names:
                rule = f"must have the column {name!r}; there are: {', '.join(schema.names)}"
                raise ArgumentError("paths", rule)
        self.kind = KINDS[self._kind]
        self._is_list = len(self._names) == 1 and _is_list(schema.field(self._names[0]).type)
        are_rows = self._is_list or len(self._names) > 1
        if self._kind in ("log-posteriors", "log-likelihoods") and not are_rows:
            raise ArgumentError(what, "must be a column of lists, or a column per class")
        if self._kind in ("llrs", "log10 llrs", "raw scores") and are_rows:
            raise ArgumentError(what, "must be one column of numbers")
        self.n_classes = len(self._names) if len(self._names) > 1 else 2
        if self._is_list:
            self.n_classes = self._row_length()
        if classes is not None and len(classes) != self.n_classes:
            raise ArgumentError("classes", f"must list {self.n_classes} labels, not {len(classes)}")
        self.class_names = class_names_of(classes, self.n_classes)
        self.given_priors: Floats | None = columns.options.get("priors")
        if self.given_priors is not None:
            self.given_priors = checks.as_priors("priors", self.given_priors, self.n_classes)
        self.columns = frozenset(schema.names)
        self.kept_columns = self.columns - {y_true, sample_weight, *self._names}

    @property
    def reader(self) -> Hashable:
        return self.key

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        names = set(reads - {"labels", "weights", "scores"})
        if "labels" in reads:
            names.add(self._y_true)
        if "weights" in reads and self._sample_weight:
            names.add(self._sample_weight)
        if "scores" in reads:
            names |= set(self._names)
        for name in sorted(names):
            check_column("data", name, self._schema.names)
        return frozenset(names)

    def build(self, loaded: Any, reads: frozenset[str]) -> Predictions:
        y = self._labels(loaded)
        weights = None
        if self._sample_weight is not None:
            weights = _numbers(loaded, self._sample_weight)
        named = reads - {"labels", "weights", "scores"}
        for name in sorted(named):
            _require_no_null(loaded[name], name)
        of_others = self.kept_columns.intersection(loaded.column_names)
        columns = Columns({name: _Ids(loaded[name]) for name in sorted(named | of_others)})
        scores = self._scores(loaded) if "scores" in reads else None
        try:
            predictions = self._predictions(y, scores, weights).with_columns(columns)
        except ArgumentError as error:
            raise self._by_column(error) from None
        predictions.class_names = self.class_names
        return predictions

    def _predictions(self, y: NDArray[Any], scores: Any, weights: Any) -> Predictions:
        if scores is None:
            shape = (y.size,) if self.n_classes == 2 else (y.size, self.n_classes)
            placeholders = np.broadcast_to(np.float64(0.0), shape)
            return Predictions._make(y, self.kind, placeholders, self.given_priors, weights)
        options = {**self._options, "priors": self.given_priors, "sample_weight": weights}
        return Predictions.of(self._kind, y, scores, **options)

    def _by_column(self, error: ArgumentError) -> ArgumentError:
        """Return an error of the values with the names of the columns that they are from."""
        names = {"y_true": self._y_true, "sample_weight": self._sample_weight or "sample_weight"}
        if error.argument in names:
            return error.renamed(names[error.argument])
        if error.argument != "scores":
            return error
        many = len(self._names) > 1
        return error.renamed(self._what if many else self._names[0], self._names if many else ())

    def _row_length(self) -> int:
        kind = self._schema.field(self._names[0]).type
        size = getattr(kind, "list_size", -1)
        if size > 0:
            return int(size)
        for number in range(self.n_parts):
            column = self.load(number, frozenset(self._names))[self._names[0]]
            if len(column):
                return len(column[0].as_py())
        raise ArgumentError(self._what, "must have a row, to tell the number of classes")

    def _scores(self, loaded: Any) -> NDArray[Any]:
        import pyarrow.compute as pc

        if self._is_list:
            column = loaded[self._names[0]].combine_chunks()
            _require_no_null(column, self._names[0])
            wrong = pc.not_equal(pc.list_value_length(column), self.n_classes)
            if pc.any(wrong).as_py():
                row = pc.index(wrong, True).as_py()
                length = len(column[row].as_py())
                raise ArgumentError(
                    self._what,
                    f"must have {self.n_classes} numbers in every row, not {length}",
                    row,
                )
            flat = column.flatten().to_numpy(zero_copy_only=False)
            return np.asarray(flat).reshape(len(column), self.n_classes)
        columns = [_numbers(loaded, name) for name in self._names]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def _labels(self, loaded: Any) -> NDArray[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        column = loaded[self._y_true]
        _require_no_null(column, self._y_true)
        if self._classes is not None:
            places = pc.index_in(column.cast(column.type), value_set=pa.array(self._classes))
            if places.null_count:
                row = pc.index(pc.is_null(places), True).as_py()
                label = column[row].as_py()
                rule = f"must be one of {list(self._classes)}, not {label!r}"
                raise ArgumentError(self._y_true, rule, row)
            column = places
        elif not (pa.types.is_boolean(column.type) or pa.types.is_integer(column.type)
                  or pa.types.is_floating(column.type)):  # fmt: skip
            raise ArgumentError(
                self._y_true,
                f"must be booleans or integers 0 to {self.n_classes - 1}, not {column.type}: pass "
                "classes=... with the labels in the order of the classes",
            )
        return np.asarray(column.to_numpy())


class _Ids:
    """A column of ids, converted to an array on demand."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import pyarrow as pa

        column = self._column
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            coded = column.combine_chunks().dictionary_encode()
            if column.null_count:
                return np.asarray(column.to_pylist(), object)
            values = np.asarray(coded.dictionary.to_pylist() or [""], dtype=str)
            return np.asarray(values[coded.indices.to_numpy()])
        if pa.types.is_dictionary(column.type):
            return np.asarray(column.cast(column.type.value_type).to_pylist(), dtype=str)
        return np.asarray(column.to_numpy())


def _numbers(loaded: Any, name: str) -> NDArray[Any]:
    column = loaded[name]
    _require_no_null(column, name)
    return np.asarray(column.to_numpy())


def _require_no_null(column: Any, name: str) -> None:
    if column.null_count:
        import pyarrow.compute as pc

        row = pc.index(pc.is_null(column), True).as_py()
        raise ArgumentError(name, "must not be null", row)


def _kind(what: str) -> ScoreKind:
    return cast(ScoreKind, what.replace("_", " " if what == "raw_scores" else "-"))


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)
                or pa.types.is_fixed_size_list(kind))  # fmt: skip
