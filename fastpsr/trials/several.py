"""Several files as one: keys in turn, or the targets and the non-targets of a list."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded, Column, recode
from fastpsr.trials.optional import polars
from fastpsr.trials.reading import Reading, read_file
from fastpsr.trials.request import Request, Wanted
from fastpsr.wording import counted

__all__ = ["concatenated", "read_classes"]


def read_classes(
    targets: str | os.PathLike[str],
    nontargets: str | os.PathLike[str],
    *,
    of: Wanted = "scores",
    format: str | None = None,
    progress: Callable[[str, int, int], object] | None = None,
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
    readings = []
    for label, path in ((1, targets), (0, nontargets)):
        found = read_file(path, Request(of, format, progress=progress))
        if found.y_true is not None:
            raise ValueError(
                f"{found.path} has labels ({found.vocabulary}): targets and non-targets in two "
                "files have none; read it on its own"
            )
        y_true = np.full(len(found), label, np.uint8)
        said = f"{found.taken}; all are {('non-targets', 'targets')[label]}"
        readings.append(replace(found, y_true=y_true, taken=said))
    return concatenated(readings)


def concatenated(readings: Sequence[Reading]) -> Reading:
    """Return the trials of several files in turn, with the columns that all of them have.

    Raises
    ------
    ValueError
        If only some have ids, or a column holds text here and numbers there.
    """
    first = readings[0]
    if len(readings) == 1:
        return first
    for other in readings[1:]:
        if (other.enroll is None) != (first.enroll is None):
            bare, full = (other, first) if other.enroll is None else (first, other)
            raise ValueError(f"{full.path} has ids of trials, and {bare.path} has none")
    shared = [name for name in first.columns if all(name in r.columns for r in readings)]
    lost = [
        f"left out: column {name} of {reading.path}, which others lack"
        for reading in readings
        for name in reading.columns
        if name not in shared
    ]
    ends = np.cumsum([len(reading) for reading in readings])

    def where(rows: Sequence[int]) -> list[str]:
        places = []
        for row in rows:
            k = int(np.searchsorted(ends, row, side="right"))
            of_file = readings[k].where
            inside = row - (int(ends[k - 1]) if k else 0)
            places.append(readings[k].path if of_file is None else of_file([inside])[0])
        return places

    def stacked(role: str) -> Column | None:
        parts = [getattr(reading, role) for reading in readings]
        return None if any(part is None for part in parts) else _stacked(parts, readings, role)

    names = {
        role: name
        for role, name in first.names.items()
        if all(reading.names.get(role) == name for reading in readings)
    }
    made = {role: stacked(role) for role in ("enroll", "test", "y_true", "score")}
    return replace(
        first,
        path=" and ".join(reading.path for reading in readings),
        taken="\n".join([*(reading.taken for reading in readings), *lost]),
        columns={
            name: _stacked([r.columns[name] for r in readings], readings, name) for name in shared
        },
        names=names,
        where=where,
        **made,  # type: ignore[arg-type]
    )


def _stacked(parts: Sequence[Column], readings: Sequence[Reading], name: str) -> Column:
    """Return columns one below the other."""
    coded = [part for part in parts if isinstance(part, Coded)]
    if not coded:
        return np.concatenate([part for part in parts if not isinstance(part, Coded)])
    if len(coded) < len(parts):
        text = next(r.path for r, p in zip(readings, parts, strict=True) if isinstance(p, Coded))
        raise ValueError(
            f"column {name} is text in {text} and numbers elsewhere: of "
            f"{counted(len(parts), 'file')} it must be of one kind"
        )
    uncoded = [part.uncoded for part in coded if part.uncoded is not None]
    if len(uncoded) == len(parts):
        return Coded.of(polars().concat(uncoded))
    names = polars().concat([part.names for part in coded]).unique().sort()
    codes = np.concatenate([recode(part, names) for part in coded])
    return Coded(codes.astype(np.int32), names)
