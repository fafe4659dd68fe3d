"""Attributes that are computed on first access, and keys of what is kept."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class ByIdentity:
    """A key that is equal to that of the same object, which it keeps: its ``id`` stays its own."""

    __slots__ = ("named",)

    def __init__(self, named: Any) -> None:
        self.named = named

    def __hash__(self) -> int:
        return id(self.named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.named is other.named


class cached_property(Generic[Value]):  # noqa: N801, as that of functools
    """``functools.cached_property`` without the lock that it has up to Python 3.11.

    All instances share that lock: threads would wait for one another, and a child process forked
    meanwhile would wait forever. Without the lock, threads may compute the same value twice.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Self | Value:
        if instance is None:
            return self
        value = self._function(instance)
        instance.__dict__[self._name] = value
        return value
