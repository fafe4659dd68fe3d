"""Text as a page can hold it, and names as figures and tables have room for them."""

import re
from collections.abc import Sequence

_LONGEST = 32  # characters of a name in a legend
_LONGEST_CONDITION = 24  # characters of a condition: a column with a bin
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    r"""Return text with a replacement character for each that no page can hold.

    Examples
    --------
    >>> clean("a\x00b")
    'a\ufffdb'
    """
    return _NOT_IN_XML.sub("\ufffd", text)


def by_column(conditions: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the column that all conditions name (as "column=value"), and short names of these."""
    columns = {name.partition("=")[0] for name in conditions if "=" in name}
    column = columns.pop() if len(columns) == 1 else ""
    values = {name: name.removeprefix(f"{column}=") for name in conditions}
    if not column or len(set(values.values())) < len(values):
        return "", shorten(conditions, _LONGEST_CONDITION)
    short = shorten(list(values.values()), _LONGEST_CONDITION)
    (label,) = shorten([column]).values()
    return label, {name: short[value] for name, value in values.items()}


def shorten(names: Sequence[str], longest: int = _LONGEST) -> dict[str, str]:
    """Return for each name one that fits in a legend, all different."""
    short: dict[str, str] = {}
    for name in dict.fromkeys(names):
        label = clean(" ".join(name.split())) or "(no name)"
        if len(label) > longest:
            half = (longest - 1) // 2
            label = f"{label[:half]}\u2026{label[-half:]}"
        if label in short.values():
            label = f"{label} ({len(short) + 1})"
        short[name] = label
    return short
