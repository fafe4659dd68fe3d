"""`fastpsr compare`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.cli.comparison import compare_pair
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
from fastpsr.cli.pairs import pair_of_tables, pair_of_trials
from fastpsr.cli.score_files import is_table, read_scores
from fastpsr.cli.table_evaluation import TableMeasure
from fastpsr.cli.trial_files import FileOptions, SpeakerOptions, TrialReader
from fastpsr.cli.trial_rows import TrialMeasure

__all__ = ["compare"]


def compare(
    context: typer.Context,
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="A table of scores with labels: .npz, .npy, .csv or .parquet. With --key the "
            "score file of a system.",
        ),
    ],
    b: Annotated[
        Path, typer.Argument(metavar="B", help="The same of another system, on the same samples.")
    ],
    key: Annotated[
        Path | None,
        typer.Option(
            help="Trial list with labels; a score file that holds labels will do.",
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
    ci: Level = 0.95,
    resamples: Resamples = 1000,
    resample: Resample = "iid",
    interval: MethodName = Method.PERCENTILE,
    seed: Seed = 0,
    to_json: ToJson = None,
    to_csv: ToCsv = None,
    to_markdown: ToMarkdown = None,
    to_latex: ToLatex = None,
) -> None:
    """Compare two systems on the same samples: the difference of each metric, with an interval.

    Both see the same draws, so that what is hard for both cancels.
    """
    outputs = {
        "--json": to_json, "--csv": to_csv, "--markdown": to_markdown, "--latex": to_latex
    }  # fmt: skip
    of_trials = key is not None
    refuse_for_mode(context, of_trials=of_trials, has_key=of_trials, by="--key")
    intervals = parse_intervals(
        context, ci, resamples, resample, interval, seed, of_trials=of_trials
    )
    assert intervals is not None
    clusters = None if of_trials else column_of(intervals)
    beside = [] if of_trials else arrays_beside(labels, weights, clusters)
    check_outputs(outputs, [a, b, key, costs, speakers, *beside])
    if a.resolve() == b.resolve():
        raise ValueError(f"A and B must be two files, not {a} twice")
    dcfs = [parse_dcf(text) for text in dcf or (["0.01"] if of_trials else [])]
    folds_are_given = "--folds" in given(context)
    chosen = make_calibrator(calibrator, floor)
    if scores_are is ScoresAre.RAW:
        refuse(context, [*FOR_RCL, "--costs"], "has no use for raw scores, which only rank")
    if of_trials:
        scale = trial_scale(scores_are)
        both = parse_priors(priors, scale, of_trials=True)
        measure = TrialMeasure(
            scale, None if both is None else both[1], dcfs, chosen, folds, folds_are_given, None,
            equalize, intervals,
        )  # fmt: skip
        reader = TrialReader(
            key,
            FileOptions.parse("--key-columns", key_format, key_columns, key_transpose),
            FileOptions.parse("--columns", format, columns, transpose),
            {"missing": missing, "extra": extra, "duplicates": duplicates, "nan": nan},
            SpeakerOptions(speakers, speaker_columns, speaker_pattern),
        )
        pair = pair_of_trials(a, b, reader, measure)
    else:
        for path in (a, b):
            if not is_table(path):
                raise ValueError(
                    f"{path} must end in .npz, .npy, .csv or .parquet to be a table; score files "
                    "of trials need --key KEY, for which one that holds labels will do"
                )
        meaning = table_scale(scores_are)
        table = TableMeasure(
            meaning, parse_priors(priors, meaning), read_costs(costs), dcfs, chosen, folds,
            folds_are_given,
        )  # fmt: skip
        files = [read_scores(path, labels, columns, weights, clusters) for path in (a, b)]
        pair = pair_of_tables(files[0], files[1], table, intervals)
    compare_pair(pair, intervals, outputs)
