"""`fastpsr calibrate`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from numpy.typing import NDArray

from fastpsr import trials
from fastpsr.calibration import CrossFit, cross_fit, load_calibrator, save_calibrator
from fastpsr.cli.options import (
    CalibratorName,
    Columns,
    KeyFormat,
    Labels,
    ScoreFormat,
    ScoresAre,
    SpeakerColumns,
    SpeakerMap,
    SpeakerPattern,
    Weights,
    check_outputs,
    make_calibrator,
)
from fastpsr.cli.score_files import read_scores, write_columns
from fastpsr.cli.show import console
from fastpsr.cli.trial_evaluation import SpeakerOptions
from fastpsr.predictions import Predictions

__all__ = ["calibrate"]

# predictions, and what writes their calibrated version to a file and says what it wrote
Readable = tuple[Predictions, Callable[[Predictions, Path], str]]


def calibrate(
    train: Annotated[
        Path | None, typer.Argument(help="Labelled scores to train on; not with --load or --key.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Trial key to train on, with --scores; LLRs come out.")
    ] = None,
    scores: Annotated[Path | None, typer.Option(help="Score file of the key's trials.")] = None,
    apply: Annotated[
        Path | None,
        typer.Option(help="Scores to calibrate; by default those trained on, cross-fitted."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="File for the result: .npz, .csv or .parquet; of trials, as was read."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Save the fitted calibrator as JSON.")] = None,
    load: Annotated[Path | None, typer.Option(help="Use a calibrator that was saved.")] = None,
    calibrator: Annotated[CalibratorName, typer.Option(help="Which one.")] = CalibratorName.DP,
    folds: Annotated[int, typer.Option(help="Folds of the cross-fitting.")] = 5,
    scores_are: Annotated[
        ScoresAre | None,
        typer.Option(
            "--scores-are",
            help="What the scores are; by default posteriors, of trials llr (natural logarithms).",
        ),
    ] = None,
    labels: Labels = None,
    columns: Columns = None,
    weights: Weights = None,
    speakers: SpeakerMap = None,
    speaker_columns: SpeakerColumns = None,
    speaker_pattern: SpeakerPattern = None,
    key_format: KeyFormat = None,
    format: ScoreFormat = None,
) -> None:
    """Train a calibrator on some scores and apply it to others, or cross-fitted to the same.

    Cross-fitting on trials keeps the speakers of both sides apart, where these are given.
    """
    of_trials = key is not None or scores is not None or format is not None
    trained_on = train if key is None else key
    if (trained_on is None) == (load is None) or (train is not None and key is not None):
        raise ValueError("give a file to train on, or --key and --scores, or --load with --apply")
    if (key is None) != (scores is None):
        raise ValueError("--key and --scores belong together")
    if load is not None and apply is None:
        raise ValueError("--load needs --apply with the scores to calibrate")
    if output is None and save is None:
        raise ValueError("nothing to do: give --output, --save or both")
    check_outputs({"--output": output, "--save": save}, [train, key, scores, apply, load])
    meaning = (scores_are or (ScoresAre.LLR if of_trials else ScoresAre.POSTERIORS)).value
    who = SpeakerOptions(speakers, speaker_columns, speaker_pattern)
    groups = None

    def read_table(path: Path, *, labelled: bool) -> Readable:
        data = read_scores(path, labels, columns, weights)
        console.print(f"{path}: {data.taken}; taken as {meaning}")
        if labelled:
            data.require_labels()
        return data.predictions(meaning, None), _write_table

    def read_trials(path: Path | None, score_file: Path) -> Readable:
        nonlocal groups
        made = trials.read(path, score_file, key_format=key_format, score_format=format)
        if path is not None and who.are_known:
            made = who.apply(made)
            groups = made.speakers
        for line in made.taken:
            console.print(line)
        kind = cast(Any, "posterior" if meaning == "posteriors" else meaning)

        def write(result: Predictions, target: Path) -> str:
            trials.write_scores(target, made, result.llrs, format=format)
            return f"{len(result):,} trials with LLRs"

        return made.predictions(kind), write

    if load is not None:
        fitted = load_calibrator(load)
    else:
        if key is not None:
            assert scores is not None
            training, write = read_trials(key, scores)
        else:
            assert train is not None
            training, write = read_table(train, labelled=True)
        untrained = make_calibrator(calibrator)
        fitted = untrained.fit(training)
    if output is not None:
        if apply is None:
            result = cross_fit(untrained, training, CrossFit(folds=folds, groups=groups))
        else:
            others, write = (
                read_trials(None, apply) if of_trials else read_table(apply, labelled=False)
            )
            result = fitted.transform(others)
        console.print(f"{output}: {write(result, output)}")
    if save is not None:
        save_calibrator(fitted, save)
        console.print(f"{save}: fitted {type(fitted).__name__}")


def _write_table(result: Predictions, path: Path) -> str:
    """Write labels, and log-odds, LLRs or a logarithm per class; return what was written."""
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
    write_columns(path, columns)
    return f"{len(result):,} rows of {', '.join(columns)}"
