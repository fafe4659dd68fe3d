"""Output of the commands other than tables: progress and warnings."""

import re
import warnings
from collections.abc import Iterator
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
    from fastpsr.plans import Data

__all__ = ["console", "errors", "heard", "say", "steps", "tell", "tell_once", "warnings_as_lines"]

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

_listeners: list[list[str]] = []
_bars: list[Progress] = []  # those that are shown


def say(message: str) -> None:
    """Print an error or a warning as one line."""
    line = " ".join(message.split())
    _hear(line)
    errors.print(line, soft_wrap=True)


def tell(message: str) -> None:
    """Print what was read, and how it was interpreted; not on the line of a bar."""
    _hear(message)
    bars = [bar for bar in _bars if console.is_terminal]
    for bar in bars:
        bar.stop()
    console.print(message)
    for bar in bars:
        bar.start()


def tell_once(message: str) -> None:
    """Print as `tell` does, unless a collector of messages has the message already."""
    if not any(message in lines for lines in _listeners):
        tell(message)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Yield a list that collects all messages and warnings printed in the block."""
    lines: list[str] = []
    _listeners.append(lines)
    try:
        yield lines
    finally:
        _listeners.pop()


def _hear(line: str) -> None:
    for lines in _listeners:
        lines.append(line)


@contextmanager
def warnings_as_lines(where: str = "") -> Iterator[None]:
    """Print each warning of the library as one line after `where`; once, ignoring its numbers."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        from fastpsr.evaluation import NoIntervalsWarning

        kind = re.sub(r"(?<![=(\w.])-?\d[\d.,]*", "", str(message))  # folds have different numbers
        if isinstance(message, SuspicionWarning):  # its own remedy is for Python
            system, colon, _what = message.problem.rpartition(": the ")
            kind = f"{system if colon else ''} {message.looks_like}"
            message = f"{message.problem}: {_REMEDIES[message.looks_like]}"
        elif isinstance(message, NoIntervalsWarning):
            kind = message = f"{message.what}: {in_options(message.error)}"
        if kind not in said:
            said.add(kind)
            say(f"warning: {where}{message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("always", SuspicionWarning)
        warnings.showwarning = show
        yield


def say_suspicions(path: Path, predictions: "Data") -> None:
    """Print what labeled scores look like, where that is not what they are taken for."""
    from fastpsr.evaluation.suspicions import suspicions
    from fastpsr.plans import run

    with warnings_as_lines(f"{path}: "):
        for each in run(lambda: suspicions(predictions)):
            warn(each)


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
