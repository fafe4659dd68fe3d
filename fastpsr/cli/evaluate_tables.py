"""Tables of scores with labels: a table of metrics, or differences on the same samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fastpsr.bootstrap.bootstrap import check_same_samples
from fastpsr.bootstrap.settings import Intervals
from fastpsr.calibration import CrossFit
from fastpsr.cli.options.evaluation import EvaluationOptions
from fastpsr.cli.options.intervals import drawn_name
from fastpsr.cli.options.measures import parse_priors
from fastpsr.cli.options.sources import OF_POSTERIORS
from fastpsr.cli.results import show_evaluation, shown_names
from fastpsr.cli.score_files import ReadTable, read_scores
from fastpsr.cli.show import (
    Steps,
    print_error,
    print_line,
    print_written,
    recorded_lines,
    size_of,
    steps,
    warnings_as_lines,
)
from fastpsr.cli.wording import worded
from fastpsr.costs import CostMatrix
from fastpsr.counts.groups import groups_of
from fastpsr.data import Data, PartitionedPredictions, Predictions
from fastpsr.data.budget import memory_budget
from fastpsr.data.reading import Progress, watched
from fastpsr.errors import ArgumentError, counted
from fastpsr.evaluation import Evaluation, Row, evaluate_systems
from fastpsr.evaluation.specification import Specification
from fastpsr.tables.table import Table

_MOST_COSTS = 36  # that are listed one by one


def evaluate_tables(
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Path, str],
    intervals: Intervals | None,
    inputs: Sequence[Path | None],
    *,
    folds: int | None,
) -> None:
    """Compute, print and write the table of a file or of systems, or also their differences.

    Systems are files, or columns of a file by name.
    """
    columns, pairs = options.system_columns, options.differences.pairs
    reports = options.outputs.reports
    is_named = pairs is not None or columns is not None
    with steps(len(systems) + 1 + len(reports)) as begin:
        with recorded_lines() as lines:
            in_parts = False if pairs and columns is None else None
            with worded(columns="--columns"):
                read = _read(options, systems, scales, intervals, in_parts, begin)
                name, *others = read
                first = next((each for each in read.values() if each.table.ids), read[name])
                data = {each: _predictions(options, each, read[each], folds) for each in read}
            for other in others if columns is None else ():
                _check_same(name, other, read, data)
            one = data[name]
            _check_classes(data)
            _check_options(options, one.n_classes)
            metrics = options.metrics([*scales.values()], one.n_classes, of_table=True)
            if costs := options.measures.cost_matrix:
                print_line(f"--costs: {_listed(costs)}")
            begin(f"metrics of {' and '.join(data)}")
            if intervals is not None:
                intervals = _drawing(intervals, first, one if pairs else None)
            if isinstance(one, PartitionedPredictions):
                n_files = counted(len(first.table.files), "file")
                print_line(f"{first.table.path}: {n_files}, read in {counted(one.n_parts, 'part')}")
                if intervals is not None and first.table.n_bytes:
                    print_error(_too_large(first.table, one))
            by, bins = _conditions(options, read[name]), options.conditions.bins
            with warnings_as_lines(), _rows_shown(one, begin) as progress:
                specification = Specification(
                    metrics, intervals, by, bins, pairs, options.differences.group_pairs
                )
                if is_named:
                    evaluation = _evaluation(options, read, data, specification, progress)
                else:
                    evaluation = evaluate_systems({None: one}, specification, progress)
        evaluation = evaluation.with_rows(
            lambda row: _with_floor(row, read[row.system or name].scale)
        )
        shown: Mapping[Any, str | None] = {each: each for each in columns} if columns else systems
        figures = _figures(data, shown_names(shown), by, bins) if reports else {}
        show_evaluation(evaluation, shown, scales, options, inputs, figures, lines, begin)
    print_written(options.written)


def _evaluation(
    options: EvaluationOptions,
    read: Mapping[str, ReadTable],
    data: Mapping[str, Any],
    specification: Specification,
    progress: Any,
) -> Evaluation:
    """Evaluate systems: together if they are compared or of one kind, else by their own metrics."""
    kinds = {name: each.scale for name, each in read.items()}
    are_alike = specification.differences is not None or len({*kinds.values()}) == 1
    found = []
    for some in [[*data]] if are_alike else [[name] for name in data]:
        n_classes = data[some[0]].n_classes
        metrics = options.metrics([kinds[name] for name in some], n_classes, of_table=True)
        systems = {name: data[name] for name in some}
        own = replace(specification, metrics=metrics)
        found.append(evaluate_systems(systems, own, progress, always_named=len(data) > 1))
    return Evaluation.joined(found)


def _too_large(table: Table, data: PartitionedPredictions) -> str:
    """Return why a file is read in parts, for each batch of replicates, and how to load it."""
    n_rows, unit = data.source.n_rows, 10**6 if table.n_bytes > 10**6 else 10**3
    needed = f"{-(-table.n_bytes // unit):,}".replace(",", "") + {10**6: "MB", 10**3: "KB"}[unit]
    return (
        f"{table.path}: {n_rows:,} rows are read in parts, again for each batch of replicates, "
        f"since {needed} in memory are more than the budget of {size_of(memory_budget())}: set "
        f"FASTPSR_MEMORY={needed} to load them, if they fit"
    )


def _read(
    options: EvaluationOptions,
    systems: Mapping[Path, str | None],
    scales: Mapping[Any, str],
    intervals: Intervals | None,
    in_parts: bool | None,
    begin: Steps,
) -> dict[str, ReadTable]:
    """Read systems by name: each from its file, or all from columns of one."""
    drawn = None if intervals is None else options.drawn
    where = (options.tables.labels, options.tables.weights, drawn, options.conditions.columns)
    kinds = {str(name): scale for name, scale in scales.items()}
    found: dict[str, ReadTable] = {}
    for path in systems:
        begin(f"reading {path}")
        own: Mapping[str, list[str] | None] = {str(path): options.columns}
        columns = options.system_columns or own
        found |= read_scores(path, kinds, columns, *where, in_parts=in_parts)
        if options.outputs.reports and any(each.table.files for each in found.values()):
            raise ValueError(
                f"--output {options.outputs.reports[0]}: a report draws all scores, and {path} is "
                "read part by part: take a sample"
            )
    return found


def _predictions(options: EvaluationOptions, name: str, read: ReadTable, folds: int | None) -> Any:
    """Return the labeled predictions of a system; print how its columns were interpreted."""
    table = read.table
    print_line(
        f"{f'{name}: ' if options.system_columns else ''}{table.notes}; taken as {read.scale}"
    )
    table.require_labels()
    priors = parse_priors(options.measures.priors, read.scale)
    floor = options.loss.floor_of(read.scale)
    predictions = table.predictions(
        priors, **options.tables.of_scores(options.allowed), floor=floor
    )
    if folds is not None and isinstance(predictions, Predictions):
        CrossFit(folds=folds).folds_of(predictions)  # raises where there are too few samples
    return predictions


def _check_options(options: EvaluationOptions, n_classes: int) -> None:
    """Raise if options are not for so many classes."""
    options.loss.untrained(has_floor=True).check_classes(n_classes)
    if options.measures.cost_matrix is not None:
        options.measures.cost_matrix.check_classes(n_classes)
    if options.measures.dcf and n_classes > 2:
        raise ValueError(f"--dcf needs a binary task, not {n_classes} classes")


def _drawing(intervals: Intervals, read: ReadTable, checked: Data | None) -> Intervals:
    """Return intervals with what is drawn; raise if `checked` has too few units of it."""
    intervals = replace(intervals.drawing(read.units), drawn=drawn_name(read.drawn))
    units = intervals.resampling.units
    if checked is not None:
        units(checked)
    return intervals


def _conditions(options: EvaluationOptions, read: ReadTable) -> Any:
    """Return the conditions as groups of the library: ids, or names of columns of parts."""
    by = options.conditions.by
    if by is None:
        return None
    ids = read.table.others
    return {
        each: ids[each] if isinstance(each, str) else tuple(ids[name] for name in each)
        for each in by
    }


def _with_floor(row: Row, scale: str) -> Row:
    """Return a row with the option that bounds what posteriors of 0 cost, if they have no value."""
    error = row.error
    if not (isinstance(error, ArgumentError) and error.argument == "predictions"):
        return row
    if error.pass_ or row.state == "not computed" or scale not in OF_POSTERIORS:
        return row
    named = ArgumentError("predictions", error.rule, pass_={"floor": 1e-3}, name=error.name)
    return replace(row, error=named)


def _check_same(
    one: str, other: str, read: Mapping[str, ReadTable], data: Mapping[str, Data]
) -> None:
    """Raise unless two files have the same samples, weights and clusters."""
    names, a, b = f"{one} and {other}", read[one], read[other]
    try:
        check_same_samples(data[one], data[other])
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


def _check_classes(data: Mapping[str, Data]) -> None:
    """Raise unless all systems have the same number of classes."""
    if len({each.n_classes for each in data.values()}) > 1:
        found = ", ".join(f"{name} has {each.n_classes}" for name, each in data.items())
        raise ValueError(f"systems must have the same classes, but {found}")


def _figures(
    data: Mapping[str, Any], names: Mapping[str, str], by: Any, bins: Any
) -> dict[str, dict[str, Any]]:
    """Return what figures show of all samples, and of conditions, by name of the system."""
    conditions = {
        names[system]: {group.name: group.data for group in groups_of(each, by, bins)}
        for system, each in data.items()
    }
    all_samples = {names[system]: each for system, each in data.items()}
    return {"predictions": all_samples, "by_condition": conditions}


@contextmanager
def _rows_shown(data: Data, begin: Steps) -> Iterator[Callable[[str, int, int], object]]:
    """Yield what shows the metrics and replicates; of data in parts, show the rows read, too."""
    if not isinstance(data, PartitionedPredictions):
        yield begin
        return
    n_rows = data.source.n_rows
    read, n_done, replicates = -1, 0, ""

    def tell(step: str, done: int, total: int) -> None:
        nonlocal replicates
        replicates = f", {done:,} of {total:,} {step}" if "replicates" in step else ""

    def see(progress: Progress) -> None:
        nonlocal read, n_done
        if progress.read != read:
            read, n_done = progress.read, 0
        n_done += progress.n_rows
        begin(f"rows, read {read + 1}{replicates}", n_done, None if progress.is_sample else n_rows)

    with watched(see):
        yield tell


def _listed(costs: CostMatrix) -> str:
    """Return the costs as text, of a large matrix the shape and the range."""
    values = costs.values
    if values.size > _MOST_COSTS:
        shape = f"{costs.n_classes:,} classes, {costs.n_decisions:,} decisions"
        return f"{shape}, costs from {values.min():g} to {values.max():g}"
    rows = "; ".join(", ".join(f"{cost:g}" for cost in row) for row in values)
    return f"a row for each true class, a column for each decision: {rows}"
