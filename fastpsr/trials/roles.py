"""Roles of columns in files of trials: what a file is read for, and which columns have them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fastpsr.errors import ArgumentError
from fastpsr.exports import FORMATS
from fastpsr.frames import check_column_names
from fastpsr.trials.labels import VOCABULARIES

if TYPE_CHECKING:
    from polars import Series

#: What a column can be.
ROLES = ("enroll", "test", "side", "label", "score")
#: The four columns that wespeaker's score normalization appends.
NORM_COLUMNS = ("norm_1", "norm_2", "norm_3", "norm_4")

Label = Literal["target", "nontarget"]
CLASSES: tuple[Label, Label] = ("target", "nontarget")
Wanted = Literal["key", "pairs", "scores", "labeled scores"]
#: How ids of one recording that differ become alike: what they differ by, and the change.
ID_CHANGES: "dict[str, tuple[str, Callable[[Series], Series]]]" = {
    "ignore-case": ("letter case", lambda ids: ids.str.to_lowercase()),
    "strip-endings": (
        "endings of files", lambda ids: ids.str.replace(r"(.)\.[A-Za-z]\w{0,3}$", "${1}")
    ),
    "strip-folders": ("folders", lambda ids: ids.str.replace(r"^.*[/\\]", "")),
}  # fmt: skip
_TRANSPOSED = {"transpose": True, "no-transpose": False}
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
    argument : str
        The caller's argument that says how, for errors.
    format : str or None
        Name of the format, to force it.
    columns : mapping of str to str
        Names of columns by role.
    words : mapping of str to str
        The words of the file for "target" and "nontarget"; no others are allowed then.
    transpose : bool or None
        Whether the columns of a square matrix are models.
    in_order : bool
        Whether scores have no ids, and are in the order of the key.
    id_changes : tuple of str
        What is done to the ids: words of `ID_CHANGES`.
    label : {"target", "nontarget"} or None
        Label of all trials of a file that has none of its own.
    """

    wanted: Wanted
    argument: str = "format"
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    in_order: bool = False
    id_changes: tuple[str, ...] = ()
    label: Label | None = None

    @classmethod
    def of(
        cls, wanted: Wanted, layout: "str | Request | None", argument: str = "format"
    ) -> "Request":
        """Return the request that a text describes: words and ROLE=COLUMN with commas between.

        Examples
        --------
        >>> request = Request.of("key", "csv,label=trial,target=same,nontarget=other")
        >>> request.format, request.columns, request.words
        ('csv', {'label': 'trial'}, {'target': 'same', 'nontarget': 'other'})
        """
        if isinstance(layout, Request):
            return replace(layout, wanted=wanted)
        if not isinstance(layout, str | None):
            raise ArgumentError(
                argument, f"must be text, such as 'csv,label=trial', not {layout!r}"
            )
        parts = [] if layout is None else [part.strip() for part in layout.split(",")]
        named = dict(part.split("=", 1) for part in parts if "=" in part)
        words = {str(label): named.pop(label) for label in CLASSES if label in named}
        order = ["in-order"] if "scores" in wanted else []
        flags = [part for part in parts if "=" not in part]
        choices = [*FORMATS, *_TRANSPOSED, *ID_CHANGES, *order]
        is_known = {*flags} <= {*choices} and {*named} <= {*ROLES}
        formats = [flag for flag in flags if flag in FORMATS]
        turns = [_TRANSPOSED[flag] for flag in flags if flag in _TRANSPOSED]
        if not is_known or "" in named.values() or len(formats) > 1 or len(turns) > 1:
            raise ArgumentError(
                argument,
                f"must be ROLE=COLUMN with a role among {', '.join(ROLES)}, or one of "
                f"{', '.join(choices)}, each once, with commas between, not {layout!r}",
            )
        spellings = {word.lower() for word in words.values()}
        if words and (len(spellings) < 2 or "" in spellings or "/" in "".join(spellings)):
            raise ArgumentError(
                argument,
                "must give a word for each class, target=WORD,nontarget=WORD, which differ and "
                f"have no /, not {layout!r}",
            )
        format, transpose = next(iter(formats), None), next(iter(turns), None)
        changes = tuple(change for change in ID_CHANGES if change in flags)
        in_order = "in-order" in flags
        return cls(wanted, argument, format, named, words, transpose, in_order, changes)

    @property
    def is_given(self) -> bool:
        """Whether the caller says how to read the file, beside the order of its rows."""
        return replace(self, in_order=False) != Request(self.wanted, self.argument)

    @property
    def vocabularies(self) -> Mapping[str, tuple[str, ...]]:
        """The words for labels that the file may have, by the name of the vocabulary."""
        words = tuple(self.words[label] for label in CLASSES if self.words)
        return {"/".join(words): words} if words else VOCABULARIES

    @property
    def needed(self) -> tuple[str, ...]:
        """Roles that the file must have."""
        return _NEEDED[self.wanted]

    def lacking(self, path: Path, roles: Sequence[str], message: str) -> ValueError:
        """Return the error of a format without needed roles; scores may have a key for labels."""
        if self.wanted == "labeled scores" and [*roles] == ["label"]:
            return ArgumentError("scores", "has no labels", pass_={"key": ...}, name=str(path))
        return ValueError(message)

    def unclear(self, place: object, rule: str, layout: object = ...) -> ArgumentError:
        """Return the error of a file that does not tell what the caller can say by `layout`."""
        return ArgumentError("path", rule, pass_={self.argument: layout}, name=f"{place}:")


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
    may_be_ids = [n for n in names if n.lower() not in (*_USUAL["label"], *_USUAL["score"])]

    def named(words: Sequence[str]) -> list[str]:
        return [name for word in words for name in names if name.lower() == word]

    for role, usual in _USUAL.items():
        if role in chosen:
            if chosen[role] not in names:
                rule = f"must name columns of {path} ({', '.join(names)}), not {chosen[role]!r}"
                raise ArgumentError(request.argument, rule)
            roles[role] = chosen[role]
            continue
        present = [name for name in named(usual) if name not in chosen.values()]
        if role in needed and not present:
            present = named(_IF_NEEDED.get(role, ()))
        if role == "score" and role not in needed:
            continue  # nobody asks a key for scores
        if len(present) > 1:
            rule = f"the column of the {role} could be {' or '.join(present)}"
            raise request.unclear(path, rule, f"{role}=COLUMN")
        if present:
            roles[role] = present[0]
        elif role == "enroll" and role in needed and len(may_be_ids) < 2:
            raise ValueError(
                f"{path}: trials are joined on two ids, enroll and test, and there are the columns "
                f"{', '.join(names)}: write scores and labels in one file, read without a key"
            )
        elif role in needed:
            rule = (
                f"there is no column for the {role}: none is named {' or '.join(usual)}; there are "
                f"{', '.join(names)}"
            )
            raise request.unclear(path, rule, f"{role}=COLUMN")
    return roles
