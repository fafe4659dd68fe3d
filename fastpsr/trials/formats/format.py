"""What a format of trial files has to offer."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError
from fastpsr.optional import polars
from fastpsr.tables.sample import Sample
from fastpsr.trials.coded import Coded
from fastpsr.trials.labels import KIND, WITH_SPOOF
from fastpsr.trials.roles import Request
from fastpsr.trials.trial_file import TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame

WrittenColumns = dict[str, Coded | NDArray[Any]]


@dataclass(frozen=True)
class Format(ABC):
    """A format of trial files; those that differ only in their columns share a name.

    Attributes
    ----------
    name : str
        What ``format=`` calls it.
    endings : tuple of str
        Endings of file names that promise it, or one of the formats that share them.
    roles : tuple of str
        Roles of the columns from left to right, for files that do not name theirs; else empty.
    words : str
        The vocabulary of labels to write, where the scores had none.
    """

    name: str
    endings: tuple[str, ...]
    roles: tuple[str, ...] = ()
    words: str = "target/nontarget"

    #: What the first bytes of files say.
    kind: ClassVar[str] = "text"
    #: Names of the columns to write, by role, if the scores did not come in this format.
    usual_names: ClassVar[Mapping[str, str]] = {
        "enroll": "enroll", "test": "test", "side": "side", "score": "llr", "label": "label"
    }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name} ({' '.join(self.roles)})" if self.roles else self.name

    @property
    def names_columns(self) -> bool:
        """Whether columns have names in the file, which the caller may choose from."""
        return not self.roles and self.kind != "HDF5"

    @property
    def holds_scores(self) -> bool:
        """Whether scores can be written in this format."""
        return not self.roles or "score" in self.roles

    @abstractmethod
    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        """Return a file, with nothing but its names read yet."""

    @abstractmethod
    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        """Write scores of trials; text through gzip if the name ends in .gz."""

    def columns(self, trials: TrialSet, scores: NDArray[np.float64]) -> WrittenColumns:
        """Return the columns to write in their order, by the names to write."""
        source = trials.source
        if source.format == self.name and source.columns:
            roles = {column: role for role, column in source.names.items()}
            written_as = [(roles.get(column, column), column) for column in source.columns]
        else:
            usual = dict(self.usual_names)
            if trials.y_true is None:
                usual.pop("label", None)
            written_as = [(role, role) for role in self.roles] or list(usual.items())
        columns: WrittenColumns = {}
        for role, written in written_as:
            if role in ("enroll", "test"):
                columns[written] = trials.ids[role == "test"]
            elif role == "score":
                columns[written] = scores
            elif role == "label":
                columns[written] = self._labels(trials)
            elif written in trials.columns:  # the side, where there is one, and conditions
                columns[written] = trials.columns[written]
        return columns

    def _labels(self, trials: TrialSet) -> Coded:
        if trials.y_true is None:
            raise ArgumentError("format", f"{self.name} holds labels, and these trials have none")
        vocabulary = trials.source.format == self.name and trials.source.vocabulary
        kind = trials.columns.get(KIND)
        if vocabulary == WITH_SPOOF and isinstance(kind, Coded):
            return kind
        target, nontarget, *_ = (vocabulary or self.words).split("/")
        codes = trials.y_true.astype(np.int32)
        names = [nontarget, target] if nontarget < target else [target, nontarget]
        return Coded(codes if nontarget < target else 1 - codes, polars().Series(names))


def frame_of(columns: WrittenColumns) -> "DataFrame":
    """Return columns as a data frame."""
    frame: DataFrame = polars().DataFrame(
        {name: c.series() if isinstance(c, Coded) else c for name, c in columns.items()}
    )
    return frame
