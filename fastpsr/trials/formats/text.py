"""Text: the format says what each column is, or a header line names the columns."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError, counted
from fastpsr.optional import polars
from fastpsr.tables.sample import Sample
from fastpsr.tables.text import Piece, TextFile, header_of
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Format, frame_of
from fastpsr.trials.roles import NORM_COLUMNS, ROLES, Request, check_roles, find_roles
from fastpsr.trials.trial_file import PieceFile, TrialFile, Where
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Text(Format):
    """Columns of text.

    Attributes
    ----------
    separator : str
        What is between columns: a comma, a tab, or "" for runs of blanks and tabs.
    """

    separator: str = ""

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        return _TrialText(path, self, sample, request)

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        columns = self.columns(trials, scores)
        if self.separator != ",":
            forbidden = "[\t\r\n]" if self.separator else r"[ \t\r\n]"
            for column in columns.values():
                if isinstance(column, Coded):
                    self._check_ids(column, forbidden)
        options: Any = {
            "separator": self.separator or " ",
            "include_header": not self.roles,
            "quote_style": "necessary" if self.separator == "," else "never",
        }
        frame = frame_of(columns)
        if path.suffix == ".gz":
            with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, 0) as packed:
                frame.write_csv(packed, **options)  # type: ignore[call-overload]
        else:
            frame.write_csv(path, **options)

    def _check_ids(self, column: Coded, forbidden: str) -> None:
        """Raise where an id has what separates columns."""
        names = column.names
        wrong = names.filter(names.str.contains(forbidden) | (names == ""))
        if len(wrong):
            raise ArgumentError(
                "format",
                f"{self.name} cannot hold {counted(len(wrong), 'id')} with blanks, tabs or nothing "
                f"in them, such as {wrong[0]!r}",
            )


@dataclass(frozen=True)
class Nist(Text):
    """Columns apart by tabs below a header line, as in NIST's evaluations."""

    usual_names: ClassVar[dict[str, str]] = {
        "enroll": "modelid", "test": "segmentid", "side": "side", "score": "LLR"
    }  # fmt: skip


class _TrialText(PieceFile):
    """A text file of trials."""

    def __init__(self, path: Path, format: Text, sample: Sample, request: Request) -> None:
        columns = format.roles or header_of(sample, format.separator)
        if format.roles:
            roles = {role: role for role in columns if role in ROLES}
        else:
            roles = find_roles(path, columns, request)
        super().__init__(path, format.name, columns, roles, request, names_columns=not format.roles)
        numbers = {roles["score"]: "score"} if "score" in roles else {}
        numbers |= {role: role for role in NORM_COLUMNS if role in format.roles}
        self._file = TextFile(path, sample, columns, format.separator, not format.roles, numbers)
        self.n_held = len(sample.content or b"")
        self.nothing = "there is no trial" + " below the header" * (not format.roles)

    def _pieces(self, n_bytes: int | None) -> Iterator[Piece]:
        return self._file.pieces(n_bytes)

    def _split(self, piece: Piece, text: Any) -> "DataFrame":
        roles = {name: role for role, name in self.roles.items()}
        kinds = {
            name: polars().String if roles.get(name) in ("enroll", "test", "label") else text
            for name in self.columns
        }
        frame = self._file.frame(piece, kinds)
        present = {role: name for role, name in self.roles.items() if name in kinds}
        check_roles(frame, present, self._where_in(piece))
        return frame

    def _where_in(self, piece: Piece) -> Where:
        return partial(self._file.places, piece)
