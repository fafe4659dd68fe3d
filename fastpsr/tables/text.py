"""Text files of columns, read in pieces: as typed columns, or word by word where that fails."""

import csv
import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO, StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.checks import LARGEST_EXACT
from fastpsr.errors import counted, shorten
from fastpsr.optional import polars
from fastpsr.tables.sample import Sample, whole_gzip

if TYPE_CHECKING:
    from polars import DataFrame, Series

#: Larger ones take longer: the memory of small ones is used again.
PIECE_BYTES = 1 << 23
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Piece:
    """Some lines of a file.

    Attributes
    ----------
    content : bytes
        The lines; the last of the file may lack its newline.
    share : float
        Share of the file's bytes that were read by now, in (0, 1].
    lines_before : callable
        Returns how many lines of the file come before: it counts them, which few need.
    """

    content: bytes
    share: float
    lines_before: Callable[[], int]


@dataclass(frozen=True)
class TextFile:
    """A text file, and what its columns are.

    Attributes
    ----------
    path : Path
    sample : Sample
    columns : tuple of str
        Names of the columns from left to right.
    separator : str
        What is between columns: a comma or a semicolon, in which cases quotes have their meaning;
        a tab; or "" for runs of blanks and tabs.
    has_header : bool
        Whether the first line has the names.
    numbers : mapping of str to str
        Columns of numbers, and what messages call these.
    is_table : bool
        Whether quotes have their meaning whatever the separator.
    has_comments : bool
        Whether lines that begin with # are comments if they have another number of columns.
    skips_blanks : bool
        Whether blanks after a separator belong to no cell.
    """

    path: Path
    sample: Sample
    columns: tuple[str, ...]
    separator: str = ""
    has_header: bool = False
    numbers: Mapping[str, str] = field(default_factory=dict)
    is_table: bool = False
    has_comments: bool = False
    skips_blanks: bool = False

    @property
    def _has_quotes(self) -> bool:
        return self.is_table or self.separator in (",", ";")

    def pieces(self, n_bytes: int | None = None) -> Iterator[Piece]:
        """Yield the lines below the header, about so many bytes at a time, unpacked."""
        n_bytes = PIECE_BYTES if n_bytes is None else n_bytes
        numbers = self.sample.numbers
        n_above = (*numbers[self.has_header : self.has_header + 1], numbers[0] + 1)[0] - 1

        def n_lines(n_pieces: int) -> int:
            before = islice(self._contents(n_bytes, n_above), n_pieces)
            return n_above + sum(content.count(b"\n") for content, _ in before)

        for k, (content, share) in enumerate(self._contents(n_bytes, n_above)):
            if k == n_above == 0:
                content = content.removeprefix(_BOM)
            yield Piece(content, share, partial(n_lines, k))

    def frame(self, piece: Piece, kinds: Mapping[str, Any]) -> "DataFrame":
        """Return the columns of a piece: numbers, and text of the polars types in `kinds`.

        Raises
        ------
        ValueError
            If a line has more columns or fewer, or a number is none, with the line.
        """
        pl = polars()
        schema = {
            name: pl.Float64 if name in self.numbers else kinds.get(name, pl.String)
            for name in self.columns
        }
        frame = self._typed(piece.content, schema)
        if frame is None and not self.separator:
            frame = self._typed(_single_blanks(piece.content), schema)
        return self._parsed(piece, schema) if frame is None else frame

    def words(self) -> "DataFrame":
        """Return all columns as they are written."""
        pl = polars()
        nothing = pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
        words: DataFrame = pl.concat([nothing, *(self.frame(p, {}) for p in self.pieces())])
        if self.has_comments and words[self.columns[0]].str.starts_with("#").any():
            return replace(self, has_comments=False).words()  # all lines with # are rows
        return words.with_columns(pl.all().str.strip_chars(" ")) if self.skips_blanks else words

    def places(self, piece: Piece, rows: Sequence[int]) -> list[str]:
        """Name the file and the lines of rows of a piece."""
        wanted, place_of = {*rows}, {}
        for row, (line, _) in enumerate(self._rows(piece)):
            if row in wanted:
                place_of[row] = f"{self.path}:{line}"
        return [place_of[row] for row in rows]

    def line_of(self, row: int) -> int:
        """Return the number of the line in which a row of the file begins."""
        lines = (line for piece in self.pieces() for line, _ in self._rows(piece))
        return next(islice(lines, row, None))

    def _contents(self, n_bytes: int, n_above: int) -> Iterator[tuple[bytes, float]]:
        """Yield whole lines below the first, and the share of the file that was read by then."""
        held, has_quotes = self.sample.content, self._has_quotes
        with (
            whole_gzip(self.path),
            open(self.path, "rb") if held is None else BytesIO(held) as raw,
        ):
            size = self.path.stat().st_size if held is None else len(held)
            is_packed = self.sample.packed and held is None
            file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
            for _ in range(n_above):
                file.readline()
            while content := file.read(n_bytes):
                content += file.readline()
                n_quotes = content.count(b'"') if has_quotes else 0
                while n_quotes % 2 and (line := file.readline()):  # a line break in quotes
                    content += line
                    n_quotes += line.count(b'"')
                yield content, max(min(raw.tell() / max(size, 1), 1.0), 1e-9)

    def _typed(self, content: bytes, schema: Mapping[str, Any]) -> "DataFrame | None":
        """Return the columns as polars reads them; None unless these are surely right."""
        pl = polars()
        separator = self.separator or ("\t" if b"\t" in content else " ")
        has_returns = b"\r" in content  # pairs are slow to count, and most files have none
        is_mixed = has_returns and content.count(b"\r") != content.count(b"\r\n")
        is_mixed |= separator == "\t" and b" " in content
        if (is_mixed and not self.separator) or content.startswith(_BOM):  # which is part of an id
            return None
        if self.skips_blanks and b'"' in content:  # quotes after a blank are part of a word
            return None
        content = content.lstrip(b"\r\n")  # polars counts columns in the first line
        if not content:
            nothing: DataFrame = pl.DataFrame(schema=schema)
            return nothing

        def read(schema: Any) -> "DataFrame":
            frame: DataFrame = pl.read_csv(
                content, separator=separator, has_header=False, schema=schema,
                quote_char='"' if self._has_quotes else None,
            )  # fmt: skip
            return frame

        try:
            frame = read(schema)
        except (pl.exceptions.PolarsError, OSError):
            return None
        if not self.separator and any(column.null_count() for column in frame):
            return None
        if frame[self.columns[-1]].null_count():  # a line may be short, or blank
            n_separators = (len(schema) - 1) * frame.height
            if (
                b'"' in content
                or content.count(separator.encode()) != n_separators
                or (len(schema) == 1)
            ):
                return None
        for name in self.numbers:

            def words(name: str = name) -> "Series":
                return read(dict.fromkeys(schema, pl.String))[name]

            if first_too_large(frame[name], words) is not None:
                return None
        return frame

    def _parsed(self, piece: Piece, schema: Mapping[str, Any]) -> "DataFrame":
        """Return the columns of words that are read one by one; raise at the first wrong one."""
        pl = polars()
        lines, rows = [], []
        for line, words in self._rows(piece):
            if len(words) != len(schema):
                names = ", as in the header" if self.has_header else f" ({' '.join(schema)})"
                remedy = "; remove line 1 if it is no header" * (
                    self.has_header and len(schema) == 1
                )
                raise ValueError(
                    f"{self.path}:{line}: there must be {counted(len(schema), 'column')}{names}, "
                    f"not {len(words)}: {shorten(self._joined(words))!r}{remedy}"
                )
            lines.append(line)
            rows.append([word or None for word in words])
        text = pl.DataFrame(rows, dict.fromkeys(schema, pl.String), orient="row")
        for name, noun in self.numbers.items():
            numbers = text[name].cast(pl.Float64, strict=False)
            is_word = numbers.is_null() & text[name].is_not_null()
            if is_word.any():
                row = int(is_word.arg_max())
                where, word = f"{self.path}:{lines[row]}", shorten(text[name][row])
                whole = shorten(self._joined([value or "" for value in text.row(row)]))
                raise ValueError(f"{where}: a {noun} must be a number, not {word!r}, in {whole!r}")
            too_large = first_too_large(numbers, partial(text.get_column, name))
            if too_large is not None:
                row, word = too_large
                raise ValueError(f"{self.path}:{lines[row]}: {too_large_rule(noun, word)}")
        frame: DataFrame = text.cast(schema)
        return frame

    def _joined(self, words: Sequence[str]) -> str:
        return (self.separator or " ").join(words)

    def _rows(self, piece: Piece) -> Iterator[tuple[int, list[str]]]:
        """Yield the words of each line that is not blank, with its number: slow and exact."""
        before = piece.lines_before()
        try:
            text = piece.content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = before + piece.content.count(b"\n", 0, error.start) + 1
            byte = piece.content[error.start]
            raise ValueError(
                f"{self.path}:{line}: the text must be UTF-8, not byte 0x{byte:02x}"
            ) from None
        if not self.separator:
            for line, content in enumerate(text.split("\n"), before + 1):
                if content.strip(" \t\r"):
                    yield line, words_of(content)
            return
        rows = fields_of(
            StringIO(text, newline=""), self.separator, strict=True,
            is_table=self.is_table, skips_blanks=self.skips_blanks,
        )  # fmt: skip
        line = before + 1
        try:
            for words in rows:
                is_comment = self.has_comments and may_be_comment(words)
                if words and not (is_comment and len(words) != len(self.columns)):
                    yield line, words
                line = before + rows.line_num + 1
        except csv.Error as error:
            raise ValueError(f"{self.path}:{line}: {error}") from None


def words_of(line: str) -> list[str]:
    """Return the words between blanks and tabs; other kinds of space are part of a word."""
    return re.split("[ \t]+", line.strip(" \t\r"))


def fields_of(
    lines: Any,
    separator: str,
    *,
    strict: bool = False,
    is_table: bool = False,
    skips_blanks: bool = False,
) -> Any:
    """Return a reader of columns; in quotes, what separates columns is text, except for tabs."""
    has_quotes = is_table or separator in (",", ";")
    return csv.reader(
        lines,
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
        strict=strict and has_quotes,
        skipinitialspace=skips_blanks,
    )


def may_be_comment(words: Sequence[str]) -> bool:
    """Whether a line of a table is a comment, unless it has as many columns as others."""
    return bool(words) and words[0].startswith("#")


def header_of(sample: Sample, separator: str) -> tuple[str, ...]:
    """Return the names in the first line."""
    return tuple(name.strip() for name in next(fields_of([sample.lines[0]], separator)))


def _single_blanks(content: bytes) -> bytes:
    """Return lines with one blank between words, and none around them."""
    lines = re.sub(rb"[ \t\r]*\n[ \t\r\n]*", b"\n", content.strip(b" \t\r\n"))
    return re.sub(rb"[ \t]+", b" ", lines)


def first_too_large(numbers: "Series", words: "Callable[[], Series]") -> tuple[int, str] | None:
    """Return the first row whose number no float64 holds, and its word; None where there is none.

    Readers take such numbers for infinite, or round them. `words` reads them as they are written:
    it is called where one of them is large.
    """
    pl = polars()
    is_large = numbers.abs() >= LARGEST_EXACT
    if not is_large.any():
        return None
    written = words()
    integers = numbers.cast(pl.Int64, strict=False).cast(pl.String)
    word = written.str.strip_chars(" \t+")
    wrong = word.str.contains(r"^-?\d+$") & is_large & integers.ne_missing(word)
    wrong |= numbers.is_infinite() & ~written.str.contains("(?i)inf")
    if not wrong.any():
        return None
    row = int(wrong.arg_max() or 0)
    return row, str(written[row])


def too_large_rule(noun: str, word: str) -> str:
    """Say that a number is too large."""
    return f"a {noun} must be a number that a float64 holds, not {shorten(word)!r}"
