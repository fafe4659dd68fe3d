"""Resampling schemes: samples, clusters and speakers that are drawn."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from numpy.typing import ArrayLike

from fastpsr.bootstrap.units import FindIds, FindNested, IndependentRows, Units
from fastpsr.data import Data, picked_ids
from fastpsr.options import Options


class Resampling(Options, ABC):
    """A way to draw replicates."""

    #: Whether the draw counts of two units multiply, so that BCa intervals are not defined.
    multiplies = False
    #: Whether clusters or speakers are drawn, and nothing within them.
    draws_whole_ids = False

    #: Whether metrics have the same draws, computed together or separately; else metrics of a kind.
    shares_draws = True

    @abstractmethod
    def units(self, data: Data) -> Units:
        """Return the units that are drawn; samples of weight 0 are ignored."""

    def on_rows(self, data: Data, rows: Any) -> "Resampling":
        """Return the scheme for the rows selected by an index, if it holds one id per row."""
        return self


def names_of_ids(resampling: Resampling) -> dict[str, str]:
    """Return the names of columns that are given as ids, by argument."""
    values = {field.name: getattr(resampling, field.name) for field in fields(resampling)}  # type: ignore[arg-type]
    return {argument: value for argument, value in values.items() if isinstance(value, str)}


def with_ids(resampling: Resampling, find: Callable[[str], Any]) -> Resampling:
    """Return the scheme with the ids that a function returns for the names of columns."""
    ids = {argument: find(name) for argument, name in names_of_ids(resampling).items()}
    return replace(resampling, **ids) if ids else resampling  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class IID(Resampling):
    """Draw samples with replacement (the ordinary bootstrap): for independent samples.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=fp.IID(), seed=0).value
    0.185
    """

    shares_draws = False

    def units(self, data: Data) -> Units:
        return IndependentRows.of(data, by_class=False)


@dataclass(frozen=True, eq=False)
class Stratified(Resampling):
    """Draw samples with replacement within each class: for class sizes fixed by design.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> fp.bootstrap(fp.Cllr(), data, resampling=fp.Stratified(), seed=0).n_undefined
    0
    """

    shares_draws = False

    def units(self, data: Data) -> Units:
        return IndependentRows.of(data, by_class=True)


@dataclass(frozen=True, eq=False)
class Clusters(Resampling):
    """Draw whole clusters: for samples that depend on a common speaker, session or document.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings, or the name of the column that has them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters.

    Examples
    --------
    >>> import fastpsr as fp
    >>> patients = {"patient": ["a", "b", "a", "b"]}
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], columns=patients)
    >>> clusters = fp.Clusters("patient")  # or the array of ids
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=clusters, seed=0).value
    0.185
    """

    ids: ArrayLike | str
    draws_whole_ids = True

    def units(self, data: Data) -> Units:
        return FindIds("clusters", data, ids=self.ids).units(data)

    def on_rows(self, data: Data, rows: Any) -> "Clusters":
        return Clusters(picked_ids("ids", self.ids, data, rows))


@dataclass(frozen=True, eq=False)
class Nested(Resampling):
    """Draw clusters, then samples within each drawn cluster.

    Clusters are drawn with replacement, as many as there are. From each drawn cluster, samples are
    drawn with replacement, as many as it has, and anew each time that the cluster is drawn.

    Parameters
    ----------
    cluster_ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings, or the name of the column that has them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters, or with BCa intervals.

    Notes
    -----
    Drawing whole clusters (:class:`Clusters`) already has the variance of a mean between and within
    clusters; `Nested` has twice that within clusters, because samples are drawn again. Its
    intervals are wider. In the package confidence-intervals, a condition that is drawn several
    times has the same samples each time, which makes that variance three times as large.

    References
    ----------
    L. Ferrer and P. Riera, "Confidence Intervals for evaluation in machine learning",
    https://github.com/luferrer/ConfidenceIntervals; A. Davison and D. Hinkley, "Bootstrap methods
    and their application", 1997, section 3.8.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> nested = fp.Nested(["a", "b", "a", "b"])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=nested, seed=0).value
    0.185
    """

    cluster_ids: ArrayLike | str
    multiplies = True

    def units(self, data: Data) -> Units:
        return FindNested("clusters", data, cluster_ids=self.cluster_ids).units(data)

    def on_rows(self, data: Data, rows: Any) -> "Nested":
        return Nested(picked_ids("cluster_ids", self.cluster_ids, data, rows))


@dataclass(frozen=True, eq=False)
class TwoWay(Resampling):
    """Draw speakers: for trials that share speakers on both sides.

    Speakers of both sides are one population, drawn once. The weight of a trial of speaker s
    against speaker t is multiplied by the draw counts of both s and t; that of a trial of s against
    s by the draw count of s.

    Parameters
    ----------
    enroll_speakers, test_speakers : array-like of shape (N,), or str
        Speaker of each side of each trial: integers or strings, with the same ids on both sides,
        or the names of the columns that have them.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two speakers.

    References
    ----------
    A. Owen, "The pigeonhole bootstrap", Annals of Applied Statistics 1, 2007,
    doi:10.1214/07-AOAS122; N. Poh and S. Bengio, "Estimating the confidence interval of expected
    performance curve in biometric authentication using joint bootstrap", ICASSP 2007.

    Examples
    --------
    >>> import fastpsr as fp
    >>> trials = fp.simulate.trial_list(200, 2_000, n_speakers=30, seed=0)
    >>> data = fp.Predictions.from_llrs(trials.y_true, trials.llr)
    >>> speakers = fp.TwoWay(trials.enroll_speaker, trials.test_speaker)
    >>> found = fp.bootstrap(fp.Cllr(), data, resampling=speakers, seed=0)
    >>> found.method, found.interval.low < found.value < found.interval.high
    ('jackknife', True)
    """

    enroll_speakers: ArrayLike | str
    test_speakers: ArrayLike | str
    multiplies = True
    draws_whole_ids = True

    def units(self, data: Data) -> Units:
        return FindIds("speakers", data, **self._sides).units(data)

    def on_rows(self, data: Data, rows: Any) -> "TwoWay":
        return TwoWay(**{
            name: picked_ids(name, ids, data, rows) for name, ids in self._sides.items()
        })  # fmt: skip

    @property
    def _sides(self) -> dict[str, ArrayLike | str]:
        return {"enroll_speakers": self.enroll_speakers, "test_speakers": self.test_speakers}
