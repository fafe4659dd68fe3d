"""Output of the commands other than tables: progress and warnings."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
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

from fastpsr.cli.wording import warning_in_options
from fastpsr.errors import PackageWarning, Subject

if TYPE_CHECKING:
    from fastpsr.plans import Data

__all__ = [
    "console",
    "errors",
    "print_error",
    "print_line",
    "print_line_once",
    "print_suspicions",
    "print_warnings",
    "print_written",
    "recorded_lines",
    "steps",
    "warnings_as_lines",
    "without_warnings",
]

# each message is one line, which a terminal wraps
console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)

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
def warnings_as_lines() -> Iterator[None]:
    """Print the Python warnings of the block at its end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        warnings.simplefilter("always", PackageWarning)
        try:
            yield
        finally:
            print_warnings(each.message for each in caught if isinstance(each.message, Warning))


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence this package's Python warnings of an evaluation, which holds them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PackageWarning)
        yield


def print_warnings(found: Iterable[Warning]) -> None:
    """Print one line for all warnings of a kind."""
    kinds: dict[Any, dict[str, Sequence[Subject]]] = {}
    for each in found:
        kind = (type(each), each.kind) if isinstance(each, PackageWarning) else str(each)
        subjects = each.subjects if isinstance(each, PackageWarning) else ()
        kinds.setdefault(kind, {})[warning_in_options(each)] = subjects
    for alike in kinds.values():
        print_error(f"warning: {_folded(alike)}")


def _folded(alike: Mapping[str, Sequence[Subject]]) -> str:
    """Return the first of texts that are alike, with examples of what the others are about.

    Examples
    --------
    >>> a, b = Subject("a", metric="EER"), Subject("b", metric="EER")
    >>> _folded({"a: EER is 1": [a], "b: EER is 2": [b], "b: EER is 3": [b]})
    'a: EER is 1 (and 2 like this: b)'
    >>> _folded({"EER is 1": [Subject(metric="EER")], "AUC is 1": [Subject(metric="AUC")]})
    'EER is 1 (and 1 like this: AUC)'
    """
    first, *others = alike
    if not others:
        return first
    examples: dict[str, None] = {}
    for parts in (("system", "group", "pair"), ("metric",)):
        names = [
            dict.fromkeys(getattr(each, part) for each in some for part in parts)
            for some in alike.values()
        ]
        of_all = {"", *set.intersection(*map(set, names))}
        own = (", ".join(name for name in each if name not in of_all) for each in names[1:])
        examples = examples or dict.fromkeys(filter(None, own))
    shown = [*examples][:_MOST_EXAMPLES] + ["..."] * (len(examples) > _MOST_EXAMPLES)
    return f"{first} (and {len(others):,} like this{': ' * bool(shown)}{'; '.join(shown)})"


def print_suspicions(path: Path, predictions: "Data") -> None:
    """Print what labeled scores look like, where that is not what they are taken for."""
    from fastpsr.evaluation.suspicions import suspicions
    from fastpsr.plans import run

    found = run(lambda: suspicions(predictions))
    print_warnings(each.of(Subject(str(path))) for each in found)


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
