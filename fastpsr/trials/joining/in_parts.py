"""A join into a file, part by part: while reading in one order, else by buckets of ids."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.optional import polars
from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import Policies, check_classes, settle
from fastpsr.trials.joining.in_order import Feed
from fastpsr.trials.joining.key_and_scores import KeyAndScores, Part
from fastpsr.trials.joining.matching import hashes_of
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
    findings: KeyAndScores = field(init=False)


@dataclass(eq=False)
class Job:
    """One join.

    Attributes
    ----------
    columns : list of str
        Names in the file.
    budget : int
        Bytes of memory.
    tell : callable
        Returns what is called with the rows of a file that were read, or None.
    written : ParquetWriter
        Says how many rows were written.
    """

    key: TrialFile
    systems: Sequence[System]
    columns: Sequence[str]
    finder: SpeakerFinder | None
    policies: Policies
    budget: int
    tell: Callable[[TrialFile], RowsRead | None]
    written: ParquetWriter = field(init=False)

    def __post_init__(self) -> None:
        sided = all("side" in file.roles for file in (self.key, *(s.file for s in self.systems)))
        self._ids = ["enroll", "test", *(["side"] if sided else [])]
        self._n_bytes = min(_PIECE_BYTES, max(self.budget // 64, _FIRST_BYTES))
        n_lists = len(self.systems) + 1
        self._n_spilled = max(self.budget // (_SHARE * n_lists), _FIRST_BYTES)

    def run(self, part: Path) -> tuple[str, ...]:
        """Write the file, and return a description of the trials and scores left out."""
        with ExitStack() as stack, both_interrupts():

            def spill() -> Spill:
                return stack.enter_context(closing(Spill(part.parent, self._n_spilled)))

            self._start()
            if self._write_in_order(part, spill()):
                notes = self._judge()
            else:
                self._start()
                sources = self._join_by_buckets(spill)
                notes = self._judge()
                self._write(part, sources)
        if self.finder is not None:
            self.finder.check()
        if self.written.n_rows == 0:
            for system in self.systems:
                system.findings.check_numbers()
            raise ValueError(f"{self.key.path}: no trial has a score of every system")
        return notes

    def _start(self) -> None:
        for system in self.systems:
            system.findings = KeyAndScores(self.key, system.file, self.policies)

    def _write_in_order(self, part: Path, hashes: Spill) -> bool:
        """Write the file; return whether all files are in one order and nothing repeats."""
        sources: dict[System, Any] = {
            s: _InOrder(s, self._ids, self._n_bytes) for s in self.systems
        }  # a source is dropped at the first difference
        n_targets = self._write(part, sources, hashes)
        for system in self.systems:
            system.in_order = system in sources and sources[system].is_at_end()
        if not all(system.in_order for system in self.systems):
            return False
        buckets = (hashes.take(bucket) for bucket in range(_BUCKETS_OF_HASHES))
        if any(some.height and some["hash"].n_unique() < some.height for some in buckets):
            return False
        check_classes(self.key.path, n_targets, self.key.n_rows)
        return True

    def _join_by_buckets(self, spill: Callable[[], Spill]) -> dict[System, Any]:
        """Join all rows whose ids have a hash in the same bucket, one bucket after the other."""
        n_bytes = self._size_of(self.key) + max(self._size_of(s.file) for s in self.systems)
        n_buckets = round(n_bytes * _SHARE) // self.budget + 1

        def spilled(file: TrialFile, rows: Spill, values: Sequence[str]) -> "Iterator[DataFrame]":
            n_rows = 0
            for frame in file.frames(self._n_bytes, progress=self.tell(file)):
                numbered = frame.select(*self._ids, *values).with_row_index("row", n_rows)
                rows.add(numbered, hashes_of(frame[self._ids].get_columns()) % n_buckets)
                n_rows += frame.height
                yield frame

        of_key, heights, n_targets = spill(), [], 0
        for frame in spilled(self.key, of_key, ["label"]):
            heights.append(frame.height)
            n_targets += int(frame["label"].sum())
        check_classes(self.key.path, n_targets, self.key.n_rows)
        sources: dict[System, Any] = {}
        for system in self.systems:
            source = sources[system] = _FromBuckets(spill(), heights)
            values = [role for role in ("score", "label") if role in system.file.roles]
            with closing(spill()) as of_scores:
                for _ in spilled(system.file, of_scores, values):
                    pass
                for bucket in range(n_buckets):
                    key = self._part(of_key.take(bucket))
                    scores = self._part(of_scores.take(bucket))
                    if len(key.ids[0]) or len(scores.ids[0]):
                        joined = system.findings.join(key, scores)
                        assert key.rows is not None
                        assert scores.score is not None
                        source.add(key.rows[joined.key], scores.score[joined.scores])
            system.findings.check_common()
        return sources

    def _part(self, frame: "DataFrame") -> Part:
        label, score, row = (
            frame[name].to_numpy() if name in frame.columns else None
            for name in ("label", "score", "row")
        )
        return Part([Coded.of(frame[role]) for role in self._ids], label, score, row)

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
        if self.finder is not None:
            self.finder.start()
        with closing(ParquetWriter(part)) as writer, both_interrupts():
            self.written = writer
            for block in self.key.frames(self._n_bytes, progress=self.tell(self.key)):
                n_targets += int(block["label"].sum())
                if hashes is not None:
                    numbers = hashes_of(block[self._ids].get_columns()).alias("hash")
                    hashes.add(numbers.to_frame(), numbers % _BUCKETS_OF_HASHES)
                frame = self._joined(block, sources)
                if not sources:
                    break
                is_wrong = any(s.findings.has_errors() for s in self.systems)
                if frame is not None and not is_wrong:  # what does not fit is not kept
                    writer.add(frame)
            else:
                writer.finish()
        return n_targets

    def _joined(self, block: "DataFrame", sources: dict[System, Any]) -> "DataFrame | None":
        """Return rows of the key with their scores, and drop the sources in another order."""
        pl = polars()
        columns = {"target": block["label"], "enroll": block["enroll"], "test": block["test"]}
        columns |= {name[1:]: block[name] for name in block.columns if name.startswith(":")}
        for system, source in list(sources.items()):
            scores = source.take(block)
            if scores is None:
                del sources[system]
            else:
                columns[system.name] = pl.Series(scores)
        if len(sources) < len(self.systems):
            return None
        has_scores = (pl.col(system.name).is_not_nan() for system in sources)
        frame = pl.DataFrame(columns).filter(*has_scores)
        if self.finder is not None:
            frame = self.finder.add_to(frame)
        selected: DataFrame = frame.select(self.columns)
        return selected

    def _judge(self) -> tuple[str, ...]:
        """Raise for mismatches that are not allowed; return a description of the others."""
        verdicts = {str(s.file.path): s.findings.verdict() for s in self.systems}
        return settle(str(self.key.path), verdicts)


class _InOrder:
    """Scores of a file as long as it is in the key's order."""

    def __init__(self, system: System, ids: Sequence[str], n_bytes: int) -> None:
        self._feed, self._ids, self._n_rows = Feed(system.file.frames(n_bytes)), ids, 0
        self._findings = system.findings

    def take(self, block: "DataFrame") -> NDArray[np.float64] | None:
        """Return the scores of the next rows of the key, None if their ids are others."""
        frame = self._feed.take(block.height)
        if frame is None or not frame[self._ids].equals(block[self._ids]):
            return None
        rows = np.arange(self._n_rows, self._n_rows + frame.height)
        self._n_rows += frame.height
        ids = [Coded.of(block[role]) for role in self._ids]
        label = frame["label"].to_numpy() if "label" in frame.columns else None
        score: NDArray[np.float64] = frame["score"].to_numpy()
        key = Part(ids, block["label"].to_numpy(), None, rows)
        self._findings.join_in_order(key, Part(ids, label, score, rows))
        return score

    def is_at_end(self) -> bool:
        """Whether there are no more scores."""
        return self._feed.take(1) is None


class _FromBuckets:
    """Scores of rows of the key in any order, taken block by block of the key."""

    def __init__(self, rows: Spill, heights: Sequence[int]) -> None:
        self._rows, self._firsts, self._n = rows, np.cumsum([0, *heights]), 0

    def add(self, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> None:
        """Add scores of rows of the key."""
        if rows.size:
            block = np.searchsorted(self._firsts, rows, "right") - 1
            frame = polars().DataFrame({"row": rows, "score": scores})
            self._rows.add(frame, polars().Series(block))

    def take(self, block: "DataFrame") -> NDArray[np.float64]:
        """Return the scores of the next rows of the key, nan where there is none."""
        score = np.full(block.height, np.nan)
        frame, ends = self._rows.take(self._n), self._firsts[self._n : self._n + 2]
        if ends.size < 2 or ends[1] - ends[0] != block.height:
            raise ValueError("the files changed while they were read")
        if frame.height:
            score[frame["row"].to_numpy() - ends[0]] = frame["score"].to_numpy()
        self._n += 1
        return score


def both_interrupts() -> nullcontext[None]:
    """Return a block in which Ctrl-C ends, inside of one that cleans up.

    While polars works, Ctrl-C raises KeyboardInterrupt twice: in polars, and in the next line of
    Python, wherever that is. This is the end of this block, so that the clean-up is not stopped.
    """
    return nullcontext()
