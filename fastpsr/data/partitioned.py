"""Predictions in parts: larger than memory, or on a cluster."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from fastpsr import checks
from fastpsr.data.facts import Facts
from fastpsr.data.mapped_parts import MappedParts, Transform
from fastpsr.data.part import Part
from fastpsr.data.predictions import Predictions
from fastpsr.data.sources import Given, GivenPart, same_priors
from fastpsr.errors import ArgumentError
from fastpsr.html import table, values
from fastpsr.ids import as_ids
from fastpsr.options import CALL_TO_MAKE
from fastpsr.wording import counted


class PartitionedPredictions(MappedParts):
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

    @property
    def facts(self) -> Facts:
        """The table of facts; labels and weights are read where they were not yet."""
        if self.facts_or_none is None:
            from fastpsr.counts import find_facts  # which counts data

            find_facts(self)
        return super().facts

    def map(self, function: Callable[[Predictions], Predictions]) -> "PartitionedPredictions":
        """Return the data with a function applied to the predictions of each part when read.

        The function must not change rows, labels, weights, kind or priors. It may be called several
        times on a part, and must return the same result each time.
        """
        return self.mapped(_Function(function))

    def __iter__(self) -> Iterator[Predictions]:
        """Yield the predictions of each part in turn."""
        from fastpsr.counts import find_facts  # which counts data
        from fastpsr.counts.reading import parts_of

        find_facts(self)
        for part in parts_of(self):
            yield part.predictions

    def compute(self) -> Predictions:
        """Return all samples in memory."""
        return Predictions.joined(list(self))


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
        remedy = CALL_TO_MAKE
        if callable(getattr(data, "predictions", None)):  # of trials
            remedy = "pass what its method predictions(...) returns"
        elif isinstance(data, (list, tuple)) and data and isinstance(data[0], wanted):
            remedy = (
                "several systems are a dict of names for fp.evaluate, {'a': data[0], 'b': data[1]},"
                " and parts of one are for fp.from_parts"
            )
        raise error.renamed(name, remedy=remedy) from None


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
    if isinstance(ids, str):
        return ids
    assert isinstance(data, Predictions)
    return as_ids(argument, ids, len(data), data.row_order)[rows]
