"""What a file is read for, and what the caller said about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["ROLES", "Request", "Wanted"]

#: What a column can be.
ROLES = ("enroll", "test", "side", "label", "score")

Wanted = Literal["key", "scores", "labeled scores"]
_NEEDED = {
    "key": ("enroll", "test", "label"),
    "scores": ("score",),
    "labeled scores": ("score", "label"),
}


@dataclass(frozen=True)
class Request:
    """What a file is read for, and how, where its content does not tell.

    Attributes
    ----------
    wanted : {"key", "scores", "labeled scores"}
        What the file is read for.
    format : str or None
        Name of the format, to force it.
    columns : mapping of str to str
        Names of columns by role.
    transpose : bool or None
        Whether the columns of a square matrix are models.
    prefix : str
        Of the caller's names for these arguments, "key_" or "score_": errors speak of them.
    """

    wanted: Wanted
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            raise ValueError(
                f"{self.prefix}columns must name roles {', '.join(ROLES)}, not {unknown[0]!r}"
            )

    @property
    def needed(self) -> tuple[str, ...]:
        """Roles that the file must have."""
        return _NEEDED[self.wanted]

    @property
    def say_format(self) -> str:
        """How to say which format a file has."""
        return f"say which it is with {self.prefix}format= ({self._option}format)"

    def say_column(self, role: str) -> str:
        """How to say which column has a role."""
        return f"say which with {self.prefix}columns={{{role!r}: ...}} ({self._option}columns)"

    @property
    def _option(self) -> str:
        return "--key-" if self.prefix == "key_" else "--"
