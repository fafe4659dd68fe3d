"""The steps of a join into a file: while reading, and where that fails on disk."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.joining.database import Database
from fastpsr.trials.joining.findings import Mask, Mismatches, Policies, Verdict, check_classes
from fastpsr.trials.joining.parquet_writer import ParquetWriter
from fastpsr.trials.joining.repeats import hashes_of
from fastpsr.trials.joining.sources import FromDatabase, InOrder
from fastpsr.trials.joining.stopping import both_interrupts
from fastpsr.trials.joining.why_ids_differ import nothing_in_common, why_ids_differ
from fastpsr.trials.optional import polars
from fastpsr.trials.speakers import SpeakerFinder
from fastpsr.trials.text import Progress
from fastpsr.trials.trial_file import TrialFile

if TYPE_CHECKING:
    from polars import DataFrame

Sources = dict["System", Any]


@dataclass(eq=False)
class System:
    """A score file, the name of its column, and what was found of it."""

    name: str
    file: TrialFile
    in_order: bool = True
    mismatches: Mismatches = field(default_factory=Mismatches)


@dataclass(eq=False)
class Job:
    """One join.

    Attributes
    ----------
    columns : list of str
        Names of the columns to write.
    ids : list of str
        Roles of the columns to join on.
    tell : callable
        Returns what is called with the progress of a file.
    """

    key: TrialFile
    systems: Sequence[System]
    columns: Sequence[str]
    ids: Sequence[str]
    finder: SpeakerFinder | None
    policies: Policies
    database: Database
    tell: Callable[[TrialFile], Progress | None]

    def run(self, part: Path) -> tuple[str, ...]:
        """Write the file, and return what was left out, in words."""
        for system in self.systems:
            system.in_order, system.mismatches = True, Mismatches()
        repeated = self._while_reading(part)
        notes = self._judge({}, {}) if repeated is None else self._on_disk(part, repeated)
        if self.written.n_rows == 0:
            raise ValueError(self._why_nothing())
        return notes

    def _while_reading(self, part: Path) -> NDArray[np.uint64] | None:
        """Write the file if all files are in one order and nothing repeats.

        Else return hashes of the trials of the key that may repeat, if that is known by then.
        """
        repeats = self.database.repeats("key")
        # a source is dropped at the first difference
        sources: Sources = {system: self._in_order(system) for system in self.systems}
        self._write(part, sources, None, lambda frame: repeats.add(self._hashes(frame)))
        if not all(system.in_order for system in self.systems):
            return np.zeros(0, np.uint64)
        found = repeats.find()
        return found if found.size else None

    def _on_disk(self, part: Path, repeated: NDArray[np.uint64]) -> tuple[str, ...]:
        """Join what is in another order by DuckDB, and find what repeats."""
        database, ids, key = self.database, self.ids, self.key
        shuffled = [system for system in self.systems if not system.in_order]
        tables = {system: f"scores{k}" for k, system in enumerate(self.systems)}
        if shuffled:
            repeated = database.load("key", key, ids, self.tell(key))
        of_scores = dict.fromkeys(self.systems, repeated)
        for system in shuffled:
            table, file = tables[system], system.file
            of_scores[system] = database.load(table, file, ids, self.tell(file))
        n_again = database.find_again("key", key, ids, repeated, "label")
        for system, table in tables.items():
            database.find_again(table, system.file, ids, of_scores[system], "score")
        sources: Sources = {}
        for system in self.systems:
            system.mismatches = Mismatches()
            if system.in_order:
                sources[system] = self._in_order(system)
                continue
            if database.match(tables[system], ids) == 0:
                raise ValueError(self._nothing_in_common(system, tables[system]))
            sources[system] = FromDatabase(database, tables[system])
        orders = [system.in_order for system in self.systems]
        self._write(part, sources, "again_key" if n_again else None, None)
        if orders != [system.in_order for system in self.systems if system in sources]:
            raise ValueError("the files changed while they were read")
        return self._judge(tables, {system: tables[system] for system in shuffled})

    def _hashes(self, frame: "DataFrame") -> NDArray[np.uint64]:
        return np.asarray(hashes_of(frame, self.ids).to_numpy())

    def _in_order(self, system: System) -> InOrder:
        return InOrder(system.file, self.ids, self.database.n_bytes)

    def _write(
        self,
        part: Path,
        sources: Sources,
        again: str | None,
        see: "Callable[[DataFrame], None] | None",
    ) -> None:
        """Go over the key and the scores of all systems, and write while nothing is wrong.

        `again` is the table of the key's trials that occurred before.
        """
        n_bytes, n, self.n_targets = self.database.n_bytes, 0, 0
        if self.finder is not None:
            self.finder.start()
        with closing(ParquetWriter(part)) as writer, both_interrupts():
            self.written = writer
            progress = self.tell(self.key)
            for block in self.key.frames(n_bytes, with_conditions=True, progress=progress):
                first, n = n, n + block.height
                if see is not None:
                    see(block)
                is_first = np.ones(block.height, bool)
                if again is not None:
                    found = self.database.rows_between(again, "row", first, n)
                    is_first[found["row"] - first] = False
                frame = self._joined(block, sources, first, is_first)
                if not sources:
                    return
                # what does not fit is not kept
                is_whole = len(sources) == len(self.systems)
                if is_whole and not any(s.mismatches.has_errors(self.policies) for s in sources):
                    writer.add(frame)
            writer.finish()
            for system, source in sources.items():
                system.in_order &= source.is_at_end()

    def _joined(
        self, block: "DataFrame", sources: Sources, first: int, is_first: Mask
    ) -> "DataFrame":
        """Return rows of the key with their scores, and drop the sources in another order."""
        pl = polars()
        is_target, keep = block["label"].to_numpy(), is_first
        self.n_targets += int(is_target.sum())
        columns = {"target": block["label"], "enroll": block["enroll"], "test": block["test"]}
        columns |= {name: block[f":{name}"] for name in self.key.conditions}
        ids = [block[role] for role in self.ids]
        for system, source in list(sources.items()):
            some = source.take(block)
            if some is None:
                system.in_order = False
                del sources[system]
                continue
            keep = keep & system.mismatches.see(some, first, ids, is_first, is_target)
            columns[system.name] = pl.Series(some.score)
        frame: DataFrame = pl.DataFrame(columns)
        if len(sources) < len(self.systems):
            return frame
        frame = frame if keep.all() else frame.filter(pl.Series(keep))
        if self.finder is not None:
            frame = self.finder.add_to(frame)
        return frame.select(self.columns)

    def _judge(self, again: dict[System, str], tables: dict[System, str]) -> tuple[str, ...]:
        """Raise what does not fit and is not allowed; return what was left out, in words.

        `again` are tables of the scores of trials that occurred before, `tables` those of scores in
        another order.
        """
        check_classes(self.key.path, self.n_targets, self.key.n_rows)
        verdicts = {}
        for system in self.systems:
            mismatches, file = system.mismatches, system.file
            found = mismatches.found
            if again:
                in_key = self.database.again("key", self.ids)
                found["other label"], found["trial again"] = in_key
                in_scores = self.database.again(again[system], self.ids)
                found["other score"], found["score again"] = in_scores
            if system in tables:
                found["extra"] = self.database.unused(tables[system], self.ids)
            where = (file.where, self.key.where)
            verdict = Verdict.of(found, self.policies, where, is_full=file.is_full)
            verdict.see_why(mismatches, partial(self._why, tables.get(system)))
            verdicts[str(file.path)] = verdict
        notes = Verdict.settle(str(self.key.path), verdicts)
        if self.finder is not None:
            self.finder.check()
        return notes

    def _why_nothing(self) -> str:
        for system in self.systems:
            if system.mismatches.found["nan"].count == system.mismatches.n_matched:
                return f"{system.file.path}: all scores of trials in the key are nan"
        return f"{self.key.path}: no trial has a score of every system"

    def _nothing_in_common(self, system: System, table: str) -> str:
        paths = str(self.key.path), str(system.file.path)
        return nothing_in_common(paths, *self.database.unmatched(table))

    def _why(self, table: str | None) -> str:
        """Return why the ids of a table differ from the key's, "" where that is not known."""
        return "" if table is None else why_ids_differ(*self.database.unmatched(table))
