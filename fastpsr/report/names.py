"""Text as a page can hold it, and names as figures and tables have room for them."""

import re
from collections.abc import Sequence

_LONGEST = 32  # characters of a name in a legend
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    r"""Return text with a replacement character for each that no page can hold.

    Examples
    --------
    >>> clean("a\x00b")
    'a\ufffdb'
    """
    return _NOT_IN_XML.sub("\ufffd", text)


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
