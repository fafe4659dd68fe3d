"""`fastpsr compare`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fastpsr.bootstrap.bootstrap import check_same_samples
from fastpsr.cli.command import in_groups
from fastpsr.cli.measures import (
    TableMeasure,
    TrialMeasure,
    conditions_of,
    drawn_of_table,
    evaluate_trials,
    shared,
)
from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    By,
    CalibratorOptions,
    Columns,
    ComparisonOptions,
    GroupDifferences,
    KeyOptions,
    KindsOfScores,
    MeasureOptions,
    OutputOptions,
    Report,
    ScoresAre,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    arrays_beside,
    check_inputs,
    check_outputs,
    column_of,
    kinds_of,
    named_files,
)
from fastpsr.cli.reports import require_report
from fastpsr.cli.score_files import read_scores
from fastpsr.cli.show import heard, steps, warnings_as_lines
from fastpsr.cli.spoofing import spoofed_by_path
from fastpsr.cli.systems import show_systems
from fastpsr.cli.tables import Outputs
from fastpsr.cli.trial_files import TrialReader
from fastpsr.errors import ArgumentError
from fastpsr.evaluation import GroupPairs, Intervals, Pairs, evaluate_systems
from fastpsr.plans import run
from fastpsr.predictions import Predictions
from fastpsr.tables import Table, is_table

__all__ = ["compare"]


@in_groups
def compare(
    context: typer.Context,
    measures: MeasureOptions,
    loss: CalibratorOptions,
    tables: TableOptions,
    keys: KeyOptions,
    speakers: SpeakerOptions,
    trials: TrialOptions,
    drawn: ComparisonOptions,
    outputs: OutputOptions,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Two systems or more, on the same samples: tables of scores with labels (.npz, "
            ".npy, .csv or .parquet); with --key, score files, - for standard input. NAME=FILE "
            "names a system.",
        ),
    ],
    scores_are: KindsOfScores = None,
    columns: Columns = None,
    by: By = None,
    group_differences: GroupDifferences = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Differences of all pairs of systems; by default of the first with each other.",
        ),
    ] = False,
    to_report: Report = None,
) -> None:
    """Compare systems on the same samples: difference of each metric, with an interval.

    All systems are evaluated on the same bootstrap draws (paired comparison).
    """
    of_trials = bool(keys.files)
    of_groups: GroupPairs | None = None
    if group_differences is not None:
        of_groups = group_differences.value
    refuse_for_mode(context, of_trials=of_trials, has_key=of_trials, by="--key")
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    assert intervals is not None
    clusters = None if of_trials else column_of(intervals)
    beside = [] if of_trials else arrays_beside(tables.labels, tables.weights, clusters)
    systems = named_files(files, "FILE")
    if len(systems) < 2:
        raise ValueError(f"FILE must name two systems or more, not {files[0]} alone")
    inputs = [*systems, *keys.files, measures.costs, speakers.speakers, *beside]
    check_outputs({**outputs.files, "--report": to_report}, inputs)
    require_report(to_report)
    folds_are_given = "--folds" in given(context)
    scales = kinds_of(scores_are, len(systems))
    if ScoresAre.RAW in scales:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    pairs: Pairs = "all" if all_pairs else "first"
    written = Outputs(outputs.files, inputs)
    if of_trials:
        judged = [
            TrialMeasure.of(scale, measures, loss, by=by, folds_are_given=folds_are_given)
            for scale in scales
        ]
        reader = TrialReader.of(keys.keys, trials, columns, speakers, classes=keys.classes)
        caution = drawn.caution(intervals, speakers)
        check_inputs(inputs)
        _compare_trials(
            systems, judged, reader, intervals, pairs, of_groups, caution, written,
            to_report,
        )  # fmt: skip
        return
    for path in systems:
        if not is_table(path):
            raise ValueError(
                f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files "
                "of trials need --key KEY, for which one that holds labels will do"
            )
    made = [
        TableMeasure.of(scale, measures, loss, folds_are_given=folds_are_given) for scale in scales
    ]
    check_inputs(inputs)
    where = (tables.labels, columns, tables.weights, clusters)
    read = [read_scores(path, each.scale, *where) for path, each in zip(systems, made, strict=True)]
    _compare_tables(systems, made, read, intervals, pairs, written, to_report)


def _compare_tables(
    systems: Mapping[Path, str | None],
    measures: Sequence[TableMeasure],
    read: Sequence[Table],
    intervals: Intervals,
    pairs: Pairs,
    outputs: Outputs,
    report: Path | None,
) -> None:
    """Compute, print and write the differences of tables of the same samples."""
    with heard() as said:
        predictions = {
            str(data.path): measure.predictions(data)
            for measure, data in zip(measures, read, strict=True)
        }
        first, *others = read
        for other in others:
            _check_same(first, other, predictions)
        clusters = next((data.clusters for data in read if data.clusters), ())
        one = predictions[str(first.path)]
        metrics = shared([measure.metrics(one.n_classes) for measure in measures])
        drawn = drawn_of_table(intervals, clusters)
        run(lambda: drawn.resampling.units(one))  # raises where there are too few
        with warnings_as_lines(), steps(None) as begin:
            evaluation = evaluate_systems(
                predictions, metrics, intervals=drawn, differences=pairs, progress=begin
            )
    scales = [measure.scale for measure in measures]
    detection = measures[0].detection
    show_systems(evaluation, systems, scales, outputs, report, predictions, detection, said)


def _check_same(a: Table, b: Table, predictions: Mapping[str, Predictions]) -> None:
    """Raise unless two tables have the same samples, weights and clusters."""
    one, other = (predictions[str(data.path)] for data in (a, b))
    try:
        check_same_samples(one, other)
    except ArgumentError as error:
        raise error.renamed(f"{a.path} and {b.path}") from None
    known: tuple[Any, Any] = (a.clusters or b.clusters, b.clusters or a.clusters)
    weights: tuple[Any, Any] = (a.values.get("weights"), b.values.get("weights"))
    clusters = f"--resample {', '.join(a.ids)}: values"
    for what, (ours, theirs) in {"weights": weights, clusters: known}.items():
        if not np.array_equal(ours, theirs):  # both may be empty
            raise ValueError(f"{what} must be the same in {a.path} and {b.path}")


def _compare_trials(
    systems: Mapping[Path, str | None],
    measures: Sequence[TrialMeasure],
    reader: TrialReader,
    intervals: Intervals,
    pairs: Pairs,
    group_differences: GroupPairs | None,
    caution: str,
    outputs: Outputs,
    report: Path | None,
) -> None:
    """Compute, print and write the differences on the trials that all systems score."""
    with heard() as said, steps(None) as begin:
        reader.progress = begin
        trials = reader.common({path: reader.read(path) for path in systems})
        made = next(iter(trials.values()))
        assert made.y_true is not None
        for k, name in enumerate(("non-targets", "targets")):
            if not (made.y_true == k).any():
                paths = " and ".join(map(str, systems))
                raise ValueError(f"the trials that have a score in {paths} have no {name}")
        groups = made.speakers if reader.speakers.are_known else None
        with reader.clock.on("metrics"), warnings_as_lines():
            judged = dict(zip(systems, measures, strict=True))
            evaluation, predictions = evaluate_trials(
                trials, judged, groups, intervals, begin, pairs,
                group_differences,
            )  # fmt: skip
    conditions = {} if report is None else conditions_of(trials, judged)
    scales = [measure.scale for measure in measures]
    show_systems(
        evaluation, systems, scales, outputs, report, predictions, measures[0].detection, said,
        conditions=conditions, spoof=spoofed_by_path(trials), clock=reader.clock, caution=caution,
    )  # fmt: skip
