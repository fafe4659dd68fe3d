"""`fastpsr calibrate`."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import (
    check_inputs,
    check_outputs,
    check_written_ending,
    from_stdin,
    to_stdout,
    write_fitted,
)
from fastpsr.cli.options.measures import CalibratorOptions
from fastpsr.cli.options.modes import given, refuse
from fastpsr.cli.options.sources import ConditionOptions, ScoresAre
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_suspicions, warnings_as_lines
from fastpsr.cli.wording import worded

if TYPE_CHECKING:
    from fastpsr.cli.score_files import LabeledScores

#: Options that are of use with a saved calibrator.
_WITH_LOAD = {
    "--load", "--apply", "--output", "--scores-are", "--columns", "--labels", "--classes",
    "--weights", "--format", "--allow",
}  # fmt: skip


@dataclass(frozen=True)
class _Files:
    """What is calibrated, at which prior, and where results go."""

    apply: Path | None = option(
        "File of other scores to calibrate, of the same kind as the training scores; by "
        "default the training scores are calibrated by cross-fitting. With --load, a file that "
        "ends in .npz, .npy, .csv or .parquet is read as a table unless --format is given."
    )
    output: Path | None = option(
        "File for the calibrated scores: .npz, .csv or .parquet; for trials, the format that "
        "was read; - for standard output."
    )
    prior: float | None = option(
        "Probability of class 1, the targets, at which a smooth map of two classes is fitted: "
        "it is best for decisions around this prior. By default that of the data.",
        metavar="P",
    )
    save: Path | None = option("Save the fitted calibrator as JSON; - for standard output.")
    load: Path | None = option("Use a saved calibrator.")

    @property
    def applied(self) -> Path | None:
        """The file of --apply."""
        return None if self.apply is None else from_stdin(self.apply)

    def check(self, inputs: list[Path | None], *, of_trials: bool) -> None:
        """Raise if files cannot be read or written."""
        check_outputs([("--output", self.output), ("--save", self.save)], inputs)
        if self.output is not None and not of_trials:
            check_written_ending(self.output)
        check_inputs(inputs)


@in_groups
def calibrate(
    context: typer.Context,
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
    if files.apply is not None and files.output is None:
        raise ValueError("--apply needs --output FILE for the calibrated scores")
    if files.output is None and files.save is None:
        raise ValueError("nothing to do: give --output, --save or both")
    if files.load is not None:
        _apply_saved(context, options, files, files.load)
        return
    options = options.located(context)
    if files.apply is not None or files.output is None:
        refuse(context, ("--folds", "--speakers"), "is for cross-fitting: --output without --apply")
    calibrator = chosen.untrained(files.prior)
    untrained: Any = conditions.of(calibrator) if conditions.columns else calibrator
    files.check([*options.inputs(), files.applied], of_trials=options.of_trials)
    source = options.source(of_trials=options.of_trials, conditions=conditions.columns)
    training, applied = source.read(options.path), None
    print_suspicions(options.path, training.predictions)
    with worded(predictions="scores"):
        calibrator.check_classes(training.predictions.n_classes)
    if files.applied is not None:  # read it before fitting
        with worded(by=f"{files.applied}: --by"):
            applied = source.read_others(files.applied, training.predictions)
    _check_format(files, applied or training)
    with warnings_as_lines(), worded(predictions="scores (--scores-are)"):
        fitted = untrained.fit(training.predictions, *_by(training))
        if conditions.columns:
            console.print(str(fitted), soft_wrap=True)
        if applied is not None:
            _write(files, applied, fitted.transform(applied.predictions, *_by(applied)))
        elif files.output is not None:
            crossed = fp.CrossFit(folds=chosen.folds, groups=training.groups)
            calibrated = pooled = fp.cross_fit(calibrator, training.predictions, crossed)
            if training.by is not None:
                by = training.by
                calibrated = fp.cross_fit(untrained, training.predictions, crossed, by=by)
                _print_gain(pooled, calibrated)
            _write(files, training, calibrated)
        if files.save is not None:
            write_fitted(fitted, files.save, [source.scale])
            for line in _maps(fitted, source.scale):
                console.print(line, soft_wrap=True)


def _apply_saved(
    context: typer.Context, options: TrainingOptions, files: _Files, load: Path
) -> None:
    """Calibrate the scores of --apply by a saved calibrator."""
    from fastpsr.tables import is_table

    path = files.applied
    if path is None:
        raise ValueError("--load needs --apply with the scores to calibrate")
    if options.file is not None:
        raise ValueError(f"--load leaves nothing to train: {options.file} is one file too many")
    trained = {*given(context)} - _WITH_LOAD
    refuse(context, trained, "has no use with --load: the calibrator is trained")
    of_trials = options.trials.of_scores.format is not None or not is_table(path)
    options.check_mode(context, of_trials=of_trials)
    files.check([path, load], of_trials=of_trials)
    fitted = fp.load_calibrator(load)
    if isinstance(getattr(fitted, "pooled_", fitted), fp.LinearFusion):
        raise ValueError(f"{load} is a fusion of several systems: use fastpsr fuse --load")
    columns = fitted.columns_ if isinstance(fitted, fp.ByCondition) else ()
    source = options.source(of_trials=of_trials, conditions=columns)
    if options.scores_are is None:
        source = replace(source, scale=_scale_of(fitted, load, of_trials=of_trials))
    with worded(by=f"{path}: conditions of {load}", predictions="scores (--scores-are)"):
        applied = source.read_others(path, None)
        _check_format(files, applied)
        if columns:
            console.print(str(fitted), soft_wrap=True)
        with warnings_as_lines():
            _write(files, applied, fitted.transform(applied.predictions, *_by(applied)))


def _by(scores: "LabeledScores") -> tuple[Any, ...]:
    """Return the columns of conditions as a further argument, if there are any."""
    return () if scores.by is None else (scores.by,)


def _check_format(files: _Files, scores: "LabeledScores") -> None:
    """Raise if the ending of --output implies another format than that of trials."""
    from fastpsr.cli.trial_files import check_ending

    if files.output is not None and scores.format is not None:
        check_ending("--output", files.output, scores.format)


def _write(files: _Files, scores: "LabeledScores", calibrated: "fp.Predictions") -> None:
    """Write calibrated scores, and print what was written."""
    assert files.output is not None
    with to_stdout(files.output) as target:
        content = scores.write(calibrated, target)
    console.print(f"{files.output}: {content}")


def _print_gain(pooled: "fp.Predictions", by_condition: "fp.Predictions") -> None:
    """Print what one calibrator for all is worth, and one for each condition."""
    values = [fp.CrossEntropy()(predictions) for predictions in (pooled, by_condition)]
    console.print(
        "cross-fitted NCE: one calibrator for all {:.4f}, by condition {:.4f}".format(*values)
    )


def _maps(fitted: Any, scale: str, name: str = "") -> Iterator[str]:
    """Yield affine maps of two classes, of scores as files have them, to natural logarithms."""
    if isinstance(fitted, fp.ByCondition):
        yield from _maps(fitted.pooled_, scale, "pooled: ")
        for group, calibrator in zip(fitted.groups_, fitted.own_, strict=True):
            yield from _maps(calibrator, scale, f"{group}: ")
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
