"""What is raised where an argument is wrong, and warned of where data look like a mistake."""

from typing import Literal

__all__ = ["ArgumentError", "LooksLike", "SuspicionWarning"]

LooksLike = Literal["posteriors", "cosine similarities", "reversed scores"]


class ArgumentError(ValueError):
    """An argument breaks a rule.

    Attributes
    ----------
    argument : str
        Its name.
    rule : str
        What it must be, or must not be, and what was found.
    index : int or None
        Row at which the rule is broken, where there is one.
    remedy : str
        What to do about it in Python; the message ends with it. May be empty.

    Examples
    --------
    >>> import fastpsr as fp
    >>> try:
    ...     fp.from_parts([])
    ... except fp.ArgumentError as error:
    ...     print(error.argument, "|", error)
    parts | parts must not be empty
    """

    def __init__(
        self, argument: str, rule: str, index: int | None = None, remedy: str = ""
    ) -> None:
        super().__init__(f"{argument} {rule}: {remedy}" if remedy else f"{argument} {rule}")
        self.argument, self.rule, self.index, self.remedy = argument, rule, index, remedy

    @property
    def problem(self) -> str:
        """The message without the remedy."""
        return f"{self.argument} {self.rule}"

    def __reduce__(self) -> tuple[type["ArgumentError"], tuple[str, str, int | None, str]]:
        return type(self), (self.argument, self.rule, self.index, self.remedy)


class SuspicionWarning(UserWarning):
    """Data look like something else than what they were said to be; they are computed with as said.

    Attributes
    ----------
    looks_like : {"posteriors", "cosine similarities", "reversed scores"}
        What they look like.
    problem : str
        What shows it.
    remedy : str
        What to do about it in Python; the message ends with it.

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
        super().__init__(f"{problem}: {remedy}")
        self.looks_like, self.problem, self.remedy = looks_like, problem, remedy

    def __reduce__(self) -> tuple[type["SuspicionWarning"], tuple[LooksLike, str, str]]:
        return type(self), (self.looks_like, self.problem, self.remedy)
