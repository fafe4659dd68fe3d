"""`fastpsr calibrate`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import (
    check_inputs,
    check_outputs,
    check_written_ending,
    from_stdin,
    to_stdout,
)
from fastpsr.cli.options.measures import CalibratorOptions
from fastpsr.cli.options.modes import FOR_RCL, refuse, refuse_for_mode
from fastpsr.cli.options.sources import ConditionOptions, KeyOptions, ScoresAre
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_suspicions, warnings_as_lines
from fastpsr.cli.wording import worded

if TYPE_CHECKING:
    from fastpsr.calibration.base import Calibrator
    from fastpsr.cli.score_files import LabeledScores


@dataclass(frozen=True)
class _Files:
    """What is calibrated, at which prior, and where results go."""

    apply: Annotated[
        Path | None,
        typer.Option(
            help="File of other scores to calibrate, of the same kind as the training scores; by "
            "default the training scores are calibrated by cross-fitting. With --load, a file that "
            "ends in .npz, .npy, .csv or .parquet is read as a table unless --format is given."
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            help="File for the calibrated scores: .npz, .csv or .parquet; for trials, the format "
            "that was read; - for standard output."
        ),
    ] = None
    prior: Annotated[
        float | None,
        typer.Option(
            help="Probability of class 1, the targets, at which a smooth map of two classes is "
            "fitted: it is best for decisions around this prior. By default that of the data.",
            metavar="P",
        ),
    ] = None
    save: Annotated[
        Path | None, typer.Option(help="Save the fitted calibrator as JSON; - for standard output.")
    ] = None
    load: Annotated[Path | None, typer.Option(help="Use a saved calibrator.")] = None

    @property
    def others(self) -> Path | None:
        """The file of --apply."""
        return None if self.apply is None else from_stdin(self.apply)


@in_groups
def calibrate(
    context: typer.Context,
    train: Annotated[
        Path | None, typer.Argument(help="Table of scores with labels to train on.")
    ] = None,
    options: TrainingOptions = TrainingOptions(),  # noqa: B008
    files: _Files = _Files(),
    chosen: CalibratorOptions = CalibratorOptions(),  # noqa: B008
    conditions: ConditionOptions = ConditionOptions(),  # noqa: B008
) -> None:
    """Train a calibrator and apply it to other scores, or calibrate by cross-fitting.

    LLRs of trials are written in the format that was read. If the speakers are given, cross-fitting
    on trials keeps the speakers of both sides apart. With --by each condition has a calibrator of
    its own; scores of --apply must have the columns of conditions beside them.
    """
    from fastpsr.calibration.files import write_calibrator
    from fastpsr.cli.trial_files import check_ending

    if files.load is None:
        train, options = options.with_trials(train)
    of_trials = _check_options(context, train, options, files)
    one = _untrained(chosen, options.scores_are, files.prior)
    untrained: Any = conditions.of(one) if conditions.columns else one
    inputs = [train, *options.files, files.others, files.load]
    check_outputs([("--output", files.output), ("--save", files.save)], inputs)
    source = options.source(of_trials=of_trials, conditions=conditions.columns)
    if not of_trials and files.output is not None:
        check_written_ending(files.output)
    check_inputs(inputs)
    fitted: Any = None if files.load is None else _loaded(files.load)
    if files.load is not None and options.scores_are is None:
        source = replace(source, scale=_scale_of(fitted, files.load, of_trials=of_trials))
    if isinstance(fitted, fp.ByCondition):
        source = replace(source, conditions=fitted.columns_)
    path = options.path(train)
    training = None if path is None else source.read(path)
    if training is not None and path is not None:
        print_suspicions(path, training.predictions)
    others = None
    if files.others is not None:  # read it before fitting
        known = None if training is None else training.predictions
        of = "--by" if files.load is None else f"conditions of {files.load}"
        with worded(by=f"{files.others}: {of}"):
            others = source.read_others(files.others, known)
    written = others or training
    if files.output is not None and written is not None and written.format is not None:
        check_ending("--output", files.output, written.format)
    with warnings_as_lines(), worded(prior="--prior"):
        if training is not None:
            fitted = untrained.fit(training.predictions, *_by(training))
        if isinstance(fitted, fp.ByCondition):
            console.print(str(fitted), soft_wrap=True)
        if files.output is not None and written is not None:
            if others is not None:
                with worded(predictions="scores (--scores-are)"):
                    calibrated = fitted.transform(others.predictions, *_by(others))
            else:
                crossed = fp.CrossFit(folds=chosen.folds, groups=written.groups)
                calibrated = fp.cross_fit(one, written.predictions, crossed)
                if written.by is not None:
                    pooled = calibrated
                    calibrated = fp.cross_fit(
                        untrained, written.predictions, crossed, by=written.by
                    )
                    _print_gain(pooled, calibrated)
            with to_stdout(files.output) as target:
                said = written.write(calibrated, target)
            console.print(f"{files.output}: {said}")
        if files.save is not None:
            with to_stdout(files.save) as target:
                write_calibrator(fitted, target, [source.scale])
            console.print(f"{files.save}: fitted {type(fitted).__name__}")
            for line in _maps(fitted, source.scale):
                console.print(line, soft_wrap=True)


def _by(scores: "LabeledScores") -> tuple[Any, ...]:
    """Return the columns of conditions as a further argument, if there are any."""
    return () if scores.by is None else (scores.by,)


def _print_gain(pooled: "fp.Predictions", by_condition: "fp.Predictions") -> None:
    """Print what one calibrator for all is worth, and one for each condition."""
    one, own = (fp.CrossEntropy()(each) for each in (pooled, by_condition))
    console.print(f"cross-fitted NCE: one calibrator for all {one:.4f}, by condition {own:.4f}")


def _maps(fitted: Any, scale: str, name: str = "") -> Iterator[str]:
    """Yield affine maps of two classes, of scores as files have them, to natural logarithms."""
    if isinstance(fitted, fp.ByCondition):
        yield from _maps(fitted.pooled_, scale, "pooled: ")
        for group, own in zip(fitted.groups_, fitted.own_, strict=True):
            yield from _maps(own, scale, f"{group}: ")
    elif isinstance(fitted, fp.DirectionPreserving | fp.TemperatureScaling) and (
        fitted.bias_.size == 2
    ):
        names = {"llr": "LLR", "log10-llr": "log10-LLR", "raw": "score"}
        slope = fitted.scale_ * (math.log(10.0) if scale == "log10-llr" else 1.0)
        offset = float(fitted.bias_[1] - fitted.bias_[0])
        target = "LLR" if scale in names else "log-odds"
        yield (
            f"  {name}calibrated {target} = {slope:.6g} * {names.get(scale, target)} as read "
            f"{'-' if offset < 0.0 else '+'} {abs(offset):.6g} (natural logarithm)"
        )


def _scale_of(fitted: Any, path: Path, *, of_trials: bool) -> Any:
    """Return what the training scores were; by default natural logarithms of what it takes."""
    from fastpsr.calibration.files import scales_in
    from fastpsr.data import KINDS_OF_SCALES

    for scale in scales_in(path):
        if scale in (KINDS_OF_SCALES if of_trials else [*ScoresAre]):
            return scale
    if fitted.domain_ == "likelihoods":
        return "llr" if len(getattr(fitted, "bias_", (0, 0))) == 2 else "log-likelihoods"
    return "raw" if fitted.domain_ == "raw scores" else "posteriors"


def _loaded(path: Path) -> Any:
    """Return a saved calibrator; raise if it is a fusion."""
    fitted = fp.load_calibrator(path)
    if isinstance(getattr(fitted, "pooled_", fitted), fp.LinearFusion):
        raise ValueError(f"{path} is a fusion of several systems: use fastpsr fuse --load")
    return fitted


def _check_options(
    context: typer.Context, train: Path | None, options: TrainingOptions, files: _Files
) -> bool:
    """Raise if options do not go together; return whether the scores are of trials."""
    from fastpsr.tables import is_table

    of_trials = options.of_trials
    _check_files(train, options.keys, options.scores, files.others, files.load)
    if files.apply is not None and files.output is None:
        raise ValueError("--apply needs --output FILE for the calibrated scores")
    if files.output is None and files.save is None:
        raise ValueError("nothing to do: give --output, --save or both")
    if files.load is not None and files.others is not None:
        of_trials = options.trials.of_scores.format is not None or not is_table(files.others)
        trained = ("--save", "--prior", *FOR_RCL, "--by", "--min-per-class")
        refuse(context, trained, "has no use with --load: the calibrator is trained")
    has_key = options.keys.has_key(options.systems)
    refuse_for_mode(
        context, of_trials=of_trials, has_key=has_key, allowed=options.allowed,
        trials=options.trials,
    )  # fmt: skip
    if files.apply is not None or files.output is None:
        refuse(context, ("--folds", "--speakers"), "is for cross-fitting: --output without --apply")
    return of_trials


def _untrained(
    chosen: CalibratorOptions, scores_are: ScoresAre | None, prior: float | None
) -> "Calibrator":
    """Return the calibrator; raise if scores are not for it."""
    with worded(prior="--prior"):
        untrained = chosen.untrained(prior)
    if scores_are is ScoresAre.RAW and untrained.needs_posteriors:
        *names, last = (
            name for name, each in fp.calibration.NAMED.items() if not each.needs_posteriors
        )
        raise ValueError(
            f"--calibrator {chosen.calibrator} must not be given raw scores, which have no "
            f"posteriors: use {', '.join(names)} or {last}"
        )
    return untrained


def _check_files(
    train: Path | None,
    keys: KeyOptions,
    scores: Path | None,
    apply: Path | None,
    load: Path | None,
) -> None:
    """Raise unless there is one training file, or a saved calibrator and a file to apply it to."""
    if load is not None:
        given = {"--key": keys.key, "--scores": scores}
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
    elif keys.classes is not None:
        if train is not None:
            raise ValueError(
                f"--key target=FILE and nontarget=FILE are scores: {train} is one file too many"
            )
    elif keys.key is not None:
        table = "" if train is None else f": without it {train} is a table, which has no key"
        raise ValueError(f"--key needs --scores FILE{table}")
    elif train is None:
        raise ValueError("give a file to train on, or --key and --scores, or --load with --apply")
