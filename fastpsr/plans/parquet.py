"""Predictions in the row groups of Parquet files."""

import itertools
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.plans.partitioned import PartitionedPredictions
from fastpsr.plans.sources import Source
from fastpsr.predictions import Floats, Kind, Predictions

__all__ = ["Columns", "TableSource", "scan_parquet"]

_FUSED_BYTES = 1 << 23  # of the columns of a part that tiny row groups are fused to,
_PART_BYTES = 1 << 25  # and of those that a huge one is split into, about
_KINDS: dict[str, Kind] = {
    "posteriors": "posteriors",
    "log_posteriors": "posteriors",
    "logits": "posteriors",
    "log_likelihoods": "likelihoods",
    "llrs": "likelihoods",
    "raw_scores": "raw scores",
}

Names = str | Sequence[str]


def scan_parquet(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    y_true: str = "target",
    llrs: str | None = None,
    posteriors: Names | None = None,
    log_posteriors: Names | None = None,
    logits: Names | None = None,
    log_likelihoods: Names | None = None,
    raw_scores: str | None = None,
    prior: float | None = None,
    priors: ArrayLike | None = None,
    sample_weight: str | None = None,
    classes: Sequence[Any] | None = None,
    normalize: bool = False,
    floor: float = 0.0,
    filters: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> PartitionedPredictions:
    """Return the predictions in Parquet files, which are read part by part.

    Parameters
    ----------
    paths : str or path, or a list of them
        Files, folders of files, or patterns such as ``trials/*.parquet``; with `storage_options`
        URLs that fsspec knows.
    y_true : str
        Column of the labels: booleans, integers 0 to K-1, or the labels listed in `classes`.
    llrs, raw_scores : str, optional
        Column of scores. If no column of scores is named, the default is ``llrs="llr"``.
    posteriors, logits : str or list of str, optional
        Column of class 1 in a binary task, a column of lists of K numbers, or K columns.
    log_posteriors, log_likelihoods : str or list of str, optional
        Column of lists of K numbers, or K columns.
    prior : float, optional
        P(class 1), with `llrs`.
    priors : array-like of float, shape (K,), optional
        Class priors of the evaluation, without `llrs`.
    sample_weight : str, optional
        Column of weights.
    classes : sequence, optional
        Labels in the order of the classes, negative first in binary tasks.
    normalize, floor : optional
        For `posteriors` or `log_posteriors`: see :meth:`Predictions.from_posteriors`.
    filters : pyarrow expression, or list of (column, operator, value), optional
        Rows to select.
    storage_options : dict, optional
        Options of the file system for fsspec.

    Returns
    -------
    PartitionedPredictions
        All other columns are available as ids, by their names.

    Raises
    ------
    ArgumentError
        If no file is found, a column is missing, or several columns of scores are named; when read,
        for nulls and for values that the constructors of ``Predictions`` refuse, with file and row.
    ModuleNotFoundError
        If the extra ``big`` is not installed.

    Notes
    -----
    Row groups are parts: small ones are merged, large ones are split. Only the columns that a
    computation needs are read, and the next part is read while one is processed. Two systems in
    columns of the same files are read together.

    Examples
    --------
    >>> import pathlib, tempfile, fastpsr as fp
    >>> import polars as pl
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> trials = pl.DataFrame({"target": [False, False, True], "llr": [-2.0, 0.5, 1.5]})
    >>> trials.write_parquet(folder / "trials.parquet")
    >>> data = fp.scan_parquet(folder / "trials.parquet")
    >>> len(data), fp.EER()(data)
    (3, 0.0)
    """
    columns = Columns.named(
        y_true, sample_weight, classes, prior, priors, normalize, floor,
        llrs=llrs, posteriors=posteriors, log_posteriors=log_posteriors, logits=logits,
        log_likelihoods=log_likelihoods, raw_scores=raw_scores,
    )  # fmt: skip
    return PartitionedPredictions(TableSource(_Files.of(paths, filters, storage_options), columns))


@dataclass(frozen=True, eq=False)
class Columns:
    """Which columns hold what.

    Attributes
    ----------
    y_true : str
    sample_weight : str or None
    what : str
        What the scores are, as constructors of ``Predictions`` call it: "llrs", ...
    scores : tuple of str
    classes : sequence or None
    options : dict
        What the constructor is given besides.
    """

    y_true: str
    sample_weight: str | None
    what: str
    scores: tuple[str, ...]
    classes: Sequence[Any] | None
    options: dict[str, Any]

    @classmethod
    def named(
        cls,
        y_true: str,
        sample_weight: str | None,
        classes: Sequence[Any] | None,
        prior: float | None,
        priors: ArrayLike | None,
        normalize: bool,
        floor: float,
        **scores: Names | None,
    ) -> "Columns":
        """Return what the arguments of :func:`scan_parquet` name."""
        given = {name: column for name, column in scores.items() if column is not None}
        if len(given) > 1:
            raise ArgumentError("scores", f"must be named once, not by {' and '.join(given)}")
        ((what, names),) = (given or {"llrs": "llr"}).items()
        if prior is not None and what != "llrs":
            raise ArgumentError("prior", f"is for llrs: pass priors with {what}")
        options: dict[str, Any] = {}
        if prior is not None:
            priors = [1.0 - checks.as_number("prior", prior), prior]
        if what != "raw_scores":
            options["priors"] = priors
        elif priors is not None:
            raise ArgumentError("priors", "are not for raw scores, which only rank samples")
        for name, value in (("normalize", normalize), ("floor", floor)):
            if what in ("posteriors", "log_posteriors"):
                options[name] = value
            elif value:
                raise ArgumentError(name, f"is for posteriors, not for {what}")
        columns = (names,) if isinstance(names, str) else tuple(names)
        return cls(y_true, sample_weight, what, columns, classes, options)


@dataclass(frozen=True)
class _Piece:
    """Rows of a row group: all of them, or a range where it is split."""

    fragment: int
    start: int
    stop: int


class _Files:
    """Row groups of files, cut and joined into parts."""

    def __init__(self, key: Hashable, dataset: Any, filters: Any) -> None:
        self.key, self._filters = key, filters
        self.schema = dataset.schema
        self._fragments: list[Any] = []
        self._places: list[tuple[str, int, int]] = []  # file, row group, rows before it
        parts: list[list[_Piece]] = []
        held = 0
        fused_bytes = min(_FUSED_BYTES, _PART_BYTES)
        for fragment in dataset.get_fragments(filter=filters):
            sizes = [group.num_rows for group in fragment.row_groups]
            first_rows = [0, *itertools.accumulate(sizes)]
            for group in fragment.split_by_row_group(filter=filters, schema=dataset.schema):
                info = group.row_groups[0]
                place = len(self._fragments)
                self._fragments.append(group)
                self._places.append((fragment.path, info.id, first_rows[info.id]))
                size = max(info.total_byte_size, 8 * info.num_rows)
                n_pieces = 1  # rows that filters leave are not known
                if filters is None:
                    n_pieces = max(1, min(-(-size // (2 * _PART_BYTES)), info.num_rows))
                bounds = np.linspace(0, info.num_rows, n_pieces + 1).astype(np.int64).tolist()
                pieces = [_Piece(place, a, b) for a, b in itertools.pairwise(bounds)]
                if parts and n_pieces == 1 and held + size <= fused_bytes:
                    parts[-1] += pieces
                    held += size
                else:
                    parts += [[piece] for piece in pieces]
                    held = size if n_pieces == 1 else 2 * _PART_BYTES
        self.parts = parts
        self.n_rows: int | None = None
        if filters is None:
            self.n_rows = sum(piece.stop - piece.start for part in parts for piece in part)
        self._open: tuple[int, int, tuple[str, ...], Iterator[Any]] | None = None

    @classmethod
    def of(cls, paths: Any, filters: Any, storage_options: Mapping[str, Any] | None) -> "_Files":
        try:
            import pyarrow.dataset as ds
            import pyarrow.parquet as pq
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                'Parquet files in parts need pyarrow: pip install "fastpsr[big]"', name=error.name
            ) from None
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        filesystem, found = _found(given, storage_options)
        expression = filters
        if isinstance(filters, (list, tuple)):
            expression = pq.filters_to_expression(filters)
        try:
            dataset = ds.dataset(found, format="parquet", filesystem=filesystem)
        except (ValueError, OSError) as error:  # of pyarrow, which names the file
            raise ArgumentError("paths", f"must be Parquet files: {error}") from error
        options = tuple(sorted((storage_options or {}).items(), key=str))
        files = cls((tuple(found), str(expression), str(options)), dataset, expression)
        if not files.parts:
            raise ArgumentError(
                "paths", f"must have rows, but there are none in {', '.join(found)}"
            )
        return files

    def name_of(self, number: int) -> str:
        """Return the file and the row group that a part begins with."""
        first = self.parts[number][0]
        more = f" and {len(self.parts[number]) - 1} more" if len(self.parts[number]) > 1 else ""
        start = f", from row {first.start:,}" if first.start else ""
        path, group, _ = self._places[first.fragment]
        return f"{path}, row group {group}{start}{more}"

    def name_of_row(self, number: int, row: int) -> str:
        """Return the file, and the number of a row of a part in it."""
        if self._filters is not None:  # rows that are left out are not counted
            return f"row {row:,} after filters of {self.name_of(number)}"
        for piece in self.parts[number]:
            if row < piece.stop - piece.start:
                path, _, before = self._places[piece.fragment]
                return f"{path}, row {before + piece.start + row:,}"
            row -= piece.stop - piece.start
        return self.name_of(number)

    def load(self, number: int, names: frozenset[str]) -> Any:
        """Return columns of a part as a pyarrow table."""
        import pyarrow as pa

        columns = tuple(sorted(names))
        return pa.concat_tables([self._piece(piece, columns) for piece in self.parts[number]])

    def _piece(self, piece: _Piece, columns: tuple[str, ...]) -> Any:
        fragment = self._fragments[piece.fragment]
        if piece.start == 0 and piece.stop == fragment.row_groups[0].num_rows:
            return fragment.to_table(
                columns=list(columns), filter=self._filters, schema=self.schema
            )
        return self._rows(piece, columns)

    def _rows(self, piece: _Piece, columns: tuple[str, ...]) -> Any:
        """Return some rows of a huge row group, which is read on from where the last ended."""
        import pyarrow as pa

        at = 0
        if self._open is not None and self._open[:3] == (piece.fragment, piece.start, columns):
            batches, at = self._open[3], piece.start
        else:
            batches = iter(
                self._fragments[piece.fragment].to_batches(
                    columns=list(columns), schema=self.schema, batch_size=1 << 16,
                    batch_readahead=2, fragment_readahead=0,
                )
            )  # fmt: skip
        self._open = None
        held = []
        while at < piece.stop:
            batch = next(batches)
            begin, end = max(piece.start - at, 0), min(piece.stop - at, batch.num_rows)
            if begin < end:
                held.append(batch.slice(begin, end - begin))
            if at + batch.num_rows > piece.stop:  # what is over belongs to the next piece
                batches = _after(batch.slice(end), batches)
            at += min(batch.num_rows, piece.stop - at)
        self._open = (piece.fragment, piece.stop, columns, batches)
        return pa.Table.from_batches(held)


def _after(batch: Any, batches: Iterator[Any]) -> Iterator[Any]:
    yield batch
    yield from batches


def _found(given: list[Any], storage_options: Mapping[str, Any] | None) -> tuple[Any, list[str]]:
    """Return the file system, and the files that paths, folders and patterns mean, in order."""
    import glob

    urls = [str(path) for path in given]
    if storage_options is not None or any("://" in url for url in urls):
        import fsspec
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        filesystem, _, found = fsspec.get_fs_token_paths(
            urls, storage_options=dict(storage_options or {})
        )
        wrapped = PyFileSystem(FSSpecHandler(filesystem))
        files = [
            file
            for path in found
            for file in (sorted(filesystem.find(path)) if filesystem.isdir(path) else [path])
        ]
    else:
        wrapped, files = None, []
        for url in urls:
            if os.path.isdir(url):
                files += sorted(
                    glob.glob(os.path.join(glob.escape(url), "**", "*.parquet"), recursive=True)
                )
            elif os.path.exists(url):
                files.append(url)
            else:
                files += sorted(glob.glob(url, recursive=True))
    if not files:
        raise ArgumentError(
            "paths", f"must name Parquet files, but there are none: {', '.join(urls)}"
        )
    return wrapped, files


class Tables(Protocol):
    """Tables by the number of their part."""

    schema: Any
    key: Hashable
    n_rows: int | None

    @property
    def parts(self) -> Sequence[Any]:
        """Something for each part."""

    def name_of(self, number: int) -> str:
        """Return what messages call a part."""

    def name_of_row(self, number: int, row: int) -> str:
        """Return what messages call a row of a part."""

    def load(self, number: int, names: frozenset[str]) -> Any:
        """Return columns of a part as a pyarrow table."""


class TableSource(Source):
    """Predictions in columns of tables."""

    def __init__(self, tables: Tables, columns: Columns) -> None:
        self.tables, self._y_true, self._what = tables, columns.y_true, columns.what
        what, y_true, self._names = columns.what, columns.y_true, list(columns.scores)
        sample_weight, classes = columns.sample_weight, columns.classes
        self._sample_weight, self._classes = sample_weight, classes
        self._options = columns.options
        for name in [y_true, *self._names, *([sample_weight] if sample_weight else [])]:
            if name not in tables.schema.names:
                raise ArgumentError(
                    "paths",
                    f"must have the column {name!r}; there are: {', '.join(tables.schema.names)}",
                )
        self.kind = _KINDS[what]
        self.n_parts = len(tables.parts)
        self._is_list = len(self._names) == 1 and _is_list(tables.schema.field(self._names[0]).type)
        if what in ("log_posteriors", "log_likelihoods") and not (
            self._is_list or len(self._names) > 1
        ):
            raise ArgumentError(what, "must be a column of lists, or a column per class")
        if what in ("llrs", "raw_scores") and (self._is_list or len(self._names) > 1):
            raise ArgumentError(what, "must be one column of numbers")
        self.n_classes = len(self._names) if len(self._names) > 1 else 2
        if self._is_list:
            self.n_classes = self._row_length()
        if classes is not None and len(classes) != self.n_classes:
            raise ArgumentError("classes", f"must list {self.n_classes} labels, not {len(classes)}")
        self.given_priors: Floats | None = None
        if columns.options.get("priors") is not None:
            given = columns.options["priors"]
            self.given_priors = checks.as_priors("priors", given, self.n_classes)
        self.columns = frozenset(tables.schema.names)

    @property
    def n_rows(self) -> int | None:
        return self.tables.n_rows

    @property
    def reader(self) -> Hashable:
        return self.tables.key

    def name_of(self, number: int) -> str:
        return self.tables.name_of(number)

    def name_of_row(self, number: int, row: int) -> str:
        return self.tables.name_of_row(number, row)

    def wanted(self, reads: frozenset[str]) -> frozenset[str]:
        names = set(reads - {"labels", "weights", "scores"})
        if "labels" in reads:
            names.add(self._y_true)
        if "weights" in reads and self._sample_weight:
            names.add(self._sample_weight)
        if "scores" in reads:
            names |= set(self._names)
        missing = names - set(self.tables.schema.names)
        if missing:
            have = ", ".join(self.tables.schema.names)
            raise ArgumentError("data", f"must have the column {min(missing)!r}; there are: {have}")
        return frozenset(names)

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        return self.tables.load(number, wanted)

    def build(self, loaded: Any, reads: frozenset[str]) -> tuple[Predictions, Mapping[str, Any]]:
        y = self._labels(loaded)
        weights = None
        if self._sample_weight is not None:
            weights = _numbers(loaded, self._sample_weight)
        columns = {}
        for name in sorted(reads - {"labels", "weights", "scores"}):
            _require_no_null(loaded[name], name)
            columns[name] = _Ids(loaded[name])
        scores = self._scores(loaded) if "scores" in reads else None
        try:
            return self._predictions(y, scores, weights), columns
        except ArgumentError as error:
            raise self._by_column(error) from None

    def _predictions(self, y: NDArray[Any], scores: Any, weights: Any) -> Predictions:
        if scores is None:
            shape = (y.size,) if self.n_classes == 2 else (y.size, self.n_classes)
            return Predictions.without_scores(y, self.kind, shape, self.given_priors, weights)
        options: dict[str, Any] = {**self._options, "sample_weight": weights}
        if "priors" in options:
            options["priors"] = self.given_priors
        if self._what == "llrs":
            priors = options.pop("priors")
            options["prior"] = None if priors is None else float(priors[1])
        made: Predictions = getattr(Predictions, f"from_{self._what}")(y, scores, **options)
        return made

    def _by_column(self, error: ArgumentError) -> ArgumentError:
        """Return an error of the values with the names of the columns that they are from."""
        names = {"y_true": self._y_true, "sample_weight": self._sample_weight or "sample_weight"}
        if error.argument in names:
            return error.renamed(names[error.argument])
        if error.index is None:
            return error
        many = len(self._names) > 1
        return error.renamed(self._what if many else self._names[0], self._names if many else ())

    def _row_length(self) -> int:
        kind = self.tables.schema.field(self._names[0]).type
        size = getattr(kind, "list_size", -1)
        if size > 0:
            return int(size)
        for number in range(self.n_parts):
            column = self.tables.load(number, frozenset(self._names))[self._names[0]]
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
                found = len(column[row].as_py())
                raise ArgumentError(
                    self._what, f"must have {self.n_classes} numbers in every row, not {found}", row
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
                found = column[row].as_py()
                rule = f"must be one of {list(self._classes)}, not {found!r}"
                raise ArgumentError(self._y_true, rule, row)
            column = places
        elif not (pa.types.is_boolean(column.type) or pa.types.is_integer(column.type)
                  or pa.types.is_floating(column.type)):  # fmt: skip
            raise ArgumentError(
                self._y_true,
                f"must be booleans or integers 0 to {self.n_classes - 1}, not {column.type}: pass "
                "classes= with the labels in the order of the classes",
            )
        return np.asarray(column.to_numpy())


class _Ids:
    """A column of ids, which becomes an array when it is asked for."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        import pyarrow as pa

        column = self._column
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            coded = column.combine_chunks().dictionary_encode()
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


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)
                or pa.types.is_fixed_size_list(kind))  # fmt: skip
