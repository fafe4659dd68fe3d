"""Join a key and scores of any size into one Parquet file, in bounded memory."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError
from fastpsr.files import check_place, whole_file
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.optional import polars, pyarrow
from fastpsr.trials.by_id import Files as MetadataFiles
from fastpsr.trials.by_id import Metadata
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.key_and_scores import (
    KeyAndScores,
    Policies,
    Rows,
    check_classes,
    check_ids,
    settle,
)
from fastpsr.trials.joining.on_disk import ParquetWriter, Spill
from fastpsr.trials.read import AnyPath, Progress, open_lists
from fastpsr.trials.roles import Label, Request
from fastpsr.trials.speakers import SpeakerFinder, Speakers, taken_as_conditions
from fastpsr.trials.trial_file import Feed, RowsRead, TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_PIECE_BYTES = 1 << 24
_FIRST_BYTES = 1 << 16
_BUCKETS_OF_HASHES = 256
_SHARE = 8  # of the budget that the ids of a bucket of both lists take, which the join multiplies


@dataclass(frozen=True)
class JoinedFile:
    """Result of a join: the file and its content.

    Attributes
    ----------
    path : str
        The file.
    n_trials, n_targets : int
        Rows, and how many of them are targets.
    columns : tuple of str
        Names in the file.
    scores : dict of str
        Column of each score file, by its path.
    in_order : dict of bool
        By path, whether each score file lists the trials in the order of the key.
    notes : tuple of str
        Messages on how the columns of each file were interpreted, and what was left out.
    """

    path: str
    n_trials: int
    n_targets: int
    columns: tuple[str, ...]
    scores: dict[str, str]
    in_order: dict[str, bool]
    notes: tuple[str, ...]


def join(
    key: AnyPath | Sequence[AnyPath] | Mapping[Label, AnyPath],
    scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath],
    output: AnyPath,
    *,
    key_format: str | None = None,
    format: str | None = None,
    metadata: MetadataFiles | None = None,
    speakers: Speakers | None = None,
    missing: Literal["error", "drop"] = "error",
    extra: Literal["error", "ignore"] = "error",
    duplicates: Literal["error", "first", "count"] = "error",
    nan: Literal["error", "drop"] = "error",
    progress: Progress | None = None,
) -> JoinedFile:
    r"""Join a trial key and score files of any size into one Parquet file.

    Parameters
    ----------
    key : path, list of paths, or dict of label to path
        The key, or several that make one. A dict has the ids of the trials "target" and
        "nontarget" in a file each, without labels.
    scores : path, list of paths, or dict of name to path
        A score file of each system.
    output : path
        The Parquet file to write. After an error it is not created.
    key_format, format, metadata, speakers
        As for :func:`fastpsr.trials.read`; columns of speakers are those of the key or metadata.
    missing, extra, duplicates, nan
        As for :func:`fastpsr.trials.read`. With several systems, a trial that is left out of one is
        left out of all.
    progress : callable, optional
        Called with (name of the step, rows done, approximate total number of rows).

    Returns
    -------
    JoinedFile

    Raises
    ------
    ValueError
        As :func:`fastpsr.trials.read`: if a file is invalid, or if key and scores do not match.
    OSError
        If the disk is full or cannot be written to.

    Notes
    -----
    Columns are ``target`` (boolean), the scores (``llr`` for one system; for several the name, or
    that of the file without its ending), ``enroll``, ``test``, ``enroll_speaker`` and
    ``test_speaker`` where speakers are known, and the other columns of the key. Rows are in the
    order of the key. :func:`fastpsr.scan_parquet` reads it.

    Scores in the key's order are joined as both are read, which compares all ids. Others are joined
    bucket by bucket of their ids, through temporary files beside `output`. Memory is bounded by
    ``FASTPSR_MEMORY`` and what the libraries take, about 0.3 GB; speakers are held by id.

    Examples
    --------
    >>> import pathlib, tempfile, fastpsr as fp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "key").write_text("ann a target\nann b nontarget\nbob b target\n")
    >>> _ = (folder / "scores").write_text("bob b 1.5\nann b -3\nann a 2.5\n")
    >>> done = join(folder / "key", folder / "scores", folder / "trials.parquet")
    >>> done.n_trials, done.columns
    (3, ('target', 'llr', 'enroll', 'test'))
    >>> fp.EER()(fp.scan_parquet(folder / "trials.parquet"))
    0.0
    """
    policies = Policies(missing, extra, duplicates, nan)
    recordings, finder = Metadata(metadata), SpeakerFinder.of(speakers)
    polars(), pyarrow()
    paths = _by_column(scores)
    check_place(output)
    of_key, of_scores = Request.of("key", key_format, "key_format"), Request.of("scores", format)
    key_file, files = open_lists(key, [*paths.values()], of_key, of_scores)
    assert key_file is not None
    for path in (path for file in (key_file, *files) for path in file.paths):
        if os.path.realpath(path) == os.path.realpath(output):
            raise ArgumentError("output", f"must not be an input too: {output}")
    for argument, file in (("key", key_file), *(("scores", file) for file in files)):
        _check_input(argument, file)
    _column_names([*paths], key_file, recordings, finder)  # which may be refused

    def tell(file: TrialFile) -> RowsRead | None:
        return None if progress is None else partial(progress, f"reading {file.path}")

    with whole_file(Path(output)) as part, ExitStack() as stack, _both_interrupts():
        n_bytes = max(memory_budget() // (_SHARE * (len(paths) + 1)), _FIRST_BYTES)

        def spill() -> Spill:
            return stack.enter_context(closing(Spill(part.parent, n_bytes)))

        systems = [
            _System(name, file, KeyAndScores(key_file, file, policies), spill())
            for name, file in zip(paths, files, strict=True)
        ]
        joining = _Joining(key_file, systems, tell, spill)
        if not joining.in_order():
            for system in systems:
                system.join = KeyAndScores(key_file, system.file, policies)
                system.scores = spill()
            joining.by_buckets()
        verdicts = {str(system.file.path): system.join.verdict() for system in systems}
        left_out = settle(str(key_file.path), verdicts)
        columns = _column_names([*paths], key_file, recordings, finder)
        n_rows, n_targets = joining.write(part, columns, recordings, finder)
    return JoinedFile(
        str(output),
        n_rows,
        n_targets,
        tuple(columns),
        {str(system.file.path): system.name for system in systems},
        {str(system.file.path): system.in_order for system in systems},
        (key_file.notes, *(f.notes for f in files), *left_out, *_on_speakers(finder, columns)),
    )


@dataclass(eq=False)
class _System:
    """A score file, the name of its column, whether it is in the key's order, and its join.

    `scores` are those of rows of the key, in a bucket for each block of the key.
    """

    name: str
    file: TrialFile
    join: KeyAndScores
    scores: Spill
    in_order: bool = True


@dataclass(eq=False)
class _Joining:
    """The passes over the files of one join.

    Attributes
    ----------
    tell : callable
        Returns what is called with the rows of a file that were read, or None.
    spill : callable
        Returns an empty place for rows.
    """

    key: TrialFile
    systems: Sequence[_System]
    tell: Callable[[TrialFile], RowsRead | None]
    spill: Callable[[], Spill]
    heights: list[int] = field(default_factory=list)  # of the blocks of the key

    def __post_init__(self) -> None:
        sided = all("side" in file.roles for file in (self.key, *(s.file for s in self.systems)))
        self._ids = ["enroll", "test", *(["side"] if sided else [])]
        self._n_bytes = min(_PIECE_BYTES, max(memory_budget() // 64, _FIRST_BYTES))

    def in_order(self) -> bool:
        """Join each system as long as it is in the key's order.

        Returns whether all are to the end, and no trial of the key repeats.
        """
        feeds = {system: Feed(self._parts(system.file)) for system in self.systems}
        hashes, n_targets = self.spill(), 0
        for block in self._parts(self.key):
            self.heights.append(block.height)
            n_targets += int(block["label"].sum())
            numbers = block[self._ids].hash_rows().alias("hash")
            hashes.add(numbers.to_frame(), numbers % _BUCKETS_OF_HASHES)
            for system, feed in [*feeds.items()]:
                scores = feed.take(block.height)
                if scores is not None and scores[self._ids].equals(block[self._ids]):
                    self._keep(system, block, scores, system.join.join_in_order(block, scores))
                else:
                    del feeds[system]
        check_classes(self.key.path, n_targets, self.key.n_rows)
        for system in self.systems:
            system.in_order = system in feeds and feeds[system].take(1) is None
        if not all(system.in_order for system in self.systems):
            return False
        buckets = (hashes.take(bucket) for bucket in range(_BUCKETS_OF_HASHES))
        return all(some.is_empty() or some["hash"].n_unique() == some.height for some in buckets)

    def by_buckets(self) -> None:
        """Join all rows whose ids have a hash in the same bucket, one bucket after the other."""
        n_bytes = self._size_of(self.key) + max(self._size_of(s.file) for s in self.systems)
        n_buckets = round(n_bytes * _SHARE) // memory_budget() + 1

        def spilled(file: TrialFile) -> Spill:
            rows = self.spill()
            for part in self._parts(file):
                rows.add(part, part[self._ids].hash_rows() % n_buckets)
            return rows

        of_key = spilled(self.key)
        for system in self.systems:
            with closing(spilled(system.file)) as of_scores:
                for bucket in range(n_buckets):
                    key, scores = of_key.take(bucket), of_scores.take(bucket)
                    if key.height or scores.height:
                        self._keep(system, key, scores, system.join.join(key, scores))
            system.join.check_common()

    def write(
        self,
        path: Path,
        columns: Sequence[str],
        recordings: Metadata,
        finder: SpeakerFinder | None,
    ) -> tuple[int, int]:
        """Write the rows of the key that have a score of every system.

        Returns their number, and that of targets.
        """
        pl, n_targets, first = polars(), 0, 0
        with closing(ParquetWriter(path)) as writer, _both_interrupts():
            blocks = self.key.frames(self._n_bytes, progress=self.tell(self.key))
            for number, (block, height) in enumerate(zip(blocks, self.heights, strict=True)):
                if block.height != height:
                    raise ValueError("the files changed while they were read")
                named = {"target": block["label"], "enroll": block["enroll"], "test": block["test"]}
                named |= {name[1:]: block[name] for name in block.columns if name.startswith(":")}
                for system in self.systems:
                    score = np.full(height, np.nan)
                    rows = system.scores.take(number)
                    score[rows["row"].to_numpy() - first] = rows["score"].to_numpy()
                    named[system.name] = pl.Series(score)
                has_scores = (pl.col(system.name).is_not_nan() for system in self.systems)
                frame = pl.DataFrame(named).filter(*has_scores)
                ids = [Coded.of(frame[side]) for side in ("enroll", "test")]
                frame = frame.with_columns(**recordings.columns_of(ids))
                if finder is not None:
                    frame = finder.add_to(frame)
                n_targets += int(frame["target"].sum())
                writer.add(frame.select(columns))
                first += height
            writer.finish()
        if finder is not None:
            finder.check()
        if writer.n_rows == 0:
            for system in self.systems:
                system.join.check_numbers()
            raise ValueError(f"{self.key.path}: no trial has a score of every system")
        return writer.n_rows, n_targets

    def _keep(
        self, system: _System, key: "DataFrame", scores: "DataFrame", joined: tuple[Rows, Rows]
    ) -> None:
        """Keep the scores of joined rows of two parts by the block of the key."""
        pl, (of_key, of_scores) = polars(), joined
        rows = key["row"].to_numpy()[of_key]
        frame = pl.DataFrame({"row": rows, "score": scores["score"].to_numpy()[of_scores]})
        blocks = np.searchsorted(np.cumsum(self.heights), rows, "right")
        system.scores.add(frame, pl.Series(blocks))

    def _parts(self, file: TrialFile) -> "Iterator[DataFrame]":
        """Yield the rows of a file as a join takes them."""
        values = [role for role in ("label", "score") if role in file.roles]
        n_rows = 0
        for frame in file.frames(self._n_bytes, progress=self.tell(file)):
            yield frame.select(*self._ids, *values).with_row_index("row", n_rows)
            n_rows += frame.height

    def _size_of(self, file: TrialFile) -> float:
        """Return about how many bytes all ids of a file take, by its first rows."""
        n_rows = 0

        def tell(_: int, out_of: int) -> None:
            nonlocal n_rows
            n_rows = out_of

        frame = next(file.frames(_FIRST_BYTES, progress=tell))
        return float(frame.select(self._ids).estimated_size() / frame.height * n_rows)


def _both_interrupts() -> nullcontext[None]:
    """Return a block in which Ctrl-C ends, inside of one that cleans up.

    While polars works, Ctrl-C raises KeyboardInterrupt twice: in polars, and in the next line of
    Python, wherever that is. This is the end of this block, so that the clean-up is not stopped.
    """
    return nullcontext()


def _by_column(scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]) -> dict[str, AnyPath]:
    """Return score files by the names of their columns."""
    if isinstance(scores, Mapping):
        named = dict(scores)
    else:
        paths = [scores] if isinstance(scores, str | os.PathLike) else list(scores)
        seen: set[str] = set()
        for path in paths:
            real = os.path.realpath(path)
            if real in seen:
                raise ArgumentError("scores", f"must name each file once, but name {path} again")
            seen.add(real)
        named = {"llr": paths[0]} if len(paths) == 1 else _names_of_columns(paths)
    if not named:
        raise ArgumentError("scores", "must name at least one file")
    return named


_OWN_NAMES = ("target", "enroll", "test", *SPEAKER_COLUMNS)


def _names_of_columns(paths: Sequence[AnyPath]) -> dict[str, AnyPath]:
    """Name each by its stem, or by the whole path where this is another's or taken."""
    stems = [Path(Path(path).name.removesuffix(".gz")).stem for path in paths]
    return {
        str(path) if stem in _OWN_NAMES or stems.count(stem) > 1 else stem: path
        for stem, path in zip(stems, paths, strict=True)
    }


def _column_names(
    names: Sequence[str], key: TrialFile, recordings: Metadata, finder: SpeakerFinder | None
) -> list[str]:
    """Return the names of the file's columns, or raise where two are alike."""
    recordings.check_names(key.conditions)
    others = [*key.conditions, *recordings.columns]
    if finder is not None:
        finder.check_columns(others)
    speakers = [] if finder is None else SPEAKER_COLUMNS
    own = ["target", *names, "enroll", "test", *speakers]
    named = () if finder is None else finder.columns or ()  # may have the names of the result's
    conditions = [name for name in others if not (name in speakers and name in named)]
    columns = [*own, *conditions]
    for name in columns:
        if columns.count(name) > 1:
            raise ValueError(
                f"names of columns must differ, but two of the result are {name!r}: "
                f"{', '.join(columns)}"
            )
    return columns


def _check_input(argument: str, file: TrialFile) -> None:
    if file.n_held > memory_budget():
        raise ValueError(
            f"{file.path} must be a regular file in UTF-8, as other text is held in memory and "
            f"this has {file.n_held:,} bytes: save it so, or raise FASTPSR_MEMORY"
        )
    has_ids = {"enroll", "test"} <= {*file.roles}
    check_ids(argument, file.path, file.format, has_ids=has_ids)


def _on_speakers(finder: SpeakerFinder | None, columns: Sequence[str]) -> tuple[str, ...]:
    if finder is not None:
        return (finder.note,)
    if {*SPEAKER_COLUMNS} <= {*columns}:  # which are speakers to those who read
        return ()
    return taken_as_conditions(columns)
