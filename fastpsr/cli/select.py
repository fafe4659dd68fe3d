"""`fastpsr select`."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.conditions import CalibratorByOptions
from fastpsr.cli.options.declaration import option, words_among
from fastpsr.cli.options.files import Json, check_files, to_stdout, write_fitted
from fastpsr.cli.options.intervals import IntervalOptions, arguments
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, steps, warnings_as_lines
from fastpsr.cli.wording import worded
from fastpsr.exports import CALIBRATORS
from fastpsr.files import write_text

if TYPE_CHECKING:
    from fastpsr.data import Data

_FEW = ("none", "temperature", "dp", "beta", "spline", "pav-laplace", "venn-abers")
_OF_CLASSES = ("none", "temperature", "dp", "vector", "matrix")
_NAMES = ("none", *CALIBRATORS)
_FOLDS, _FOLDS_OF_SPEAKERS = 5, 10  # an inner fit leaves out the speakers of up to four folds


@dataclass(frozen=True)
class _Choice:
    """Among what is chosen, how, and where the result is written."""

    to_json: Json
    calibrators: list[str] = option(
        f"Candidates: {', '.join(_NAMES)}. By default {','.join(_FEW)}; for more than two classes "
        f"{','.join(_OF_CLASSES)}.",
        metavar="NAME,NAME...",
        parse=lambda text: words_among("--calibrators", text and text.lower(), _NAMES),
        arguments={"candidates": "--calibrators {}"},
    )
    rule: str = option(
        "Proper scoring rule that is minimized.", metavar="[log|brier]", default="log"
    )
    folds: int | None = option(
        f"Number of folds; by default {_FOLDS}, if speakers are known {_FOLDS_OF_SPEAKERS}.",
        min=3,
    )
    simplest: bool = option(
        "Save the simplest of those that intervals do not distinguish from the best.",
        "--simplest",
        default=False,
    )
    save: Path | None = option(
        "Save the calibrator, fitted to all scores, as JSON; - for standard output."
    )

    def candidates(self, data: "Data", conditions: CalibratorByOptions) -> dict[str, Any]:
        """Return calibrators by name, by default those that suit the data; also by condition."""
        named, names = fp.calibration.NAMED, self.calibrators
        if not names:
            usual = _FEW if data.n_classes == 2 else _OF_CLASSES
            names = [name for name in usual if name == "none" or named[name].suits(data)]
            if left_out := [name for name in usual if name not in names]:
                what = "raw scores" if data.kind == "raw scores" else "samples with weights"
                console.print(f"left out: {', '.join(left_out)}, which {what} are not for")
        candidates: dict[str, Any] = {name: named.get(name) for name in names}
        if conditions.by.columns:
            candidates |= {
                f"{name} by condition": conditions.of(calibrator)
                for name, calibrator in candidates.items()
                if calibrator is not None
            }
        return candidates


@in_groups
def select(
    context: typer.Context,
    options: TrainingOptions,
    choice: _Choice,
    drawn: IntervalOptions,
    conditions: CalibratorByOptions,
) -> None:
    """Choose the calibrator that saves most, by nested cross-fitting.

    FILE may also be a folder or a pattern of Parquet files.
    If the speakers are given, or drawn of a table, all fits keep those of both sides apart. With
    --by each candidate is also tried with a calibrator for each condition.
    """
    from fastpsr import checks
    from fastpsr.results import as_json

    options = options.located(context)
    checks.check_choice("rule", choice.rule, ("log", "brier"))
    if drawn.ci is not None and drawn.ci[1] != "auto":
        raise ValueError(f"--ci {drawn.ci[1]} has no use: differences have simultaneous intervals")
    intervals = drawn.settings(context, options.trials, of_trials=options.of_trials)
    if choice.simplest and intervals is None:
        raise ValueError("--simplest needs intervals: give --ci or --resamples too")
    used, columns = drawn if intervals else None, conditions.by.columns
    check_files(options.inputs(used), [("--save", choice.save), ("--json", choice.to_json)])
    source = options.source(of_trials=options.of_trials, drawn=used, conditions=columns)
    read = source.read(options.path, in_parts=False if columns else None)
    data, settings = read.predictions, arguments(intervals, read.resampling)
    settings.pop("method", None)  # differences have simultaneous intervals
    if options.of_trials:
        drawn.print_caution(intervals, options.trials)
    with warnings_as_lines(), worded(), steps() as begin:
        candidates = choice.candidates(data, conditions)
        folds = choice.folds or (_FOLDS if read.groups is None else _FOLDS_OF_SPEAKERS)
        selection = fp.select(
            data,
            candidates,
            fp.rules.Brier() if choice.rule == "brier" else fp.rules.Log(),
            fp.CrossFit(folds=folds, groups=read.groups),
            by=read.by,
            progress=partial(begin, "replicates"),
            **settings,
        )
    console.print(str(selection), soft_wrap=True)
    if choice.to_json is not None:
        with to_stdout(choice.to_json) as target:
            write_text(target, as_json(selection.to_dict()))
    if choice.save is not None:
        name = selection.simplest if choice.simplest else selection.chosen
        if candidates[name] is None:
            raise ValueError(f"{choice.save} is not written: {name} is chosen, which is no map")
        by = (read.by,) if isinstance(candidates[name], fp.ByCondition) else ()
        write_fitted(candidates[name].fit(data, *by), choice.save, [source.scale])
