"""The purpose of reading a file, and the caller's arguments about its format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fastpsr.errors import ArgumentError
from fastpsr.trials.coded import Coded

__all__ = ["ROLES", "Request", "Wanted"]

#: What a column can be.
ROLES = ("enroll", "test", "side", "label", "score")

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
    prefix : str
        Of the caller's names for these arguments, "key_" or "score_": errors speak of them.
    progress : callable or None
        Called with (name of the step, rows done, approximate total number of rows) as text is read.
    twins : mapping of str to Coded
        Ids of another file by role: where this one has the same in the same order, it has these.
    """

    wanted: Wanted
    format: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    transpose: bool | None = None
    prefix: str = ""
    progress: Callable[[str, int, int], object] | None = None
    twins: Mapping[str, Coded] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = [role for role in self.columns if role not in ROLES]
        if unknown:
            rule = f"must name roles {', '.join(ROLES)}, not {unknown[0]!r}"
            raise ArgumentError(f"{self.prefix}columns", rule)

    @property
    def needed(self) -> tuple[str, ...]:
        """Roles that the file must have."""
        return _NEEDED[self.wanted]

    def progress_of(self, path: Path) -> Callable[[int, int], object] | None:
        """Return what to call with rows done and about how many there are as `path` is read."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, out_of: progress(f"reading {path}", done, out_of)

    def unclear(self, path: Path, rule: str, argument: str, value: object = ...) -> ArgumentError:
        """Return the error of a file that does not tell what `argument` could say."""
        of_file = {"key_": "key", "score_": "scores"}.get(self.prefix, "path")
        name = f"{path}:"
        return ArgumentError(of_file, rule, pass_={f"{self.prefix}{argument}": value}, name=name)
