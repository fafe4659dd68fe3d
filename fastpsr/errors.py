"""What is raised where an argument is not as it should be."""

__all__ = ["ArgumentError"]


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
