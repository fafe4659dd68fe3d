"""Helpers for messages: counted nouns, shortened lines and aligned tables."""

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


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: the first and the last column begin on the left.

    Examples
    --------
    >>> aligned([["", "n", "unit"], ["a", "12", "s"]])
    ['    n  unit', 'a  12  s']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first, *_, last = map(str.ljust, row, widths)
        numbers = map(str.rjust, row[1:-1], widths[1:-1])
        lines.append("  ".join([first, *numbers, last]).rstrip())
    return lines
