"""What is drawn in a replicate: samples, samples of each class, clusters, or speakers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.ids import as_ids, coded
from fastpsr.predictions import Predictions

__all__ = ["IID", "Clusters", "Resampling", "Stratified", "TwoWay", "Units"]

Ints = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Units:
    """What is drawn, and which units each sample depends on.

    Attributes
    ----------
    n_units : int
        Units are numbered 0 to U - 1.
    order : ndarray of int, shape (at most U,)
        The units that are drawn from, those of a stratum side by side.
    strata : ndarray of int, shape (S + 1,)
        Bounds of the strata in `order`; each is drawn from as often as it has units.
    first, second : ndarray of int32, shape (N,)
        A sample weighs as often as its first unit was drawn, times as often as its second; unit U
        counts as drawn once.
    """

    n_units: int
    order: Ints
    strata: Ints
    first: Ints
    second: Ints


class Resampling(ABC):
    """A way to draw replicates."""

    #: Whether samples are drawn one by one, and in strata of their classes.
    draws_samples = False
    by_class = False

    @abstractmethod
    def units(self, predictions: Predictions) -> Units:
        """Return what is drawn; samples of weight 0 are as if absent."""


@dataclass(frozen=True, eq=False)
class IID(Resampling):
    """Draw as many samples as there are, with replacement: for samples that are independent.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=fp.IID(), seed=0).value
    0.185
    """

    draws_samples = True

    def units(self, predictions: Predictions) -> Units:
        rows = _present(predictions)
        return _rows_as_units(rows, np.array([0, rows.size]), len(predictions))


@dataclass(frozen=True, eq=False)
class Stratified(Resampling):
    """Draw from each class as many samples as it has: for class sizes chosen beforehand.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.EER(), data, resampling=fp.Stratified(), seed=0).n_undefined
    0
    """

    draws_samples = True
    by_class = True

    def units(self, predictions: Predictions) -> Units:
        rows = _present(predictions)
        y = predictions.labels[rows]
        strata = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=predictions.n_classes))])
        return _rows_as_units(rows[np.argsort(y, kind="stable")], strata, len(predictions))


@dataclass(frozen=True, eq=False)
class Clusters(Resampling):
    """Draw whole clusters: for samples that are alike within a speaker, session or document.

    Parameters
    ----------
    ids : array-like of shape (N,)
        Cluster of each sample: integers or strings.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length, and for fewer than two clusters.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> clusters = fp.Clusters([0, 1, 0, 1])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=clusters, seed=0).value
    0.185
    """

    ids: ArrayLike

    def units(self, predictions: Predictions) -> Units:
        (codes,), n_clusters = _coded(["ids"], [self.ids], "clusters", predictions)
        second = np.full(codes.size, n_clusters, np.int32)
        return _of_one_stratum(n_clusters, codes, second)


@dataclass(frozen=True, eq=False)
class TwoWay(Resampling):
    """Draw speakers: for trials that share speakers on both sides.

    Speakers are one population, drawn once for both sides. A trial of s against t weighs what s was
    drawn times what t was drawn, a trial of s against s what s was drawn.

    Parameters
    ----------
    enroll_speakers, test_speakers : array-like of shape (N,)
        Speaker of each trial's two sides, integers or strings, in one naming.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length, and for fewer than two speakers.

    References
    ----------
    A. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007,
    doi:10.1214/07-AOAS122; N. Poh and S. Bengio, "Estimating the confidence interval of expected
    performance curve in biometric authentication using joint bootstrap", ICASSP 2007.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_llrs([1, 1, 0, 0], [1.0, 2.0, -1.0, 0.5])
    >>> speakers = fp.TwoWay(["a", "b", "a", "b"], ["a", "b", "b", "a"])
    >>> found = fp.bootstrap(fp.BrierScore(False), data, resampling=speakers, seed=0)
    >>> round(found.value, 4)
    0.1366
    """

    enroll_speakers: ArrayLike
    test_speakers: ArrayLike

    def units(self, predictions: Predictions) -> Units:
        names = ["enroll_speakers", "test_speakers"]
        sides = [self.enroll_speakers, self.test_speakers]
        (first, second), n_speakers = _coded(names, sides, "speakers", predictions)
        second[first == second] = n_speakers  # one speaker on both sides counts once
        return _of_one_stratum(n_speakers, first, second)


def _present(predictions: Predictions) -> Ints:
    weights = predictions.weights
    return np.flatnonzero(weights > 0.0) if weights.size else np.arange(len(predictions))


def _rows_as_units(order: Ints, strata: Ints, n: int) -> Units:
    return Units(n, order, strata, np.arange(n, dtype=np.int32), np.full(n, n, np.int32))


def _of_one_stratum(n_units: int, first: Ints, second: Ints) -> Units:
    return Units(n_units, np.arange(n_units), np.array([0, n_units]), first, second)


def _coded(
    names: list[str], sides: list[ArrayLike], what: str, predictions: Predictions
) -> tuple[list[Ints], int]:
    """Return the ids of each side as numbers from 0, in one numbering, and how many there are."""
    n = len(predictions)
    arrays = [as_ids(name, side, n) for name, side in zip(names, sides, strict=True)]
    if len(arrays) == 2 and arrays[0].dtype.kind != arrays[1].dtype.kind:
        raise ValueError(
            f"{names[0]} and {names[1]} must be ids of one type, "
            f"not {arrays[0].dtype} and {arrays[1].dtype}"
        )
    rows = _present(predictions)
    n_units, present = coded(*(a[rows] for a in arrays))
    if n_units < 2:
        raise ValueError(f"{names[0]} must name at least two {what}, not {n_units}")
    if rows.size == n:
        return present, n_units
    codes = np.zeros((len(arrays), n), np.int32)  # samples of weight 0 weigh 0 whatever their unit
    codes[:, rows] = present
    return list(codes), n_units
