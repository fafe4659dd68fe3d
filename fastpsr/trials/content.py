"""Content of a file of trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import cached_property
from fastpsr.trials.coded import Coded, Column
from fastpsr.trials.labels import decode_labels
from fastpsr.trials.names import KIND, WITH_SPOOF
from fastpsr.trials.repeats import distinct_hashes
from fastpsr.trials.text import Where

__all__ = ["Reading", "reading_of", "say_taken"]


@dataclass(frozen=True, eq=False)
class Reading:
    """Content of a file, and the interpretation of its columns.

    Attributes
    ----------
    path : str
        The file.
    format : str
        Name of its format.
    taken : str
        Message on how each column was interpreted.
    enroll, test : Coded or None
        Ids of models and segments; None where the format has none.
    y_true : ndarray of uint8, shape (N,), or None
        1 for target, 0 for non-target.
    score : ndarray of float64, shape (N,), or None
        Scores as they are in the file; may be nan or infinite.
    columns : dict of Coded or ndarray
        All other columns, by name.
    vocabulary : str or None
        The words for the labels, such as "tgt/imp".
    names : dict of str
        Names of the columns in the file, by role, where it names them.
    order : tuple of str
        Names of all columns of the file from left to right; for text without names their roles.
    where : callable or None
        Names the file and the line or row of given trials; None for HDF5. It reads the file again.
    """

    path: str
    format: str
    taken: str
    enroll: Coded | None = None
    test: Coded | None = None
    y_true: NDArray[np.uint8] | None = None
    score: NDArray[np.float64] | None = None
    columns: dict[str, Column] = field(default_factory=dict)
    vocabulary: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    where: Where | None = None

    @property
    def ids(self) -> dict[str, Coded]:
        """The ids that it has, by role."""
        both = {"enroll": self.enroll, "test": self.test}
        return {role: column for role, column in both.items() if column is not None}

    @cached_property
    def hashes(self) -> NDArray[np.int64] | None:
        """A number for each pair of ids, all different; None where pairs repeat or are coded."""
        return distinct_hashes([*self.ids.values()])

    def __len__(self) -> int:
        sizes = (len(x) for x in (self.enroll, self.y_true, self.score) if x is not None)
        return next(sizes)

    def __repr__(self) -> str:
        return f"<Reading: {len(self):,} trials, {self.format}, {self.path}>"


def reading_of(
    path: Path,
    format: str,
    parts: dict[str, Column],
    names: dict[str, str],
    where: Where,
    *,
    by_name: bool,
) -> Reading:
    """Make a reading of columns, with the names of those that have a role."""
    label, enroll, test = (parts.get(names.get(role, "")) for role in ("label", "enroll", "test"))
    in_file = list(parts)
    y_true, vocabulary = None, None
    if isinstance(label, Coded):
        y_true, vocabulary = decode_labels(label, where)
        if vocabulary == WITH_SPOOF:
            parts.setdefault(KIND, label)
    score = parts.get(names.get("score", ""))
    roles = {name: role for role, name in names.items()}
    own = {name for name, role in roles.items() if role != "side"}
    return Reading(
        str(path),
        format,
        say_taken(path, format, in_file, roles, vocabulary, by_name=by_name),
        enroll if isinstance(enroll, Coded) else None,
        test if isinstance(test, Coded) else None,
        y_true,
        None if score is None or isinstance(score, Coded) else score,
        {name: column for name, column in parts.items() if name not in own},
        vocabulary,
        names if by_name else {},
        tuple(in_file),
        where,
    )


def say_taken(
    path: Path,
    format: str,
    columns: Sequence[str],
    roles: Mapping[str, str],
    vocabulary: str | None,
    *,
    by_name: bool,
) -> str:
    """Say what each column of a file was taken for; `roles` are by name of the column."""
    said = [format]
    for k, name in enumerate(columns):
        role = roles.get(name, "condition" if by_name else name)
        words = f" ({vocabulary})" if role == "label" else ""
        if words and vocabulary == WITH_SPOOF:
            words = f" ({vocabulary}: both others are non-targets, told apart by {KIND})"
        said.append(f"{name if by_name else f'column {k + 1}'}: {role}{words}")
    return f"{path}: {'; '.join(said)}"
