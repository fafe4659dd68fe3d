"""What the commands print beside tables: progress and warnings."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
from fastpsr.errors import LooksLike, SuspicionWarning
from fastpsr.evaluation import NoIntervalsWarning

__all__ = ["console", "errors", "heard", "say", "steps", "tell", "warnings_as_lines"]

console = Console(highlight=False, markup=False, emoji=False)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)

_REMEDIES: dict[LooksLike, str] = {
    "posteriors": "say --scores-are posteriors, or --scores-are raw of similarities",
    "cosine similarities": "say --scores-are raw; fastpsr calibrate makes LLRs of raw scores",
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
    """Print what was read, and how it was understood; not on the line of a bar."""
    _hear(message)
    bars = [bar for bar in _bars if console.is_terminal]
    for bar in bars:
        bar.stop()
    console.print(message)
    for bar in bars:
        bar.start()


@contextmanager
def heard() -> Iterator[list[str]]:
    """Give a list of all that is told and said within the block."""
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
    """Print each warning of the library as one line, after `where`, once whatever its numbers."""
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        kind = re.sub(r"[-\d.]+", "", str(message))  # each fold has a number of its own
        if isinstance(message, SuspicionWarning):  # whose remedy is one in Python
            kind = message.looks_like
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


@contextmanager
def steps(total: int | None) -> Iterator[Any]:
    """Show a bar of `total` steps, if that is known; call what is given as each step begins.

    It may also be called with how much of a step is done, and of how much: then the bar is that of
    the step, with the time that it still takes.
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
    """How long a step still takes, as far as its pace so far tells."""

    def render(self, task: Task) -> Text:
        seconds = task.time_remaining
        return Text("" if seconds is None else f"{seconds:.0f} s left")
