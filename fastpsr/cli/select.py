"""`fastpsr select`."""

from pathlib import Path
from typing import Annotated

import typer

from fastpsr.calibration import NAMED, CrossFit, save_calibrator
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.command import in_groups
from fastpsr.cli.modes import SPEAKERS, refuse, refuse_for_mode
from fastpsr.cli.options import (
    Columns,
    IntervalOptions,
    KeyOptions,
    ScoresMean,
    SpeakerOptions,
    TableOptions,
    TrialOptions,
    arrays_beside,
    check_inputs,
    check_outputs,
    column_of,
    table_scale,
    to_stdout,
    trial_scale,
)
from fastpsr.cli.show import console, say, say_suspicions, steps, warnings_as_lines
from fastpsr.cli.training_scores import TableScores, TrialScores
from fastpsr.cli.trial_files import TrialReader
from fastpsr.cli.wording import worded
from fastpsr.evaluation import select as choose
from fastpsr.files import whole_file
from fastpsr.plans import Data
from fastpsr.rules import Brier, Log
from fastpsr.strict_json import as_json

__all__ = ["select"]

_NONE = "none"
_FEW = ("none", "temperature", "dp", "beta", "spline", "pav-laplace", "venn-abers")
_OF_CLASSES = ("none", "temperature", "dp", "vector", "matrix")
_FOLDS, _FOLDS_OF_SPEAKERS = 5, 10  # an inner fit leaves out the speakers of up to four folds
_RULES = {"log": Log(), "brier": Brier()}


@in_groups
def select(
    context: typer.Context,
    tables: TableOptions,
    keys: KeyOptions,
    speakers: SpeakerOptions,
    of_files: TrialOptions,
    drawn: IntervalOptions,
    train: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Table of scores with labels, or a folder or pattern of Parquet files.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Score file of trials, - for standard input; without --key it must contain "
            "labels.",
            rich_help_panel="Trial lists",
        ),
    ] = None,
    calibrators: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME...",
            help=f"Candidates: {_NONE}, {', '.join(NAMED)}. By default {','.join(_FEW)}, and for "
            f"more than two classes {','.join(_OF_CLASSES)}, without those that the scores are not "
            "for.",
        ),
    ] = None,
    rule: Annotated[
        str, typer.Option(metavar="[log|brier]", help="Proper scoring rule that is minimized.")
    ] = "log",
    folds: Annotated[
        int | None,
        typer.Option(
            min=3,
            help=f"Number of folds; by default {_FOLDS}, if speakers are known "
            f"{_FOLDS_OF_SPEAKERS}.",
        ),
    ] = None,
    simplest: Annotated[
        bool,
        typer.Option(
            "--simplest",
            help="Save the one of the fewest parameters among those that intervals do not "
            "distinguish from the best.",
        ),
    ] = False,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Save the calibrator, fitted to all scores, as JSON; - for standard output."
        ),
    ] = None,
    to_json: Annotated[
        Path | None, typer.Option("--json", help="Also write the result to this file.")
    ] = None,
    scores_are: ScoresMean = None,
    columns: Columns = None,
) -> None:
    """Choose the calibrator that saves most, by nested cross-fitting.

    If the speakers are given, or drawn of a table, all fits keep those of both sides apart.
    """  # fmt: skip
    of_trials = bool(keys.files or scores)
    systems = [] if scores is None else [scores]
    if train is not None and of_trials:
        raise ValueError(f"--scores takes one file: {train} is one too many")
    if train is None and not of_trials:
        raise ValueError("give a table of scores with labels, or --key and --scores")
    refuse_for_mode(context, of_trials=of_trials, has_key=keys.has_key(systems))
    if not of_trials:
        refuse(context, SPEAKERS, "is for trials (--key, --scores), not for a table of scores")
    if rule not in _RULES:
        raise ValueError(
            f"--rule must be {' or '.join(_RULES)}, not {rule!r}: what is chosen by must be a "
            "proper scoring rule"
        )
    refuse(context, ["--interval"], "has no use: differences have simultaneous intervals")
    intervals = drawn.parse(context, of_trials=of_trials, speakers=speakers)
    if simplest and intervals is None:
        raise ValueError("--simplest needs intervals: give --ci or --resamples too")
    names = None if calibrators is None else _named(calibrators)
    clusters = None if of_trials else column_of(intervals)
    inputs = [
        train, *keys.inputs(systems), speakers.speakers,
        *([] if of_trials else arrays_beside(tables.labels, tables.weights, clusters)),
    ]  # fmt: skip
    check_outputs({"--save": save, "--json": to_json}, inputs)
    source: TableScores | TrialScores
    if of_trials:
        reader = TrialReader.of(
            keys.keys, of_files, columns, speakers, classes=keys.classes, has_scores=bool(systems)
        )
        source = TrialScores(reader, trial_scale(scores_are))
    else:
        source = TableScores(
            table_scale(scores_are), tables.labels, columns, tables.weights, clusters
        )
    check_inputs(inputs)
    path = train or next(iter(keys.systems(systems)))
    read = (
        source.read(path) if isinstance(source, TrialScores) else source.read(path, in_parts=None)
    )
    data = read.predictions
    say_suspicions(path, data)
    n_folds = folds or (_FOLDS if read.groups is None else _FOLDS_OF_SPEAKERS)
    by = None if intervals is None else read.drawn(intervals)
    if caution := drawn.caution(intervals, speakers) if of_trials else "":
        say(caution)
    with warnings_as_lines(), worded(candidates="--calibrators"), steps(None) as begin:
        found = choose(
            data,
            _candidates(names, data),
            _RULES[rule],
            CrossFit(folds=n_folds, groups=read.groups),
            n_resamples=0 if by is None else by.n_resamples,
            confidence_level=0.95 if by is None else by.confidence_level,
            resampling=None if by is None else by.resampling,
            seed=None if by is None else by.seed,
            progress=lambda done, total: begin("replicates", done, total),
        )
    console.print(str(found), soft_wrap=True)
    if to_json is not None:
        with to_stdout(to_json) as target, whole_file(target) as part:
            part.write_text(as_json(found.to_dict()), "utf-8")
    if save is None:
        return
    name = found.simplest if simplest else found.chosen
    calibrator = _candidates([name], data)[name]
    if calibrator is None:
        which = "simplest" if simplest else "best"
        raise ValueError(f"{save} is not written: the {which} is {name}, which is no map")
    fitted = calibrator.fit(data)
    with to_stdout(save) as target:
        save_calibrator(fitted, target)
    console.print(f"{save}: fitted {type(fitted).__name__}")


def _named(text: str) -> list[str]:
    """Return the names of candidates, all of which are known."""
    names = [name.strip() for name in text.split(",")]
    for place, name in enumerate(names):
        if name != _NONE and name not in NAMED:
            known = ", ".join([_NONE, *NAMED])
            raise ValueError(f"--calibrators must be among {known}, not {name!r}")
        if name in names[:place]:
            raise ValueError(f"--calibrators must not name {name} twice")
    return names


def _candidates(names: list[str] | None, data: Data) -> dict[str, Calibrator | None]:
    """Return candidates by name, by default those that suit the data."""
    if names is not None:
        return {name: None if name == _NONE else NAMED[name] for name in names}
    usual = _FEW if data.n_classes == 2 else _OF_CLASSES
    suits = [name for name in usual if name == _NONE or NAMED[name].suits(data)]
    if data.kind == "raw scores":
        suits.remove(_NONE)
    left_out = [name for name in usual if name not in suits]
    if left_out:
        why = "raw scores have no posteriors"
        why = why if data.kind == "raw scores" else "samples have weights"
        console.print(f"left out: {', '.join(left_out)}, since {why}", soft_wrap=True)
    return _candidates(suits, data)
