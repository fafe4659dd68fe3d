"""Text without a header line: columns apart by runs of blanks and tabs."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastpsr.errors import shorten
from fastpsr.trials.names import NORM_COLUMNS, header_hint
from fastpsr.trials.optional import polars
from fastpsr.trials.pieces import Piece
from fastpsr.trials.sample import fields_of
from fastpsr.trials.too_large import has_large, is_too_large

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame

#: Names the file and the line of some rows.
Where = Callable[[Sequence[int]], list[str]]
#: Is called with the rows so far and about how many there are.
Progress = Callable[[int, int], object]

_NEVER = "\x01"  # separates nothing: a line is one column


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
            schema={role: pl.Float64 if is_number(role) else pl.String for role in roles},
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None
    is_whole = not any(column.null_count() for column in frame)
    is_large = any(has_large(frame[role]) for role in filter(is_number, roles))
    return frame if is_whole and not is_large and frame.height else None


def _split_any(path: Path, piece: Piece, roles: tuple[str, ...]) -> "DataFrame":
    """Return the columns, whatever blanks and tabs are between them; raise if a line is wrong."""
    pl = polars()
    split = _split(_lines(piece), roles)
    kinds: Any = {role: pl.Float64 if is_number(role) else pl.String for role in roles}
    frame = _collect(path, piece, split.select("wrong", *kinds))
    if frame.drop_in_place("wrong").any():
        first = _collect(path, piece, split.filter("wrong").head(1))
        line = piece.lines_before() + first["line"][0]
        raise ValueError(f"{path}:{line}: {_what_is_wrong(first['text'][0], roles)}")
    for role in filter(is_number, roles):
        if has_large(frame[role]):  # seldom: only then their words are read
            _check_large(path, piece, roles, role)
    return frame


def places_in(path: Path, piece: Piece, rows: Sequence[int]) -> list[str]:
    """Name the file and the lines of rows of a piece."""
    lines = _collect(path, piece, _lines(piece).select("line"))["line"]
    before = piece.lines_before()
    return [f"{path}:{before + lines[row]}" for row in rows]


def _check_large(path: Path, piece: Piece, roles: Sequence[str], role: str) -> None:
    """Raise where a number is too large for a float64, or an integer that is rounded."""
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
    numbers = [pl.col(role).cast(pl.Float64, strict=False) for role in roles if is_number(role)]
    words = words.with_columns(*numbers)
    wrong = [pl.col(role).is_null() for role in (roles[-1], *filter(is_number, roles))]
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
        if is_number(role) and pl.Series([word]).cast(pl.Float64, strict=False).null_count()
    )
    return (
        f"a {role} must be a number, not {shorten(word)!r}{header_hint(word)}, in {shorten(line)!r}"
    )


def is_number(role: str) -> bool:
    """Whether words of a column are numbers."""
    return role == "score" or role in NORM_COLUMNS


def _collect(path: Path, piece: Piece, frame: "LazyFrame") -> "DataFrame":
    pl = polars()
    try:
        made: DataFrame = frame.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        raise ValueError(utf8_error(path, piece.content, piece.lines_before())) from None
    return made


def utf8_error(path: Path, content: bytes, lines_before: int) -> str:
    """Say why polars cannot read some lines of a file."""
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
