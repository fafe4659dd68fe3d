"""Where scores, labels and speakers are, what they are, and how files are read."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fastpsr.cli.options.declaration import (
    FILES,
    TABLES,
    TRIALS,
    declared,
    option,
    words_among,
    words_of,
)
from fastpsr.cli.options.files import from_stdin, named_files
from fastpsr.exports import FORMATS


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
OF_TRIALS = ("posteriors", "llr", "log10-llr", "raw")
Scores = Annotated[
    list[Path] | None,
    declared(
        "Score file of a system; - for standard input. Without --key it must contain labels.",
        metavar="[NAME=]FILE",
        arguments={"scores": "scores"},  # in messages they are the scores of a file
    ),
]
MoreScores = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Score files of further systems.")
]


def _declared_kinds(more: str = "") -> Any:
    return declared(
        f"What scores are: {', '.join(ScoresAre)}. By default posteriors, of trials llr (natural "
        f"logarithms).{more}",
        "--scores-are",
        metavar="KIND",
        arguments={"kind": "--scores-are {}"},
    )


KindOfScores = Annotated[ScoresAre | None, _declared_kinds()]
KindsOfScores = Annotated[
    list[ScoresAre] | None, _declared_kinds(" Several times: of each system in turn.")
]


def kinds_by_name(
    given_kinds: Sequence[str] | None, names: Collection[object], *, of_trials: bool
) -> dict[str, str]:
    """Return the kind of the scores of each system; one kind stands for all systems."""
    from fastpsr import checks

    kinds = [str(kind) for kind in given_kinds or ["llr" if of_trials else "posteriors"]]
    if len(kinds) not in (1, len(names)):
        raise ValueError(
            f"--scores-are must be given once, or for each of {len(names)} systems, not "
            f"{len(kinds)} times"
        )
    for kind in kinds if of_trials else []:
        checks.check_choice("scores_are", kind, OF_TRIALS)
    kinds *= len(names) if len(kinds) == 1 else 1
    return dict(zip(map(str, names), kinds, strict=True))


Columns = dict[str, list[str]] | list[str] | None


def parse_columns(texts: Sequence[str] | None) -> Columns:
    """Return columns of scores; those of each system, if these are several or have names."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0].split(",")
    systems: dict[str, list[str]] = {}
    for text in texts:
        name, _, columns = text.partition("=") if "=" in text else (text, "", text)
        if not all([name, *columns.split(",")]):
            raise ValueError(f"--columns must be COLUMN or NAME=COLUMN,..., not {text!r}")
        if name in systems:
            raise ValueError(f"--columns must give each system a name of its own, not {name} twice")
        systems[name] = columns.split(",")
    return systems


def _parse_classes(text: str | None) -> list[Any] | None:
    """Return labels in the order of the columns; numbers are no words."""
    names = words_of(text)
    if names is None or not all(re.fullmatch(r"[+-]?\d+", name) for name in names):
        return names
    return [int(name) for name in names]


@dataclass(frozen=True)
class TableOptions:
    """Columns of tables."""

    labels: str | None = option(
        "Column of class numbers 0 to K-1, or of --classes; a .npy file for .npy scores.",
        panel=TABLES,
        metavar="COLUMN",
    )
    classes: list[Any] | None = option(
        "Labels in the order of the columns of scores; of two classes the negative one first.",
        panel=TABLES,
        metavar="LABEL,...",
        parse=_parse_classes,
    )
    weights: str | None = option(
        "Column of sample weights; a .npy file for .npy scores.", panel=TABLES, metavar="COLUMN"
    )


_UNNORMALIZED, _COUNTED, _OF_KEYS = "unnormalized", "duplicates=count", ("missing", "extra")
NOT_OF_TRIALS = "is for a table of scores, not for trials (--key, --scores)"
NOT_OF_TABLES = "is for trials (--key, --scores), not for a table of scores"
#: Mismatches of keys and scores that can be allowed, by what the library then does.
_POLICIES = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}


def _parse_allowed(text: str | None) -> list[str]:
    words = words_among("--allow", text, [*_POLICIES, _COUNTED, _UNNORMALIZED])
    if {"duplicates", _COUNTED} <= {*words}:
        raise ValueError(f"--allow must have one of duplicates and {_COUNTED}, not both")
    return words


def _parse_key(paths: Sequence[Path] | None) -> list[Path] | dict[str, Path]:
    """Return the files of a key, or those of each class by its name."""
    listed = [*(paths or [])]
    named = [str(path).partition("=") for path in listed if not path.exists()]
    by_class = {name: file for name, _, file in named if file and name in ("target", "nontarget")}
    if len(by_class) == 1 or 0 < len(by_class) < len(listed):
        raise ValueError(
            "--key target=FILE and --key nontarget=FILE go together, without other keys"
        )
    if by_class:
        return {name: from_stdin(Path(by_class[name])) for name in ("target", "nontarget")}
    return [from_stdin(path) for path in listed]


def _parse_metadata(paths: Sequence[Path] | None) -> dict[str, Path]:
    """Return files by name, by default that of the file up to a point."""
    files = named_files(paths or [], "--metadata")
    named = {name or path.name.partition(".")[0]: path for path, name in files.items()}
    if len(named) < len(files):
        raise ValueError("--metadata must give each file a name of its own, NAME=FILE")
    return named


_NOT_FILES = ("pattern:", "columns:")


def _parse_layout(wanted: Any, argument: str, text: str | None) -> Any:
    if text is None:
        return None
    from fastpsr.trials.roles import Request  # brings NumPy, which tables need not wait for

    return Request.of(wanted, text, argument)


def _checked_speakers(text: str | None) -> str | None:
    if text is not None and text.startswith(_NOT_FILES):
        from fastpsr.trials.speakers import SpeakerFinder

        SpeakerFinder.of(text)  # which may be refused
    return text


@dataclass(frozen=True)
class TrialOptions:
    """Where labels and speakers of trials are, and how files are read; `-` is standard input."""

    key: list[Path] | dict[str, Path] = option(
        "Trial list with labels; several make one. Or a file of each class, target=FILE and "
        "nontarget=FILE: ids, or without --scores scores.",
        metavar="[CLASS=]FILE",
        type=list[Path] | None,
        parse=_parse_key,
    )
    speakers: str | None = option(
        "Speakers of both sides: a file with lines `id speaker`, two columns of the key, or a "
        "regular expression whose first group, or match, in each id is the speaker.",
        metavar="FILE|columns:ENROLL,TEST|pattern:REGEX",
        parse=_checked_speakers,
    )
    metadata: dict[str, Path] = option(
        "File with lines `id value` of recordings, such as utt2gender: columns enroll_NAME and "
        "test_NAME for conditions, speakers and quality measures. May be repeated.",
        panel=TRIALS,
        metavar="[NAME=]FILE",
        type=list[Path] | None,
        parse=_parse_metadata,
    )
    key_format: Any = option(  # a Request or None, as `format`
        f"Format of the key, by default detected: {', '.join(FORMATS)}. Names of columns (enroll, "
        "test, label, side); words for labels (target, nontarget); for ids that differ from other "
        "files strip-folders, strip-endings, ignore-case; for a square HDF5 matrix transpose if "
        "its columns are models, or no-transpose.",
        panel=TRIALS,
        metavar="FORMAT,NAME=WORD,...",
        parse=partial(_parse_layout, "key", "key_format"),
    )
    format: Any = option(
        "Format of score files, as --key-format; also the column score, and in-order: without ids, "
        "in the order of the key.",
        panel=TRIALS,
        metavar="FORMAT,NAME=WORD,...",
        parse=partial(_parse_layout, "scores", "format"),
    )
    allow: list[str] = option(
        "Leave out trials without a score (missing), scores without a trial (extra), nan (nan), "
        "and repeated trials (duplicates), or count these (duplicates=count). For tables nan, and "
        f"{_UNNORMALIZED}: divide posteriors by their sum.",
        panel=FILES,
        metavar="WORD,...",
        parse=_parse_allowed,
        arguments={
            **{name: f"--allow {name}" for name in _POLICIES},
            "normalize": f"--allow {_UNNORMALIZED}",
        },
    )

    @property
    def files(self) -> list[Path]:
        """The files of the key."""
        return [*self.key.values()] if isinstance(self.key, Mapping) else self.key

    @property
    def normalize(self) -> bool:
        """Whether posteriors of a table are divided by their sum."""
        return _UNNORMALIZED in self.allow

    @property
    def policies(self) -> dict[str, Any]:
        """What to do about trials and scores that do not match, as arguments of the library."""
        policies = {name: how if name in self.allow else "error" for name, how in _POLICIES.items()}
        return policies | ({"duplicates": "count"} if _COUNTED in self.allow else {})

    @property
    def format_name(self) -> str | None:
        """Name of the format of score files, if one is given."""
        return None if self.format is None else self.format.format

    @property
    def joined(self) -> dict[str, Any]:
        """How scores are joined with the key, as arguments of the library."""
        return {"speakers": self.speakers, "metadata": self.metadata or None, **self.policies}

    def systems(self, scores: Sequence[Path]) -> dict[Path, str | None]:
        """Return score files with their names; without any, the targets' stand for both classes."""
        if not scores and isinstance(self.key, Mapping):
            return {self.key["target"]: None}
        if self.key and not scores:
            raise ValueError("--key needs --scores FILE, one for each system")
        return named_files(scores)

    @property
    def inputs_beside(self) -> list[Path | None]:
        """The files to read besides those of scores."""
        is_file = self.speakers is not None and not self.speakers.startswith(_NOT_FILES)
        speakers = Path(self.speakers or "") if is_file else None
        return [*self.files, speakers, *self.metadata.values()]

    def inputs(self, scores: Sequence[Path]) -> list[Path | None]:
        """Return all files to read, score files among them."""
        are_beside = bool(scores) or not isinstance(self.key, Mapping)
        systems = self.systems(scores) if are_beside else []
        return [*systems, *self.inputs_beside]

    def check(
        self,
        context: typer.Context,
        *,
        of_trials: bool,
        has_scores: bool,
        of_keys: Collection[str] = _OF_KEYS,
    ) -> None:
        """Raise if a given option is not for a table, for trials, or for trials without a key.

        What is `of_keys` is allowed only with a key.
        """
        has_key = bool(self.key) and (has_scores or isinstance(self.key, list))
        if of_trials:
            refuse(context, _in_panel(context, TABLES), NOT_OF_TRIALS)
        else:
            refuse(context, [*_in_panel(context, TRIALS), "--speakers"], NOT_OF_TABLES)
        for word in self.allow:
            if word != "nan" and (word == _UNNORMALIZED) == of_trials:
                raise ValueError(f"--allow {word} {NOT_OF_TRIALS if of_trials else NOT_OF_TABLES}")
            if word in of_keys and not has_key:
                raise ValueError(f"--allow {word} needs --key")
        if of_trials and not has_key:
            refuse(context, ("--key-format",), "needs --key")
            if self.format is not None and self.format.in_order:
                raise ValueError("--format in-order needs --key")


# Options that are only valid in some modes of a command


def given(context: typer.Context) -> list[str]:
    """Return the names of the options given on the command line."""
    return [
        option.opts[0]
        for option in context.command.params
        if getattr(context.get_parameter_source(option.name or ""), "name", "") == "COMMANDLINE"
    ]


def refuse(context: typer.Context, options: Iterable[str], reason: str) -> None:
    """Raise if one of `options` was given: the error is its name and the reason."""
    refused = set(options)
    for name in given(context):
        if name in refused:
            raise ValueError(f"{name} {reason}")


def _in_panel(context: typer.Context, panel: str) -> list[str]:
    options = context.command.params
    return [option.opts[0] for option in options if getattr(option, "rich_help_panel", "") == panel]
