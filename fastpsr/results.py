"""Base class of results: HTML for notebooks, strict JSON, and data frames."""

import importlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from polars import DataFrame

_STYLES = {
    "l": ' style="text-align: left"',
    "r": ' style="text-align: right; white-space: nowrap"',
}
FEW = 6  # largest number of array entries that are shown


class Result:
    """A frozen dataclass of arrays and numbers."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # before a dataclass has one that prints its arrays
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        attributes = {part.name: getattr(self, part.name) for part in fields(self) if part.repr}  # type: ignore[arg-type]
        for name, value in attributes.items():
            is_long = isinstance(value, np.ndarray) and value.size > FEW
            attributes[name] = f"<{values(value)}>" if is_long else repr(value)
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in attributes.items())})"

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict that can be written as strict JSON.

        Arrays become lists, infinities the strings "inf" and "-inf", and nan None.
        """
        content: dict[str, Any] = strict(self._content())
        return content

    def to_frame(self) -> "DataFrame":
        """Return the arrays as columns of a ``polars.DataFrame``; without arrays, a single row.

        Raises
        ------
        ValueError
            If polars is not installed.
        """
        return frame(self._columns())

    def _content(self) -> dict[str, Any]:
        """Return the attributes by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]

    def _columns(self) -> dict[str, Any]:
        """Return the arrays as columns; an array of shape (P, K) becomes K columns."""
        columns: dict[str, Any] = {}
        for name, value in self._content().items():
            if np.ndim(value) == 1:
                columns[name] = value
            elif np.ndim(value) == 2:
                columns |= {f"{name}_{k}": column for k, column in enumerate(value.T)}
        return columns or {name: [value] for name, value in self._content().items()}

    def _repr_html_(self) -> str:
        rows = [(name, values(value)) for name, value in self._content().items()]
        return table(type(self).__name__, ("attribute", "value"), rows)


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
    defined = value[~np.isnan(value)] if value.dtype.kind in "fiu" else value[:0]
    extent = f", {_text(defined.min())} to {_text(defined.max())}" if defined.size else ""
    return f"shape {value.shape}{extent}"


def in_short(value: object) -> str:
    """Return a number or an array as short text."""
    return _text(values(value))


def _row(tag: str, cells: Sequence[object], styles: Sequence[str]) -> str:
    texts = (
        f"<{tag}{style}>{escape(_text(cell))}</{tag}>"
        for cell, style in zip(cells, styles, strict=True)
    )
    return f"<tr>{''.join(texts)}</tr>"


def _text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.5g}"
    return str(cell)


def as_json(content: Any) -> str:
    """Return strict JSON of a file: null for nan, strings for infinities."""
    return json.dumps(strict(content), indent=1, allow_nan=False) + "\n"


def strict(value: Any) -> Any:
    """Return plain content: arrays and tuples as lists, infinities as strings, nan as None.

    Results, and others with `to_dict`, become dicts.

    ``json.dumps(strict(value), allow_nan=False)`` is then valid JSON.

    Examples
    --------
    >>> import numpy as np
    >>> strict({"values": np.array([0.5, np.nan, -np.inf]), "size": np.int64(3)})
    {'values': [0.5, None, '-inf'], 'size': 3}
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def load(name: str, advice: str) -> Any:
    """Return a module; raise an error with `advice` if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ValueError(advice) from None


def frame(content: Any, **options: Any) -> "DataFrame":
    """Return columns by name, or records, as a ``polars.DataFrame``."""
    polars = load("polars", 'data frames need polars: pip install "fastpsr[cli]"')
    data_frame: DataFrame = polars.DataFrame(content, **options)
    return data_frame


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
