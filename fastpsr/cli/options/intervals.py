"""Settings of confidence intervals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    ci: str | None = option(
        "Compute confidence intervals: at this level (default 0.95), by this method "
        f"({', '.join(_METHODS)}; default auto, chosen for each metric). Differences of "
        "systems and fusions always have intervals.",
        metavar="LEVEL|METHOD|LEVEL:METHOD",
        arguments={"confidence_level": "--ci {}", "method": "--ci {}"},
    )
    resamples: int | None = option(
        "Number of bootstrap replicates; by default 1000.",
        panel=INTERVALS,
        arguments={"n_resamples": "--resamples {}"},
    )
    resample: str | None = option(
        "What is resampled: samples (iid), samples within each class (stratified), speakers "
        "of both sides of trials (speaker), or clusters: the name of a column of cluster ids "
        "(for .npy tables, a .npy file); after nested:, clusters, then samples within each. By "
        "default speakers if they are known, else samples.",
        panel=INTERVALS,
        metavar="iid|stratified|speaker|[nested:]COLUMN",
        arguments=dict.fromkeys(
            ("cluster_ids", "enroll_speakers", "ids", "resampling"), "--resample {}"
        ),
    )
    seed: int = option(
        "Seed of the replicates; the same seed gives the same intervals.",
        panel=INTERVALS,
        default=0,
    )

    @property
    def level_and_method(self) -> tuple[float, Any]:
        """The confidence level, and the method."""
        level, _, method = (self.ci or "auto").partition(":")
        try:
            return float(level), method or "auto"
        except ValueError:
            if self.ci not in (None, *_METHODS):
                raise ValueError(
                    f"--ci must be a level, a method among {', '.join(_METHODS)}, or both, "
                    f"LEVEL:METHOD, not {self.ci!r}"
                ) from None
            return 0.95, self.ci or "auto"

    @property
    def scheme(self) -> "Resampling | None":
        """What is drawn, with names of columns as ids; None by default."""
        text = self.resample
        if text is None or text in _by_name():
            return None if text is None else _by_name()[text]
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
        """Return the settings of intervals, validated before any computation; None without."""
        if self.ci is None and self.resamples is None and not always:
            reason = "is for intervals: give --ci or --resamples too"
            refuse(context, ("--resample", "--seed"), reason)
            return None
        from fastpsr.bootstrap.settings import Intervals

        scheme = self.scheme
        if of_trials and scheme is None and speakers.are_known:
            scheme = _by_name()[_SPEAKERS]
        if of_trials and isinstance(scheme, fp.TwoWay) and not speakers.are_known:
            raise ValueError("--resample speaker needs to know the speakers: give --speakers")
        n_resamples = 1000 if self.resamples is None else self.resamples
        return Intervals.of(n_resamples, *self.level_and_method, scheme, self.seed)

    def of_trials(self, trials: "TrialSet") -> "Resampling | None":
        """Return what is drawn of trials, None for their speakers, or all trials."""
        return None if isinstance(self.scheme, fp.TwoWay) else self.scheme

    def of_table(self, table: "OpenTable") -> "Resampling":
        """Return what is drawn of a table, by default its speakers, if columns have their names."""
        from fastpsr.ids import SPEAKER_COLUMNS

        scheme = self.scheme
        if {*SPEAKER_COLUMNS} <= {*(table.names or ())}:
            return _by_name()[_SPEAKERS] if scheme is None else scheme
        if isinstance(scheme, fp.TwoWay):
            return fp.Clusters(_SPEAKERS)
        return fp.IID() if scheme is None else scheme

    def caution(self, intervals: "Intervals | None", speakers: SpeakerOptions) -> str:
        """Return what is to be said of intervals of trials whose speakers are unknown, or ""."""
        if intervals is None or self.resample is not None or speakers.are_known:
            return ""
        return (
            "warning: intervals are too narrow if speakers repeat: give --speakers, or --resample "
            "iid if none does"
        )


def arguments(intervals: "Intervals | None", resampling: "Resampling | None") -> dict[str, Any]:
    """Return settings of intervals as arguments of the library."""
    if intervals is None:
        return {}
    names = ("n_resamples", "confidence_level", "method", "seed")
    settings = {name: getattr(intervals, name) for name in names}
    return settings | {"resampling": resampling}


def drawn_name(scheme: "Resampling | None", *, has_speakers: bool = False) -> str:
    """Return what the commands call a scheme whose ids are names of columns."""
    if scheme is None:
        return _SPEAKERS if has_speakers else "iid"
    if isinstance(scheme, fp.Nested):
        return _NESTED + str(scheme.cluster_ids)
    if isinstance(scheme, fp.Clusters):
        return str(scheme.ids)
    return next(name for name, named in _by_name().items() if type(named) is type(scheme))


def _by_name() -> "dict[str, Resampling]":
    """Return what is drawn by the names of --resample, with names of columns as ids."""
    from fastpsr.ids import SPEAKER_COLUMNS

    return {
        "iid": fp.IID(), "stratified": fp.Stratified(), _SPEAKERS: fp.TwoWay(*SPEAKER_COLUMNS)
    }  # fmt: skip
