"""Requests of plans: steps over the rows of data, and plans that are shared by several others.

A *plan* is a generator. It yields lists of requests, is sent the list of their results, and returns
its own result. A request is a step over data (:meth:`Step.over`) or another plan (:class:`Shared`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Iterable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

__all__ = [
    "LABELS", "ROWS", "SAMPLED_PARTS", "Plan", "Planned", "Request", "Shared", "Step",
    "identity_of_fields", "resolved",
]  # fmt: skip

Result = TypeVar("Result")

Plan = Generator[list[Any], list[Any], Result]
#: A result, or the plan of one that depends on what must be read first.
Planned: TypeAlias = Plan[Result] | Result


@overload
def resolved(result: Plan[Result]) -> Plan[Result]: ...


@overload
def resolved(result: Planned[Result]) -> Plan[Result]: ...


def resolved(result: Any) -> Plan[Any]:
    """Plan: return a result, or that of its plan."""
    if isinstance(result, GeneratorType):
        return (yield from result)
    return result


#: What a step may read of a part, besides columns of ids.
LABELS = frozenset({"labels", "weights"})
ROWS = LABELS | {"scores"}


#: Parts that samples look at, for each class.
SAMPLED_PARTS = 8


class Step(ABC):
    """A reduction over rows: plain data, which can be sent to another process.

    `start` creates an accumulator, `add` adds a part to it, `merge` combines the accumulators of
    different parts, in any tree, and `finish` computes the result. All methods may modify and
    return their first argument.
    """

    #: Numbers of the parts that it looks at, which are read first where few; None for all.
    only_parts: tuple[int, ...] | None = None
    #: Whether the answer is kept for later plans: with predictions in memory, or until a run ends.
    is_kept: bool = False

    @property
    def reads(self) -> frozenset[str]:
        """What it reads of each part: of `LABELS`, `ROWS`, or besides them columns of ids."""
        return ROWS

    @property
    def is_exact(self) -> bool:
        """Whether accumulators do not depend on the order of the parts, not even to rounding."""
        return False

    @property
    def takes_all(self) -> bool:
        """Whether it takes parts without weight, too, which are as if absent."""
        return False

    @property
    def key(self) -> Hashable:
        """Identity of the step: of steps with equal keys over the same data, one runs."""
        return identity_of_fields(self)

    def prepare(self) -> Any:
        """Return what all parts need, such as a lookup table; made once per process and read."""
        return None

    def start(self) -> Any:
        """Return an empty accumulator; None also means one."""
        return None

    @abstractmethod
    def add(self, accumulator: Any, prepared: Any, *parts: Any) -> Any:
        """Return the accumulator with a part of the data in it, one part of each data."""

    def merge(self, one: Any, other: Any) -> Any:
        """Return what both accumulators hold together."""
        return one + other

    def finish(self, accumulator: Any) -> Any:
        """Return the answer that an accumulator of all parts comes to."""
        return accumulator

    def over(self, *data: Any) -> "Request":
        """Ask for this step over data.

        Further data have the same rows as the first, or some of them. Parts in which the first has
        no weight are left out.
        """
        return Request(self, data)


def identity_of_fields(value: Any) -> Hashable:
    """Return the identity of a step, or of sums: the type, and the values of the fields."""
    names: Iterable[str] = value.__dataclass_fields__
    return (type(value), *(_identity_of(getattr(value, name)) for name in names))


def _identity_of(value: Any) -> Hashable:
    """Return a key with equal keys for equal values; it holds what cannot be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, tuple):
        return tuple(map(_identity_of, value))
    return getattr(value, "key", value)  # type: ignore[no-any-return]


class Request(NamedTuple):
    """A step over data."""

    step: Step
    data: tuple[Any, ...]

    @property
    def key(self) -> Hashable:
        """Identity of the request."""
        return (self.step.key, *map(id, self.data))


@dataclass(frozen=True, eq=False)
class Shared:
    """A plan of one data set that several others ask for, by its key: it runs once for all.

    Predictions in memory remember the result, unless `is_kept` is False.
    """

    name: Hashable
    data: Any
    plan: Callable[[], Planned[Any]]
    is_kept: bool = True

    def remembered(self) -> Plan[Any]:
        """Plan: return the result, which predictions in memory keep."""
        results = self.data.results
        if self.name not in results:
            results[self.name] = yield from resolved(self.plan())
        return results[self.name]
