"""Output of the commands other than tables: progress and warnings."""

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from fastpsr.cli.wording import warning_in_options
from fastpsr.errors import PackageWarning, Subject

if TYPE_CHECKING:
    from rich.progress import Progress

    from fastpsr.data import Data

# each message is one line, which a terminal wraps
console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, markup=False, emoji=False)

_MOST_EXAMPLES = 3  # of further warnings of a kind

_records: list[list[str]] = []
_bars: "list[Progress]" = []  # those that are shown


def print_error(message: str) -> None:
    """Print an error or a warning as one line."""
    line = " ".join(message.split())
    _record(line)
    errors.print(line, soft_wrap=True)


def print_line(message: str) -> None:
    """Print what was read, and how it was interpreted; not on the line of a bar."""
    _record(message)
    with off_the_bar():
        console.print(message)


@contextmanager
def off_the_bar() -> Iterator[None]:
    """Remove bars from the terminal while the block prints."""
    bars = [bar for bar in _bars if console.is_terminal]
    for bar in bars:
        bar.stop()
    try:
        yield
    finally:
        for bar in bars:
            bar.start()


def print_line_once(message: str) -> None:
    """Print as `print_line` does, unless the message is recorded already."""
    if not any(message in lines for lines in _records):
        print_line(message)


def print_written(outputs: Sequence[tuple[str, Path | None]]) -> None:
    """Print which files were written, other than standard output."""
    if paths := [str(path) for _, path in outputs if path is not None and str(path) != "-"]:
        console.print(f"written: {', '.join(paths)}")


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
            _print_warnings(e.message for e in caught if isinstance(e.message, Warning))


def _print_warnings(found: Iterable[Warning]) -> None:
    """Print one line for all warnings of a kind: the first, and what the others are about."""
    kinds: dict[Any, dict[str, Sequence[Subject]]] = {}
    for each in found:
        kind = (type(each), each.kind) if isinstance(each, PackageWarning) else str(each)
        subjects = each.subjects if isinstance(each, PackageWarning) else ()
        kinds.setdefault(kind, {})[warning_in_options(each)] = subjects
    for (first, _), *others in (alike.items() for alike in kinds.values()):
        names = [*dict.fromkeys(str(subject) for _, subjects in others for subject in subjects)]
        shown = names[:_MOST_EXAMPLES] + ["..."] * (len(names) > _MOST_EXAMPLES)
        more = f" (and {len(others):,} like this{': ' * bool(shown)}{'; '.join(shown)})"
        print_error(f"warning: {first}{more * bool(others)}")


def print_suspicions(path: Path, predictions: "Data") -> None:
    """Print what labeled scores look like, where that is not what they are taken for."""
    from fastpsr.evaluation.suspicions import suspicions

    found = suspicions(predictions)
    _print_warnings(each.of(Subject(str(path))) for each in found)


def size_of(n_bytes: int) -> str:
    """Return a size as text, with three digits."""
    units = (("GB", 10**9), ("MB", 10**6), ("KB", 10**3), ("bytes", 1))
    return next(f"{n_bytes / size:.3g} {unit}" for unit, size in units if n_bytes >= size)


class Steps:
    """The steps of a command: the time that each kind takes, and a bar where it can be shown.

    The first word of the name of a step is its kind.
    """

    def __init__(self, bar: "Progress | None" = None) -> None:
        self._bar, self._part = bar, ""
        self._kind, self._begun = "", time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, name: str, done: int | None = None, out_of: int | None = None) -> None:
        """Begin a step, or show how much is done of a part of the step that was begun.

        A part may be the step itself.
        """
        if done is None:
            self._seconds[self._kind] = self.seconds(self._kind)
            self._kind, self._begun = name.partition(" ")[0], time.perf_counter()
        if self._bar is not None:
            (task,) = self._bar.tasks
            task.total = out_of or None  # which `update` would leave as it is for None
            if name != self._part or done is None:  # time is that of the part
                self._bar.reset(task.id, description=name)
            self._part = name
            self._bar.update(task.id, completed=done or 0)

    def seconds(self, kind: str) -> float:
        """Return how long the steps of a kind took so far."""
        current = time.perf_counter() - self._begun if kind == self._kind else 0.0
        return self._seconds.get(kind, 0.0) + current

    @contextmanager
    def of_rows(self) -> Iterator[None]:
        """Show how many rows are read of data in parts, as well as metrics and replicates."""
        from fastpsr.data.reading import watched

        n_rows = 0

        def see(progress: Any) -> None:
            nonlocal n_rows
            n_rows += progress.n_rows
            self("rows read", n_rows)

        with watched(see):
            yield


@contextmanager
def steps() -> Iterator[Steps]:
    """Show on a terminal a bar of the steps, with the time that has elapsed and is left."""
    if not errors.is_terminal:
        yield Steps()
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=errors, transient=True) as bar:
        bar.add_task("", total=None)
        _bars.append(bar)
        try:
            yield Steps(bar)
        finally:
            _bars.remove(bar)
