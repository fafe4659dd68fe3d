"""Tables of scores with labels: a table of metrics, or differences on the same samples."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from fastpsr.bootstrap.bootstrap import check_same_samples
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.cli.metrics import metrics_of_table, shared
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.intervals import IntervalOptions, check_method, drawn_name
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.results import show_evaluation, shown_names
from fastpsr.cli.score_files import ReadTable, read_scores
from fastpsr.cli.show import (
    Steps,
    print_line,
    print_written,
    recorded_lines,
    steps,
    warnings_as_lines,
    without_warnings,
)
from fastpsr.costs import CostMatrix
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import Pairs, evaluate_systems, groups_of
from fastpsr.plans import Data, PartitionedPredictions, run
from fastpsr.plans.watching import Progress, watched
from fastpsr.wording import counted

__all__ = ["evaluate_tables"]

_MOST_COSTS = 36  # that are listed one by one


def evaluate_tables(
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, str],
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
    *,
    pairs: Pairs | None,
    folds: int | None,
    explain: bool,
) -> None:
    """Compute, print and write the table of a file, or the differences of several."""
    with steps(len(systems) + 1 + (options.to_report is not None)) as begin:
        in_parts = False if pairs else (True if explain else None)
        drawn = None if intervals is None else options.drawn
        read = _read(options, scales, drawn, begin, in_parts=in_parts)
        first = next((each for each in read if each.table.ids), read[0])
        if intervals is not None:
            check_method(intervals, first.drawn)
        with recorded_lines() as lines:
            if read[0].table.files:
                _check_parts(options, read[0])
            data = {str(each.table.path): _predictions(options, each, folds) for each in read}
            for other in read[1:]:
                _check_same(read[0], other, data)
            one = data[str(read[0].table.path)]
            metrics = shared(
                [
                    metrics_of_table(options.measures, options.loss, scale, one.n_classes)
                    for scale in scales.values()
                ]
            )
            if costs := options.measures.cost_matrix:
                print_line(f"--costs: {_listed(costs)}")
            begin(f"metrics of {' and '.join(data)}")
            if isinstance(one, PartitionedPredictions):
                _print_parts(read[0], one)
                if explain:
                    print_line(str(one.explain(metrics)))
                    return
            if intervals is not None:
                intervals = _drawing(intervals, first, one if pairs else None)
            by, bins = _conditions(options, read[0]), options.conditions["bins"]
            with (
                warnings_as_lines() as warned,
                without_warnings(),
                _rows_shown(one, begin) as progress,
            ):
                evaluation = evaluate_systems(
                    cast(Any, data if pairs else {None: one}), metrics, by=by, bins=bins,
                    intervals=intervals, differences=pairs,
                    group_differences=options.pairs_of_groups, progress=progress,
                )  # fmt: skip
                warned += evaluation.warnings
        figures = {}
        if options.to_report is not None:
            names = shown_names(systems)
            figures["predictions"] = {names[path]: each for path, each in data.items()}
            figures["by_condition"] = {
                names[path]: {group.name: group.data for group in groups_of(each, by, bins)}
                for path, each in data.items()
            }
        show_evaluation(evaluation, systems, scales, options, inputs, figures, lines, begin)
    print_written(options.written)


def _read(
    options: EvaluationOptions,
    scales: Mapping[Path, str],
    drawn: IntervalOptions | None,
    begin: Steps,
    *,
    in_parts: bool | None,
) -> list[ReadTable]:
    """Read tables; with True, or None where one is large, open it to be read part by part."""
    tables, read = options.tables, []
    where = (tables.labels, options.columns, tables.weights, drawn, options.columns_of_conditions)
    for path, scale in scales.items():
        begin(f"reading {path}")
        read.append(read_scores(path, scale, *where, in_parts=in_parts))
    return read


def _predictions(options: EvaluationOptions, read: ReadTable, folds: int | None) -> Any:
    """Return the labeled predictions of a file; print how its columns were interpreted."""
    table = read.table
    if not table.files:
        print_line(f"{table.notes}; taken as {read.scale}")
    table.require_labels()
    priors = parse_priors(options.measures.priors, read.scale)
    predictions = table.predictions(priors, **options.tables.of_scores)
    if folds is not None and not table.files:
        CrossFit(folds=folds).folds_of(predictions)  # raises where there are too few samples
    return predictions


def _drawing(intervals: Intervals, read: ReadTable, checked: Data | None) -> Intervals:
    """Return intervals with what is drawn; raise if `checked` has too few units of it."""
    intervals = replace(intervals.drawing(read.units), drawn=drawn_name(read.drawn))
    units = intervals.resampling.units
    if checked is not None:
        run(lambda: units(checked))
    return intervals


def _conditions(options: EvaluationOptions, read: ReadTable) -> Any:
    """Return the conditions as groups of the library: ids, or names of columns of parts."""
    by = options.conditions["by"]
    if by is None:
        return None
    ids = read.table.others
    return {
        each: ids[each] if isinstance(each, str) else tuple(ids[name] for name in each)
        for each in by
    }


def _check_same(a: ReadTable, b: ReadTable, predictions: Mapping[str, Any]) -> None:
    """Raise unless two tables have the same samples, weights and clusters."""
    names = f"{a.table.path} and {b.table.path}"
    try:
        check_same_samples(*(predictions[str(each.table.path)] for each in (a, b)))
    except ArgumentError as error:
        raise error.renamed(names) from None
    ours, theirs = (each.table.clusters for each in (a, b))
    known: list[Any] = [ours or theirs, theirs or ours]
    weights: list[Any] = [each.table.values.get("weights") for each in (a, b)]
    same = {"weights": weights, f"--resample {', '.join(a.table.ids)}: values": known}
    for name, values in a.table.others.items():
        same[f"--by {name}: values"] = [values, b.table.others[name]]
    for what, values in same.items():
        if not np.array_equal(*values):  # both may be empty
            raise ValueError(f"{what} must be the same in {names}")


def _check_parts(options: EvaluationOptions, read: ReadTable) -> None:
    if options.to_report is not None:
        raise ValueError(
            f"--report draws all scores, and {read.table.path} is read part by part: take a sample"
        )


def _print_parts(read: ReadTable, data: PartitionedPredictions) -> None:
    """Print how a table that is read part by part was interpreted."""
    table = read.table
    print_line(f"{table.notes}; taken as {read.scale}")
    n_files, n_parts = counted(len(table.files), "file"), counted(data.n_parts, "part")
    print_line(f"{table.path}: {n_files}, read in {n_parts}")


@contextmanager
def _rows_shown(data: Data, begin: Steps) -> Iterator[Steps | None]:
    """Yield what shows the metrics that are computed; of data in parts, show the rows read."""
    if not isinstance(data, PartitionedPredictions):
        yield begin
        return
    n_rows = data.source.n_rows
    read, n_done = -1, 0

    def see(progress: Progress) -> None:
        nonlocal read, n_done
        if progress.read != read:
            read, n_done = progress.read, 0
        n_done += progress.n_rows
        begin(f"rows, read {read + 1}", n_done, None if progress.is_sample else n_rows)

    with watched(see):
        yield None


def _listed(costs: CostMatrix) -> str:
    """Return the costs as text, of a large matrix the shape and the range."""
    values = costs.values
    if values.size > _MOST_COSTS:
        shape = f"{costs.n_classes:,} classes, {costs.n_decisions:,} decisions"
        return f"{shape}, costs from {values.min():g} to {values.max():g}"
    rows = "; ".join(", ".join(f"{cost:g}" for cost in row) for row in values)
    return f"a row for each true class, a column for each decision: {rows}"
