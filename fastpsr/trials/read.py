"""Read keys and scores: each alone, or joined into trials."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, pick
from fastpsr.trials.joining.findings import Policies, check_classes, check_ids, settle
from fastpsr.trials.joining.in_order import WithIdsOf
from fastpsr.trials.joining.key_and_scores import JoinedRows, KeyAndScores, Part
from fastpsr.trials.reading import (
    AnyPath,
    Files,
    Progress,
    Reading,
    check_transpose,
    collect,
    open_files,
    read_file,
)
from fastpsr.trials.roles import Label, Request, Wanted
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
    labels: Mapping[Label, str] | None = None,
    transpose: bool | None = None,
    in_order: bool = False,
    speakers: AnyPath | Mapping[str, str] | None = None,
    speaker_columns: tuple[str, str] | None = None,
    speaker_pattern: str | tuple[str, str] | None = None,
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
    key_format, score_format : str, optional
        Names of the formats, to force them; by default they are detected from the content. Alone, a
        score file takes either.
    key_columns, score_columns : mapping of str to str, optional
        Names of columns by role (enroll, test, label, score, side), for files that name theirs.
    labels : mapping of str to str, optional
        The words for "target" and for "nontarget", where they are none of the usual ones.
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
    finder = SpeakerFinder.of(speakers, speaker_columns, speaker_pattern)
    wanted: Wanted = "scores"
    if scores is None:
        if not (key is None or isinstance(key, Reading | Mapping | str | os.PathLike)):
            raise ArgumentError("key", "must be one file of scores with labels, not a list")
        wanted, key, scores = "labeled scores", None, key
        score_format, score_columns = key_format or score_format, key_columns or score_columns
    if scores is None:
        raise ArgumentError("scores", "must be given", name="key or scores")
    of_key = None
    request = Request("key", key_format, key_columns or {}, transpose, None, labels, "key_")
    key_file = None if key is None else open_files("key", key, request)
    request = Request(wanted, score_format, score_columns or {}, transpose, None, labels, "score_")
    file = open_files("scores", scores, request)
    check_transpose(transpose, [file] if key_file is None else [key_file, file])
    if in_order:
        if key_file is None:
            rule = "is for scores in the order of a key: give the key, too"
            raise ArgumentError("in_order", rule)
        file = WithIdsOf(key_file, file)
    if key_file is not None:
        of_key = key if isinstance(key, Reading) else collect(key_file, progress)
    with ThreadPoolExecutor(1) as pool:
        if of_key is not None:
            pool.submit(lambda: of_key.hashed)  # which the join needs
        if isinstance(scores, Reading) and not in_order:
            of_scores = scores
        else:
            of_scores = collect(file, progress, None if of_key is None else of_key.ids)
    trials = _joined(of_key, of_scores, wanted, policies)
    return trials if finder is None else trials.with_found(finder)


def read_key(
    path: Files,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[Label, str] | None = None,
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
    request = Request("key", format, columns or {}, transpose, words=labels)
    return read_file(path, request, progress)


def read_scores(
    path: AnyPath,
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
    targets: AnyPath,
    nontargets: AnyPath,
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
    files: dict[Label, AnyPath] = {"target": targets, "nontarget": nontargets}
    return read_file(files, Request(of, format), progress)


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
    with_side = bool(labeled.ids) and "side" in labeled.names and "side" in scores.names
    part, part_of_scores = _part(labeled, with_side), _part(scores, with_side)
    findings = KeyAndScores(labeled.file, scores.file, policies)
    if part.ids:
        joined = findings.join(part, part_of_scores, None if with_side else labeled.hashed)
        findings.check_common()
    else:
        joined = findings.join_in_order(part, part_of_scores)
    left_out = settle(labeled.path, {scores.path: findings.verdict()})
    findings.check_numbers()
    return _assemble(labeled, scores, joined, left_out)


def _part(reading: Reading, with_side: bool) -> Part:
    """Return all rows."""
    ids = [*reading.ids.values()]
    if with_side:
        side = reading.columns[reading.names["side"]]
        assert isinstance(side, Coded)
        ids.append(side)
    label = None if reading.y_true is None else reading.y_true.view(bool)
    return Part(ids, label, reading.score)


def _assemble(
    key: Reading, scores: Reading, rows: JoinedRows, left_out: tuple[str, ...]
) -> TrialSet:
    """Return the trials of rows of the key, with their scores."""
    columns = {name: pick(column, rows.key) for name, column in key.columns.items()}
    hidden = {*key.columns} & {*scores.columns} if key is not scores else set()
    for name, column in scores.columns.items():
        if name not in columns:
            columns[name] = pick(column, rows.scores)
    notes = [key.notes] if key is scores else [key.notes, scores.notes]
    hidden -= {key.names.get("side")} & {scores.names.get("side")}  # they were joined on it
    notes += [
        f"left out: column {name} of the scores: the key has one too"
        for name in scores.order
        if name in hidden
    ]
    order = tuple(name for name in scores.order if name not in hidden)
    return TrialSet(
        pick(key.enroll, rows.key),
        pick(key.test, rows.key),
        pick(key.y_true, rows.key),
        pick(scores.score, rows.scores),
        columns,
        (*notes, *left_out, *taken_as_conditions(columns, AS_SPEAKERS)),
        Source(scores.format, scores.names, scores.vocabulary, order),
    )
