"""A join into a file, part by part: while reading in one order, else by buckets of ids."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import (
    Policies,
    check_as_many,
    check_classes,
    check_without_ids,
    settle,
)
from fastpsr.trials.joining.key_and_scores import KeyAndScores, Mask, Part
from fastpsr.trials.joining.matching import distinct_hashes, hashes_of
from fastpsr.trials.joining.parquet_writer import ParquetWriter
from fastpsr.trials.joining.spill import Spill
from fastpsr.trials.speakers import SpeakerFinder
from fastpsr.trials.trial_file import RowsRead, TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_PIECE_BYTES = 1 << 24
_FIRST_BYTES = 1 << 16
_BUCKETS_OF_HASHES = 256
_SHARE = 8  # of the budget that the ids of a bucket of both lists take, which the join multiplies


@dataclass(eq=False)
class System:
    """A score file, the name of its column, and whether it is in the key's order."""

    name: str
    file: TrialFile
    in_order: bool = True


class _Scores(NamedTuple):
    """Scores of rows of the key, and whether each is one that is kept."""

    score: NDArray[np.float64]
    keep: Mask


class Job:
    """One join.

    Attributes
    ----------
    written : ParquetWriter
        Says how many rows were written.
    """

    def __init__(
        self,
        key: TrialFile,
        systems: Sequence[System],
        columns: Sequence[str],
        finder: SpeakerFinder | None,
        policies: Policies,
        budget: int,
        tell: Callable[[TrialFile], RowsRead | None],
    ) -> None:
        self._key, self._systems, self._columns = key, systems, columns
        self._finder, self._policies, self._tell = finder, policies, tell
        sided = all("side" in file.roles for file in (key, *(s.file for s in systems)))
        self._ids = ["enroll", "test", *(["side"] if sided else [])]
        self._budget = budget
        self._n_bytes = min(_PIECE_BYTES, max(budget // 64, _FIRST_BYTES))
        self._n_spilled = max(budget // (_SHARE * (len(systems) + 1)), _FIRST_BYTES)

    def run(self, part: Path) -> tuple[str, ...]:
        """Write the file, and return what was left out, in words."""
        with ExitStack() as stack, both_interrupts():

            def spill() -> Spill:
                return stack.enter_context(closing(Spill(part.parent, self._n_spilled)))

            self._findings = {s: KeyAndScores(self._key, s.file) for s in self._systems}
            if self._write_in_order(part, spill()):
                notes = self._judge()
            else:
                self._findings = {s: KeyAndScores(self._key, s.file) for s in self._systems}
                sources = self._join_by_buckets(spill)
                notes = self._judge()
                self._write(part, sources)
        if self._finder is not None:
            self._finder.check()
        if self.written.n_rows == 0:
            for findings in self._findings.values():
                findings.check_numbers()
            raise ValueError(f"{self._key.path}: no trial has a score of every system")
        return notes

    def _write_in_order(self, part: Path, hashes: Spill) -> bool:
        """Write the file; return whether all files are in one order and nothing repeats."""
        sources: dict[System, Any] = {
            s: _InOrder(s.file, self._ids, self._n_bytes, self._findings[s]) for s in self._systems
        }  # a source is dropped at the first difference
        n_targets = self._write(part, sources, hashes)
        for system in self._systems:
            system.in_order = system in sources and sources[system].is_at_end()
        if not all(system.in_order for system in self._systems):
            return False
        buckets = (hashes.take(bucket) for bucket in range(_BUCKETS_OF_HASHES))
        if any(some.height and some["hash"].n_unique() < some.height for some in buckets):
            return False
        check_classes(self._key.path, n_targets, self._key.n_rows)
        return True

    def _join_by_buckets(self, spill: Callable[[], Spill]) -> "dict[System, _FromBuckets]":
        """Join all rows whose ids have a hash in the same bucket, one bucket after the other."""
        files = [system.file for system in self._systems]
        n_bytes = self._size_of(self._key) + max(map(self._size_of, files))
        n_buckets = round(n_bytes * _SHARE) // self._budget + 1
        of_key, heights, n_targets = spill(), [], 0
        for frame in self._numbered(self._key, ["label"]):
            of_key.add(frame, hashes_of(frame, self._ids) % n_buckets)
            heights.append(frame.height)
            n_targets += int(frame["label"].sum())
        check_classes(self._key.path, n_targets, self._key.n_rows)
        sources = {}
        for system, findings in self._findings.items():
            label = ["label"] if "label" in system.file.roles else []
            source = sources[system] = _FromBuckets(spill(), heights)
            with closing(spill()) as of_scores:
                for frame in self._numbered(system.file, ["score", *label]):
                    of_scores.add(frame, hashes_of(frame, self._ids) % n_buckets)
                for bucket in range(n_buckets):
                    rows_of_key, rows_of_scores = of_key.take(bucket), of_scores.take(bucket)
                    if rows_of_key.is_empty() and rows_of_scores.is_empty():
                        continue
                    key, scores = self._part(rows_of_key), self._part(rows_of_scores)
                    joined = findings.join(key, scores, distinct_hashes(key.ids))
                    assert key.rows is not None
                    assert scores.score is not None
                    source.add(key.rows[joined.key], scores.score[joined.scores])
            findings.check_common()
        return sources

    def _numbered(self, file: TrialFile, values: list[str]) -> Iterator["DataFrame"]:
        """Yield the ids and values of a file, and the number of each row."""
        n_rows = 0
        for frame in file.frames(self._n_bytes, progress=self._tell(file)):
            rows = polars().Series("row", np.arange(n_rows, n_rows + frame.height))
            n_rows += frame.height
            yield frame.select(*self._ids, *values, rows)

    def _part(self, frame: "DataFrame") -> Part:
        def numbers(name: str) -> Any:
            return frame[name].to_numpy() if name in frame.columns else None

        ids = [Coded.of(frame[role]) for role in self._ids]
        return Part(ids, numbers("label"), numbers("score"), numbers("row"))

    def _size_of(self, file: TrialFile) -> float:
        """Return about how many bytes all ids of a file take, by its first rows."""
        n_rows = 0

        def tell(_: int, out_of: int) -> None:
            nonlocal n_rows
            n_rows = out_of

        frame = next(file.frames(_FIRST_BYTES, progress=tell))
        return float(frame.select(self._ids).estimated_size() / frame.height * n_rows)

    def _write(self, part: Path, sources: dict[System, Any], hashes: Spill | None = None) -> int:
        """Go over the key and the scores of all systems, and write while nothing is wrong.

        Hashes of ids are added to `hashes`. Returns the number of targets.
        """
        n_targets = 0
        if self._finder is not None:
            self._finder.start()
        with closing(ParquetWriter(part)) as writer, both_interrupts():
            self.written = writer
            blocks = self._key.frames(
                self._n_bytes, with_conditions=True, progress=self._tell(self._key)
            )
            for block in blocks:
                n_targets += int(block["label"].sum())
                if hashes is not None:
                    numbers = hashes_of(block, self._ids).alias("hash")
                    hashes.add(numbers.to_frame(), numbers % _BUCKETS_OF_HASHES)
                frame = self._joined(block, sources)
                if not sources:
                    break
                is_wrong = any(f.has_errors(self._policies) for f in self._findings.values())
                if frame is not None and not is_wrong:  # what does not fit is not kept
                    writer.add(frame)
            else:
                writer.finish()
        return n_targets

    def _joined(self, block: "DataFrame", sources: dict[System, Any]) -> "DataFrame | None":
        """Return rows of the key with their scores, and drop the sources in another order."""
        pl = polars()
        columns = {"target": block["label"], "enroll": block["enroll"], "test": block["test"]}
        columns |= {name: block[f":{name}"] for name in self._key.conditions}
        keep = np.ones(block.height, bool)
        for system, source in list(sources.items()):
            scores = source.take(block)
            if scores is None:
                del sources[system]
                continue
            keep &= scores.keep
            columns[system.name] = pl.Series(scores.score)
        if len(sources) < len(self._systems):
            return None
        frame = pl.DataFrame(columns)
        frame = frame if keep.all() else frame.filter(pl.Series(keep))
        if self._finder is not None:
            frame = self._finder.add_to(frame)
        selected: DataFrame = frame.select(self._columns)
        return selected

    def _judge(self) -> tuple[str, ...]:
        """Raise what does not fit and is not allowed; return what was left out, in words."""
        verdicts = {
            str(system.file.path): findings.verdict(self._policies)
            for system, findings in self._findings.items()
        }
        return settle(str(self._key.path), verdicts)


class _Feed:
    """Rows of frames, taken as many at a time as asked for."""

    def __init__(self, frames: Iterator["DataFrame"]) -> None:
        self._frames, self._held = frames, polars().DataFrame()

    def take(self, n: int) -> "DataFrame | None":
        """Return the next n rows, None if there are fewer."""
        frames = [self._held] if self._held.height else []
        while sum(frame.height for frame in frames) < n:
            frame = next(self._frames, None)
            if frame is None:
                return None
            frames.append(frame)
        rows: DataFrame = frames[0] if len(frames) == 1 else polars().concat(frames)
        self._held = rows[n:]
        return rows[:n]


class _InOrder:
    """Scores of a file as long as it is in the key's order."""

    def __init__(
        self, file: TrialFile, ids: Sequence[str], n_bytes: int, findings: KeyAndScores
    ) -> None:
        self._feed, self._ids, self._first = _Feed(file.frames(n_bytes)), ids, 0
        self._findings = findings

    def take(self, block: "DataFrame") -> _Scores | None:
        """Return the scores of the next rows of the key, None if their ids are others."""
        frame = self._feed.take(block.height)
        if frame is None or not all((frame[role] == block[role]).all() for role in self._ids):
            return None
        rows = np.arange(self._first, self._first + frame.height)
        self._first += frame.height
        ids = [Coded.of(block[role]) for role in self._ids]
        label = frame["label"].to_numpy() if "label" in frame.columns else None
        scores = Part(ids, label, frame["score"].to_numpy(), rows)
        key = Part(ids, block["label"].to_numpy(), None, rows)
        keep = np.zeros(rows.size, bool)
        keep[self._findings.join_in_order(key, scores).key] = True
        return _Scores(frame["score"].to_numpy(), keep)

    def is_at_end(self) -> bool:
        """Whether there are no more scores."""
        return self._feed.take(1) is None


class _FromBuckets:
    """Scores of rows of the key in any order, taken block by block of the key."""

    def __init__(self, rows: Spill, heights: Sequence[int]) -> None:
        self._rows, self._firsts, self._n = rows, np.cumsum([0, *heights]), 0

    def add(self, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Add scores of rows of the key."""
        pl = polars()
        if rows.size:
            block = np.searchsorted(self._firsts, rows, "right") - 1
            self._rows.add(pl.DataFrame({"row": rows, "score": scores}), pl.Series(block))

    def take(self, block: "DataFrame") -> _Scores:
        """Return the scores of the next rows of the key, as far as there are any."""
        score, keep = np.full(block.height, np.nan), np.zeros(block.height, bool)
        frame = self._rows.take(self._n)
        if self._n + 1 == self._firsts.size or (
            block.height != self._firsts[self._n + 1] - self._firsts[self._n]
        ):
            raise ValueError("the files changed while they were read")
        if frame.height:
            places = frame["row"].to_numpy() - self._firsts[self._n]
            score[places], keep[places] = frame["score"].to_numpy(), True
        self._n += 1
        return _Scores(score, keep)


def both_interrupts() -> nullcontext[None]:
    """Return a block in which Ctrl-C ends, inside of one that cleans up.

    While polars works, Ctrl-C raises KeyboardInterrupt twice: in polars, and in the next line of
    Python, wherever that is. This is the end of this block, so that the clean-up is not stopped.
    """
    return nullcontext()


class WithIdsOf(TrialFile):
    """Scores without ids in the key's order: they have those of the key."""

    def __init__(self, key: TrialFile, file: TrialFile) -> None:
        check_without_ids(file.path, has_ids="enroll" in file.roles or "test" in file.roles)
        self._key, self._file = key, file
        self._ids = [role for role in ("enroll", "test", "side") if role in key.roles]
        self.path, self.format, self.columns = file.path, file.format, file.columns
        self.roles = {role: key.roles[role] for role in self._ids} | file.roles
        self.names, self.n_held = self.roles if file.names else {}, file.n_held

    @property
    def notes(self) -> str:  # type: ignore[override]
        return self._file.notes

    def frames(self, n_bytes: int | None = None, **options: Any) -> "Iterator[DataFrame]":
        frames = self._file.frames(n_bytes, progress=options.get("progress"))
        feed = _Feed(frames)
        for block in self._key.frames(n_bytes):
            frame = feed.take(block.height)
            if frame is not None:
                yield frame.with_columns(block[role] for role in self._ids)
        for _ in frames:  # to count all
            pass
        check_as_many(self.path, self._file.n_rows, self._key.path, self._key.n_rows)

    def where(self, rows: Sequence[int]) -> list[str]:
        return self._file.where(rows)
