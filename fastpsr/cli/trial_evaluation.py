"""Evaluate systems on a trial list: a row per system, condition and metric."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fastpsr.cli.reports import report_of_trials
from fastpsr.cli.show import console, heard, say, steps, warnings_as_lines
from fastpsr.cli.tables import write_tables
from fastpsr.cli.trial_files import TrialReader
from fastpsr.cli.trial_rows import POOLED, TrialMeasure, TrialRow
from fastpsr.cli.trial_tables import print_rows, short_names, table_makers
from fastpsr.predictions import Predictions

__all__ = ["evaluate_trials"]


def evaluate_trials(
    systems: Sequence[Path],
    reader: TrialReader,
    measure: TrialMeasure,
    outputs: Mapping[str, Path | None],
    report: Path | None,
) -> None:
    """Read, evaluate, print and write; `systems` are score files."""
    _check_distinct(systems)
    rows: list[TrialRow] = []
    pooled: dict[str, Predictions] = {}
    with heard() as said, steps(None) as begin:
        reader.progress = begin
        for path in systems:
            made = reader.read(path)
            with reader.clock.on("metrics"), warnings_as_lines(f"{path}: "):
                rows += measure.rows(
                    path,
                    made,
                    speakers_known=reader.speakers.are_known,
                    progress=begin,
                    pooled=None if report is None else pooled,
                )
    taken = f"scores taken as {measure.scale}"
    console.print(f"{taken}; {reader.clock}")
    if measure.intervals is not None:
        console.print(str(measure.intervals))
    with heard() as warnings:
        _warn_of_unlike_trials(rows)
    print_rows(rows)
    write_tables(outputs, table_makers(rows))
    if report is not None:
        read = [*said, taken, *warnings]
        report_of_trials(report, rows, pooled, read, measure.intervals)


def _check_distinct(systems: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for path in systems:
        if path.resolve() in seen:
            raise ValueError(f"--scores must name each file once, but names {path} again")
        seen.add(path.resolve())


def _warn_of_unlike_trials(rows: Sequence[TrialRow]) -> None:
    counts = {r.system: (r.n_target, r.n_nontarget) for r in rows if r.condition == POOLED}
    if len(set(counts.values())) > 1:
        names = short_names(list(counts))
        said = ", ".join(f"{names[system]} {sum(n):,}" for system, n in counts.items())
        say(f"warning: the systems are judged on different trials: {said}")
