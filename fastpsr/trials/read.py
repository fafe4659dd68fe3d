"""Read keys and scores into memory: each alone, or joined into trials."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.tables.sample import estimated_lines
from fastpsr.trials.by_id import Files as MetadataFiles
from fastpsr.trials.coded import Coded, Column, as_column, pick
from fastpsr.trials.detect import detect
from fastpsr.trials.joining.key_and_scores import (
    KeyAndScores,
    Policies,
    Rows,
    check_classes,
    check_ids,
    settle,
)
from fastpsr.trials.roles import CLASSES, Label, Request, Wanted
from fastpsr.trials.speakers import SpeakerFinder, Speakers, taken_as_conditions
from fastpsr.trials.trial_file import TrialFile, TrialFiles, WithIdsOf
from fastpsr.trials.trial_set import Source, TrialSet

if TYPE_CHECKING:
    from polars import DataFrame

AnyPath = str | os.PathLike[str]
#: Is called with the name of a step, the rows done and about how many there are.
Progress = Callable[[str, int, int], object]

_FIRST_BYTES = 1 << 16
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
    file = format.open(Path(path), sample, request)
    if request.transpose is not None and file.shape is None:
        raise ArgumentError(request.argument, f"transposes HDF5 files, and {path} is {file.format}")
    return file


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
        if request.is_given:
            rule = f"says how to read a file, and {file.path} was read before"
            raise ArgumentError(request.argument, rule)
        opened.append(file.file)
    return opened[0] if len(opened) == 1 else TrialFiles(opened)


def read(
    key: Files | None,
    scores: AnyPath | Reading | None = None,
    *,
    key_format: str | None = None,
    format: str | None = None,
    metadata: MetadataFiles | None = None,
    speakers: Speakers | None = None,
    missing: Literal["error", "drop"] = "error",
    extra: Literal["error", "ignore"] = "error",
    duplicates: Literal["error", "first", "count"] = "error",
    nan: Literal["error", "drop"] = "error",
    progress: Progress | None = None,
) -> TrialSet:
    r"""Read a trial key and a score file, and join them on (enroll, test).

    Parameters
    ----------
    key : path, Reading, list of these, dict of label to path, or None
        The key, or several that make one; or, without `scores`, a score file with labels. A dict
        has the ids (without `scores`: the scores) of the trials "target" and "nontarget" in a file
        each, without labels. None for scores without labels.
    scores : path or Reading, optional
        The scores, in any order.
    key_format, format : str, optional
        How the key, and the scores, are read, by default detected from their content: one or more
        of these, with commas between. The name of a format; columns by their roles (enroll, test,
        label, score, side) for files that name theirs, as in ``"enroll=speaker"``; the words of the
        file for labels, ``"target=same,nontarget=other"``; for HDF5 files with as many models as
        segments, whether their columns are the models, ``"transpose"`` or ``"no-transpose"``;
        ``"strip-folders"``, ``"strip-endings"`` and ``"ignore-case"`` for ids that differ by this
        from those of other files; and of scores ``"in-order"``: they have no ids, and are those of
        the key's trials in its order.
    metadata : path, list of path, or dict of name to path or mapping, optional
        Values of recordings, as :meth:`TrialSet.with_metadata` takes them: columns for conditions,
        speakers and quality measures.
    speakers : path, mapping of str to str, pair of str, or str, optional
        Speaker of each id, as :meth:`TrialSet.with_speakers` takes it.
    missing : {"error", "drop"}
        What to do with trials of the key that have no score.
    extra : {"error", "ignore"}
        What to do with scores of no trial in the key. Those of a full matrix (HDF5) are left out
        in any case, since it has scores of all pairs.
    duplicates : {"error", "first", "count"}
        What to do with trials that occur twice, in the key or the scores: only the first counts,
        or, if the scores agree, each occurrence in the key. Different labels of the same trial are
        always an error.
    nan : {"error", "drop"}
        What to do with scores that are nan.
    progress : callable, optional
        Called with (name of the step, rows done, approximate total number of rows).

    Returns
    -------
    TrialSet
        In the order of the key. Its attribute `notes` describes how the columns were interpreted
        and which trials were left out.

    Raises
    ------
    ValueError
        If a file is invalid, with the line; or if key and scores do not match, with the numbers of
        all kinds of mismatches and examples.

    Notes
    -----
    Ids are compared as text. If both files have a column `side`, trials are also joined on it. Time
    and memory are linear in the number of trials: about 1.5 GB for 10 million trials of text in the
    order of the key, whose ids are held once, and 3 GB in another order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     key, scores = pathlib.Path(folder, "key"), pathlib.Path(folder, "scores")
    ...     _ = key.write_text("ann a target\nann b nontarget\nbob b target\n")
    ...     _ = scores.write_text("ann b -3\nann a 2.5\n")
    ...     made = read(key, scores, missing="drop")
    >>> made.score.tolist(), made.y_true.tolist()
    ([2.5, -3.0], [1, 0])
    """
    policies = Policies(missing, extra, duplicates, nan)
    finder = SpeakerFinder.of(speakers)
    wanted: Wanted = "scores"
    if scores is None:
        if not (key is None or isinstance(key, Reading | Mapping | str | os.PathLike)):
            raise ArgumentError("key", "must be one file of scores with labels, not a list")
        wanted, key, scores = "labeled scores", None, key
        format = key_format or format
    if scores is None:
        raise ArgumentError("scores", "must be given", name="key or scores")
    request = Request.of(wanted, format)
    key_file, (file,) = open_lists(
        key, [scores], Request.of("key", key_format, "key_format"), request
    )
    key_read = None
    if key_file is not None:
        key_read = key if isinstance(key, Reading) else collect(key_file, progress)
    if isinstance(scores, Reading) and not request.in_order:
        scores_read = scores
    else:
        scores_read = collect(file, progress, None if key_read is None else key_read.ids)
    trials = _joined(key_read, scores_read, wanted, policies)
    if metadata is not None:
        trials = trials.with_metadata(metadata)
    return trials if finder is None else trials.with_speakers(finder)


def read_key(
    path: Files,
    *,
    format: str | None = None,
    progress: Progress | None = None,
) -> Reading:
    r"""Read a trial key: pairs of ids with labels.

    Parameters
    ----------
    path : path, list of paths, or dict of label to path
        The file; text may be compressed by gzip. Several make one key, and a dict has the ids of
        the trials "target" and "nontarget" in a file each.
    format : str, optional
        How the file is read, as `key_format` of :func:`read`.
    progress : callable, optional
        Called with (name of the step, rows done, approximate total number of rows).

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
    >>> key.notes.split(": ", 1)[1]
    'kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)'
    """
    return read_file(path, Request.of("key", format), progress)


def read_scores(
    path: AnyPath | Mapping[Label, AnyPath],
    *,
    format: str | None = None,
    progress: Progress | None = None,
) -> Reading:
    r"""Read a score file, with labels or without, or those of each class, as :func:`read_key` does.

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
    return read_file(path, Request.of("scores", format), progress)


def open_lists(
    key: Files | None, scores: Sequence[Files], of_key: Request, of_scores: Request
) -> tuple[TrialFile | None, list[TrialFile]]:
    """Open a key, if there is one, and the scores of systems that are to be joined with it."""
    key_file = None if key is None else open_files("key", key, of_key)
    files = [open_files("scores", file, of_scores) for file in scores]
    if of_scores.in_order:
        if key_file is None:
            rule = "in-order is for scores in the order of a key: give the key, too"
            raise ArgumentError("format", rule)
        files = [WithIdsOf(key_file, file) for file in files]
    return key_file, files


def read_file(
    files: Files,
    request: Request,
    progress: Progress | None = None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read files that are one as requested; :func:`collect` has the other arguments."""
    return collect(open_files("path", files, request), progress, known)


def collect(
    file: TrialFile,
    progress: Progress | None = None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read a file into memory.

    `known` are ids of another file by role: where this one has the same in the same order, it has
    these, which are not held twice.
    """
    if "label" in file.roles:  # the first rows most often tell whether trials are spoofed
        next(file.frames(_FIRST_BYTES), None)
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
    for frame in file.frames(progress=tell):
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


def _joined(key: Reading | None, scores: Reading, wanted: Wanted, policies: Policies) -> TrialSet:
    """Join what was read, and check that there are both classes; scores may be their own key."""
    if scores.score is None:
        raise ValueError(f"{scores.path}: there are no scores")
    labeled = scores if key is None else key
    if key is not None or wanted == "labeled scores":
        if labeled.y_true is None:
            raise ValueError(f"{labeled.path}: there are no labels")
        check_classes(labeled.path, int(labeled.y_true.sum()), len(labeled))
    for argument, reading in (("key", labeled), ("scores", scores)):
        argument = "scores" if key is None else argument
        if key is not None or reading.ids:
            check_ids(argument, reading.path, reading.format, has_ids=len(reading.ids) == 2)
    joining = KeyAndScores(labeled.file, scores.file, policies)
    with_side = "side" in labeled.names and "side" in scores.names
    part = _part(labeled, with_side=with_side)
    part_of_scores = part if labeled is scores else _part(scores, with_side=with_side)
    if labeled.ids:
        are_alike = not with_side and all(scores.ids[r] is ids for r, ids in labeled.ids.items())
        rows = joining.join(part, part_of_scores, are_alike=are_alike)
        joining.check_common()
    else:
        rows = joining.join_in_order(part, part_of_scores)
    left_out = settle(labeled.path, {scores.path: joining.verdict()})
    joining.check_numbers()
    return _assemble(labeled, scores, rows, left_out)


def _part(reading: Reading, *, with_side: bool) -> "DataFrame":
    """Return all rows as a join takes them."""
    columns: dict[str, Any] = {role: ids.series() for role, ids in reading.ids.items()}
    if with_side:
        side = reading.columns[reading.names["side"]]
        assert isinstance(side, Coded)
        columns["side"] = side.series()
    if reading.y_true is not None:
        columns["label"] = reading.y_true.view(bool)
    if reading.score is not None:
        columns["score"] = reading.score
    part: DataFrame = polars().DataFrame(columns).with_row_index("row")
    return part


def _assemble(
    key: Reading, scores: Reading, rows: tuple[Rows, Rows], left_out: tuple[str, ...]
) -> TrialSet:
    """Return the trials of rows of the key, with their scores."""
    of_key, of_scores = rows
    columns = {name: pick(column, of_key) for name, column in key.columns.items()}
    hidden = {*key.columns} & {*scores.columns} if key is not scores else set()
    for name, column in scores.columns.items():
        if name not in columns:
            columns[name] = pick(column, of_scores)
    notes = [key.notes] if key is scores else [key.notes, scores.notes]
    hidden -= {key.names.get("side")} & {scores.names.get("side")}  # they were joined on it
    notes += [
        f"left out: column {name} of the scores: the key has one too"
        for name in scores.order
        if name in hidden
    ]
    order = tuple(name for name in scores.order if name not in hidden)
    return TrialSet(
        pick(key.enroll, of_key),
        pick(key.test, of_key),
        pick(key.y_true, of_key),
        pick(scores.score, of_scores),
        columns,
        (*notes, *left_out, *taken_as_conditions(columns)),
        Source(scores.format, scores.names, scores.vocabulary, order),
    )


def least_memory(keys: Sequence[Path]) -> int:
    """Return about how many bytes the trials of keys and their scores take at least.

    Only text counts, which is not from a pipe: what else there is is 0.
    """
    return round(sum(map(estimated_lines, keys)) * _BYTES_PER_TRIAL)
