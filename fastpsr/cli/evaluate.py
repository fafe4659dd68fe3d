"""`fastpsr evaluate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fastpsr.bootstrap import Resampling
from fastpsr.cli.command import in_groups
from fastpsr.cli.measures import (
    TableMeasure,
    TrialMeasure,
    conditions_of,
    drawn_of_table,
    evaluate_trials,
)
from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    By,
    CalibratorOptions,
    Columns,
    GroupDifferences,
    IntervalOptions,
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
)
from fastpsr.cli.parquet_tables import evaluate_parts
from fastpsr.cli.reports import require_report, write_report
from fastpsr.cli.score_files import read_scores
from fastpsr.cli.show import heard, steps, warnings_as_lines
from fastpsr.cli.spoofing import spoofed_by_path
from fastpsr.cli.systems import show_systems
from fastpsr.cli.tables import Outputs, print_evaluation, write_evaluation
from fastpsr.cli.trial_files import TrialReader
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation, GroupPairs, Intervals, evaluate_systems
from fastpsr.predictions import Predictions
from fastpsr.tables import Table

__all__ = ["evaluate"]


@in_groups
def evaluate(
    context: typer.Context,
    measures: MeasureOptions,
    loss: CalibratorOptions,
    tables: TableOptions,
    keys: KeyOptions,
    speakers: SpeakerOptions,
    trials: TrialOptions,
    drawn: IntervalOptions,
    outputs: OutputOptions,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A table of scores with labels: .npz, .npy, .csv or .parquet, a folder of Parquet "
            "files, or a pattern of Parquet files in quotes. After --scores: score files of "
            "further systems.",
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Score file of a system, or NAME=FILE; without --key it must contain labels. Text "
            "may come from a pipe, - for standard input.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    scores_are: KindsOfScores = None,
    columns: Columns = None,
    by: By = None,
    group_differences: GroupDifferences = None,
    to_report: Report = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="For Parquet files: print the number of reads, bytes, memory and time that the "
            "evaluation takes, and stop.",
            rich_help_panel="Tables",
        ),
    ] = False,
) -> None:
    """Evaluate a table of scores with labels, or systems on a trial list (--key and --scores)."""
    systems = [*(scores or []), *(files or [])]
    of_trials = bool(keys.files) or scores is not None
    has_key = keys.has_key(systems)
    of_groups: GroupPairs | None = None
    if group_differences is not None:
        of_groups = group_differences.value
    refuse_for_mode(context, of_trials=of_trials, has_key=has_key)
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    clusters = None if of_trials else column_of(intervals)
    beside = [] if of_trials else arrays_beside(tables.labels, tables.weights, clusters)
    read = keys.inputs(systems) if of_trials else systems
    inputs = [*read, measures.costs, speakers.speakers, *beside]
    named = keys.systems(systems) if of_trials else {}
    has_scores, systems = bool(systems), [*named] or systems
    check_outputs({**outputs.files, "--report": to_report}, inputs)
    written = Outputs(outputs.files, inputs)
    require_report(to_report)
    folds_are_given = "--folds" in given(context)
    scales = kinds_of(scores_are, len(systems))
    if set(scales) == {ScoresAre.RAW}:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    if of_trials:
        if explain:
            raise ValueError("--explain is for Parquet files, not for --key and --scores")
        made = [
            TrialMeasure.of(scale, measures, loss, by=by, folds_are_given=folds_are_given)
            for scale in scales
        ]
        reader = TrialReader.of(
            keys.keys, trials, columns, speakers, classes=keys.classes, has_scores=has_scores
        )
        judged = dict(zip(named, made, strict=True))
        caution = drawn.caution(intervals, speakers)
        check_inputs(inputs)
        _evaluate_trials(named, reader, judged, intervals, of_groups, caution, written, to_report)
        return
    if len(systems) != 1:
        listed = ", ".join(str(path) for path in systems) or "no file"
        quote = any(path.suffix == ".parquet" for path in systems)
        raise ValueError(
            f"give one table of scores with labels, or --key KEY --scores FILE ..., not {listed}"
            + "; quote a pattern of Parquet files that are one table" * quote
        )
    (path,) = systems
    table = TableMeasure.of(scales[0], measures, loss, folds_are_given=folds_are_given)
    check_inputs(inputs)
    where = (tables.labels, columns, tables.weights, clusters)
    data = read_scores(path, table.scale, *where, in_parts=True if explain else None)
    if data.files:
        evaluate_parts(data, table, intervals, written, to_report, explain=explain)
    else:
        _evaluate_table(data, table, intervals, written, to_report)


def _evaluate_table(
    data: Table,
    measure: TableMeasure,
    intervals: Intervals | None,
    outputs: Outputs,
    report: Path | None,
) -> None:
    """Compute, print and write the table of a file."""
    drawn = None if intervals is None else drawn_of_table(intervals, data.clusters)
    with heard() as read:
        predictions = measure.predictions(data)
        metrics = measure.metrics(predictions.n_classes)
        with steps(None) as begin:
            evaluation = evaluate_systems(
                {None: predictions}, metrics, intervals=drawn, progress=begin
            )
    evaluation = in_words(evaluation)
    print_evaluation(evaluation)
    write_evaluation(evaluation, measure.scale, outputs)
    if report is not None:
        read.append(str(evaluation.all_samples))
        write_report(
            report, evaluation, predictions={data.path.name: predictions}, read=read,
            operating_points=measure.detection,
        )  # fmt: skip


def _evaluate_trials(
    systems: Mapping[Path, str | None],
    reader: TrialReader,
    measures: Mapping[Path, TrialMeasure],
    intervals: Intervals | None,
    group_differences: GroupPairs | None,
    caution: str,
    outputs: Outputs,
    report: Path | None,
) -> None:
    """Read, evaluate, print and write; `systems` are score files, some with names."""
    found: list[Evaluation] = []
    pooled: dict[str, Predictions] = {}
    parted: dict[str, dict[str, Predictions]] = {}
    resampling: dict[str, Resampling] = {}
    spoof: dict[str, NDArray[np.bool_]] = {}
    with heard() as said, steps(None) as begin:
        reader.progress = begin
        for path in systems:
            made = reader.read(path)
            groups = made.speakers if reader.speakers.are_known else None
            with reader.clock.on("metrics"), warnings_as_lines(f"{path}: "):
                evaluation, predictions = evaluate_trials(
                    {path: made}, {path: measures[path]}, groups, intervals,
                    lambda what, *amount, path=path: begin(f"{path}: {what}", *amount),
                    group_differences=group_differences,
                )  # fmt: skip
            found.append(evaluation)
            if report is not None:
                pooled |= predictions
                if evaluation.intervals is not None:
                    resampling[str(path)] = evaluation.intervals.resampling
                parted |= conditions_of({path: made}, measures)
                spoof |= spoofed_by_path({path: made})
    detection = next(iter(measures.values())).detection
    show_systems(
        Evaluation.joined(found), systems, [measures[path].scale for path in systems], outputs,
        report, pooled, detection, said, conditions=parted, resampling=resampling, spoof=spoof,
        clock=reader.clock, caution=caution,
    )  # fmt: skip
