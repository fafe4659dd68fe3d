"""`fastpsr calibrate`."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fastpsr.calibration import CrossFit, cross_fit, load_calibrator, save_calibrator
from fastpsr.cli.options import (
    CalibratorName,
    Columns,
    Labels,
    ScoresAre,
    ScoresAreOption,
    Weights,
    check_outputs,
    make_calibrator,
)
from fastpsr.cli.score_files import read_scores, write_columns
from fastpsr.cli.show import console
from fastpsr.predictions import Predictions

__all__ = ["calibrate"]


def calibrate(
    train: Annotated[
        Path | None, typer.Argument(help="Labelled scores to train on; not with --load.")
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option(help="Scores to calibrate; by default those of TRAIN, cross-fitted."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="File for the result: .npz, .csv or .parquet.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the fitted calibrator as JSON.")] = None,
    load: Annotated[Path | None, typer.Option(help="Use a calibrator that was saved.")] = None,
    calibrator: Annotated[CalibratorName, typer.Option(help="Which one.")] = CalibratorName.DP,
    folds: Annotated[int, typer.Option(help="Folds of the cross-fitting.")] = 5,
    scores_are: ScoresAreOption = ScoresAre.POSTERIORS,
    labels: Labels = None,
    columns: Columns = None,
    weights: Weights = None,
) -> None:
    """Train a calibrator on one file and apply it to another."""
    if (train is None) == (load is None):
        raise ValueError("give either a file to train on, or --load with --apply")
    if load is not None and apply is None:
        raise ValueError("--load needs --apply with the scores to calibrate")
    if output is None and save is None:
        raise ValueError("nothing to do: give --output, --save or both")

    check_outputs({"--output": output, "--save": save}, [train, apply, load])

    def read(path: Path, *, labelled: bool = False) -> Predictions:
        data = read_scores(path, labels, columns, weights)
        console.print(f"{path}: {data.taken}; taken as {scores_are.value}")
        if labelled:
            data.require_labels()
        return data.predictions(scores_are.value, None)

    training = None if train is None else read(train, labelled=True)
    if training is not None:
        untrained = make_calibrator(calibrator)
        fitted = untrained.fit(training)
    else:
        assert load is not None
        fitted = load_calibrator(load)
    if output is not None:
        if apply is not None:
            result = fitted.transform(read(apply))
        else:
            assert training is not None
            result = cross_fit(untrained, training, CrossFit(folds=folds))
        written = _columns(result)
        write_columns(output, written)
        console.print(f"{output}: {len(result):,} rows of {', '.join(written)}")
    if save is not None:
        save_calibrator(fitted, save)
        console.print(f"{save}: fitted {type(fitted).__name__}")


def _columns(result: Predictions) -> dict[str, NDArray[Any]]:
    """Return what is written: labels, and log-odds, LLRs or a logarithm per class."""
    columns: dict[str, NDArray[Any]] = {}
    if result.y_true is not None:
        columns["y_true"] = result.y_true
    if result.n_classes == 2:
        columns["llr" if result.kind == "likelihoods" else "log_odds"] = result.scale
    else:
        name = "log_likelihood" if result.kind == "likelihoods" else "log_posterior"
        columns[name] = result.scale
    if result.weights.size:
        columns["sample_weight"] = np.asarray(result.weights)
    return columns
