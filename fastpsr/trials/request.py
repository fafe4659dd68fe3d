"""The purpose of reading a file, and the caller's arguments about its format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fastpsr.errors import ArgumentError

#: What a column can be.
ROLES = ("enroll", "test", "side", "label", "score")

Label = Literal["target", "nontarget"]
CLASSES: tuple[Label, Label] = ("target", "nontarget")
Wanted = Literal["key", "pairs", "scores", "labeled scores"]
_NEEDED = {
    "key": ("enroll", "test", "label"),
    "pairs": ("enroll", "test"),
    "scores": ("score",),
    "labeled scores": ("score", "label"),
}


@dataclass(frozen=True)
class Request:
    """What a file is read for, and how, where its content does not tell.

    Attributes
    ----------
    wanted : {"key", "pairs", "scores", "labeled scores"}
        What the file is read for.
    format : str or None
        Name of the format, to force it.
    columns : mapping of str to str
        Names of columns by role.
    transpose : bool or None
        Whether the columns of a square matrix are models.
    label : {"target", "nontarget"} or None
        Label of all trials of a file that has none of its own.
    prefix : str
        Of the caller's names for these arguments, "key_" or "score_": errors speak of them.
    """

    wanted: Wanted
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    label: Label | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            rule = f"must name roles {', '.join(ROLES)}, not {unknown[0]!r}"
            raise ArgumentError(f"{self.prefix}columns", rule)

    @property
    def needed(self) -> tuple[str, ...]:
        """Roles that the file must have."""
        return _NEEDED[self.wanted]

    def unclear(self, path: Path, rule: str, argument: str, value: object = ...) -> ArgumentError:
        """Return the error of a file that does not tell what `argument` could say."""
        of_file = {"key_": "key", "score_": "scores"}.get(self.prefix, "path")
        name = f"{path}:"
        return ArgumentError(of_file, rule, pass_={f"{self.prefix}{argument}": value}, name=name)
