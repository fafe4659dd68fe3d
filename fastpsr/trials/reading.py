"""Read one file of trials: a key, or scores, or both."""

import os
from collections.abc import Mapping
from pathlib import Path

from fastpsr.trials.content import Reading
from fastpsr.trials.detect import detect
from fastpsr.trials.request import Request

__all__ = ["Reading", "read_file", "read_key", "read_scores"]


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
    >>> key.taken.split(": ", 1)[1]
    'kaldi-trials; column 1: enroll; column 2: test; column 3: label (target/nontarget)'
    """
    return read_file(path, Request("key", format, columns or {}, transpose))


def read_scores(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    transpose: bool | None = None,
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
    return read_file(path, Request("scores", format, columns or {}, transpose))


def read_file(path: str | os.PathLike[str], request: Request) -> Reading:
    """Read a file as requested."""
    format, sample = detect(Path(path), request)
    return format.read(Path(path), sample, request)
