"""Helpers for messages: counted nouns and shortened lines."""


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
