"""Where scores, labels, speakers and conditions are, what they are, and how files are read."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import fastpsr as fp
from fastpsr.cli.options.declaration import (
    FILES,
    METRICS,
    TABLES,
    TRIALS,
    declared,
    option,
    words_of,
)
from fastpsr.cli.options.files import from_stdin, named_files
from fastpsr.exports import FORMATS

if TYPE_CHECKING:
    from fastpsr.data import Scale, ScoreKind
    from fastpsr.evaluation import GroupPairs, Pairs


class ScoresAre(StrEnum):
    """Kinds of scores."""

    POSTERIORS = "posteriors"
    LOG_POSTERIORS = "log-posteriors"
    LOGITS = "logits"
    LOG_LIKELIHOODS = "log-likelihoods"
    LLR = "llr"
    LOG10_LLR = "log10-llr"
    RAW = "raw"


#: Kinds that --floor applies to.
OF_POSTERIORS = ("posteriors", "log-posteriors")
_OF_KINDS: dict[str, Any] = {"metavar": "KIND", "arguments": {"kind": "--scores-are {}"}}
_KINDS = f"What scores are: {', '.join(ScoresAre)}. By default posteriors, of trials llr (natural "
Scores = Annotated[
    list[Path] | None,
    declared(
        "Score file of a system, or NAME=FILE; without --key it must contain labels. Text may come "
        "from a pipe, - for standard input.",
        arguments={"scores": "scores"},  # in messages they are the scores of a file
    ),
]
KindsOfScores = Annotated[
    list[ScoresAre] | None,
    declared(
        f"{_KINDS}logarithms). Several times: of each system in turn.", "--scores-are", **_OF_KINDS
    ),
]
KindOfScores = Annotated[
    ScoresAre | None, declared(f"{_KINDS}logarithms).", "--scores-are", **_OF_KINDS)
]


def table_scale(scores_are: ScoresAre | None) -> str:
    """Return the kind of the scores of a table."""
    return (scores_are or ScoresAre.POSTERIORS).value


def trial_scale(scores_are: ScoresAre | None) -> "Scale":
    """Return the kind of the scores of trials."""
    from fastpsr import checks
    from fastpsr.data import KINDS_OF_SCALES

    scale = (scores_are or ScoresAre.LLR).value
    allowed = tuple(kind.value for kind in ScoresAre if kind in KINDS_OF_SCALES)
    checks.check_choice("scores_are", scale, allowed)
    return cast("Scale", scale)


def kind_of(scale: str) -> "ScoreKind":
    """Return what the library calls a kind of scores."""
    from fastpsr.data import KINDS_OF_SCALES

    return KINDS_OF_SCALES.get(scale) or cast("ScoreKind", scale)


def kinds_of(scores_are: list[ScoresAre] | None, n_systems: int) -> list[ScoresAre | None]:
    """Return the kind of the scores of each system, which is given once or for each."""
    kinds: list[ScoresAre | None] = [*(scores_are or [])] or [None]
    if len(kinds) not in (1, n_systems):
        raise ValueError(
            f"--scores-are must be given once, or for each of {n_systems} systems, not "
            f"{len(kinds)} times"
        )
    return kinds * n_systems if len(kinds) == 1 else kinds


Columns = Annotated[
    str | None,
    declared("Columns of scores in the order of the classes, with commas between.", panel=TABLES),
]
SystemColumns = Annotated[
    list[str] | None,
    declared(
        "Column of scores, of several classes their columns in order. Several times, or with a "
        "name: of each system of one table, by default named after its column.",
        "--columns",
        panel=TABLES,
        metavar="[NAME=]COLUMN,...",
    ),
]


def parse_columns(text: str | None) -> list[str] | None:
    """Return columns of scores, or None where they are not given."""
    return None if text is None else text.split(",")


def parse_systems(texts: Sequence[str] | None) -> dict[str, list[str]] | None:
    """Return columns of scores by system, if these are several or have names."""
    if not texts or (len(texts) == 1 and "=" not in texts[0]):
        return None
    systems: dict[str, list[str]] = {}
    for text in texts:
        name, _, columns = text.partition("=") if "=" in text else (text, "", text)
        if not all([name, *columns.split(",")]):
            raise ValueError(f"--columns must be COLUMN or NAME=COLUMN,..., not {text!r}")
        if name in systems:
            raise ValueError(f"--columns must give each system a name of its own, not {name} twice")
        systems[name] = columns.split(",")
    return systems


@dataclass(frozen=True)
class TableOptions:
    """Columns of tables."""

    labels: str | None = option(
        "Column or array of class numbers 0 to K-1, or of --classes; a .npy file for .npy scores.",
        panel=TABLES,
    )
    classes: str | None = option(
        "Labels in the order of the columns of scores, with commas between; of two classes the "
        "negative one first.",
        panel=TABLES,
    )
    weights: str | None = option(
        "Column or array of sample weights; a .npy file for .npy scores.", panel=TABLES
    )

    def of_scores(self, allowed: "AllowOptions") -> dict[str, Any]:
        """Return what labels and scores are, as arguments of the library; numbers are no words."""
        classes: list[Any] | None = (
            None if self.classes is None else [name.strip() for name in self.classes.split(",")]
        )
        if classes is not None and all(re.fullmatch(r"[+-]?\d+", name) for name in classes):
            classes = [int(name) for name in classes]
        return {"classes": classes, "normalize": UNNORMALIZED in allowed.words}


UNNORMALIZED, _COUNTED = "unnormalized", "duplicates=count"
NOT_OF_TRIALS = "is for a table of scores, not for trials (--key, --scores)"
NOT_OF_TABLES = "is for trials (--key, --scores), not for a table of scores"
#: Mismatches of keys and scores that can be allowed, by what the library then does.
_POLICIES = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}


@dataclass(frozen=True)
class AllowOptions:
    """What is allowed although it is an error by default."""

    allow: str | None = option(
        "Leave out trials without a score (missing), scores of trials that are not in the key "
        "(extra), scores that are nan and rows of a table with nan (nan), and trials or scores "
        "that occur twice, but for the first (duplicates), or count all if their scores agree "
        "(duplicates=count); divide the posteriors of each row of a table by their sum "
        f"({UNNORMALIZED}). With commas between.",
        panel=FILES,
        metavar="WORD,...",
        arguments={
            **{name: f"--allow {name}" for name in _POLICIES},
            "normalize": f"--allow {UNNORMALIZED}",
        },
    )

    def __post_init__(self) -> None:
        if {"duplicates", _COUNTED} <= {*self.words}:  # which may be refused
            raise ValueError(f"--allow must have one of duplicates and {_COUNTED}, not both")

    @property
    def words(self) -> list[str]:
        """What is allowed."""
        return words_of("--allow", self.allow, [*_POLICIES, _COUNTED, UNNORMALIZED])

    @property
    def policies(self) -> dict[str, Any]:
        """What to do about trials and scores that do not match, as arguments of the library."""
        allowed = self.words
        policies = {name: how if name in allowed else "error" for name, how in _POLICIES.items()}
        return policies | ({"duplicates": "count"} if _COUNTED in allowed else {})

    def check(self, *, of_trials: bool, has_key: bool) -> None:
        """Raise if something is allowed that cannot be."""
        for word in self.words:
            if word != "nan" and (word == UNNORMALIZED) == of_trials:
                raise ValueError(f"--allow {word} {NOT_OF_TRIALS if of_trials else NOT_OF_TABLES}")
            if word in ("missing", "extra") and not has_key:
                raise ValueError(f"--allow {word} needs --key")


_CLASSES = ("target", "nontarget")


@dataclass(frozen=True)
class KeyOptions:
    """Where the labels of trials are; `-` is standard input."""

    key: list[Path] | None = option(
        "Trial list with labels; several make one. Or the ids of each class, target=FILE and "
        "nontarget=FILE, which may be the scores of each class (then without --scores).",
        metavar="[CLASS=]FILE",
    )

    def __post_init__(self) -> None:
        n_classes = len(self._by_class)
        if n_classes == 1 or 0 < n_classes < len(self.key or []):
            raise ValueError(
                "--key target=FILE and --key nontarget=FILE go together, without other keys"
            )

    @property
    def _by_class(self) -> dict[str, Path]:
        named = [str(path).partition("=") for path in self.key or [] if not path.exists()]
        return {
            name: from_stdin(Path(file)) for name, _, file in named if file and name in _CLASSES
        }

    @property
    def keys(self) -> list[Path]:
        """The files with labels."""
        return [] if self._by_class else [from_stdin(path) for path in self.key or []]

    @property
    def classes(self) -> tuple[Path, Path] | None:
        """The files of targets and of non-targets."""
        files = self._by_class
        return (files["target"], files["nontarget"]) if files else None

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


_COLUMNS, _PATTERN = "columns:", "pattern:"


@dataclass(frozen=True)
class SpeakerOptions:
    """Source of the speakers of models and segments."""

    speakers: str | None = option(
        "Speakers of both sides of trials: a file with lines `id speaker`; two columns of the "
        "key; or a regular expression that is searched in each id, whose first group, or else "
        "the whole match, is the speaker.",
        metavar=f"FILE|{_COLUMNS}ENROLL,TEST|{_PATTERN}REGEX",
        arguments={
            "mapping": "--speakers",
            "pattern": f"--speakers {_PATTERN}{{}}",
            "speaker_columns": f"--speakers {_COLUMNS}{{}}",
            "speaker_pattern": f"--speakers {_PATTERN}{{}}",
        },
    )

    def __post_init__(self) -> None:
        columns = self._after(_COLUMNS)
        if self.speakers == "" or (columns is not None and not all([*columns.partition(",")])):
            raise ValueError(
                f"--speakers must be a file, {_PATTERN}REGEX, or two columns of the key, "
                f"{_COLUMNS}ENROLL,TEST, not {self.speakers!r}"
            )

    @property
    def are_known(self) -> bool:
        """Whether a source of speakers was given."""
        return self.speakers is not None

    @property
    def file(self) -> Path | None:
        """The file, if it was given."""
        is_file = self.are_known and self.pair is None and self.pattern is None
        return Path(self.speakers or "") if is_file else None

    @property
    def pair(self) -> tuple[str, str] | None:
        """The columns of both sides, if these were given."""
        enroll, comma, test = (self._after(_COLUMNS) or "").partition(",")
        return (enroll, test) if comma else None

    @property
    def pattern(self) -> str | None:
        """The regular expression, if it was given."""
        return self._after(_PATTERN)

    def _after(self, prefix: str) -> str | None:
        text = self.speakers or ""
        return text.removeprefix(prefix) if text.startswith(prefix) else None


_IN_ORDER, _TURNS = "in-order", {"transpose": True, "no-transpose": False}


@dataclass(frozen=True)
class Layout:
    """How a file of trials is laid out; None and no columns are detected."""

    format: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    in_order: bool = False
    labels: dict[Any, str] | None = None

    @classmethod
    def parse(cls, name: str, text: str | None, words: Collection[str]) -> "Layout":
        """Return the layout that an option describes; `words` may be in it besides formats."""
        parts = [] if text is None else [part.strip() for part in text.split(",")]
        columns = dict(part.split("=", 1) for part in parts if "=" in part)
        formats = [part for part in parts if part in FORMATS]
        turns = [part for part in parts if part in _TURNS]
        in_order = [part for part in parts if part == _IN_ORDER and part in words]
        n_known = len(columns) + len(formats) + len(turns) + len(in_order)
        is_empty = not all([*columns, *columns.values()])
        if n_known < len(parts) or is_empty or max(map(len, (formats, turns, in_order))) > 1:
            raise ValueError(
                f"{name} must be ROLE=COLUMN, or one of {', '.join([*FORMATS, *words])}, each "
                f"once, with commas between, not {text!r}"
            )
        turn = _TURNS[turns[0]] if turns else None
        labels = {name: columns.pop(name) for name in _CLASSES if name in columns} or None
        if labels and ({*labels} != {*_CLASSES} or "/" in "".join(labels.values())):
            raise ValueError(
                f"{name} must give words for both, target=WORD,nontarget=WORD, without /, not "
                f"{text!r}"
            )
        return cls(formats[0] if formats else None, columns, turn, bool(in_order), labels)


@dataclass(frozen=True)
class TrialOptions:
    """How keys and score files are read."""

    key_format: str | None = option(
        f"How the key is read, by default detected from the content: {', '.join(FORMATS)}; "
        "names of its columns, ROLE=COLUMN, with the roles enroll, test, label, side; its words "
        "for labels, target=WORD and nontarget=WORD; and "
        "whether the columns of a square HDF5 matrix are models, transpose or no-transpose. "
        "With commas between.",
        panel=TRIALS,
        metavar="FORMAT,ROLE=COLUMN,...",
        arguments={"key_columns": "--key-format {}"},
    )
    format: str | None = option(
        "The same of score files, with the role score; and in-order: they have no ids, and are "
        "those of the trials of the key, in its order.",
        panel=TRIALS,
        metavar="FORMAT,ROLE=COLUMN,...",
        arguments={
            "score_columns": "--format {}",
            "score_format": "--format {}",
            "transpose": "--format transpose or no-transpose",
            "in_order": "--format in-order",
        },
    )

    def __post_init__(self) -> None:
        _ = self.of_key, self.of_scores  # which may be refused

    @property
    def of_key(self) -> Layout:
        """How the key is read."""
        return Layout.parse("--key-format", self.key_format, _TURNS)

    @property
    def of_scores(self) -> Layout:
        """How score files are read."""
        return Layout.parse("--format", self.format, [*_TURNS, _IN_ORDER])


By = Annotated[
    list[str] | None,
    declared(
        "Column of the key or table: conditions, one for each of its values; of several columns, "
        "for each combination. Numbers may be put into N bins of about the same number of samples, "
        "or into bins with these edges; each is a condition for each value. May be repeated.",
        metavar="COLUMN[:N|:EDGE:EDGE...|:each],...",
        arguments={"bins": "--by {column}:{}"},
    ),
]


@dataclass(frozen=True)
class Conditions:
    """Conditions as arguments of the library."""

    by: list[str | tuple[str, ...]] | None
    bins: dict[str, Any] | None

    @classmethod
    def parse(cls, texts: Sequence[str] | None) -> "Conditions":
        """Return the conditions of --by."""
        by: list[str | tuple[str, ...]] = []
        bins: dict[str, Any] = {}
        for text in texts or []:
            names = []
            for part in text.split(","):
                name, binning = _with_bins(part)
                names.append(name)
                if binning is not None and bins.setdefault(name, binning) != binning:
                    raise ValueError(f"--by must give the bins of {name} once")
            by.append(tuple(names) if len(names) > 1 else names[0])
        return cls(by or None, bins or None)

    @property
    def columns(self) -> list[str]:
        """The columns, each once."""
        names = [[each] if isinstance(each, str) else each for each in self.by or ()]
        return [*dict.fromkeys(name for some in names for name in some)]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments."""
        return {"by": self.by, "bins": self.bins}


def _with_bins(text: str) -> tuple[str, Any]:
    """Return a column and its bins: how many, their edges, "each", or None."""
    matched = _BINNED.fullmatch(text)
    if matched is None:
        return text, None
    name, bins = matched.groups()
    if bins == "each":
        return name, bins
    parts = bins.split(":")
    return name, int(bins) if bins.isdecimal() else [float(part) for part in parts]


@dataclass(frozen=True)
class ConditionOptions:
    """Conditions that have a calibrator each, and how many samples each needs."""

    by: By = None
    min_per_class: int | None = option(
        "With --by, number of samples of each class that a condition needs to have a "
        "calibrator of its own; others use that of all samples. By default 100.",
        min=1,
        metavar="N",
    )

    def __post_init__(self) -> None:
        _ = self.conditions  # which may be refused
        if self.min_per_class is not None and self.by is None:
            raise ValueError("--min-per-class is for conditions: give --by too")

    @property
    def conditions(self) -> Conditions:
        """The conditions."""
        return Conditions.parse(self.by)

    @property
    def columns(self) -> list[str]:
        """The columns of conditions, each once."""
        return self.conditions.columns

    def of(self, calibrator: Any) -> "fp.ByCondition":
        """Return a calibrator by condition."""
        more = {} if self.min_per_class is None else {"min_per_class": self.min_per_class}
        return fp.ByCondition(calibrator, bins=self.conditions.bins, **more)


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
#: A column and its bins; names may contain colons.
_BINNED = re.compile(rf"(.+?):(each|{_NUMBER}(?::{_NUMBER})*)", re.DOTALL)
_SYSTEM_PAIRS: "dict[str, Pairs]" = {"first": "first", "pairs": "all"}
_GROUP_PAIRS: "dict[str, GroupPairs]" = {"pooled": "pooled", "conditions": "all"}


@dataclass(frozen=True)
class DifferenceOptions:
    """Which systems and which conditions are compared."""

    differences: str | None = option(
        "Also differences: of the first system and each other (first) or of all pairs of "
        "systems (pairs), with intervals; of each condition of --by and all samples (pooled) "
        "or between all conditions (conditions). With commas between. Files other than JSON "
        "hold only these.",
        panel=METRICS,
        metavar="WORD,...",
        arguments={"group_differences": "--differences"},
    )

    def __post_init__(self) -> None:
        for alternatives in (_SYSTEM_PAIRS, _GROUP_PAIRS):
            if {*alternatives} <= {*self._words}:
                raise ValueError(
                    f"--differences must have one of {' and '.join(alternatives)}, not both"
                )

    def of_systems(self) -> "DifferenceOptions":
        """Return these, with those of the first system and each other if there are none."""
        default = [] if self.pairs else ["first"]
        return DifferenceOptions(",".join([*default, *self._words]))

    @property
    def pairs(self) -> "Pairs | None":
        """Which pairs of systems are compared."""
        return next((_SYSTEM_PAIRS[word] for word in self._words if word in _SYSTEM_PAIRS), None)

    @property
    def group_pairs(self) -> "GroupPairs | None":
        """Which conditions are compared."""
        return next((_GROUP_PAIRS[word] for word in self._words if word in _GROUP_PAIRS), None)

    @property
    def _words(self) -> list[str]:
        return words_of("--differences", self.differences, (*_SYSTEM_PAIRS, *_GROUP_PAIRS))
