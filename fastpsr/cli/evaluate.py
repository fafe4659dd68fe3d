"""`fastpsr evaluate`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.command import in_groups
from fastpsr.cli.measures import TableMeasure, TrialMeasure, drawn_of_table
from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    CalibratorOptions,
    Columns,
    IntervalOptions,
    MeasureOptions,
    OutputOptions,
    Report,
    ScoresAre,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    arrays_beside,
    check_outputs,
    column_of,
    from_stdin,
    named_files,
)
from fastpsr.cli.parquet_tables import evaluate_parts, table_in_parts, usual_columns
from fastpsr.cli.reports import report_of_table, report_of_trials, require_report
from fastpsr.cli.score_files import ScoreFile, read_scores
from fastpsr.cli.show import console, heard, say, steps, warnings_as_lines
from fastpsr.cli.tables import Outputs, print_evaluation, short_names, write_evaluation
from fastpsr.cli.trial_files import TrialReader
from fastpsr.cli.wording import in_words
from fastpsr.evaluation import Evaluation, Intervals, evaluate_systems
from fastpsr.predictions import Predictions

__all__ = ["evaluate"]


@in_groups
def evaluate(
    context: typer.Context,
    measures: MeasureOptions,
    loss: CalibratorOptions,
    tables: TableOptions,
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
    key: Annotated[
        list[Path] | None,
        typer.Option(help="Trial list with labels.", rich_help_panel="Trial lists"),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Score file of a system, or NAME=FILE; without --key it must contain labels. Text "
            "may come from a pipe, - for standard input.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            help="Scores of target trials, with --nontargets; with --scores their ids, as a key.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    nontargets: Annotated[
        Path | None, typer.Option(help="The same of non-targets.", rich_help_panel="Trial lists")
    ] = None,
    scores_are: Annotated[
        list[ScoresAre] | None,
        typer.Option(
            "--scores-are",
            help="What scores are; by default posteriors, of trials llr (natural logarithms). "
            "Several times: of each system in turn.",
        ),
    ] = None,
    columns: Columns = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column of the key: also compute the metrics for each of its values.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
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
    key = None if key is None else [from_stdin(path) for path in key]
    classes = None if targets is None or nontargets is None else (targets, nontargets)
    if classes is None and (targets is not None or nontargets is not None):
        raise ValueError("--targets and --nontargets go together: give both")
    if classes is not None and key is not None:
        raise ValueError("--key has labels: --targets and --nontargets take its place")
    has_scores = bool(systems)
    if classes is not None and not has_scores:
        systems = [classes[0]]
    of_trials = key is not None or scores is not None or classes is not None
    has_key = key is not None or (classes is not None and has_scores)
    refuse_for_mode(context, of_trials=of_trials, has_key=has_key)
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    clusters = None if of_trials else column_of(intervals)
    beside = [] if of_trials else arrays_beside(tables.labels, tables.weights, clusters)
    named = named_files(systems) if of_trials else {}
    systems = [*named] or systems
    inputs = [*systems, *(key or []), *(classes or ()), measures.costs, speakers.speakers, *beside]
    check_outputs({**outputs.files, "--report": to_report}, inputs)
    written = Outputs(outputs.files, inputs)
    require_report(to_report)
    folds_are_given = "--folds" in given(context)
    scales: list[ScoresAre | None] = [None] if not scores_are else [*scores_are]
    if len(scales) not in (1, len(systems)):
        raise ValueError(
            f"--scores-are must be given once, or for each of {len(systems)} systems, not "
            f"{len(scales)} times"
        )
    if set(scales) == {ScoresAre.RAW}:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    if of_trials:
        if explain:
            raise ValueError("--explain is for Parquet files, not for --key and --scores")
        if not systems:
            raise ValueError("--key needs --scores FILE, one for each system")
        made = [
            TrialMeasure.of(scale, measures, loss, by=by, folds_are_given=folds_are_given)
            for scale in scales
        ]
        reader = TrialReader.of(key, trials, columns, speakers)
        reader.classes, reader.has_scores = classes, has_scores
        judged = dict(zip(named, made * (len(named) // len(made)), strict=True))
        caution = drawn.caution(intervals, speakers)
        _evaluate_trials(named, reader, judged, intervals, caution, written, to_report)
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
    columns = usual_columns(path, columns, table.scale)
    where = (tables.labels, columns, tables.weights, clusters)
    parts = table_in_parts(path, *where, always=explain)
    if parts is not None:
        evaluate_parts(parts, table, intervals, written, to_report, explain=explain)
        return
    if explain:
        raise ValueError(f"--explain is for Parquet files, not for {path}")
    _evaluate_table(read_scores(path, *where), table, intervals, written, to_report)


def _evaluate_table(
    data: ScoreFile,
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
        report_of_table(report, data.path, evaluation, predictions, read, measure.detection)


def _evaluate_trials(
    systems: Mapping[Path, str | None],
    reader: TrialReader,
    measures: Mapping[Path, TrialMeasure],
    intervals: Intervals | None,
    caution: str,
    outputs: Outputs,
    report: Path | None,
) -> None:
    """Read, evaluate, print and write; `systems` are score files, some with names."""
    found: list[Evaluation] = []
    pooled: dict[str, Predictions] = {}
    parted: dict[str, dict[str, Predictions]] = {}
    with heard() as said, steps(None) as begin:
        reader.progress = begin
        for path in systems:
            made = reader.read(path)
            groups = made.speakers if reader.speakers.are_known else None
            with reader.clock.on("metrics"), warnings_as_lines(f"{path}: "):
                evaluation, predictions = measures[path].evaluation(
                    path, made, groups, intervals, begin
                )
            found.append(evaluation)
            if report is not None:
                pooled[str(path)] = predictions
                parted[str(path)] = measures[path].conditions(path, made)
    scales = {str(path): measure.scale for path, measure in measures.items()}
    taken = f"scores taken as {' and '.join(dict.fromkeys(scales.values()))}"
    if len(set(scales.values())) > 1:
        taken = f"scores taken as {', '.join(f'{s} in {path}' for path, s in scales.items())}"
    console.print(f"{taken}; {reader.clock}")
    evaluation = in_words(Evaluation.joined(found))
    given_names = {str(path): name for path, name in systems.items() if name is not None}
    names = short_names([str(path) for path in systems]) | given_names
    with heard() as warnings:
        _warn_of_unlike_trials(evaluation, names)
        if caution:
            say(caution)
    print_evaluation(evaluation.renamed(names))
    all_names = {str(path): str(path) for path in systems} | given_names
    kinds = ", ".join(dict.fromkeys(scales.values()))
    write_evaluation(evaluation.renamed(all_names), kinds, outputs)
    if report is not None:
        read = [*said, taken, *warnings]
        drawn = {names[path]: predictions for path, predictions in pooled.items()}
        by_condition = {names[path]: conditions for path, conditions in parted.items()}
        detection = next(iter(measures.values())).detection
        report_of_trials(report, evaluation.renamed(names), drawn, by_condition, read, detection)


def _warn_of_unlike_trials(evaluation: Evaluation, names: Mapping[str, str]) -> None:
    counts = {e.system or "": e.class_sizes for e in evaluation.groups if e.group is None}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{names[system]} {sum(n):,}" for system, n in counts.items())
        say(f"warning: the systems are judged on different trials: {said}")
