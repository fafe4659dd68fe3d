"""`fastpsr evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.dcf import parse_dcf
from fastpsr.cli.intervals import (
    Level,
    Method,
    MethodName,
    Resample,
    Resamples,
    Seed,
    column_of,
    parse_intervals,
)
from fastpsr.cli.modes import FOR_RCL, given, refuse, refuse_for_mode
from fastpsr.cli.options import (
    CalibratorOfLoss,
    Columns,
    Costs,
    Dcf,
    Drop,
    Duplicates,
    Equalize,
    Extra,
    First,
    Floor,
    Folds,
    Ignore,
    KeyColumns,
    KeyFormat,
    KeyTranspose,
    Labels,
    Missing,
    Nan,
    Priors,
    ScoreFormat,
    ScoresAre,
    ScoresMean,
    SpeakerColumns,
    SpeakerMap,
    SpeakerPattern,
    ToCsv,
    ToJson,
    ToLatex,
    ToMarkdown,
    ToReport,
    Transpose,
    Weights,
    arrays_beside,
    check_outputs,
    make_calibrator,
    parse_priors,
    read_costs,
    table_scale,
    trial_scale,
)
from fastpsr.cli.parquet_tables import evaluate_parts, table_in_parts, usual_columns
from fastpsr.cli.reports import require_report
from fastpsr.cli.score_files import read_scores
from fastpsr.cli.table_evaluation import TableMeasure, evaluate_table
from fastpsr.cli.trial_evaluation import evaluate_trials
from fastpsr.cli.trial_files import FileOptions, SpeakerOptions, TrialReader
from fastpsr.cli.trial_rows import TrialMeasure

__all__ = ["evaluate"]


def evaluate(
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="A table of scores with labels: .npz, .npy, .csv or .parquet; a folder of Parquet "
            "files, or a pattern in quotes. After --scores: score files of further systems.",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="Trial list with labels.", rich_help_panel="Trial lists"),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Score file of a system; without --key one that holds labels.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    scores_are: ScoresMean = None,
    columns: Columns = None,
    priors: Priors = None,
    dcf: Dcf = None,
    calibrator: CalibratorOfLoss = "dp",
    floor: Floor = None,
    folds: Folds = 5,
    labels: Labels = None,
    weights: Weights = None,
    costs: Costs = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column of the key: also results for each of its values.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    equalize: Equalize = None,
    speakers: SpeakerMap = None,
    speaker_columns: SpeakerColumns = None,
    speaker_pattern: SpeakerPattern = None,
    key_format: KeyFormat = None,
    key_columns: KeyColumns = None,
    key_transpose: KeyTranspose = None,
    format: ScoreFormat = None,
    transpose: Transpose = None,
    missing: Missing = Drop.ERROR,
    extra: Extra = Ignore.ERROR,
    duplicates: Duplicates = First.ERROR,
    nan: Nan = Drop.ERROR,
    ci: Level = None,
    resamples: Resamples = None,
    resample: Resample = "iid",
    interval: MethodName = Method.PERCENTILE,
    seed: Seed = 0,
    to_json: ToJson = None,
    to_csv: ToCsv = None,
    to_markdown: ToMarkdown = None,
    to_latex: ToLatex = None,
    to_report: ToReport = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Of Parquet files: say how often they are read, what that takes, and stop.",
            rich_help_panel="Tables",
        ),
    ] = False,
) -> None:
    """Evaluate a table of scores with labels, or systems on a trial list (--key and --scores)."""
    outputs = {
        "--json": to_json, "--csv": to_csv, "--markdown": to_markdown, "--latex": to_latex
    }  # fmt: skip
    systems = [*(scores or []), *(files or [])]
    of_trials = key is not None or scores is not None
    refuse_for_mode(context, of_trials=of_trials, has_key=key is not None)
    intervals = parse_intervals(
        context, ci, resamples, resample, interval, seed, of_trials=of_trials
    )
    clusters = column_of(intervals)
    beside = [] if of_trials else arrays_beside(labels, weights, clusters)
    check_outputs({**outputs, "--report": to_report}, [*systems, key, costs, speakers, *beside])
    require_report(to_report)
    dcfs = [parse_dcf(text) for text in dcf or (["0.01"] if of_trials else [])]
    folds_are_given = "--folds" in given(context)
    chosen = make_calibrator(calibrator, floor)
    if scores_are is ScoresAre.RAW:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    if of_trials:
        if explain:
            raise ValueError("--explain is for Parquet files, not for --key and --scores")
        if not systems:
            raise ValueError("--key needs --scores FILE, one for each system")
        scale = trial_scale(scores_are)
        both = parse_priors(priors, scale, of_trials=True)
        measure = TrialMeasure(
            scale, None if both is None else both[1], dcfs, chosen, folds, folds_are_given, by,
            equalize, intervals,
        )  # fmt: skip
        reader = TrialReader(
            key,
            FileOptions.parse("--key-columns", key_format, key_columns, key_transpose),
            FileOptions.parse("--columns", format, columns, transpose),
            {"missing": missing, "extra": extra, "duplicates": duplicates, "nan": nan},
            SpeakerOptions(speakers, speaker_columns, speaker_pattern),
        )
        evaluate_trials(systems, reader, measure, outputs, to_report)
        return
    if len(systems) != 1:
        named = ", ".join(str(path) for path in systems) or "no file"
        quote = any(path.suffix == ".parquet" for path in systems)
        raise ValueError(
            f"give one table of scores with labels, or --key KEY --scores FILE ..., not {named}"
            + "; quote a pattern of Parquet files that are one table" * quote
        )
    meaning = table_scale(scores_are)
    table = TableMeasure(
        meaning, parse_priors(priors, meaning), read_costs(costs), dcfs, chosen, folds,
        folds_are_given,
    )  # fmt: skip
    columns = usual_columns(systems[0], columns, meaning)
    parts = table_in_parts(systems[0], labels, columns, weights, clusters, always=explain)
    if parts is not None:
        evaluate_parts(parts, table, intervals, outputs, to_report, explain=explain)
        return
    if explain:
        raise ValueError(f"--explain is for Parquet files, not for {systems[0]}")
    data = read_scores(systems[0], labels, columns, weights, clusters)
    evaluate_table(data, table, intervals, outputs, to_report)
