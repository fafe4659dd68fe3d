"""Options for confidence intervals, and what they mean for tables and trials."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from fastpsr.bootstrap import IID, Clusters, Resampling, Stratified, TwoWay
from fastpsr.bootstrap.request import Request
from fastpsr.cli.modes import SPEAKERS, given, refuse
from fastpsr.cli.score_files import ScoreFile
from fastpsr.evaluate import Intervals
from fastpsr.trials import TrialSet
from fastpsr.trials.coded import Coded

__all__ = [
    "INTERVALS",
    "Level",
    "Method",
    "MethodName",
    "Resample",
    "Resamples",
    "Seed",
    "as_arguments",
    "column_of",
    "parse_intervals",
    "resampling_of_table",
    "resampling_of_trials",
]

#: What says how intervals are made, where `--ci` or `--resamples` asks for them.
INTERVALS = ("--resample", "--interval", "--seed")
_PANEL = "Intervals"
_SCHEMES = ("iid", "stratified")
_OF_SPEAKERS = "speaker"


class Method(StrEnum):
    """Ways to make an interval of replicates."""

    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "bca"
    NORMAL = "normal"


Level = Annotated[
    float | None,
    typer.Option(
        "--ci",
        help="Confidence level of intervals, such as 0.95, which --resamples alone means.",
        rich_help_panel=_PANEL,
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(
        help="Number of bootstrap replicates; 1000 where --ci stands alone.",
        rich_help_panel=_PANEL,
    ),
]
Resample = Annotated[
    str,
    typer.Option(
        metavar="iid|stratified|speaker|COLUMN",
        help="What is drawn: single samples, also within their class; of trials speakers, for both "
        "sides; or all samples of a value of a column (of .npy tables a .npy file).",
        rich_help_panel=_PANEL,
    ),
]
MethodName = Annotated[
    Method,
    typer.Option("--interval", help="How replicates make an interval.", rich_help_panel=_PANEL),
]
Seed = Annotated[
    int, typer.Option(help="Of the replicates; same seed, same intervals.", rich_help_panel=_PANEL)
]


def parse_intervals(
    context: typer.Context,
    level: float | None,
    n_resamples: int | None,
    resample: str,
    method: Method,
    seed: int,
    *,
    of_trials: bool,
) -> Intervals | None:
    """Return how intervals are to be made, checked before any work; None if none are asked for."""
    if level is None and n_resamples is None:
        refuse(context, INTERVALS, "is for intervals: give --ci or --resamples too")
        return None
    level = 0.95 if level is None else level
    n_resamples = 1000 if n_resamples is None else n_resamples
    asked = Request.of(n_resamples, level, method.value, None, seed, progress=False)
    if of_trials and resample == _OF_SPEAKERS:
        if not set(SPEAKERS) & set(given(context)):
            raise ValueError(
                "--resample speaker needs to know the speakers: give --speakers, --speaker-columns "
                "or --speaker-pattern"
            )
        if method is Method.BCA:
            raise ValueError(
                "--interval must not be bca with --resample speaker: use percentile or basic"
            )
    return Intervals(level, asked.method, n_resamples, resample, seed)


def as_arguments(intervals: Intervals | None, resampling: Resampling | None) -> dict[str, Any]:
    """Return arguments for `evaluate` and `compare`; none where no intervals are asked for."""
    if intervals is None or resampling is None:
        return {}
    return {
        "n_resamples": intervals.n_resamples,
        "confidence_level": intervals.confidence_level,
        "method": intervals.method,
        "resampling": resampling,
        "seed": intervals.seed,
    }


def column_of(intervals: Intervals | None) -> str | None:
    """Return the column of a table whose values are drawn, if that is what is drawn."""
    return None if intervals is None or intervals.resampling in _SCHEMES else intervals.resampling


def resampling_of_table(intervals: Intervals | None, data: ScoreFile) -> Resampling | None:
    """Return what is drawn of a table, None where no intervals are asked for."""
    if intervals is None:
        return None
    if data.clusters is not None:
        return Clusters(data.clusters)
    return Stratified() if intervals.resampling == "stratified" else IID()


def resampling_of_trials(intervals: Intervals | None, made: TrialSet) -> Resampling | None:
    """Return what is drawn of trials, None where no intervals are asked for."""
    if intervals is None:
        return None
    name = intervals.resampling
    if name in _SCHEMES:
        return Stratified() if name == "stratified" else IID()
    if name == _OF_SPEAKERS:
        return TwoWay(*made.speakers)
    if name not in made.columns:
        known = ", ".join(made.columns) or "they have none"
        raise ValueError(
            f"--resample must be iid, stratified, speaker or a column of the files ({known}), "
            f"not {name!r}"
        )
    column = made.columns[name]
    return Clusters(column.codes if isinstance(column, Coded) else column)
