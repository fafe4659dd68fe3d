"""Settings of confidence intervals."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from fastpsr.bootstrap import IID, Clusters, Nested, Resampling, Stratified
from fastpsr.cli.modes import refuse
from fastpsr.cli.options.panels import INTERVALS, of
from fastpsr.cli.options.sources import SpeakerOptions
from fastpsr.evaluation import Intervals

__all__ = [
    "BY_WHAT_IS_KNOWN",
    "NESTED",
    "SCHEMES",
    "SPEAKERS",
    "ComparisonOptions",
    "IntervalOptions",
    "check_speakers_are_drawn",
    "column_of",
    "drawn_in_clusters",
]

#: Values of `--resample` other than columns.
SCHEMES: dict[str, Resampling] = {"iid": IID(), "stratified": Stratified()}
SPEAKERS = "speaker"
NESTED = "nested:"  # before the name of a column of cluster ids
BY_WHAT_IS_KNOWN = "speaker or iid"  # of a table, as long as its columns are not known
TELL_SPEAKERS = "--speakers, --speaker-columns or --speaker-pattern"


class Method(StrEnum):
    """Methods for intervals."""

    AUTO = "auto"
    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "bca"
    NORMAL = "normal"
    SUBSAMPLING = "subsampling"


@dataclass(frozen=True)
class IntervalOptions:
    """Settings of confidence intervals."""

    ci: Annotated[
        float | None,
        of(
            INTERVALS,
            "Compute confidence intervals at this level; 0.95 if only --resamples is given.",
            "--ci",
        ),
    ] = None
    resamples: Annotated[
        int | None,
        of(INTERVALS, "Number of bootstrap replicates; 1000 if only --ci is given."),
    ] = None
    resample: Annotated[
        str | None,
        of(
            INTERVALS,
            "What is resampled: samples (iid), samples within each class (stratified), speakers "
            "of both sides of trials (speaker), or clusters: the name of a column of cluster ids "
            "(for .npy tables, a .npy file); after nested:, clusters, then samples within each. By "
            "default speakers if they are known, else samples.",
            metavar="iid|stratified|speaker|[nested:]COLUMN",
        ),
    ] = None
    interval: Annotated[
        Method,
        of(
            INTERVALS,
            "How intervals are computed; auto takes what covers best for each metric.",
            "--interval",
        ),
    ] = Method.AUTO
    seed: Annotated[
        int, of(INTERVALS, "Seed of the replicates; the same seed gives the same intervals.")
    ] = 0

    def parse(
        self, context: typer.Context, *, of_trials: bool, speakers: SpeakerOptions
    ) -> Intervals | None:
        """Return the settings of intervals, validated before any computation; None without."""
        if self.ci is None and self.resamples is None:
            reason = "is for intervals: give --ci or --resamples too"
            refuse(context, ("--resample", "--interval", "--seed"), reason)
            return None
        level = 0.95 if self.ci is None else self.ci
        n_resamples = 1000 if self.resamples is None else self.resamples
        drawn = self.resample
        if drawn is None:
            drawn = "iid" if of_trials else BY_WHAT_IS_KNOWN
            drawn = SPEAKERS if speakers.are_known else drawn
        scheme = SCHEMES.get(drawn)
        intervals = Intervals.of(n_resamples, level, self.interval.value, scheme, self.seed)
        intervals = replace(intervals, drawn=drawn)
        if of_trials and drawn == SPEAKERS:
            if not speakers.are_known:
                raise ValueError(
                    f"--resample speaker needs to know the speakers: give {TELL_SPEAKERS}"
                )
            check_speakers_are_drawn(intervals)
        if intervals.method == "bca" and drawn.startswith(NESTED):
            raise ValueError(
                f"--interval must not be bca with --resample {drawn}: use auto or percentile"
            )
        return intervals

    def caution(self, intervals: Intervals | None, speakers: SpeakerOptions) -> str:
        """Return what is to be said of intervals of trials whose speakers are unknown, or ""."""
        if intervals is None or self.resample is not None or speakers.are_known:
            return ""
        return (
            f"warning: intervals are too narrow if speakers repeat: give {TELL_SPEAKERS}, or "
            "--resample iid if none does"
        )


@dataclass(frozen=True)
class ComparisonOptions(IntervalOptions):
    """Settings of confidence intervals of differences, which are always computed."""

    ci: Annotated[float | None, of(INTERVALS, "Confidence level of intervals.", "--ci")] = 0.95
    resamples: Annotated[int | None, of(INTERVALS, "Number of bootstrap replicates.")] = 1000


def check_speakers_are_drawn(intervals: Intervals) -> None:
    """Raise where intervals are made in a way that drawn speakers do not allow."""
    if intervals.method == "bca":
        raise ValueError(
            "--interval must not be bca with --resample speaker (the default where speakers are "
            "known): use auto or percentile, or --resample iid"
        )


def column_of(intervals: Intervals | None) -> str | None:
    """Return the column of cluster ids of a table, or what is drawn by default."""
    if intervals is None or intervals.drawn in SCHEMES:
        return None
    return intervals.drawn.removeprefix(NESTED)


def drawn_in_clusters(intervals: Intervals, ids: Any) -> Intervals:
    """Return intervals that draw clusters, and samples within them if that is asked for."""
    nested = intervals.drawn.startswith(NESTED)
    return replace(intervals, resampling=Nested(ids) if nested else Clusters(ids))
