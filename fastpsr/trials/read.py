"""Read a key and scores into trials."""

import os
from collections.abc import Mapping
from typing import Literal

from fastpsr.trials.coded import pick
from fastpsr.trials.join import Joined, Policies, join, keep_numbers
from fastpsr.trials.reading import Reading, read_file
from fastpsr.trials.trial_set import Source, TrialSet

__all__ = ["read"]

Path = str | os.PathLike[str]


def read(
    key: Path | Reading | None,
    scores: Path | Reading | None = None,
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
    """Read a trial key and a score file, and join them on (enroll, test).

    Parameters
    ----------
    key : path, Reading or None
        The key; or, without `scores`, a score file that has labels itself. None for scores that
        have no labels.
    scores : path or Reading, optional
        The scores, in any order.
    key_format, score_format : str, optional
        Names of the formats, to force them; by default they are detected from the content. Alone, a
        score file takes either.
    key_columns, score_columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs.
    transpose : bool, optional
        For HDF5 files with as many models as segments: whether the columns are models.
    missing : {"error", "drop"}
        What to do with trials of the key that have no score.
    extra : {"error", "ignore"}
        What to do with scores of no trial in the key.
    duplicates : {"error", "first"}
        What to do with trials that occur again, in the key or the scores. Labels that differ always
        are an error.
    nan : {"error", "drop"}
        What to do with scores that are nan.

    Returns
    -------
    TrialSet
        In the order of the key. Its `taken` says what was read and what was left out.

    Raises
    ------
    ValueError
        In one line: what is wrong with a file, and where; or all that does not fit between the two,
        counted and with examples.

    Notes
    -----
    Ids that are equal as text are the same; a file that names a `side` for each trial and another
    that does too are joined on it as well. Time and memory grow with the number of trials: about
    1.5 GB for 10 million of them.
    """
    policies = Policies(missing, extra, duplicates, nan)
    if scores is None:
        if key is None:
            raise ValueError("key or scores must be given")
        format, columns = key_format or score_format, key_columns or score_columns
        labelled = (
            key
            if isinstance(key, Reading)
            else read_file(key, "labelled scores", format, columns, transpose)
        )
        return _alone(labelled, policies, labelled=True)
    if not isinstance(scores, Reading):
        scores = read_file(scores, "scores", score_format, score_columns, transpose)
    if key is None:
        return _alone(scores, policies, labelled=False)
    if not isinstance(key, Reading):
        key = read_file(key, "key", key_format, key_columns, transpose)
    _check_classes(key)
    return _assemble(key, scores, join(key, scores, policies))


def _alone(scores: Reading, policies: Policies, *, labelled: bool) -> TrialSet:
    if scores.score is None:
        raise ValueError(f"{scores.path}: there are no scores")
    if labelled:
        _check_classes(scores)
    return _assemble(scores, scores, keep_numbers(scores, policies))


def _check_classes(key: Reading) -> None:
    if key.y_true is None:
        raise ValueError(f"{key.path}: there are no labels")
    if not key.y_true.any():
        raise ValueError(f"{key.path}: there are no targets among {len(key):,} trials")
    if key.y_true.all():
        raise ValueError(f"{key.path}: there are no non-targets among {len(key):,} trials")


def _assemble(key: Reading, scores: Reading, joined: Joined) -> TrialSet:
    rows, score_rows = joined.key_rows, joined.score_rows
    assert scores.score is not None
    columns = {name: pick(column, rows) for name, column in key.columns.items()}
    for name, column in scores.columns.items():
        if name not in columns:
            columns[name] = pick(column, score_rows)
    taken = (key.taken,) if key is scores else (key.taken, scores.taken)
    source = Source(scores.format, scores.names, scores.vocabulary)
    return TrialSet(
        None if key.enroll is None else key.enroll.pick(rows),
        None if key.test is None else key.test.pick(rows),
        None if key.y_true is None else key.y_true[rows],
        scores.score[score_rows],
        columns,
        (*taken, *joined.left_out),
        source,
    )
