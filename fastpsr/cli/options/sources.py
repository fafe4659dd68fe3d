"""Where labels, speakers and clusters are, and how files are read and joined."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from fastpsr.cli.options.files import from_stdin, named_files
from fastpsr.cli.options.panels import FILES, METRICS, TABLES, TRIALS, of
from fastpsr.exports import FORMATS

Columns = Annotated[
    str | None,
    of(
        FILES,
        "Columns of scores in the order of the classes, separated by commas; for trials "
        "ROLE=NAME,... with the roles enroll, test, label, score, side.",
    ),
]
SystemColumns = Annotated[
    list[str] | None,
    of(
        TABLES,
        "Column of scores of a system, by default named after it; of several classes their columns "
        "in order. Once for each system of the table.",
        "--score",
        metavar="[NAME=]COLUMN,...",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN,...",
        help="Column of the key or table: also compute the metrics for each of its values; of "
        "several columns, for each combination. May be repeated.",
    ),
]
Binned = Annotated[
    list[str] | None,
    of(
        METRICS,
        "Bins of the numbers of --by: how many, of about the same number of samples each, or the "
        "edges, or each (a condition for each value). May be repeated, with names.",
        metavar="[COLUMN=]N|EDGE,EDGE...|each",
    ),
]


class Compared(StrEnum):
    """Which groups of trials are compared."""

    POOLED = "pooled"
    ALL = "all"


GroupDifferences = Annotated[
    Compared | None,
    typer.Option(
        help="With --by, also differences of each condition to all samples (pooled), or between "
        "all conditions (all), with simultaneous intervals. Files other than JSON hold only these.",
        rich_help_panel=METRICS,
    ),
]


@dataclass(frozen=True)
class TableOptions:
    """Columns of tables."""

    labels: Annotated[
        str | None,
        of(
            TABLES,
            "Column or array of class numbers 0 to K-1, or of --classes; a .npy file for .npy "
            "scores.",
        ),
    ] = None
    classes: Annotated[
        str | None,
        of(
            TABLES,
            "Labels in the order of the columns of scores, with commas between; of two classes the "
            "negative one first.",
        ),
    ] = None
    normalize: Annotated[
        bool,
        of(TABLES, "Divide the posteriors of each row by their sum.", "--normalize"),
    ] = False
    weights: Annotated[
        str | None,
        of(TABLES, "Column or array of sample weights; a .npy file for .npy scores."),
    ] = None

    @property
    def of_scores(self) -> dict[str, Any]:
        """What labels and scores are, as arguments of the library; numbers are no words."""
        classes: list[Any] | None = (
            None if self.classes is None else [name.strip() for name in self.classes.split(",")]
        )
        if classes is not None and all(re.fullmatch(r"[+-]?\d+", name) for name in classes):
            classes = [int(name) for name in classes]
        return {"classes": classes, "normalize": self.normalize}


@dataclass(frozen=True)
class KeyOptions:
    """Where the labels of trials are; `-` is standard input."""

    key: Annotated[
        list[Path] | None,
        of(None, "Trial list with labels; several make one."),
    ] = None
    targets: Annotated[
        Path | None,
        of(
            TRIALS,
            "Scores of target trials, with --nontargets; with --scores their ids, as a key.",
        ),
    ] = None
    nontargets: Annotated[Path | None, of(TRIALS, "The same of non-targets.")] = None

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
        Path | None, of(None, "File with lines `id speaker`, for the ids of both sides.")
    ] = None
    speaker_columns: Annotated[
        str | None, of(TRIALS, "Two columns of the key with the speakers: enroll,test.")
    ] = None
    speaker_pattern: Annotated[
        str | None,
        of(
            TRIALS,
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


def parse_columns(text: str | None) -> list[str] | None:
    """Return columns of scores, or None where they are not given."""
    return None if text is None else text.split(",")


def parse_systems(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return columns of scores by system."""
    if texts is None:
        return None
    found: dict[str, list[str]] = {}
    for text in texts:
        name, _, columns = text.partition("=") if "=" in text else (text, "", text)
        if not all([name, *columns.split(",")]):
            raise ValueError(f"--score must be COLUMN or NAME=COLUMN,..., not {text!r}")
        if name in found:
            raise ValueError(f"--score must give each system a name of its own, not {name} twice")
        found[name] = columns.split(",")
    return found


def parse_by(texts: Sequence[str] | None) -> list[str | tuple[str, ...]] | None:
    """Return columns of conditions; those with commas between are combined."""
    if texts is None:
        return None
    return [tuple(text.split(",")) if "," in text else text for text in texts]


def parse_bins(texts: Sequence[str] | None) -> Any:
    """Return the bins of all columns, or of columns by name."""
    if texts is None:
        return None
    if not any("=" in text for text in texts):
        if len(texts) > 1:
            raise ValueError("--bins must be given once, or once for each column, COLUMN=N")
        return _bins(texts[0])
    pairs = [text.rpartition("=") for text in texts]
    named = {name: _bins(text) for name, _, text in pairs}
    if "" in named or len(named) < len(pairs):
        raise ValueError("--bins must be given once, or once for each column, COLUMN=N")
    return named


def _bins(text: str) -> int | list[float] | str:
    if text == "each":
        return text
    try:
        return int(text) if "," not in text and "." not in text else [*map(float, text.split(","))]
    except ValueError:
        raise ValueError(
            f"--bins must be a number of bins, edges with commas between, or each, not {text!r}"
        ) from None


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


@dataclass(frozen=True)
class PolicyOptions:
    """What to do about trials and scores that do not match."""

    missing: Annotated[Drop, of(TRIALS, "What to do with trials without a score.")] = Drop.ERROR
    extra: Annotated[
        Ignore, of(TRIALS, "What to do with scores of trials that are not in the key.")
    ] = Ignore.ERROR
    duplicates: Annotated[
        First, of(TRIALS, "What to do with trials or scores that occur twice.")
    ] = First.ERROR
    nan: Annotated[Drop, of(TRIALS, "What to do with scores that are nan.")] = Drop.ERROR


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise typer.BadParameter(f"it must be one of {', '.join(FORMATS)}, not {name!r}")
    return name


@dataclass(frozen=True)
class FormatOptions:
    """Formats of keys and score files, if these cannot be detected."""

    key_format: Annotated[
        str | None,
        of(
            TRIALS,
            f"Format of the key, by default detected from the content: {', '.join(FORMATS)}.",
            callback=_known_format,
        ),
    ] = None
    key_columns: Annotated[str | None, of(TRIALS, "Columns of the key, ROLE=NAME,...")] = None
    format: Annotated[
        str | None,
        of(
            TRIALS,
            "Format of the scores, with the same choices as --key-format.",
            callback=_known_format,
        ),
    ] = None
    in_order: Annotated[
        bool,
        of(
            TRIALS,
            "Scores have no ids: they are those of the trials of the key, in its order.",
            "--in-order",
        ),
    ] = False


@dataclass(frozen=True)
class TrialOptions(FormatOptions, PolicyOptions):
    """How keys and score files are read and joined."""

    key_transpose: Annotated[
        bool | None,
        of(
            TRIALS,
            "Whether the columns of an HDF5 key with a square matrix are models.",
            "--key-transpose/--no-key-transpose",
        ),
    ] = None
    transpose: Annotated[
        bool | None,
        of(
            TRIALS,
            "Whether the columns of HDF5 scores with a square matrix are models.",
            "--transpose/--no-transpose",
        ),
    ] = None
