"""Attributes that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["cached_property"]

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801, as that of functools
    """The one of functools without its lock, which Python has until 3.11.

    That lock is one for all instances: threads would wait for one another, and a child that was
    forked meanwhile for ever. Without it threads that ask at the same time may compute the same
    value twice.
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
