"""Output of the commands other than tables: progress and warnings."""

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from fastpsr.cli.wording import in_options
from fastpsr.errors import LooksLike, SuspicionWarning, warn

if TYPE_CHECKING:
    from fastpsr.evaluation import Evaluation
    from fastpsr.plans import Data

__all__ = [
    "console",
    "errors",
    "print_error",
    "print_line",
    "print_line_once",
    "print_suspicions",
    "print_written",
    "recorded_lines",
    "steps",
    "warnings_as_lines",
]

# each message is one line, which a terminal wraps
console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)

_REMEDIES: dict[LooksLike, str] = {
    "posteriors": "say --scores-are posteriors, or --scores-are raw of similarities",
    "cosine similarities": "say --scores-are raw; fastpsr calibrate makes LLRs of raw scores",
    "probabilities": "say --scores-are posteriors",
    "shifted scores": "say --scores-are raw; fastpsr calibrate makes LLRs of raw scores",
    "posteriors of 0": "pass --floor 1e-3 to calibrate them",
    "reversed scores": "higher must mean class 1 (target): negate the scores, or swap the labels",
}

_MOST_EXAMPLES = 3  # of further warnings of a kind

_records: list[list[str]] = []
_bars: list[Progress] = []  # those that are shown


def print_error(message: str) -> None:
    """Print an error or a warning as one line."""
    line = " ".join(message.split())
    _record(line)
    errors.print(line, soft_wrap=True)


def print_line(message: str) -> None:
    """Print what was read, and how it was interpreted; not on the line of a bar."""
    _record(message)
    bars = [bar for bar in _bars if console.is_terminal]
    for bar in bars:
        bar.stop()
    console.print(message)
    for bar in bars:
        bar.start()


def print_line_once(message: str) -> None:
    """Print as `print_line` does, unless the message is recorded already."""
    if not any(message in lines for lines in _records):
        print_line(message)


def print_written(paths: Sequence[Path]) -> None:
    """Print which files were written."""
    if paths:
        console.print(f"written: {', '.join(map(str, paths))}")


@contextmanager
def recorded_lines() -> Iterator[list[str]]:
    """Yield a list of all messages and warnings that are printed in the block."""
    lines: list[str] = []
    _records.append(lines)
    try:
        yield lines
    finally:
        _records.pop()


def _record(line: str) -> None:
    for lines in _records:
        lines.append(line)


@contextmanager
def warnings_as_lines() -> "Iterator[list[Evaluation]]":
    """Print the warnings of the block at its end: one line for all of a kind.

    Yields a list for evaluations of the block, whose systems, groups and metrics tell which
    warnings are alike.
    """
    evaluations: list[Evaluation] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("always", SuspicionWarning)
        try:
            yield evaluations
        finally:
            groups = [group for each in evaluations for group in each.groups]
            places = {name for each in groups for name in (each.system, each.group) if name}
            metrics = {row.metric for each in evaluations for row in each.rows}
            texts = dict.fromkeys(_worded(each.message) for each in caught)
            for line in _folded([*texts], places, metrics):
                print_error(f"warning: {line}")


def _worded(warning: Warning | str) -> str:
    """Return a warning with what options remedy it."""
    from fastpsr.evaluation import NoIntervalsWarning

    if isinstance(warning, SuspicionWarning):  # its own remedy is for Python
        return f"{warning.problem}: {_REMEDIES[warning.looks_like]}"
    if isinstance(warning, NoIntervalsWarning):
        return f"{warning.what}: {in_options(warning.error)}"
    return str(warning)


def _folded(texts: Sequence[str], places: Collection[str], metrics: Collection[str]) -> list[str]:
    """Return one text for all that differ in numbers and in names of places and metrics alone.

    Examples
    --------
    >>> _folded(["a: EER is 1", "b: EER is 2", "a: AUC is 1"], ["a", "b"], ["EER", "AUC"])
    ['a: EER is 1 (and 2 like this: b; a)']
    >>> _folded(["a, x=1: EER is 1", "a, x=2: EER is 2"], ["a", "x=1", "x=2"], ["EER"])
    ['a, x=1: EER is 1 (and 1 like this: x=2)']
    >>> _folded(["EER is 1", "AUC is 1"], [], ["EER", "AUC"])
    ['EER is 1 (and 1 like this: AUC)']
    """
    kinds: dict[str, list[str]] = {}
    for text in texts:
        bare = _any_of([*places, *metrics]).sub("", text)
        bare = re.sub(r"[\d.,]*\d", "", bare)  # folds have different numbers
        kinds.setdefault(" ".join(re.findall(r"\w+", bare)), []).append(text)
    return [_as_line(alike, places, metrics) for alike in kinds.values()]


def _as_line(texts: Sequence[str], places: Collection[str], metrics: Collection[str]) -> str:
    """Return the first of texts that are alike, with examples of what the others are of."""
    first, *others = texts
    if not others:
        return first
    examples: dict[str, None] = {}
    for names in (places, metrics):
        found = [dict.fromkeys(_any_of(names).findall(text)) for text in texts]
        of_all = set.intersection(*map(set, found))
        own = (", ".join(name for name in each if name not in of_all) for each in found[1:])
        examples = examples or dict.fromkeys(filter(None, own))
    shown = [*examples][:_MOST_EXAMPLES] + ["..."] * (len(examples) > _MOST_EXAMPLES)
    return f"{first} (and {len(others):,} like this{': ' * bool(shown)}{'; '.join(shown)})"


def _any_of(names: Collection[str]) -> re.Pattern[str]:
    """Return a pattern of names that stand alone, the longest first."""
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if words else r"(?!)")


def print_suspicions(path: Path, predictions: "Data") -> None:
    """Print what labeled scores look like, where that is not what they are taken for."""
    from fastpsr.evaluation.suspicions import suspicions
    from fastpsr.plans import run

    with warnings_as_lines():
        for each in run(lambda: suspicions(predictions)):
            warn(each.of(str(path)))


@contextmanager
def steps(total: int | None) -> Iterator[Any]:
    """Show a progress bar of `total` steps, if known; yield a function to call at each step.

    It may also be called with the amount done and the total amount of a step: then the bar shows
    the progress of the step, with the remaining time.
    """
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), _TimeLeft(), console=errors, transient=True,
                  disable=not errors.is_terminal) as bar:  # fmt: skip
        _bars.append(bar)
        task = bar.add_task("", total=total)
        begun, part_of = 0, ""

        def begin(name: str, done: int | None = None, out_of: int | None = None) -> None:
            nonlocal begun, part_of
            if done is None:
                bar.update(task, description=name, completed=begun, total=total)
                begun += 1
            elif name == part_of:
                bar.update(task, completed=done)
            else:
                bar.reset(task, description=name, completed=done, total=out_of)
            part_of = "" if done is None else name

        try:
            yield begin
        finally:
            _bars.remove(bar)


class _TimeLeft(ProgressColumn):
    """Estimated remaining time of a step."""

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        return Text("" if seconds is None else f"{seconds:.0f} s left")
