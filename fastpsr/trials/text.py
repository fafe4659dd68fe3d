"""Text without a header line: columns apart by runs of blanks and tabs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastpsr.trials.coded import Coded, Column, as_column
from fastpsr.trials.names import NORM_COLUMNS, header_hint
from fastpsr.trials.optional import polars
from fastpsr.trials.pieces import Piece, pieces, places_of, side_by_side
from fastpsr.trials.sample import Sample, fields_of
from fastpsr.trials.too_large import is_too_large
from fastpsr.wording import shorten

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame, Series

__all__ = ["Progress", "Where", "places_in", "read_text", "split_lines", "utf8_error"]

#: Names the file and the line of some rows.
Where = Callable[[Sequence[int]], list[str]]
#: Is called with the rows so far and about how many there are.
Progress = Callable[[int, int], object]

_NEVER = "\x01"  # separates nothing: a line is one column


def read_text(
    path: Path,
    sample: Sample,
    roles: tuple[str, ...],
    progress: Progress | None = None,
    twins: Mapping[str, Coded] | None = None,
) -> tuple[dict[str, Column], Where]:
    """Read all columns of a text file, in one pass.

    Returns the columns by role, and a function that names the file and line of rows. `twins` are
    columns of another file by role: equal ones are not held twice, so that both files have one.
    """
    pl = polars()

    def split(piece: Piece) -> "tuple[DataFrame, float]":
        return split_lines(path, piece, roles), piece.share

    frames: list[DataFrame] = []
    numbers = {role: _Numbers() for role in roles if _is_number(role)}
    n_rows = 0
    twins = dict(twins or {})
    for frame, share in side_by_side(split, pieces(path, sample)):
        end = n_rows + frame.height
        for role, twin in [*twins.items()]:
            like = twin.rows(n_rows, end)
            if frame[role].equals(like):
                frame = frame.with_columns(like.alias(role))
            else:
                del twins[role]
        for role, held in numbers.items():
            held.add(frame.drop_in_place(role), share)
        frames.append(frame)
        n_rows = end
        if progress is not None:
            progress(n_rows, round(n_rows / share))
    if n_rows == 0:
        raise ValueError(f"{path}: the file is empty")
    heights = [frame.height for frame in frames]

    def where_in(piece: Piece) -> Where:
        return partial(places_in, path, piece)

    where = partial(places_of, partial(pieces, path, sample), heights, where_in)
    whole = pl.concat(frames)
    del frames
    columns: dict[str, Column] = {
        role: numbers[role].all() if role in numbers else as_column(whole.drop_in_place(role))
        for role in roles
    }
    return columns | {role: twin for role, twin in twins.items() if len(twin) == n_rows}, where


class _Numbers:
    """A column of numbers, copied into one array while its pieces are in the cache."""

    def __init__(self) -> None:
        self._held, self._n = np.empty(0), 0

    def add(self, some: "Series", share: float) -> None:
        """Add numbers, up to this share of the file."""
        end = self._n + len(some)
        if end > self._held.size:
            grown = np.empty(round(1.01 * end / share) + 1)
            grown[: self._n] = self.all()
            self._held = grown
        self._held[self._n : end] = some.to_numpy()
        self._n = end

    def all(self) -> NDArray[np.float64]:
        """Return the numbers of all pieces."""
        return self._held[: self._n]


def split_lines(path: Path, piece: Piece, roles: tuple[str, ...]) -> "DataFrame":
    """Return the columns of some lines of a file by role: strings, and numbers."""
    frame = _split_regular(piece.content, roles)
    return _split_any(path, piece, roles) if frame is None else frame


def _split_regular(content: bytes, roles: tuple[str, ...]) -> "DataFrame | None":
    """Return the columns as polars reads them; None unless single blanks or tabs separate them.

    polars raises, or has nulls, where a line has more words or fewer, or a word is no number.
    """
    pl = polars()
    separator = "\t" if b"\t" in content else " "
    if b"\r" in content or _NEVER.encode() in content or (separator == "\t" and b" " in content):
        return None
    try:
        frame: DataFrame = pl.read_csv(
            content,
            separator=separator,
            has_header=False,
            schema={role: pl.Float64 if _is_number(role) else pl.String for role in roles},
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None
    is_whole = not any(column.null_count() for column in frame)
    is_finite = all(frame[role].is_finite().all() for role in filter(_is_number, roles))
    return frame if is_whole and is_finite and frame.height else None


def _split_any(path: Path, piece: Piece, roles: tuple[str, ...]) -> "DataFrame":
    """Return the columns, whatever blanks and tabs are between them; raise if a line is wrong."""
    pl = polars()
    split = _split(_lines(piece), roles)
    kinds: Any = {role: pl.Float64 if _is_number(role) else pl.String for role in roles}
    frame = _collect(path, piece, split.select("wrong", *kinds))
    if frame.drop_in_place("wrong").any():
        first = _collect(path, piece, split.filter("wrong").head(1))
        line = piece.lines_before() + first["line"][0]
        raise ValueError(f"{path}:{line}: {_what_is_wrong(first['text'][0], roles)}")
    for role in filter(_is_number, roles):
        if frame[role].is_infinite().any():  # seldom: only then their words are read
            _check_infinite(path, piece, roles, role)
    return frame


def places_in(path: Path, piece: Piece, rows: Sequence[int]) -> list[str]:
    """Name the file and the lines of rows of a piece."""
    if not rows:
        return []
    lines = _collect(path, piece, _lines(piece).select("line"))["line"]
    before = piece.lines_before()
    return [f"{path}:{before + lines[row]}" for row in rows]


def _check_infinite(path: Path, piece: Piece, roles: Sequence[str], role: str) -> None:
    """Raise where a number is infinite that is not written so, but is too large for a float64."""
    word = polars().col(role)
    too_large = is_too_large(word.cast(polars().Float64, strict=False), word)
    first = _collect(path, piece, _words(_lines(piece), roles).filter(too_large).head(1))
    if not first.is_empty():
        raise ValueError(
            f"{path}:{piece.lines_before() + first['line'][0]}: a {role} must be a number that a "
            f"float64 holds, not {shorten(first[role][0])!r}"
        )


def _lines(piece: Piece) -> "LazyFrame":
    """Return the lines that are not blank, without blanks around them, and their numbers in it."""
    pl = polars()
    scanned: LazyFrame = pl.scan_csv(
        BytesIO(piece.content),
        separator=_NEVER,
        has_header=False,
        schema={"text": pl.String},
        quote_char=None,
    )
    text = pl.col("text").fill_null("").str.strip_chars(" \t\r")
    numbered = scanned.with_row_index("line", 1).with_columns(text)
    return numbered.filter(pl.col("text") != "")


def _words(lines: "LazyFrame", roles: Sequence[str]) -> "LazyFrame":
    """Add the words of a line by role, and what is beyond them."""
    pl = polars()
    text = pl.col("text")
    uneven = text.str.contains_any(["\t", "  "])  # most files are even: replacing takes time
    even = pl.when(uneven).then(text.str.replace_all("[ \t]+", " ")).otherwise(text)
    split: LazyFrame = lines.with_columns(
        even.str.splitn(" ", len(roles) + 1).struct.rename_fields([*roles, "beyond"]).alias("words")
    ).unnest("words")
    return split


def _split(lines: "LazyFrame", roles: Sequence[str]) -> "LazyFrame":
    """Add the words of a line by role, and whether they are too few, too many or no numbers.

    Words that should be numbers are null if they are none.
    """
    pl = polars()
    words = _words(lines, roles)
    numbers = [pl.col(role).cast(pl.Float64, strict=False) for role in roles if _is_number(role)]
    words = words.with_columns(*numbers)
    wrong = [pl.col(role).is_null() for role in (roles[-1], *filter(_is_number, roles))]
    split: LazyFrame = words.with_columns(
        pl.any_horizontal(pl.col("beyond").is_not_null(), *wrong).alias("wrong")
    )
    return split


def _what_is_wrong(line: str, roles: tuple[str, ...]) -> str:
    words = fields_of(line)
    if len(words) != len(roles):
        return (
            f"there must be {len(roles)} columns ({' '.join(roles)}), not {len(words)}: "
            f"{shorten(line)!r}"
        )
    pl = polars()
    role, word = next(
        (role, word)
        for role, word in zip(roles, words, strict=True)
        if _is_number(role) and pl.Series([word]).cast(pl.Float64, strict=False).null_count()
    )
    return (
        f"a {role} must be a number, not {shorten(word)!r}{header_hint(word)}, in {shorten(line)!r}"
    )


def _is_number(role: str) -> bool:
    return role == "score" or role in NORM_COLUMNS


def _collect(path: Path, piece: Piece, frame: "LazyFrame") -> "DataFrame":
    pl = polars()
    try:
        made: DataFrame = frame.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(utf8_error(path, piece.content, piece.lines_before())) from None
    return made


def utf8_error(path: Path, source: Path | bytes, lines_before: int = 0) -> str:
    """Say why polars cannot read the lines of a file, or of a part of it."""
    content = source if isinstance(source, bytes) else source.read_bytes()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines_before + content.count(b"\n", 0, error.start) + 1
        return f"{path}:{line}: the text must be UTF-8, not byte 0x{content[error.start]:02x}"
    position = content.find(_NEVER.encode())
    if position >= 0:
        line = lines_before + content.count(b"\n", 0, position) + 1
        return f"{path}:{line}: there must be no control characters, but byte 0x01 is there"
    return f"{path}: the text cannot be read as lines"
