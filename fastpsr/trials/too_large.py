"""Numbers in text that no float64 holds, which readers take for infinite."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from polars import Series

__all__ = ["first_too_large", "is_too_large"]

Column = TypeVar("Column", bound=Any)  # a Series, or an expression


def first_too_large(numbers: "Series", words: "Callable[[], Series]") -> tuple[int, str] | None:
    """Return the first row whose number is too large, and its word; None where there is none.

    `words` reads the numbers as they are written: it is called where one of them is infinite.
    """
    if not numbers.is_infinite().any():
        return None
    written = words()
    found = is_too_large(numbers, written)
    if not found.any():
        return None
    row = int(found.arg_max() or 0)
    return row, str(written[row])


def is_too_large(numbers: Column, words: Column) -> Column:
    """Return where a number is infinite and is not written so."""
    found: Column = numbers.is_infinite() & ~words.str.contains("(?i)inf")
    return found
