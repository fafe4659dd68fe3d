"""Read files into memory; several as one: keys in turn, or the two classes of a list."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from fastpsr.errors import ArgumentError
from fastpsr.trials.detect import is_of_matrices
from fastpsr.trials.reading import Progress, Reading, collect, open_file, read_file
from fastpsr.trials.request import CLASSES, Label, Request, Wanted
from fastpsr.trials.trial_file import TrialFile, TrialFiles

AnyPath = str | os.PathLike[str]
#: A file, several that make one, or those of both classes.
Files = AnyPath | Reading | Sequence[AnyPath | Reading] | Mapping[Label, AnyPath]

_WITHOUT_LABELS: dict[Wanted, Wanted] = {
    "key": "pairs", "pairs": "pairs", "scores": "scores", "labeled scores": "scores",
}  # fmt: skip


def read_key(
    path: Files,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
    progress: Progress | None = None,
) -> Reading:
    r"""Read a trial key: pairs of ids with labels.

    Parameters
    ----------
    path : path, list of paths, or dict of label to path
        The file; text may be compressed by gzip. Several make one key, and a dict has the ids of
        the trials "target" and "nontarget" in a file each.
    format : str, optional
        Name of the format; by default it is detected from the content.
    columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs; by
        default usual names are looked for.
    transpose : bool, optional
        For HDF5 files with as many models as segments: whether the columns are models.
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
    files = files_of("path", path)
    turns = transposes(transpose, [file for file, _ in files])
    return collect(open_as_one(files, Request("key", format, columns or {}), turns), progress)


def read_scores(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
    progress: Progress | None = None,
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
    return read_file(path, Request("scores", format, columns or {}, transpose), progress)


def read_classes(
    targets: str | os.PathLike[str],
    nontargets: str | os.PathLike[str],
    *,
    of: Literal["scores", "pairs"] = "scores",
    format: str | None = None,
    progress: Progress | None = None,
) -> Reading:
    r"""Read the targets and the non-targets of a list, which are in two files.

    Parameters
    ----------
    targets, nontargets : path
        Files without labels, of one kind.
    of : {"scores", "pairs"}
        Scores: one number a line, or any score file. Pairs: the ids of trials, two a line, which
        make a key.
    format : str, optional
        Name of the format of both; by default it is detected from the content.
    progress : callable, optional
        Called with (name of the step, rows done, approximate total number of rows).

    Returns
    -------
    Reading
        The targets, then the non-targets, with labels. :func:`fastpsr.trials.read` takes it: pairs
        as its key, scores in place of both its files.

    Raises
    ------
    ValueError
        As :func:`read_scores` does; or if a file has labels, or only one of them has ids.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fastpsr import trials
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = pathlib.Path(folder, "targets"), pathlib.Path(folder, "impostors")
    ...     _ = one.write_text("2.5\n0.5\n"), other.write_text("-3\n")
    ...     found = trials.read(read_classes(one, other))
    >>> found.score.tolist(), found.y_true.tolist()
    ([2.5, 0.5, -3.0], [1, 1, 0])
    """
    if of not in ("scores", "pairs"):
        raise ArgumentError("of", f"must be 'scores' or 'pairs', not {of!r}")
    files = [*zip((targets, nontargets), CLASSES, strict=True)]
    return collect(open_as_one(files, Request(of, format)), progress)


def files_of(argument: str, given: Files) -> list[tuple[AnyPath | Reading, Label | None]]:
    """Return the files that an argument names, each with the label of all its trials."""
    if isinstance(given, Mapping):
        if {*given} != {*CLASSES}:
            found = ", ".join(map(repr, given)) or "none"
            rule = f"must have files of 'target' and 'nontarget', not {found}"
            raise ArgumentError(argument, rule)
        return [(path, label) for label, path in given.items()]
    files = [given] if isinstance(given, Reading | str | os.PathLike) else [*given]
    if not files:
        raise ArgumentError(argument, "must name at least one file")
    return [(file, None) for file in files]


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
        wanted = request.wanted if label is None else _WITHOUT_LABELS[request.wanted]
        opened.append(open_file(file, replace(request, wanted=wanted, label=label, transpose=turn)))
    return opened[0] if len(opened) == 1 else TrialFiles(opened)


def transposes(transpose: bool | None, files: Sequence[AnyPath | Reading]) -> list[bool | None]:
    """Return `transpose` for each file that is HDF5; for all if none is, to be refused."""
    if transpose is None:
        return [None] * len(files)
    are = [not isinstance(f, Reading) and is_of_matrices(Path(f)) for f in files]
    return [transpose if is_hdf5 or not any(are) else None for is_hdf5 in are]
