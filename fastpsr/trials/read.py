"""Read a key and scores into trials."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Literal

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, pick
from fastpsr.trials.joining.findings import (
    Policies,
    Verdict,
    check_as_many,
    check_classes,
    check_ids,
    check_without_ids,
)
from fastpsr.trials.joining.key_and_scores import KeyAndScores, Part, Rows, keep_numbers
from fastpsr.trials.joining.matching import distinct_hashes
from fastpsr.trials.reading import Progress, Reading, collect
from fastpsr.trials.request import Label, Request, Wanted
from fastpsr.trials.several import AnyPath, Files, files_of, open_as_one, transposes
from fastpsr.trials.speakers import AS_SPEAKERS, SpeakerFinder, taken_as_conditions
from fastpsr.trials.trial_set import Source, TrialSet


def read(
    key: Files | None,
    scores: AnyPath | Reading | None = None,
    *,
    key_format: str | None = None,
    score_format: str | None = None,
    key_columns: Mapping[str, str] | None = None,
    score_columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
    in_order: bool = False,
    speakers: AnyPath | Mapping[str, str] | None = None,
    speaker_columns: tuple[str, str] | None = None,
    speaker_pattern: str | tuple[str, str] | None = None,
    missing: Literal["error", "drop"] = "error",
    extra: Literal["error", "ignore"] = "error",
    duplicates: Literal["error", "first"] = "error",
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
    key_format, score_format : str, optional
        Names of the formats, to force them; by default they are detected from the content. Alone, a
        score file takes either.
    key_columns, score_columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs.
    transpose : bool, optional
        For HDF5 files with as many models as segments: whether the columns are models. It is for
        both files if both are HDF5; :func:`read_key` and :func:`read_scores` take it apart.
    in_order : bool
        Whether the scores have no ids and are those of the key's trials in its order. There must
        be as many.
    speakers : path or mapping of str to str, optional
        Speaker of each id: a file of lines ``id speaker``, or a mapping.
    speaker_columns : pair of str, optional
        Columns with the speakers of models and segments.
    speaker_pattern : str or pair of str, optional
        Regular expression that is searched in each id; its first group, or else the whole match, is
        the speaker. As :meth:`TrialSet.with_speakers` has it.
    missing : {"error", "drop"}
        What to do with trials of the key that have no score.
    extra : {"error", "ignore"}
        What to do with scores of no trial in the key. Those of a full matrix (HDF5) are left out
        in any case, since it has scores of all pairs.
    duplicates : {"error", "first"}
        What to do with trials that occur twice, in the key or the scores. Different labels of the
        same trial are always an error.
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
    finder = SpeakerFinder.of(speakers, speaker_columns, speaker_pattern)
    wanted: Wanted = "scores"
    if scores is None:
        if not (key is None or isinstance(key, Reading | Mapping | str | os.PathLike)):
            raise ArgumentError("key", "must be one file of scores with labels, not a list")
        wanted, key, scores = "labeled scores", None, key
        score_format, score_columns = key_format or score_format, key_columns or score_columns
    if scores is None:
        raise ArgumentError("scores", "must be given", name="key or scores")
    key_files = [] if key is None else files_of("key", key)
    score_files = files_of("scores", scores)
    turns = transposes(transpose, [file for file, _ in (*key_files, *score_files)])
    n_keys = len(key_files)
    of_key = of_scores = None
    if key_files:
        request = Request("key", key_format, key_columns or {}, prefix="key_")
        of_key = _read(key_files, request, turns[:n_keys], progress)
    request = Request(wanted, score_format, score_columns or {}, prefix="score_")
    with ThreadPoolExecutor(1) as beside:
        if of_key is not None:
            beside.submit(lambda: of_key.hashes)  # what the join needs of the key
        known = None if of_key is None else of_key.ids
        of_scores = _read(score_files, request, turns[n_keys:], progress, known)
    if in_order:
        of_scores = _in_order(of_key, of_scores)
    made = _joined(of_key, of_scores, wanted, policies, given=isinstance(scores, Reading))
    return made if finder is None else made.with_found(finder)


def _read(
    files: Sequence[tuple[AnyPath | Reading, Label | None]],
    request: Request,
    turns: Sequence[bool | None],
    progress: Progress | None,
    known: Mapping[str, Coded] | None = None,
) -> Reading:
    """Read files that are one."""
    for (file, _), turn in zip(files, turns, strict=True):
        if isinstance(file, Reading):
            if request.format or request.columns or turn is not None:
                raise ArgumentError(
                    f"{request.prefix}format",
                    f"say how to read a file, and {file.path} was read before",
                    name=f"{request.prefix}format, {request.prefix}columns and transpose",
                )
            if len(files) == 1:
                return file
    return collect(open_as_one(files, request, turns), progress, known)


def _in_order(key: Reading | None, scores: Reading) -> Reading:
    """Return scores without ids with those of the key."""
    if key is None:
        raise ArgumentError("in_order", "is for scores in the order of a key: give the key, too")
    check_without_ids(scores.path, has_ids=bool(scores.ids))
    check_as_many(scores.path, len(scores), key.path, len(key))
    side = {role: name for role, name in key.names.items() if role == "side"}
    columns = {name: key.columns[name] for name in side.values()}
    return replace(
        scores,
        enroll=key.enroll,
        test=key.test,
        columns=columns | scores.columns,
        names=side | scores.names,
    )


def _joined(
    key: Reading | None, scores: Reading, wanted: Wanted, policies: Policies, *, given: bool
) -> TrialSet:
    """Join what was read, and check that there are both classes."""
    if scores.score is None:
        raise ValueError(f"{scores.path}: there are no scores")
    labeled = scores if key is None else key
    if key is not None or wanted == "labeled scores":
        if labeled.y_true is None:
            raise ValueError(f"{labeled.path}: there are no labels")
        check_classes(labeled.path, int(labeled.y_true.sum()), len(labeled))
    if key is None:
        part = _part("scores", scores, with_side="side" in scores.names)
        rows, left_out = keep_numbers(part, scores.file, policies)
        return _assemble(labeled, scores, rows, rows, left_out, given=given)
    both_sides = "side" in key.names and "side" in scores.names
    part_of_key = _part("key", key, with_side=both_sides, joined=True)
    part_of_scores = _part("scores", scores, with_side=both_sides, joined=True)
    findings = KeyAndScores(key.file, scores.file)
    hashes = distinct_hashes(part_of_key.ids) if both_sides else key.hashes
    joined = findings.join(part_of_key, part_of_scores, hashes)
    findings.check_common()
    left_out = Verdict.settle(key.path, {scores.path: findings.verdict(policies)})
    findings.check_numbers()
    return _assemble(key, scores, *joined, left_out, given=given)


def _part(argument: str, reading: Reading, *, with_side: bool, joined: bool = False) -> Part:
    """Return all rows; raise if they are joined, or have one id, and not both ids."""
    ids = [*reading.ids.values()]
    if joined or ids:
        check_ids(argument, reading.path, reading.format, has_ids=len(ids) == 2)
    if with_side and ids:
        side = reading.columns[reading.names["side"]]
        assert isinstance(side, Coded)
        ids.append(side)
    label = None if reading.y_true is None else reading.y_true.view(bool)
    return Part(ids, label, reading.score)


def _assemble(
    key: Reading,
    scores: Reading,
    key_rows: Rows,
    rows_of_scores: Rows,
    left_out: tuple[str, ...],
    *,
    given: bool,
) -> TrialSet:
    """Return the trials of rows of the key, with their scores."""
    rows, score_rows = _picked(key_rows, key), _picked(rows_of_scores, scores)
    assert scores.score is not None
    score = scores.score[score_rows]
    columns = {name: pick(column, rows) for name, column in key.columns.items()}
    for name, column in scores.columns.items():
        if name not in columns:
            columns[name] = pick(column, score_rows)
    taken = (key.notes,) if key is scores else (key.notes, scores.notes)
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
        (*taken, *left_out, *taken_as_conditions(columns, AS_SPEAKERS)),
        source,
    )


def _picked(rows: Rows, reading: Reading) -> Rows:
    """Return a slice if these are all rows in their order: then strings need not be coded."""
    if isinstance(rows, slice) or rows.size < len(reading):
        return rows
    return slice(None) if np.array_equal(rows, np.arange(len(reading))) else rows
