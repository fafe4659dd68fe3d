"""Numbers with their nouns, and pieces of files, for messages."""

__all__ = ["counted", "shorten"]


def counted(n: int, noun: str, rest: str = "") -> str:
    """Return a number with its noun, in the singular or the plural.

    Examples
    --------
    >>> counted(1, "trial", "without a score"), counted(2_000, "column")
    ('1 trial without a score', '2,000 columns')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}{rest and ' ' + rest}"


def shorten(text: str) -> str:
    """Return the beginning of a line."""
    return text if len(text) <= 80 else f"{text[:77]}..."
