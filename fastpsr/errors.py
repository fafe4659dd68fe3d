"""What is raised where an argument is not as it should be."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

__all__ = ["ArgumentError"]


class ArgumentError(ValueError):
    """An argument breaks a rule.

    The message consists of the fields: name, rule, entry and remedy.

    Attributes
    ----------
    argument : str
        Its name.
    rule : str
        What it must be, or must not be; where no entry is shown, also what was found.
    index : int or None
        Row at which the rule is broken, where there is one.
    remedy : str
        What to do about it in Python; the message ends with it. May be empty.
    column : int, str or None
        Column of the entry that breaks the rule, by number, or by name in tables with names.
    value : str
        That entry as text; empty where the rule is not about an entry.
    pass_ : dict of str to object
        Arguments that would help, and their values; ``...`` is a value that the caller must choose.
        Without a `remedy` of its own, the message says to pass these.
    name : str
        What the message begins with, such as the path of a file; by default `argument`.

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
        given = [f"{key}={_as_python(choice)}" for key, choice in self.pass_.items()]
        self.remedy = remedy or (f"pass {', '.join(given)}" if given else "")
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

    def renamed(self, name: str, columns: Sequence[str] = ()) -> "ArgumentError":
        """Return the error with another name for the argument, and names for its columns.

        Examples
        --------
        >>> error = ArgumentError("q", "must lie in 0 to 1", 7, column=1, value="1.2")
        >>> print(error.renamed("scores", ["cat", "dog"]))
        scores must lie in 0 to 1, but dog[7] is 1.2
        """
        column = columns[self.column] if columns and isinstance(self.column, int) else self.column
        return type(self)(
            self.argument, self.rule, **self._options | {"name": name, "column": column}
        )

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
