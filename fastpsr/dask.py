"""Predictions in the partitions of a Dask data frame, processed on the workers."""

import contextlib
import copy
import importlib
import io
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Hashable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from fastpsr.data import PartitionedPredictions
from fastpsr.data.reading import Reading, Tree
from fastpsr.data.sources import naming
from fastpsr.data.tables import ColumnNames, ColumnRoles, TableSource, names_columns
from fastpsr.errors import ArgumentError
from fastpsr.kernels.blocks import on_threads

__all__ = ["from_dask"]


@names_columns
def from_dask(
    frame: Any,
    **columns: Unpack[ColumnNames],
) -> PartitionedPredictions:
    """Return the predictions in a Dask data frame, processed partition by partition.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows must come in the same order each time it is computed; ``frame.persist()`` keeps them.
    y_true, llrs, posteriors, log_posteriors, logits, log_likelihoods, raw_scores, prior, priors, \
sample_weight, classes, normalize, floor
        As for :func:`fastpsr.scan_parquet`.

    Returns
    -------
    PartitionedPredictions
        All other columns are available as ids, by their names.

    Raises
    ------
    ArgumentError
        If a column is missing, or several columns of scores are named; when computed, if the rows
        of a partition are in another order than before.
    ModuleNotFoundError
        If the extra ``big`` is not installed.

    Notes
    -----
    The active scheduler is used. Kernels run serially within a partition, and are compiled once per
    node. Results are identical for any number of workers. If a worker is lost, its partitions are
    processed again.

    Examples
    --------
    >>> import fastpsr as fp
    >>> import pandas as pd, dask.dataframe as dd
    >>> trials = pd.DataFrame({"target": [False, False, True, True], "llr": [-2.0, 0.5, 0.0, 3.0]})
    >>> data = fp.from_dask(dd.from_pandas(trials, npartitions=2))
    >>> round(fp.Cllr()(data), 4)
    0.6646
    """
    try:
        import dask.dataframe as dd
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'Dask data frames need dask and pyarrow: pip install "fastpsr[big]"', name=error.name
        ) from None
    if not isinstance(frame, dd.DataFrame):
        raise ArgumentError("frame", f"must be a Dask DataFrame, not {type(frame).__name__}")
    schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    return PartitionedPredictions(_Partitions(frame, schema, ColumnRoles.named(**columns)))


class _Partitions(TableSource):
    """Predictions in the partitions of a frame, counted by the active scheduler."""

    hint_if_changed = ": rows must keep their order; use frame.persist()"

    def __init__(self, frame: Any, schema: Any, columns: ColumnRoles) -> None:
        self.frame = frame
        self.key: Hashable = ("dask", frame._name)
        self._delayed: dict[frozenset[str], list[Any]] = {}
        super().__init__(schema, frame.npartitions, columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out data that can be rebuilt."""
        return {**self.__dict__, "_delayed": {}}

    def delayed(self, names: frozenset[str]) -> list[Any]:
        """Return columns of each partition, to be computed.

        Dask's own `to_delayed` joins partitions of Parquet files as fewer columns are read of them.
        """
        if names not in self._delayed:
            columns = self.frame[sorted(names)]
            for frame in (columns.simplify(), columns, self.frame):
                partitions = frame.to_delayed(optimize_graph=False)
                if len(partitions) == self.n_parts:
                    break
            else:
                raise ArgumentError("frame", "must keep its partitions; use frame.persist()")
            self._delayed[names] = partitions
        return self._delayed[names]

    def name_of(self, number: int) -> str:
        return f"partition {number}"

    def name_of_row(self, number: int, row: int) -> str:
        return f"partition {number}, row {row:,}"

    def load(self, number: int, wanted: frozenset[str]) -> Any:
        return self.table(self.delayed(wanted)[number].compute())

    def counts(self, reading: Reading) -> list[Any]:
        """Count partitions on their workers, and merge the results in the tree order of memory."""
        from dask import config
        from dask.base import compute
        from dask.delayed import delayed

        partitions: dict[Hashable, Any] = {}
        frames = []
        for source in reading.sources:
            if not isinstance(source, _Partitions):
                raise ArgumentError("predictions", "must all be in Dask data frames, or none")
            frames.append(source.frame)
            if source.reader not in partitions:
                partitions[source.reader] = source.delayed(reading.wanted[source.reader])
        readers = list(partitions)
        work = delayed(_Work(reading, frames), pure=False)
        n_steps = len(reading.steps)
        tree = Tree(partial(delayed(_join, pure=False), work))
        count = delayed(_count_partition, pure=False, nout=2)
        seen = []
        for number in reading.numbers:
            tables = [partitions[reader][number] for reader in readers]
            accumulators, checksums = count(work, number, readers, tables)
            tree.add(number, accumulators)
            seen.append(checksums)
        with contextlib.suppress(ImportError):  # its defaults first: set before, they would be lost
            importlib.import_module("distributed.config")
        try:
            with config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                # steps may hold all scores of a small class: sent once, as tasks that can be redone
                total, checksums_of_parts = compute(tree.total(), seen)  # type: ignore[no-untyped-call]
        except Exception as error:
            is_named = isinstance(error, ArgumentError) and error.argument == "data"
            library = type(error).__module__.partition(".")[0]
            if not (is_named or library in ("distributed", "concurrent", "asyncio")):
                _name_partition(reading, partitions)
            raise
        reading.check_seen(checksums_of_parts)
        return total or [None] * n_steps

    @staticmethod
    def table(partition: Any) -> Any:
        """Return a partition as a pyarrow table."""
        import pyarrow as pa

        return pa.Table.from_pandas(partition, preserve_index=False)


class _Work:
    """A reading for workers: it travels without the frames, whose partitions they are given."""

    def __init__(self, reading: Reading, frames: Iterable[Any]) -> None:
        self.reading = reading
        self._frames = list(frames)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle

        left_out = {id(frame) for frame in self._frames}

        class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
            def persistent_id(self, one: Any) -> str | None:
                return "frame" if id(one) in left_out else None

        payload = io.BytesIO()
        Pickler(payload, protocol=pickle.HIGHEST_PROTOCOL).dump(self.reading)
        return _work_of, (payload.getvalue(),)


def _work_of(payload: bytes) -> _Work:
    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: str) -> None:
            return None

    return _Work(Unpickler(io.BytesIO(payload)).load(), ())


def _name_partition(reading: Reading, partitions: dict[Hashable, Any]) -> None:
    """Raise for the first partition that cannot be computed, if any."""
    from dask.delayed import delayed

    for number in reading.numbers:
        for source in reading.sources:
            with naming(source, number):
                delayed(len, pure=False)(partitions[source.reader][number]).compute()


def _count_partition(
    work: _Work, number: int, readers: list[Hashable], tables: list[Any]
) -> tuple[list[Any], list[int | None]]:
    """Return the accumulators of a partition, and checksums of its scores."""
    reading = work.reading
    kernels = {
        (type(step), *((data.kind, data.n_classes) for data in of_step))
        for step, of_step in zip(reading.steps, reading.data, strict=True)
    }
    with on_threads(1), _once_per_node(kernels if any(map(len, tables)) else set()):
        reading.prepare()
        loaded = {r: _Partitions.table(t) for r, t in zip(readers, tables, strict=True)}
        raws = reading.parts(number, loaded)
        mapped_parts: dict[int, Any] = {}
        accumulators = [
            reading.count(place, None, raws, mapped_parts) for place in range(len(reading.steps))
        ]
    return accumulators, reading.seen(number)


def _join(work: _Work, total: list[Any], more: list[Any]) -> list[Any]:
    total = copy.deepcopy(total)  # another attempt may need it, too
    pairs = zip(total, more, strict=True)
    return [work.reading.join(place, a, b) for place, (a, b) in enumerate(pairs)]


_warm: set[Hashable] = set()


@contextlib.contextmanager
def _once_per_node(kernels: set[Any]) -> Iterator[None]:
    """Let one process of a machine compile at a time; the others find its code in the cache."""
    if kernels <= _warm:
        yield
        return
    folder = _local_folder()
    if folder is None:
        yield
    else:
        with open(folder / "compiling", "w") as lock:
            with contextlib.suppress(ImportError, OSError):  # not there: each compiles by itself
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    _warm.update(kernels)


def _local_folder() -> Path | None:
    """Return a folder of this user on a disk of this machine, after pointing Numba's cache there.

    The cache stays with the package where that is on the same disk, and where Numba is already
    loaded.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"fastpsr-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        is_local = Path(__file__).stat().st_dev == status.st_dev
    except OSError:
        return None
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != user):
        return None  # someone else's: code must not be loaded from there
    if "numba" not in sys.modules and not is_local:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(folder / "numba"))
    return folder
