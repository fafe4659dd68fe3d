"""Mismatches of a key and scores, and their messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from fastpsr import checks
from fastpsr.errors import ArgumentError, counted

#: What each policy is to allow what it is for.
ALLOWING = {"missing": "drop", "extra": "ignore", "duplicates": "first", "nan": "drop"}


@dataclass(frozen=True)
class Policies:
    """What to do about mismatches; all are errors unless the caller allows them.

    Attributes
    ----------
    missing : {"error", "drop"}
        Trials of the key without a score.
    extra : {"error", "ignore"}
        Scores of no trial of the key.
    duplicates : {"error", "first", "count"}
        Trials that occur twice in the key, or in the scores. They are counted as often as they
        occur in the key if their scores agree.
    nan : {"error", "drop"}
        Scores that are nan.
    """

    missing: Literal["error", "drop"] = "error"
    extra: Literal["error", "ignore"] = "error"
    duplicates: Literal["error", "first", "count"] = "error"
    nan: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        for name, allowing in ALLOWING.items():
            more = ("count",) if name == "duplicates" else ()
            checks.check_choice(name, getattr(self, name), ("error", allowing, *more))

    @property
    def counts(self) -> bool:
        """Whether trials that occur several times are counted as often."""
        return self.duplicates == "count"

    def allow(self, kind: "Kind") -> bool:
        """Whether a kind of mismatch is no error."""
        if not kind.policy or getattr(self, kind.policy) == "error":
            return False
        return kind.agrees or kind.policy != "duplicates" or not self.counts


class Kind(NamedTuple):
    """A kind of mismatch, in words."""

    noun: str
    rest: str
    policy: str = ""
    in_key: bool = False  # whether rows are those of the key
    agrees: bool = False  # whether rows of the same trial have the same values


#: Kinds for a key and scores, in the order in which they are said.
OF_BOTH = {
    "other label": Kind("duplicate trial", "in the key with another label", in_key=True),
    "trial again": Kind("duplicate trial", "in the key", "duplicates", in_key=True, agrees=True),
    "other score": Kind("duplicate score", "with another value", "duplicates"),
    "score again": Kind("duplicate score", "with the same value", "duplicates", agrees=True),
    "missing": Kind("trial", "without a score", "missing", in_key=True),
    "extra": Kind("score", "of no trial in the key", "extra"),
    "nan": Kind("nan score", "", "nan"),
    "label at odds": Kind("label", "of the scores unlike the key's"),
}
#: Kinds for scores that are their own key.
OF_SCORES = {
    "nan": Kind("nan score", "", "nan"),
    "other label": Kind("duplicate trial", "with another label"),
    "other score": Kind("duplicate trial", "with another score", "duplicates"),
    "score again": Kind("duplicate trial", "with the same score", "duplicates", agrees=True),
}


@dataclass
class Verdict:
    """Errors with the policies that allow them, and notes of what is allowed."""

    errors: list[str] = field(default_factory=list)
    allowing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def settle(key: str, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    """Raise the errors of all systems, by the path of their scores, or return the notes.

    Scores that are their own key have its path.
    """
    wrong = {path: verdict for path, verdict in verdicts.items() if verdict.errors}
    if wrong:
        allowing = {k: v for verdict in wrong.values() for k, v in verdict.allowing.items()}
        rules = [
            (f"{path}:", "; ".join(verdict.errors)) if path == key
            else (f"{key} and {path}", f"do not fit: {'; '.join(verdict.errors)}")
            for path, verdict in wrong.items()
        ]  # fmt: skip
        (name, rule), *others = rules
        rule = "; ".join([rule, *map(" ".join, others)])
        raise ArgumentError("scores", rule, pass_=allowing, name=name)
    return tuple(
        f"{path}: {note}" if len(verdicts) > 1 else note
        for path, verdict in verdicts.items()
        for note in verdict.notes
    )


def check_classes(path: object, n_targets: int, n_trials: int) -> None:
    """Raise unless there are targets and non-targets."""
    for count, noun in ((n_targets, "targets"), (n_trials - n_targets, "non-targets")):
        if count == 0:
            among = counted(n_trials, "trial")
            raise ValueError(f"{path}: there are no {noun} among {among}")


def check_ids(argument: str, path: object, format: str, *, has_ids: bool) -> None:
    """Raise if a file that is to be joined has no ids."""
    if not has_ids:
        rule, in_order = f"{format} has no ids of trials to join on", {"in_order": True}
        pass_ = in_order if argument == "scores" else None
        raise ArgumentError(argument, rule, pass_=pass_, name=f"{path}:")
