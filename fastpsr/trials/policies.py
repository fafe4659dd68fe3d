"""Policies for trials of the key and scores that do not match, and the mismatches found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.trials.coded import Coded
from fastpsr.trials.mismatch import FEW
from fastpsr.trials.text import Where
from fastpsr.wording import counted

__all__ = ["Findings", "Policies", "Trials"]

_EXAMPLES = 3
_ALLOWING = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}


@dataclass(frozen=True)
class Policies:
    """What to do about mismatches; all are errors unless the caller allows them.

    Attributes
    ----------
    missing : {"error", "drop"}
        Trials of the key without a score.
    extra : {"error", "ignore"}
        Scores of no trial of the key.
    duplicates : {"error", "first"}
        Trials that occur twice in the key, or in the scores.
    nan : {"error", "drop"}
        Scores that are nan.
    """

    missing: Literal["error", "drop"] = "error"
    extra: Literal["error", "ignore"] = "error"
    duplicates: Literal["error", "first"] = "error"
    nan: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        for name, allowing in _ALLOWING.items():
            checks.check_choice(name, getattr(self, name), ("error", allowing))


@dataclass(frozen=True, eq=False)
class Trials:
    """Rows of a file, as errors show them: by ids, and by file and line."""

    ids: Sequence[Coded | Mapping[int, str]]
    where: Where | None

    def show(self, rows: list[int], *, with_places: bool) -> str:
        """Return the ids of rows, with their places where they are known."""
        names = [repr(" ".join(part[row] for part in self.ids)) for row in rows]
        if not self.ids:
            names = [f"row {row}" for row in rows]
        if with_places and self.where is not None:
            places = self.where(rows)
            return ", ".join(
                f"{name} at {place}" for name, place in zip(names, places, strict=True)
            )
        return ", ".join(names)


@dataclass
class Findings:
    """What does not fit, in words: errors with policies to allow them, notes of what is allowed."""

    policies: Policies
    errors: list[str] = field(default_factory=list)
    allowing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, trials: Trials, rows: NDArray[Any], noun: str, rest: str, policy: str = ""
    ) -> None:
        """Count and show rows of one kind: an error unless its policy allows it."""
        self.add_some(trials, rows.size, rows[:_EXAMPLES].tolist(), noun, rest, policy)

    def add_some(
        self, trials: Trials, count: int, rows: list[int], noun: str, rest: str, policy: str = ""
    ) -> None:
        """Show some rows of one kind, where it was counted before how many there are."""
        if count == 0:
            return
        allowed = bool(policy) and getattr(self.policies, policy) == _ALLOWING[policy]
        # finding lines takes a pass over the file
        shown = trials.show(rows, with_places=not allowed)
        more = ", ..." if count > len(rows) else ""
        said = f"{counted(count, noun, rest)} ({shown}{more})"
        if allowed:
            self.notes.append(f"left out: {said}: {policy}={_ALLOWING[policy]}")
            return
        self.errors.append(said)
        if policy:
            self.allowing[policy] = _ALLOWING[policy]

    def few(self, n_matched: int, n_trials: int, why: Callable[[], str]) -> None:
        """Where few trials have a score, say so and why; to drop the others is not offered."""
        if n_matched >= FEW * n_trials:
            return
        self.allowing.pop("missing", None)
        self.allowing.pop("extra", None)
        reason = why()
        said = f"only {n_matched:,} of {n_trials:,} trials have a score"
        self.errors.append(f"{said}: {reason}" if reason else said)
