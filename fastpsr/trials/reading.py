"""One file of trials: a key, or scores, or both."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, Column
from fastpsr.trials.detect import Detected, detect
from fastpsr.trials.hdf5 import NAMES, read_matrices
from fastpsr.trials.labels import decode_labels
from fastpsr.trials.layouts import KIND, WITH_SPOOF
from fastpsr.trials.request import ROLES, Request
from fastpsr.trials.tables import read_npz, read_parquet, read_separated
from fastpsr.trials.text import Where, read_text

__all__ = ["Reading", "read_file", "read_key", "read_scores", "say_taken"]


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

    def __len__(self) -> int:
        sizes = (len(x) for x in (self.enroll, self.y_true, self.score) if x is not None)
        return next(sizes)

    def __repr__(self) -> str:
        return f"<Reading: {len(self):,} trials, {self.format}, {self.path}>"


def read_key(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
) -> Reading:
    r"""Read a trial key: pairs of ids with labels.

    Parameters
    ----------
    path : path
        The file; text may be compressed by gzip.
    format : str, optional
        Name of the format; by default it is detected from the content.
    columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs; by
        default usual names are looked for.
    transpose : bool, optional
        For HDF5 files with as many models as segments: whether the columns are models.

    Returns
    -------
    Reading

    Raises
    ------
    ValueError
        If no format or more than one format fits, or a line is invalid (with file and line).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "trials")
    ...     _ = path.write_text("ann a.wav target\nann b.wav nontarget\n")
    ...     key = read_key(path)
    >>> key.format, key.y_true.tolist(), key.test.strings().tolist()
    ('kaldi-trials', [1, 0], ['a.wav', 'b.wav'])
    >>> key.taken.split(": ", 1)[1]
    'kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)'
    """
    return read_file(path, Request("key", format, columns or {}, transpose))


def read_scores(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
) -> Reading:
    r"""Read a score file, with labels or without; otherwise as :func:`read_key`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores")
    ...     _ = path.write_text("ann a 2.5\nann b -3\n")
    ...     scores = read_scores(path)
    >>> scores.format, scores.score.tolist(), scores.y_true
    ('kaldi-scores', [2.5, -3.0], None)
    """
    return read_file(path, Request("scores", format, columns or {}, transpose))


def read_file(path: str | os.PathLike[str], request: Request) -> Reading:
    """Read a file as requested."""
    file = Path(path)
    found = detect(file, request)
    is_hdf5 = found.sample.kind == "hdf5"
    if request.columns and (is_hdf5 or found.layout.roles):
        name = "HDF5" if is_hdf5 else found.layout.name
        rule = f"is for files that name theirs, and {file} is {name}"
        raise ArgumentError(f"{request.prefix}columns", rule)
    if is_hdf5:
        return _from_hdf5(file, request)
    if request.transpose is not None:
        rule = f"is for HDF5 files, and {file} is {found.layout.name}"
        raise ArgumentError("transpose", rule)
    if found.layout.roles:
        return _from_columns(file, found, request)
    if found.sample.kind == "npz":
        parts, names, where = read_npz(file, request)
    elif found.sample.kind == "parquet":
        parts, names, where = read_parquet(file, request)
    else:
        parts, names, where = read_separated(file, found.sample, found.separator, request)
    return _make(file, found, parts, names, where, by_name=True)


def _from_columns(path: Path, found: Detected, request: Request) -> Reading:
    roles = found.layout.roles
    for role in request.needed:  # the format may have been forced
        if role not in roles:
            raise ValueError(f"{path}: {found.layout.name} ({' '.join(roles)}) has no {role}")
    if found.separator:
        parts, names, where = read_separated(path, found.sample, found.separator, request, roles)
    else:
        parts, where = read_text(path, found.sample, roles)
        names = {role: role for role in roles if role in ROLES}
    return _make(path, found, parts, names, where, by_name=False)


def _make(
    path: Path,
    found: Detected,
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
        found.layout.name,
        say_taken(path, found.layout.name, in_file, roles, vocabulary, by_name=by_name),
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


def _from_hdf5(path: Path, request: Request) -> Reading:
    if request.wanted == "labeled scores":
        raise ValueError(f"{path}: an HDF5 file of scores has no labels: give the key too")
    known, enroll, test, y_true, score, said = read_matrices(path, request)
    models, segments = NAMES[known]
    taken = f"{path}: {known}; {models}: enroll; {segments}: test; {said}"
    return Reading(str(path), known, taken, enroll, test, y_true, score)
