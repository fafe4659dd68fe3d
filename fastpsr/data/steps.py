"""Parts of data, transforms of these, and steps: reductions over the rows of all parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fastpsr.caching import Remembering, Value
from fastpsr.data.labeled import Kind
from fastpsr.data.predictions import Predictions

#: Names of data to read of a part, besides columns of ids.
LABELS = frozenset({"labels", "weights"})
ROWS = LABELS | {"scores"}

Answer = TypeVar("Answer")


class Part:
    """Predictions of some rows, and where these lie in the whole.

    Attributes
    ----------
    predictions : Predictions
        Priors and frequencies are those of the whole.
    number : int
        Of the part, from 0.
    first_row : int
        Number of rows before it.
    ranks : ndarray of int64, shape (K,)
        Number of rows of positive weight of each class before it.
    is_in_memory : bool
        Whether these are predictions in memory, which have no other parts.
    """

    def __init__(
        self,
        predictions: Predictions,
        number: int,
        first_row: int,
        ranks: NDArray[np.int64],
        *,
        is_in_memory: bool = False,
    ) -> None:
        self.predictions, self.number = predictions, number
        self.first_row, self.ranks = first_row, ranks
        self.is_in_memory = is_in_memory
        #: The part before the last change of rows or weights; None for the source's own.
        self.before: Part | None = None
        self._drawn_from: Part | None = None
        self._selection: Selection | None = None

    @classmethod
    def whole(cls, predictions: Predictions) -> "Part":
        """Return predictions in memory as the one part that they are."""
        return cls(predictions, 0, 0, np.zeros(predictions.n_classes, np.int64), is_in_memory=True)

    def made_from(self, before: "Part", transform: "Transform") -> "Part":
        """Remember the part that this was made from, where rows or weights were changed."""
        if transform.keeps_rows:
            self.before, self._selection = before.before, before._selection
            self._drawn_from = before._drawn_from
        else:
            self.before = before
            self._selection = transform if isinstance(transform, Selection) else None
            self._drawn_from = before.drawn_from if transform.is_replicate else None
        return self

    @property
    def drawn_from(self) -> "Part":
        """The part that this one reweights as a replicate; itself if it is no replicate."""
        if not self.is_in_memory:
            return self if self._drawn_from is None else self._drawn_from
        original = self.predictions.drawn_from
        return self if original is self.predictions else Part.whole(original)

    @property
    def has_weight(self) -> bool:
        """Whether any row has positive weight."""
        weights = self.predictions.weights
        return len(self.predictions) > 0 and (not weights.size or bool(weights.any()))

    def ids(self, argument: str, ids: Any) -> Any:
        """Return one id per row, an array or `CodedIds`: of a column, or given for the whole.

        Errors are of the `argument` that gave them.
        """
        if isinstance(ids, str) or self.is_in_memory:
            return self.predictions.ids(argument, ids)
        return self.predictions.ids(argument, self.values(argument, ids))

    def values(self, argument: str, given: Any) -> Any:
        """Return the column of this name, or the rows of values that are given for the whole."""
        if isinstance(given, str):
            self.predictions.check_column(argument, given)
            return self.predictions.columns[given]
        return given if self.is_in_memory else np.asarray(given)[self._rows()]

    def _rows(self) -> NDArray[np.int64]:
        """Return the number of each row in the data that its source gives, (n,)."""
        if self.before is None:
            return np.arange(self.first_row, self.first_row + len(self.predictions))
        rows = self.before._rows()
        return rows if self._selection is None else rows[self._selection.rows(self.before)]

    def remember(self, key: Hashable, make: Callable[[], Value], owner: Any = None) -> Value:
        """Return the cached result of ``make()`` for a key; compute it on first use.

        The predictions hold the cache; predictions of parts are made anew for each read. A result
        with an owner lives no longer than the owner, under a key of the owner.
        """
        if owner is None:
            return self.predictions.remember(key, make)
        owners = self.predictions.remember("owners", WeakKeyDictionary[Any, Remembering])
        return owners.setdefault(owner, Remembering()).remember(key, make)


class Transform(ABC):
    """A map of the predictions of a part: plain data that other processes can take."""

    #: Names of columns of ids that it reads.
    reads: frozenset[str] = frozenset()
    #: Whether rows and their weights stay, so that the facts of the whole do.
    keeps_rows: bool = True
    #: Kind and number of classes of the output, if they differ from the input.
    kind: Kind | None = None
    n_classes: int | None = None
    #: Whether rows stay and have the weights of a replicate.
    is_replicate: bool = False
    #: Whether posteriors of likelihoods stay, though frequencies change.
    keeps_posteriors: bool = True
    #: Whether the output keeps the given priors.
    keeps_priors: bool = True
    #: Whether it is a function of the user's, who knows the part only, and whose errors name it.
    is_of_user: bool = False

    @abstractmethod
    def __call__(self, part: Part) -> Predictions:
        """Return the predictions that a part is mapped to."""

    def apply(self, part: Part) -> Predictions:
        """Return the predictions that a part is mapped to, with the columns of the part."""
        return self(part).with_columns(part.predictions.columns)


class Selection(Transform):
    """The rows of a group, as data of their own."""

    keeps_rows = keeps_posteriors = False

    @abstractmethod
    def rows(self, part: Part) -> NDArray[np.bool_]:
        """Return a mask of the rows of a part in the group, (n,)."""

    def __call__(self, part: Part) -> Predictions:
        return part.predictions[self.rows(part)].alone()

    apply = __call__  # which selects columns as well


class Step(ABC, Generic[Answer]):
    """A reduction over rows: plain data that other processes can take.

    `start` creates an accumulator, `add` adds a part to it, `merge` combines the accumulators of
    different parts, in any tree, and `finish` computes the result. All methods may modify and
    return their first argument.
    """

    #: Numbers of the parts that it looks at, which are read first where few; None for all.
    only_parts: tuple[int, ...] | None = None

    #: Whether it also takes parts without weight.
    takes_all: bool = False

    # attributes of some classes, properties of others

    #: Whether the data cache the answer, bool; data in parts until the user's call ends.
    is_kept: Any = False
    #: Names that it reads of each part, a frozenset: `LABELS`, `ROWS`, and columns of ids.
    reads: Any = ROWS
    #: Whether accumulators do not depend on the order of the parts, not even to rounding, bool.
    is_exact: Any = False

    @property
    def key(self) -> Hashable:
        """Identity of the step: of steps with equal keys over the same data, one runs."""
        return identity_of_fields(self)

    def prepare(self) -> Any:
        """Return read-only data for all parts, for example a lookup table; once per process."""
        return None

    def start(self) -> Any:
        """Return an empty accumulator; None also means one."""
        return None

    @abstractmethod
    def add(self, accumulator: Any, prepared: Any, *parts: Any) -> Any:
        """Return the accumulator with a part of the data in it, one part of each data."""

    def merge(self, total: Any, more: Any) -> Any:
        """Return the merged accumulators: by default sums, or the union of dicts."""
        if isinstance(total, dict):
            return {**total, **more}
        if isinstance(total, tuple):
            return tuple(map(self.merge, total, more))
        total += more
        return total

    def finish(self, accumulator: Any) -> Answer:
        """Return the answer, given the accumulator of all parts."""
        answer: Answer = accumulator
        return answer

    def over(self, *data: Any) -> "Request[Answer]":
        """Return the request for this step over data, for :func:`count`.

        Further data have the same rows as the first, or some of them. Parts in which the first has
        no weight are left out.
        """
        return Request(self, data)


class CollectParts(Step[Answer]):
    """A step whose accumulator is a dict: what is kept of each part, by its number."""

    is_exact = True

    def start(self) -> dict[int, Any]:
        return {}


def identity_of_fields(value: Any) -> Hashable:
    """Return the identity of a step, or of sums: the type, and the values of the fields."""
    names: Iterable[str] = value.__dataclass_fields__
    return (type(value), *(identity_of(getattr(value, name)) for name in names))


def identity_of(value: Any) -> Hashable:
    """Return a key, equal for equal values; it holds objects that cannot be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, tuple):
        return tuple(map(identity_of, value))
    key: Hashable = getattr(value, "key", value)
    return key


@dataclass(frozen=True, eq=False)
class Request(Generic[Answer]):
    """A step over data."""

    step: Step[Answer]
    data: tuple[Any, ...]

    @property
    def key(self) -> Hashable:
        """Identity of the request."""
        return (self.step.key, *map(id, self.data))
