"""Predictions in parts: larger than memory, or on a cluster."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from fastpsr import checks
from fastpsr.errors import ArgumentError
from fastpsr.html import table, values
from fastpsr.ids import as_ids
from fastpsr.options import CALL_TO_MAKE
from fastpsr.plans.facts import CountRows, Facts, label_checksum
from fastpsr.plans.part import Part
from fastpsr.plans.sources import Given, GivenPart, Source, naming, same_priors
from fastpsr.plans.steps import Plan
from fastpsr.predictions import Floats, Kind, LabeledData, Predictions
from fastpsr.wording import counted

__all__ = [
    "Data",
    "PartitionedPredictions",
    "Selection",
    "Transform",
    "check_data",
    "check_ids",
    "from_parts",
    "mapped",
    "picked_ids",
]


_P = ParamSpec("_P")
_Result = TypeVar("_Result")


class Transform(ABC):
    """A map of the predictions of a part: plain data, which can be sent to another process."""

    #: Names of columns of ids that it reads.
    reads: frozenset[str] = frozenset()
    #: Whether rows and their weights stay, so that the facts of the whole do.
    keeps_rows: bool = True
    #: What comes out, where it differs from what goes in.
    kind: Kind | None = None
    n_classes: int | None = None
    #: Whether given priors stay those of the data.
    keeps_priors: bool = True

    @abstractmethod
    def __call__(self, part: Part) -> Predictions:
        """Return the predictions that a part is mapped to."""


class Selection(Transform):
    """The rows of a group, as data of their own."""

    keeps_rows = False

    @abstractmethod
    def rows(self, part: Part) -> NDArray[np.bool_]:
        """Return which rows of a part are in the group, (n,)."""

    def __call__(self, part: Part) -> Predictions:
        return part.predictions[self.rows(part)].alone()


class PartitionedPredictions(LabeledData):
    """Predictions in parts, which are read one by one, as often as a computation needs them.

    Created by :func:`fastpsr.scan_parquet`, :func:`fastpsr.from_parts` and
    :func:`fastpsr.from_dask`. Metrics, curves, calibrators, ``evaluate``, ``bootstrap`` and
    ``compare`` accept it in place of ``Predictions``, with the same results. Ids of speakers,
    clusters, groups and folds are given as names of columns.

    Attributes
    ----------
    kind : {"posteriors", "likelihoods", "raw scores"}
    n_classes : int
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
        parent: "PartitionedPredictions | None" = None,
        transform: Transform | None = None,
    ) -> None:
        self.source = source
        self._parent, self._transform = parent, transform
        self.n_parts = source.n_parts
        before_it: Any = source if parent is None else parent
        self.n_classes: int = before_it.n_classes
        self.given_priors: Floats | None = before_it.given_priors
        if transform is not None:
            self.n_classes = transform.n_classes or self.n_classes
            self.given_priors = self.given_priors if transform.keeps_priors else None
        before = source.kind if parent is None else parent.kind
        kind = None if transform is None else transform.kind
        self.kind: Kind = before if kind is None else kind
        self._facts: Facts | None = None
        #: Checksums of scores by part, as first seen.
        self._seen: dict[int, int] = {}

    def __repr__(self) -> str:
        rows = "" if self.facts_or_none is None else f"{len(self):,} samples in "
        return (
            f"<PartitionedPredictions: {rows}{counted(self.n_parts, 'part')}, "
            f"{self.n_classes} classes, {self.kind}>"
        )

    def _repr_html_(self) -> str:
        is_known = self.given_priors is not None
        return table(
            "PartitionedPredictions",
            ("attribute", "value"),
            [
                ("kind", self.kind),
                ("parts", f"{self.n_parts:,}"),
                ("samples", "not counted" if self.facts_or_none is None else f"{len(self):,}"),
                ("classes", self.n_classes),
                ("priors", values(self.given_priors) if is_known else "class frequencies"),
            ],
        )

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
        if self.facts_or_none is None:
            from fastpsr.plans.runner import run

            run(self.find_facts)
        found = self.facts_or_none
        assert found is not None
        return found

    def find_facts(self) -> Plan[None]:
        """Ask for the facts, where they are not known."""
        if self.facts_or_none is not None:
            return
        if self._parent is not None:
            yield from self._parent.find_facts()
        if self.facts_or_none is not None:
            return
        (self._facts,) = yield [CountRows(self.n_classes).over(self)]

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

    # Parts

    @property
    def columns_read(self) -> frozenset[str]:
        """Names of columns of ids that transforms read."""
        if self._parent is None or self._transform is None:
            return frozenset()
        return self._parent.columns_read | self._transform.reads

    @property
    def root(self) -> "PartitionedPredictions":
        """The data that its source gives, unmapped."""
        return self if self._parent is None else self._parent.root

    @property
    def depth(self) -> int:
        """How often transforms have changed rows or weights."""
        if self._parent is None or self._transform is None:
            return 0
        return self._parent.depth + (not self._transform.keeps_rows)

    def part(self, raw: Part, made: dict[int, Part]) -> Part:
        """Return this data's part of what the source gave; `made` holds those made already."""
        if id(self) not in made:
            made[id(self)] = self._part(raw, made)
        return made[id(self)]

    def _part(self, raw: Part, made: dict[int, Part]) -> Part:
        number, before = raw.number, None
        if self._parent is None or self._transform is None:
            predictions, columns = raw.predictions, raw._columns
        else:
            before = self._parent.part(raw, made)
            columns = before._columns
            if isinstance(self._transform, _Function):
                with naming(self.source, number):
                    predictions = self._transform(before)
            else:
                predictions = self._transform(before)
                if isinstance(self._transform, Selection):
                    columns = before.columns_of(self._transform.rows(before))
        facts = self.facts_or_none
        if facts is None:  # they are being counted
            part = Part(predictions, number, 0, np.zeros(self.n_classes, np.int64), columns)
        else:
            # what users make knows its part only, whose priors may have been looked at
            is_given = self._parent is None or isinstance(self._transform, _Function)
            bound = predictions.as_part_of(facts.class_weights, is_given=is_given)
            first_row, ranks = int(facts.first_rows[number]), facts.ranks[number]
            part = Part(bound, number, first_row, ranks, columns)
        if before is None or self._transform is None:
            return part
        return part.made_from(before, keeps_rows=self._transform.keeps_rows)

    def check_unchanged(self, raw: Part, with_scores: bool) -> None:
        """Raise where a part is not what it was when it was read before."""
        facts = self._facts
        if facts is None:
            return
        found = label_checksum(raw)
        if len(raw.predictions) != facts.n_rows[raw.number] or found != facts.checksums[raw.number]:
            self._raise_changed(raw.number, "labels or weights")
        if with_scores:
            self.note_scores(raw.number, raw.predictions.score_checksum())

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

    # For users

    def map(self, function: Callable[[Predictions], Predictions]) -> "PartitionedPredictions":
        """Return the data with a function applied to the predictions of each part when read.

        The function must not change rows, labels, weights, kind or priors. It may be called several
        times on a part, and must return the same result each time.
        """
        return self.mapped(_Function(function))

    def mapped(self, transform: Transform) -> "PartitionedPredictions":
        """Return the data with each part mapped when it is read."""
        return PartitionedPredictions(self.source, self, transform)

    def __iter__(self) -> Iterator[Predictions]:
        """Yield the predictions of each part in turn."""
        from fastpsr.plans.reading import parts_of
        from fastpsr.plans.runner import run

        run(self.find_facts)
        for part in parts_of(self):
            yield part.predictions

    def compute(self) -> Predictions:
        """Return all samples in memory."""
        return Predictions.joined(list(self))

    def on(self, source: Source) -> "PartitionedPredictions":
        """Return the data, mapped as they are, with parts that another source gives."""
        if self._parent is None:
            return PartitionedPredictions(source)
        return PartitionedPredictions(source, self._parent.on(source), self._transform)

    def explain(self, metrics: Any = None) -> Any:
        """Estimate the number of reads, bytes, memory and time of a table of metrics.

        Parameters
        ----------
        metrics : metric, list of metrics, or dict of name to metric, optional
            By default those of :func:`fastpsr.evaluate`.

        Returns
        -------
        Explanation
            With ``reads``, ``n_bytes``, ``memory`` and ``seconds``; prints as a sentence. It is
            estimated by running the computation on a few parts.
        """
        from fastpsr.plans.explain import explain

        return explain(self, lambda few: type(self).plans_of_table(few, metrics))

    #: Returns the plans of a table of metrics of some data; set by the room that makes tables.
    plans_of_table: ClassVar[Callable[[Any, Any], list[Callable[[], Plan[Any]]]]]


Data = Predictions | PartitionedPredictions


class _Function(Transform):
    """A user's function of predictions."""

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
    """Return predictions in parts, which are read one by one, as often as needed.

    Parameters
    ----------
    parts : iterable
        Each part is a ``Predictions``; a pair of ``Predictions`` and a dict of columns of ids, such
        as ``{"speaker": ids}``; or a function without arguments that returns one of these and is
        called for every read. Parts may be empty, of one class, or without weight.

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
    return transform(Part.whole(data))


def check_data(data: object, name: str = "predictions") -> None:
    """Raise unless these are predictions, in memory or in parts."""
    wanted = (Predictions, PartitionedPredictions)
    try:
        checks.check_instance(name, data, wanted, "Predictions, or predictions in parts")
    except ArgumentError as error:
        raise error.renamed(name, remedy=CALL_TO_MAKE) from None


def takes_predictions(function: Callable[_P, _Result]) -> Callable[_P, _Result]:
    """Wrap a function of predictions so that arrays raise an error with the call to make."""

    @wraps(function)
    def checked(*args: _P.args, **options: _P.kwargs) -> _Result:
        if args:
            check_data(args[0])
        return function(*args, **options)

    return checked


def check_ids(argument: str, ids: Any, data: Data) -> None:
    """Raise where ids of data in parts are no name of a column, or those in memory are one."""
    if isinstance(data, PartitionedPredictions):
        if not isinstance(ids, str):
            raise ArgumentError(
                argument, "must be the name of a column for data in parts, not an array"
            )
    elif isinstance(ids, str):
        raise ArgumentError(
            argument,
            f"must have one entry per sample: columns such as {ids!r} are for data in parts",
        )


def picked_ids(argument: str, ids: Any, data: Data, rows: Any) -> Any:
    """Return the ids of some rows of data in memory; names of columns of data in parts stay."""
    check_ids(argument, ids, data)
    return ids if isinstance(ids, str) else as_ids(argument, ids, len(data))[rows]
