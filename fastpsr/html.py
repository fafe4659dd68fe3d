"""Tables for notebooks, as plain HTML in the notebook's style."""

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

_STYLES = {
    "l": ' style="text-align: left"',
    "r": ' style="text-align: right; white-space: nowrap"',
}
FEW = 6  # largest number of array entries that are shown


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[object]], sides: str = ""
) -> str:
    """Return an HTML table with a title; text is escaped, numbers are rounded, None is empty.

    `sides` has "l" or "r" for each column: words are on the left, and numbers on the right, in one
    line. Without, all is as the notebook has it.

    Examples
    --------
    >>> table("a < b", ["name", "value"], [["NCE", 0.25], ["RCL", None]])
    '<div><p><b>a &lt; b</b></p><table><thead><tr><th>name</th><th>value</th></tr></thead><tbody><tr><td>NCE</td><td>0.25</td></tr><tr><td>RCL</td><td></td></tr></tbody></table></div>'
    """  # noqa: E501
    styles = [_STYLES[side] for side in sides] or [""] * len(header)
    head = _row("th", header, styles)
    body = "".join(_row("td", row, styles) for row in rows)
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead>{head}</thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def values(value: object) -> object:
    """Return the content of a cell for a value; a large array is shown by its shape and range.

    Examples
    --------
    >>> import numpy as np
    >>> values(np.array([0.5, np.inf])), values(np.arange(100.0)), values("text")
    ('0.5, inf', 'shape (100,), 0 to 99', 'text')
    """
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim == 1 and value.size <= FEW:
        return ", ".join(_text(number) for number in value.tolist())
    known = value[~np.isnan(value)] if value.dtype.kind in "fiu" else value[:0]
    extent = f", {_text(known.min())} to {_text(known.max())}" if known.size else ""
    return f"shape {value.shape}{extent}"


def in_short(value: object) -> str:
    """Return a number or an array as short text."""
    return _text(values(value))


def _row(tag: str, cells: Sequence[object], styles: Sequence[str]) -> str:
    shown = (
        f"<{tag}{style}>{escape(_text(cell))}</{tag}>"
        for cell, style in zip(cells, styles, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.5g}"
    return str(cell)
