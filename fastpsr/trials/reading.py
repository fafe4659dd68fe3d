"""Files of trials read into memory: a key, or scores, or both; several files as one."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import cached_property
from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.tables.sample import estimated_lines, look
from fastpsr.trials.coded import Coded, Column, as_column, categories
from fastpsr.trials.detect import detect
from fastpsr.trials.joining.matching import distinct_hashes
from fastpsr.trials.roles import CLASSES, Label, Request, Wanted
from fastpsr.trials.trial_file import TrialFile, TrialFiles

if TYPE_CHECKING:
    from polars import DataFrame, Series

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
    def hashes(self) -> NDArray[np.int64] | None:
        """A number for each pair of ids, all different; None where pairs repeat or are coded."""
        return distinct_hashes([*self.ids.values()])

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


def files_of(argument: str, files: Files) -> list[tuple[AnyPath | Reading, Label | None]]:
    """Return the files that an argument names, each with the label of all its trials."""
    if isinstance(files, Mapping):
        if {*files} != {*CLASSES}:
            names = ", ".join(map(repr, files)) or "none"
            rule = f"must have files of 'target' and 'nontarget', not {names}"
            raise ArgumentError(argument, rule)
        return [(path, label) for label, path in files.items()]
    listed = [files] if isinstance(files, Reading | str | os.PathLike) else [*files]
    if not listed:
        raise ArgumentError(argument, "must name at least one file")
    return [(file, None) for file in listed]


def open_file(path: AnyPath, request: Request) -> TrialFile:
    """Open a file as requested, to be read part by part."""
    format, sample = detect(Path(path), request)
    return format.open(Path(path), sample, request)


def open_as_one(
    files: Sequence[tuple[AnyPath | Reading, Label | None]],
    request: Request,
    transpose: Sequence[bool | None] | None = None,
) -> TrialFile:
    """Open files that are one: keys in turn, or those of both classes, which have no labels."""
    opened: list[TrialFile] = []
    for (file, label), turn in zip(files, transpose or [None] * len(files), strict=True):
        if isinstance(file, Reading):
            opened.append(file.file)
            continue
        own = request.wanted
        wanted = own if label is None else _WITHOUT_LABELS.get(own, own)
        opened.append(open_file(file, replace(request, wanted=wanted, label=label, transpose=turn)))
    return opened[0] if len(opened) == 1 else TrialFiles(opened)


def transposes(transpose: bool | None, files: Sequence[AnyPath | Reading]) -> list[bool | None]:
    """Return `transpose` for each file that is HDF5; for all if none is, to be refused."""
    if transpose is None:
        return [None] * len(files)
    are = [not isinstance(f, Reading) and look(Path(f)).kind == "HDF5" for f in files]
    return [transpose if is_hdf5 or not any(are) else None for is_hdf5 in are]


def read_file(
    path: AnyPath,
    request: Request,
    progress: Progress | None = None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read a file as requested; :func:`collect` has the other arguments."""
    return collect(open_file(path, request), progress, known)


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
    columns, known = _columns(file, progress, known or {})
    if file.tell_kinds():  # the first spoofed trials came late
        columns, known = _columns(file, progress, known)
    conditions = {name: columns.pop(f":{name}") for name in file.conditions}
    ids = {side: columns[side] for side in ("enroll", "test") if side in columns} | {**known}
    label, score = columns.get("label"), columns.get("score")
    assert not isinstance(label, Coded)
    assert not isinstance(score, Coded)
    return Reading(
        str(file.path),
        file.format,
        file.notes,
        file,
        **ids,  # type: ignore[arg-type]
        y_true=None if label is None else label.view(np.uint8),
        score=score,
        columns=conditions,
        vocabulary=file.vocabulary,
        names=file.names,
        order=file.columns,
    )


def _columns(
    file: TrialFile, progress: Progress | None, known: Mapping[str, Coded]
) -> tuple[dict[str, Column], dict[str, Coded]]:
    """Return the columns by role, and those of `known` that stand for columns of the file."""
    frames: list[DataFrame] = []
    same = {role: ids for role, ids in known.items() if role in file.roles}
    numbers: dict[str, _Numbers] = {}
    n_rows = expected = 0

    def tell(done: int, out_of: int) -> None:
        nonlocal expected
        expected = out_of
        if progress is not None:
            progress(f"reading {file.path}", done, out_of)

    pl = polars()
    with categories() as text:
        for frame in file.frames(text=text, with_conditions=True, progress=tell):
            end = n_rows + frame.height
            for role, ids in [*same.items()]:
                of_file = frame[role]
                alike = ids.series(slice(n_rows, end)) if of_file.dtype == pl.String else None
                if alike is not None and of_file.equals(alike):
                    frame = frame.with_columns(alike.alias(role))
                else:
                    del same[role]
            for name, kind in frame.schema.items():
                if kind in (pl.Float64, pl.Boolean):
                    column = numbers.setdefault(name, _Numbers(kind == pl.Boolean))
                    column.add(frame.drop_in_place(name), expected)
            frames.append(frame)
            n_rows = end
        same = {role: ids for role, ids in same.items() if len(ids) == n_rows}
        table = pl.concat(frames, how="vertical_relaxed")
        del frames
        columns: dict[str, Column] = {name: column.all() for name, column in numbers.items()}
        for name in table.columns:
            series = table.drop_in_place(name)
            if name not in same and name != "side":  # which is a condition, too
                columns[name] = as_column(series)
    return columns, same


class _Numbers:
    """A column of numbers, copied into one array while its pieces are in the cache."""

    def __init__(self, is_mask: bool) -> None:
        self._held, self._n = np.empty(0, bool if is_mask else np.float64), 0

    def add(self, some: "Series", expected: int) -> None:
        """Add numbers, of about so many."""
        end = self._n + len(some)
        if end > self._held.size:
            grown = np.empty(max(round(1.01 * expected), end) + 1, self._held.dtype)
            grown[: self._n] = self.all()
            self._held = grown
        self._held[self._n : end] = some.to_numpy()
        self._n = end

    def all(self) -> NDArray[Any]:
        """Return the numbers of all pieces."""
        return self._held[: self._n]


def least_memory(keys: Sequence[Path]) -> int:
    """Return about how many bytes the trials of keys and their scores take at least.

    Only text counts, which is not from a pipe: what else there is is 0.
    """
    return round(sum(map(estimated_lines, keys)) * _BYTES_PER_TRIAL)
