"""Predictions in the partitions of a Dask data frame, counted where they are."""

import contextlib
import copy
import os
import sys
import tempfile
from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import ArrayLike

from fastpsr.errors import ArgumentError
from fastpsr.kernels.blocks import serially
from fastpsr.plans import PartitionedPredictions
from fastpsr.plans.parquet import TableSource, chosen_columns
from fastpsr.plans.reading import Reading
from fastpsr.plans.tree import Tree

__all__ = ["from_dask"]

Names = str | Sequence[str]


def from_dask(
    frame: Any,
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
) -> PartitionedPredictions:
    """Return the predictions in a Dask data frame, to be counted partition by partition.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Rows must come in the same order each time it is computed; ``frame.persist()`` keeps them.
    y_true, llrs, posteriors, log_posteriors, logits, log_likelihoods, raw_scores, prior, priors, \
sample_weight, classes
        As for :func:`fastpsr.scan_parquet`.

    Returns
    -------
    PartitionedPredictions
        All other columns are there as ids, by their names.

    Raises
    ------
    ArgumentError
        Where a column is missing, or several columns of scores are named; when computed, where
        partitions come in another order of rows than before.
    ModuleNotFoundError
        Without the extra ``big``.

    Notes
    -----
    Runs on whatever scheduler is active. Kernels run serially within a partition, and are compiled
    once per node. Results have the same bits for any number of workers.

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
    what, column, priors = chosen_columns(
        llrs=llrs, posteriors=posteriors, log_posteriors=log_posteriors, logits=logits,
        log_likelihoods=log_likelihoods, raw_scores=raw_scores, prior=prior, priors=priors,
    )  # fmt: skip
    schema = pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False)
    partitions = _Partitions(frame, schema)
    source = _DaskSource(partitions, y_true, what, column, priors, sample_weight, classes)
    return PartitionedPredictions(source)


class _Partitions:
    """The partitions of a frame, as tables."""

    def __init__(self, frame: Any, schema: Any) -> None:
        self.frame, self.schema = frame, schema
        self.key: Hashable = ("dask", frame._name)
        self.parts = range(frame.npartitions)
        self.n_rows: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the frame behind: workers are given its partitions."""
        return {**self.__dict__, "frame": None}

    def name_of(self, number: int) -> str:
        """Return what messages call a partition."""
        return f"partition {number}"

    def name_of_row(self, number: int, row: int) -> str:
        """Return what messages call a row of a partition."""
        return f"partition {number}, row {row:,}"

    def load(self, number: int, names: frozenset[str]) -> Any:
        """Return columns of a partition as a table, here."""
        return self.table(self.frame[sorted(names)].partitions[number].compute())

    @staticmethod
    def table(partition: Any) -> Any:
        """Return a partition as a pyarrow table."""
        import pyarrow as pa

        return pa.Table.from_pandas(partition, preserve_index=False)


class _DaskSource(TableSource):
    """Predictions in columns of a frame, counted by the active scheduler."""

    hint_if_changed = ": rows must keep their order; use frame.persist()"

    def counts(self, reading: Reading) -> list[Any]:
        """Return the accumulators of all steps."""
        return _count(reading)


def _count(reading: Reading) -> list[Any]:
    """Count partitions where they are, and join what comes of them in the tree that memory has."""
    from dask.base import compute
    from dask.delayed import delayed

    partitions: dict[Hashable, Any] = {}
    for source in reading.sources:
        if not isinstance(source, _DaskSource):
            raise ArgumentError("predictions", "must all be in Dask data frames, or none")
        if source.reader not in partitions:
            assert isinstance(source.tables, _Partitions)
            frame = source.tables.frame[sorted(reading.wanted[source.reader])]
            partitions[source.reader] = frame.to_delayed()
    readers = list(partitions)
    work = delayed(reading, pure=False)
    n_steps = len(reading.steps)
    in_turn = [p for p in range(n_steps) if reading.steps[p].parts_per_run > 1]
    apart = [p for p in range(n_steps) if p not in in_turn]
    join = delayed(_join, pure=False)
    trees = {
        which: Tree(partial(join, work, which)) for which in (tuple(apart), tuple(in_turn)) if which
    }
    count = delayed(_count_partition, pure=False, nout=3)
    seen, before, run = [], None, -1
    for number in reading.numbers:
        if in_turn and reading.run_of(in_turn[0], number) != run:
            if before is not None:
                trees[tuple(in_turn)].add(run, before)
            before, run = None, reading.run_of(in_turn[0], number)
        tables = [partitions[reader][number] for reader in readers]
        own, before, found = count(work, number, apart, in_turn, before, readers, tables)
        if apart:
            trees[tuple(apart)].add(number, own)
        seen.append(found)
    if before is not None and in_turn:
        trees[tuple(in_turn)].add(run, before)
    roots = {which: tree.total() for which, tree in trees.items()}
    *totals, checksums = compute(*roots.values(), seen)  # type: ignore[no-untyped-call]
    reading.check_seen(checksums)
    answers: list[Any] = [None] * n_steps
    for which, total in zip(roots, totals, strict=True):
        for place, accumulator in zip(which, total or [None] * len(which), strict=True):
            answers[place] = accumulator
    return answers


def _count_partition(
    reading: Reading,
    number: int,
    apart: list[int],
    in_turn: list[int],
    before: list[Any] | None,
    readers: list[Hashable],
    tables: list[Any],
) -> tuple[list[Any], list[Any], Any]:
    """Return accumulators of a partition, those of its run so far, and checksums of its scores."""
    with _once_per_node(), serially():
        loaded = {
            reader: _Partitions.table(table) for reader, table in zip(readers, tables, strict=True)
        }
        raws = reading.parts(number, loaded)
        reading.prepare()
        made: dict[int, Any] = {}
        own = [reading.count(place, None, raws, made) for place in apart]
        held = copy.deepcopy(before) or [None] * len(in_turn)  # another attempt may need it, too
        held = [reading.count(p, h, raws, made) for p, h in zip(in_turn, held, strict=True)]
        return own, held, reading.seen(number)


def _join(reading: Reading, which: tuple[int, ...], one: list[Any], other: list[Any]) -> list[Any]:
    one = copy.deepcopy(one)  # another attempt may need it, too
    return [reading.join(place, a, b) for place, a, b in zip(which, one, other, strict=True)]


_is_warm = False


@contextlib.contextmanager
def _once_per_node() -> Iterator[None]:
    """Let one process of a machine compile at a time; the others find its code in the cache."""
    global _is_warm
    if _is_warm:
        yield
        return
    folder = os.path.join(
        tempfile.gettempdir(), f"fastpsr-{os.getuid() if hasattr(os, 'getuid') else 0}"
    )
    os.makedirs(folder, exist_ok=True)
    if "numba" not in sys.modules:  # a cache on a disk of its own, not one that all nodes share
        os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(folder, "numba"))
    with open(os.path.join(folder, "compiling"), "w") as lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        except (ImportError, OSError):  # not on this system: each compiles by itself
            pass
        yield
    _is_warm = True
