"""Steps: reductions over the rows of data."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from fastpsr.data.part import ROWS


class Step(ABC):
    """A reduction over rows: plain data, which can be sent to another process.

    `start` creates an accumulator, `add` adds a part to it, `merge` combines the accumulators of
    different parts, in any tree, and `finish` computes the result. All methods may modify and
    return their first argument.
    """

    #: Numbers of the parts that it looks at, which are read first where few; None for all.
    only_parts: tuple[int, ...] | None = None
    #: Whether the answer is kept: with predictions in memory, or until the call of the user ends.
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
        """Return what both accumulators hold together: by default sums, or what both name."""
        if isinstance(one, dict):
            return {**one, **other}
        if isinstance(one, tuple):
            return tuple(map(self.merge, one, other))
        one += other
        return one

    def finish(self, accumulator: Any) -> Any:
        """Return the answer that an accumulator of all parts comes to."""
        return accumulator

    def over(self, *data: Any) -> "Request":
        """Return the request for this step over data, which :func:`count` answers.

        Further data have the same rows as the first, or some of them. Parts in which the first has
        no weight are left out.
        """
        return Request(self, data)


def identity_of_fields(value: Any) -> Hashable:
    """Return the identity of a step, or of sums: the type, and the values of the fields."""
    names: Iterable[str] = value.__dataclass_fields__
    return (type(value), *(identity_of(getattr(value, name)) for name in names))


def identity_of(value: Any) -> Hashable:
    """Return a key with equal keys for equal values; it holds what cannot be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, tuple):
        return tuple(map(identity_of, value))
    return getattr(value, "key", value)  # type: ignore[no-any-return]


class Request(NamedTuple):
    """A step over data."""

    step: Step
    data: tuple[Any, ...]

    @property
    def key(self) -> Hashable:
        """Identity of the request."""
        return (self.step.key, *map(id, self.data))
