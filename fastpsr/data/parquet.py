"""Predictions in the row groups of Parquet files."""

import itertools
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, Unpack

import numpy as np

from fastpsr.data.partitioned import PartitionedPredictions
from fastpsr.data.tables import ColumnNames, ColumnRoles, TableSource, names_columns
from fastpsr.errors import ArgumentError
from fastpsr.files import files_of

_FUSED_BYTES = 1 << 23  # of the columns of a part that tiny row groups are fused to,
_PART_BYTES = 1 << 25  # and of those that a huge one is split into, about


@names_columns
def scan_parquet(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    filters: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    **columns: Unpack[ColumnNames],
) -> PartitionedPredictions:
    """Return the predictions in Parquet files, read part by part.

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
    roles = ColumnRoles.named(**columns)
    return PartitionedPredictions(ParquetFiles.of(paths, roles, filters, storage_options))


@dataclass(frozen=True)
class _Piece:
    """Rows of a row group: all rows, or a range of a split group."""

    fragment: int
    start: int
    stop: int


class ParquetFiles(TableSource):
    """Predictions in row groups of files, cut and joined into parts."""

    def __init__(self, key: Hashable, dataset: Any, columns: ColumnRoles, filters: Any) -> None:
        self.key, self._filters = key, filters
        self._fragments: list[Any] = []
        self._places: list[tuple[str, int, int]] = []  # file, row group, rows before it
        parts: list[list[_Piece]] = []
        n_bytes = 0
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
                if parts and n_pieces == 1 and n_bytes + size <= fused_bytes:
                    parts[-1] += pieces
                    n_bytes += size
                else:
                    parts += [[piece] for piece in pieces]
                    n_bytes = size if n_pieces == 1 else 2 * _PART_BYTES
        self.parts = parts
        if filters is None:
            self.n_rows = sum(piece.stop - piece.start for part in parts for piece in part)
        self._open: tuple[int, int, tuple[str, ...], Iterator[Any]] | None = None
        super().__init__(dataset.schema, len(parts), columns)

    @classmethod
    def of(
        cls,
        paths: Any,
        columns: ColumnRoles,
        filters: Any = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Self:
        try:
            import pyarrow.dataset as ds
            import pyarrow.parquet as pq
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                'Parquet files in parts need pyarrow: pip install "fastpsr[big]"', name=error.name
            ) from None
        path_list = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        filesystem, expanded = _expand(path_list, storage_options)
        expression = filters
        if isinstance(filters, (list, tuple)):
            expression = pq.filters_to_expression(filters)
        try:
            dataset = ds.dataset(expanded, format="parquet", filesystem=filesystem)
        except (ValueError, OSError) as error:  # of pyarrow, which names the file
            raise ArgumentError("paths", f"must be Parquet files: {error}") from error
        options = tuple(sorted((storage_options or {}).items(), key=str))
        key = tuple(expanded), str(expression), str(options)
        files = cls(key, dataset, columns, expression)
        if not files.parts:
            raise ArgumentError(
                "paths", f"must have rows, but there are none in {', '.join(expanded)}"
            )
        return files

    def name_of(self, number: int) -> str:
        first = self.parts[number][0]
        more = f" and {len(self.parts[number]) - 1} more" if len(self.parts[number]) > 1 else ""
        start = f", from row {first.start:,}" if first.start else ""
        path, group, _ = self._places[first.fragment]
        return f"{path}, row group {group}{start}{more}"

    def name_of_row(self, number: int, row: int) -> str:
        if self._filters is not None:  # rows that are left out are not counted
            return f"row {row:,} after filters of {self.name_of(number)}"
        for piece in self.parts[number]:
            if row < piece.stop - piece.start:
                path, _, before = self._places[piece.fragment]
                return f"{path}, row {before + piece.start + row:,}"
            row -= piece.stop - piece.start
        return self.name_of(number)

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        import pyarrow as pa

        columns = tuple(sorted(wanted))
        return pa.concat_tables([self._piece(piece, columns) for piece in self.parts[number]])

    def _piece(self, piece: _Piece, columns: tuple[str, ...]) -> Any:
        fragment = self._fragments[piece.fragment]
        if piece.start == 0 and piece.stop == fragment.row_groups[0].num_rows:
            return fragment.to_table(
                columns=list(columns), filter=self._filters, schema=self._schema
            )
        return self._rows(piece, columns)

    def _rows(self, piece: _Piece, columns: tuple[str, ...]) -> Any:
        """Return some rows of a huge row group; reading continues after the last ones."""
        import pyarrow as pa

        at = 0
        if self._open is not None and self._open[:3] == (piece.fragment, piece.start, columns):
            batches, at = self._open[3], piece.start
        else:
            batches = iter(
                self._fragments[piece.fragment].to_batches(
                    columns=list(columns), schema=self._schema, batch_size=1 << 16,
                    batch_readahead=2, fragment_readahead=0,
                )
            )  # fmt: skip
        self._open = None
        slices = []
        while at < piece.stop:
            batch = next(batches)
            begin, end = max(piece.start - at, 0), min(piece.stop - at, batch.num_rows)
            if begin < end:
                slices.append(batch.slice(begin, end - begin))
            if at + batch.num_rows > piece.stop:  # what is over belongs to the next piece
                batches = itertools.chain([batch.slice(end)], batches)
            at += min(batch.num_rows, piece.stop - at)
        self._open = (piece.fragment, piece.stop, columns, batches)
        return pa.Table.from_batches(slices)


def _expand(given: list[Any], storage_options: Mapping[str, Any] | None) -> tuple[Any, list[str]]:
    """Return the file system, and the files that paths, folders and patterns mean, in order."""
    urls = [str(path) for path in given]
    if storage_options is not None or any("://" in url for url in urls):
        import fsspec
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        filesystem, _, paths = fsspec.get_fs_token_paths(
            urls, storage_options=dict(storage_options or {})
        )
        wrapped = PyFileSystem(FSSpecHandler(filesystem))
        files = [
            file
            for path in paths
            for file in (sorted(filesystem.find(path)) if filesystem.isdir(path) else [path])
        ]
    else:
        wrapped, files = None, [file for url in urls for file in files_of(url)]
    if not files:
        raise ArgumentError(
            "paths", f"must name Parquet files, but there are none: {', '.join(urls)}"
        )
    return wrapped, files
