"""What does not fit of a key and scores, and what is said of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from fastpsr import checks
from fastpsr.errors import ArgumentError, counted
from fastpsr.trials.text import Where

EXAMPLES = 3
_FEW = 0.5  # share of the key's trials below which leaving the others out is not offered
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

    def allow(self, name: str) -> bool:
        """Whether what a policy is for is left out."""
        return bool(name) and getattr(self, name) == _ALLOWING[name]


class _Kind(NamedTuple):
    """A kind of mismatch, in words."""

    noun: str
    rest: str
    policy: str = ""
    in_key: bool = False  # whether rows are those of the key


#: Kinds for a key and scores, in the order in which they are said.
OF_BOTH = {
    "other label": _Kind("duplicate trial", "in the key with another label", in_key=True),
    "trial again": _Kind("duplicate trial", "in the key", "duplicates", in_key=True),
    "other score": _Kind("duplicate score", "with another value", "duplicates"),
    "score again": _Kind("duplicate score", "with the same value", "duplicates"),
    "missing": _Kind("trial", "without a score", "missing", in_key=True),
    "extra": _Kind("score", "of no trial in the key", "extra"),
    "nan": _Kind("nan score", "", "nan"),
    "label at odds": _Kind("label", "of the scores unlike the key's"),
}
#: Kinds for scores without a key.
OF_SCORES = {
    "nan": _Kind("nan score", "", "nan"),
    "other label": _Kind("duplicate trial", "with another label"),
    "other score": _Kind("duplicate trial", "with another score", "duplicates"),
    "score again": _Kind("duplicate trial", "with the same score", "duplicates"),
}


@dataclass
class Found:
    """Rows of one kind: how many, and the first, as (row that orders, row that is shown, ids)."""

    count: int = 0
    first: list[tuple[int, int, str]] = field(default_factory=list)

    def see(self, count: int, examples: Iterable[tuple[int, int, str]]) -> None:
        """Add so many rows, of which `examples` are the first."""
        self.count += count
        self.first = sorted([*self.first, *examples])[:EXAMPLES]

    def show(self, where: Where | None) -> str:
        """Return the first rows, with their places where they are asked for."""
        shown = [ids for _, _, ids in self.first]
        if where is not None:
            places = where([row for _, row, _ in self.first])
            shown = [f"{ids} at {at}" for ids, at in zip(shown, places, strict=True)]
        return ", ".join(shown) + ", ..." * (self.count > len(self.first))


@dataclass
class Verdict:
    """Errors with the policies that allow them, and notes of what is allowed."""

    errors: list[str] = field(default_factory=list)
    allowing: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        found: Mapping[str, Found],
        policies: Policies,
        where: tuple[Where | None, Where | None],
        kinds: Mapping[str, _Kind] = OF_BOTH,
        *,
        is_full: bool = False,
    ) -> "Verdict":
        """Judge what was found; `where` names places in the scores and in the key.

        A matrix that `is_full` has scores of no trial in the key since it has one of every pair.
        """
        verdict = cls()
        for name, kind in kinds.items():
            some = found.get(name, Found())
            if not some.count:
                continue
            why = f"{kind.policy}={_ALLOWING.get(kind.policy)}"
            allowed = policies.allow(kind.policy)
            if name == "extra" and is_full and not allowed:
                allowed, why = True, "a full matrix has one for every pair"
            # finding places takes a pass over the file
            shown = some.show(None if allowed else where[kind.in_key])
            said = f"{counted(some.count, kind.noun, kind.rest)} ({shown})"
            if allowed:
                verdict.notes.append(f"left out: {said}: {why}")
                continue
            verdict.errors.append(said)
            if kind.policy:
                verdict.allowing[kind.policy] = _ALLOWING[kind.policy]
        return verdict

    def see_why(self, n_matched: int, n_trials: int, why: Callable[[], str]) -> None:
        """Say how few trials have a score, and what ids differ by, where it is that.

        Then to leave trials out, which is allowed, is not what is to be done.
        """
        if not self.errors:
            return
        are_few = n_matched < _FEW * n_trials
        if are_few:
            self.errors.append(f"only {n_matched:,} of {n_trials:,} trials have a score")
        reason = why() if {"missing", "extra"} & self.allowing.keys() else ""
        if reason:
            self.errors.append(reason)
            self.allowing.clear()
        if are_few:
            self.allowing.pop("missing", None)
            self.allowing.pop("extra", None)

    @staticmethod
    def settle(key: str, verdicts: Mapping[str, "Verdict"]) -> tuple[str, ...]:
        """Raise the errors of all systems, by the path of their scores, or return the notes."""
        wrong = {f"{key} and {path}": v for path, v in verdicts.items() if v.errors}
        if wrong:
            said = [f"do not fit: {'; '.join(verdict.errors)}" for verdict in wrong.values()]
            first, *others = wrong
            rule = "; ".join([said[0], *map(" ".join, zip(others, said[1:], strict=True))])
            allowing = {k: v for verdict in wrong.values() for k, v in verdict.allowing.items()}
            raise ArgumentError("scores", rule, pass_=allowing, name=first)
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


def check_without_ids(path: object, *, has_ids: bool) -> None:
    """Raise if scores that are to be taken in the key's order have ids."""
    if has_ids:
        rule = f"is for scores without ids, and {path} has some: they are joined on them"
        raise ArgumentError("in_order", rule)


def check_as_many(path: object, n_scores: int, key: object, n_trials: int) -> None:
    """Raise unless there are as many scores as trials."""
    if n_scores != n_trials:
        raise ValueError(
            f"{path} has {counted(n_scores, 'score')} and {key} has {counted(n_trials, 'trial')}: "
            "in the key's order there must be one for each"
        )
