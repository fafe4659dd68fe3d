"""`fastpsr evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.calibration import CrossFit
from fastpsr.cli.options import (
    CalibratorName,
    Labels,
    ScoresAre,
    ScoresAreOption,
    ScoresOption,
    Weights,
    check_outputs,
    make_calibrator,
    parse_numbers,
    read_costs,
)
from fastpsr.cli.score_files import read_scores
from fastpsr.cli.show import console, print_evaluation, steps, write_evaluation
from fastpsr.evaluate import default_metrics
from fastpsr.evaluate import evaluate as evaluate_predictions

__all__ = ["evaluate"]


def evaluate(
    file: Annotated[Path, typer.Argument(help="Scores: .npz, .npy, .csv or .parquet.")],
    scores_are: ScoresAreOption = ScoresAre.POSTERIORS,
    labels: Labels = None,
    scores: ScoresOption = None,
    weights: Weights = None,
    priors: Annotated[
        str | None,
        typer.Option(help="Class priors, e.g. 0.99,0.01; by default the class frequencies."),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="Cost matrix, a row per class: .json or .csv.")
    ] = None,
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
) -> None:
    """Evaluate the posteriors, likelihoods or scores in a file against their labels."""
    check_outputs({"--json": to_json, "--csv": to_csv}, [file, costs])
    matrix = read_costs(costs)
    data = read_scores(file, labels, scores, weights)
    console.print(f"{data.taken}; taken as {scores_are.value}")
    predictions = data.predictions(scores_are.value, parse_numbers("--priors", priors))
    data.require_labels()
    chosen = make_calibrator(calibrator)
    chosen.check_classes(predictions.n_classes)
    metrics = default_metrics(
        predictions.n_classes,
        costs=matrix,
        calibrator=chosen,
        train=CrossFit(folds=folds),
    )
    if matrix is not None:
        matrix.check_classes(predictions.n_classes)
    with steps(len(metrics)) as begin:
        evaluation = evaluate_predictions(predictions, metrics, progress=begin)
    print_evaluation(evaluation)
    write_evaluation(evaluation, to_json, to_csv)
