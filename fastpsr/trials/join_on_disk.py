"""Join a key and scores of any size into one Parquet file, in bounded memory."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.files import check_place, whole_file
from fastpsr.kernels.blocks import thread_count
from fastpsr.plans.budget import memory_budget
from fastpsr.trials.mismatch import Sides, nothing_in_common, why_ids_differ
from fastpsr.trials.optional import duckdb, polars, pyarrow
from fastpsr.trials.policies import Findings, Policies, Trials
from fastpsr.trials.reading import open_file
from fastpsr.trials.repeats import Repeats, hashes_of
from fastpsr.trials.request import Label, Request, Wanted
from fastpsr.trials.speakers import SPEAKER_COLUMNS, SpeakerFinder, taken_as_conditions
from fastpsr.trials.trial_file import TrialFile, TrialFiles
from fastpsr.wording import counted

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["JoinedFile", "join"]

AnyPath = str | os.PathLike[str]
Progress = Callable[[str, int, int], object]
Mask = NDArray[np.bool_]

_MOST_IDS = 1_000_000  # of a side, to find out why ids differ
_GROUP_ROWS = 10**6
_BYTES_PER_ROW = 300  # of a row group, while it is made
_PIECE_BYTES = 1 << 24
_BYTES_PER_THREAD = 1 << 28  # of DuckDB: threads sort and join in memory of their own
_EXAMPLES = 3


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
    taken : tuple of str
        Messages on how the columns of each file were interpreted, and what was left out.
    """

    path: str
    n_trials: int
    n_targets: int
    columns: tuple[str, ...]
    scores: dict[str, str]
    in_order: dict[str, bool]
    taken: tuple[str, ...]


def join(
    key: AnyPath | Sequence[AnyPath] | Mapping[Label, AnyPath],
    scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath],
    output: AnyPath,
    *,
    key_format: str | None = None,
    score_format: str | None = None,
    key_columns: Mapping[str, str] | None = None,
    score_columns: Mapping[str, str] | None = None,
    speakers: AnyPath | Mapping[str, str] | None = None,
    speaker_columns: tuple[str, str] | None = None,
    speaker_pattern: str | tuple[str, str] | None = None,
    missing: Literal["error", "drop"] = "error",
    extra: Literal["error", "ignore"] = "error",
    duplicates: Literal["error", "first"] = "error",
    nan: Literal["error", "drop"] = "error",
    progress: Progress | None = None,
) -> JoinedFile:
    r"""Join a trial key and score files, text of any size, into one Parquet file.

    Parameters
    ----------
    key : path, list of paths, or dict of label to path
        The key, or several that make one; text, may be compressed by gzip. A dict has the ids of
        the trials "target" and "nontarget" in a file each, without labels.
    scores : path, list of paths, or dict of name to path
        A score file of each system.
    output : path
        The Parquet file to write. After an error it is not created.
    key_format, score_format, key_columns, score_columns
        As for :func:`fastpsr.trials.read`.
    speakers : path or mapping of str to str, optional
        Speaker of each id: a file of lines ``id speaker``, or a mapping.
    speaker_columns : pair of str, optional
        Columns of the key with the speakers of models and segments.
    speaker_pattern : str or pair of str, optional
        Regular expression that is searched in each id; its first group, or else the whole match, is
        the speaker.
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
    by DuckDB, in files of a folder beside `output` that is removed. Memory is bounded by
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
    polars(), pyarrow()
    budget = memory_budget()
    piece = min(_PIECE_BYTES, max(budget // 64, 1 << 16))
    paths = _named(scores)
    check_place(output)
    keys, labels = _with_labels(key)
    for path in (*keys, *paths.values()):
        if os.path.realpath(path) == os.path.realpath(output):
            raise ArgumentError("output", f"must not be an input too: {output}")
    wanted: Wanted = "key" if labels[0] is None else "pairs"
    files = [
        _opened(path, Request(wanted, key_format, key_columns or {}, label=label, prefix="key_"))
        for path, label in zip(keys, labels, strict=True)
    ]
    of_key = files[0] if len(files) == 1 else TrialFiles(files)
    request = Request("scores", score_format, score_columns or {}, prefix="score_")
    systems = [System(name, _opened(path, request)) for name, path in paths.items()]
    finder = SpeakerFinder.of(speakers, speaker_columns, speaker_pattern)
    if finder is not None:
        finder.check_columns(of_key.conditions)
    with _Workshop(Path(output), budget) as workshop:
        job = _Job(of_key, systems, finder, policies, workshop, Path(output), progress, piece)
        return job.run()


def _opened(path: AnyPath, request: Request) -> TrialFile:
    file = open_file(path, request)
    if file.n_held > memory_budget():
        raise ValueError(
            f"{path} must be a regular file, as text of a pipe is held in memory and this has "
            f"{file.n_held:,} bytes: save it, or raise FASTPSR_MEMORY"
        )
    if "enroll" not in file.roles or "test" not in file.roles:
        raise ValueError(f"{path}: {file.format} has no ids of trials to join on")
    return file


def _with_labels(
    key: AnyPath | Sequence[AnyPath] | Mapping[Label, AnyPath],
) -> tuple[list[AnyPath], list[Label | None]]:
    """Return the files of the key, and the label of all trials of each, None for labels in it."""
    if isinstance(key, Mapping):
        if {*key} != {"target", "nontarget"}:
            found = ", ".join(map(repr, key)) or "none"
            raise ArgumentError("key", f"must have files of 'target' and 'nontarget', not {found}")
        return [*key.values()], [*key]
    keys = [key] if isinstance(key, str | os.PathLike) else [*key]
    if not keys:
        raise ArgumentError("key", "must name at least one file")
    return keys, [None] * len(keys)


def _named(scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]) -> dict[str, AnyPath]:
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
    """Name each by its stem; where these are alike or taken by its name, or more of its path."""

    def candidates(path: AnyPath) -> Iterator[str]:
        parts = Path(path).parts
        name = parts[-1].removesuffix(".gz")
        yield Path(name).stem
        yield parts[-1]
        for n in range(2, len(parts) + 1):
            yield "/".join(parts[-n:])
        yield os.path.realpath(path)

    choices = [list(candidates(path)) for path in paths]
    chosen = [0] * len(paths)
    while True:
        names = [choice[k] for choice, k in zip(choices, chosen, strict=True)]
        again = [
            place for place, name in enumerate(names)
            if (names.count(name) > 1 or name in _OWN_NAMES)
            and chosen[place] + 1 < len(choices[place])
        ]  # fmt: skip
        if not again:
            return dict(zip(names, paths, strict=True))
        for place in again:
            chosen[place] += 1


@dataclass
class _Found:
    """Rows of one kind that do not fit: how many, and the first."""

    count: int = 0
    rows: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def see(self, mask: Mask, rows: Any, ids: "DataFrame", roles: Sequence[str]) -> None:
        """Add rows of a frame; `rows` are their numbers, of one or as an array."""
        places = np.flatnonzero(mask)
        self.count += places.size
        for place in places[: _EXAMPLES - len(self.rows)].tolist():
            self.rows.append(int(rows[place]))
            self.names.append(" ".join(str(ids[role][place]) for role in roles))


@dataclass(eq=False)
class System:
    """A score file, and what was found of it."""

    name: str
    file: TrialFile
    in_order: bool = True
    missing: _Found = field(default_factory=_Found)
    nan: _Found = field(default_factory=_Found)
    labels: _Found = field(default_factory=_Found)
    n_matched: int = 0

    def forget(self) -> None:
        """Begin anew."""
        self.missing, self.nan, self.labels, self.n_matched = _Found(), _Found(), _Found(), 0


class _Job:
    """One join."""

    def __init__(
        self,
        key: TrialFile,
        systems: Sequence[System],
        finder: SpeakerFinder | None,
        policies: Policies,
        workshop: "_Workshop",
        output: Path,
        progress: Progress | None,
        piece: int,
    ) -> None:
        self.piece = workshop.piece = piece
        self.key, self.systems, self.finder = key, systems, finder
        self.policies, self.workshop, self.output = policies, workshop, output
        self.progress = progress
        sided = "side" in key.roles and all("side" in s.file.roles for s in systems)
        self.ids = ["enroll", "test", *(["side"] if sided else [])]
        self.columns = _column_names(key, systems, finder)

    def run(self) -> JoinedFile:
        """Join while reading; where a file is in another order, or trials repeat, on disk."""
        with whole_file(self.output) as part:
            repeated = self._attempt(part)
            if repeated is not None:
                self._on_disk(part, repeated)
            if self.written.n_rows == 0:
                raise ValueError(self._why_nothing())
        names = {str(s.file.path): s.name for s in self.systems}
        orders = {str(s.file.path): s.in_order for s in self.systems}
        taken = (self.key.notes, *(s.file.notes for s in self.systems), *self.notes)
        if self.finder is not None:
            taken = (*taken, self.finder.note)
        elif not {*SPEAKER_COLUMNS} <= {*self.columns}:  # which are speakers to those who read
            taken = (*taken, *taken_as_conditions(self.columns, "speaker_columns={}"))
        return JoinedFile(
            str(self.output), self.written.n_rows, self.written.n_targets, tuple(self.columns),
            names, orders, taken,
        )  # fmt: skip

    def _attempt(self, part: Path) -> NDArray[np.uint64] | None:
        """Write the file if all files are in one order and nothing repeats.

        Else return hashes of the trials of the key that may repeat, if that is known by then.
        """
        repeats = self.workshop.repeats("key")
        sources = {
            s: _InOrder(s.file, self.ids, self.piece) for s in self.systems
        }  # dropped at the first difference
        self._write(part, sources, False, lambda frame: repeats.add(self._hashes(frame)))
        if not all(s.in_order for s in self.systems):
            return np.zeros(0, np.uint64)
        found = repeats.find()
        if found.size:
            return found
        self._judge({}, {})
        return None

    def _on_disk(self, part: Path, repeated: NDArray[np.uint64]) -> None:
        """Join what is in another order by DuckDB, and find what repeats."""
        shop = self.workshop
        shuffled = [s for s in self.systems if not s.in_order]
        if shuffled:
            repeated = shop.load("key", self.key, self.ids, self._tell)
            for k, system in enumerate(shuffled):
                found = shop.load(f"scores{k}", system.file, self.ids, self._tell)
                shop.find_again(f"scores{k}", system.file, self.ids, found, "score")
        in_key = shop.find_again("key", self.key, self.ids, repeated, "label")
        again: dict[System, str] = {}
        for k, system in enumerate(self.systems):
            if system.in_order:
                shop.find_again(f"ordered{k}", system.file, self.ids, repeated, "score")
                again[system] = f"ordered{k}"
        tables: dict[System, str] = {}
        for k, system in enumerate(shuffled):
            again[system] = tables[system] = f"scores{k}"
            n_matched = shop.match(f"scores{k}", self.ids)
            if n_matched == 0:
                raise ValueError(self._nothing_in_common(system, f"scores{k}"))
        sources = {
            s: _InOrder(s.file, self.ids, self.piece) if s.in_order else _Matched(shop, tables[s])
            for s in self.systems
        }
        for system in self.systems:
            system.forget()
        orders = [system.in_order for system in self.systems]
        self._write(part, sources, in_key > 0, None)
        if orders != [system.in_order for system in self.systems if system in sources]:
            raise ValueError("the files changed while they were read")
        self._judge(again, tables)

    def _write(
        self,
        part: Path,
        sources: "dict[System, Any]",
        with_again: bool,
        see: "Callable[[DataFrame], None] | None",
    ) -> None:
        """Go over the key and the scores of all systems, and write while nothing is wrong."""
        pl = polars()
        with _Writer(part, self.workshop.group_rows) as writer:
            self.written = writer
            self.n_key_targets = 0
            if self.finder is not None:
                self.finder.start()
            first = 0
            for block in self.key.frames(
                self.piece, with_conditions=True, progress=self._tell(self.key)
            ):
                n = block.height
                rows = np.arange(first, first + n)
                again = np.zeros(n, bool)
                if with_again:
                    found = self.workshop.rows_between("again_key", "row", first, first + n)
                    again[found["row"] - first] = True
                first += n
                if see is not None:
                    see(block)
                is_target = block["label"].to_numpy()
                self.n_key_targets += int(is_target.sum())
                keep = ~again
                values = {}
                for system, source in list(sources.items()):
                    got = source.take(block)
                    if got is None:
                        system.in_order = False
                        del sources[system]
                        continue
                    values[system.name] = got.score
                    keep &= self._see(system, got, block, rows, ~again, is_target)
                if not sources:
                    return
                if len(sources) < len(self.systems) or self._has_errors():
                    continue  # what is written would not be kept
                frame = pl.DataFrame(
                    {
                        "target": block["label"],
                        **{name: pl.Series(score) for name, score in values.items()},
                        "enroll": block["enroll"],
                        "test": block["test"],
                    }
                    | {name: block[f":{name}"] for name in self.key.conditions}
                )
                if not keep.all():
                    frame = frame.filter(pl.Series(keep))
                if self.finder is not None:
                    frame = self.finder.add_to(frame)
                writer.add(frame.select(self.columns))
            for system, source in sources.items():
                if not source.is_at_end():
                    system.in_order = False

    def _see(
        self,
        system: System,
        got: "_Slice",
        block: "DataFrame",
        rows: NDArray[np.int64],
        first: Mask,
        is_target: Mask,
    ) -> Mask:
        """Note what does not fit among some rows of the key, and return those that do."""
        present = first & got.present
        system.n_matched += int(present.sum())
        if not got.present.all():
            system.missing.see(first & ~got.present, rows, block, self.ids)
        is_nan = np.isnan(got.score)
        if is_nan.any():
            system.nan.see(present & is_nan, got.rows, block, self.ids)
        if got.label is not None:
            other = present & (got.label != is_target)
            if other.any():
                system.labels.see(other, got.rows, block, self.ids)
        return np.asarray(present & ~is_nan)

    def _has_errors(self) -> bool:
        policies = self.policies
        return any(
            (s.missing.count and policies.missing == "error")
            or (s.nan.count and policies.nan == "error")
            or s.labels.count
            for s in self.systems
        )

    def _judge(self, again: Mapping[System, str], tables: Mapping[System, str]) -> None:
        """Raise what does not fit and is not allowed; keep what was left out, in words."""
        n, n_targets = self.key.n_rows, self.n_key_targets
        for count, noun in ((n_targets, "targets"), (n - n_targets, "non-targets")):
            if count == 0:
                raise ValueError(
                    f"{self.key.path}: there are no {noun} among {counted(n, 'trial')}"
                )
        shop, notes = self.workshop, []
        errors: list[tuple[str, str]] = []
        allowing: dict[str, str] = {}
        for system in self.systems:
            found = Findings(self.policies)

            def add(file: TrialFile, what: _Found, *words: str, found: Findings = found) -> None:
                names = dict(zip(what.rows, what.names, strict=True))
                found.add_some(
                    Trials([names], file.where if file.has_places else None),
                    what.count,
                    what.rows,
                    *words,
                )

            if again:
                differ, same = shop.again("key", self.ids)
                add(self.key, differ, "duplicate trial", "in the key with another label")
                add(self.key, same, "duplicate trial", "in the key", "duplicates")
                differ, same = shop.again(again[system], self.ids)
                add(system.file, differ, "duplicate score", "with another value", "duplicates")
                add(system.file, same, "duplicate score", "with the same value", "duplicates")
            add(self.key, system.missing, "trial", "without a score", "missing")
            if system in tables:
                unused = shop.unused(tables[system], self.ids)
                add(system.file, unused, "score", "of no trial in the key", "extra")
            add(system.file, system.nan, "nan score", "", "nan")
            add(system.file, system.labels, "label", "of the scores unlike the key's")
            if found.errors:
                n_trials = system.n_matched + system.missing.count
                why = partial(self._why, tables[system]) if system in tables else str
                found.few(system.n_matched, n_trials, why)
                both = f"{self.key.path} and {system.file.path}"
                errors.append((both, f"do not fit: {'; '.join(found.errors)}"))
                allowing |= found.allowing
            of = f"{system.file.path}: " if len(self.systems) > 1 else ""
            notes += [f"{of}{note}" for note in found.notes]
        if errors:
            (name, rule), *others = errors
            rule = "; ".join([rule, *map(" ".join, others)])
            raise ArgumentError("scores", rule, pass_=allowing, name=name)
        if self.finder is not None:
            self.finder.check()
        self.notes = tuple(notes)

    def _why_nothing(self) -> str:
        for system in self.systems:
            if system.nan.count == system.n_matched:
                return f"{system.file.path}: all scores of trials in the key are nan"
        return f"{self.key.path}: no trial has a score of every system"

    def _nothing_in_common(self, system: System, table: str) -> str:
        paths = str(self.key.path), str(system.file.path)
        firsts = self.workshop.first("key"), self.workshop.first(table)
        return nothing_in_common(paths, firsts, self._why(table))

    def _why(self, table: str) -> str:
        """Return why the ids of a table differ from the key's, "" where that is not known."""
        return why_ids_differ(self.workshop.sides("key"), self.workshop.sides(table))

    def _hashes(self, frame: "DataFrame") -> NDArray[np.uint64]:
        return np.asarray(hashes_of(frame, self.ids).to_numpy())

    def _tell(self, file: TrialFile) -> Callable[[int, int], object] | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda done, out_of: progress(f"reading {file.path}", done, out_of)


def _column_names(
    key: TrialFile, systems: Sequence[System], finder: SpeakerFinder | None
) -> list[str]:
    """Return the names of the file's columns, or raise where two are alike."""
    speakers = [] if finder is None else SPEAKER_COLUMNS
    own = ["target", *(s.name for s in systems), "enroll", "test", *speakers]
    named = () if finder is None else finder.columns or ()  # may have the names of the result's
    conditions = [name for name in key.conditions if not (name in speakers and name in named)]
    for k, name in enumerate([*own, *conditions]):
        if name in [*own, *conditions][:k]:
            raise ValueError(
                f"names of columns must differ, but two of the result are {name!r}: "
                f"{', '.join([*own, *conditions])}"
            )
    return [*own, *conditions]


@dataclass(frozen=True, eq=False)
class _Slice:
    """Scores of some rows of the key."""

    score: NDArray[np.float64]
    present: Mask
    label: Mask | None
    rows: NDArray[np.int64]  # of the score file


class Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: Iterator["DataFrame"]) -> None:
        self._frames = frames
        self._held: list[DataFrame] = []
        self._n_held = 0

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, fewer at the end, None after it."""
        while self._n_held < n:
            frame = next(self._frames, None)
            if frame is None:
                break
            self._held.append(frame)
            self._n_held += frame.height
        if not self._held:
            return None
        whole: DataFrame = self._held[0] if len(self._held) == 1 else polars().concat(self._held)
        rest = whole[n:]
        self._held, self._n_held = ([rest], rest.height) if rest.height else ([], 0)
        return whole[:n]


class _InOrder:
    """Scores in the key's order."""

    def __init__(self, file: TrialFile, ids: Sequence[str], n_bytes: int) -> None:
        self._feed, self._ids, self._first = Feed(file.frames(n_bytes)), ids, 0

    def take(self, block: "DataFrame") -> _Slice | None:
        """Return the scores of the next rows of the key, None if their ids are others."""
        frame = self._feed.take(block.height)
        if frame is None or frame.height < block.height:
            return None
        if not all((frame[role] == block[role]).all() for role in self._ids):
            return None
        rows = np.arange(self._first, self._first + frame.height)
        self._first += frame.height
        label = frame["label"].to_numpy() if "label" in frame.columns else None
        return _Slice(frame["score"].to_numpy(), np.ones(rows.size, bool), label, rows)

    def is_at_end(self) -> bool:
        """Whether there are no more scores."""
        return self._feed.take(1) is None


class _Matched:
    """Scores that DuckDB has found for rows of the key."""

    def __init__(self, shop: "_Workshop", table: str) -> None:
        self._shop, self._table, self._first = shop, f"matched_{table}", 0

    def take(self, block: "DataFrame") -> _Slice:
        """Return the scores of the next rows of the key, as far as there are any."""
        n, first = block.height, self._first
        self._first += n
        found = self._shop.rows_between(self._table, "key_row", first, first + n)
        at = found["key_row"] - first
        score, present, rows = np.full(n, np.nan), np.zeros(n, bool), np.zeros(n, np.int64)
        score[at], present[at], rows[at] = found["score"], True, found["row"]
        label = None
        if "label" in found:
            label = np.zeros(n, bool)
            label[at] = found["label"]
        return _Slice(score, present, label, rows)

    def is_at_end(self) -> bool:
        """Whether there are no more scores: what matches has a row in the key."""
        return True


class _Writer:
    """Writes frames as row groups, in a thread of its own."""

    def __init__(self, path: Path, group_rows: int) -> None:
        self._path, self._group_rows = path, group_rows
        self._held: list[DataFrame] = []
        self._n_held = 0
        self._writer: Any = None
        self._thread = ThreadPoolExecutor(1)
        self._pending: Future[None] | None = None
        self.n_rows = self.n_targets = 0

    def add(self, frame: "DataFrame") -> None:
        """Add rows."""
        if frame.is_empty():
            return
        self.n_rows += frame.height
        self.n_targets += int(frame["target"].sum())
        self._held.append(frame)
        self._n_held += frame.height
        while self._n_held >= self._group_rows:
            whole = polars().concat(self._held)
            self._hand_over(whole[: self._group_rows])
            rest = whole[self._group_rows :]
            self._held, self._n_held = [rest], rest.height

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                if self._n_held:
                    self._hand_over(polars().concat(self._held))
                self._wait()
        finally:
            self._thread.shutdown()
            if self._writer is not None:
                if kind is None:
                    self._writer.close()
                else:  # it is not kept
                    _close_in_vain(self._writer)

    def _hand_over(self, frame: "DataFrame") -> None:
        self._wait()
        self._pending = self._thread.submit(self._write, frame)
        self._held, self._n_held = [], 0

    def _wait(self) -> None:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            pending.result()

    def _write(self, frame: "DataFrame") -> None:
        pa, pq = pyarrow()
        table = frame.to_arrow(compat_level=polars().CompatLevel.oldest())
        schema = pa.schema(
            [pa.field(f.name, pa.string() if pa.types.is_large_string(f.type) else f.type)
             for f in table.schema]
        )  # fmt: skip
        table = table.cast(schema)
        if self._writer is None:
            words = [f.name for f in schema if pa.types.is_string(f.type)]
            self._writer = pq.ParquetWriter(
                self._path, schema, compression="zstd", compression_level=1, use_dictionary=words,
                dictionary_pagesize_limit=1 << 24,
            )  # fmt: skip
        self._writer.write_table(table, row_group_size=table.num_rows)


def _close_in_vain(writer: Any) -> None:
    with suppress(OSError):  # the disk may be full, which is known already
        writer.close()


class _Workshop:
    """A folder beside the output for what memory does not hold, and DuckDB at work in it."""

    def __init__(self, output: Path, budget: int) -> None:
        self._output, self._budget = output, budget
        self._path: Path | None = None
        self._duckdb: Any = None
        self._thread = ThreadPoolExecutor(1)
        self.piece = 0
        self.group_rows = max(1, min(_GROUP_ROWS, budget // _BYTES_PER_ROW))
        self._has_label: dict[str, bool] = {}

    def __enter__(self) -> "_Workshop":
        return self

    def __exit__(self, *_: object) -> None:
        """Clean up in the thread, which a signal does not end: it is waited for at exit, too."""
        cleaned = self._thread.submit(self._clean_up)
        self._thread.shutdown(wait=False)
        cleaned.result()

    def _clean_up(self) -> None:
        try:
            if self._duckdb is not None:
                self._duckdb.close()
        finally:
            if self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)

    def folder(self) -> Path:
        """Return the folder, made when it is first needed."""
        if self._path is None:
            target = Path(os.path.realpath(self._output))
            path = target.with_name(f".{os.urandom(8).hex()}.parts")
            self._path = path
            path.mkdir()
        return self._path

    def repeats(self, name: str) -> Repeats:
        """Return what collects hashes."""
        return Repeats(self._budget // 8, self.folder, name)

    # Tables of DuckDB

    def load(
        self,
        table: str,
        file: TrialFile,
        ids: Sequence[str],
        tell: "Callable[[TrialFile], Callable[[int, int], object] | None]",
    ) -> NDArray[np.uint64]:
        """Load ids, and scores with their labels, with row numbers; return repeated hashes."""
        of_scores = table != "key"
        has_label = of_scores and "label" in file.roles
        self._has_label[table] = has_label
        values = ["score", *(["label"] if has_label else [])] if of_scores else []
        kinds = {"score": "DOUBLE", "label": "BOOLEAN"}
        columns = [f"{role} VARCHAR" for role in ids] + [f"{v} {kinds[v]}" for v in values]
        self._run(f"CREATE TABLE {table} (row BIGINT, {', '.join(columns)})")
        repeats = self.repeats(table)
        first = 0
        for frame in file.frames(self.piece, progress=tell(file)):
            repeats.add(np.asarray(hashes_of(frame, ids).to_numpy()))
            self._insert(table, frame.select(*ids, *values), first)
            first += frame.height
        return repeats.find()

    def find_again(
        self,
        table: str,
        file: TrialFile,
        ids: Sequence[str],
        repeated: NDArray[np.uint64],
        value: str,
    ) -> int:
        """Make the table of the rows whose ids occurred before; return how many there are."""
        pl = polars()
        kind = "BOOLEAN" if value == "label" else "DOUBLE"
        columns = ", ".join(f"{role} VARCHAR" for role in ids)
        self._run(f"CREATE TABLE some_{table} (row BIGINT, {columns}, value {kind})")
        if repeated.size:
            wanted = pl.Series(repeated)
            first = 0
            for frame in file.frames(self.piece):
                rows = pl.Series("row", np.arange(first, first + frame.height))
                first += frame.height
                among = hashes_of(frame, ids).is_in(wanted.implode())
                some = frame.select(*ids, pl.col(value).alias("value")).insert_column(0, rows)
                some = some.filter(among)
                if some.height:
                    self._insert(f"some_{table}", some, None)
        self._run(
            f"CREATE TABLE again_{table} AS SELECT row, {', '.join(ids)}, "
            "value IS DISTINCT FROM earlier AS differs FROM (SELECT *, "
            f"first_value(row) OVER same AS first_row, first_value(value) OVER same AS earlier "
            f"FROM some_{table} WINDOW same AS (PARTITION BY {', '.join(ids)} ORDER BY row)) "
            "WHERE row > first_row"
        )
        self._run(f"DROP TABLE some_{table}")
        return int(self._one(f"SELECT count(*) FROM again_{table}"))

    def again(self, table: str, ids: Sequence[str]) -> tuple[_Found, _Found]:
        """Return the rows whose ids occurred before: with another value, and with the same."""
        differ, same = (
            self._found(f"SELECT row, {', '.join(ids)} FROM again_{table} WHERE {what}", ids)
            for what in ("differs", "NOT differs")
        )
        return differ, same

    def match(self, table: str, ids: Sequence[str]) -> int:
        """Make the table of the scores of trials in the key; return how many there are."""
        label = ", s.label" if self._has_label[table] else ""
        same = " AND ".join(f"k.{role} = s.{role}" for role in ids)
        self._run(
            f"CREATE TABLE pairs AS SELECT k.row AS key_row, s.row, s.score{label} "
            f"FROM {self._firsts('key')} k JOIN {self._firsts(table)} s ON {same}"
        )
        self._run("SET preserve_insertion_order = true")
        self._run(  # sorted, so that the scores of some rows lie together
            f"CREATE TABLE matched_{table} AS SELECT * FROM pairs ORDER BY key_row"
        )
        self._run("SET preserve_insertion_order = false")
        self._run("DROP TABLE pairs")
        return int(self._one(f"SELECT count(*) FROM matched_{table}"))

    def unused(self, table: str, ids: Sequence[str]) -> _Found:
        """Return the scores of no trial in the key."""
        n_all = self._one(f"SELECT count(*) FROM {self._firsts(table)}")
        if n_all == self._one(f"SELECT count(*) FROM matched_{table}"):
            return _Found()
        return self._found(
            f"SELECT row, {', '.join(ids)} FROM {self._firsts(table)} "
            f"ANTI JOIN matched_{table} USING (row)",
            ids,
        )

    def sides(self, table: str) -> Sides:
        """Return the first distinct ids of both sides."""
        one, other = (
            self._run(
                f"SELECT DISTINCT {side} FROM {table} ORDER BY {side} LIMIT {_MOST_IDS}",
                lambda result: [str(row[0]) for row in result.fetchall()],
            )
            for side in ("enroll", "test")
        )
        return one, other

    def first(self, table: str) -> tuple[str, str]:
        """Return the ids of the first row."""
        query = f"SELECT enroll, test FROM {table} WHERE row = 0"
        enroll, test = self._run(query, lambda result: result.fetchone())
        return str(enroll), str(test)

    def rows_between(
        self, table: str, column: str, first: int, end: int
    ) -> dict[str, NDArray[Any]]:
        """Return the rows of a table whose number in a column lies from `first` to below `end`."""
        query = f"SELECT * FROM {table} WHERE {column} >= {first} AND {column} < {end}"
        found = self._run(query, lambda result: result.fetchnumpy())
        return {name: np.asarray(values) for name, values in found.items()}

    def _firsts(self, table: str) -> str:
        """Return what stands for a table without the rows whose ids occurred before."""
        if self._one(f"SELECT count(*) FROM again_{table}") == 0:
            return table
        return f"(SELECT * FROM {table} ANTI JOIN again_{table} USING (row))"

    def _found(self, query: str, ids: Sequence[str]) -> _Found:
        count = int(self._one(f"SELECT count(*) FROM ({query})"))
        query = f"{query} ORDER BY row LIMIT {_EXAMPLES}"
        some = self._run(query, lambda result: result.fetchall())
        return _Found(count, [row[0] for row in some], [" ".join(row[1:]) for row in some])

    def _insert(self, table: str, frame: "DataFrame", first: int | None) -> None:
        if first is not None:
            rows = polars().Series("row", np.arange(first, first + frame.height))
            frame = frame.clone().insert_column(0, rows)
        incoming = frame.to_arrow(compat_level=polars().CompatLevel.oldest())
        self._run(f"INSERT INTO {table} SELECT * FROM incoming", incoming=incoming)

    def _one(self, query: str) -> Any:
        return self._run(query, lambda result: result.fetchone()[0])

    def _run(self, query: str, fetch: Callable[[Any], Any] = lambda _: None, **tables: Any) -> Any:
        """Return what is fetched of a query over tables that DuckDB holds, or that are given.

        It runs in a thread: DuckDB makes other errors of those that handlers of signals raise.
        """

        def work() -> Any:
            for name, table in tables.items():
                self._connection.register(name, table)
            found = fetch(self._connection.execute(query))
            for name in tables:
                self._connection.unregister(name)
            return found

        running = self._thread.submit(copy_context().run, work)
        try:
            with _as_os_errors(self._output):
                return running.result()
        finally:
            while not running.done():  # a signal ended the wait
                if self._duckdb is not None:
                    self._duckdb.interrupt()  # which a query that has not begun does not hear
                wait([running], timeout=0.1)

    @property
    def _connection(self) -> Any:
        if self._duckdb is None:
            folder = self.folder()
            self._duckdb = duckdb().connect(
                str(folder / "join.db"),
                config={
                    "memory_limit": f"{self._budget // 1000}KB",
                    "temp_directory": str(folder),
                    "preserve_insertion_order": False,
                    "threads": max(1, min(thread_count(), self._budget // _BYTES_PER_THREAD)),
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                },
            )
            self._duckdb.execute("SET enable_progress_bar = false")  # it would go to stdout
        return self._duckdb


@contextmanager
def _as_os_errors(output: Path) -> Iterator[None]:
    """Raise what DuckDB says of disk and memory as Python does."""
    try:
        yield
    except duckdb().Error as error:
        said = " ".join(str(error).split())[:200]
        if isinstance(error, duckdb().ProgrammingError):
            raise
        if isinstance(error, duckdb().OutOfMemoryException) and "temp" not in said:
            raise MemoryError(f"{said}: raise FASTPSR_MEMORY") from None
        message = f"the join on disk failed: {said}"
        raise OSError(errno.ENOSPC, message, str(output)) from None
