"""Options that several commands share, in groups, and the parsing of their values."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from fastpsr import checks
from fastpsr.bootstrap import IID, Clusters, Nested, Resampling, Stratified
from fastpsr.calibration import CALIBRATORS, CrossFit
from fastpsr.calibration.base import Calibrator
from fastpsr.cli.modes import refuse
from fastpsr.cli.show import console
from fastpsr.costs import CostMatrix
from fastpsr.evaluation import Intervals
from fastpsr.files import check_place
from fastpsr.metrics import EER, PRESETS, Metric, MinADCF, MinDCF
from fastpsr.predictions import Predictions
from fastpsr.trials import FORMATS

__all__ = [
    "BY_WHAT_IS_KNOWN",
    "SCHEMES",
    "SPEAKERS",
    "By",
    "CalibratorOptions",
    "Columns",
    "ComparisonOptions",
    "FormatOptions",
    "GroupDifferences",
    "IntervalOptions",
    "KeyOptions",
    "KindsOfScores",
    "MeasureOptions",
    "OutputOptions",
    "PolicyOptions",
    "Report",
    "ScoresAre",
    "ScoresMean",
    "SpeakerOptions",
    "TableOptions",
    "TrialOptions",
    "TrialScale",
    "arrays_beside",
    "check_folds",
    "check_outputs",
    "check_speakers_are_drawn",
    "column_of",
    "drawn_in_clusters",
    "from_stdin",
    "is_stdin",
    "kinds_of",
    "named_files",
    "parse_dcf",
    "parse_priors",
    "read_costs",
    "table_scale",
    "to_stdout",
    "trial_scale",
]

#: Values of `--resample` other than columns.
SCHEMES: dict[str, Resampling] = {"iid": IID(), "stratified": Stratified()}
SPEAKERS = "speaker"
NESTED = "nested:"  # before the name of a column of cluster ids
BY_WHAT_IS_KNOWN = "speaker or iid"  # of a table, as long as its columns are not known
_STDIN = Path("/dev/stdin")
TELL_SPEAKERS = "--speakers, --speaker-columns or --speaker-pattern"


class ScoresAre(StrEnum):
    """Kinds of scores."""

    POSTERIORS = "posteriors"
    POSTERIOR = "posterior"  # the same
    LOG_POSTERIORS = "log-posteriors"
    LOGITS = "logits"
    LOG_LIKELIHOODS = "log-likelihoods"
    LLR = "llr"
    LOG10_LLR = "log10-llr"
    RAW = "raw"


class Drop(StrEnum):
    """What to do with trials that cannot be evaluated."""

    ERROR = "error"
    DROP = "drop"


class Ignore(StrEnum):
    """What to do with scores of no trial."""

    ERROR = "error"
    IGNORE = "ignore"


class First(StrEnum):
    """What to do with duplicates."""

    ERROR = "error"
    FIRST = "first"


class Equal(StrEnum):
    """Definitions of the EER."""

    HULL = "hull"
    CROSSING = "crossing"
    NEAREST = "nearest"


class Method(StrEnum):
    """Methods for intervals."""

    AUTO = "auto"
    PERCENTILE = "percentile"
    BASIC = "basic"
    BCA = "bca"
    NORMAL = "normal"
    SUBSAMPLING = "subsampling"


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"it must be one of {', '.join(FORMATS)}, not {name!r}")
    return name


def _known_calibrator(name: str) -> str:
    if name not in CALIBRATORS:
        raise typer.BadParameter(f"it must be one of {', '.join(CALIBRATORS)}, not {name!r}")
    return name


def _of(panel: str, help: str, *names: str, **more: Any) -> Any:
    """Return an option that is shown in a panel of the help."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


_TABLES, _TRIALS, _INTERVALS = "Tables", "Trial lists", "Intervals"

Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns of scores in the order of the classes, separated by commas; for trials "
        "ROLE=NAME,... with the roles enroll, test, label, score, side."
    ),
]
KindsOfScores = Annotated[
    list[ScoresAre] | None,
    typer.Option(
        "--scores-are",
        help="What scores are; by default posteriors, of trials llr (natural logarithms). "
        "Several times: of each system in turn.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        help="Column of the key: also compute the metrics for each of its values.",
        rich_help_panel="Trial lists",
    ),
]


class Compared(StrEnum):
    """Which groups of trials are compared."""

    POOLED = "pooled"
    ALL = "all"


GroupDifferences = Annotated[
    Compared | None,
    typer.Option(
        help="With --by, also differences of each condition to all trials (pooled), or between all "
        "conditions (all), with simultaneous intervals. Files other than JSON hold only these.",
        rich_help_panel="Trial lists",
    ),
]
ScoresMean = Annotated[
    ScoresAre | None,
    typer.Option(
        "--scores-are",
        help="Kind of the scores; by default posteriors, for trials llr (natural logarithms).",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report", help="Also write an HTML report with tables and figures to this file."
    ),
]


@dataclass(frozen=True)
class MeasureOptions:
    """Settings of the metrics."""

    priors: Annotated[
        str | None,
        typer.Option(
            help="Class priors of the evaluation, which sum to 1, in the order of the classes: "
            "0.99,0.01 for non-target and target. By default the class frequencies."
        ),
    ] = None
    dcf: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Detection cost: {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA. May be "
            "repeated. By default 0.01 for trials, none for tables."
        ),
    ] = None
    eer: Annotated[
        Equal | None,
        typer.Option(
            help="Definition of the EER: on the convex hull of the ROC (the default), or on its "
            "steps, by interpolation or at the nearest threshold."
        ),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(help="Metrics of the table by name, with commas between, in this order."),
    ] = None
    costs: Annotated[
        Path | None, _of(_TABLES, "Cost matrix with a row per true class: .json or .csv.")
    ] = None
    adcf: Annotated[
        list[str] | None,
        _of(
            _TRIALS,
            "Detection cost of lists with spoofed trials: asvspoof5 (the default), or "
            "PNON:PSPOOF:CMISS:CFA:CFASPOOF. May be repeated.",
        ),
    ] = None
    equalize: Annotated[
        str | None,
        _of(_TRIALS, "Columns of the key whose partitions get equal weight in the pooled result."),
    ] = None

    def detection(self, *, of_trials: bool) -> list[MinDCF]:
        """Return the requested detection costs."""
        return [parse_dcf(text) for text in self.dcf or (["0.01"] if of_trials else [])]

    def spoofing(self, spoof: Any) -> list[MinADCF]:
        """Return the requested detection costs of a list; `spoof` says which trials are spoofed."""
        if spoof is not None:
            return [parse_adcf(text, spoof) for text in self.adcf or ["asvspoof5"]]
        if self.adcf:
            raise ValueError(
                "--adcf is for lists with labels target, nontarget and spoof; this one has no "
                "spoofed trials"
            )
        return []

    @property
    def equal_rates(self) -> EER:
        """The EER by its definition."""
        return EER() if self.eer is None else EER(self.eer.value)

    def chosen(self, table: dict[str, Metric[Any]]) -> dict[str, Metric[Any]]:
        """Return the metrics of a table that are asked for, all by default."""
        found = self._chosen(table)
        if self.eer is not None and self.equal_rates.label not in found:
            raise ValueError(
                f"--eer is for tables with the EER, not for one of {', '.join(found)}: trials, or "
                "LLRs or raw scores of two classes, have it"
            )
        return found

    def check_names(self, tables: dict[str, Metric[Any]]) -> None:
        """Raise, before anything is read, where --metrics names none of all possible metrics."""
        self._chosen(tables)

    def _chosen(self, table: dict[str, Metric[Any]]) -> dict[str, Metric[Any]]:
        if self.metrics is None:
            return table
        by_name = {name.lower(): name for name in table}
        if self.equal_rates.label in table:
            by_name["eer"] = self.equal_rates.label
        found = {}
        for text in self.metrics.split(","):
            if text.strip().lower() not in by_name:
                raise ValueError(
                    f"--metrics must name metrics of this table ({', '.join(table)}), not "
                    f"{text.strip()!r}"
                )
            name = by_name[text.strip().lower()]
            found[name] = table[name]
        return found


@dataclass(frozen=True)
class CalibratorOptions:
    """The calibrator, and its training."""

    calibrator: Annotated[
        str,
        typer.Option(
            callback=_known_calibrator,
            metavar=f"[{'|'.join(CALIBRATORS)}]",  # the format of choices in the help
            help="Calibrator of the scores, or of the calibration loss.",
        ),
    ] = "dp"
    floor: Annotated[
        float | None,
        typer.Option(
            help="Keep posteriors within P and 1 - P: those that pav and histogram return, those "
            "that dp and temperature are given. By default they may be 0 and 1, which makes "
            "infinite LLRs.",
            metavar="P",
        ),
    ] = None
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-fitting.")] = 5

    def untrained(self) -> Calibrator:
        """Return the unfitted calibrator, with a floor if one was given."""
        kind = CALIBRATORS[self.calibrator]
        return kind() if self.floor is None else kind(floor=self.floor)  # type: ignore[call-arg]


@dataclass(frozen=True)
class TableOptions:
    """Columns of tables."""

    labels: Annotated[
        str | None,
        _of(_TABLES, "Column or array of class numbers 0 to K-1; a .npy file for .npy scores."),
    ] = None
    weights: Annotated[
        str | None,
        _of(_TABLES, "Column or array of sample weights; a .npy file for .npy scores."),
    ] = None


@dataclass(frozen=True)
class KeyOptions:
    """Where the labels of trials are; `-` is standard input."""

    key: Annotated[
        list[Path] | None,
        _of(_TRIALS, "Trial list with labels; several make one."),
    ] = None
    targets: Annotated[
        Path | None,
        _of(
            _TRIALS,
            "Scores of target trials, with --nontargets; with --scores their ids, as a key.",
        ),
    ] = None
    nontargets: Annotated[Path | None, _of(_TRIALS, "The same of non-targets.")] = None

    def __post_init__(self) -> None:
        if (self.targets is None) != (self.nontargets is None):
            raise ValueError("--targets and --nontargets go together: give both")
        if self.classes is not None and self.key is not None:
            raise ValueError("--key has labels: --targets and --nontargets take its place")

    @property
    def keys(self) -> list[Path]:
        """The files of --key."""
        return [from_stdin(path) for path in self.key or []]

    @property
    def classes(self) -> tuple[Path, Path] | None:
        """The files of targets and of non-targets."""
        if self.targets is None or self.nontargets is None:
            return None
        return from_stdin(self.targets), from_stdin(self.nontargets)

    @property
    def files(self) -> list[Path]:
        """All of these files."""
        return [*self.keys, *(self.classes or ())]

    def systems(self, scores: Sequence[Path]) -> dict[Path, str | None]:
        """Return score files with their names; without any, the targets' stand for both classes."""
        if self.keys and not scores:
            raise ValueError("--key needs --scores FILE, one for each system")
        return named_files(scores) if scores or not self.classes else {self.classes[0]: None}

    def has_key(self, scores: Sequence[Path]) -> bool:
        """Whether these files are a key rather than the scores."""
        return bool(self.keys or (self.classes and scores))

    def inputs(self, scores: Sequence[Path]) -> list[Path]:
        """Return all files to read, score files among them."""
        return [*([] if self.classes and not scores else self.systems(scores)), *self.files]


@dataclass(frozen=True)
class SpeakerOptions:
    """Source of the speakers of models and segments; at most one is given."""

    speakers: Annotated[
        Path | None, _of(_TRIALS, "File with lines `id speaker`, for the ids of both sides.")
    ] = None
    speaker_columns: Annotated[
        str | None, _of(_TRIALS, "Two columns of the key with the speakers: enroll,test.")
    ] = None
    speaker_pattern: Annotated[
        str | None,
        _of(
            _TRIALS,
            "Regular expression that is searched in each id; its first group, or else the whole "
            "match, is the speaker.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if sum(given is not None for given in self._all) > 1:
            raise ValueError(
                "give one of --speakers, --speaker-columns and --speaker-pattern, not several"
            )
        if self.speaker_columns is not None and len(self.speaker_columns.split(",")) != 2:
            raise ValueError(
                "--speaker-columns must be two columns of the key, enroll and test, with a comma "
                f"between, not {self.speaker_columns!r}"
            )

    @property
    def are_known(self) -> bool:
        """Whether a source of speakers was given."""
        return any(given is not None for given in self._all)

    @property
    def pair(self) -> tuple[str, str] | None:
        """The columns of both sides, if these were given."""
        if self.speaker_columns is None:
            return None
        enroll, test = self.speaker_columns.split(",")
        return enroll, test

    @property
    def _all(self) -> tuple[object, ...]:
        return self.speakers, self.speaker_columns, self.speaker_pattern


@dataclass(frozen=True)
class PolicyOptions:
    """What to do about trials and scores that do not match."""

    missing: Annotated[Drop, _of(_TRIALS, "What to do with trials without a score.")] = Drop.ERROR
    extra: Annotated[
        Ignore, _of(_TRIALS, "What to do with scores of trials that are not in the key.")
    ] = Ignore.ERROR
    duplicates: Annotated[
        First, _of(_TRIALS, "What to do with trials or scores that occur twice.")
    ] = First.ERROR
    nan: Annotated[Drop, _of(_TRIALS, "What to do with scores that are nan.")] = Drop.ERROR


@dataclass(frozen=True)
class FormatOptions:
    """Formats of keys and score files, if these cannot be detected."""

    key_format: Annotated[
        str | None,
        _of(
            _TRIALS,
            f"Format of the key, by default detected from the content: {', '.join(FORMATS)}.",
            callback=_known_format,
        ),
    ] = None
    key_columns: Annotated[str | None, _of(_TRIALS, "Columns of the key, ROLE=NAME,...")] = None
    format: Annotated[
        str | None,
        _of(
            _TRIALS,
            "Format of the scores, with the same choices as --key-format.",
            callback=_known_format,
        ),
    ] = None


@dataclass(frozen=True)
class TrialOptions(FormatOptions, PolicyOptions):
    """How keys and score files are read and joined."""

    key_transpose: Annotated[
        bool | None,
        _of(
            _TRIALS,
            "Whether the columns of an HDF5 key with a square matrix are models.",
            "--key-transpose/--no-key-transpose",
        ),
    ] = None
    transpose: Annotated[
        bool | None,
        _of(
            _TRIALS,
            "Whether the columns of HDF5 scores with a square matrix are models.",
            "--transpose/--no-transpose",
        ),
    ] = None


@dataclass(frozen=True)
class IntervalOptions:
    """Settings of confidence intervals."""

    ci: Annotated[
        float | None,
        _of(
            _INTERVALS,
            "Compute confidence intervals at this level; 0.95 if only --resamples is given.",
            "--ci",
        ),
    ] = None
    resamples: Annotated[
        int | None,
        _of(_INTERVALS, "Number of bootstrap replicates; 1000 if only --ci is given."),
    ] = None
    resample: Annotated[
        str | None,
        _of(
            _INTERVALS,
            "What is resampled: samples (iid), samples within each class (stratified), speakers "
            "of both sides of trials (speaker), or clusters: the name of a column of cluster ids "
            "(for .npy tables, a .npy file); after nested:, clusters, then samples within each. By "
            "default speakers if they are known, else samples.",
            metavar="iid|stratified|speaker|[nested:]COLUMN",
        ),
    ] = None
    interval: Annotated[
        Method,
        _of(
            _INTERVALS,
            "How intervals are computed; auto takes what covers best for each metric.",
            "--interval",
        ),
    ] = Method.AUTO
    seed: Annotated[
        int, _of(_INTERVALS, "Seed of the replicates; the same seed gives the same intervals.")
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

    ci: Annotated[float | None, _of(_INTERVALS, "Confidence level of intervals.", "--ci")] = 0.95
    resamples: Annotated[int | None, _of(_INTERVALS, "Number of bootstrap replicates.")] = 1000


_TABLE = "Also write the table to this file; - for standard output, where nothing else is then."


@dataclass(frozen=True)
class OutputOptions:
    """Files that tables are also written to."""

    to_json: Annotated[Path | None, typer.Option("--json", help=_TABLE)] = None
    to_csv: Annotated[Path | None, typer.Option("--csv", help=_TABLE)] = None
    to_markdown: Annotated[Path | None, typer.Option("--markdown", help=_TABLE)] = None
    to_latex: Annotated[Path | None, typer.Option("--latex", help=_TABLE)] = None

    @property
    def files(self) -> dict[str, Path | None]:
        """The files by the option that names them."""
        return {
            "--json": self.to_json,
            "--csv": self.to_csv,
            "--markdown": self.to_markdown,
            "--latex": self.to_latex,
        }


TrialScale = Literal["llr", "log10-llr", "posteriors", "raw"]
_TRIAL_SCALES: dict[ScoresAre, TrialScale] = {
    ScoresAre.LLR: "llr",
    ScoresAre.LOG10_LLR: "log10-llr",
    ScoresAre.POSTERIORS: "posteriors",
    ScoresAre.POSTERIOR: "posteriors",
    ScoresAre.RAW: "raw",
}


def table_scale(scores_are: ScoresAre | None) -> str:
    """Return the kind of the scores of a table."""
    if scores_are in (None, ScoresAre.POSTERIOR):
        return ScoresAre.POSTERIORS.value
    return str(scores_are)


def trial_scale(scores_are: ScoresAre | None) -> TrialScale:
    """Return the kind of the scores of trials."""
    if scores_are is None:
        return "llr"
    if scores_are not in _TRIAL_SCALES:
        allowed = "llr, log10-llr, posteriors or raw"
        raise ValueError(f"--scores-are must be {allowed} for trials, not {scores_are.value}")
    return _TRIAL_SCALES[scores_are]


def parse_priors(text: str | None, scale: str, *, of_trials: bool = False) -> list[float] | None:
    """Return class priors, with the checks that are possible for the kind of the scores."""
    if text is None:
        return None
    if scale == "raw":
        raise ValueError("--priors have no effect on raw scores, which only rank")
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--priors must be numbers with commas between, one for each class, not {text!r}"
        ) from None
    is_binary = of_trials or scale in ("llr", "log10-llr")
    if is_binary and len(numbers) != 2:
        raise ValueError(f"--priors must be two numbers, non-target and target, not {text!r}")
    priors: list[float] = checks.as_priors("--priors", numbers, len(numbers)).tolist()
    if is_binary and not all(priors):
        raise ValueError(f"--priors must both be above 0, not {text!r}")
    return priors


def parse_dcf(text: str) -> MinDCF:
    """Return the cost at the operating points of a preset, or of ``P`` or ``P:CMISS:CFA``."""
    if text in PRESETS:
        return MinDCF(text)
    try:
        numbers = [float(part) for part in text.split(":")]
        if len(numbers) not in (1, 3):
            raise ValueError
        return MinDCF(*numbers)
    except ValueError:
        raise ValueError(
            f"--dcf must be {', '.join(PRESETS)}, a target prior, or P:CMISS:CFA, with a prior "
            f"between 0 and 1 and positive costs, not {text!r}"
        ) from None


def parse_adcf(text: str, spoof: Any) -> MinADCF:
    """Return the cost at ``asvspoof5``, or at ``PNON:PSPOOF:CMISS:CFA:CFASPOOF``."""
    try:
        numbers = [] if text == "asvspoof5" else [float(part) for part in text.split(":")]
        if len(numbers) not in (0, 5):
            raise ValueError
        return MinADCF(spoof, *numbers)
    except ValueError:
        raise ValueError(
            "--adcf must be asvspoof5, or PNON:PSPOOF:CMISS:CFA:CFASPOOF, with positive costs, and "
            f"positive priors whose sum is below 1, not {text!r}"
        ) from None


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


def check_outputs(outputs: dict[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Raise, before any computation, if an output cannot be written or is also another file.

    Standard input must not be read twice.
    """
    console.stderr = any(str(path) == "-" for path in outputs.values())  # that alone on stdout
    if sum(path is not None and is_stdin(path) for path in inputs) > 1:
        raise ValueError("standard input (-) can be read once, but several files are it: save it")
    taken = {path.resolve(): "an input" for path in inputs if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        check_place(path)
        other = taken.setdefault(path.resolve(), option)
        if other != option:
            raise ValueError(f"{option} must not be {other} too: {path}")


@contextmanager
def to_stdout(path: Path) -> Iterator[Path]:
    """Yield a file to write: for "-" one whose content goes to standard output after the block."""
    if str(path) != "-":
        yield path
        return
    with TemporaryDirectory() as folder:
        yield Path(folder, "output")
        sys.stdout.flush()
        sys.stdout.buffer.write(Path(folder, "output").read_bytes())
        sys.stdout.buffer.flush()


def named_files(paths: Sequence[Path], what: str = "--scores") -> dict[Path, str | None]:
    """Return files by path with the names that NAME=FILE gives them; a file of that name wins.

    `what` is the option or argument that names the files.
    """
    found: dict[Path, str | None] = {}
    for path in paths:
        name, equals, file = str(path).partition("=")
        own = None if path.exists() or not (equals and name and file) else name
        place = from_stdin(path if own is None else Path(file))
        if any(place.resolve() == other.resolve() for other in found):
            raise ValueError(f"{what} must name each file once, but names {place} again")
        if own is not None and own in found.values():
            raise ValueError(f"{what} must give each file a name of its own, not {own} twice")
        found[place] = own
    return found


def kinds_of(scores_are: list[ScoresAre] | None, n_systems: int) -> list[ScoresAre | None]:
    """Return the kind of the scores of each system, which is given once or for each."""
    found: list[ScoresAre | None] = [*scores_are] if scores_are else [None]
    if len(found) not in (1, n_systems):
        raise ValueError(
            f"--scores-are must be given once, or for each of {n_systems} systems, not "
            f"{len(found)} times"
        )
    return found * n_systems if len(found) == 1 else found


def from_stdin(path: Path) -> Path:
    """Return the path of standard input for "-"."""
    return _STDIN if str(path) == "-" else path


def is_stdin(path: Path) -> bool:
    """Whether a file is standard input."""
    return path == _STDIN


def arrays_beside(*names: str | None) -> list[Path | None]:
    """Return the files among the names of labels and weights."""
    return [Path(name) for name in names if name is not None and name.endswith(".npy")]


def check_folds(folds: int, predictions: Predictions, groups: Any = None) -> None:
    """Raise if there are too few samples, or groups, for so many folds."""
    CrossFit(folds=folds, groups=groups).folds_of(predictions)


def read_costs(path: Path | None) -> CostMatrix | None:
    """Read a cost matrix, a row per class, from a JSON list of lists or a CSV without header."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            rows = json.loads(text)
        else:
            rows = [[float(c) for c in line.split(",")] for line in text.splitlines() if line]
        _check_rows(rows)
        return CostMatrix(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} must be a matrix of costs (JSON or CSV): {error}") from None


def _check_rows(rows: Any) -> None:
    """Raise unless rows are lists of numbers of equal length, with at least one row."""
    if not isinstance(rows, list) or not any(isinstance(row, list) for row in rows):
        return
    most = max(len(row) for row in rows if isinstance(row, list))
    for k, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != most:
            said = f"has {len(row)}" if isinstance(row, list) else f"is {row!r}"
            raise ValueError(f"every row must have {most} costs, but row {k} {said}")
        for j, cost in enumerate(row):
            if not isinstance(cost, (int, float)):
                raise ValueError(f"costs must be numbers, but costs[{k}, {j}] is {cost!r}")
