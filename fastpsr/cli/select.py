"""`fastpsr select`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.command import in_groups
from fastpsr.cli.options.files import Json, arrays_beside, check_inputs, check_outputs, to_stdout
from fastpsr.cli.options.intervals import IntervalOptions
from fastpsr.cli.options.modes import refuse_for_mode
from fastpsr.cli.options.sources import ConditionOptions
from fastpsr.cli.options.training import TrainingOptions
from fastpsr.cli.show import console, print_error, print_suspicions, steps, warnings_as_lines
from fastpsr.cli.wording import worded
from fastpsr.exports import CALIBRATORS
from fastpsr.files import write_text

if TYPE_CHECKING:
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.calibration.base import Calibrator
    from fastpsr.cli.score_files import LabeledScores
    from fastpsr.data import Data

_NONE = "none"
_FEW = ("none", "temperature", "dp", "beta", "spline", "pav-laplace", "venn-abers")
_OF_CLASSES = ("none", "temperature", "dp", "vector", "matrix")
_FOLDS, _FOLDS_OF_SPEAKERS = 5, 10  # an inner fit leaves out the speakers of up to four folds
_RULES: "dict[str, Callable[[], fp.rules.ScoringRule]]" = {
    "log": lambda: fp.rules.Log(), "brier": lambda: fp.rules.Brier()
}  # fmt: skip


@dataclass(frozen=True)
class _Choice:
    """Among what is chosen, how, and where the result is written."""

    calibrators: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME...",
            help=f"Candidates: {_NONE}, {', '.join(CALIBRATORS)}. By default {','.join(_FEW)}, and "
            f"for more than two classes {','.join(_OF_CLASSES)}, without those that the scores are "
            "not for.",
        ),
    ] = None
    rule: Annotated[
        str, typer.Option(metavar="[log|brier]", help="Proper scoring rule that is minimized.")
    ] = "log"
    folds: Annotated[
        int | None,
        typer.Option(
            min=3,
            help=f"Number of folds; by default {_FOLDS}, if speakers are known "
            f"{_FOLDS_OF_SPEAKERS}.",
        ),
    ] = None
    simplest: Annotated[
        bool,
        typer.Option(
            "--simplest",
            help="Save the one of the fewest parameters among those that intervals do not "
            "distinguish from the best.",
        ),
    ] = False
    save: Annotated[
        Path | None,
        typer.Option(
            help="Save the calibrator, fitted to all scores, as JSON; - for standard output."
        ),
    ] = None
    to_json: Json = None

    def names(self) -> list[str] | None:
        """Return the names of candidates; raise if one, or the rule, is not known."""
        if self.rule not in _RULES:
            raise ValueError(
                f"--rule must be {' or '.join(_RULES)}, not {self.rule!r}: what is chosen by must "
                "be a proper scoring rule"
            )
        return None if self.calibrators is None else _named(self.calibrators)


@in_groups
def select(
    context: typer.Context,
    train: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Table of scores with labels, or a folder or pattern of Parquet files.",
        ),
    ] = None,
    options: TrainingOptions = TrainingOptions(),  # noqa: B008
    choice: _Choice = _Choice(),
    drawn: IntervalOptions = IntervalOptions(),  # noqa: B008
    conditions: ConditionOptions = ConditionOptions(),  # noqa: B008
) -> None:
    """Choose the calibrator that saves most, by nested cross-fitting.

    If the speakers are given, or drawn of a table, all fits keep those of both sides apart. With
    --by each candidate is also tried with a calibrator for each condition.
    """
    train, options = options.with_trials(train)
    intervals = _check_options(context, train, options, choice, drawn)
    names, of_trials = choice.names(), options.of_trials
    beside = None if of_trials or intervals is None else drawn.column
    inputs = [train, *options.files, *arrays_beside(beside)]
    check_outputs([("--save", choice.save), ("--json", choice.to_json)], inputs)
    source = options.source(
        of_trials=of_trials, drawn=drawn if intervals else None, conditions=conditions.columns
    )
    check_inputs(inputs)
    path = options.path(train)
    assert path is not None
    read = source.read(path, in_parts=False if conditions.columns else None)
    data = read.predictions
    print_suspicions(path, data)
    n_folds = choice.folds or (_FOLDS if read.groups is None else _FOLDS_OF_SPEAKERS)
    if caution := drawn.caution(intervals, options.speakers) if of_trials else "":
        print_error(caution)
    with warnings_as_lines(), worded(candidates="--calibrators"), steps(None) as begin:
        candidates = _with_conditions(_candidates(names, data), conditions)
        found = fp.select(
            data,
            candidates,
            _RULES[choice.rule](),
            fp.CrossFit(folds=n_folds, groups=read.groups),
            by=read.by,
            n_resamples=0 if intervals is None else intervals.n_resamples,
            confidence_level=0.95 if intervals is None else intervals.confidence_level,
            resampling=None if intervals is None else read.resampling,
            seed=None if intervals is None else intervals.seed,
            progress=lambda done, total: begin("replicates", done, total),
        )
    console.print(str(found), soft_wrap=True)
    _write(found, read, candidates, choice, source.scale)


def _check_options(
    context: typer.Context,
    train: Path | None,
    options: TrainingOptions,
    choice: _Choice,
    drawn: IntervalOptions,
) -> "Intervals | None":
    """Raise if options do not go together; return the settings of intervals."""
    of_trials = options.of_trials
    if train is not None and of_trials:
        if options.scores is None:
            raise ValueError(f"--key needs --scores FILE: without it {train} is a table")
        raise ValueError(f"--scores takes one file: {train} is one too many")
    if train is None and not of_trials:
        raise ValueError("give a table of scores with labels, or --key and --scores")
    has_key = options.keys.has_key(options.systems)
    refuse_for_mode(
        context, of_trials=of_trials, has_key=has_key, allowed=options.allowed,
        trials=options.trials,
    )  # fmt: skip
    choice.names()
    if (method := drawn.level_and_method[1]) != "auto":
        raise ValueError(f"--ci {method} has no use: differences have simultaneous intervals")
    intervals = drawn.parse(context, of_trials=of_trials, speakers=options.speakers)
    if choice.simplest and intervals is None:
        raise ValueError("--simplest needs intervals: give --ci or --resamples too")
    return intervals


def _write(
    found: "fp.Selection",
    read: "LabeledScores",
    candidates: Mapping[str, Any],
    choice: _Choice,
    scale: str,
) -> None:
    """Write the table, and the calibrator that is chosen."""
    from fastpsr.calibration.files import write_calibrator
    from fastpsr.results import as_json

    if choice.to_json is not None:
        with to_stdout(choice.to_json) as target:
            write_text(target, as_json(found.to_dict()))
    if choice.save is None:
        return
    name = found.simplest if choice.simplest else found.chosen
    calibrator = candidates[name]
    if calibrator is None:
        which = "simplest" if choice.simplest else "best"
        raise ValueError(f"{choice.save} is not written: the {which} is {name}, which is no map")
    by = (read.by,) if isinstance(calibrator, fp.ByCondition) else ()
    fitted = calibrator.fit(read.predictions, *by)
    with to_stdout(choice.save) as target:
        write_calibrator(fitted, target, [scale])
    console.print(f"{choice.save}: fitted {type(fitted).__name__}")


def _named(text: str) -> list[str]:
    """Return the names of candidates, all of which are known."""
    names = [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if name != _NONE and name not in CALIBRATORS:
            known = ", ".join([_NONE, *CALIBRATORS])
            raise ValueError(f"--calibrators must be among {known}, not {name!r}")
        if name in names[:place]:
            raise ValueError(f"--calibrators must not name {name} twice")
    return names


def _with_conditions(
    candidates: "dict[str, Calibrator | None]", conditions: ConditionOptions
) -> dict[str, Any]:
    """Return candidates for all samples, and those with a calibrator for each condition."""
    if not conditions.columns:
        return {**candidates}
    own = {
        f"{name} by condition": conditions.of(each)
        for name, each in candidates.items()
        if each is not None
    }
    return {**candidates, **own}


def _candidates(names: list[str] | None, data: "Data") -> "dict[str, Calibrator | None]":
    """Return candidates by name, by default those that suit the data."""
    known = fp.calibration.NAMED
    if names is not None:
        return {name: None if name == _NONE else known[name] for name in names}
    usual = _FEW if data.n_classes == 2 else _OF_CLASSES
    suits = [name for name in usual if name == _NONE or known[name].suits(data)]
    if data.kind == "raw scores":
        suits.remove(_NONE)
    left_out = [name for name in usual if name not in suits]
    if left_out:
        why = "raw scores have no posteriors"
        why = why if data.kind == "raw scores" else "samples have weights"
        console.print(f"left out: {', '.join(left_out)}, since {why}", soft_wrap=True)
    return _candidates(suits, data)
