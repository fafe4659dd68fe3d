"""Settings of confidence intervals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

import fastpsr as fp
from fastpsr.cli.options.declaration import INTERVALS, option
from fastpsr.cli.options.sources import TrialOptions, refuse
from fastpsr.cli.show import print_error

if TYPE_CHECKING:
    from fastpsr.bootstrap import Resampling
    from fastpsr.bootstrap.settings import Intervals
    from fastpsr.tables import OpenTable

_SPEAKERS, _NESTED = "speaker", "nested:"  # the latter before the name of a column of cluster ids
_METHODS = ("auto", "percentile", "basic", "bca", "normal", "subsampling")
_USUAL: tuple[float, Any] = (0.95, "auto")


def _by_name() -> "dict[str, Resampling]":
    """Return resampling schemes by the names of --resample, with names of columns as ids."""
    from fastpsr.ids import SPEAKER_COLUMNS

    return {
        "iid": fp.IID(), "stratified": fp.Stratified(), _SPEAKERS: fp.TwoWay(*SPEAKER_COLUMNS)
    }  # fmt: skip


def _parse_resampling(text: str | None) -> "Resampling | None":
    """Return the resampling scheme, with names of columns as ids; None by default."""
    if text is None or text in _by_name():
        return None if text is None else _by_name()[text]
    column = text.removeprefix(_NESTED)
    return fp.Nested(column) if text.startswith(_NESTED) else fp.Clusters(column)


def _parse_ci(text: str | None) -> tuple[float, Any] | None:
    """Return the confidence level and the method, if some are given."""
    if text is None or text in _METHODS:
        return None if text is None else (_USUAL[0], text)
    level, _, method = text.partition(":")
    try:
        return float(level), method or "auto"
    except ValueError:
        raise ValueError(
            f"--ci must be a level, a method among {', '.join(_METHODS)}, or both, "
            f"LEVEL:METHOD, not {text!r}"
        ) from None


@dataclass(frozen=True)
class IntervalOptions:
    """Settings of confidence intervals."""

    ci: tuple[float, Any] | None = option(
        f"Confidence intervals at this level (default 0.95), by this method: {', '.join(_METHODS)} "
        "(default auto, which depends on the metric). Differences of systems always have some.",
        metavar="LEVEL|METHOD|LEVEL:METHOD",
        parse=_parse_ci,
        arguments={"confidence_level": "--ci {}", "method": "--ci {}"},
    )
    resamples: int | None = option(
        "Number of bootstrap replicates; by default 1000.",
        panel=INTERVALS,
        arguments={"n_resamples": "--resamples {}"},
    )
    resample: Any = option(
        "What is resampled: samples (iid), samples of each class (stratified), speakers of both "
        "sides (speaker), or clusters by a column of ids, with nested: also samples within them. "
        "By default speakers if known, else samples.",
        panel=INTERVALS,
        metavar="iid|stratified|speaker|[nested:]COLUMN",
        parse=_parse_resampling,
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
    def columns(self) -> list[str]:
        """The columns of what is resampled."""
        from fastpsr.bootstrap.schemes import names_of_ids

        return [] if self.resample is None else [*names_of_ids(self.resample).values()]

    def settings(
        self,
        context: typer.Context,
        trials: TrialOptions,
        *,
        of_trials: bool,
        always: bool = False,
    ) -> "Intervals | None":
        """Return the settings of intervals, validated before any computation; None without."""
        if self.ci is None and self.resamples is None and not always:
            reason = "is for intervals: give --ci or --resamples too"
            refuse(context, ("--resample", "--seed"), reason)
            return None
        from fastpsr.bootstrap.settings import Intervals

        scheme, has_speakers = self.resample, bool(trials.speakers)
        if of_trials and isinstance(scheme, fp.TwoWay) and not has_speakers:
            raise ValueError("--resample speaker needs to know the speakers: give --speakers")
        if of_trials and scheme is None and has_speakers:
            scheme = _by_name()[_SPEAKERS]
        level, method = self.ci or _USUAL
        n_resamples = 1000 if self.resamples is None else self.resamples
        return Intervals.of(n_resamples, level, method, scheme, self.seed)

    def print_caution(self, intervals: "Intervals | None", trials: TrialOptions) -> None:
        """Print a warning of intervals of trials whose speakers are unknown."""
        if intervals is not None and self.resample is None and not trials.speakers:
            print_error(
                "warning: intervals are too narrow if speakers repeat: give --speakers, or "
                "--resample iid if none does"
            )


def drawn_of_table(scheme: "Resampling | None", table: "OpenTable") -> "Resampling":
    """Return the scheme for a table, by default its speakers, if columns have their names."""
    from fastpsr.ids import SPEAKER_COLUMNS

    if {*SPEAKER_COLUMNS} <= {*(table.names or ())}:
        return _by_name()[_SPEAKERS] if scheme is None else scheme
    if isinstance(scheme, fp.TwoWay):
        return fp.Clusters(_SPEAKERS)
    return fp.IID() if scheme is None else scheme


def arguments(intervals: "Intervals | None", resampling: "Resampling | None") -> dict[str, Any]:
    """Return settings of intervals as arguments of the library."""
    if intervals is None:
        return {}
    names = ("n_resamples", "confidence_level", "method", "seed")
    settings = {name: getattr(intervals, name) for name in names}
    return settings | {"resampling": resampling}


def drawn_name(scheme: "Resampling") -> str:
    """Return the commands' name of a scheme whose ids are names of columns."""
    if isinstance(scheme, fp.Nested):
        return _NESTED + str(scheme.cluster_ids)
    if isinstance(scheme, fp.Clusters):
        return str(scheme.ids)
    return next(name for name, named in _by_name().items() if type(named) is type(scheme))
