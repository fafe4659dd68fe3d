"""Base class of results: HTML for notebooks, conversion to JSON and to a data frame."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fastpsr.html import FEW, table, values
from fastpsr.optional import frame
from fastpsr.strict_json import strict

if TYPE_CHECKING:
    from polars import DataFrame


class Result:
    """A frozen dataclass of arrays and numbers."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__repr__" not in vars(cls):  # before a dataclass has one that prints its arrays
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        shown = {part.name: getattr(self, part.name) for part in fields(self) if part.repr}  # type: ignore[arg-type]
        for name, value in shown.items():
            is_long = isinstance(value, np.ndarray) and value.size > FEW
            shown[name] = f"<{values(value)}>" if is_long else repr(value)
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in shown.items())})"

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
