"""`fastpsr calibrate`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.conditions import CalibratorByOptions
from fastpsr.cli.options.declaration import option
from fastpsr.cli.options.files import Base, LogBase, check_files, from_stdin, write_fitted
from fastpsr.cli.options.measures import FOLDS, CalibratorOptions
from fastpsr.cli.options.sources import OF_TRIALS, ScoresAre, given, refuse
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, warnings_as_lines
from fastpsr.cli.wording import worded
from fastpsr.files import LISTED, check_written_ending, is_table

#: Options that are of use with a saved calibrator.
_WITH_LOAD = {
    "--load", "--apply", "--output", "--scores-are", "--columns", "--labels", "--classes",
    "--weights", "--metadata", "--format", "--allow", "--base",
}  # fmt: skip


@dataclass(frozen=True)
class _Files:
    """What is calibrated, at which prior, and where results go."""

    apply: Path | None = option(
        "File of other scores of the same kind to calibrate; by default the training scores are "
        f"calibrated by cross-fitting. With --load, {LISTED} are tables unless --format is given.",
        type=Path | None,
        parse=from_stdin,
    )
    output: Path | None = option(
        "File for the calibrated scores: .npz, .csv or .parquet; for trials, the format that "
        "was read; - for standard output."
    )
    prior: float | None = option(
        "Prior of targets, class 1, at which a smooth map is fitted: it is best for decisions "
        "around it. By default that of the data.",
        metavar="P",
    )
    save: Path | None = option("Save the fitted calibrator as JSON; - for standard output.")
    load: Path | None = option("Use a saved calibrator.")
    base: LogBase = Base.E

    def check(self, inputs: list[Path | None], *, of_trials: bool) -> None:
        """Raise if files cannot be read or written."""
        if self.output is not None and not of_trials:
            of_others = "; scores of trials in such a file need --format" * (self.load is not None)
            check_written_ending(self.output, of_others)
        outputs = [("--output", self.output), ("--save", self.save)]
        check_files([*inputs, self.apply, self.load], outputs)


@in_groups
def calibrate(
    context: typer.Context,
    options: TrainingOptions,
    files: _Files,
    chosen: CalibratorOptions,
    conditions: CalibratorByOptions,
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
    columns, calibrator = conditions.by.columns, chosen.untrained(files.prior)
    untrained = conditions.of(calibrator)
    files.check(options.inputs(), of_trials=options.of_trials)
    source = options.source(of_trials=options.of_trials, conditions=columns)
    training = written = source.read(options.path)
    data = training.predictions
    with worded(predictions="scores"):
        calibrator.check_classes(data.n_classes)
    if files.apply is not None:  # read it before fitting
        with worded(by=f"{files.apply}: --by"):
            written = source.read_unlabeled(files.apply, data)
    source.check_output(written, files.output, files.base)
    with warnings_as_lines(), worded(predictions="scores (--scores-are)"):
        fitted = untrained.fit(*training.arguments)
        if columns:
            console.print(str(fitted), soft_wrap=True)
        if files.apply is not None:
            source.write(written, fitted.transform(*written.arguments), files.output, files.base)
        elif files.output is not None:
            crossed = fp.CrossFit(folds=chosen.folds or FOLDS, groups=training.groups)
            calibrated = pooled = fp.cross_fit(calibrator, data, crossed)
            if training.by is not None:
                calibrated = fp.cross_fit(untrained, data, crossed, by=training.by)
                values = [fp.CrossEntropy()(predictions) for predictions in (pooled, calibrated)]
                text = "cross-fitted NCE: one calibrator for all {:.4f}, by condition {:.4f}"
                console.print(text.format(*values))
            source.write(training, calibrated, files.output, files.base)
        if files.save is not None:
            write_fitted(fitted, files.save, [source.scale])
            for line in _maps(fitted, source.scale, files.base):
                console.print(line, soft_wrap=True)


def _apply_saved(
    context: typer.Context, options: TrainingOptions, files: _Files, load: Path
) -> None:
    """Calibrate the scores of --apply by a saved calibrator."""
    path = files.apply
    if path is None:
        raise ValueError("--load needs --apply with the scores to calibrate")
    if options.file is not None:
        raise ValueError(f"--load leaves nothing to train: {options.file} is one file too many")
    trained = {*given(context)} - _WITH_LOAD
    refuse(context, trained, "has no use with --load: the calibrator is trained")
    fitted = fp.load_calibrator(load)
    if isinstance(getattr(fitted, "pooled_", fitted), fp.LinearFusion):
        raise ValueError(f"{load} is a fusion of several systems: use fastpsr fuse --load")
    of_trials = options.trials.format_name is not None or not is_table(path)
    options.check(context, of_trials=of_trials)
    files.check(options.trials.inputs_beside, of_trials=of_trials)
    columns = fitted.columns_ if isinstance(fitted, fp.ByCondition) else ()
    scale = _scale_of(fitted, load, of_trials=of_trials)
    source = options.source(of_trials=of_trials, conditions=columns, scale=scale)
    with worded(by=f"{path}: conditions of {load}", predictions="scores (--scores-are)"):
        applied = source.read_unlabeled(path)
        source.check_output(applied, files.output, files.base)
        if columns:
            console.print(str(fitted), soft_wrap=True)
        with warnings_as_lines():
            source.write(applied, fitted.transform(*applied.arguments), files.output, files.base)


def _maps(fitted: Any, scale: str, base: Base, name: str = "") -> Iterator[str]:
    """Yield affine maps of two classes, of scores as files have them, to logarithms of a base."""
    if isinstance(fitted, fp.ByCondition):
        yield from _maps(fitted.pooled_, scale, base, "pooled: ")
        for group, calibrator in zip(fitted.groups_, fitted.own_, strict=True):
            yield from _maps(calibrator, scale, base, f"{group}: ")
    elif isinstance(fitted, fp.DirectionPreserving | fp.TemperatureScaling) and (
        fitted.bias_.size == 2
    ):
        names = {"llr": "LLR", "log10-llr": "log10-LLR", "raw": "score"}
        read = Base.TEN if scale == "log10-llr" else Base.E
        slope = fitted.scale_ * (read.unit / base.unit)
        offset = float(fitted.bias_[1] - fitted.bias_[0]) / base.unit
        target = "LLR" if scale in names else "log-odds"
        yield (
            f"  {name}calibrated {target} = {slope:.6g} * {names.get(scale, target)} as read "
            f"{'-' if offset < 0.0 else '+'} {abs(offset):.6g} ({base.logarithm})"
        )


def _scale_of(fitted: Any, path: Path, *, of_trials: bool) -> str:
    """Return the kind of the training scores; by default natural logarithms."""
    from fastpsr.calibration.files import scales_in

    for scale in scales_in(path):
        if scale in (OF_TRIALS if of_trials else [*ScoresAre]):
            return scale
    if fitted.domain_ == "likelihoods":
        return "llr" if len(getattr(fitted, "bias_", (0, 0))) == 2 else "log-likelihoods"
    return "raw" if fitted.domain_ == "raw scores" else "posteriors"
