"""Read a key and scores into trials."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, pick
from fastpsr.trials.detect import is_of_matrices
from fastpsr.trials.join_in_memory import Joined, Rows, join, keep_numbers
from fastpsr.trials.policies import Policies
from fastpsr.trials.reading import Reading, read_file
from fastpsr.trials.request import Request, Wanted
from fastpsr.trials.several import concatenated
from fastpsr.trials.speakers import AS_SPEAKERS, taken_as_conditions
from fastpsr.trials.trial_set import Source, TrialSet
from fastpsr.wording import counted

__all__ = ["read"]

AnyPath = str | os.PathLike[str]


def read(
    key: AnyPath | Reading | Sequence[AnyPath | Reading] | None,
    scores: AnyPath | Reading | None = None,
    *,
    key_format: str | None = None,
    score_format: str | None = None,
    key_columns: Mapping[str, str] | None = None,
    score_columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
    missing: Literal["error", "drop"] = "error",
    extra: Literal["error", "ignore"] = "error",
    duplicates: Literal["error", "first"] = "error",
    nan: Literal["error", "drop"] = "error",
) -> TrialSet:
    r"""Read a trial key and a score file, and join them on (enroll, test).

    Parameters
    ----------
    key : path, Reading, list of these, or None
        The key, or several that make one; or, without `scores`, a score file with labels. None for
        scores without labels.
    scores : path or Reading, optional
        The scores, in any order.
    key_format, score_format : str, optional
        Names of the formats, to force them; by default they are detected from the content. Alone, a
        score file takes either.
    key_columns, score_columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs.
    transpose : bool, optional
        For HDF5 files with as many models as segments: whether the columns are models. It is for
        both files if both are HDF5; :func:`read_key` and :func:`read_scores` take it apart.
    missing : {"error", "drop"}
        What to do with trials of the key that have no score.
    extra : {"error", "ignore"}
        What to do with scores of no trial in the key.
    duplicates : {"error", "first"}
        What to do with trials that occur twice, in the key or the scores. Different labels of the
        same trial are always an error.
    nan : {"error", "drop"}
        What to do with scores that are nan.

    Returns
    -------
    TrialSet
        In the order of the key. Its attribute `taken` describes how the columns were interpreted
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
    alone = scores is None
    if alone:
        if not (key is None or isinstance(key, Reading | str | os.PathLike)):
            raise ArgumentError("key", "must be one file of scores with labels, not a list")
        key, scores = None, key
        score_format, score_columns = key_format or score_format, key_columns or score_columns
    if scores is None:
        raise ArgumentError("scores", "must be given", name="key or scores")
    wanted: Wanted = "labeled scores" if alone else "scores"
    given = isinstance(scores, Reading)
    if key is None:
        request = Request(wanted, score_format, score_columns or {}, transpose, prefix="score_")
        scores = _read(scores, request)
    else:
        keys = [key] if isinstance(key, Reading | str | os.PathLike) else [*key]
        if not keys:
            raise ArgumentError("key", "must name at least one file")
        *turns, transpose = _of_hdf5(transpose, *keys, scores)
        key = concatenated(
            [
                _read(each, Request("key", key_format, key_columns or {}, turn, prefix="key_"))
                for each, turn in zip(keys, turns, strict=True)
            ]
        )
        request = Request(wanted, score_format, score_columns or {}, transpose, prefix="score_")
        with ThreadPoolExecutor(1) as beside:  # what the join needs of the key
            beside.submit(lambda: key.hashes)
            scores = _read(scores, request, key.ids)
    if scores.score is None:
        raise ValueError(f"{scores.path}: there are no scores")
    if key is not None:
        _check_classes(key)
        return _assemble(key, scores, join(key, scores, policies), given=given)
    if alone:
        _check_classes(scores)
    return _assemble(scores, scores, keep_numbers(scores, policies), given=given)


def _of_hdf5(transpose: bool | None, *files: AnyPath | Reading) -> list[bool | None]:
    """Return `transpose` for each file that is HDF5; for all if none is, to be refused."""
    if transpose is None:
        return [None] * len(files)
    are = [not isinstance(f, Reading) and is_of_matrices(Path(f)) for f in files]
    return [transpose if is_hdf5 or not any(are) else None for is_hdf5 in are]


def _read(
    file: AnyPath | Reading, request: Request, known: Mapping[str, Coded] | None = None
) -> Reading:
    if not isinstance(file, Reading):
        return read_file(file, request, known=known)
    if request.format or request.columns or request.transpose is not None:
        raise ArgumentError(
            f"{request.prefix}format",
            f"say how to read a file, and {file.path} was read before",
            name=f"{request.prefix}format, {request.prefix}columns and transpose",
        )
    return file


def _check_classes(key: Reading) -> None:
    if key.y_true is None:
        raise ValueError(f"{key.path}: there are no labels")
    if not key.y_true.any():
        raise ValueError(f"{key.path}: there are no targets among {counted(len(key), 'trial')}")
    if key.y_true.all():
        raise ValueError(f"{key.path}: there are no non-targets among {counted(len(key), 'trial')}")


def _assemble(key: Reading, scores: Reading, joined: Joined, *, given: bool) -> TrialSet:
    rows, score_rows = _picked(joined.key_rows, key), _picked(joined.score_rows, scores)
    assert scores.score is not None
    score = scores.score[score_rows]
    columns = {name: pick(column, rows) for name, column in key.columns.items()}
    for name, column in scores.columns.items():
        if name not in columns:
            columns[name] = pick(column, score_rows)
    taken = (key.taken,) if key is scores else (key.taken, scores.taken)
    hidden = set() if key is scores else {*key.columns} & {*scores.columns}
    hidden -= {key.names.get("side")} & {scores.names.get("side")}  # they were joined on it
    order = tuple(name for name in scores.order if name not in hidden)
    source = Source(scores.format, scores.names, scores.vocabulary, order)
    for name in scores.order:
        if name in hidden:
            taken = (*taken, f"left out: column {name} of the scores: the key has one too")
    return TrialSet(
        None if key.enroll is None else key.enroll.pick(rows),
        None if key.test is None else key.test.pick(rows),
        None if key.y_true is None else np.array(key.y_true[rows]),
        np.array(score) if given else np.require(score, requirements="W"),
        columns,
        (*taken, *joined.left_out, *taken_as_conditions(columns, AS_SPEAKERS)),
        source,
    )


def _picked(rows: Rows, reading: Reading) -> Rows:
    """Return a slice if these are all rows in their order: then strings need not be coded."""
    if isinstance(rows, slice) or rows.size < len(reading):
        return rows
    return slice(None) if np.array_equal(rows, np.arange(len(reading))) else rows
