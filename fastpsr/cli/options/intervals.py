"""Settings of confidence intervals."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.modes import refuse
from fastpsr.cli.options.panels import INTERVALS, of
from fastpsr.cli.options.sources import SpeakerOptions

if TYPE_CHECKING:
    from fastpsr.bootstrap import Resampling
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.tables import OpenTable
    from fastpsr.trials import TrialSet

_SPEAKERS, _NESTED = "speaker", "nested:"  # the latter before the name of a column of cluster ids
_TELL_SPEAKERS = "--speakers, --speaker-columns or --speaker-pattern"


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
            None,
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

    @property
    def scheme(self) -> "Resampling | None":
        """What is drawn, with names of columns as ids; None by default."""
        text = self.resample
        if text is None:
            return None
        if known := _by_name().get(text):
            return known
        column = text.removeprefix(_NESTED)
        return fp.Nested(column) if text.startswith(_NESTED) else fp.Clusters(column)

    @property
    def column(self) -> str | None:
        """The name of --resample without what comes before it."""
        return None if self.resample is None else self.resample.removeprefix(_NESTED)

    def parse(
        self, context: typer.Context, *, of_trials: bool, speakers: SpeakerOptions
    ) -> "Intervals | None":
        """Return the settings of intervals, validated before any computation; None without.

        What they draw is known when the data are.
        """
        if self.ci is None and self.resamples is None:
            reason = "is for intervals: give --ci or --resamples too"
            refuse(context, ("--resample", "--interval", "--seed"), reason)
            return None
        from fastpsr.bootstrap.settings import Intervals

        level = 0.95 if self.ci is None else self.ci
        n_resamples = 1000 if self.resamples is None else self.resamples
        intervals = Intervals.of(n_resamples, level, self.interval.value, None, self.seed)
        if of_trials:
            drawn = _by_name()[_SPEAKERS] if self._draws_known(speakers) else self.scheme
            if isinstance(drawn, fp.TwoWay) and not speakers.are_known:
                raise ValueError(
                    f"--resample speaker needs to know the speakers: give {_TELL_SPEAKERS}"
                )
            check_method(intervals, drawn)
        if isinstance(self.scheme, fp.Nested):
            check_method(intervals, self.scheme)
        return intervals

    def of_trials(self, made: "TrialSet") -> "Resampling | None":
        """Return what is drawn of trials, None for their speakers, or all trials."""
        from fastpsr.bootstrap.schemes import names_of_ids

        scheme = self.scheme
        if scheme is None or isinstance(scheme, fp.TwoWay):
            return None
        for name in names_of_ids(scheme).values():
            if name not in made.columns:
                known = ", ".join(made.columns) or "they have none"
                raise ValueError(
                    "--resample must be iid, stratified, speaker or a column of the files "
                    f"({known}), not {name!r}"
                )
        return scheme

    def of_table(self, table: "OpenTable") -> "Resampling":
        """Return what is drawn of a table, by default its speakers, if columns have their names."""
        from fastpsr.bootstrap.schemes import names_of_ids
        from fastpsr.ids import SPEAKER_COLUMNS

        names, scheme = table.names or (), self.scheme
        has_speakers = set(SPEAKER_COLUMNS) <= set(names)
        if scheme is None:
            return _by_name()[_SPEAKERS if has_speakers else "iid"]
        if isinstance(scheme, fp.TwoWay) and not has_speakers:
            scheme = fp.Clusters(_SPEAKERS)
        for column in names_of_ids(scheme).values():
            if isinstance(scheme, fp.Nested) and column == _SPEAKERS and has_speakers:
                raise ValueError(
                    f"--resample {self.resample} must name one column of cluster ids, not the "
                    "speakers of both sides: rename the column, or use --resample speaker"
                )
            if column not in names and not (table.names is None and column.endswith(".npy")):
                raise ValueError(_unknown_column(column, table, names))
        return scheme

    def caution(self, intervals: "Intervals | None", speakers: SpeakerOptions) -> str:
        """Return what is to be said of intervals of trials whose speakers are unknown, or ""."""
        if intervals is None or self.resample is not None or speakers.are_known:
            return ""
        return (
            f"warning: intervals are too narrow if speakers repeat: give {_TELL_SPEAKERS}, or "
            "--resample iid if none does"
        )

    def _draws_known(self, speakers: SpeakerOptions) -> bool:
        return self.resample is None and speakers.are_known


@dataclass(frozen=True)
class ComparisonOptions(IntervalOptions):
    """Settings of confidence intervals of differences, which are always computed."""

    ci: Annotated[float | None, of(None, "Confidence level of intervals.", "--ci")] = 0.95
    resamples: Annotated[int | None, of(INTERVALS, "Number of bootstrap replicates.")] = 1000


def arguments(
    intervals: "Intervals | None", drawn: IntervalOptions, made: "TrialSet"
) -> dict[str, Any]:
    """Return settings of intervals of trials as arguments of the library."""
    if intervals is None:
        return {}
    names = ("n_resamples", "confidence_level", "method", "seed")
    settings = {name: getattr(intervals, name) for name in names}
    return settings | {"resampling": drawn.of_trials(made)}


def drawn_name(scheme: "Resampling | None", *, has_speakers: bool = False) -> str:
    """Return what the commands call a scheme whose ids are names of columns."""
    from fastpsr.bootstrap.schemes import names_of_ids

    if scheme is None:
        return _SPEAKERS if has_speakers else "iid"
    columns = [*names_of_ids(scheme).values()]
    if len(columns) != 1:
        return next(name for name, each in _by_name().items() if type(each) is type(scheme))
    return f"{_NESTED}{columns[0]}" if isinstance(scheme, fp.Nested) else columns[0]


def check_method(intervals: "Intervals", drawn: "Resampling | None") -> None:
    """Raise where intervals are made in a way that a scheme does not allow."""
    if intervals.method != "bca" or drawn is None:
        return
    if isinstance(drawn, fp.TwoWay):
        raise ValueError(
            "--interval must not be bca with --resample speaker (the default where speakers are "
            "known): use auto or percentile, or --resample iid"
        )
    if isinstance(drawn, fp.Nested):
        raise ValueError(
            f"--interval must not be bca with --resample {drawn_name(drawn)}: use auto or "
            "percentile"
        )


def _by_name() -> "dict[str, Resampling]":
    """Return what is drawn by the names of --resample, with names of columns as ids."""
    from fastpsr.ids import SPEAKER_COLUMNS

    return {
        "iid": fp.IID(), "stratified": fp.Stratified(), _SPEAKERS: fp.TwoWay(*SPEAKER_COLUMNS)
    }  # fmt: skip


def _unknown_column(asked: str, table: "OpenTable", names: Collection[str]) -> str:
    """Return what is wrong with a column that a table has not."""
    from fastpsr.ids import SPEAKER_COLUMNS

    what = f"a column of {table.path} ({', '.join(names)})"
    lacking = f", which needs columns {' and '.join(SPEAKER_COLUMNS)}" * (asked == _SPEAKERS)
    if table.names is None:
        what, lacking = f"a .npy file beside {table.path}", ""
    return f"--resample must be iid, stratified or {what}, not {asked!r}{lacking}"
