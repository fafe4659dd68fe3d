"""The error for invalid arguments, the warnings, how one warns, and words of messages."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

_KEPT: ContextVar[dict[str, "PackageWarning"] | None] = ContextVar("kept warnings", default=None)
_SUBJECT: ContextVar["Subject | None"] = ContextVar("subject of warnings", default=None)
_PACKAGE = f"{Path(__file__).parent}{os.sep}"

LooksLike = Literal[
    "posteriors",
    "probabilities",
    "cosine similarities",
    "reversed scores",
    "shifted scores",
    "posteriors of 0",
    "permuted columns",
    "decisions",
]


class ArgumentError(ValueError):
    """An argument is invalid.

    The message is composed of the fields: name, rule, invalid entry and remedy.

    Attributes
    ----------
    argument : str
        Name of the argument.
    rule : str
        The rule, as a phrase after the name ("must be ..."), with the offending value if `value` is
        empty.
    index : int or None
        Row of the invalid entry, if known.
    remedy : str
        What to do in Python, at the end of the message. May be empty.
    column : int, str or None
        Column of the invalid entry: its number, or its name in a table.
    value : str
        The invalid entry as text; empty if the rule is not about a single entry.
    pass_ : dict of str to object
        Arguments that solve the problem, with their values; ``...`` is a value that the caller must
        choose. Without `remedy`, the message says to pass these arguments.
    name : str
        Beginning of the message, such as the path of a file; by default `argument`.

    Examples
    --------
    >>> import fastpsr as fp
    >>> try:
    ...     fp.Predictions.from_llrs([0, 1], [0.5, float("nan")])
    ... except fp.ArgumentError as error:
    ...     print(error)
    ...     print(error.argument, "|", error.rule, "|", error.index, "|", error.value)
    llr must not be nan, but llr[1] is nan
    llr | must not be nan | 1 | nan
    """

    def __init__(
        self,
        argument: str,
        rule: str,
        index: int | None = None,
        remedy: str = "",
        *,
        column: int | str | None = None,
        value: str = "",
        pass_: Mapping[str, object] | None = None,
        name: str = "",
    ) -> None:
        self.argument, self.rule, self.index = argument, rule, index
        self.column, self.value = column, value
        self.pass_, self.name = dict(pass_ or {}), name
        keywords = [f"{key}={_as_python(choice)}" for key, choice in self.pass_.items()]
        self.remedy = remedy or (f"pass {', '.join(keywords)}" if keywords else "")
        super().__init__(f"{self.problem}: {self.remedy}" if self.remedy else self.problem)

    @property
    def problem(self) -> str:
        """The message without the remedy."""
        name = self.name or self.argument
        if not self.value:
            return f"{name} {self.rule}"
        entry = f"{name}[{self.index}]"
        if isinstance(self.column, str):
            entry = f"{self.column}[{self.index}]"
        elif self.column is not None:
            entry = f"{name}[{self.index}, {self.column}]"
        return f"{name} {self.rule}, but {entry} is {self.value}"

    def renamed(
        self, name: str, columns: Sequence[str] = (), remedy: str | None = None
    ) -> "ArgumentError":
        """Return the error with another name of the argument, names of its columns, and remedy.

        Examples
        --------
        >>> error = ArgumentError("q", "must lie in 0 to 1", 7, column=1, value="1.2")
        >>> print(error.renamed("scores", ["cat", "dog"]))
        scores must lie in 0 to 1, but dog[7] is 1.2
        """
        column = columns[self.column] if columns and isinstance(self.column, int) else self.column
        options = self._options | {"name": name, "column": column}
        if remedy is not None:
            options |= {"remedy": remedy, "pass_": {}}
        return type(self)(self.argument, self.rule, **options)

    @property
    def _options(self) -> dict[str, Any]:
        names = ("index", "remedy", "column", "value", "pass_", "name")
        return {name: getattr(self, name) for name in names}

    def __reduce__(self) -> tuple[Callable[[], "ArgumentError"], tuple[()]]:
        return partial(type(self), self.argument, self.rule, **self._options), ()


def _as_python(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_as_python(item)}' for key, item in value.items())}}}"
    return "..." if value is ... else repr(value)


@dataclass(frozen=True)
class Subject:
    """Subject of a message; empty fields are left out. A `pair` is two systems of a difference.

    Examples
    --------
    >>> print(Subject("a", "room=x", "EER"), "|", Subject("a"), "|", Subject(metric="EER"))
    a, room=x: EER | a | EER
    >>> print(Subject(group="room=x", metric="EER", pair="a - b"))
    room=x: EER, a - b
    """

    system: str = ""
    group: str = ""
    metric: str = ""
    pair: str = ""

    def __str__(self) -> str:
        parts = [(self.system, self.group), (self.metric, self.pair)]
        return ": ".join(filter(None, (", ".join(filter(None, part)) for part in parts)))


class PackageWarning(Warning):
    """Base of the warnings of this package: `str` is the message.

    Attributes
    ----------
    problem : str
        The message without the remedy.
    remedy : str
        What to do in Python, at the end of the message. May be empty.
    kind : str
        The same for messages that differ in numbers and in what they are about alone.
    subjects : tuple of Subject
        What the message is about, if known.
    """

    remedy = ""

    def __init__(self, problem: str, kind: str = "", subjects: Iterable[Subject] = ()) -> None:
        self.problem, self.kind, self.subjects = problem, kind or problem, tuple(subjects)

    def __str__(self) -> str:
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem

    def of(self, subject: Subject) -> Self:
        """Return the warning about a subject; the message begins with the subject."""
        about = copy(self)
        about.problem, about.subjects = f"{subject}: {self.problem}", (subject,)
        return about


class ResultWarning(PackageWarning, RuntimeWarning):
    """A result is not reliable, or not the requested one."""


class SuspicionWarning(PackageWarning, UserWarning):
    """Data look like another kind than declared, or reversed, or permuted.

    Results are computed as requested nevertheless.

    Attributes
    ----------
    looks_like : str
        What the data look like: "posteriors", "probabilities", "cosine similarities", "reversed
        scores", "shifted scores", "posteriors of 0", "permuted columns" or "decisions".
    problem : str
        The observation that led to the warning.
    remedy : str
        What to do in Python, at the end of the message.

    Examples
    --------
    >>> import warnings
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([0, 1] * 10, [0.2, 0.7] * 10)  # these are no LLRs
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = fp.evaluate(data)
    >>> print(caught[0].message.looks_like, "|", caught[0].message.problem)
    posteriors | the LLRs all lie in [0, 1], as posteriors do
    """

    def __init__(self, looks_like: LooksLike, problem: str, remedy: str) -> None:
        super().__init__(problem, looks_like)
        self.looks_like, self.remedy = looks_like, remedy


def warn(
    message: str | PackageWarning,
    kind: str = "",
    subjects: Iterable[Subject] = (),
    *,
    once: bool = False,
) -> None:
    """Warn.

    A message in words is a `ResultWarning`. With `once` there is one of its kind and subjects in a
    call, though messages differ in their numbers: folds have the same problem.
    """
    about = _SUBJECT.get()
    warning = ResultWarning(message, kind, subjects) if isinstance(message, str) else message
    warning = warning if about is None else warning.of(about)
    kept = _KEPT.get()
    if kept is not None:
        earlier = ((warning_kept.kind, warning_kept.subjects) for warning_kept in kept.values())
        if once and (warning.kind, warning.subjects) in earlier:
            return
        kept.setdefault(str(warning), warning)
    show(warning)


def show(warning: PackageWarning) -> None:
    """Show a warning, or pass it on where warnings go elsewhere."""
    _SHOW.get()(warning)


def _show_here(warning: PackageWarning) -> None:
    """Show a warning with the line of the first caller that is not part of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


_SHOW: ContextVar[Callable[[PackageWarning], object]] = ContextVar("show", default=_show_here)


@contextmanager
def warnings_go_to(receive: Callable[[PackageWarning], object]) -> Iterator[None]:
    """Warnings of the package in the block are not shown, but passed to a function."""
    token = _SHOW.set(receive)
    try:
        yield
    finally:
        _SHOW.reset(token)


@contextmanager
def kept_warnings() -> Iterator[dict[str, PackageWarning]]:
    """Yield a dict that collects the warnings of the package by message, shown or not.

    Those of outer blocks do not collect those of inner blocks.
    """
    kept: dict[str, PackageWarning] = {}
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def in_one_call() -> AbstractContextManager[Any]:
    """Return a block that shows each warning of a call once, also if blocks are nested."""
    return kept_warnings() if _KEPT.get() is None else nullcontext()


@contextmanager
def warnings_about(subject: Subject) -> Iterator[None]:
    """Warnings in the block are about a subject."""
    token = _SUBJECT.set(subject)
    try:
        yield
    finally:
        _SUBJECT.reset(token)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress warnings of the package, and of NumPy's arithmetic."""
    import numpy as np  # which the command line does without

    with warnings_go_to(lambda warning: None), np.errstate(all="ignore"), kept_warnings():
        yield


@contextmanager
def in_silence() -> Iterator[None]:
    """Suppress warnings: in replicates the user's input does not cause them."""
    with without_warnings(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def counted(n: int, noun: str, rest: str = "") -> str:
    """Return a number with a noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "trial", "without a score"), counted(2_000, "column")
    ('1 trial without a score', '2,000 columns')
    """
    return f"{n:,} {noun}{'s' * (n != 1)}{rest and ' ' + rest}"


def shorten(text: str) -> str:
    """Return a line, shortened if it has more than 80 characters.

    Examples
    --------
    >>> shorten("x" * 80) == "x" * 80, shorten("x" * 81)[-4:], len(shorten("x" * 81))
    (True, 'x...', 80)
    """
    return text if len(text) <= 80 else f"{text[:77]}..."
