"""Helpers for text: counted nouns, shortened lines, columns."""

from collections.abc import Sequence


def counted(n: int, noun: str, rest: str = "") -> str:
    """Return a number with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "trial", "without a score"), counted(2_000, "column")
    ('1 trial without a score', '2,000 columns')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}{rest and ' ' + rest}"


def shorten(text: str) -> str:
    """Return a line, shortened if it has more than 80 characters.

    Examples
    --------
    >>> shorten("x" * 80) == "x" * 80, shorten("x" * 81)[-4:], len(shorten("x" * 81))
    (True, 'x...', 80)
    """
    return text if len(text) <= 80 else f"{text[:77]}..."


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Return lines of columns, two blanks apart, each on the left ("l") or on the right ("r").

    Examples
    --------
    >>> aligned([["a", "1.5", "x"], ["bc", "10.5", ""]], "lrl")
    ['a    1.5  x', 'bc  10.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if side == "l" else cell.rjust(width)
            for cell, width, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    ]
