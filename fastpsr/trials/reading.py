"""Files of trials read into memory: a key, or scores, or both; several files as one."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.tables.sample import estimated_lines
from fastpsr.trials.coded import Coded, Column, as_column
from fastpsr.trials.detect import detect
from fastpsr.trials.joining.matching import Hashed
from fastpsr.trials.roles import CLASSES, Label, Request, Wanted
from fastpsr.trials.trial_file import TrialFile, TrialFiles

if TYPE_CHECKING:
    from polars import DataFrame

AnyPath = str | os.PathLike[str]
#: Is called with the name of a step, the rows done and about how many there are.
Progress = Callable[[str, int, int], object]

_BYTES_PER_TRIAL = 100  # of short ids in the key's order; others take more, up to about 300
_WITHOUT_LABELS: dict[Wanted, Wanted] = {"key": "pairs", "labeled scores": "scores"}


@dataclass(frozen=True, eq=False)
class Reading:
    """Content of a file, and the interpretation of its columns.

    Attributes
    ----------
    path : str
        The file.
    format : str
        Name of its format.
    notes : str
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
    file : TrialFile
        The file, which can be read again.
    """

    path: str
    format: str
    notes: str
    file: TrialFile
    enroll: Coded | None = None
    test: Coded | None = None
    y_true: NDArray[np.uint8] | None = None
    score: NDArray[np.float64] | None = None
    columns: dict[str, Column] = field(default_factory=dict)
    vocabulary: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()

    @property
    def ids(self) -> dict[str, Coded]:
        """The ids that it has, by role."""
        both = {"enroll": self.enroll, "test": self.test}
        return {role: column for role, column in both.items() if column is not None}

    @cached_property
    def hashed(self) -> Hashed:
        """Numbers of the pairs of ids, by which they are joined."""
        return Hashed.of([column.series() for column in self.ids.values()])

    def where(self, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines or rows of trials; it reads the file again."""
        return self.file.where(rows)

    def __len__(self) -> int:
        sizes = (len(x) for x in (self.enroll, self.y_true, self.score) if x is not None)
        return next(sizes)

    def __repr__(self) -> str:
        return f"<Reading: {len(self):,} trials, {self.format}, {self.path}>"


#: A file, several that make one, or those of both classes.
Files = AnyPath | Reading | Sequence[AnyPath | Reading] | Mapping[Label, AnyPath]


def open_file(path: AnyPath, request: Request) -> TrialFile:
    """Open a file as requested, to be read part by part."""
    format, sample = detect(Path(path), request)
    return format.open(Path(path), sample, request)


def open_files(argument: str, files: Files, request: Request) -> TrialFile:
    """Open the files that an argument names, which are one: several keys, or both classes."""
    if isinstance(files, Mapping):
        if {*files} != {*CLASSES}:
            names = ", ".join(map(repr, files)) or "none"
            rule = f"must have files of 'target' and 'nontarget', not {names}"
            raise ArgumentError(argument, rule)
        wanted = _WITHOUT_LABELS.get(request.wanted, request.wanted)
        return TrialFiles([
            open_file(path, replace(request, wanted=wanted, label=label))
            for label, path in files.items()
        ])  # fmt: skip
    listed = [files] if isinstance(files, Reading | str | os.PathLike) else [*files]
    if not listed:
        raise ArgumentError(argument, "must name at least one file")
    opened = []
    for file in listed:
        if not isinstance(file, Reading):
            opened.append(open_file(file, request))
            continue
        if request.format or request.columns or request.transpose is not None:
            raise ArgumentError(
                f"{request.prefix}format",
                f"say how to read a file, and {file.path} was read before",
                name=f"{request.prefix}format, {request.prefix}columns and transpose",
            )
        opened.append(file.file)
    return opened[0] if len(opened) == 1 else TrialFiles(opened)


def check_transpose(transpose: bool | None, files: Sequence[TrialFile]) -> None:
    """Raise if none of the files has matrices that `transpose` could be for."""
    if transpose is not None and not any(file.has_matrices for file in files):
        rule = f"is for HDF5 files, and {files[0].path} is {files[0].format}"
        raise ArgumentError("transpose", rule)


def read_file(
    files: Files,
    request: Request,
    progress: Progress | None = None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read files that are one as requested; :func:`collect` has the other arguments."""
    file = open_files("path", files, request)
    check_transpose(request.transpose, [file])
    return collect(file, progress, known)


def collect(
    file: TrialFile,
    progress: Progress | None = None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read a file into memory.

    `known` are ids of another file by role: where this one has the same in the same order, it has
    these, which are not held twice.
    """
    if "label" in file.roles:
        file.look()
    conditions = file.conditions
    columns = _columns(file, progress, known or {})
    if file.conditions != conditions:  # the first spoofed trials came late
        columns = _columns(file, progress, known or {})
    is_target = columns.pop("label", None)
    return Reading(
        str(file.path),
        file.format,
        file.notes,
        file,
        **{role: columns.pop(role, None) for role in ("enroll", "test", "score")},
        y_true=None if is_target is None else is_target.view(np.uint8),
        columns={name: columns[f":{name}"] for name in file.conditions},
        vocabulary=file.vocabulary,
        names=file.names,
        order=file.columns,
    )


def _columns(
    file: TrialFile, progress: Progress | None, known: Mapping[str, Coded]
) -> dict[str, Any]:
    """Return the columns by role, and those of conditions after a colon."""
    pl = polars()
    same = {role: ids for role, ids in known.items() if role in file.roles}
    frames: list[DataFrame] = []
    n_rows = 0
    tell = None if progress is None else partial(progress, f"reading {file.path}")
    text = pl.Categorical(pl.Categories.random())  # whose strings go when the columns go
    for frame in file.frames(text=text, progress=tell):
        for role, ids in [*same.items()]:
            alike = ids.series(slice(n_rows, n_rows + frame.height))
            if frame[role].dtype == pl.String and frame[role].equals(alike):
                frame = frame.with_columns(alike.alias(role))
            else:
                del same[role]
        frames.append(frame)
        n_rows += frame.height
    table = pl.concat(frames, how="vertical_relaxed")
    del frames, frame
    columns: dict[str, Any] = {role: ids for role, ids in same.items() if len(ids) == n_rows}
    for name in table.columns:
        series = table.drop_in_place(name)
        if name not in columns:
            columns[name] = as_column(series)
    return columns


def least_memory(keys: Sequence[Path]) -> int:
    """Return about how many bytes the trials of keys and their scores take at least.

    Only text counts, which is not from a pipe: what else there is is 0.
    """
    return round(sum(map(estimated_lines, keys)) * _BYTES_PER_TRIAL)
