"""Caches of results that objects hold, and the keys of the results."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value")


class ByIdentity:
    """A key by identity of an object; it keeps the object, so that its ``id`` stays unique."""

    __slots__ = ("named",)

    def __init__(self, named: Any) -> None:
        self.named = named

    def __hash__(self) -> int:
        return id(self.named)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.named is other.named


class Remembering:
    """An object with a cache of results by key, which stays in the process."""

    @property
    def results(self) -> dict[Hashable, Any]:
        """The results that it remembers."""
        results: dict[Hashable, Any] = self.__dict__.setdefault("_results", {})
        return results

    def remember(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of ``make()``, cached under a key."""
        results = self.results
        if key not in results:
            results[key] = make()
        value: Value = results[key]
        return value

    def forget(self, caller: object) -> None:
        """Drop the results whose keys are a pair of this caller and another key."""
        for key in list(self.results):
            if isinstance(key, tuple) and key[0] is caller:
                del self.results[key]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_results"}


class cached_property(Generic[Value]):  # noqa: N801, as that of functools
    """``functools.cached_property`` without the lock that it has up to Python 3.11.

    All instances share that lock: threads would wait for one another, and a child process forked
    meanwhile would wait forever. Without the lock, threads may compute the same value twice. The
    value is one of the `Remembering.results` of an object that has these.
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
        store = instance.results if isinstance(instance, Remembering) else instance.__dict__
        if self._name not in store:
            store[self._name] = self._function(instance)
        value: Value = store[self._name]
        return value
