"""A join into a file, part by part: while reading in one order, else by buckets of ids."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded
from fastpsr.trials.joining.findings import (
    Policies,
    Verdict,
    check_as_many,
    check_classes,
    check_without_ids,
)
from fastpsr.trials.joining.key_and_scores import KeyAndScores, Mask, Part
from fastpsr.trials.joining.matching import distinct_hashes, hashes_of
from fastpsr.trials.joining.parquet_writer import ParquetWriter, both_interrupts
from fastpsr.trials.joining.spill import Spill
from fastpsr.trials.optional import polars
from fastpsr.trials.speakers import SpeakerFinder
from fastpsr.trials.text import Progress
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

_PIECE_BYTES = 1 << 24
_ROWS_AT_ONCE = 1 << 16  # that are counted beyond those of the key
_FIRST_BYTES = 1 << 16
_BUCKETS_OF_HASHES = 256
_BYTES_PER_ROW = 64  # of the scores of rows of the key, while they are put in its order
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
        tell: Callable[[TrialFile], Progress | None],
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
        self._findings = {s: KeyAndScores(self._key, s.file) for s in self._systems}
        with ExitStack() as stack, both_interrupts():

            def spill() -> Spill:
                return stack.enter_context(closing(Spill(part.parent, self._n_spilled)))

            if self._write_while_reading(part, spill()):
                check_classes(self._key.path, self._n_targets, self._key.n_rows)
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

    def _write_while_reading(self, part: Path, hashes: Spill) -> bool:
        """Write the file; return whether all files are in one order and nothing repeats."""

        def see(block: "DataFrame") -> None:
            own = hashes_of(block, self._ids).alias("hash")
            hashes.add(own.to_frame(), own % _BUCKETS_OF_HASHES)

        sources: dict[System, Any] = {
            s: _InOrder(s.file, self._ids, self._n_bytes, self._findings[s]) for s in self._systems
        }  # a source is dropped at the first difference
        self._write(part, sources, see)
        for system in self._systems:
            system.in_order = system in sources and sources[system].is_at_end()
        buckets = map(hashes.take, range(_BUCKETS_OF_HASHES))
        return all(system.in_order for system in self._systems) and all(
            some.is_empty() or some["hash"].n_unique() == some.height for some in buckets
        )

    def _join_by_buckets(self, spill: Callable[[], Spill]) -> dict[System, "_FromBuckets"]:
        """Join all rows whose ids have a hash in the same bucket, one bucket after the other."""
        files = [system.file for system in self._systems]
        n_bytes = self._size_of(self._key) + max(map(self._size_of, files))
        n_buckets = round(n_bytes * _SHARE) // self._budget + 1
        n_together = max(self._budget // (_BYTES_PER_ROW * _SHARE), 1)
        of_key = spill()
        n_targets = self._fill(of_key, self._key, ["label"], n_buckets)
        n_rows = self._key.n_rows
        check_classes(self._key.path, n_targets, n_rows)
        sources = {}
        for system, findings in self._findings.items():
            label = ["label"] if "label" in system.file.roles else []
            with closing(spill()) as of_scores:
                self._fill(of_scores, system.file, ["score", *label], n_buckets)
                found = spill()
                for bucket in range(n_buckets):
                    self._join_bucket(of_key, of_scores, bucket, findings, found, n_together)
            findings.check_common()
            sources[system] = _FromBuckets(found, n_rows, n_together)
        return sources

    def _fill(self, spill: Spill, file: TrialFile, values: list[str], n_buckets: int) -> int:
        """Spill the rows of a file with their numbers; return how many are targets, if it says."""
        n_rows = n_targets = 0
        for frame in file.frames(self._n_bytes, progress=self._tell(file)):
            rows = np.arange(n_rows, n_rows + frame.height)
            n_rows += frame.height
            if "label" in values:
                n_targets += int(frame["label"].sum())
            numbered = frame.select(*self._ids, *values, polars().Series("row", rows))
            spill.add(numbered, hashes_of(frame, self._ids) % n_buckets)
        return n_targets

    def _join_bucket(
        self,
        of_key: Spill,
        of_scores: Spill,
        bucket: int,
        findings: KeyAndScores,
        found: Spill,
        n_together: int,
    ) -> None:
        rows_of_key, rows_of_scores = of_key.take(bucket), of_scores.take(bucket)
        if rows_of_key.is_empty() and rows_of_scores.is_empty():
            return
        key, scores = self._part(rows_of_key), self._part(rows_of_scores)
        joined = findings.join(key, scores, distinct_hashes(key.ids))
        assert key.rows is not None
        assert scores.score is not None
        rows, numbers = key.rows[joined.key], scores.score[joined.scores]
        frame = polars().DataFrame({"row": rows, "score": numbers})
        if frame.height:
            found.add(frame, frame["row"] // n_together)

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

        for frame in file.frames(_FIRST_BYTES, progress=tell):
            return float(frame.select(self._ids).estimated_size() / frame.height * n_rows)
        return 0.0

    def _write(
        self,
        part: Path,
        sources: dict[System, Any],
        see: "Callable[[DataFrame], None] | None" = None,
    ) -> None:
        """Go over the key and the scores of all systems, and write while nothing is wrong."""
        self._n_targets = 0
        if self._finder is not None:
            self._finder.start()
        with closing(ParquetWriter(part)) as writer, both_interrupts():
            self.written = writer
            blocks = self._key.frames(
                self._n_bytes, with_conditions=True, progress=self._tell(self._key)
            )
            for block in blocks:
                self._n_targets += int(block["label"].sum())
                if see is not None:
                    see(block)
                frame = self._joined(block, sources)
                if not sources:
                    return
                is_wrong = any(f.has_errors(self._policies) for f in self._findings.values())
                if frame is not None and not is_wrong:  # what does not fit is not kept
                    writer.add(frame)
            writer.finish()

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
        return Verdict.settle(str(self._key.path), verdicts)


class _Feed:
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
    """Scores of a file as long as it is in the key's order."""

    def __init__(
        self, file: TrialFile, ids: Sequence[str], n_bytes: int, findings: KeyAndScores
    ) -> None:
        self._feed, self._ids, self._first = _Feed(file.frames(n_bytes)), ids, 0
        self._findings = findings

    def take(self, block: "DataFrame") -> _Scores | None:
        """Return the scores of the next rows of the key, None if their ids are others."""
        frame = self._feed.take(block.height)
        if frame is None or frame.height < block.height:
            return None
        if not all((frame[role] == block[role]).all() for role in self._ids):
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
    """Scores that were found for rows of the key."""

    def __init__(self, found: Spill, n_rows: int, n_together: int) -> None:
        self._feed = _Feed(_in_order_of_rows(found, n_rows, n_together))

    def take(self, block: "DataFrame") -> _Scores:
        """Return the scores of the next rows of the key, as far as there are any."""
        frame = self._feed.take(block.height)
        if frame is None or frame.height < block.height:
            raise ValueError("the files changed while they were read")
        return _Scores(frame["score"].to_numpy(), frame["keep"].to_numpy())


def _in_order_of_rows(found: Spill, n_rows: int, n_together: int) -> Iterator["DataFrame"]:
    """Yield the score of each row of the key, and whether there is one."""
    for first in range(0, n_rows, n_together):
        n = min(n_together, n_rows - first)
        score, keep = np.full(n, np.nan), np.zeros(n, bool)
        frame = found.take(first // n_together)
        if not frame.is_empty():
            places = frame["row"].to_numpy() - first
            score[places], keep[places] = frame["score"].to_numpy(), True
        yield polars().DataFrame({"score": score, "keep": keep})


class WithIdsOf(TrialFile):
    """Scores without ids in the key's order: they have those of the key."""

    def __init__(self, key: TrialFile, file: TrialFile) -> None:
        check_without_ids(file.path, has_ids="enroll" in file.roles or "test" in file.roles)
        self._key, self._file = key, file
        self._ids = [role for role in ("enroll", "test", "side") if role in key.roles]
        self.path, self.format, self.columns = file.path, file.format, file.columns
        self.roles = {role: key.roles[role] for role in self._ids} | file.roles
        self.names_columns, self.n_held = file.names_columns, file.n_held

    @property
    def notes(self) -> str:
        return self._file.notes

    def frames(self, n_bytes: int | None = None, **options: Any) -> "Iterator[DataFrame]":
        feed = _Feed(self._file.frames(n_bytes, progress=options.get("progress")))
        for block in self._key.frames(n_bytes):
            frame = feed.take(block.height)
            if frame is not None and frame.height == block.height:
                yield frame.with_columns(block[role] for role in self._ids)
        while feed.take(_ROWS_AT_ONCE) is not None:
            pass
        check_as_many(self.path, self._file.n_rows, self._key.path, self._key.n_rows)

    def where(self, rows: Sequence[int]) -> list[str]:
        return self._file.where(rows)
