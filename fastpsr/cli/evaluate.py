"""`fastpsr evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.calibration import CrossFit
from fastpsr.cli.options import (
    CalibratorName,
    Columns,
    Duplicates,
    Extra,
    KeyFormat,
    Labels,
    Missing,
    Nan,
    ScoreFormat,
    ScoresAre,
    SpeakerColumns,
    SpeakerMap,
    SpeakerPattern,
    Weights,
    check_outputs,
    make_calibrator,
    parse_numbers,
    read_costs,
)
from fastpsr.cli.score_files import read_scores
from fastpsr.cli.show import console, print_evaluation, steps, write_evaluation
from fastpsr.cli.trial_evaluation import Clock, SpeakerOptions, evaluate_system, join_system
from fastpsr.cli.trial_tables import check_ending, print_rows, write_rows
from fastpsr.evaluate import default_metrics
from fastpsr.evaluate import evaluate as evaluate_predictions
from fastpsr.trials import read_key
from fastpsr.trials import read_scores as read_trial_scores

__all__ = ["evaluate"]


def evaluate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]",
            help="Scores with labels: .npz, .npy, .csv or .parquet. With --key: further systems.",
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Trial key; then --scores names the systems' files.")
    ] = None,
    scores: Annotated[
        list[Path] | None, typer.Option(help="Score files of trials, one per system.")
    ] = None,
    scores_are: Annotated[
        ScoresAre | None,
        typer.Option(
            "--scores-are",
            help="What the scores are; by default posteriors, with --key llr (natural logarithms).",
        ),
    ] = None,
    labels: Labels = None,
    columns: Columns = None,
    weights: Weights = None,
    priors: Annotated[
        str | None,
        typer.Option(help="Class priors, e.g. 0.99,0.01; by default the class frequencies."),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="Cost matrix, a row per class: .json or .csv.")
    ] = None,
    dcf: Annotated[
        list[str] | None,
        typer.Option(
            help="Detection cost of trials: sre16, sre18, sre18-vast, sre19, sre21, voxsrc, a "
            "target prior, or P:CMISS:CFA; several times for several. By default 0.01."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Column of the key: also a row for each of its values.")
    ] = None,
    equalise: Annotated[
        str | None,
        typer.Option(help="Columns of the key whose partitions count alike, in the pooled row."),
    ] = None,
    speakers: SpeakerMap = None,
    speaker_columns: SpeakerColumns = None,
    speaker_pattern: SpeakerPattern = None,
    key_format: KeyFormat = None,
    format: ScoreFormat = None,
    missing: Missing = "error",
    extra: Extra = "error",
    duplicates: Duplicates = "error",
    nan: Nan = "error",
    calibrator: Annotated[
        CalibratorName, typer.Option(help="Calibrator behind the calibration loss.")
    ] = CalibratorName.DP,
    folds: Annotated[int, typer.Option(help="Folds of its cross-fitting.")] = 5,
    to_json: Annotated[
        Path | None, typer.Option("--json", help="Also write the table to this file.")
    ] = None,
    to_csv: Annotated[
        Path | None, typer.Option("--csv", help="Also write the table to this file.")
    ] = None,
    to_markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Of trials: also as a .md file.")
    ] = None,
    to_latex: Annotated[
        Path | None, typer.Option("--latex", help="Of trials: also as a .tex file.")
    ] = None,
) -> None:
    """Evaluate a file of scores with labels, or systems on a trial list (--key and --scores)."""
    outputs = {
        "--json": to_json, "--csv": to_csv, "--markdown": to_markdown, "--latex": to_latex
    }  # fmt: skip
    systems = [*(scores or []), *(files or [])]
    named = [labels, weights] if key is None else []
    beside = [Path(name) for name in named if name is not None and name.endswith(".npy")]
    check_outputs(outputs, [*systems, key, costs, speakers, *beside])
    if key is None:
        if scores is not None or len(systems) != 1:
            given = ", ".join(str(path) for path in systems) or "no file"
            raise ValueError(
                f"give one file of scores with labels, or --key KEY --scores FILE ..., not {given}"
            )
        matrix = read_costs(costs)
        meaning = (scores_are or ScoresAre.POSTERIORS).value
        data = read_scores(systems[0], labels, columns, weights)
        console.print(f"{data.taken}; taken as {meaning}")
        predictions = data.predictions(meaning, parse_numbers("--priors", priors))
        data.require_labels()
        if matrix is not None:
            matrix.check_classes(predictions.n_classes)
        chosen = make_calibrator(calibrator)
        chosen.check_classes(predictions.n_classes)
        metrics = default_metrics(
            predictions.n_classes, costs=matrix, calibrator=chosen, train=CrossFit(folds=folds)
        )
        with steps(len(metrics)) as begin:
            evaluation = evaluate_predictions(predictions, metrics, progress=begin)
        print_evaluation(evaluation)
        write_evaluation(evaluation, to_json, to_csv)
        return
    for option, ending in (("--json", ".json"), ("--csv", ".csv"), ("--markdown", ".md"),
                           ("--latex", ".tex")):  # fmt: skip
        check_ending(option, outputs[option], ending)
    if not systems:
        raise ValueError("--key needs --scores FILE, one for each system")
    meaning = (scores_are or ScoresAre.LLR).value
    who = SpeakerOptions(speakers, speaker_columns, speaker_pattern)
    policies = {"missing": missing, "extra": extra, "duplicates": duplicates, "nan": nan}
    numbers = parse_numbers("--priors", priors)
    clock, rows = Clock(), []
    with steps(None) as begin:
        with clock.on("read"):
            begin(f"reading {key}")
            trial_key = read_key(key, format=key_format)
        for path in systems:
            with clock.on("read"):
                begin(f"reading {path}")
                read = read_trial_scores(path, format=format)
            with clock.on("join"):
                begin(f"joining {path}")
                made = join_system(trial_key, read, policies, who)
            for line in made.taken:
                console.print(line)
            with clock.on("metrics"):
                rows += evaluate_system(
                    str(path),
                    made,
                    scores_are="posterior" if meaning == "posteriors" else meaning,
                    dcfs=dcf or ["0.01"],
                    prior=None if numbers is None else numbers[-1],
                    by=by,
                    equalise=equalise,
                    speakers_known=who.are_known,
                    progress=begin,
                )
    console.print(f"scores taken as {meaning}; {len(made):,} trials; {clock}")
    print_rows(rows)
    for target in outputs.values():
        if target is not None:
            write_rows(rows, target)
