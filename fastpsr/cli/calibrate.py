"""`fastpsr calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.calibration import NAMED, CrossFit, cross_fit, load_calibrator, save_calibrator
from fastpsr.cli.command import in_groups
from fastpsr.cli.modes import FOR_RCL, SPEAKERS, refuse, refuse_for_mode
from fastpsr.cli.options import (
    CalibratorOptions,
    Columns,
    KeyOptions,
    ScoresAre,
    ScoresMean,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    arrays_beside,
    check_inputs,
    check_outputs,
    from_stdin,
    table_scale,
    to_stdout,
    trial_scale,
)
from fastpsr.cli.score_files import check_written_ending
from fastpsr.cli.show import console, say_suspicions, warnings_as_lines
from fastpsr.cli.training_scores import TableScores, TrialScores
from fastpsr.cli.trial_files import (
    TrialReader,
    check_ending,
)
from fastpsr.cli.wording import worded
from fastpsr.tables import is_table

__all__ = ["calibrate"]


@in_groups
def calibrate(
    context: typer.Context,
    chosen: CalibratorOptions,
    tables: TableOptions,
    keys: KeyOptions,
    speakers: SpeakerOptions,
    of_files: TrialOptions,
    train: Annotated[
        Path | None, typer.Argument(help="Table of scores with labels to train on.")
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Score file of trials to train on, - for standard input; without --key it must "
            "contain labels. The result is written as LLRs in the same format.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    apply: Annotated[
        Path | None,
        typer.Option(
            help="File of other scores to calibrate, of the same kind as the training scores; by "
            "default the training scores are calibrated by cross-fitting. With --load, a file that "
            "ends in .npz, .npy, .csv or .parquet is read as a table unless --format is given."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="File for the calibrated scores: .npz, .csv or .parquet; for trials, the format "
            "that was read; - for standard output."
        ),
    ] = None,
    prior: Annotated[
        float | None,
        typer.Option(
            help="Probability of class 1, the targets, at which a smooth map of two classes is "
            "fitted: it is best for decisions around this prior. By default that of the data.",
            metavar="P",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the fitted calibrator as JSON; - for standard output.")
    ] = None,
    load: Annotated[Path | None, typer.Option(help="Use a saved calibrator.")] = None,
    scores_are: ScoresMean = None,
    columns: Columns = None,
) -> None:
    """Train a calibrator and apply it to other scores, or calibrate by cross-fitting.

    If the speakers are given, cross-fitting on trials keeps the speakers of both sides apart.
    """
    systems = [] if scores is None else [scores]
    apply = None if apply is None else from_stdin(apply)
    of_trials = bool(keys.files or systems)
    _check_outputs(train, keys, scores, apply, load)
    if apply is not None and output is None:
        raise ValueError("--apply needs --output FILE for the calibrated scores")
    if output is None and save is None:
        raise ValueError("nothing to do: give --output, --save or both")
    if load is not None and apply is not None:
        of_trials = of_files.format is not None or not is_table(apply)
        trained = ("--save", "--prior", *FOR_RCL)
        refuse(context, trained, "has no use with --load: the calibrator is trained")
    refuse_for_mode(context, of_trials=of_trials, has_key=keys.has_key(systems))
    if apply is not None or output is None:
        refuse(context, ("--folds", *SPEAKERS), "is for cross-fitting: --output without --apply")
    with worded(prior="--prior"):
        untrained = chosen.untrained(prior)
    if scores_are in (ScoresAre.RAW, ScoresAre.COSINE) and untrained.needs_posteriors:
        *names, last = (name for name, each in NAMED.items() if not each.needs_posteriors)
        raise ValueError(
            f"--calibrator {chosen.calibrator} must not be given raw scores, which have no "
            f"posteriors: use {', '.join(names)} or {last}"
        )
    beside = arrays_beside(tables.labels, tables.weights)
    inputs = [train, *keys.inputs(systems), apply, load, speakers.speakers, *beside]
    check_outputs({"--output": output, "--save": save}, inputs)
    source: TableScores | TrialScores
    if of_trials:
        reader = TrialReader.of(
            keys.keys, of_files, columns, speakers, classes=keys.classes, has_scores=bool(systems)
        )
        source = TrialScores(reader, trial_scale(scores_are))
    else:
        if output is not None:
            check_written_ending(output)
        source = TableScores(table_scale(scores_are), tables.labels, columns, tables.weights)

    check_inputs(inputs)
    trained_on = train or next(iter(keys.systems(systems)), None)
    training = None if trained_on is None else source.read(trained_on)
    if training is not None and trained_on is not None:
        say_suspicions(trained_on, training.predictions)
    others = None
    if apply is not None:  # read it before fitting
        others = source.read_others(apply, None if training is None else training.predictions)
    written = others or training
    if output is not None and written is not None and written.format is not None:
        check_ending("--output", output, written.format)
    with warnings_as_lines(), worded(prior="--prior"):
        if training is None:
            assert load is not None
            fitted = load_calibrator(load)
        else:
            fitted = untrained.fit(training.predictions)
        if output is not None:
            if others is not None:
                with worded(predictions="scores (--scores-are)"):
                    calibrated = fitted.transform(others.predictions)
                with to_stdout(output) as target:
                    said = others.write(calibrated, target)
            else:
                assert training is not None
                crossed = CrossFit(folds=chosen.folds, groups=training.groups)
                calibrated = cross_fit(untrained, training.predictions, crossed)
                with to_stdout(output) as target:
                    said = training.write(calibrated, target)
            console.print(f"{output}: {said}")
        if save is not None:
            with to_stdout(save) as target:
                save_calibrator(fitted, target)
            console.print(f"{save}: fitted {type(fitted).__name__}")


def _check_outputs(
    train: Path | None,
    keys: KeyOptions,
    scores: Path | None,
    apply: Path | None,
    load: Path | None,
) -> None:
    """Raise unless there is one training file, or a saved calibrator and a file to apply it to."""
    if load is not None:
        given = {"--key": keys.key, "--targets": keys.targets, "--scores": scores}
        for option, path in given.items():
            if path is not None:
                raise ValueError(
                    f"{option} has no use with --load: the calibrator is trained, and --apply "
                    "names the scores to calibrate"
                )
        if apply is None:
            beside = "" if train is None else f", not {train} to train on"
            raise ValueError(f"--load needs --apply with the scores to calibrate{beside}")
        if train is not None:
            raise ValueError(
                f"--load leaves nothing to train, and --apply takes one file: {train} is one too "
                f"many beside {apply}"
            )
    elif scores is not None:
        if train is not None:
            raise ValueError(f"--scores takes one file: {train} is one too many beside {scores}")
    elif keys.key is not None:
        table = "" if train is None else f": without it {train} is a table, which has no key"
        raise ValueError(f"--key needs --scores FILE{table}")
    elif keys.classes is not None:
        if train is not None:
            raise ValueError(f"--targets and --nontargets are scores: {train} is one file too many")
    elif train is None:
        raise ValueError("give a file to train on, or --key and --scores, or --load with --apply")
