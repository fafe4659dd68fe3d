"""Clusters that are drawn, or speakers of both sides."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastpsr.bootstrap.cache import BootstrapCache
from fastpsr.bootstrap.resampling import Resampling
from fastpsr.bootstrap.units import CountedUnits, Ints, present_rows
from fastpsr.errors import ArgumentError
from fastpsr.ids import numbered, type_of
from fastpsr.kernels.sizes import index_type
from fastpsr.plans import LABELS, Data, Plan, Step, check_ids, picked_ids
from fastpsr.plans.part import Part

__all__ = ["Clusters", "IdUnits", "TwoWay", "id_units"]


@dataclass(frozen=True, eq=False)
class Clusters(Resampling):
    """Draw whole clusters: for samples that depend on a common speaker, session or document.

    Parameters
    ----------
    ids : array-like of shape (N,), or str
        Cluster of each sample: integers or strings; for data in parts, the name of the column.

    Raises
    ------
    ValueError
        When used, for ids of the wrong length or fewer than two clusters.

    Examples
    --------
    >>> import fastpsr as fp
    >>> data = fp.Predictions.from_posteriors([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> clusters = fp.Clusters([0, 1, 0, 1])
    >>> fp.bootstrap(fp.BrierScore(False), data, resampling=clusters, seed=0).value
    0.185
    """

    ids: ArrayLike | str
    draws_whole_ids = True

    def units(self, data: Data) -> Plan["IdUnits"]:
        return (yield from id_units(("ids",), (self.ids,), "clusters", data))

    def on_rows(self, data: Data, rows: Any) -> "Clusters":
        return Clusters(picked_ids("ids", self.ids, data, rows))


@dataclass(frozen=True, eq=False)
class TwoWay(Resampling):
    """Draw speakers: for trials that share speakers on both sides.

    Speakers of both sides are one population, drawn once. The weight of a trial of speaker s
    against speaker t is multiplied by the draw counts of both s and t; that of a trial of s against
    s by the draw count of s.

    Parameters
    ----------
    enroll_speakers, test_speakers : array-like of shape (N,), or str
        Speaker of each side of each trial: integers or strings, with the same ids on both sides;
        for data in parts, the names of the columns.

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

    def units(self, data: Data) -> Plan["IdUnits"]:
        names = ("enroll_speakers", "test_speakers")
        return (yield from id_units(names, self._sides, "speakers", data))

    def on_rows(self, data: Data, rows: Any) -> "TwoWay":
        names = ("enroll_speakers", "test_speakers")
        sides = zip(names, self._sides, strict=True)
        return TwoWay(*(picked_ids(name, side, data, rows) for name, side in sides))

    @property
    def _sides(self) -> tuple[ArrayLike | str, ArrayLike | str]:
        return self.enroll_speakers, self.test_speakers


@dataclass(frozen=True, eq=False)
class IdUnits(CountedUnits):
    """Clusters, or speakers of either side, of the whole.

    Attributes
    ----------
    names : tuple of str
        Names of the arguments with the ids of each side.
    specs : tuple
        For each side an array, for data in memory, or the name of a column.
    ids : ndarray, shape (U,)
        All ids in ascending order.
    """

    names: tuple[str, ...]
    specs: tuple[Any, ...]
    ids: NDArray[Any]
    cache: BootstrapCache

    @property
    def come_in_pairs(self) -> bool:  # type: ignore[override]
        return len(self.specs) == 2

    @property
    def name(self) -> str:  # type: ignore[override]
        return "speakers" if self.come_in_pairs else "clusters"

    @property
    def n_shared(self) -> int:  # type: ignore[override]
        return int(self.ids.size)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return _columns(self.specs)

    def numbers(self, part: Part) -> tuple[Ints, Ints]:
        return self.cache.of(part, "units", lambda: self._numbers(part))  # type: ignore[no-any-return]

    def _numbers(self, part: Part) -> tuple[Ints, Ints]:
        rows, here, codes = _ids_of(part, self.names, self.specs, self.cache)
        n, n_units = len(part.predictions), self.ids.size
        wide = index_type(n_units + 1)
        # strings are looked up once for each id in the part, not for each row
        numbers = np.searchsorted(self.ids, here).astype(wide)
        sides = []
        for side in codes:
            full = np.zeros(n, wide)  # the unit of rows of weight 0 does not matter
            full[rows] = numbers[side]
            sides.append(full)
        if len(sides) == 1:
            return sides[0], np.full(n, n_units, wide)
        first, second = sides
        second[first == second] = n_units  # one speaker on both sides counts once
        return first, second


@dataclass(frozen=True, eq=False)
class _DistinctIds(Step):
    """Collect the ids of rows of positive weight."""

    names: tuple[str, ...]
    specs: tuple[Any, ...]
    cache: BootstrapCache
    is_exact = True

    @property
    def reads(self) -> frozenset[str]:
        return LABELS | _columns(self.specs)

    @property
    def key(self) -> Hashable:
        return (type(self), self.cache)

    def add(self, accumulator: Any, prepared: None, part: Part) -> Any:
        _, here, _ = _ids_of(part, self.names, self.specs, self.cache)
        return here if accumulator is None else self.merge(accumulator, here)

    def merge(self, one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
        if type_of(one) != type_of(other):
            raise ArgumentError(
                self.names[0],
                f"must be ids of one type in all parts, not {one.dtype} and {other.dtype}",
            )
        return np.union1d(one, other)


def id_units(
    names: tuple[str, ...], specs: tuple[Any, ...], what: str, data: Data
) -> Plan[IdUnits]:
    """Plan: return the ids of all rows of positive weight as units."""
    for name, spec in zip(names, specs, strict=True):
        check_ids(name, spec, data)
    cache = BootstrapCache()
    (ids,) = yield [_DistinctIds(names, specs, cache).over(data)]
    if ids.size < 2:
        raise ArgumentError(names[0], f"must name at least two {what}, not {ids.size}")
    return IdUnits(names, specs, ids, cache)


def _ids_of(
    part: Part, names: tuple[str, ...], specs: tuple[Any, ...], cache: BootstrapCache
) -> tuple[Ints, NDArray[Any], list[Ints]]:
    """Return the rows of positive weight, their distinct ids, and the index of each row's id."""

    def make() -> tuple[Ints, NDArray[Any], list[Ints]]:
        arrays = [part.ids(name, spec) for name, spec in zip(names, specs, strict=True)]
        if len(arrays) == 2 and arrays[0].dtype.kind != arrays[1].dtype.kind:
            raise ArgumentError(
                names[1],
                f"must be ids of one type, not {arrays[0].dtype} and {arrays[1].dtype}",
                name=" and ".join(names),
            )
        rows = present_rows(part.predictions)
        return rows, *numbered(*(array[rows] for array in arrays))

    ids: tuple[Ints, NDArray[Any], list[Ints]] = cache.of(part, "ids", make)
    return ids


def _columns(specs: tuple[Any, ...]) -> frozenset[str]:
    return frozenset(spec for spec in specs if isinstance(spec, str))
