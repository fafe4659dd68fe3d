"""One file of trials: a key, or scores, or both."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded, Column
from fastpsr.trials.detect import Detected, Wanted, detect
from fastpsr.trials.hdf5 import NAMES, read_matrices
from fastpsr.trials.labels import decode_labels
from fastpsr.trials.tables import read_npz, read_parquet, read_separated
from fastpsr.trials.text import read_text

__all__ = ["Reading", "read_file", "read_key", "read_scores"]

_ROLES = ("enroll", "test", "side", "label", "score")


@dataclass(frozen=True, eq=False)
class Reading:
    """What a file holds, and what its parts were taken for.

    Attributes
    ----------
    path : str
        The file.
    format : str
        Name of its format.
    taken : str
        What each column was taken for, in words.
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
        If no format fits or more than one does, or a line is wrong; names the file and the line.

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
    return read_file(path, "key", format, columns, transpose)


def read_scores(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
) -> Reading:
    """Read a score file, with labels or without; otherwise as :func:`read_key`."""
    return read_file(path, "scores", format, columns, transpose)


def read_file(
    path: str | os.PathLike[str],
    wanted: Wanted,
    format: str | None,
    columns: Mapping[str, str] | None,
    transpose: bool | None,
) -> Reading:
    """Read a file for what is `wanted` of it."""
    file = Path(path)
    chosen = dict(columns or {})
    unknown = sorted(set(chosen) - set(_ROLES))
    if unknown:
        raise ValueError(f"columns must name roles {', '.join(_ROLES)}, not {unknown[0]!r}")
    found = detect(file, wanted, format)
    if found.sample.kind == "hdf5":
        return _from_hdf5(file, format, wanted, transpose)
    if transpose is not None:
        raise ValueError(f"transpose is for HDF5 files, and {file} is {found.layout.name}")
    if found.layout.roles:
        if chosen:
            raise ValueError(
                f"columns is for files that name theirs, and {file} is {found.layout.name}"
            )
        _check_parts(file, found, wanted)
        parts, where = read_text(file, found.sample, found.layout.roles)
        names: dict[str, str] = {}
        by_role = {role: role for role in found.layout.roles if role in _ROLES}
    else:
        parts, names, where = _read_named(file, found, wanted, chosen)
        by_role = names
    return _make(file, found, parts, by_role, names, where)


def _check_parts(path: Path, found: Detected, wanted: Wanted) -> None:
    """Raise if a format that was asked for lacks what the file is read for."""
    needed = {"key": ["enroll", "test", "label"], "scores": ["score"]}.get(
        wanted, ["score", "label"]
    )
    lacking = [role for role in needed if role not in found.layout.roles]
    if lacking:
        roles = " ".join(found.layout.roles)
        raise ValueError(f"{path}: {found.layout.name} ({roles}) has no {lacking[0]}")


def _read_named(path: Path, found: Detected, wanted: Wanted, chosen: Mapping[str, str]) -> Any:
    needed = {"enroll", "test"} | {
        "key": {"label"},
        "scores": {"score"},
        "labelled scores": {"score", "label"},
    }[wanted]
    if wanted == "labelled scores":
        needed -= {"enroll", "test"}
    if found.sample.kind == "npz":
        return read_npz(path, needed, chosen)
    if found.sample.kind == "parquet":
        return read_parquet(path, needed, chosen)
    return read_separated(path, found.sample, found.separator, needed, chosen)


def _make(
    path: Path,
    found: Detected,
    parts: dict[str, Column],
    by_role: Mapping[str, str],
    names: dict[str, str],
    where: Callable[[int], str],
) -> Reading:
    label = parts.get(by_role.get("label", ""))
    y_true, vocabulary = None, None
    if isinstance(label, Coded):
        y_true, vocabulary = decode_labels(label, where)
    roles = {name: role for role, name in by_role.items() if role != "side"}
    enroll, test = (parts.get(by_role.get(role, "")) for role in ("enroll", "test"))
    score = parts.get(by_role.get("score", ""))
    said = []
    for k, name in enumerate(parts):
        role = roles.get(name, "side" if by_role.get("side") == name else "condition")
        role += f" ({vocabulary})" if role == "label" else ""
        if not names:
            role = name if role == "condition" else role
            said.append(f"column {k + 1}: {role}")
        else:
            said.append(f"{name}: {role}")
    return Reading(
        str(path),
        found.layout.name,
        f"{path}: {'; '.join([found.layout.name, *said])}",
        enroll if isinstance(enroll, Coded) else None,
        test if isinstance(test, Coded) else None,
        y_true,
        None if score is None or isinstance(score, Coded) else score,
        {name: column for name, column in parts.items() if name not in roles},
        vocabulary,
        names,
    )


def _from_hdf5(path: Path, name: str | None, wanted: Wanted, transpose: bool | None) -> Reading:
    if wanted == "labelled scores":
        raise ValueError(f"{path}: an HDF5 file of scores has no labels: give the key too")
    known, enroll, test, y_true, score, said = read_matrices(path, name, wanted, transpose)
    models, segments = NAMES[known]
    taken = f"{path}: {known}; {models}: enroll; {segments}: test; {said}"
    return Reading(str(path), known, taken, enroll, test, y_true, score)
