"""Join a key and scores of any size into one Parquet file, in bounded memory."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from fastpsr.data.budget import memory_budget
from fastpsr.errors import ArgumentError
from fastpsr.files import check_place, whole_file
from fastpsr.ids import SPEAKER_COLUMNS
from fastpsr.optional import polars, pyarrow
from fastpsr.trials.joining.findings import Policies, check_ids
from fastpsr.trials.joining.in_order import WithIdsOf
from fastpsr.trials.joining.in_parts import Job, System
from fastpsr.trials.reading import (
    AnyPath,
    Progress,
    check_transpose,
    open_files,
)
from fastpsr.trials.roles import Label, Request
from fastpsr.trials.speakers import SpeakerFinder, taken_as_conditions
from fastpsr.trials.trial_file import RowsRead, TrialFile


@dataclass(frozen=True)
class JoinedFile:
    """Result of a join: the file and its content.

    Attributes
    ----------
    path : str
        The file.
    n_trials, n_targets : int
        Rows, and how many of them are targets.
    columns : tuple of str
        Names in the file.
    scores : dict of str
        Column of each score file, by its path.
    in_order : dict of bool
        By path, whether each score file lists the trials in the order of the key.
    notes : tuple of str
        Messages on how the columns of each file were interpreted, and what was left out.
    """

    path: str
    n_trials: int
    n_targets: int
    columns: tuple[str, ...]
    scores: dict[str, str]
    in_order: dict[str, bool]
    notes: tuple[str, ...]


def join(
    key: AnyPath | Sequence[AnyPath] | Mapping[Label, AnyPath],
    scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath],
    output: AnyPath,
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
) -> JoinedFile:
    r"""Join a trial key and score files of any size into one Parquet file.

    Parameters
    ----------
    key : path, list of paths, or dict of label to path
        The key, or several that make one. A dict has the ids of the trials "target" and
        "nontarget" in a file each, without labels.
    scores : path, list of paths, or dict of name to path
        A score file of each system.
    output : path
        The Parquet file to write. After an error it is not created.
    key_format, score_format, key_columns, score_columns, labels, transpose, in_order
        As for :func:`fastpsr.trials.read`.
    speakers : path or mapping of str to str, optional
        Speaker of each id: a file of lines ``id speaker``, or a mapping.
    speaker_columns : pair of str, optional
        Columns of the key with the speakers of models and segments.
    speaker_pattern : str or pair of str, optional
        Regular expression that is searched in each id; its first group, or else the whole match, is
        the speaker.
    missing, extra, duplicates, nan
        As for :func:`fastpsr.trials.read`. With several systems, a trial that is left out of one is
        left out of all.
    progress : callable, optional
        Called with (name of the step, rows done, approximate total number of rows).

    Returns
    -------
    JoinedFile

    Raises
    ------
    ValueError
        As :func:`fastpsr.trials.read`: if a file is invalid, or if key and scores do not match.
    OSError
        If the disk is full or cannot be written to.

    Notes
    -----
    Columns are ``target`` (boolean), the scores (``llr`` for one system; for several the name, or
    that of the file without its ending), ``enroll``, ``test``, ``enroll_speaker`` and
    ``test_speaker`` where speakers are known, and the other columns of the key. Rows are in the
    order of the key. :func:`fastpsr.scan_parquet` reads it.

    Scores in the key's order are joined as both are read, which compares all ids. Others are joined
    bucket by bucket of their ids, through temporary files beside `output`. Memory is bounded by
    ``FASTPSR_MEMORY`` and what the libraries take, about 0.3 GB; speakers are held by id.

    Examples
    --------
    >>> import pathlib, tempfile, fastpsr as fp
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "key").write_text("ann a target\nann b nontarget\nbob b target\n")
    >>> _ = (folder / "scores").write_text("bob b 1.5\nann b -3\nann a 2.5\n")
    >>> done = join(folder / "key", folder / "scores", folder / "trials.parquet")
    >>> done.n_trials, done.columns
    (3, ('target', 'llr', 'enroll', 'test'))
    >>> fp.EER()(fp.scan_parquet(folder / "trials.parquet"))
    0.0
    """
    policies = Policies(missing, extra, duplicates, nan)
    polars(), pyarrow()
    paths = _by_column(scores)
    check_place(output)
    request = Request("key", key_format, key_columns or {}, transpose, None, labels, "key_")
    of_key = open_files("key", key, request)
    _check_input("key", of_key)
    request = Request(
        "scores", score_format, score_columns or {}, transpose, None, labels, "score_"
    )
    files = [open_files("scores", path, request) for path in paths.values()]
    check_transpose(transpose, [of_key, *files])
    for path in (path for file in (of_key, *files) for path in file.paths):
        if os.path.realpath(path) == os.path.realpath(output):
            raise ArgumentError("output", f"must not be an input too: {output}")
    if in_order:
        files = [WithIdsOf(of_key, file) for file in files]
    for file in files:
        _check_input("scores", file)
    systems = [System(name, file) for name, file in zip(paths, files, strict=True)]
    finder = SpeakerFinder.of(speakers, speaker_columns, speaker_pattern)
    if finder is not None:
        finder.check_columns(of_key.conditions)
    budget = memory_budget()
    of_key.look()

    def tell(file: TrialFile) -> RowsRead | None:
        return None if progress is None else partial(progress, f"reading {file.path}")

    with whole_file(Path(output)) as part:
        while True:
            columns = _column_names([*paths], of_key, finder)
            job = Job(of_key, systems, columns, finder, policies, budget, tell)
            left_out = job.run(part)
            if columns == _column_names([*paths], of_key, finder):
                break  # else the first spoofed trials came late
    return JoinedFile(
        str(output),
        job.written.n_rows,
        job.written.n_targets,
        tuple(columns),
        {str(system.file.path): system.name for system in systems},
        {str(system.file.path): system.in_order for system in systems},
        (of_key.notes, *(s.file.notes for s in systems), *left_out, *_on_speakers(finder, columns)),
    )


def _by_column(scores: AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]) -> dict[str, AnyPath]:
    """Return score files by the names of their columns."""
    if isinstance(scores, Mapping):
        named = dict(scores)
    else:
        paths = [scores] if isinstance(scores, str | os.PathLike) else list(scores)
        seen: set[str] = set()
        for path in paths:
            real = os.path.realpath(path)
            if real in seen:
                raise ArgumentError("scores", f"must name each file once, but name {path} again")
            seen.add(real)
        named = {"llr": paths[0]} if len(paths) == 1 else _names_of_columns(paths)
    if not named:
        raise ArgumentError("scores", "must name at least one file")
    return named


_OWN_NAMES = ("target", "enroll", "test", *SPEAKER_COLUMNS)


def _names_of_columns(paths: Sequence[AnyPath]) -> dict[str, AnyPath]:
    """Name each by its stem; where this is another's or taken, by its name or the whole path."""
    stems = [Path(Path(path).name.removesuffix(".gz")).stem for path in paths]
    choices = [*zip(stems, (Path(path).name for path in paths), map(str, paths), strict=True)]
    names = [
        next(
            (word for rank, word in enumerate(words) if word not in _OWN_NAMES
             and [other[rank] for other in choices].count(word) == 1),
            words[-1],
        )
        for words in choices
    ]  # fmt: skip
    return dict(zip(names, paths, strict=True))


def _column_names(names: Sequence[str], key: TrialFile, finder: SpeakerFinder | None) -> list[str]:
    """Return the names of the file's columns, or raise where two are alike."""
    speakers = [] if finder is None else SPEAKER_COLUMNS
    own = ["target", *names, "enroll", "test", *speakers]
    named = () if finder is None else finder.columns or ()  # may have the names of the result's
    conditions = [name for name in key.conditions if not (name in speakers and name in named)]
    columns = [*own, *conditions]
    for name in columns:
        if columns.count(name) > 1:
            raise ValueError(
                f"names of columns must differ, but two of the result are {name!r}: "
                f"{', '.join(columns)}"
            )
    return columns


def _check_input(argument: str, file: TrialFile) -> None:
    if file.n_held > memory_budget():
        raise ValueError(
            f"{file.path} must be a regular file in UTF-8, as other text is held in memory and "
            f"this has {file.n_held:,} bytes: save it so, or raise FASTPSR_MEMORY"
        )
    has_ids = {"enroll", "test"} <= {*file.roles}
    check_ids(argument, file.path, file.format, has_ids=has_ids)


def _on_speakers(finder: SpeakerFinder | None, columns: Sequence[str]) -> tuple[str, ...]:
    if finder is not None:
        return (finder.note,)
    if {*SPEAKER_COLUMNS} <= {*columns}:  # which are speakers to those who read
        return ()
    return taken_as_conditions(columns, "speaker_columns={}")
