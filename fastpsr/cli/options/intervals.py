"""Settings of confidence intervals."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fastpsr as fp
from fastpsr.cli.options.declaration import INTERVALS, option
from fastpsr.cli.options.modes import refuse
from fastpsr.cli.options.sources import SpeakerOptions

if TYPE_CHECKING:
    from fastpsr.bootstrap import Resampling
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.tables import OpenTable
    from fastpsr.trials import TrialSet

_SPEAKERS, _NESTED = "speaker", "nested:"  # the latter before the name of a column of cluster ids


_METHODS = ("auto", "percentile", "basic", "bca", "normal", "subsampling")


@dataclass(frozen=True)
class IntervalOptions:
    """Settings of confidence intervals."""

    ci: Annotated[
        str | None,
        option(
            "Compute confidence intervals: at this level (default 0.95), by this method "
            f"({', '.join(_METHODS)}; default auto, chosen for each metric). Differences of "
            "systems and fusions always have intervals.",
            metavar="LEVEL|METHOD|LEVEL:METHOD",
            arguments={"confidence_level": "--ci {}", "method": "--ci {}"},
        ),
    ] = None
    resamples: Annotated[
        int | None,
        option(
            "Number of bootstrap replicates; by default 1000.",
            panel=INTERVALS,
            arguments={"n_resamples": "--resamples {}"},
        ),
    ] = None
    resample: Annotated[
        str | None,
        option(
            "What is resampled: samples (iid), samples within each class (stratified), speakers "
            "of both sides of trials (speaker), or clusters: the name of a column of cluster ids "
            "(for .npy tables, a .npy file); after nested:, clusters, then samples within each. By "
            "default speakers if they are known, else samples.",
            panel=INTERVALS,
            metavar="iid|stratified|speaker|[nested:]COLUMN",
            arguments=dict.fromkeys(("cluster_ids", "enroll_speakers", "ids"), "--resample {}"),
        ),
    ] = None
    seed: Annotated[
        int,
        option("Seed of the replicates; the same seed gives the same intervals.", panel=INTERVALS),
    ] = 0

    def __post_init__(self) -> None:
        _ = self.level_and_method  # which may be refused

    @property
    def level_and_method(self) -> tuple[float, Any]:
        """The confidence level, and the method."""
        if self.ci is None:
            return 0.95, "auto"
        level, colon, method = self.ci.partition(":")
        if not colon and level in _METHODS:
            level, method = "0.95", level
        try:
            if colon and method not in _METHODS:
                raise ValueError
            return float(level), method or "auto"
        except ValueError:
            raise ValueError(
                f"--ci must be a level, a method among {', '.join(_METHODS)}, or both, "
                f"LEVEL:METHOD, not {self.ci!r}"
            ) from None

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
        self,
        context: typer.Context,
        *,
        of_trials: bool,
        speakers: SpeakerOptions,
        always: bool = False,
    ) -> "Intervals | None":
        """Return the settings of intervals, validated before any computation; None without.

        What they draw is known when the data are.
        """
        if self.ci is None and self.resamples is None and not always:
            reason = "is for intervals: give --ci or --resamples too"
            refuse(context, ("--resample", "--seed"), reason)
            return None
        from fastpsr.bootstrap.settings import Intervals

        n_resamples = 1000 if self.resamples is None else self.resamples
        level, method = self.level_and_method
        intervals = Intervals.of(n_resamples, level, method, None, self.seed)
        if of_trials:
            drawn = _by_name()[_SPEAKERS] if self._draws_known(speakers) else self.scheme
            if isinstance(drawn, fp.TwoWay) and not speakers.are_known:
                raise ValueError("--resample speaker needs to know the speakers: give --speakers")
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
            "warning: intervals are too narrow if speakers repeat: give --speakers, or --resample "
            "iid if none does"
        )

    def _draws_known(self, speakers: SpeakerOptions) -> bool:
        return self.resample is None and speakers.are_known


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
            "--ci must not be bca with --resample speaker (the default where speakers are "
            "known): use auto or percentile, or --resample iid"
        )
    if isinstance(drawn, fp.Nested):
        raise ValueError(
            f"--ci must not be bca with --resample {drawn_name(drawn)}: use auto or percentile"
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
