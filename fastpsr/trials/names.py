"""Names of columns in files of trials, and the role that each column has."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fastpsr.errors import ArgumentError
from fastpsr.frames import check_column_names
from fastpsr.trials.request import Request

if TYPE_CHECKING:
    from polars import DataFrame

    from fastpsr.trials.text import Where

#: The four columns that wespeaker's score normalization appends.
NORM_COLUMNS = ("norm_1", "norm_2", "norm_3", "norm_4")
#: Words for labels of which the last is a kind of non-target that has a column of its own.
WITH_SPOOF = "target/nontarget/spoof"
#: The name of that column.
KIND = "kind"


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


def header_hint(word: str) -> str:
    """Return a question about a word that names a column usually."""
    usual = {name for names in _USUAL.values() for name in names}
    if word.lower() not in usual:
        return ""
    return " (a header? replace blanks by tabs or commas, or omit it)"


def has_usual_names(words: Sequence[str], chosen: Mapping[str, str]) -> bool:
    """Whether at least two words are names of columns for different roles, usual or chosen."""
    roles = {name: role for known in (_IF_NEEDED, _USUAL) for role in known for name in known[role]}
    roles |= {name.lower(): role for role, name in chosen.items()}
    lowered = (word.strip().strip('"').lower() for word in words)
    return len({roles[word] for word in lowered if word in roles}) >= 2


def find_roles(path: Path, names: Sequence[str], request: Request) -> dict[str, str]:
    """Return the name of the column of each role: as chosen, or by the usual names."""
    needed = {*request.needed, *(() if request.wanted == "labeled scores" else ("enroll", "test"))}
    chosen, found = request.columns, {}
    check_column_names(path, names)
    lowered = [(name.lower(), name) for name in names]
    for role, usual in _USUAL.items():
        if role in chosen:
            if chosen[role] not in names:
                raise ArgumentError(
                    f"{request.prefix}columns",
                    f"must name columns of {path} ({', '.join(names)}), not {chosen[role]!r}",
                )
            found[role] = chosen[role]
            continue
        present = [name for word in usual for low, name in lowered if low == word]
        present = [name for name in present if name not in chosen.values()]
        if role in needed and not present:
            if_needed = _IF_NEEDED.get(role, ())
            present = [name for word in if_needed for low, name in lowered if low == word]
        if role == "score" and role not in needed:
            continue  # nobody asks a key for scores
        if len(present) > 1:
            rule = f"the column of the {role} could be {' or '.join(present)}"
            raise request.unclear(path, rule, "columns", {role: ...})
        if present:
            found[role] = present[0]
        elif role == "enroll" and role in needed and len(_of_ids(names)) < 2:
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
    return found


def _of_ids(names: Sequence[str]) -> list[str]:
    """Return the names of columns that are not usual for labels or scores."""
    others = {*_USUAL["label"], *_USUAL["score"]}
    return [name for name in names if name.lower() not in others]


def check_roles(frame: "DataFrame", roles: Mapping[str, str], where: "Where") -> None:
    """Raise where a row lacks what has a role."""
    for role, name in roles.items():
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0)
            raise ValueError(f"{where([row])[0]}: the {role} ({name}) is missing")
