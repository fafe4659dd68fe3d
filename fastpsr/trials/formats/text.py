"""Text: the format says what each column is, or a header line names the columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fastpsr.errors import ArgumentError, counted
from fastpsr.tables.sample import Sample
from fastpsr.tables.text import Piece, TextFile, header_of
from fastpsr.trials.coded import Coded
from fastpsr.trials.formats.format import Format, frame_of
from fastpsr.trials.roles import NORM_COLUMNS, ROLES, Request, find_roles, has_usual_names
from fastpsr.trials.trial_file import OneFile, TrialFile
from fastpsr.trials.trial_set import TrialSet

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Text(Format):
    """Columns of text.

    Attributes
    ----------
    separator : str
        What is between columns: a comma (or a semicolon, below a header), a tab, or "" for runs
        of blanks and tabs.
    """

    separator: str = ""

    def open(self, path: Path, sample: Sample, request: Request) -> TrialFile:
        separator = self.separator
        if not self.roles:
            separator = self.separator_of(sample.lines[0], request) or separator
        columns = self.roles or header_of(sample, separator)
        if self.roles:
            roles = {role: role for role in columns if role in ROLES}
        else:
            roles = find_roles(path, columns, request)
        numbers = {roles["score"]: "score"} if "score" in roles else {}
        numbers |= {role: role for role in NORM_COLUMNS if role in self.roles}
        has_header = not self.roles
        text = TextFile(path, sample, columns, separator, has_header, numbers)
        return _TrialsAsText(text, self.name, roles, request)

    def separator_of(self, header: str, request: Request) -> str:
        """Return the separator of the usual names of a header of this format; "" if none is."""
        choices = self.separator if self.separator == "\t" else ",;"
        if ("\t" in header) != (choices == "\t"):
            return ""
        usual = (s for s in choices if has_usual_names(header.split(s), request.columns))
        return next(usual, "")

    def write(self, path: Path, trials: TrialSet, scores: NDArray[np.float64]) -> None:
        columns = self.columns(trials, scores)
        has_quotes = self.separator not in ("", "\t")
        if not has_quotes:
            forbidden = "[\t\r\n]" if self.separator else r"[ \t\r\n]"
            for column in columns.values():
                if isinstance(column, Coded):
                    self._check_ids(column, forbidden)
        frame_of(columns).write_csv(
            path,
            separator=self.separator or " ",
            include_header=not self.roles,
            quote_style="necessary" if has_quotes else "never",
            compression="gzip" if path.suffix == ".gz" else "uncompressed",
            check_extension=False,
        )

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


class _TrialsAsText(OneFile):
    """A text file of trials."""

    def __init__(
        self, text: TextFile, format: str, roles: Mapping[str, str], request: Request
    ) -> None:
        has_header = text.has_header
        super().__init__(text.path, format, text.columns, roles, request, names_columns=has_header)
        self._text, self.n_held = text, len(text.sample.content or b"")
        self.nothing = "there is no trial" + " below the header" * has_header

    def pieces(self, n_bytes: int | None) -> Iterator[Piece]:
        return self._text.pieces(n_bytes)

    def frame(self, piece: Piece, kinds: Mapping[str, Any]) -> "DataFrame":
        return self._text.frame(piece, kinds)

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        return self._text.places(piece, rows)


@dataclass(frozen=True)
class Nist(Text):
    """Columns apart by tabs below a header line, as in NIST's evaluations."""

    usual_names: ClassVar[dict[str, str]] = {
        "enroll": "modelid", "test": "segmentid", "side": "side", "score": "LLR"
    }  # fmt: skip
