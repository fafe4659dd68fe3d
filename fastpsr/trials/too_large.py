"""Numbers in text that no float64 holds: readers take them for infinite, or round integers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from fastpsr.checks import LARGEST_EXACT
from fastpsr.errors import shorten

if TYPE_CHECKING:
    from polars import Series

    from fastpsr.trials.text import Where

Column = TypeVar("Column", bound=Any)  # a Series, or an expression


def first_too_large(numbers: "Series", words: "Callable[[], Series]") -> tuple[int, str] | None:
    """Return the first row whose number is too large, and its word; None where there is none.

    `words` reads the numbers as they are written: it is called where one of them is large.
    """
    if not has_large(numbers):
        return None
    written = words()
    found = is_too_large(numbers, written)
    if not found.any():
        return None
    row = int(found.arg_max() or 0)
    return row, str(written[row])


def check_scores(scores: "Series", words: "Callable[[], Series]", where: "Where") -> None:
    """Raise where a score is too large; `where` names the places of rows."""
    found = first_too_large(scores, words)
    if found is not None:
        row, word = found
        rule = f"a score must be a number that a float64 holds, not {shorten(word)!r}"
        raise ValueError(f"{where([row])[0]}: {rule}")


def is_too_large(numbers: Column, words: Column) -> Column:
    """Return where a number is infinite and is not written so, or an integer that was rounded."""
    import polars

    integers = numbers.cast(polars.Int64, strict=False).cast(polars.String)
    word = words.str.strip_chars(" \t+")
    is_rounded = word.str.contains(r"^-?\d+$") & (numbers.abs() >= LARGEST_EXACT)
    is_rounded &= integers.ne_missing(word)
    found: Column = is_rounded | (numbers.is_infinite() & ~words.str.contains("(?i)inf"))
    return found


def has_large(numbers: "Series") -> bool:
    """Return whether a number is infinite, or so large that integers next to it are rounded."""
    return bool((numbers.abs() >= LARGEST_EXACT).any())
