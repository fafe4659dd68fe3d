"""Several files as one: keys in turn, or the targets and the non-targets of a list."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded
from fastpsr.trials.optional import polars
from fastpsr.trials.reading import Progress, Reading, collect, open_file
from fastpsr.trials.request import CLASSES, Request
from fastpsr.trials.trial_file import TrialFile, TrialFiles

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = ["concatenated", "read_classes"]


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
    files = [
        open_file(path, Request(of, format, label=label))
        for label, path in zip(CLASSES, (targets, nontargets), strict=True)
    ]
    return collect(TrialFiles(files), progress)


def concatenated(readings: Sequence[Reading]) -> Reading:
    """Return the trials of several files in turn, with the columns that all of them have.

    Raises
    ------
    ValueError
        If only some have ids, or a column holds text here and numbers there.
    """
    if len(readings) == 1:
        return readings[0]
    return collect(TrialFiles([HeldFile(reading) for reading in readings]))


class HeldFile(TrialFile):
    """A file that is in memory."""

    def __init__(self, reading: Reading) -> None:
        self.path, self.format, self.columns = Path(reading.path), reading.format, reading.order
        self._reading, self.names_columns = reading, bool(reading.names)
        has = {**reading.ids, "label": reading.y_true, "score": reading.score}
        self.roles = {r: reading.names.get(r, r) for r, column in has.items() if column is not None}
        if "side" in reading.names:
            self.roles["side"] = reading.names["side"]
        self.conditions = [*reading.columns]
        self.has_places = reading.where is not None
        self.n_rows = len(reading)

    @property
    def vocabulary(self) -> str | None:
        return self._reading.vocabulary

    @property
    def notes(self) -> str:
        return self._reading.taken

    def frames(self, n_bytes: int | None = None, **options: Any) -> "Iterator[DataFrame]":
        """Yield all rows at once."""
        pl, reading = polars(), self._reading
        own = {**reading.ids, "label": reading.y_true, "score": reading.score}
        if "side" in self.roles:
            own["side"] = reading.columns[self.roles["side"]]
        own |= {f":{name}": column for name, column in reading.columns.items()}
        frame = pl.DataFrame(
            {
                name: c.series() if isinstance(c, Coded) else c
                for name, c in own.items()
                if c is not None
            }
        )
        yield frame.with_columns(pl.col("label").cast(pl.Boolean)) if "label" in frame else frame

    def where(self, rows: Sequence[int]) -> list[str]:
        assert self._reading.where is not None
        return self._reading.where(rows)

    def _pieces(self, n_bytes: int | None) -> Iterator[Any]:
        raise NotImplementedError

    def _split(self, piece: Any, text: Any) -> "DataFrame":
        raise NotImplementedError
