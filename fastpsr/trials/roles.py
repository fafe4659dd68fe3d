"""Roles of columns in files of trials: what a file is read for, and which columns have them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fastpsr.errors import ArgumentError
from fastpsr.frames import check_column_names
from fastpsr.trials.labels import VOCABULARIES, own_words, vocabularies_of

#: What a column can be.
ROLES = ("enroll", "test", "side", "label", "score")
#: The four columns that wespeaker's score normalization appends.
NORM_COLUMNS = ("norm_1", "norm_2", "norm_3", "norm_4")

Label = Literal["target", "nontarget"]
CLASSES: tuple[Label, Label] = ("target", "nontarget")
Wanted = Literal["key", "pairs", "scores", "labeled scores"]
_NEEDED = {
    "key": ("enroll", "test", "label"),
    "pairs": ("enroll", "test"),
    "scores": ("score",),
    "labeled scores": ("score", "label"),
}


def _ids_named(*sides: str) -> list[str]:
    return [f"{side}{ending}" for side in sides for ending in ("id", "", "_id")]


#: Usual names of columns, by role; compared without regard to case.
_USUAL = {
    "enroll": (
        *_ids_named("model", "enroll", "enrol", "enrollment", "enrolment"),
        *("enroll_path", "enrol_path", "enrollment_path", "enrolment_path"),
    ),
    "test": (*_ids_named("segment", "test"), "test_path"),
    "label": ("targettype", "label", "target", "key", "y_true"),
    "score": ("llr", "score"),
    "side": ("side",),
}
#: Names that count where a role is needed and no column has a usual name for it; else a column
#: called so may be something else. All but the first are those of ASVspoof 5.
_IF_NEEDED = {
    "label": ("trial", "asv-label", "asv_label"),
    "enroll": ("spk",),
    "test": ("filename",),
    "score": ("sasv-score",),
}


@dataclass(frozen=True)
class Request:
    """What a file is read for, and how, where its content does not tell.

    Attributes
    ----------
    wanted : {"key", "pairs", "scores", "labeled scores"}
        What the file is read for.
    format : str or None
        Name of the format, to force it.
    columns : mapping of str to str
        Names of columns by role.
    transpose : bool or None
        Whether the columns of a square matrix are models.
    label : {"target", "nontarget"} or None
        Label of all trials of a file that has none of its own.
    words : mapping of str to str, or None
        The words of the file for "target" and "nontarget"; no others are allowed then. Scores
        beside a key, whose labels are compared with the key's, may have the usual ones instead.
    prefix : str
        Of the caller's names for these arguments, "key_" or "score_": errors speak of them.
    """

    wanted: Wanted
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    label: Label | None = None
    words: Mapping[Label, str] | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            rule = f"must name roles {', '.join(ROLES)}, not {unknown[0]!r}"
            raise ArgumentError(f"{self.prefix}columns", rule)
        _ = self.vocabularies  # which may be refused

    @property
    def vocabularies(self) -> Mapping[str, tuple[str, ...]]:
        """The words for labels that the file may have, by the name of the vocabulary."""
        own = own_words(self.words)
        if not own:
            return VOCABULARIES
        return {"/".join(own): own} | (VOCABULARIES if self.wanted == "scores" else {})

    def vocabularies_with(self, word: str) -> Mapping[str, tuple[str, ...]]:
        """Return the vocabularies of a file whose first label is a word: the caller's, or usual."""
        first, *others = self.vocabularies
        if self.words is None or not others:
            return self.vocabularies
        is_own = vocabularies_of([word], {first: self.vocabularies[first]})
        return {first: self.vocabularies[first]} if is_own else VOCABULARIES

    def unknown_label(self, place: str, word: str, known: Iterable[str]) -> ValueError:
        """Return the error of a word that is no label."""
        rule = f"a label must be one of {', '.join(known)}, not {word!r}"
        if self.wanted == "scores":
            return ValueError(f"{place}: {rule}: replace it in the file")
        rule = f"{rule}: replace it in the file, or name its words"
        words = {"labels": {"target": ..., "nontarget": ...}}
        return ArgumentError(self._file, rule, pass_=words, name=f"{place}:")

    @property
    def needed(self) -> tuple[str, ...]:
        """Roles that the file must have."""
        return _NEEDED[self.wanted]

    def lacking(self, path: Path, roles: Sequence[str], message: str) -> ValueError:
        """Return the error of a format without needed roles; scores may have a key for labels."""
        if self.wanted == "labeled scores" and [*roles] == ["label"]:
            return ArgumentError("scores", "has no labels", pass_={"key": ...}, name=str(path))
        return ValueError(message)

    def unclear(self, path: Path, rule: str, argument: str, value: object = ...) -> ArgumentError:
        """Return the error of a file that does not tell what `argument` could say."""
        pass_ = {f"{self.prefix}{argument}": value}
        return ArgumentError(self._file, rule, pass_=pass_, name=f"{path}:")

    @property
    def _file(self) -> str:
        """The argument that names the file."""
        return {"key_": "key", "score_": "scores"}.get(self.prefix, "path")


def has_usual_names(words: Sequence[str], chosen: Mapping[str, str]) -> bool:
    """Whether at least two words are names of columns for different roles, usual or chosen."""
    roles = {name: role for known in (_IF_NEEDED, _USUAL) for role in known for name in known[role]}
    roles |= {name.lower(): role for role, name in chosen.items()}
    lowered = (word.strip().strip('"').lower() for word in words)
    return len({roles[word] for word in lowered if word in roles}) >= 2


def find_roles(path: Path, names: Sequence[str], request: Request) -> dict[str, str]:
    """Return the name of the column of each role: as chosen, or by the usual names."""
    needed = {*request.needed, *(() if request.wanted == "labeled scores" else ("enroll", "test"))}
    chosen, roles = request.columns, {}
    check_column_names(path, names)

    def named(words: Sequence[str]) -> list[str]:
        return [name for word in words for name in names if name.lower() == word]

    for role, usual in _USUAL.items():
        if role in chosen:
            if chosen[role] not in names:
                raise ArgumentError(
                    f"{request.prefix}columns",
                    f"must name columns of {path} ({', '.join(names)}), not {chosen[role]!r}",
                )
            roles[role] = chosen[role]
            continue
        present = [name for name in named(usual) if name not in chosen.values()]
        if role in needed and not present:
            present = named(_IF_NEEDED.get(role, ()))
        if role == "score" and role not in needed:
            continue  # nobody asks a key for scores
        if len(present) > 1:
            rule = f"the column of the {role} could be {' or '.join(present)}"
            raise request.unclear(path, rule, "columns", {role: ...})
        if present:
            roles[role] = present[0]
        elif role == "enroll" and role in needed and sum(map(_may_be_ids, names)) < 2:
            raise ValueError(
                f"{path}: trials are joined on two ids, enroll and test, and there are the columns "
                f"{', '.join(names)}: write scores and labels in one file, read without a key"
            )
        elif role in needed:
            rule = (
                f"there is no column for the {role}: none is named {' or '.join(usual)}; there are "
                f"{', '.join(names)}"
            )
            raise request.unclear(path, rule, "columns", {role: ...})
    return roles


def _may_be_ids(name: str) -> bool:
    """Whether the name of a column is not usual for labels or scores."""
    return name.lower() not in {*_USUAL["label"], *_USUAL["score"]}
