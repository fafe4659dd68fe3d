"""Predictions in parts: larger than memory, or on a cluster."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fastpsr import kernels
from fastpsr.data.columns import check_column
from fastpsr.data.facts import Facts, label_checksum
from fastpsr.data.labeled import Floats, Kind, LabeledData
from fastpsr.data.predictions import Predictions
from fastpsr.data.reading import parts_of, read_facts
from fastpsr.data.sources import Given, GivenPart, Source, naming, same_priors
from fastpsr.data.steps import Part, Transform
from fastpsr.errors import ArgumentError, counted


class PartitionedPredictions(LabeledData):
    """Predictions in parts, read one by one, as often as a computation needs them.

    Created by :func:`fastpsr.scan_parquet`, :func:`fastpsr.from_parts` and
    :func:`fastpsr.from_dask`. Metrics, curves, calibrators, ``evaluate``, ``bootstrap`` and
    ``compare`` accept it in place of ``Predictions``, with the same results. Ids of speakers,
    clusters, groups and folds are named by their columns.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
    n_classes : int
    class_names : tuple of str, length K, or None
    n_parts : int
    given_priors : ndarray of float64, shape (K,), or None

    Notes
    -----
    ``len()``, `priors` and `class_weights` read labels and weights once.

    Examples
    --------
    >>> import fastpsr as fp
    >>> first = fp.Predictions.from_llrs([0, 1], [-2.0, 0.5])
    >>> data = fp.from_parts([first, fp.Predictions.from_llrs([1], [3.0])])
    >>> data.n_parts, len(data), round(fp.Cllr()(data), 4)
    (2, 3, 0.2801)
    """

    def __init__(
        self,
        source: Source,
        parent: Self | None = None,
        transform: Transform | None = None,
    ) -> None:
        self.source = source
        self._parent, self._transform = parent, transform
        self.n_parts = source.n_parts
        before_it: Any = source if parent is None else parent
        self.n_classes: int = before_it.n_classes
        self.given_priors: Floats | None = before_it.given_priors
        has_other_classes = transform is not None and transform.n_classes
        self.class_names = None if has_other_classes else before_it.class_names
        if transform is not None:
            self.n_classes = transform.n_classes or self.n_classes
            self.given_priors = self.given_priors if transform.keeps_priors else None
        before = source.kind if parent is None else parent.kind
        kind = None if transform is None else transform.kind
        self.kind: Kind = before if kind is None else kind
        self._facts: Facts | None = None
        #: Checksums of scores by part, as first seen.
        self._seen: dict[int, int] = {}

    def __len__(self) -> int:
        return int(self.facts.n_rows.sum())

    # What the whole is

    @property
    def facts_or_none(self) -> Facts | None:
        """The table of facts, where it is known already."""
        if self._parent is not None and self._transform is not None and self._transform.keeps_rows:
            return self._parent.facts_or_none
        return self._facts

    @property
    def facts(self) -> Facts:
        """The table of facts; labels and weights are read where they were not yet."""
        facts = self.facts_or_none
        if facts is None:
            self.find_facts(read_facts)
            return self.facts
        return facts

    def as_known(self, other: Self) -> Self:
        """Return these data with the facts of other data with the same labels and weights."""
        self._facts = other.facts_or_none
        return self

    def find_facts(self, facts_of: Callable[[Self], Facts]) -> None:
        """Set the facts from a parent, or count them by `facts_of`."""
        if self.facts_or_none is None and self._parent is not None:
            self._parent.find_facts(facts_of)
        if self.facts_or_none is None:
            self._facts = facts_of(self)

    @property
    def class_weights(self) -> Floats:
        """Total sample weight of each class, shape (K,)."""
        return self.facts.class_weights

    @property
    def class_sizes(self) -> NDArray[np.int64]:
        """Number of samples of positive weight of each class, shape (K,)."""
        return np.asarray(self.facts.sizes.sum(axis=0))

    @property
    def has_weights(self) -> bool:
        """Whether samples may count differently."""
        return self.facts.has_weights

    @property
    def common_weight(self) -> float | None:
        """Weight of all samples of positive weight; None if these have different weights."""
        return self.facts.common_weight

    @property
    def drawn_from(self) -> Self:
        if self._parent is None or self._transform is None:
            return self
        has_rows = self._transform.keeps_rows or self._transform.is_replicate
        return self._parent.drawn_from if has_rows else self

    def _fix_posterior_priors(self) -> Floats:
        parent, transform = self._parent, self._transform
        if parent is None or transform is None:
            return self.priors
        keeps = transform.keeps_posteriors and parent.kind == self.kind
        return parent._fix_posterior_priors() if keeps else self.priors

    # Parts

    def check_column(self, argument: str, name: str) -> None:
        """Raise unless the parts have a column of this name, or only reading can tell."""
        if self.source.columns is not None:
            check_column(argument, name, sorted(self.source.columns))

    @property
    def columns_read(self) -> frozenset[str]:
        """Names of columns of ids that transforms read."""
        if self._parent is None or self._transform is None:
            return frozenset()
        return self._parent.columns_read | self._transform.reads

    @property
    def root(self) -> Self:
        """The data that its source gives, unmapped."""
        return self if self._parent is None else self._parent.root

    def part(self, raw: Part, mapped_parts: dict[int, Part]) -> Part:
        """Return the part, mapped from the loaded one; `mapped_parts` caches mapped parts."""
        if id(self) not in mapped_parts:
            mapped_parts[id(self)] = self._part(raw, mapped_parts)
        return mapped_parts[id(self)]

    def _part(self, raw: Part, mapped_parts: dict[int, Part]) -> Part:
        number, before, transform = raw.number, None, self._transform
        if self._parent is None or transform is None:
            predictions = raw.predictions
        else:
            before = self._parent.part(raw, mapped_parts)
            if transform.is_of_user:
                with naming(self.source, number):
                    predictions = transform.apply(before)
            else:
                predictions = transform.apply(before)
        facts = self.facts_or_none
        if facts is None:  # they are being counted
            part = Part(predictions, number, 0, np.zeros(self.n_classes, np.int64))
        else:
            # what users make knows its part only, whose priors may have been looked at
            is_given = transform is None or transform.is_of_user
            bound = predictions.as_part_of(facts.class_weights, is_given=is_given)
            part = Part(bound, number, int(facts.first_rows[number]), facts.ranks[number])
        if before is None or transform is None:
            return part
        return part.made_from(before, transform)

    def check_unchanged(self, raw: Part, with_scores: bool) -> None:
        """Raise if a part changed since an earlier read."""
        facts = self._facts
        if facts is None:
            return
        checksum = label_checksum(raw)
        if (
            len(raw.predictions) != facts.n_rows[raw.number]
            or checksum != facts.checksums[raw.number]
        ):
            self._raise_changed(raw.number, "labels or weights")
        if with_scores:
            self.note_scores(raw.number, kernels.checking.checksum(raw.predictions._values))

    def note_scores(self, number: int, checksum: int | None) -> None:
        """Raise where the scores of a part have another checksum than when they were first seen."""
        if checksum is not None and self._seen.setdefault(number, checksum) != checksum:
            self._raise_changed(number, "scores")

    def _raise_changed(self, number: int, what: str) -> None:
        raise ArgumentError(
            "data",
            f"must not change between reads, but the {what} of {self.source.name_of(number)} "
            f"are not what they were{self.source.hint_if_changed}",
        )

    def mapped(self, transform: Transform) -> Self:
        """Return the data with each part mapped when it is read."""
        return type(self)(self.source, self, transform)

    def __repr__(self) -> str:
        rows = "" if self.facts_or_none is None else f"{len(self):,} samples in "
        return (
            f"<PartitionedPredictions: {rows}{counted(self.n_parts, 'part')}, "
            f"{self.n_classes} classes, {self.kind}>"
        )

    def _shown(self) -> list[tuple[str, object]]:
        n_samples = "not counted" if self.facts_or_none is None else f"{len(self):,}"
        return [("parts", f"{self.n_parts:,}"), ("samples", n_samples)]

    def map(self, function: Callable[[Predictions], Predictions]) -> "PartitionedPredictions":
        """Return the data with a function applied to the predictions of each part when read.

        The function must not change rows, labels, weights, kind or priors. It may be called several
        times on a part, and must return the same result each time.
        """
        return self.mapped(_Function(function))

    def __iter__(self) -> Iterator[Predictions]:
        """Yield the predictions of each part in turn."""
        for part in parts_of(self):
            yield part.predictions

    def compute(self) -> Predictions:
        """Return all samples in memory, with their columns."""
        return Predictions.joined([p.predictions for p in parts_of(self, with_columns=True)])


Data = Predictions | PartitionedPredictions


class _Function(Transform):
    """A user's function of predictions."""

    is_of_user = True

    def __init__(self, function: Callable[[Predictions], Predictions]) -> None:
        if not callable(function):
            raise ArgumentError("function", f"must be callable, not {function!r}")
        self._function = function

    def __call__(self, part: Part) -> Predictions:
        before = part.predictions
        after = self._function(before)
        if not isinstance(after, Predictions) or len(after) != len(before):
            raise ArgumentError("function", "must return Predictions of the same rows")
        if (
            after.kind != before.kind
            or after.n_classes != before.n_classes
            or not same_priors(before.given_priors, after.given_priors)
        ):
            raise ArgumentError(
                "function", "must return Predictions of the same kind, classes and priors"
            )
        if not (
            np.array_equal(after.labels, before.labels)
            and np.array_equal(after.weights, before.weights)
        ):
            raise ArgumentError("function", "must leave labels and weights as they are")
        return after


def from_parts(
    parts: Iterable[GivenPart | Callable[[], GivenPart]],
) -> PartitionedPredictions:
    """Return predictions in parts, read one by one, as often as needed.

    Parameters
    ----------
    parts : iterable
        Each part is a ``Predictions``, with the columns that it has; a pair of ``Predictions`` and
        a dict of further columns, such as ``{"speaker": ids}``; or a function without arguments
        that returns one of these and is called for every read. Parts may be empty, of one class, or
        without weight.

    Returns
    -------
    PartitionedPredictions

    Raises
    ------
    ArgumentError
        If there are no parts, or a part has another type; when read, if parts differ in kind,
        classes or given priors, or change between reads.

    Examples
    --------
    >>> import numpy as np, fastpsr as fp
    >>> one = fp.Predictions.from_llrs([0, 1], [-2.0, 0.5])
    >>> other = fp.Predictions.from_llrs([1], [3.0])
    >>> len(fp.from_parts([(one, {"speaker": ["a", "b"]}), (other, {"speaker": ["a"]})]))
    3

    A memory-mapped matrix of scores, which is read row by row:

    >>> scores = np.array([[2.0, -1.0], [-3.0, 0.5]])  # or np.load(..., mmap_mode="r")
    >>> is_target = np.eye(2, dtype=bool)
    >>> def row(i):
    ...     return lambda: fp.Predictions.from_llrs(is_target[i], scores[i])
    >>> fp.EER()(fp.from_parts([row(i) for i in range(2)]))
    0.0
    """
    return PartitionedPredictions(Given(parts))


def mapped(data: Data, transform: Transform) -> Any:
    """Return data with each part mapped: at once in memory, else when it is read."""
    if isinstance(data, PartitionedPredictions):
        return data.mapped(transform)
    return transform.apply(Part.whole(data))
